//! Parses fio's terse output (`--output-format=terse`, `--minimal`), versions 3, 4 and 5: a line of
//! fields per job, separated by `;`.
//!
//! Rates are cut to whole requests and KiB per second there, and all latencies except means to
//! whole microseconds. The output lacks the requested load and the number of requests.

use disklab_units::Nanos;

use crate::directions::{Directions, measures};
use crate::format::Unreadable;
use crate::grouped::grouped;
use crate::row::ResultRow;
use disklab_results::integrity::{Claim, DirectionClaim, Latency};
use disklab_results::measure::cell_of;
use disklab_results::remark::Remark;

/// The largest number that is accepted: beyond any rate or time that can be measured. The limit
/// keeps sums and products finite.
const LARGEST: f64 = 1e15;
/// Places for percentiles in every direction (`FIO_IO_U_LIST_MAX_LEN` in fio's stat.h).
const PERCENTILES: usize = 20;

/// Returns whether some lines are fio's.
pub fn is_terse(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').any(|line| version(line).is_some())
}

fn version(line: &[u8]) -> Option<u8> {
    let digit = *line.first()?;
    let is = line.get(1..)?.starts_with(b";fio-") && (b'3'..=b'5').contains(&digit);
    is.then(|| digit - b'0')
}

/// A job in the output.
struct Job {
    line: usize,
    version: String,
    name: String,
    group: u64,
    errno: i64,
    told: Directions,
    ran: Nanos,
}

/// Parses the output into a row for all jobs of one name and group, because they ran together.
pub fn parse(bytes: &[u8]) -> Result<Vec<ResultRow>, Unreadable> {
    let mut all = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let Some(version) = version(line) else { continue };
        let text = String::from_utf8_lossy(line);
        let mut fields = Fields { split: text.trim_end().split(';'), line: index + 1, field: 0 };
        all.push(fields.job(version)?);
    }
    let together = grouped(all, |one, other| (&one.name, one.group) == (&other.name, other.group));
    Ok(together.iter().filter_map(|jobs| row(jobs)).collect())
}

struct Fields<'a> {
    split: std::str::Split<'a, char>,
    line: usize,
    /// Number of the last field that was read, from 1, as fio's HOWTO counts fields.
    field: usize,
}

impl<'a> Fields<'a> {
    fn wrong(&self, expected: &'static str) -> Unreadable {
        let Self { line, field, .. } = self;
        Unreadable::whole(format!(
            "line {line}, field {field}: expected {expected}; it is cut short, or of an \
             unknown version of fio"
        ))
    }

    fn next(&mut self, expected: &'static str) -> Result<&'a str, Unreadable> {
        self.field += 1;
        self.split.next().ok_or_else(|| self.wrong(expected))
    }

    fn number(&mut self, expected: &'static str) -> Result<f64, Unreadable> {
        let text = self.next(expected)?;
        let number: Option<f64> = text.trim_end_matches('%').parse().ok();
        number.filter(|number| (0.0..=LARGEST).contains(number)).ok_or_else(|| self.wrong(expected))
    }

    fn skip(&mut self, fields: usize) -> Result<(), Unreadable> {
        for _ in 0..fields {
            self.number("a number")?;
        }
        Ok(())
    }

    fn job(&mut self, version: u8) -> Result<Job, Unreadable> {
        self.next("the version")?;
        let fio = self.next("fio's version")?.to_owned();
        let name = self.next("the job's name")?.to_owned();
        let group = self.number("the group")? as u64;
        let errno = self.next("the error")?.parse().map_err(|_| self.wrong("the error"))?;
        let mut sections = Vec::new();
        // The fields after the directions begin with a percentage.
        while !self.split.clone().next().is_some_and(|field| field.ends_with('%')) {
            sections.push(self.section(version)?);
        }
        // CPU, requests in flight, and latencies by microseconds and milliseconds.
        self.skip(5 + 7 + 10 + 12)?;
        let names: &[&'static str] = match (version, sections.len()) {
            (_, 1) => &["mixed"],
            // `unified_rw_reporting=both` repeats all numbers at the end.
            (3, 2 | 3) => &["read", "write"],
            (4 | 5, 3 | 4) => &["read", "write", "trim"],
            _ => return Err(self.wrong("two directions in version 3, three in 4 and 5")),
        };
        let ran = sections.iter().map(|(_, ran)| *ran).max().unwrap_or_default();
        let parts = sections.into_iter().map(|(part, _)| part);
        let told = names.iter().copied().zip(parts);
        let told = told.filter(|(_, part)| part.bytes.is_some_and(|bytes| bytes > 0)).collect();
        Ok(Job { line: self.line, version: fio, name, group, errno, told, ran })
    }

    /// Reads the numbers of one direction, and its running time.
    fn section(&mut self, version: u8) -> Result<(DirectionClaim, Nanos), Unreadable> {
        let kib = self.number("KiB in all")?;
        let bandwidth = self.number("KiB/s")?;
        let iops = self.number("IOPS")?;
        let ms = self.number("the running time in ms")?;
        self.skip(4)?;
        let clat = self.latency()?;
        let mut percentiles = Vec::new();
        for _ in 0..PERCENTILES {
            let expected = "a percentile: 99.000000%=123";
            let (percent, us) =
                self.next(expected)?.split_once("%=").ok_or_else(|| self.wrong(expected))?;
            let number = |text: &str| {
                text.parse().ok().filter(|value: &f64| (0.0..=LARGEST).contains(value))
            };
            let (percent, us) =
                number(percent).zip(number(us)).ok_or_else(|| self.wrong(expected))?;
            // Unused places are `0%=0`.
            if percent > 0.0 {
                percentiles.push((percent, us * 1000.0));
            }
        }
        let lat = self.latency()?;
        let samples = if version == 5 { 6 } else { 0 };
        self.skip(5 + samples)?;
        // Percentiles are of clat unless `lat_percentiles` was set; only their size distinguishes
        // the two. They are middles of buckets, which may be beyond the greatest latency, which is
        // cut.
        let greatest = percentiles.iter().map(|(_, ns)| *ns).fold(0.0, f64::max);
        let of = if clat.max > 0.0 && greatest <= (clat.max + 1000.0) * (1.0 + 1.0 / 64.0) {
            &clat
        } else {
            &lat
        };
        let some = |value: f64| (of.max > 0.0 || of.mean > 0.0).then_some(value);
        let part = DirectionClaim {
            iops: Some(iops),
            bytes_per_second: Some(bandwidth * 1024.0),
            requests: None,
            bytes: Some((kib * 1024.0) as u64),
            mean: (lat.mean > 0.0).then_some(lat.mean),
            latency: Latency {
                min: some(of.min),
                mean: some(of.mean),
                max: some(of.max),
                percentiles,
            },
        };
        Ok((part, Nanos((ms * 1e6) as u64)))
    }

    fn latency(&mut self) -> Result<Times, Unreadable> {
        let mut us = |expected| self.number(expected).map(|us| us * 1000.0);
        let times = Times {
            min: us("a minimum in us")?,
            max: us("a maximum in us")?,
            mean: us("a mean in us")?,
        };
        us("a deviation in us")?;
        Ok(times)
    }
}

/// Least, greatest and mean latency in ns.
struct Times {
    min: f64,
    max: f64,
    mean: f64,
}

fn row(jobs: &[Job]) -> Option<ResultRow> {
    let first = jobs.first()?;
    let mut remarks: Vec<Remark> = jobs
        .iter()
        .filter(|job| job.errno != 0)
        .map(|job| Remark::FioError { job: job.name.clone(), errno: job.errno })
        .collect();
    if jobs.iter().all(|job| job.told.is_empty()) {
        remarks.push(Remark::NoRequests);
    }
    Some(ResultRow {
        place: format!("line {} ({})", first.line, first.name),
        cell: cell_of([("job", Some(&*first.name)), ("fio", Some(&*first.version))]),
        measures: measures(&together(jobs)),
        claim: Claim {
            ran: jobs.iter().map(|job| job.ran).max(),
            parts: jobs.iter().flat_map(|job| job.told.values()).map(claimed).collect(),
            ..Claim::default()
        },
        remarks,
        ..ResultRow::default()
    })
}

/// Adds up all jobs, by direction.
fn together(jobs: &[Job]) -> Directions {
    let mut all = Directions::new();
    for (direction, part) in jobs.iter().flat_map(|job| &job.told) {
        let known = all.get(direction).map(|known| both(known, part));
        all.insert(*direction, known.unwrap_or_else(|| part.clone()));
    }
    all
}

fn both(one: &DirectionClaim, other: &DirectionClaim) -> DirectionClaim {
    let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
    let iops = sum(one.iops, other.iops);
    let waited = |part: &DirectionClaim| Some(part.mean? * part.iops?);
    let mean = sum(waited(one), waited(other)).zip(iops.filter(|iops| *iops > 0.0));
    let latency = |pick: fn(f64, f64) -> f64, one: Option<f64>, other: Option<f64>| {
        one.zip(other).map(|(one, other)| pick(one, other))
    };
    DirectionClaim {
        iops,
        bytes_per_second: sum(one.bytes_per_second, other.bytes_per_second),
        requests: None,
        bytes: one.bytes.zip(other.bytes).map(|(one, other)| one.saturating_add(other)),
        mean: mean.map(|(waited, iops)| waited / iops),
        latency: Latency {
            min: latency(f64::min, one.latency.min, other.latency.min),
            mean: None,
            max: latency(f64::max, one.latency.max, other.latency.max),
            percentiles: Vec::new(),
        },
    }
}

/// Returns the claim for a direction. A latency that was cut to whole microseconds may be up to one
/// microsecond longer.
fn claimed(part: &DirectionClaim) -> DirectionClaim {
    let mut part = part.clone();
    part.latency.max = part.latency.max.map(|max| max + 1000.0);
    part.latency.drop_coarse();
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(kib: u32) -> String {
        let percentiles = ";50.000000%=80;99.000000%=90".to_owned() + &";0%=0".repeat(18);
        format!(
            ";{kib};4000;1000;100;1;2;1.5;0.1;70;95;81.0;2.0{percentiles}\
             ;72;97;82.5;2.0;0;0;0.000000%;0.0;0.0"
        )
    }

    fn line(version: u8, sections: &[String]) -> String {
        let samples = if version == 5 { ";0;0;0;0.0;0.0;0" } else { "" };
        let sections: String =
            sections.iter().flat_map(|section| [section.as_str(), samples]).collect();
        let tail = ";1.0%;2.0%;3;4;5".to_owned() + &";0.0%".repeat(7 + 10 + 12);
        format!("{version};fio-3.36;job;0;0{sections}{tail};vda;0;0;0;0;0;0;0;0.00%;a; b\n")
    }

    #[test]
    fn versions_differ_in_their_directions() {
        for (version, sections) in [(3, 2), (3, 3), (4, 3), (5, 3), (5, 4)] {
            let all: Vec<String> =
                [400, 0, 0, 400].iter().take(sections).map(|&kib| section(kib)).collect();
            let rows = parse(line(version, &all).as_bytes()).unwrap();
            let [row] = rows.as_slice() else { panic!("one row") };
            let value = |name: &str| row.measures.get(name).map(|measure| measure.value);
            assert_eq!(
                (value("iops"), value("bandwidth")),
                (Some(1000.0), Some(4_096_000.0)),
                "{version}"
            );
            assert_eq!((value("p99"), value("mean")), (Some(90_000.0), Some(82_500.0)));
        }
        assert!(parse(line(4, &[section(4), section(4)]).as_bytes()).is_err());
    }

    #[test]
    fn jobs_of_one_name_ran_together() {
        let one = line(3, &[section(400), section(0)]);
        let rows = parse(format!("fio: hello\n{one}{one}").as_bytes()).unwrap();
        let [row] = rows.as_slice() else { panic!("one row") };
        assert_eq!(row.measures.get("iops").map(|iops| iops.value), Some(2000.0));
        assert_eq!((row.claim.parts.len(), row.place.as_str()), (2, "line 2 (job)"));
    }

    #[test]
    fn what_is_cut_short_says_where() {
        let one = line(3, &[section(400), section(0)]);
        let cut = one.split_once(";99.000000%").unwrap().0;
        assert!(parse(cut.as_bytes()).unwrap_err().message.contains("line 1, field 19:"));
        let wrong = one.replacen(";1000;", ";-1000;", 1);
        assert!(parse(wrong.as_bytes()).unwrap_err().message.contains("expected IOPS;"));
    }
}

//! Parses fio's logs (`write_lat_log`, `write_bw_log`, `write_iops_log`), of fio 3:
//! `NAME_lat.1.log` and the files beside it, which together are of one job.
//!
//! Logs of every request give everything that fio itself reports, and exact percentiles. Their
//! times are whole ms, so rates of short runs are coarse.
//!
//! From logs of averages (`log_avg_msec`), the means are computed. Each average is weighted by its
//! time and, if known, by its requests. The means are not exact if a load changes from one average
//! to the next. With `log_window_value=both`, fio puts the greatest value beside the mean. Nothing
//! in such logs shows that, so they are read wrong or not at all. Histograms (`_clat_hist`) are not
//! read.

mod entries;

use disklab_units::Nanos;

use crate::directions::{Directions, measures};
use crate::format::{Claimed, File, Unreadable};
use crate::row::ResultRow;
use disklab_results::fio;
use disklab_results::histogram::Histogram;
use disklab_results::integrity::{Claim, DirectionClaim, Latency};
use disklab_results::sample;
use entries::{DIRECTIONS, FioLog, KINDS, LogEntry, LogName, is_log};

/// Decides about a file. The first log of a job, in the order of names, has the results; the others
/// are read with it.
pub fn claims(file: &File) -> Claimed {
    let Some(name) = LogName::parse(file.name()).filter(|_| is_log(file.bytes)) else {
        return Claimed::No;
    };
    let mut before = KINDS.iter().take_while(|kind| **kind != name.kind);
    let first =
        !before.any(|kind| (file.beside)(&name.of_kind(kind)).is_some_and(|bytes| is_log(&bytes)));
    if first { Claimed::Results } else { Claimed::Beside }
}

pub fn read(file: &File) -> Result<Vec<ResultRow>, Unreadable> {
    let empty = || Unreadable::whole("it has no entry");
    let name = LogName::parse(file.name()).ok_or_else(empty)?;
    let mut logs = Vec::new();
    for kind in KINDS {
        let other = name.of_kind(kind);
        let bytes =
            if kind == name.kind { Some(file.bytes.to_vec()) } else { (file.beside)(&other) };
        let Some(bytes) = bytes.filter(|bytes| is_log(bytes)) else { continue };
        let log = FioLog::parse(&bytes).map_err(|line| {
            Unreadable::whole(format!(
                "{other}, line {line}: expected `time, value, direction, bytes`, whole numbers \
                 that are not negative"
            ))
        })?;
        logs.push((kind, log));
    }
    let logs = Logs { logs };
    let window = logs.window().ok_or_else(empty)?;
    let mut cell = vec![("job".to_owned(), name.name.to_owned())];
    cell.extend(name.number.map(|number| ("job number".to_owned(), number.to_owned())));
    let place = file.name().to_owned();
    let row = logs.of_requests(name.name, window).unwrap_or_else(|| logs.of_averages(window));
    Ok(vec![ResultRow { place, cell, ..row }])
}

/// The logs of a job, by kind.
struct Logs {
    logs: Vec<(&'static str, FioLog)>,
}

/// The time of the entries, in ms.
#[derive(Clone, Copy)]
struct Window {
    first: u64,
    last: u64,
}

impl Window {
    fn length(self) -> u64 {
        self.last.saturating_sub(self.first)
    }

    fn nanos(self) -> Nanos {
        Nanos(self.length().saturating_mul(1_000_000))
    }
}

impl Logs {
    fn kind(&self, kind: &str) -> Option<&FioLog> {
        let own = |(known, log): &&(&str, FioLog)| *known == kind && !log.entries.is_empty();
        self.logs.iter().find(own).map(|(_, log)| log)
    }

    /// Returns the time from the first to the last entry. The first average begins before that, and
    /// is left out.
    fn window(&self) -> Option<Window> {
        let ends = |log: &FioLog| Some((log.entries.first()?.ms, log.entries.last()?.ms));
        let all = || self.logs.iter().filter_map(|(_, log)| ends(log));
        let first = all().map(|(first, _)| first).min()?;
        Some(Window { first, last: all().map(|(_, last)| last).max()? })
    }

    /// Returns the row as fio would have reported it, or `None` without a log of every request's
    /// latency, or if no time passed.
    fn of_requests(&self, name: &str, window: Window) -> Option<ResultRow> {
        let lat = self.kind("lat").filter(|log| log.is_of_requests())?;
        if window.length() == 0 {
            return None;
        }
        let direction = |direction: usize| of_direction(lat, direction, window);
        let job = fio::Job {
            name: name.to_owned(),
            read: direction(0)?,
            write: direction(1)?,
            trim: direction(2)?,
            ..fio::Job::default()
        };
        let (sample, remarks) = sample::of_jobs(&[&job]);
        let mut claim = sample::claim_of(&[&job]);
        for part in &mut claim.parts {
            // Requests that ended in the first ms began before the window. The rates leave them
            // out, and the counts include them.
            (part.requests, part.bytes) = (None, None);
        }
        Some(ResultRow { sample: Some(sample), claim, remarks, ..ResultRow::default() })
    }

    fn of_averages(&self, window: Window) -> ResultRow {
        let has = |index: usize| {
            self.logs.iter().any(|(_, log)| log.in_direction(index).next().is_some())
        };
        let directions = (0..).zip(DIRECTIONS).filter(|(index, _)| has(*index));
        let directions: Directions =
            directions.map(|(index, name)| (name, self.part(index, window))).collect();
        let measures = measures(&directions);
        let parts = directions.into_values().collect();
        let claim = Claim { ran: Some(window.nanos()), parts, ..Claim::default() };
        ResultRow { measures, claim, ..ResultRow::default() }
    }

    fn part(&self, direction: usize, window: Window) -> DirectionClaim {
        let counted = self.logs.iter().find(|(_, log)| log.is_of_requests());
        let (iops, bytes) = if let Some((_, log)) = counted {
            rates(log, direction, window)
        } else {
            let mean = |kind| weighted(self.kind(kind)?, direction, |_| 1.0);
            (mean("iops"), mean("bw").map(|kib| kib * 1024.0))
        };
        let rates: Vec<&LogEntry> =
            self.kind("iops").map(|log| log.in_direction(direction).collect()).unwrap_or_default();
        // The requests per second at an entry: the average that ended nearest to it.
        let busy = |entry: &LogEntry| {
            let after = rates.partition_point(|rate| rate.ms < entry.ms);
            let around = [after.checked_sub(1), Some(after)];
            let near = around.into_iter().flatten().filter_map(|at| rates.get(at));
            near.min_by_key(|rate| rate.ms.abs_diff(entry.ms)).map_or(1.0, |rate| rate.value as f64)
        };
        let mean = |kind| weighted(self.kind(kind)?, direction, busy);
        let lat = mean("lat").filter(|ns| *ns > 0.0);
        DirectionClaim {
            iops,
            bytes_per_second: bytes,
            mean: lat,
            latency: Latency { mean: lat.or_else(|| mean("clat")), ..Latency::default() },
            ..DirectionClaim::default()
        }
    }
}

/// Returns requests and bytes per second, of the requests that ended after the first ms.
fn rates(log: &FioLog, direction: usize, window: Window) -> (Option<f64>, Option<f64>) {
    if window.length() == 0 {
        return (None, None);
    }
    let seconds = window.length() as f64 / 1000.0;
    let later = || log.in_direction(direction).filter(|entry| entry.ms > window.first);
    let bytes: f64 = later().map(|entry| entry.bytes as f64).sum();
    (Some(later().count() as f64 / seconds), Some(bytes / seconds))
}

fn of_direction(lat: &FioLog, direction: usize, window: Window) -> Option<fio::Direction> {
    let requests = lat.in_direction(direction).count() as u64;
    if requests == 0 {
        return Some(fio::Direction::default());
    }
    let values = || lat.in_direction(direction).map(|entry| entry.value);
    let mean = values().map(|ns| ns as f64).sum::<f64>() / requests as f64;
    let squares: f64 = values().map(|ns| (ns as f64 - mean).powi(2)).sum();
    let (iops, bytes_per_second) = rates(lat, direction, window);
    let latency = fio::Latency {
        count: requests,
        min: Nanos(values().min()?),
        max: Nanos(values().max()?),
        mean_ns: mean,
        stddev_ns: if requests > 1 { (squares / (requests - 1) as f64).sqrt() } else { 0.0 },
        histogram: Some(Histogram::from_bins(values().map(|ns| (ns, 1)).collect())?),
        reported: Vec::new(),
    };
    Some(fio::Direction {
        iops: iops?,
        bw_bytes: bytes_per_second? as u64,
        io_bytes: lat
            .in_direction(direction)
            .fold(0, |sum: u64, entry| sum.saturating_add(entry.bytes)),
        total_ios: requests,
        runtime: window.nanos(),
        lat: latency,
        ..fio::Direction::default()
    })
}

/// Returns the mean of averages, each weighted by its time span and by `busy`.
fn weighted(log: &FioLog, direction: usize, busy: impl Fn(&LogEntry) -> f64) -> Option<f64> {
    let entries: Vec<&LogEntry> = log.in_direction(direction).collect();
    let span = |at: usize| Some(entries.get(at + 1)?.ms - entries.get(at)?.ms);
    // The first average is assumed as long as the second, but not longer than the run so far.
    let first = span(0).unwrap_or(1).min(entries.first()?.ms).max(1);
    let spans = std::iter::once(first).chain((0..).map_while(span));
    let (mut sum, mut weights) = (0.0, 0.0);
    for (entry, span) in entries.iter().zip(spans) {
        let weight = span as f64 * busy(entry);
        sum += entry.value as f64 * weight;
        weights += weight;
    }
    (weights > 0.0).then(|| sum / weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, bytes: &str, beside: &dyn Fn(&str) -> Option<Vec<u8>>) -> ResultRow {
        let path = format!("logs/a_{kind}.2.log");
        read(&File { path: &path, bytes: bytes.as_bytes(), beside }).unwrap().remove(0)
    }

    #[test]
    fn every_request_gives_exact_percentiles() {
        let lines: String = (1..=1000)
            .map(|ms| format!("{ms}, {}, 0, 4096, 0\n", ms * 1000))
            .collect::<Vec<_>>()
            .concat();
        let row = row("lat", &lines, &|_| None);
        let sample = row.sample.unwrap();
        assert_eq!((sample.requests, sample.lat_mean_ns), (1000, 500_500.0));
        assert_eq!((sample.p50_ns, sample.p99_ns), (Some(Nanos(500_000)), Some(Nanos(990_000))));
        assert!((sample.iops - 1000.0).abs() < 1e-9 && sample.bw_bytes == 4_096_000);
        let cell: Vec<_> =
            row.cell.iter().map(|(axis, value)| (axis.as_str(), value.as_str())).collect();
        assert_eq!(cell, [("job", "a"), ("job number", "2")]);
    }

    #[test]
    fn averages_count_for_their_time_and_requests() {
        let beside = |name: &str| {
            let text = match name {
                "a_iops.2.log" => "100, 10, 0, 0\n200, 30, 0, 0\n",
                "a_lat.2.log" => "100, 4000, 0, 0\n200, 8000, 0, 0\n200, 1, 0, 0\n",
                _ => return None,
            };
            Some(text.as_bytes().to_vec())
        };
        let bw = "100, 40, 0, 0, 0\n200, 120, 0, 0, 0\n";
        let row = row("bw", bw, &beside);
        let value = |name: &str| row.measures.get(name).map(|measure| measure.value);
        assert_eq!((value("iops"), value("bandwidth")), (Some(20.0), Some(81_920.0)));
        assert_eq!(value("mean"), Some(7000.0));
        let claimed = |path| claims(&File { path, bytes: bw.as_bytes(), beside: &beside });
        assert_eq!(
            ["a_bw.2.log", "a_lat.2.log", "a_bw.txt"].map(claimed),
            [Claimed::Results, Claimed::Beside, Claimed::No]
        );
    }

    #[test]
    fn a_line_that_is_none_is_told_with_its_file() {
        let beside = |name: &str| (name == "a_lat.1.log").then(|| b"1, 2, 0, 4096\n1, 2".to_vec());
        let file = File { path: "a_bw.1.log", bytes: b"1, 2, 0, 4096\n", beside: &beside };
        let error = read(&file).unwrap_err();
        assert!(error.message.starts_with("a_lat.1.log, line 2: "), "{error}");
    }
}

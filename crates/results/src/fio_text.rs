//! fio's normal output, which it prints for people; of fio 3.0 to 3.41.
//!
//! Rates are rounded there to four digits, and latencies to a unit. Where requests, request size
//! and running time give a rate that would be printed the same, the exact one is taken; otherwise
//! what is printed, to be found fault with. Options that are not in it (`direct`, `rate`,
//! `thinktime`) are not known. Of a job that is reported several times (`status-interval`) the last
//! report counts. fio 2 and what fio prints of other machines' jobs are not read.

mod line;
mod number;
mod row;

use disklab_units::Nanos;

use crate::fio;
use crate::found::Row;
use line::{Declared, Direction, Header, Issued, Kind, Rates};

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FioTextError {
    #[error("line {line}: expected {expected}; it is cut short, or of a fio not known here")]
    Line { line: usize, expected: &'static str },
    #[error("of no job it says what came of it, only: {said}")]
    NoResults { said: String },
}

/// One start of fio; a file may hold several.
#[derive(Debug, Default)]
struct Run {
    declared: Vec<Declared>,
    reported: Vec<Reported>,
}

/// What came of a job, or of a group.
#[derive(Debug)]
struct Reported {
    line: usize,
    header: Header,
    directions: Vec<(Rates, Latencies)>,
    issued: Option<Issued>,
    /// The line with the requests in flight at each submission.
    depths: Option<String>,
    /// It waited for fsync or alike.
    synced: bool,
}

#[derive(Debug, Default)]
struct Latencies {
    slat: fio::Latency,
    clat: fio::Latency,
    lat: fio::Latency,
}

impl Latencies {
    fn of(&mut self, kind: Kind) -> Option<&mut fio::Latency> {
        match kind {
            Kind::Slat => Some(&mut self.slat),
            Kind::Clat => Some(&mut self.clat),
            Kind::Lat => Some(&mut self.lat),
            Kind::Other => None,
        }
    }
}

/// Whether some lines of it are what fio prints of a job.
pub fn is_text(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let of_a_job = |line: &str| {
        (line.contains(line::HEADER) && line.contains("): err=")) || line::declared(line).is_some()
    };
    text.lines().any(of_a_job)
}

/// A row for all jobs of one name and group: they ran together.
pub fn parse(bytes: &[u8]) -> Result<Vec<Row>, FioTextError> {
    let runs = runs(bytes)?;
    let rows: Vec<Row> = runs.iter().flat_map(row::rows).collect();
    if rows.is_empty() {
        /// Of fio's words, so many characters are repeated.
        const SAID: usize = 2000;
        let text = String::from_utf8_lossy(bytes);
        return Err(FioTextError::NoResults { said: text.trim().chars().take(SAID).collect() });
    }
    Ok(rows)
}

fn runs(bytes: &[u8]) -> Result<Vec<Run>, FioTextError> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader { runs: vec![Run::default()], job: None, percentiles: None };
    for (index, line) in text.lines().enumerate() {
        reader
            .line(index + 1, line)
            .map_err(|expected| FioTextError::Line { line: index + 1, expected })?;
    }
    reader.job_ends()?;
    Ok(reader.runs)
}

/// Expected where something else begins.
const BEFORE: &str = "`issued rwts: ...` of the job before";

struct Reader {
    runs: Vec<Run>,
    /// The job that is being reported.
    job: Option<Reported>,
    /// The latencies of which percentiles follow, and their unit in ns.
    percentiles: Option<(Kind, f64)>,
}

impl Reader {
    /// What was expected, if it was not there.
    fn line(&mut self, number: usize, line: &str) -> Result<(), &'static str> {
        if let Some(declared) = line::declared(line) {
            self.job_ends().map_err(|_| BEFORE)?;
            self.declare(declared);
        } else if line.contains(line::HEADER) && line.contains("err=") {
            let header =
                line::header(line).ok_or("`NAME: (groupid=N, jobs=N): err= N: pid=N: ...`")?;
            self.job_ends().map_err(|_| BEFORE)?;
            let job = Reported {
                line: number,
                header,
                directions: Vec::new(),
                issued: None,
                depths: None,
                synced: false,
            };
            self.job = Some(job);
        } else if let Some(job) = &mut self.job {
            if line.starts_with("Run status group") {
                self.job_ends().map_err(|_| BEFORE)?;
            } else {
                job.line(line, &mut self.percentiles)?;
            }
        }
        Ok(())
    }

    fn declare(&mut self, declared: Declared) {
        let begun = self.runs.last().is_none_or(|run| !run.reported.is_empty());
        if begun {
            self.runs.push(Run::default());
        }
        if let Some(run) = self.runs.last_mut() {
            run.declared.push(declared);
        }
    }

    fn job_ends(&mut self) -> Result<(), FioTextError> {
        self.percentiles = None;
        let Some(job) = self.job.take() else { return Ok(()) };
        if job.issued.is_none() {
            let expected = "of the job that begins here `issued rwts: ...` as well";
            return Err(FioTextError::Line { line: job.line, expected });
        }
        let Some(run) = self.runs.last_mut() else { return Ok(()) };
        // The same process once more is a later report of the same job.
        let same = |before: &&mut Reported| {
            let (before, now) = (&before.header, &job.header);
            (before.pid, before.group, &before.name) == (now.pid, now.group, &now.name)
        };
        match run.reported.iter_mut().find(same) {
            Some(before) => *before = job,
            None => run.reported.push(job),
        }
        Ok(())
    }
}

impl Reported {
    fn line(
        &mut self,
        line: &str,
        percentiles: &mut Option<(Kind, f64)>,
    ) -> Result<(), &'static str> {
        if let Some((kind, unit)) = *percentiles {
            if line.trim_start().starts_with('|') {
                let values =
                    line::percentiles(line, unit).ok_or("percentiles: `| 99.00th=[  123],`")?;
                if let Some((_, latencies)) = self.directions.last_mut()
                    && let Some(latency) = latencies.of(kind)
                {
                    latency.reported.extend(values);
                }
                return Ok(());
            }
            *percentiles = None;
        }
        if line::is_rates(line) {
            let rates = line::rates(line).ok_or("`IOPS=N, BW=N (N)(N/Nmsec)`")?;
            self.directions.push((rates, Latencies::default()));
        } else if line::is_latency(line) {
            let expected = "`clat (usec): min=N, max=N, avg=N, stdev=N`";
            let (kind, latency) = line::latency(line).ok_or(expected)?;
            if let Some((_, latencies)) = self.directions.last_mut()
                && let Some(place) = latencies.of(kind)
            {
                *place = latency;
            }
        } else if let Some(begun) = line::percentiles_begin(line) {
            *percentiles = Some(begun);
        } else if line::is_issued(line) {
            let expected = "`issued rwts: total=N,N,N,N short=N,N,N,0 dropped=N,N,N,0`";
            self.issued = Some(line::issued(line).ok_or(expected)?);
        } else if line.trim_start().starts_with("IO depths") {
            self.depths = Some(line.to_owned());
        } else if line.trim_start().starts_with("fsync/") {
            self.synced = true;
        }
        Ok(())
    }

    /// As if it had been in fio's JSON.
    fn job(&self, block: Option<u64>) -> fio::Job {
        let mut job = fio::Job {
            name: self.header.name.clone(),
            error: self.header.errno,
            options: fio::Options::new(),
            hostname: None,
            syncs: 0,
            mixed: fio::Direction::default(),
            read: fio::Direction::default(),
            write: fio::Direction::default(),
            trim: fio::Direction::default(),
        };
        let issued = self.issued.unwrap_or_default();
        // `unified_rw_reporting=both` counts all once more.
        let apart = self.directions.iter().any(|(rates, _)| rates.direction != Direction::Mixed);
        for (rates, latencies) in &self.directions {
            let (place, index) = match rates.direction {
                Direction::Read => (&mut job.read, 0),
                Direction::Write => (&mut job.write, 1),
                Direction::Trim => (&mut job.trim, 2),
                Direction::Mixed if apart => continue,
                Direction::Mixed => (&mut job.mixed, 0),
            };
            *place = direction(rates, latencies, &issued, index, block);
        }
        job
    }
}

fn direction(
    rates: &Rates,
    latencies: &Latencies,
    issued: &Issued,
    index: usize,
    block: Option<u64>,
) -> fio::Direction {
    let at = |counts: &[u64; 3]| counts.get(index).copied().unwrap_or(0);
    let requests = at(&issued.total);
    let per_second =
        |amount: f64| if rates.runtime > 0 { amount * 1000.0 / rates.runtime as f64 } else { 0.0 };
    let by_size = block.map(|block| block as f64 * requests as f64);
    let bytes = by_size.map_or(rates.bytes, |exact| as_printed(exact, rates.bytes));
    let latency = |latency: &fio::Latency| {
        let measured = latency.mean_ns > 0.0 || !latency.reported.is_empty();
        fio::Latency { count: if measured { requests } else { 0 }, ..latency.clone() }
    };
    fio::Direction {
        iops: as_printed(per_second(requests as f64), rates.iops),
        bw_bytes: as_printed(per_second(bytes), rates.bytes_per_second) as u64,
        io_bytes: bytes.round() as u64,
        total_ios: requests,
        short_ios: at(&issued.short),
        drop_ios: at(&issued.dropped),
        runtime: Nanos(rates.runtime.saturating_mul(1_000_000)),
        slat: latency(&latencies.slat),
        clat: latency(&latencies.clat),
        lat: latency(&latencies.lat),
    }
}

/// `exact` where fio would have printed it as it printed this: cut to a whole number, then rounded
/// to three digits or four.
fn as_printed(exact: f64, printed: f64) -> f64 {
    if (exact - printed).abs() <= printed * 0.006 + 1.0 { exact } else { printed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrity::check;

    const ONE: &str = "\
a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8
fio-3.36
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=7: Sun Nov 22 07:53:35 2026
  read: IOPS=2000, BW=8000KiB/s (8192kB/s)(8000KiB/1000msec)
    slat (usec): min=2, max=438, avg=23.22, stdev=44.87
    clat (usec): min=40, max=8979, avg=3900.00, stdev=2442.00
     lat (usec): min=58, max=8982, avg=3923.22, stdev=2436.54
    clat percentiles (usec):
     |  1.00th=[   53], 50.00th=[ 3359], 99.00th=[ 8848], 99.90th=[ 8979]
  lat (usec)   : 50=0.39%, 100=7.81%, 250=12.11%, 500=27.73%, 750=4.30%
  IO depths    : 1=0.4%, 2=0.8%, 4=1.6%, 8=97.3%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=2000,0,0,0 short=0,0,0,0 dropped=0,0,0,0
";

    #[test]
    fn a_job_is_read_in_full() {
        let rows = parse(ONE.as_bytes()).unwrap();
        let [row] = rows.as_slice() else { panic!("one row") };
        let sample = row.sample.as_ref().unwrap();
        assert_eq!(
            (sample.requests, sample.bw_bytes, sample.lat_mean_ns),
            (2000, 8_192_000, 3_923_220.0)
        );
        assert_eq!(sample.p99_ns, Some(Nanos(8_848_000)));
        assert_eq!(
            (row.claim.in_flight, row.claim.limited, row.claim.block),
            (Some(8), false, Some(4096))
        );
        assert_eq!((check(&row.claim), row.place.as_str()), (vec![], "line 5 (a)"));
        let shallow = ONE.replace("8=97.3%", "8=7.3%").replace("IOPS=2000", "IOPS=1000");
        assert!(parse(shallow.as_bytes()).unwrap()[0].claim.limited, "not all were in flight");
        let wrong = ONE.replace("IOPS=2000", "IOPS=9000");
        assert!(
            !check(&parse(wrong.as_bytes()).unwrap()[0].claim).is_empty(),
            "what is printed counts"
        );
    }

    #[test]
    fn a_later_report_of_the_same_process_counts_and_another_run_is_another_row() {
        let interim = ONE.split_once("\n\n").unwrap().1;
        let later = format!("{ONE}\n{}", interim.replace("total=2000", "total=2001"));
        let rows = parse(later.as_bytes()).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].sample.as_ref().unwrap().requests, 2001);
        assert_eq!(parse(format!("{ONE}\n{ONE}").as_bytes()).unwrap().len(), 2);
    }

    #[test]
    fn what_is_cut_short_says_where() {
        let cut = |from: &str| parse(ONE.split_once(from).unwrap().0.as_bytes()).unwrap_err();
        assert!(matches!(cut(" (8192kB"), FioTextError::Line { line: 6, .. }));
        assert!(matches!(cut("     issued"), FioTextError::Line { line: 5, .. }));
        assert!(matches!(cut("Starting"), FioTextError::NoResults { .. }));
    }
}

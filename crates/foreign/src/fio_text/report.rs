//! The results of each job in fio's normal output, assembled from its lines.

use disklab_results::fio;
use disklab_units::Nanos;

use super::line::{self, Declared, Direction, Header, Issued, PrintedLatency, Rates};
use crate::format::Unreadable;

/// A run of fio; a file may hold several.
#[derive(Debug, Default)]
pub struct FioRun {
    pub declared: Vec<Declared>,
    pub reported: Vec<Reported>,
}

/// The results of a job, or of a group.
#[derive(Debug)]
pub struct Reported {
    pub line: usize,
    pub header: Header,
    directions: Vec<(Rates, Latencies)>,
    issued: Option<Issued>,
    /// The line with the requests in flight at each submission.
    pub depths: Option<String>,
    /// Whether the job waited for fsync or similar calls.
    pub synced: bool,
}

#[derive(Debug, Default)]
struct Latencies {
    slat: fio::Latency,
    clat: fio::Latency,
    lat: fio::Latency,
}

pub fn runs(bytes: &[u8]) -> Result<Vec<FioRun>, Unreadable> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = TextReader { runs: vec![FioRun::default()], job: None, percentiles: None };
    for (index, line) in text.lines().enumerate() {
        reader.line(index + 1, line).map_err(|expected| cut_short(index + 1, expected))?;
    }
    reader.job_ends()?;
    Ok(reader.runs)
}

fn cut_short(line: usize, expected: &str) -> Unreadable {
    let message = format!("expected {expected}; it is cut short, or of an unknown version of fio");
    Unreadable::line(line, message)
}

/// The expected text if something else begins.
const BEFORE: &str = "the line `issued rwts: ...` of the previous job";

struct TextReader {
    runs: Vec<FioRun>,
    /// The job that is being parsed.
    job: Option<Reported>,
    /// The latency that the next percentiles belong to, and their unit in ns.
    percentiles: Option<(PrintedLatency, f64)>,
}

impl TextReader {
    /// Parses a line. The error is the expected text.
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
            if line.starts_with("FioRun status group") {
                self.job_ends().map_err(|_| BEFORE)?;
            } else {
                job.line(line, &mut self.percentiles)?;
            }
        }
        Ok(())
    }

    fn declare(&mut self, declared: Declared) {
        match self.runs.last_mut().filter(|run| run.reported.is_empty()) {
            Some(run) => run.declared.push(declared),
            None => self.runs.push(FioRun { declared: vec![declared], ..FioRun::default() }),
        }
    }

    fn job_ends(&mut self) -> Result<(), Unreadable> {
        self.percentiles = None;
        let Some(job) = self.job.take() else { return Ok(()) };
        if job.issued.is_none() {
            let expected = "the line `issued rwts: ...` of the job that begins here";
            return Err(cut_short(job.line, expected));
        }
        let Some(run) = self.runs.last_mut() else { return Ok(()) };
        // If the process is the same, this is a later report of the same job.
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
        percentiles: &mut Option<(PrintedLatency, f64)>,
    ) -> Result<(), &'static str> {
        if let Some((kind, unit)) = *percentiles {
            if line.trim_start().starts_with('|') {
                let values =
                    line::percentiles(line, unit).ok_or("percentiles: `| 99.00th=[  123],`")?;
                if let Some(latency) = self.latency_mut(kind) {
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
            if let Some(place) = self.latency_mut(kind) {
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

    /// Returns a latency of the direction that is being parsed.
    fn latency_mut(&mut self, kind: PrintedLatency) -> Option<&mut fio::Latency> {
        let (_, latencies) = self.directions.last_mut()?;
        match kind {
            PrintedLatency::Slat => Some(&mut latencies.slat),
            PrintedLatency::Clat => Some(&mut latencies.clat),
            PrintedLatency::Lat => Some(&mut latencies.lat),
            PrintedLatency::Other => None,
        }
    }

    /// Returns the job as if it had been in fio's JSON.
    pub fn job(&self, block: Option<u64>) -> fio::Job {
        let mut job = fio::Job {
            name: self.header.name.clone(),
            error: self.header.errno,
            ..fio::Job::default()
        };
        let issued = self.issued.unwrap_or_default();
        // `unified_rw_reporting=both` counts everything twice.
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

/// Returns `exact` if fio would have printed it as `printed`: cut to a whole number, then rounded
/// to three or four digits. Otherwise returns `printed`.
fn as_printed(exact: f64, printed: f64) -> f64 {
    if (exact - printed).abs() <= printed * 0.006 + 1.0 { exact } else { printed }
}

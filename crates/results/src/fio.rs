//! Parses fio's report: a tolerant reader of `--output-format=json` and `json+`.
//!
//! The reader is tolerant for three reasons. fio writes complaints around its JSON when both go to
//! one file (axboe/fio#731), adds fields from version to version, and leaves out fields that do not
//! apply. The reader skips everything that it does not need. If a field that it needs has the wrong
//! type, the result is an error, and never a zero.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use disklab_units::Nanos;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use crate::histogram::Histogram;

/// Largest number of bytes of a report: a job with every bucket of every histogram filled is under
/// 200 KiB.
const LARGEST_REPORT: usize = 1 << 30;
/// Largest number of bytes of fio's messages around the JSON that are kept.
const MESSAGES_KEPT: usize = 2000;
/// Largest number of entries of a histogram: fio has 29 groups of 64 buckets (`FIO_IO_U_PLAT_NR` in
/// its stat.h), and this leaves some room.
const MOST_ENTRIES: usize = 4096;
/// The largest number that is accepted: beyond any rate, latency in nanoseconds or deviation that
/// can be measured. The limit keeps sums and products finite.
const LARGEST_NUMBER: f64 = 1e18;

/// A report of fio.
#[derive(Debug, Clone, PartialEq)]
pub struct Fio {
    /// The version as fio spells it: `fio-3.33`.
    pub version: String,
    /// Messages of fio before and after its JSON, mostly complaints: at most 2000 bytes, trimmed.
    pub messages: String,
    /// Options of all jobs that have no value of their own.
    pub global: Options,
    /// An entry for each job, or for each group with `group_reporting`.
    pub jobs: Vec<Job>,
}

/// fio's options by name, with their values as given: `bs`, `4k`.
pub type Options = BTreeMap<String, String>;

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Name of the job. It is empty for the entry of jobs that report as a group beside others that
    /// do not.
    #[serde(rename = "jobname")]
    pub name: String,
    /// The errno that stopped the job, 0 for none. fio can fail before its first request and still
    /// report 0.
    pub error: i64,
    #[serde(rename = "job options", deserialize_with = "options")]
    pub options: Options,
    /// The machine on which the job ran, if fio controlled several machines.
    pub hostname: Option<String>,
    /// Number of fsync and fdatasync calls.
    #[serde(rename = "sync", deserialize_with = "syncs")]
    pub syncs: u64,
    /// The numbers of all directions together (`unified_rw_reporting`); the others are empty then.
    pub mixed: Direction,
    pub read: Direction,
    pub write: Direction,
    pub trim: Direction,
}

impl Job {
    pub fn directions(&self) -> [&Direction; 4] {
        [&self.read, &self.write, &self.trim, &self.mixed]
    }

    /// Removes `mixed` if other directions have numbers: `unified_rw_reporting=both` reports
    /// everything twice.
    fn counted_once(mut self) -> Self {
        if [&self.read, &self.write, &self.trim].iter().any(|apart| apart.total_ios > 0) {
            self.mixed = Direction::default();
        }
        self
    }
}

/// The requests of a job in one direction. All numbers are zero if there were none.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(from = "DirectionAsPrinted")]
pub struct Direction {
    /// Requests per second, over `runtime`.
    pub iops: f64,
    /// Bytes per second, over `runtime`.
    pub bw_bytes: u64,
    /// Bytes of all requests.
    pub io_bytes: u64,
    /// Number of all requests.
    pub total_ios: u64,
    /// Requests that moved fewer bytes than asked.
    pub short_ios: u64,
    /// Requests that were never done.
    pub drop_ios: u64,
    /// Time for which the job measured. fio reports whole milliseconds.
    pub runtime: Nanos,
    /// Submission latency: the time until the kernel has the request. Synchronous engines have
    /// none.
    pub slat: Latency,
    /// Completion latency: the time from submission to completion.
    pub clat: Latency,
    /// Total latency: the sum of slat and clat.
    pub lat: Latency,
}

/// The latencies of requests.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Number of requests whose latency was measured.
    #[serde(rename = "N")]
    pub count: u64,
    pub min: Nanos,
    pub max: Nanos,
    /// Mean in nanoseconds.
    #[serde(rename = "mean", deserialize_with = "number")]
    pub mean_ns: f64,
    /// Standard deviation in nanoseconds.
    #[serde(rename = "stddev", deserialize_with = "number")]
    pub stddev_ns: f64,
    /// All requests by latency, in buckets. Only `json+` has it, and only for the kind of latency
    /// that the percentiles are of (clat, unless `lat_percentiles` or `slat_percentiles` select
    /// another).
    #[serde(rename = "bins", deserialize_with = "histogram")]
    pub histogram: Option<Histogram>,
    /// fio's own percentiles: (percent, nanoseconds), in the order of the report.
    #[serde(rename = "percentile", deserialize_with = "percentiles")]
    pub reported: Vec<(f64, u64)>,
}

impl Latency {
    /// Returns the latency that `percent` of the requests did not exceed. The histogram gives it
    /// ([`Histogram::percentile`]), limited to the least and the greatest measured latency. Without
    /// a histogram, it is fio's own number for exactly this percentile, or `None`.
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        if let Some(histogram) = &self.histogram {
            let midpoint = histogram.percentile(percent)?;
            return Some(Nanos(midpoint.min(self.max.0).max(self.min.0)));
        }
        let same = |&&(reported, _): &&(f64, u64)| (reported - percent).abs() < 1e-6;
        self.reported.iter().find(same).map(|&(_, ns)| Nanos(ns))
    }

    /// Returns whether any percentile is known.
    pub(crate) fn has_percentiles(&self) -> bool {
        self.histogram.is_some() || !self.reported.is_empty()
    }

    /// Fills in the count of requests that some versions of fio leave out, and removes a least
    /// latency that some versions print without any request.
    fn of_requests(mut self, requests: u64) -> Self {
        // Older versions print no N; if the latency was measured at all, it was for all requests.
        let counted = self.histogram.as_ref().map_or(0, Histogram::count);
        let seen = if self.mean_ns > 0.0 { requests } else { 0 };
        self.count = [self.count, counted, seen].into_iter().find(|&n| n > 0).unwrap_or(0);
        // Without a request, some versions print the largest integer as the least latency.
        if self.count == 0 {
            self.min = Nanos(0);
        }
        self.max = self.max.max(self.min);
        self
    }
}

/// A direction in the form of fio's JSON.
#[derive(Deserialize, Default)]
#[serde(default)]
struct DirectionAsPrinted {
    #[serde(deserialize_with = "number")]
    iops: f64,
    /// Rate in KiB/s: the only rate before fio 3.2.
    #[serde(deserialize_with = "number")]
    bw: f64,
    bw_bytes: Option<u64>,
    io_bytes: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    /// Time for which the job measured, in milliseconds.
    runtime: u64,
    slat_ns: Latency,
    clat_ns: Latency,
    lat_ns: Latency,
}

impl From<DirectionAsPrinted> for Direction {
    fn from(printed: DirectionAsPrinted) -> Self {
        Self {
            iops: printed.iops,
            bw_bytes: printed.bw_bytes.unwrap_or((printed.bw * 1024.0) as u64),
            io_bytes: printed.io_bytes,
            total_ios: printed.total_ios,
            short_ios: printed.short_ios,
            drop_ios: printed.drop_ios,
            runtime: Nanos(printed.runtime.saturating_mul(1_000_000)),
            slat: printed.slat_ns.of_requests(printed.total_ios),
            clat: printed.clat_ns.of_requests(printed.total_ios),
            lat: printed.lat_ns.of_requests(printed.total_ios),
        }
    }
}

/// A report in the form of fio's JSON.
#[derive(Deserialize)]
struct ReportAsPrinted {
    #[serde(default, rename = "fio version")]
    version: String,
    #[serde(default, rename = "global options", deserialize_with = "options")]
    global: Options,
    #[serde(default)]
    jobs: Vec<Job>,
    /// The jobs if fio controlled other machines: an entry per job and machine, and one over all.
    #[serde(default)]
    client_stats: Vec<Job>,
}

/// Reads the options as fio was given them. Values other than strings are not from fio, and are
/// dropped.
fn options<'de, D: Deserializer<'de>>(from: D) -> Result<Options, D::Error> {
    let all = BTreeMap::<String, serde_json::Value>::deserialize(from)?;
    let text = |(name, value)| match value {
        serde_json::Value::String(value) => Some((name, value)),
        _ => None,
    };
    Ok(all.into_iter().filter_map(text).collect())
}

fn syncs<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Syncs {
        total_ios: u64,
    }
    Ok(Syncs::deserialize(from)?.total_ios)
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    if (0.0..=LARGEST_NUMBER).contains(&number) {
        Ok(number)
    } else {
        Err(de::Error::custom(format_args!("{number} cannot be measured")))
    }
}

fn histogram<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Histogram>, D::Error> {
    let bins = pairs(from)?;
    if bins.is_empty() {
        return Ok(None);
    }
    let beyond = || de::Error::custom("the counts of the bins do not fit 64 bits");
    Histogram::from_bins(bins).map(Some).ok_or_else(beyond)
}

/// Reads percentiles without fio's padding. Old versions (3.1 among them) print 20 of them, with
/// `"0.00": 0` for each beyond those that were asked for.
fn percentiles<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(f64, u64)>, D::Error> {
    let mut reported: Vec<(f64, u64)> = pairs(from)?;
    reported.retain(|&(percent, ns)| percent != 0.0 || ns != 0);
    Ok(reported)
}

/// Reads a JSON object whose keys are numbers (`"99.900000": 1234`), fio's form of percentiles and
/// bins.
fn pairs<'de, Key: FromStr, D: Deserializer<'de>>(from: D) -> Result<Vec<(Key, u64)>, D::Error> {
    from.deserialize_map(PairsVisitor(PhantomData))
}

struct PairsVisitor<Key>(PhantomData<Key>);

impl<'de, Key: FromStr> Visitor<'de> for PairsVisitor<Key> {
    type Value = Vec<(Key, u64)>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "an object of at most {MOST_ENTRIES} numbers by number")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut pairs = Vec::new();
        while let Some((key, count)) = map.next_entry::<String, u64>()? {
            if pairs.len() == MOST_ENTRIES {
                return Err(de::Error::invalid_length(pairs.len() + 1, &self));
            }
            let key = key
                .parse()
                .map_err(|_| de::Error::custom(format_args!("{key:?} is not a number")))?;
            pairs.push((key, count));
        }
        Ok(pairs)
    }
}

/// A reason why a report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FioError {
    #[error("fio's report is empty: fio did not start, or was killed before it finished")]
    Empty,
    #[error("fio's report has {bytes} bytes; disklab reads {LARGEST_REPORT} at most")]
    TooLarge { bytes: usize },
    #[error("fio reported no result, only: {messages}")]
    NoJson { messages: String },
    #[error(
        "fio's report, line {line}, column {column}: {message}; the report is cut short, or \
         from an unknown version of fio"
    )]
    Json { line: usize, column: usize, message: String },
    #[error("fio's report names no job")]
    NoJobs,
}

/// Parses a report. The JSON begins at the first line that starts with `{`, or otherwise at the
/// first `{`. The text before and after it is kept as messages.
pub fn parse(bytes: &[u8]) -> Result<Fio, FioError> {
    if bytes.len() > LARGEST_REPORT {
        return Err(FioError::TooLarge { bytes: bytes.len() });
    }
    if bytes.trim_ascii().is_empty() {
        return Err(FioError::Empty);
    }
    let start =
        start_of_json(bytes).ok_or_else(|| FioError::NoJson { messages: messages(bytes, b"") })?;
    let (before, json) = bytes.split_at(start);
    let mut documents = serde_json::Deserializer::from_slice(json).into_iter::<ReportAsPrinted>();
    let mut report = match documents.next() {
        Some(Ok(report)) => report,
        Some(Err(error)) => return Err(json_error(before, &error)),
        None => return Err(FioError::Empty),
    };
    let mut end = documents.byte_offset();
    // `status-interval` prints a document for each interim state; the last one is the result.
    while json.get(end..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{")) {
        match documents.next() {
            Some(Ok(later)) => report = later,
            Some(Err(error)) => return Err(json_error(before, &error)),
            None => break,
        }
        end = documents.byte_offset();
    }
    let jobs = if report.jobs.is_empty() { report.client_stats } else { report.jobs };
    if jobs.is_empty() {
        return Err(FioError::NoJobs);
    }
    let after = json.get(end..).unwrap_or_default();
    Ok(Fio {
        version: report.version,
        messages: messages(before, after),
        global: report.global,
        jobs: jobs.into_iter().map(Job::counted_once).collect(),
    })
}

fn start_of_json(bytes: &[u8]) -> Option<usize> {
    if bytes.first() == Some(&b'{') {
        return Some(0);
    }
    let line = bytes.windows(2).position(|pair| pair == b"\n{").map(|newline| newline + 1);
    line.or_else(|| bytes.iter().position(|&byte| byte == b'{'))
}

fn json_error(before: &[u8], error: &serde_json::Error) -> FioError {
    let lines_before = before.split(|&byte| byte == b'\n').count() - 1;
    let mut message = error.to_string();
    // serde_json ends its message with a position of its own, counted from the first brace.
    if let Some(position) = message.rfind(" at line ") {
        message.truncate(position);
    }
    FioError::Json { line: lines_before + error.line(), column: error.column(), message }
}

/// A part of fio's line about each job with an `exec_prerun`. Jobs have one if disklab waits for
/// their start, so the line says nothing about the result.
const PRERUN: &[u8] = b": Saving output of prerun in ";

fn messages(before: &[u8], after: &[u8]) -> String {
    let parts = [before.trim_ascii(), after.trim_ascii()];
    let lines = parts.iter().flat_map(|part| part.split(|byte| *byte == b'\n'));
    let told = lines.filter(|line| !line.windows(PRERUN.len()).any(|part| part == PRERUN));
    let kept = told.collect::<Vec<_>>().join(&b'\n');
    let kept = kept.trim_ascii();
    String::from_utf8_lossy(&kept[..kept.len().min(MESSAGES_KEPT)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_JOB: &str = r#"{"fio version":"fio-9","jobs":[{"jobname":"a","error":0}]}"#;

    #[test]
    fn words_around_the_json_are_kept_as_messages() {
        let prerun = "a : Saving output of prerun in a.prerun.txt";
        let text = format!("fio: {{odd}} name\n{prerun}\n{ONE_JOB}\nbye\n");
        let report = parse(text.as_bytes()).expect("a report");
        assert_eq!(report.version, "fio-9");
        assert_eq!(report.messages, "fio: {odd} name\nbye");
        assert_eq!(report.jobs[0].read, Direction::default());
    }

    #[test]
    fn each_way_of_having_no_result_is_told_apart() {
        assert_eq!(parse(b" \n"), Err(FioError::Empty));
        assert_eq!(parse(b"fio: no"), Err(FioError::NoJson { messages: "fio: no".into() }));
        assert_eq!(parse(br#"{"fio version":"fio-9","jobs":[]}"#), Err(FioError::NoJobs));
        let Err(FioError::Json { line, .. }) =
            parse(format!("x\ny\n{}", &ONE_JOB[..40]).as_bytes())
        else {
            panic!("a cut report was read");
        };
        assert_eq!(line, 3);
    }

    #[test]
    fn a_number_of_the_wrong_kind_is_an_error_that_says_where() {
        for bad in ["\"many\"", "-1.5", "1e300", "null"] {
            let text =
                format!("{{\"jobs\":[{{\"jobname\":\"a\",\n\"read\":{{\"iops\":{bad}}}}}]}}");
            assert!(matches!(parse(text.as_bytes()), Err(FioError::Json { line: 2, .. })), "{bad}");
        }
    }

    #[test]
    fn bins_beyond_any_fio_are_refused() {
        let bins =
            |count| (0..count).map(|bin| format!("\"{bin}\":1")).collect::<Vec<_>>().join(",");
        let text = |count| {
            format!(
                "{{\"jobs\":[{{\"jobname\":\"a\",\"read\":{{\"lat_ns\":{{\"bins\":{{{}}}}}}}}}]}}",
                bins(count)
            )
        };
        assert_eq!(
            parse(text(1856).as_bytes()).expect("all of fio's").jobs[0].read.lat.count,
            1856
        );
        assert!(matches!(parse(text(5000).as_bytes()), Err(FioError::Json { .. })));
    }
}

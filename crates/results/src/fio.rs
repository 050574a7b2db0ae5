//! What fio reported: a tolerant reader of `--output-format=json` and `json+`.
//!
//! Tolerant, because fio writes complaints around its JSON when both go to one file
//! (axboe/fio#731), adds fields from version to version, and leaves out what does not apply.
//! Everything not needed is skipped; what is needed and has the wrong type is an error, never a
//! zero.

use std::collections::BTreeMap;

use disklab_units::Nanos;

use crate::histogram::Histogram;

mod wire;

/// No report is larger: a job with every bucket of every histogram filled is under 200 KiB.
const LARGEST_REPORT: usize = 1 << 30;
/// Of fio's own words around the JSON, so much is kept.
const MESSAGES_KEPT: usize = 2000;

/// One report of fio.
#[derive(Debug, Clone, PartialEq)]
pub struct Fio {
    /// As fio spells it: `fio-3.33`.
    pub version: String,
    /// What fio wrote before and after its JSON: complaints, mostly. At most 2000 bytes of it,
    /// trimmed.
    pub messages: String,
    /// What holds for all jobs that do not say otherwise.
    pub global: Options,
    /// One a job, or one a group with `group_reporting`.
    pub jobs: Vec<Job>,
}

/// fio's options by name, as they were given: `bs`, `4k`.
pub type Options = BTreeMap<String, String>;

#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub name: String,
    /// The errno that stopped the job, 0 for none. fio can fail before its first request and still
    /// say 0.
    pub error: i64,
    pub options: Options,
    /// The machine it ran on, where fio drove others.
    pub hostname: Option<String>,
    /// fsync and fdatasync calls.
    pub syncs: u64,
    /// All directions in one (`unified_rw_reporting`); the others are empty then.
    pub mixed: Direction,
    pub read: Direction,
    pub write: Direction,
    pub trim: Direction,
}

impl Job {
    pub fn directions(&self) -> [&Direction; 4] {
        [&self.read, &self.write, &self.trim, &self.mixed]
    }
}

/// A job's requests of one kind. All zero when it made none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Direction {
    /// Requests a second, over `runtime`.
    pub iops: f64,
    /// Bytes a second, over `runtime`.
    pub bw_bytes: u64,
    /// Bytes in all.
    pub io_bytes: u64,
    /// Requests in all.
    pub total_ios: u64,
    /// Requests that moved fewer bytes than asked.
    pub short_ios: u64,
    /// Requests that were never done.
    pub drop_ios: u64,
    /// How long the job measured; fio tells milliseconds.
    pub runtime: Nanos,
    /// Submission latency: until the kernel had the request. Synchronous engines have none.
    pub slat: Latency,
    /// Completion latency: from submission to completion.
    pub clat: Latency,
    /// All of it: slat and clat.
    pub lat: Latency,
}

/// How long requests took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    /// Requests measured.
    pub count: u64,
    pub min: Nanos,
    pub max: Nanos,
    /// Nanoseconds.
    pub mean_ns: f64,
    /// Nanoseconds.
    pub stddev_ns: f64,
    /// Every request by its bucket: only with `json+`, and only for the kind of latency of which
    /// percentiles were asked for (clat unless `lat_percentiles` or `slat_percentiles` say
    /// otherwise).
    pub histogram: Option<Histogram>,
    /// fio's own percentiles: (percent, nanoseconds), in the order given.
    pub reported: Vec<(f64, u64)>,
}

impl Latency {
    /// The latency that `percent` of the requests did not exceed: by [`Histogram::percentile`]
    /// within the least and the greatest latency seen, else what fio itself reported for exactly
    /// this percentile, else `None`.
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        if let Some(histogram) = &self.histogram {
            let midpoint = histogram.percentile(percent)?;
            return Some(Nanos(midpoint.min(self.max.0).max(self.min.0)));
        }
        let same = |&&(reported, _): &&(f64, u64)| (reported - percent).abs() < 1e-6;
        self.reported.iter().find(same).map(|&(_, ns)| Nanos(ns))
    }
}

/// Why a report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FioError {
    #[error("fio's report is empty: fio did not start, or was killed before it finished")]
    Empty,
    #[error("fio's report is {bytes} bytes; more than {LARGEST_REPORT} are not read")]
    TooLarge { bytes: usize },
    #[error("fio reported no result, only: {messages}")]
    NoJson { messages: String },
    #[error(
        "fio's report, line {line}, column {column}: {message}; it is cut short, or of a fio not known here"
    )]
    Json { line: usize, column: usize, message: String },
    #[error("fio's report names no job")]
    NoJobs,
}

/// Reads a report. The JSON begins at the first line that starts with `{`, or without one at the
/// first `{`; what stands before it and after it is kept as messages.
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
    let mut documents = serde_json::Deserializer::from_slice(json).into_iter::<wire::Report>();
    let mut report = match documents.next() {
        Some(Ok(report)) => report,
        Some(Err(error)) => return Err(json_error(before, &error)),
        None => return Err(FioError::Empty),
    };
    let mut end = documents.byte_offset();
    // `status-interval` makes a document of each interim state; the last one is the result.
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
        global: wire::told(report.global),
        jobs: jobs.into_iter().map(Job::from).collect(),
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

fn messages(before: &[u8], after: &[u8]) -> String {
    let kept = [before.trim_ascii(), after.trim_ascii()].join(&b'\n');
    let kept = kept.trim_ascii();
    String::from_utf8_lossy(&kept[..kept.len().min(MESSAGES_KEPT)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_JOB: &str = r#"{"fio version":"fio-9","jobs":[{"jobname":"a","error":0}]}"#;

    #[test]
    fn words_around_the_json_are_kept_as_messages() {
        let report =
            parse(format!("fio: {{odd}} name\n{ONE_JOB}\nbye\n").as_bytes()).expect("a report");
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

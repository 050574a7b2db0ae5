//! Remarks on oddities of a trial's numbers, as data: kept in the record and shown beside the
//! result.

use disklab_protocol::names::STALLED;
use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

/// A way in which other programs used a disk, and the time at which they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Others {
    /// Other programs used the disk in the time of rest before the trial, or beside its partition.
    #[default]
    Before,
    /// Other programs wrote to the disk while a trial measured that only reads.
    Wrote,
}

impl Others {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn is_before(&self) -> bool {
        *self == Self::Before
    }

    /// Returns the words for the requests of other programs in a message.
    fn requests(self) -> &'static str {
        match self {
            Self::Before => "requests",
            Self::Wrote => "writes",
        }
    }

    /// Returns the words that distinguish the requests of other programs from those of the trial.
    fn whose(self) -> &'static str {
        match self {
            Self::Before => "none of them ours",
            Self::Wrote => "while ours only read",
        }
    }
}

/// A reason why a read policy had no mirror to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoMirrors {
    /// Neither data nor metadata have a second copy.
    OneCopy,
    /// The disks read nothing during the measurement.
    NoReads,
}

impl NoMirrors {
    fn in_words(self) -> &'static str {
        match self {
            Self::OneCopy => "there is one copy of each block",
            Self::NoReads => "the disks read nothing while it measured",
        }
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Remark {
    /// fio stopped a job with this errno.
    #[error("fio stopped job {job}: {}", os_error(*errno))]
    FioError { job: String, errno: i64 },
    /// Messages of fio beside its JSON.
    #[error("fio says: {text}")]
    FioMessages { text: String },
    /// fio finished no request.
    #[error("fio finished no request")]
    NoRequests,
    /// The guest's disks recorded no phase `measure` that ended, or one of length zero.
    #[error("the disks saw no phase `measure`")]
    NoMeasuredPhase,
    /// Some of fio's requests moved too few bytes, or were never done.
    #[error("{short} requests moved fewer bytes than asked, {dropped} were never done")]
    LostRequests { short: u64, dropped: u64 },
    /// fio measured for less time than it was asked to.
    #[error("fio measured {ran} instead of {asked}")]
    ShortRun { asked: Nanos, ran: Nanos },
    /// Little's law does not hold: rate times latency differs from the number of requests that the
    /// load kept in flight.
    #[error(
        "rate times latency gives {measured:.2} requests in flight instead of {asked} \
         (Little's law)"
    )]
    InFlight { measured: f64, asked: u32 },
    /// Bandwidth over IOPS, or bytes over requests, differs from the size of a request.
    #[error("its rates or counts give {found:.0} bytes a request instead of {asked:.0}")]
    RequestSize { found: f64, asked: f64 },
    /// A percentile is below a lower one, in ns. 0 and 100 per cent are the least and the greatest
    /// latency.
    #[error("p{percent} is {}, below p{lower_percent}, which is {}", nanos(*value), nanos(*lower))]
    PercentileOrder { lower_percent: f64, lower: f64, percent: f64, value: f64 },
    /// The mean is not between the least and the greatest latency, in ns.
    #[error(
        "the mean latency, {}, is not within {} and {}",
        nanos(*mean), nanos(*min), max.map_or_else(|| "any".to_owned(), nanos)
    )]
    MeanOutside { mean: f64, min: f64, max: Option<f64> },
    /// A percentile that contradicts the mean, in ns. Either the requests of this latency or more
    /// would give a greater mean; or the few slower requests would have to take `slowest` on
    /// average. The mean is the reported one, or the one that rate and requests in flight imply.
    /// If no greatest latency bounds the slower requests, the percentile is possible but
    /// implausible, because it is below `plausible_from`.
    #[error(
        "p{percent} of {} is {}",
        nanos(*value), against_mean(*percent, *mean, *slowest, plausible_from.is_some())
    )]
    PercentileAgainstMean {
        percent: f64,
        value: f64,
        mean: f64,
        slowest: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plausible_from: Option<f64>,
    },
    /// The number is negative, or beyond that of any disk.
    #[error("{what} of {} {}", with_unit(*value, unit), beyond_disks(*value))]
    Implausible { what: String, value: f64, unit: String },
    /// The active setting in a source differs from the setting that the source claims to test.
    #[error("{what} was to be {asked}, but {active} was active")]
    NotActive { what: String, asked: String, active: String },
    /// With direct I/O, the disks read less than fio: memory or holes served some reads.
    #[error("fio read {fio_bytes} bytes past the page cache, the disks only {disks_bytes}")]
    ReadFromElsewhere { fio_bytes: u64, disks_bytes: u64 },
    /// With direct I/O and nothing else running, the disks read more than fio and all known
    /// additional reads together.
    #[error(
        "fio read {fio_bytes} bytes and the disks {disks_bytes}, but only {known_bytes} more than \
         fio's are accounted for"
    )]
    ReadBesides { fio_bytes: u64, disks_bytes: u64, known_bytes: u64 },
    /// The disks of a real machine read more than the trial's own processes asked for.
    #[error(
        "its own programs read {own_bytes} bytes from the disks, and the disks read \
         {disks_bytes}: others used them"
    )]
    OthersRead { own_bytes: u64, disks_bytes: u64 },
    /// With direct I/O, the disks wrote less than fio.
    #[error("fio wrote {fio_bytes} bytes past the page cache, the disks only {disks_bytes}")]
    WrittenElsewhere { fio_bytes: u64, disks_bytes: u64 },
    /// The time from the first to the last request that fio measured is much longer than each of
    /// its jobs was to measure. So the jobs measured at different times, and their sum is not a
    /// throughput.
    #[error(
        "fio's jobs measured {asked} each, but at different times, {phase} in all: their sum is no \
         throughput"
    )]
    JobsApart { asked: Nanos, phase: Nanos },
    /// A disk reports that it was busy for longer than the phase lasted.
    #[error("{device} reports that it was busy for {busy} in a phase of {phase}")]
    BusyBeyondPhase { device: String, busy: Nanos, phase: Nanos },
    /// Too few requests for a percentile (p99.9 unless another is named), which is then hardly more
    /// than the greatest latency.
    #[error(
        "{} of {requests} requests is hardly more than the greatest latency",
        what.as_deref().unwrap_or("p99.9")
    )]
    FewRequests {
        requests: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        what: Option<String>,
    },
    /// After some of its power cuts, the filesystem lacked data that it had promised. This is a
    /// result. `first` is the reason for the first of them.
    #[error("{lost} of {cuts} power cuts not survived; the first of them is {first}")]
    NotSurvived { cuts: u64, lost: u64, first: String },
    /// btrfs's counts of a device's reads cannot be used.
    #[error("btrfs's read_stats of device {device_id} are not used: {problem}")]
    ReadStats { device_id: u64, problem: String },
    /// The measurement timed out after this time. The result is known to be more than the limit.
    #[error("{what}: timed out after {limit}")]
    NotWithin { what: String, limit: Nanos },
    /// The requests on this machine's disks could not be traced as asked, so less is known about
    /// them.
    #[error("the requests on the disks were not traced: {why}")]
    NoTrace { why: String },
    /// The trace of this machine's disks lost events for which there was no room, so there is no
    /// trace.
    #[error(
        "there is no trace of the requests: the kernel's buffers were full, and {events} events \
         were lost"
    )]
    TraceLost { events: u64 },
    /// The kernel's counts of a disk's requests differ from the trace, so there is no trace.
    #[error(
        "there is no trace of the requests: it would have {traced_bytes} bytes of {device}, and \
         the kernel counted {counted_bytes}"
    )]
    TraceUnlike { device: String, traced_bytes: u64, counted_bytes: u64 },
    /// A disk of this machine had requests that were not the trial's, before the trial or in its
    /// measured phase.
    #[error(
        "disturbed by others: {device} had {requests} {}, {bytes} bytes, in {within}, {}",
        others.requests(), others.whose()
    )]
    Disturbed {
        device: String,
        requests: u64,
        bytes: u64,
        within: Nanos,
        #[serde(default, skip_serializing_if = "Others::is_before")]
        others: Others,
    },
    /// btrfs counted `errors` more errors of the kind `what` on a device while a trial ran.
    #[error("btrfs counted errors of device {device_id} while it ran: {what} {errors} more")]
    DeviceErrors { device_id: u64, what: String, errors: u64 },
    /// A load was not steady after a warm-up of this length. `off_percent` is the largest
    /// difference between its rates and their mean, `rise_percent` the rise or fall of the rates
    /// over the window.
    #[error(
        "not steady after {within} of warm-up: in the last window, rates were up to \
         {off_percent:.1} % off their mean, and their trend rose or fell by {rise_percent:.1} %"
    )]
    NotSteady { within: Nanos, off_percent: f64, rise_percent: f64 },
    /// Cached data of the disks could not be dropped before the trial.
    #[error(
        "the caches could not be dropped before the trial, so it may have begun with warm ones: \
         {why}"
    )]
    CachesKept { why: String },
    /// No request waited in the I/O scheduler for a place at its disk. The fields are the largest
    /// number of requests that were at any disk at once, and the smallest number that a disk takes.
    #[error(
        "the I/O scheduler had nothing to choose: never more than {} at a disk, which takes \
         {tags} at once",
        disklab_units::prose::count(*most as usize, "request")
    )]
    NothingToSchedule { most: u32, tags: u32 },
    /// The read policy had no mirror to choose.
    #[error("the read policy had nothing to choose: {}", why.in_words())]
    NoMirrorToChoose { why: NoMirrors },
    /// The guest hung before its clock moved, and was started once more. The result is from the
    /// second start.
    #[error("the guest hung at its start and was started again; {STALLED} has what was seen of it")]
    StartedAgain,
    /// fio gave neither histograms nor percentiles that hold for all its jobs together.
    #[error("fio gave no percentiles that hold for all its jobs together")]
    NoPercentiles,
    /// The line of the trial was damaged, and no digest proves that the repaired line equals the
    /// original.
    #[error(
        "its line was damaged, and made again from raw files by `disklab repair`: its wall time \
         and its disks may be unknown"
    )]
    MadeAgain,
}

impl Remark {
    /// Returns whether the sample is not a result at all because the trial failed.
    pub fn voids(&self) -> bool {
        matches!(self, Self::FioError { .. } | Self::NoRequests | Self::NoMeasuredPhase)
    }

    /// Returns whether the numbers contradict each other or the request. They stay in the record,
    /// and out of verdicts.
    pub fn doubts(&self) -> bool {
        match self {
            Self::LostRequests { .. }
            | Self::ShortRun { .. }
            | Self::InFlight { .. }
            | Self::RequestSize { .. }
            | Self::PercentileOrder { .. }
            | Self::MeanOutside { .. }
            | Self::PercentileAgainstMean { .. }
            | Self::Implausible { .. }
            | Self::NotActive { .. }
            | Self::ReadFromElsewhere { .. }
            | Self::WrittenElsewhere { .. }
            | Self::ReadBesides { .. }
            | Self::OthersRead { .. }
            | Self::JobsApart { .. }
            | Self::BusyBeyondPhase { .. }
            | Self::DeviceErrors { .. }
            | Self::Disturbed { .. } => true,
            Self::FioError { .. }
            | Self::FioMessages { .. }
            | Self::NoRequests
            | Self::NoMeasuredPhase
            | Self::FewRequests { .. }
            | Self::ReadStats { .. }
            | Self::NotWithin { .. }
            | Self::NoTrace { .. }
            | Self::TraceLost { .. }
            | Self::TraceUnlike { .. }
            | Self::NotSteady { .. }
            | Self::CachesKept { .. }
            | Self::NotSurvived { .. }
            | Self::NothingToSchedule { .. }
            | Self::NoMirrorToChoose { .. }
            | Self::StartedAgain
            | Self::MadeAgain
            | Self::NoPercentiles => false,
        }
    }

    /// Returns whether a scheduler or a policy had nothing to choose. The trial's own numbers are
    /// sound then.
    pub fn is_no_choice(&self) -> bool {
        matches!(self, Self::NothingToSchedule { .. } | Self::NoMirrorToChoose { .. })
    }

    /// Returns whether the numbers could be true together, but are beyond a bound of what is
    /// plausible.
    pub fn is_implausible(&self) -> bool {
        match self {
            Self::PercentileAgainstMean { plausible_from, .. } => plausible_from.is_some(),
            Self::Implausible { value, .. } => *value >= 0.0,
            _ => false,
        }
    }

    /// Returns the reason for a remark's doubt about the numbers.
    pub fn in_doubt(&self) -> String {
        match self {
            // The numbers may well be true together, but include more than the trial's own load.
            Self::Disturbed { .. }
            | Self::DeviceErrors { .. }
            | Self::ReadBesides { .. }
            | Self::OthersRead { .. } => self.to_string(),
            _ if self.is_implausible() => self.to_string(),
            _ => format!("its numbers cannot be true together: {self}"),
        }
    }
}

fn os_error(errno: i64) -> std::io::Error {
    std::io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or_default())
}

fn nanos(value: f64) -> String {
    Nanos(value.round() as u64).to_string()
}

fn against_mean(percent: f64, mean: f64, slowest: Option<f64>, is_possible: bool) -> String {
    let mean = nanos(mean);
    match (slowest.map(nanos), is_possible) {
        (None, _) => format!("too long for a mean of {mean}"),
        (Some(slowest), false) => format!(
            "too short for a mean of at least {mean}: the slower requests would have to take at \
             least {slowest} on average"
        ),
        (Some(slowest), true) => {
            // In binary, 100 - 99.9 is not exactly 0.1.
            let slower = ((100.0 - percent) * 1e6).round() / 1e6;
            format!(
                "implausible beside a mean of {mean}: the slowest {slower} % of requests would \
                 have to take at least {slowest} on average"
            )
        }
    }
}

fn beyond_disks(value: f64) -> &'static str {
    if value < 0.0 { "cannot be" } else { "is implausible: no disk has it" }
}

fn with_unit(value: f64, unit: &str) -> String {
    let blank = if unit.is_empty() { "" } else { " " };
    if value.abs() < 1e12 {
        format!("{value}{blank}{unit}")
    } else {
        format!("{value:.3e}{blank}{unit}")
    }
}

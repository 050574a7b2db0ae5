//! What is odd about a trial's numbers, as data: kept in the record and shown beside the result.

use disklab_protocol::names::STALLED;
use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

/// When others used a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Others {
    /// In the time of rest before the trial, or beside its partition.
    #[default]
    Before,
    /// They wrote while a trial measured that only reads.
    Wrote,
}

impl Others {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn is_before(&self) -> bool {
        *self == Self::Before
    }

    /// The requests of others, as a message names them.
    fn requests(self) -> &'static str {
        match self {
            Self::Before => "requests",
            Self::Wrote => "writes",
        }
    }

    /// Tells the requests of others from our own.
    fn whose(self) -> &'static str {
        match self {
            Self::Before => "none of them ours",
            Self::Wrote => "while ours only read",
        }
    }
}

/// Why a read policy had no mirror to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoMirrors {
    /// Neither data nor metadata have a second copy.
    OneCopy,
    /// The disks read nothing while it measured.
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
    /// What fio wrote beside its JSON.
    #[error("fio says: {text}")]
    FioMessages { text: String },
    /// fio finished no request.
    #[error("fio finished no request")]
    NoRequests,
    /// The guest's disks closed no phase `measure`, or one without length.
    #[error("the disks saw no phase `measure`")]
    NoMeasuredPhase,
    /// fio's requests that moved too few bytes, or that were never done.
    #[error("{short} requests moved fewer bytes than asked, {dropped} were never done")]
    LostRequests { short: u64, dropped: u64 },
    /// fio measured for less time than it was told to.
    #[error("fio measured {ran} instead of {asked}")]
    ShortRun { asked: Nanos, ran: Nanos },
    /// Little's law does not hold: the requests in flight by rate times latency, against those kept
    /// in flight.
    #[error(
        "rate times latency gives {measured:.2} requests in flight instead of {asked} \
         (Little's law)"
    )]
    InFlight { measured: f64, asked: u32 },
    /// Bandwidth over IOPS, or bytes over requests, is another number of bytes than a request was
    /// to have.
    #[error("its rates or counts give {found:.0} bytes a request instead of {asked:.0}")]
    RequestSize { found: f64, asked: f64 },
    /// A percentile is below a lower one. 0 and 100 per cent are the least and the greatest
    /// latency; ns.
    #[error("p{percent} is {}, below p{lower_percent}, which is {}", nanos(*value), nanos(*lower))]
    PercentileOrder { lower_percent: f64, lower: f64, percent: f64, value: f64 },
    /// The mean is not between the least and the greatest latency; ns.
    #[error(
        "the mean latency, {}, is not within {} and {}",
        nanos(*mean), nanos(*min), max.map_or_else(|| "any".to_owned(), nanos)
    )]
    MeanOutside { mean: f64, min: f64, max: Option<f64> },
    /// A percentile that the mean cannot have, in ns: so many requests as slow would give a greater
    /// mean; or the few that are slower would have to take `slowest` on average. The mean is the
    /// one told, or that which rate and requests in flight imply.
    #[error("p{percent} of {} is {}", nanos(*value), against_mean(*mean, *slowest))]
    PercentileAgainstMean { percent: f64, value: f64, mean: f64, slowest: Option<f64> },
    /// No disk does that: negative, or beyond anything that there is.
    #[error("{what} of {} cannot be", with_unit(*value, unit))]
    Implausible { what: String, value: f64, unit: String },
    /// What a source says was active is not what it says it tested.
    #[error("{what} was to be {asked}, but {active} was active")]
    NotActive { what: String, asked: String, active: String },
    /// With direct I/O, the disks read less than fio: something was served from memory or from
    /// holes.
    #[error("fio read {fio_bytes} bytes past the page cache, the disks only {disks_bytes}")]
    ReadFromElsewhere { fio_bytes: u64, disks_bytes: u64 },
    /// With direct I/O and nothing else running, the disks read more than fio and all that is known
    /// to come with it.
    #[error(
        "fio read {fio_bytes} bytes, the disks {disks_bytes}: more than the {known_bytes} besides \
         that are known of"
    )]
    ReadBesides { fio_bytes: u64, disks_bytes: u64, known_bytes: u64 },
    /// The disks of a real machine read more than the trial's own processes had them read.
    #[error(
        "its own programs read {own_bytes} bytes from disks, the disks {disks_bytes}: others used \
         them"
    )]
    OthersRead { own_bytes: u64, disks_bytes: u64 },
    /// With direct I/O, the disks wrote less than fio.
    #[error("fio wrote {fio_bytes} bytes past the page cache, the disks only {disks_bytes}")]
    WrittenElsewhere { fio_bytes: u64, disks_bytes: u64 },
    /// The time from the first to the last request that fio measured is much longer than each of
    /// its jobs was to measure: they measured at different times, and their sum is no throughput.
    #[error(
        "fio's jobs measured {asked} each, but at different times, {phase} in all: their sum is no \
         throughput"
    )]
    JobsApart { asked: Nanos, phase: Nanos },
    /// A disk says that it was busy for longer than the phase lasted.
    #[error("{device} says it was busy {busy} of {phase}")]
    BusyBeyondPhase { device: String, busy: Nanos, phase: Nanos },
    /// Too few requests for a percentile, p99.9 where it is not named, which is then no more than
    /// the greatest latency.
    #[error(
        "{} of {requests} requests is hardly more than the greatest latency",
        what.as_deref().unwrap_or("p99.9")
    )]
    FewRequests {
        requests: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        what: Option<String>,
    },
    /// After some of its power cuts, what the filesystem had promised was not there: a result. Why,
    /// of the first of them.
    #[error("{lost} of {cuts} power cuts not survived; the first of them is {first}")]
    NotSurvived { cuts: u64, lost: u64, first: String },
    /// What btrfs counted of a device's reads cannot be used.
    #[error("btrfs's read_stats of device {device_id} are not used: {problem}")]
    ReadStats { device_id: u64, problem: String },
    /// The measurement timed out after this: a result that is known to be more than the limit.
    #[error("{what}: not within {limit}")]
    NotWithin { what: String, limit: Nanos },
    /// Requests on this machine's disks were to be traced, and could not be: less is known of them.
    #[error("the requests on the disks were not traced: {why}")]
    NoTrace { why: String },
    /// Events of the trace of this machine's disks found no room: there is no trace.
    #[error(
        "there is no trace of the requests: {events} events found no room in the kernel's buffers"
    )]
    TraceLost { events: u64 },
    /// The kernel counted other requests of a disk than were traced: there is no trace.
    #[error(
        "there is no trace of the requests: of {device}, it would have those of {traced_bytes} \
         bytes, and the kernel counted {counted_bytes}"
    )]
    TraceUnlike { device: String, traced_bytes: u64, counted_bytes: u64 },
    /// A disk of this machine had requests that were none of ours: before the trial, or in its
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
    /// btrfs counted errors of a device while a trial ran: of `what`, so many.
    #[error("btrfs counted errors of device {device_id} while it ran: {what} {errors} more")]
    DeviceErrors { device_id: u64, what: String, errors: u64 },
    /// A load was not steady after so long a warm-up: its rates were so far off their mean, and
    /// rose or fell so much over the window, per cent.
    #[error(
        "not steady after {within} of warm-up: over the last of it rates were up to \
         {off_percent:.1} % off their mean, and their line rose or fell by {rise_percent:.1} %"
    )]
    NotSteady { within: Nanos, off_percent: f64, rise_percent: f64 },
    /// What of the disks was in memory could not be dropped before the trial.
    #[error(
        "what was in memory could not be dropped before it, so that it may have begun warm: {why}"
    )]
    CachesKept { why: String },
    /// No request waited in the I/O scheduler for a place at its disk: the most requests that were
    /// at any disk at once, and the fewest that a disk takes.
    #[error(
        "the I/O scheduler had nothing to choose: never more than {} at a disk, which takes \
         {tags} at once",
        disklab_units::prose::count(*most as usize, "request")
    )]
    NothingToSchedule { most: u32, tags: u32 },
    /// The read policy had no mirror to choose.
    #[error("the read policy had nothing to choose: {}", why.in_words())]
    NoMirrorToChoose { why: NoMirrors },
    /// The guest hung before its clock moved, and was started once more. The result is the second
    /// start's.
    #[error("the guest hung at its start and was started again; {STALLED} has what was seen of it")]
    StartedAgain,
    /// fio gave neither histograms nor percentiles that hold for all its jobs together.
    #[error("fio gave no percentiles that hold for all its jobs together")]
    NoPercentiles,
    /// The line of the trial was damaged, and no digest proves that it is what was written.
    #[error(
        "its line was damaged, and made again from raw files by `disklab repair`: its wall time \
         and its disks may be unknown"
    )]
    MadeAgain,
}

impl Remark {
    /// Whether the sample is no result at all: its trial failed.
    pub fn voids(&self) -> bool {
        matches!(self, Self::FioError { .. } | Self::NoRequests | Self::NoMeasuredPhase)
    }

    /// Whether the numbers contradict each other or what was asked: they stay in the record, and
    /// out of verdicts.
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

    /// Whether it says that a scheduler or a policy had nothing to choose: nothing is odd about the
    /// trial's own numbers.
    pub fn is_no_choice(&self) -> bool {
        matches!(self, Self::NothingToSchedule { .. } | Self::NoMirrorToChoose { .. })
    }

    /// Says why the numbers are not to be relied on, for a remark that doubts them.
    pub fn in_doubt(&self) -> String {
        match self {
            // They may well be true together: of more than was asked for.
            Self::Disturbed { .. }
            | Self::DeviceErrors { .. }
            | Self::ReadBesides { .. }
            | Self::OthersRead { .. } => self.to_string(),
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

fn against_mean(mean: f64, slowest: Option<f64>) -> String {
    let mean = nanos(mean);
    match slowest.map(nanos) {
        None => format!("too long for a mean of {mean}"),
        Some(slowest) => format!(
            "too short for a mean of {mean} or more: the slower requests would have to take \
             {slowest} on average"
        ),
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    let blank = if unit.is_empty() { "" } else { " " };
    if value.abs() < 1e12 {
        format!("{value}{blank}{unit}")
    } else {
        format!("{value:.3e}{blank}{unit}")
    }
}

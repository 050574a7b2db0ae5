//! What is odd about a trial's numbers, as data: kept in the record and shown beside the result.

use std::fmt;

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Remark {
    /// fio stopped a job with this errno.
    FioError { job: String, errno: i64 },
    /// What fio wrote beside its JSON.
    FioMessages { text: String },
    /// fio finished no request.
    NoRequests,
    /// The guest's disks closed no phase `measure`, or one without length.
    NoMeasuredPhase,
    /// fio's requests that moved too few bytes, or that were never done.
    LostRequests { short: u64, dropped: u64 },
    /// fio measured for less time than it was told to.
    ShortRun { asked: Nanos, ran: Nanos },
    /// Little's law does not hold: the requests in flight by rate times latency, against those kept in
    /// flight.
    InFlight { measured: f64, asked: u32 },
    /// With direct I/O, the disks read less than fio: something was served from memory or from holes.
    ReadFromElsewhere { fio_bytes: u64, disks_bytes: u64 },
    /// With direct I/O, the disks wrote less than fio.
    WrittenElsewhere { fio_bytes: u64, disks_bytes: u64 },
    /// A disk says that it was busy for longer than the phase lasted.
    BusyBeyondPhase { device: String, busy: Nanos, phase: Nanos },
    /// Too few requests for p99.9, which is then no more than the greatest latency.
    FewRequests { requests: u64 },
    /// What btrfs counted of a device's reads cannot be used.
    ReadStats { device_id: u64, problem: String },
    /// fio gave neither histograms nor percentiles that hold for all its jobs together.
    NoPercentiles,
}

impl Remark {
    /// Whether the sample is no result at all: its trial failed.
    pub fn voids(&self) -> bool {
        matches!(self, Self::FioError { .. } | Self::NoRequests | Self::NoMeasuredPhase)
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::FioError { job, errno } => write!(out, "fio stopped job {job} with error {errno}"),
            Self::FioMessages { text } => write!(out, "fio says: {text}"),
            Self::NoRequests => write!(out, "fio finished no request"),
            Self::NoMeasuredPhase => write!(out, "the disks saw no phase `measure`"),
            Self::LostRequests { short, dropped } => {
                write!(out, "{short} requests moved fewer bytes than asked, {dropped} were never done")
            }
            Self::ShortRun { asked, ran } => write!(out, "fio measured {ran} instead of {asked}"),
            Self::InFlight { measured, asked } => write!(
                out,
                "rate times latency gives {measured:.2} requests in flight instead of {asked} (Little's law)"
            ),
            Self::ReadFromElsewhere { fio_bytes, disks_bytes } => {
                write!(out, "fio read {fio_bytes} bytes past the page cache, the disks only {disks_bytes}")
            }
            Self::WrittenElsewhere { fio_bytes, disks_bytes } => {
                write!(out, "fio wrote {fio_bytes} bytes past the page cache, the disks only {disks_bytes}")
            }
            Self::BusyBeyondPhase { device, busy, phase } => {
                write!(out, "{device} says it was busy {busy} of {phase}")
            }
            Self::FewRequests { requests } => {
                write!(out, "p99.9 of {requests} requests is hardly more than the greatest latency")
            }
            Self::ReadStats { device_id, problem } => {
                write!(out, "btrfs's read_stats of device {device_id} are not used: {problem}")
            }
            Self::NoPercentiles => write!(out, "fio gave no percentiles that hold for all its jobs together"),
        }
    }
}

//! The plan of a calibration, and the kernel's facts about the disk.

use disklab_units::Nanos;

/// The limits of a calibration, and its hints.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationPlan {
    /// Time after which optional measurements are skipped.
    pub time: Nanos,
    /// Whether data on the disk may be destroyed.
    pub may_write: bool,
    pub hints: Hints,
}

/// The default of [`CalibrationPlan::time`] for interactive use: a run ends soon after this time.
pub const USUAL_TIME: Nanos = Nanos::from_secs(300);

/// The kernel's facts about a disk, for numbers that cannot be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    pub queue_depth: Option<u32>,
    pub write_cache: Option<bool>,
    /// Whether flushes are queued like other commands, as in NVMe.
    pub queued_flush: Option<bool>,
    /// Whether the target is a file on a disk.
    pub file: bool,
}

impl Hints {
    /// Returns why a flush may end in the kernel, so that its time is not the disk's, or `None` if
    /// it reaches the disk.
    pub fn flush_is_dropped(&self) -> Option<&'static str> {
        match self {
            Self { file: true, .. } => {
                Some("it is a file: whether a flush reaches the disk is its filesystem's choice")
            }
            Self { write_cache: Some(false), .. } => {
                Some("the kernel reports no write cache and sends no flushes to the disk")
            }
            _ => None,
        }
    }
}

/// Reasons why a number is not measured; several numbers use each.
pub(crate) const READ_ONLY: &str = "it was only read (--write)";
pub(crate) const KERNEL_SAYS: &str = "the kernel reports this value";
pub(crate) const NOBODY_SAYS: &str = "the kernel does not report it; this is the value of SATA";

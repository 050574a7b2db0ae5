//! The parameters that a suite can vary besides named things: one number of an array, a disk, a
//! policy, a scheduler, a workload, a background, the guest or the suite.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use disklab_units::{Bytes, Nanos, words};

use super::number::Number;
use crate::read::unknown;

/// A parameter, by its name in a suite: `memory`, `disks`, `device`, `runtime`, `ramp`, `metadata`,
/// `device.KEY` (of all disks), `disk.2.KEY`, `policy.KEY`, `scheduler.KEY`, `workload.KEY`,
/// `background.KEY`, `estimated`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SweptParameter {
    /// Memory of the guest.
    Memory,
    /// Number of the array's disks: its own devices repeated in their order, or the first of them.
    Disks,
    /// The drive that replaces all of the array's disks of its kind.
    Drive,
    /// The measured time, on all kinds of disks.
    Runtime,
    /// The time before the measurement, on all kinds of disks.
    Ramp,
    /// Whether a filesystem's metadata is in memory when the measurement begins: a
    /// [`crate::suite::Metadata`].
    Metadata,
    /// A key of a device's file. `disk` is the number of one disk, from 1 in the array's order;
    /// None means all disks.
    Device { disk: Option<u32>, key: String },
    /// A key of a thing that the suite names.
    Key(KeyOwner, String),
    /// An estimate in the files of devices, at an end of its range: see
    /// [`crate::device::RangeEnd`].
    Estimated,
}

words! {
    /// The owner of a swept key, besides disks.
    pub enum KeyOwner {
        /// The read policy, with its parameters.
        Policy = "policy",
        /// The I/O scheduler, with its tunables and those of the queue.
        Scheduler = "scheduler",
        /// The workload, with the keys of its file.
        Workload = "workload",
        /// The workload that is a background, with the keys of its file.
        Background = "background",
    }
}

/// Range of a guest's memory: a kernel and fio need the least, and hosts seldom have more than the
/// most.
pub(in crate::suite) const MEMORY: RangeInclusive<Bytes> = Bytes::mib(192)..=Bytes::gib(256);
/// Range of measured times.
pub(in crate::suite) const RUNTIME: RangeInclusive<Nanos> =
    Nanos::from_millis(1)..=Nanos::from_secs(24 * 3600);
/// The key for a factor to all three seek times of a hard disk.
pub const SEEK: &str = "seek";
/// The name of the axis over estimates.
pub const ESTIMATED: &str = "estimated";
/// The name of the axis over drives.
pub const DRIVE: &str = "device";
/// First words of names with a point. `disk` is followed by a disk's number.
const KINDS: [&str; 6] = ["device", "disk", "policy", "scheduler", "workload", "background"];

impl SweptParameter {
    /// Returns whether a number without a unit must be whole.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self, Self::Device { key, .. } if key == SEEK)
    }

    /// Returns the canonical spelling of a value, which can be part of a name.
    pub(in crate::suite) fn canonical(&self, text: &str) -> Result<String, String> {
        let number = text.parse::<Number>().ok().filter(|_| *self != Self::Drive);
        let value = number.map_or_else(|| text.trim().to_owned(), |number| number.to_string());
        let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_./ ".contains(letter);
        if value.is_empty() || !value.chars().all(is_fit) {
            return Err(format!("`{}` cannot be the value of a parameter", value.escape_debug()));
        }
        Ok(value)
    }

    /// The names without a point.
    pub(in crate::suite) const PLAIN: [&str; 7] =
        ["memory", "disks", DRIVE, "runtime", "ramp", "metadata", ESTIMATED];
}

impl fmt::Display for SweptParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.pad("memory"),
            Self::Disks => f.pad("disks"),
            Self::Drive => f.pad(DRIVE),
            Self::Runtime => f.pad("runtime"),
            Self::Ramp => f.pad("ramp"),
            Self::Metadata => f.pad("metadata"),
            Self::Estimated => f.pad(ESTIMATED),
            Self::Device { disk: None, key } => f.pad(&format!("device.{key}")),
            Self::Device { disk: Some(disk), key } => f.pad(&format!("disk.{disk}.{key}")),
            Self::Key(owner, key) => f.pad(&format!("{owner}.{key}")),
        }
    }
}

impl FromStr for SweptParameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let of_kind = || text.split_once('.').filter(|(_, key)| is_key(key));
        Ok(match (text, of_kind()) {
            ("memory", _) => Self::Memory,
            ("disks", _) => Self::Disks,
            (DRIVE, _) => Self::Drive,
            ("runtime", _) => Self::Runtime,
            ("ramp", _) => Self::Ramp,
            ("metadata", _) => Self::Metadata,
            (ESTIMATED, _) => Self::Estimated,
            (_, Some(("device", key))) => Self::Device { disk: None, key: key.to_owned() },
            (_, Some(("disk", rest))) => {
                let parsed: Option<(u32, &str)> = rest
                    .split_once('.')
                    .and_then(|(number, key)| Some((number.parse().ok()?, key)));
                let Some((disk @ 1.., key)) = parsed else {
                    let key = parsed.map_or(rest, |(_, key)| key);
                    let example = format!("disk.2.{key} for the array's second disk");
                    let text = text.escape_debug();
                    return Err(format!(
                        "`{text}`: expected the number of a disk, as in {example}"
                    ));
                };
                Self::Device { disk: Some(disk), key: key.to_owned() }
            }
            (_, Some((kind, key))) => {
                let owner = KeyOwner::ALL.iter().find(|owner| owner.as_str() == kind);
                let owner = owner.ok_or_else(|| unknown("kind of parameter", kind, KINDS))?;
                Self::Key(*owner, key.to_owned())
            }
            (_, None) => {
                return Err(format!(
                    "`{}` is not a parameter: write device.KEY, disk.2.KEY, policy.KEY, ...",
                    text.escape_debug()
                ));
            }
        })
    }
}

/// Returns whether a text can be a key: words of the lab's files, sysfs and policies, with points
/// between them.
fn is_key(key: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    key.split('.').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        for name in [
            "memory",
            "device",
            "runtime",
            "disk.2.seek",
            "disk.12.slc.cache",
            "policy.margin",
            "background.iodepth",
        ] {
            assert_eq!(name.parse::<SweptParameter>().expect(name).to_string(), name);
        }
        let wrong = |text: &str| text.parse::<SweptParameter>().expect_err(text);
        assert!(wrong("polciy.margin").contains("did you mean `policy`?"));
        assert!(wrong("disk.seek").contains("disk.2.seek for the array's second"));
        assert!(wrong("disk.0.seek").contains("expected the number of a disk, as in disk.2.seek"));
        assert!(wrong("margin").contains("is not a parameter"));
        assert!(wrong("device.").contains("is not a parameter"));
        assert!(!"disk.2.seek".parse::<SweptParameter>().expect("a parameter").is_whole());
    }
}

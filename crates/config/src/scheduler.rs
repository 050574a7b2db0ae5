//! I/O schedulers of the kernel's block layer, with their tunables and the tunables of the queue
//! that they order: `bfq`, `bfq:low_latency=0,slice_idle=0`,
//! `none:nr_requests=16,read_ahead_kb=128`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::read::{choices, unknown};

choices! {
    /// An I/O scheduler, in the kernel's words.
    #[derive(Default)]
    pub enum Scheduler: "scheduler" {
        None = "none",
        /// The kernel's own choice for a disk with one queue, as SATA disks have.
        #[default]
        MqDeadline = "mq-deadline",
        Kyber = "kyber",
        Bfq = "bfq",
    }
}

/// A scheduler, with values for the tunables that differ from the kernel's defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SchedulerChoice {
    pub scheduler: Scheduler,
    /// Names and values of the tunables, each name once, in the order of [`Scheduler::tunables`]
    /// and then of [`QUEUE`].
    pub tunables: Vec<(String, u64)>,
}

/// Files in `/sys/block/*/queue` that take a number and control how requests are ordered, throttled
/// and cut: `queue_attrs` in the kernel's block/blk-sysfs.c.
pub const QUEUE: [&str; 4] = ["nr_requests", "wbt_lat_usec", "max_sectors_kb", "read_ahead_kb"];

impl Scheduler {
    /// Returns whether a disk with this scheduler has this tunable, of the scheduler or of the
    /// queue.
    pub fn has(self, tunable: &str) -> bool {
        self.tunables().contains(&tunable) || QUEUE.contains(&tunable)
    }

    /// Returns the kernel option that the scheduler needs, without `CONFIG_`.
    pub const fn needs(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::MqDeadline => Some("MQ_IOSCHED_DEADLINE"),
            Self::Kyber => Some("MQ_IOSCHED_KYBER"),
            Self::Bfq => Some("IOSCHED_BFQ"),
        }
    }

    /// Returns the scheduler's files in `/sys/block/*/queue/iosched` that take a number:
    /// `deadline_attrs`, `kyber_sched_attrs` and `bfq_attrs` in the kernel's block/.
    pub const fn tunables(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::MqDeadline => &[
                "read_expire",
                "write_expire",
                "writes_starved",
                "front_merges",
                "async_depth",
                "fifo_batch",
                "prio_aging_expire",
            ],
            Self::Kyber => &["read_lat_nsec", "write_lat_nsec"],
            Self::Bfq => &[
                "fifo_expire_sync",
                "fifo_expire_async",
                "back_seek_max",
                "back_seek_penalty",
                "slice_idle",
                "slice_idle_us",
                "max_budget",
                "timeout_sync",
                "strict_guarantees",
                "low_latency",
            ],
        }
    }
}

impl fmt::Display for SchedulerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tunables: Vec<_> =
            self.tunables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let between = if tunables.is_empty() { "" } else { ":" };
        f.pad(&format!("{}{between}{}", self.scheduler, tunables.join(",")))
    }
}

impl FromStr for SchedulerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let split = text.split_once(':');
        let (word, values) = split.map_or((text, None), |(word, values)| (word, Some(values)));
        let scheduler: Scheduler = word.parse().map_err(|slip| left(word).unwrap_or(slip))?;
        let known = [scheduler.tunables(), &QUEUE].concat();
        let mut given = vec![None; known.len()];
        for value in values.into_iter().flat_map(|values| values.split(',')) {
            let escaped = value.escape_debug();
            let (name, value) = value.split_once('=').ok_or_else(|| {
                format!("after `{scheduler}:`, `{escaped}` is not tunable=number")
            })?;
            let index = known.iter().position(|known| *known == name).ok_or_else(|| {
                format!("`{scheduler}`: {}", unknown("tunable", name, known.iter().copied()))
            })?;
            let number = value.parse::<u64>().map_err(|_| {
                let value = value.escape_debug();
                format!("`{name}` of `{scheduler}` takes a whole number, not `{value}`")
            })?;
            check(name, number)?;
            if given[index].replace(number).is_some() {
                return Err(format!("`{name}` of `{scheduler}` is given twice"));
            }
        }
        let tunables =
            known.iter().zip(given).filter_map(|(name, given)| Some(((*name).to_owned(), given?)));
        Ok(Self { scheduler, tunables: tunables.collect() })
    }
}

/// Returns a hint for a scheduler that Linux removed in 5.0, together with the block layer for one
/// queue.
fn left(word: &str) -> Option<String> {
    let now = match word {
        "noop" => "`none` does what it did",
        "deadline" => "`mq-deadline` follows it",
        "cfq" => {
            "`bfq` follows it; what an older kernel measured with it on real disks can be \
                  imported: disklab import --help"
        }
        _ => return None,
    };
    Some(format!("`{word}` left Linux in 5.0: {now}"))
}

/// Refuses a number that the kernel would reject, or would change silently: block/blk-sysfs.c,
/// block/elevator.c and the schedulers' own files.
fn check(name: &str, number: u64) -> Result<(), String> {
    let (least, most) = match name {
        "low_latency" | "strict_guarantees" | "front_merges" => (0, 1),
        "nr_requests" => (4, 2048),
        "max_sectors_kb" => (4, u64::MAX),
        // The kernel keeps it as ns in 32 bits: bfq_slice_idle in block/bfq-iosched.h.
        "slice_idle" => (0, 4294),
        "slice_idle_us" => (0, 4_294_967),
        "back_seek_penalty" | "timeout_sync" | "async_depth" => (1, i32::MAX as u64),
        _ => (0, u64::MAX),
    };
    if number < least || number > most {
        let most = if most == u64::MAX { "or more".to_owned() } else { format!("to {most}") };
        return Err(format!("`{name}`: {number} is out of range ({least} {most})"));
    }
    if name == "read_ahead_kb" && !number.is_multiple_of(4) {
        return Err(format!("`{name}`: {number} is not a multiple of 4"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str) -> Result<String, String> {
        text.parse::<SchedulerChoice>().map(|choice| choice.to_string())
    }

    #[test]
    fn tunables_have_one_order() {
        assert_eq!(choice("bfq").as_deref(), Ok("bfq"));
        assert_eq!(
            choice("bfq:low_latency=0,slice_idle=08").as_deref(),
            Ok("bfq:slice_idle=8,low_latency=0")
        );
        assert_eq!(
            choice("bfq:read_ahead_kb=128,slice_idle=0").as_deref(),
            Ok("bfq:slice_idle=0,read_ahead_kb=128")
        );
        assert_eq!(choice("none:nr_requests=9").as_deref(), Ok("none:nr_requests=9"));
        assert_eq!(choice("kyber:write_lat_nsec=5").as_deref(), Ok("kyber:write_lat_nsec=5"));
    }

    #[test]
    fn slips_are_refused() {
        let wrong = |text| choice(text).unwrap_err();
        assert!(wrong("bqf").contains("did you mean `bfq`"));
        assert!(wrong("cfq").starts_with("`cfq` left Linux in 5.0: `bfq` follows it"));
        assert_eq!(wrong("noop"), "`noop` left Linux in 5.0: `none` does what it did");
        assert!(wrong("bfq:slice_idel=0").contains("did you mean `slice_idle`"));
        assert!(wrong("bfq:").contains("is not tunable=number"));
        assert_eq!(wrong("bfq:low_latency=2"), "`low_latency`: 2 is out of range (0 to 1)");
        assert!(wrong("bfq:slice_idle=100000").contains("out of range (0 to 4294)"));
        assert!(wrong("none:nr_requests=0").contains("out of range (4 to 2048)"));
        assert!(wrong("none:max_sectors_kb=1").contains("1 is out of range (4 or more)"));
        assert!(wrong("none:read_ahead_kb=6").contains("a multiple of 4"));
        assert!(wrong("bfq:low_latency=no").contains("a whole number, not `no`"));
        assert!(wrong("bfq:low_latency=0,low_latency=1").contains("twice"));
        assert!(
            wrong("none:slice_idle=0")
                .contains("`none`: unknown tunable `slice_idle`; known: nr_requests")
        );
    }
}

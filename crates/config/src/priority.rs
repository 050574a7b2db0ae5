//! The priority that a program asks of an I/O scheduler: a class and level as with ionice(1), and
//! the weight of its cgroup.
//!
//! ```toml
//! ioprio = "idle"       # or best-effort:0 to 7, realtime:0 to 7; heeded by mq-deadline and bfq
//! weight = 500          # 1 to 1000, io.bfq.weight, default 100; heeded by bfq
//! ```
//!
//! Both are keys of a workload, and of a background for everything that it runs. Both may be left
//! out.

use serde::{Deserialize, Serialize};

use crate::read::{from_table, text_form};

from_table! {
    /// The priority of everything that a workload or a background runs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct Priority {
        pub ioprio: Option<Ioprio> = given(),
        pub weight: Option<u32> = optional_within(1..=1000),
    }
}

/// The argument of ioprio_set(2): a class and its level, 0 the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Ioprio {
    Realtime(u8),
    BestEffort(u8),
    Idle,
}

impl Ioprio {
    /// Returns the number of linux/ioprio.h: the class is in the bits from 13 on.
    pub fn number(self) -> i32 {
        let (class, level) = match self {
            Self::Realtime(level) => (1, level),
            Self::BestEffort(level) => (2, level),
            Self::Idle => (3, 0),
        };
        class << 13 | i32::from(level)
    }
}

impl std::str::FromStr for Ioprio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "idle" {
            return Ok(Self::Idle);
        }
        let split = text.split_once(':');
        match split.and_then(|(class, level)| Some((class, level.parse::<u8>().ok()?))) {
            Some(("best-effort", level @ 0..=7)) => Ok(Self::BestEffort(level)),
            Some(("realtime", level @ 0..=7)) => Ok(Self::Realtime(level)),
            _ => Err(format!(
                "`{}` is not an I/O priority; write idle, best-effort:0 to best-effort:7, or \
                 realtime:0 to realtime:7",
                text.escape_debug()
            )),
        }
    }
}

impl std::fmt::Display for Ioprio {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Realtime(level) => write!(out, "realtime:{level}"),
            Self::BestEffort(level) => write!(out, "best-effort:{level}"),
            Self::Idle => write!(out, "idle"),
        }
    }
}

text_form!(Ioprio: "an I/O priority in quotes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_the_kernels() {
        let number = |text: &str| text.parse::<Ioprio>().map(Ioprio::number);
        assert_eq!(number("idle"), Ok(0x6000));
        assert_eq!(number("best-effort:4"), Ok(0x4004));
        assert_eq!(number("realtime:0"), Ok(0x2000));
        for wrong in ["", "idle:1", "best-effort", "best-effort:8", "realtime:-1", "none"] {
            assert!(number(wrong).unwrap_err().contains("is not an I/O priority"), "{wrong}");
        }
        assert_eq!(
            "realtime:7".parse::<Ioprio>().map(|priority| priority.to_string()).as_deref(),
            Ok("realtime:7")
        );
    }
}

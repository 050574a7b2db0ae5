//! Marks: messages of the first process about a trial to the part that counts its requests.
//!
//! In a guest they go to the disk library through a parameter of the kernel's driver. On this
//! machine's own disks they go to the watch. Both keep them as text: in the trace of requests and
//! in the watch's file.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Name of the phase from which a sample is made.
pub const MEASURED_PHASE: &str = "measure";

/// A mark. [`Display`](fmt::Display) writes it as text, [`FromStr`] reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Mark {
    /// A phase may begin, `ramp_ns` ns after the next request.
    Begin { phase: String, ramp_ns: u64 },
    /// The phase has begun. Only the watch of this machine's disks makes it.
    Begun,
    /// The phase is over.
    End,
    /// The witness's record of this number was fsynced.
    Fsynced(u64),
    /// The file workload's note of this number was fsynced.
    Promised(u64),
    /// A remark for those who read the trace.
    Note(String),
}

/// The error for text that is not a mark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mark")]
pub struct NotAMark(String);

impl Mark {
    /// Returns the mark for a phase that begins `ramp_ns` ns after the next request.
    pub fn begin(phase: &str, ramp_ns: u64) -> Self {
        Self::Begin { phase: phase.to_owned(), ramp_ns }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin { phase, ramp_ns } => write!(f, "begin {phase} {ramp_ns}"),
            Self::Begun => f.write_str("begun"),
            Self::End => f.write_str("end"),
            Self::Fsynced(record) => write!(f, "fsynced {record}"),
            Self::Promised(note) => write!(f, "promised {note}"),
            Self::Note(text) => write!(f, "note {text}"),
        }
    }
}

impl FromStr for Mark {
    type Err = NotAMark;

    fn from_str(text: &str) -> Result<Self, NotAMark> {
        let wrong = || NotAMark(text.to_owned());
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Ok(match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["begin", phase, ramp] => Self::begin(phase, number(ramp)?),
            ["begun"] => Self::Begun,
            ["end"] => Self::End,
            ["fsynced", record] => Self::Fsynced(number(record)?),
            ["promised", note] => Self::Promised(number(note)?),
            ["note", ..] => Self::Note(text.trim_start()["note".len()..].trim().to_owned()),
            _ => return Err(wrong()),
        })
    }
}

impl From<Mark> for String {
    fn from(mark: Mark) -> Self {
        mark.to_string()
    }
}

impl TryFrom<String> for Mark {
    type Error = NotAMark;

    fn try_from(text: String) -> Result<Self, NotAMark> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_are_written() {
        let marks = [
            Mark::begin("measure", 1000),
            Mark::Begun,
            Mark::End,
            Mark::Fsynced(7),
            Mark::Promised(8),
            Mark::Note("snapshot 3 of 9".to_owned()),
        ];
        let texts = [
            "begin measure 1000",
            "begun",
            "end",
            "fsynced 7",
            "promised 8",
            "note snapshot 3 of 9",
        ];
        for (mark, text) in marks.into_iter().zip(texts) {
            assert_eq!((mark.to_string().as_str(), text.parse()), (text, Ok(mark)));
        }
        for text in ["", "begin", "begin a -1", "begin a b c", "end now", "fsynced", "notes"] {
            assert!(text.parse::<Mark>().is_err(), "{text}");
        }
    }
}

//! The way in which a thread chooses the next file of a set.

use serde::{Deserialize, Serialize};

use crate::read::text_form;

/// The way in which a thread chooses among the files that exist. Files spell it `rotation`,
/// `random`, `zipf 1.1` or `recent 100`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Pick {
    /// Each thread takes one file after the other, as filebench's threads do.
    #[default]
    Rotation,
    /// Each file is equally likely.
    Random,
    /// The first file is the likeliest. The exponent is in thousandths.
    Zipf(u32),
    /// A random file of the given number of files that were written last.
    Recent(u32),
}

const EXPONENTS: std::ops::RangeInclusive<u32> = 100..=5000;
const RECENT: std::ops::RangeInclusive<u32> = 1..=100_000;

impl std::str::FromStr for Pick {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a way to pick a file: write rotation, random, zipf 1.1 (the \
                 exponent, 0.1 to 5) or recent 100 (the number of files, 1 to 100000)"
            )
        };
        let pick = match text.split_once(' ') {
            None if text == "rotation" => Some(Self::Rotation),
            None if text == "random" => Some(Self::Random),
            Some(("zipf", exponent)) => {
                let thousandths =
                    exponent.parse().map(|number: f64| (number * 1000.0).round() as u32);
                thousandths.ok().filter(|number| EXPONENTS.contains(number)).map(Self::Zipf)
            }
            Some(("recent", count)) => {
                count.parse().ok().filter(|count| RECENT.contains(count)).map(Self::Recent)
            }
            _ => None,
        };
        pick.ok_or_else(wrong)
    }
}

impl std::fmt::Display for Pick {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rotation => out.write_str("rotation"),
            Self::Random => out.write_str("random"),
            Self::Zipf(thousandths) => write!(out, "zipf {}", f64::from(*thousandths) / 1000.0),
            Self::Recent(count) => write!(out, "recent {count}"),
        }
    }
}

text_form!(Pick: "a way to pick a file, such as \"rotation\" or \"zipf 1.1\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_pick_are_read_as_they_are_printed() {
        for text in ["rotation", "random", "zipf 1.1", "recent 100"] {
            assert_eq!(text.parse::<Pick>().unwrap().to_string(), text);
        }
        for text in ["zipf", "zipf 9", "recent 0", "recent -1", "newest", "random 3", "zipf NaN"] {
            assert!(
                text.parse::<Pick>().unwrap_err().contains("is not a way to pick a file"),
                "{text}"
            );
        }
    }
}

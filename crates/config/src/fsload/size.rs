//! Sizes of files, and of appends to them: one size, or a distribution of sizes.
//!
//! ```text
//! 16 KiB                        always
//! 1 KiB to 32 KiB               each of them is equally likely
//! gamma 1.5, mean 16 KiB        filebench's: the number is the shape
//! lognormal 1, mean 16 KiB      the number is the standard deviation of the logarithm
//! ```

use disklab_units::{Bytes, ParseError};
use serde::{Deserialize, Serialize};

use crate::read::text_form;

/// A distribution of sizes. Shapes are in thousandths, so that descriptions can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Size {
    /// All files have the same size.
    Fixed(Bytes),
    /// All sizes from the first to the second, both included, are equally likely.
    Uniform(Bytes, Bytes),
    /// The gamma distribution.
    Gamma { shape: u32, mean: Bytes },
    /// The lognormal distribution; `sigma` is the standard deviation of the logarithm.
    Lognormal { sigma: u32, mean: Bytes },
}

/// Size of the largest file.
pub const LARGEST: Bytes = Bytes::gib(64);
/// Range of shapes, in thousandths. filebench has the same range.
const SHAPES: std::ops::RangeInclusive<u32> = 100..=10_000;

impl Size {
    pub fn mean(self) -> Bytes {
        match self {
            Self::Fixed(size)
            | Self::Gamma { mean: size, .. }
            | Self::Lognormal { mean: size, .. } => size,
            Self::Uniform(from, to) => Bytes(from.0.midpoint(to.0)),
        }
    }

    /// Returns a size that a file hardly ever exceeds, for the check whether the files fit.
    pub fn most(self) -> Bytes {
        match self {
            Self::Fixed(size) | Self::Uniform(_, size) => size,
            Self::Gamma { mean, .. } | Self::Lognormal { mean, .. } => {
                mean.saturating_mul(16).min(LARGEST)
            }
        }
    }
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = if let Some((from, to)) = text.split_once(" to ") {
            Self::Uniform(bytes(from)?, bytes(to)?)
        } else if let Some((shape, mean)) = shaped(text, "gamma ")? {
            Self::Gamma { shape, mean }
        } else if let Some((sigma, mean)) = shaped(text, "lognormal ")? {
            Self::Lognormal { sigma, mean }
        } else {
            Self::Fixed(bytes(text)?)
        };
        if matches!(size, Self::Uniform(from, to) if from > to) {
            return Err(format!("`{text}`: the smaller one comes first"));
        }
        if size.most() > LARGEST {
            return Err(format!("`{text}` is more than a file can have here: {LARGEST}"));
        }
        Ok(size)
    }
}

pub(super) fn bytes(text: &str) -> Result<Bytes, String> {
    text.trim().parse().map_err(|error: ParseError| error.to_string())
}

/// Parses the rest of `gamma 1.5, mean 16 KiB` after the word `gamma`. Returns None if the text
/// begins with another word.
fn shaped(text: &str, word: &str) -> Result<Option<(u32, Bytes)>, String> {
    let Some(rest) = text.strip_prefix(word) else { return Ok(None) };
    let wrong =
        || format!("`{text}`: expected a number and a mean, as in `{word}1.5, mean 16 KiB`");
    let (shape, mean) = rest.split_once(", mean ").ok_or_else(wrong)?;
    let shape: f64 = shape.trim().parse().map_err(|_| wrong())?;
    // The conversion makes NaN and negative numbers 0, which is out of range.
    let thousandths = (shape * 1000.0).round() as u32;
    if !SHAPES.contains(&thousandths) {
        return Err(format!("`{text}`: {shape} is out of range (0.1 to 10)"));
    }
    Ok(Some((thousandths, bytes(mean)?)))
}

impl std::fmt::Display for Size {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Prints bytes if a round number of units would not be exact.
        let number = |thousandths: u32| f64::from(thousandths) / 1000.0;
        match *self {
            Self::Fixed(Bytes(size)) => write!(out, "{size} B"),
            Self::Uniform(Bytes(from), Bytes(to)) => write!(out, "{from} B to {to} B"),
            Self::Gamma { shape, mean: Bytes(mean) } => {
                write!(out, "gamma {}, mean {mean} B", number(shape))
            }
            Self::Lognormal { sigma, mean: Bytes(mean) } => {
                write!(out, "lognormal {}, mean {mean} B", number(sigma))
            }
        }
    }
}

text_form!(Size: "a size, or sizes such as \"1 KiB to 32 KiB\" or \"gamma 1.5, mean 16 KiB\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_printed() {
        for text in
            ["16384 B", "0 B to 16384 B", "gamma 1.5, mean 16384 B", "lognormal 0.8, mean 131072 B"]
        {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
        assert_eq!("1 KiB to 3 KiB".parse::<Size>().unwrap().mean(), Bytes::kib(2));
    }

    #[test]
    fn what_is_no_size_is_told() {
        let wrong = |text: &str| text.parse::<Size>().unwrap_err();
        assert!(wrong("3 KiB to 1 KiB").contains("the smaller one comes first"));
        assert!(wrong("gamma 1.5 of 16 KiB").contains("as in `gamma 1.5, mean 16 KiB`"));
        assert!(wrong("gamma NaN, mean 1 KiB").contains("0.1 to 10"));
        assert!(wrong("1 TiB").contains("is more than a file can have"));
        assert!(wrong("some").contains("some"));
    }
}

//! The seeds of the trials of each cell.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::read::in_range;

/// Range of the number of seeds, and of the numbers of the seeds.
pub const SEEDS: RangeInclusive<u32> = 1..=1000;

/// Consecutive numbers of seeds: `5` are the first five, `6-10` the five after them. Trials of the
/// same cells with other seeds share nothing with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    first: u32,
    last: u32,
}

impl Seeds {
    pub const fn first_ones(count: u32) -> Self {
        Self { first: 1, last: count }
    }

    pub const fn first(self) -> u32 {
        self.first
    }

    pub const fn last(self) -> u32 {
        self.last
    }

    /// Returns these seeds and those that follow them up to `last`.
    #[must_use]
    pub const fn upto(self, last: u32) -> Self {
        Self { last, ..self }
    }

    /// Returns the seeds after `seed`, which is not the last.
    #[must_use]
    pub const fn after(self, seed: u32) -> Self {
        Self { first: seed + 1, ..self }
    }

    pub const fn count(self) -> u32 {
        self.last - self.first + 1
    }

    pub fn numbers(self) -> RangeInclusive<u32> {
        self.first..=self.last
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| -> Result<u32, String> {
            let number = text.trim().parse();
            let wrong = |_| format!("`{text}`: expected a number such as 5, or 6-10");
            let number = number.map_err(wrong)?;
            in_range(&number, &SEEDS).map(|()| number)
        };
        let seeds = match text.split_once('-') {
            Some((first, last)) => Self { first: number(first)?, last: number(last)? },
            None => Self::first_ones(number(text)?),
        };
        if seeds.first > seeds.last {
            Err(format!("{text}: the first is above the last"))
        } else {
            Ok(seeds)
        }
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == 1 {
            write!(out, "{}", self.last)
        } else {
            write!(out, "{}-{}", self.first, self.last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_ranges() {
        let seeds = |text: &str| text.parse::<Seeds>();
        assert_eq!(seeds("5"), Ok(Seeds::first_ones(5)));
        assert_eq!(
            seeds("6-10").map(|seeds| (seeds.first(), seeds.count(), seeds.to_string())),
            Ok((6, 5, "6-10".into()))
        );
        assert_eq!(seeds("3").map(|seeds| seeds.numbers().collect::<Vec<_>>()), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("0"), Err("0 is out of range (1 to 1000)".to_owned()));
        assert_eq!(seeds("9-3"), Err("9-3: the first is above the last".to_owned()));
        for bad in ["", "x", "1-", "-1", "1-2-3", "1001", "1-99999999999"] {
            assert!(seeds(bad).is_err(), "{bad}");
        }
    }
}

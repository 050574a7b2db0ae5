//! The range of an axis, in place of a list: equal distances, equal factors, or samples of a
//! hypercube.

use std::str::FromStr;

use super::number::Number;
use crate::read::{Located, TomlTable, choices};

choices! {
    /// The spacing of values between two ends.
    pub enum Spacing: "spacing" {
        /// Neighbouring values have equal distances.
        Linear = "linear",
        /// Neighbouring values have equal factors.
        Log = "log",
    }
}

/// A range from one number to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    spacing: Spacing,
    first: Number,
    last: Number,
}

/// The source of a parameter's samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SampledFrom {
    Range(Range),
    /// A list of values.
    List(Vec<Located<String>>),
}

const STEPS: std::ops::RangeInclusive<u32> = 2..=1000;

impl Range {
    /// Reads a range such as `{ linear = ["4 ms", "16 ms"] }`.
    pub(super) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let given: Vec<Spacing> =
            Spacing::ALL.iter().copied().filter(|spacing| table.has(spacing.as_str())).collect();
        let [spacing] = given[..] else {
            let example = "{ linear = [0, 100], steps = 11 }";
            let kinds = "either `linear` or `log`, each with its two ends";
            table.wrong("", format!("a range has {kinds}: {example}"));
            return None;
        };
        let key = spacing.as_str();
        let ends = table.list::<Word>(key);
        let [first, last] = &ends[..] else {
            let count = ends.len();
            table.wrong(key, format!("has two ends, the least and the greatest; here are {count}"));
            return None;
        };
        let number = |end: &Located<Word>| {
            let number = end.value.0.parse::<Number>();
            number.map_err(|message| table.wrong_at(&end.place, message)).ok()
        };
        let (from, to) = (number(first), number(last));
        let to = to?;
        let from = from?.zero_like(to);
        if from.is_zero() && spacing == Spacing::Log {
            let message = "a `log` range cannot begin at 0: begin above it, or write `linear`";
            table.wrong_at(&first.place, message);
            return None;
        }
        Self::new(spacing, from, to).map_err(|message| table.wrong_at(&last.place, message)).ok()
    }

    fn new(spacing: Spacing, first: Number, last: Number) -> Result<Self, String> {
        if !first.is_like(last) {
            return Err(format!("{last} is not of the same kind as {first}"));
        }
        if first >= last {
            return Err(format!("{last} is not above the other end, {first}"));
        }
        Ok(Self { spacing, first, last })
    }

    pub const fn ends(&self) -> [Number; 2] {
        [self.first, self.last]
    }

    /// Reads the values of an axis of its own, with the number of `steps`. With `whole`, numbers
    /// without a unit are whole ones.
    pub(super) fn steps(table: &TomlTable<'_, '_>, whole: bool) -> Option<Vec<String>> {
        let steps = table.within("steps", STEPS);
        let range = Self::read(table);
        let (steps, range) = (steps?, range?);
        let value = |step: u32| match range.spacing {
            Spacing::Linear => Number::step(range.first, range.last, step, steps - 1, whole),
            Spacing::Log => range.part(f64::from(step) / f64::from(steps - 1), whole),
        };
        let values: Vec<Number> = (0..steps).map(value).collect();
        let twice = values.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        if let Some(twice) = twice {
            let message = format!("{steps} steps are too many: two of them round to {twice}");
            table.wrong("steps", message);
            return None;
        }
        Some(values.iter().map(Number::to_string).collect())
    }

    pub(super) fn part(&self, way: f64, whole: bool) -> Number {
        Number::between(self.first, self.last, way, self.spacing == Spacing::Log, whole)
    }
}

/// Reads `LOW..HIGH`: equal factors, or equal distances if LOW is 0.
impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text
            .split_once("..")
            .ok_or_else(|| format!("`{text}`: write LOW..HIGH, such as 1MiB..64MiB"))?;
        let last: Number = last.parse()?;
        let first = first.parse::<Number>()?.zero_like(last);
        let spacing = if first.is_zero() { Spacing::Linear } else { Spacing::Log };
        Self::new(spacing, first, last)
    }
}

/// A string, number or boolean, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word(pub String);

impl crate::read::FromToml for Word {
    const EXPECTED: &'static str = "a number, or a string with or without a unit";

    fn from_toml(value: &toml::de::DeValue<'_>) -> Result<Self, String> {
        use toml::de::DeValue;
        Ok(Self(match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
            DeValue::Float(number) => number.as_str().replace('_', ""),
            DeValue::Boolean(truth) => truth.to_string(),
            _ => return Err(crate::read::unexpected::<Self>(value)),
        }))
    }
}

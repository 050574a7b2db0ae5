//! Checked access to the entries of a block.

use std::ops::RangeInclusive;

use disklab_units::Nanos;

use crate::syntax::{ParamBlock, ParamValue};
use crate::{Error, Result};

/// A block whose entries are read with checks, and which names itself in errors.
#[derive(Clone, Copy)]
pub(crate) struct BlockFields<'a>(pub &'a ParamBlock);

impl<'a> BlockFields<'a> {
    pub fn name(self) -> String {
        self.0.name.clone().unwrap_or_else(|| self.0.kind.clone())
    }

    pub fn wrong(self, key: &str, wanted: impl Into<String>) -> Error {
        Error::Wrong { block: self.name(), key: key.to_owned(), wanted: wanted.into() }
    }

    pub fn value(self, key: &str) -> Result<&'a ParamValue> {
        self.0.get(key).ok_or_else(|| Error::Missing { block: self.name(), key: key.to_owned() })
    }

    pub fn integer(self, key: &str, within: RangeInclusive<i64>) -> Result<u64> {
        match self.value(key)? {
            // Some files write 300.0 for 300.
            ParamValue::Integer(value) if within.contains(value) => Ok(*value as u64),
            ParamValue::Real(value)
                if value.fract() == 0.0 && within.contains(&(*value as i64)) =>
            {
                Ok(*value as u64)
            }
            _ => Err(self
                .wrong(key, format!("a whole number from {} to {}", within.start(), within.end()))),
        }
    }

    /// Returns the integer of this key, or `missing` if there is none.
    pub fn integer_or(self, key: &str, within: RangeInclusive<i64>, missing: u64) -> Result<u64> {
        if self.0.get(key).is_some() { self.integer(key, within) } else { Ok(missing) }
    }

    pub fn flag(self, key: &str) -> Result<bool> {
        self.integer_or(key, 0..=2, 0).map(|value| value > 0)
    }

    pub fn real(self, key: &str, within: RangeInclusive<f64>) -> Result<f64> {
        let value = as_real(self.value(key)?);
        let wrong =
            || self.wrong(key, format!("a number from {} to {}", within.start(), within.end()));
        value.filter(|value| within.contains(value)).ok_or_else(wrong)
    }

    pub fn real_or(self, key: &str, within: RangeInclusive<f64>, missing: f64) -> Result<f64> {
        if self.0.get(key).is_some() { self.real(key, within) } else { Ok(missing) }
    }

    /// Returns a time that the file has in ms, up to a second.
    pub fn millis(self, key: &str) -> Result<Nanos> {
        self.real(key, 0.0..=1_000.0).map(nanos)
    }

    /// Returns a time that the file has in ms, or 0 if the key is missing.
    pub fn millis_or_none(self, key: &str) -> Result<Nanos> {
        self.real_or(key, 0.0..=1_000.0, 0.0).map(nanos)
    }

    pub fn word(self, key: &str) -> Result<&'a str> {
        match self.value(key)? {
            ParamValue::Word(word) => Ok(word),
            _ => Err(self.wrong(key, "a word")),
        }
    }

    pub fn block(self, key: &str) -> Result<BlockFields<'a>> {
        match self.value(key)? {
            ParamValue::Block(block) => Ok(BlockFields(block)),
            _ => Err(self.wrong(key, "a block { }")),
        }
    }

    pub fn list(self, key: &str) -> Result<&'a [ParamValue]> {
        match self.0.get(key) {
            None => Ok(&[]),
            Some(ParamValue::List(values)) => Ok(values),
            Some(_) => Err(self.wrong(key, "a list [ ]")),
        }
    }

    /// Returns a list of numbers.
    pub fn reals(self, key: &str) -> Result<Vec<f64>> {
        let reals: Option<Vec<f64>> = self.list(key)?.iter().map(as_real).collect();
        reals.ok_or_else(|| self.wrong(key, "a list of numbers"))
    }

    /// Returns a list of whole numbers, sorted and without duplicates.
    pub fn counts(self, key: &str) -> Result<Vec<u64>> {
        let count = |value: &ParamValue| match value {
            ParamValue::Integer(value) => u64::try_from(*value).ok(),
            _ => None,
        };
        let counts: Option<Vec<u64>> = self.list(key)?.iter().map(count).collect();
        let mut counts =
            counts.ok_or_else(|| self.wrong(key, "a list of whole numbers, none below 0"))?;
        counts.sort_unstable();
        counts.dedup();
        Ok(counts)
    }
}

fn as_real(value: &ParamValue) -> Option<f64> {
    match value {
        ParamValue::Integer(value) => Some(*value as f64),
        ParamValue::Real(value) => Some(*value),
        _ => None,
    }
}

/// Converts a time from ms.
pub(crate) fn nanos(millis: f64) -> Nanos {
    Nanos((millis * 1e6).round().max(0.0) as u64)
}

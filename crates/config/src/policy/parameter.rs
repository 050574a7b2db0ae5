//! A parameter of a policy, and the values that it may have.

use std::fmt::Display;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::read::{FromToml, TomlTable, choices, from_table, in_range, unknown, values};

from_table! {
    /// A parameter of a policy.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PolicyParameter {
        /// Key of the parameter.
        pub key: String = with(read_key),
        /// A summary of one line for people.
        pub summary: String = required(),
        /// The values that the parameter may have.
        #[serde(flatten)]
        pub kind: ParameterKind = with(ParameterKind::read),
    }
}

/// The values that a parameter may have, and its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ParameterKind {
    /// A whole number.
    Number { least: u64, most: u64, default: u64 },
    /// An amount of data, in whole btrfs sectors of 4 KiB.
    Bytes { least: Bytes, most: Bytes, default: Bytes },
    /// A btrfs device id: the first disk of an array is 1. By default the kernel chooses.
    Device,
    /// A word from the list.
    Word { words: Vec<String>, default: String },
}

choices! {
    /// The name of a [`ParameterKind`] in a file.
    pub enum ParameterKindName: "kind of parameter" {
        Number = "number",
        Bytes = "bytes",
        Device = "device",
        Word = "word",
    }
}

/// Size of a btrfs sector, to which the kernel rounds bytes up.
const SECTOR: u64 = 4096;

fn read_key(table: &TomlTable<'_, '_>, key: &str) -> Option<String> {
    let word: String = table.required(key)?;
    table.refuse_if(!is_word(&word), key, || not_a_word(&word));
    Some(word)
}

impl ParameterKind {
    fn read(table: &TomlTable<'_, '_>, key: &str) -> Option<Self> {
        match table.required::<ParameterKindName>(key) {
            Some(ParameterKindName::Number) => {
                let (least, most, default) = range(table)?;
                Some(Self::Number { least, most, default })
            }
            Some(ParameterKindName::Bytes) => {
                let (least, most, default) = range(table)?;
                Some(Self::Bytes { least, most, default })
            }
            Some(ParameterKindName::Device) => Some(Self::Device),
            Some(ParameterKindName::Word) => words(table),
            None => {
                // The calls mark the keys as known, so that they are not reported as unknown too.
                for key in ["least", "most", "default", "words"] {
                    table.has(key);
                }
                None
            }
        }
    }
}

impl PolicyParameter {
    /// Returns the only spelling of a value of this parameter, on an array of `devices` devices.
    pub(super) fn canonical(&self, text: &str, devices: usize) -> Result<String, String> {
        match &self.kind {
            ParameterKind::Number { least, most, .. } => {
                let value = number(text)?;
                in_range(&value, &(*least..=*most))?;
                Ok(value.to_string())
            }
            ParameterKind::Bytes { least, most, .. } => {
                let value: Bytes = text.parse().map_err(|error| format!("{error}"))?;
                // The kernel rounds a value below one sector up to one.
                in_range(&value, &(Bytes(least.0.max(SECTOR))..=*most))?;
                if !value.0.is_multiple_of(SECTOR) {
                    let why = "the kernel would round them up";
                    return Err(format!("{} bytes are not a multiple of {SECTOR}; {why}", value.0));
                }
                Ok(value.0.to_string())
            }
            ParameterKind::Device => {
                let value = number(text)?;
                if value == 0 || value > devices as u64 {
                    return Err(format!("device {value} is out of range (1 to {devices})"));
                }
                Ok(value.to_string())
            }
            ParameterKind::Word { words, .. } => known_word(text, words),
        }
    }

    /// Returns the default of the parameter, or `None` if the kernel chooses it.
    pub(super) fn default_value(&self) -> Option<String> {
        match &self.kind {
            ParameterKind::Number { default, .. } => Some(default.to_string()),
            ParameterKind::Bytes { default, .. } => Some(default.0.to_string()),
            ParameterKind::Device => None,
            ParameterKind::Word { default, .. } => Some(default.clone()),
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if digits { text.parse().ok() } else { None };
    value.ok_or_else(|| format!("`{}` is not a whole number", text.escape_debug()))
}

/// Reads the least, the greatest and the default value. The default lies between the others.
fn range<T: FromToml + PartialOrd + Display + Copy>(
    table: &TomlTable<'_, '_>,
) -> Option<(T, T, T)> {
    let (least, most) = (table.required::<T>("least"), table.required::<T>("most"));
    let default = table.required::<T>("default");
    let (least, most, default) = (least?, most?, default?);
    table.accept("default", in_range(&default, &(least..=most)));
    Some((least, most, default))
}

fn words(table: &TomlTable<'_, '_>) -> Option<ParameterKind> {
    let words = table.required_list::<String>("words");
    let default = table.required::<String>("default");
    for word in words.iter().filter(|word| !is_word(&word.value)) {
        table.wrong_at(&word.place, not_a_word(&word.value));
    }
    let (words, default) = (values(words), default?);
    table.accept("default", known_word(&default, &words));
    Some(ParameterKind::Word { words, default })
}

fn known_word(text: &str, words: &[String]) -> Result<String, String> {
    let known = words.iter().find(|word| *word == text).cloned();
    known.ok_or_else(|| unknown("value", text, words.iter().map(String::as_str)))
}

/// Returns whether a text can be a key or a word: both are parts of a trial's id, and must differ
/// from its other parts.
fn is_word(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.starts_with(|letter: char| letter.is_ascii_lowercase()) && text.bytes().all(fits)
}

fn not_a_word(text: &str) -> String {
    let rule = "lower-case letters, digits and `-`, a letter first";
    format!("`{}` is not a word: {rule}", text.escape_debug())
}

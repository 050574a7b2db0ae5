use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use crate::read::{FromToml, TomlTable, unexpected, unknown};

/// The table of a device's file that names its estimates.
pub(super) const TABLE: &str = "estimated";

/// An estimated number of a device, and the range in which it may be. Both ends are spelled as in
/// the device's file, so that a suite can sweep them as `device.KEY`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The key in the table of the device's family.
    pub key: String,
    pub low: String,
    pub high: String,
}

/// An end of a range, as it is spelled.
struct RangeEnd(String);

impl FromToml for RangeEnd {
    const EXPECTED: &'static str = "a number, or a string with a number and its unit";

    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        Ok(Self(match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            _ => return Err(unexpected::<Self>(value)),
        }))
    }
}

/// Keys in older files of hard disks that the model no longer has. Their ranges are ignored.
const REPLACED: [&str; 2] = ["queue_window", "age_limit"];

/// Reads `[estimated]`, which may be left out; `keys` are those of the device's family.
pub(super) fn read(table: &TomlTable<'_, '_>, keys: Option<&[&str]>) -> Option<Vec<Estimate>> {
    let Some(estimated) = table.table(TABLE) else {
        return (!table.has(TABLE)).then(Vec::new);
    };
    let estimate = |key: &str| {
        let ends = estimated.list::<RangeEnd>(key);
        // A missing family is reported elsewhere.
        if let Some(keys) = keys.filter(|keys| !keys.contains(&key)) {
            estimated.wrong(key, unknown("key", key, keys.iter().copied()));
            return None;
        }
        let Ok([low, high]) = <[_; 2]>::try_from(ends) else {
            estimated
                .wrong(key, "expected the two ends of its range, such as [\"1 ms\", \"2 ms\"]");
            return None;
        };
        Some(Estimate { key: key.to_owned(), low: low.value.0, high: high.value.0 })
    };
    let is_of_hdd = keys.is_some_and(|keys| keys.contains(&"queue_error"));
    let (old, keys): (Vec<&str>, Vec<&str>) =
        estimated.keys().into_iter().partition(|key| is_of_hdd && REPLACED.contains(key));
    for key in old {
        estimated.list::<RangeEnd>(key);
    }
    let all: Vec<Option<Estimate>> = keys.into_iter().map(estimate).collect();
    all.into_iter().collect()
}

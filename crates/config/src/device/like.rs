//! Devices that are like another: the keys that they inherit, and the scaling of these.

use std::collections::BTreeMap;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::estimate::TABLE;
use super::ssd::{MOST_BLOCKS, blocks_needed};
use super::{Device, FAMILIES};
use crate::read::{TomlReader, TomlTable, unknown};

/// The key that names the other device.
pub const LIKE: &str = "like";
const SIZE: &str = "size";

/// The keys that a device inherits from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inheritance {
    /// The name of the other device.
    pub from: String,
    /// The keys of the family's table that the device's own file lacks.
    pub keys: Vec<String>,
}

/// Ranges of inherited numbers, as factors to the number: they say how far the true number may be
/// off. Keys without a line have no range: they are counts of the interface, switches, or lists.
const RANGES: &[(&str, f64, f64)] = &[
    ("seek_track_to_track", 0.6, 1.6),
    ("seek_average", 0.85, 1.15),
    ("seek_full", 0.9, 1.15),
    ("write_settle", 0.5, 1.5),
    ("head_switch", 0.5, 1.5),
    ("surfaces", 0.5, 2.0),
    ("rate_outer", 0.85, 1.15),
    ("rate_inner", 0.85, 1.15),
    ("zones", 0.5, 2.0),
    ("command_overhead", 0.5, 2.0),
    ("queue_error", 0.5, 1.5),
    ("queue_patience", 0.3, 3.0),
    ("cache_segments", 0.5, 1.5),
    ("look_ahead", 0.5, 2.0),
    ("write_buffer", 0.5, 2.0),
    ("write_window", 0.5, 2.0),
    ("program_page", 0.7, 1.4),
    ("erase_block", 0.5, 2.0),
    ("suspend", 0.5, 2.0),
    ("channel", 0.7, 1.4),
    ("link_command", 0.5, 2.0),
    ("flush", 0.5, 2.0),
    ("read_access", 0.5, 2.0),
    ("write_access", 0.5, 2.0),
    ("copy_rate", 0.7, 1.4),
    ("erase_unit", 0.5, 2.0),
];

/// Reads the keys that a device's file inherited from another. If `like` is wrong, the outer value
/// is `None`.
#[expect(clippy::option_option, reason = "left out and mistaken are two things")]
pub(super) fn read(table: &TomlTable<'_, '_>) -> Option<Option<Inheritance>> {
    let from: Option<String> = table.given(LIKE)?;
    Some(from.map(|from| {
        let keys = FAMILIES.iter().flat_map(|family| table.inherited_within(family));
        Inheritance { from, keys: keys.collect() }
    }))
}

/// Returns the TOML of all that a device's file inherits from the device that it is like, scaled to
/// its own numbers. Returns None if the file names no such device, or is not TOML. `texts` has the
/// files of all devices.
pub fn inherited_keys(
    text: &str,
    texts: &BTreeMap<String, String>,
) -> Option<Result<String, String>> {
    let own: Table = text.parse().ok()?;
    let from = own.get(LIKE)?.as_str()?.to_owned();
    Some(take(&own, &from, texts).map(|taken| taken.to_string()))
}

fn take(own: &Table, from: &str, texts: &BTreeMap<String, String>) -> Result<Table, String> {
    let base =
        texts.get(from).ok_or_else(|| unknown("device", from, texts.keys().map(String::as_str)))?;
    let base: Table =
        base.parse().map_err(|_| format!("the file of device `{from}` is not TOML"))?;
    if let Some(other) = base.get(LIKE).and_then(Value::as_str) {
        return Err(format!(
            "device `{from}` is itself like `{other}`: name a device whose file has all keys"
        ));
    }
    let family = FAMILIES.into_iter().find(|family| base.contains_key(*family));
    let family = family.ok_or_else(|| format!("device `{from}` has no model"))?;
    if let Some(other) = FAMILIES.into_iter().find(|key| *key != family && own.contains_key(*key)) {
        return Err(format!("device `{from}` is a [{family}], and this one is a [{other}]"));
    }
    let empty = Table::new();
    let inner = |table: &Table, key: &str| {
        table.get(key).and_then(Value::as_table).unwrap_or(&empty).clone()
    };
    let (own_numbers, base_numbers) = (inner(own, family), inner(&base, family));
    let scales = Scales { own: &own_numbers, base: &base_numbers };
    let mut numbers: Table = base_numbers
        .iter()
        .filter(|(key, _)| !own_numbers.contains_key(*key))
        .map(|(key, value)| (key.clone(), scaled(value, scales.factor(family, key))))
        .collect();
    let size = own.get(SIZE).or_else(|| base.get(SIZE)).cloned();
    if family == "ssd" {
        spread_over_dies(&mut numbers, &own_numbers, bytes(size.as_ref()), bytes(base.get(SIZE)));
    }
    let ranges = ranges(own, &base, &numbers, &base_numbers);
    let mut taken = Table::new();
    if !own.contains_key(SIZE) {
        taken.extend(size.map(|size| (SIZE.to_owned(), size)));
    }
    taken.insert(family.to_owned(), numbers.into());
    let whole = joined(own, &taken).to_string();
    let estimated: Table = ranges
        .into_iter()
        .filter(|(key, range)| range.iter().all(|end| is_possible(&whole, family, key, end)))
        .map(|(key, range)| (key, Value::Array(range.into())))
        .collect();
    if !estimated.is_empty() {
        taken.insert(TABLE.to_owned(), estimated.into());
    }
    Ok(taken)
}

/// Returns the ranges of the inherited numbers: a range of the other device if the number is the
/// same, else a factor to the number.
fn ranges(
    own: &Table,
    base: &Table,
    numbers: &Table,
    base_numbers: &Table,
) -> Vec<(String, [Value; 2])> {
    let given = |table: &Table, key: &str| {
        table.get(TABLE).and_then(Value::as_table).and_then(|ranges| ranges.get(key)).cloned()
    };
    let range = |(key, value): (&String, &Value)| {
        if given(own, key).is_some() {
            return None;
        }
        let of_base = given(base, key).and_then(|range| match range {
            Value::Array(ends) => <[Value; 2]>::try_from(ends).ok(),
            _ => None,
        });
        let same = of_base.filter(|_| base_numbers.get(key) == Some(value));
        let (_, low, high) = RANGES.iter().find(|(known, ..)| known == key)?;
        let range = same.unwrap_or_else(|| [scaled(value, *low), scaled(value, *high)]);
        (range[0] != range[1]).then(|| (key.clone(), range))
    };
    numbers.iter().filter_map(range).collect()
}

/// Returns whether the device may have this value.
fn is_possible(text: &str, family: &str, key: &str, value: &Value) -> bool {
    let Ok(mut document) = text.parse::<Table>() else { return false };
    document.remove(LIKE);
    if let Some(numbers) = document.get_mut(family).and_then(Value::as_table_mut) {
        numbers.insert(key.to_owned(), value.clone());
    }
    let text = document.to_string();
    TomlReader::new("device", &text).read(|table| Device::read("device", table)).is_ok()
}

/// Returns the whole text of a device's file that inherits the keys in `taken`, without the key
/// `like`. Returns None if either text is not TOML.
pub fn with_inherited(own: &str, taken: &str) -> Option<String> {
    let mut whole = joined(&own.parse().ok()?, &taken.parse().ok()?);
    whole.remove(LIKE);
    Some(whole.to_string())
}

/// Returns a file with the keys that it inherits.
fn joined(own: &Table, taken: &Table) -> Table {
    let mut whole = own.clone();
    for (key, value) in taken {
        match (whole.get_mut(key), value) {
            (Some(Value::Table(own)), Value::Table(taken)) => {
                taken.iter().for_each(|(key, value)| {
                    own.entry(key.clone()).or_insert_with(|| value.clone());
                });
            }
            (Some(_), _) => {}
            (None, value) => _ = whole.insert(key.clone(), value.clone()),
        }
    }
    whole
}

/// The numbers of a device and of the device that it is like.
struct Scales<'a> {
    own: &'a Table,
    base: &'a Table,
}

impl Scales<'_> {
    /// Returns the ratio of the device's own number to the other device's, if the device has one.
    fn ratio(&self, key: &str) -> Option<f64> {
        let ratio = amount(self.own.get(key)?)? / amount(self.base.get(key)?)?;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }

    /// Returns the factor to an inherited number. The two rates have the same factor, and grow with
    /// the speed of rotation. The factor of the longest seek is that of the average one. A smaller
    /// cache has fewer segments and a smaller write buffer. The model itself derives the tracks
    /// from size and rates.
    fn factor(&self, family: &str, key: &str) -> f64 {
        let factor = match (family, key) {
            ("hdd", "rate_inner") => self.ratio("rate_outer").or_else(|| self.ratio("rpm")),
            ("hdd", "rate_outer") => self.ratio("rate_inner").or_else(|| self.ratio("rpm")),
            ("hdd", "seek_full") => self.ratio("seek_average"),
            ("hdd", "seek_average") => self.ratio("seek_full"),
            ("hdd", "seek_track_to_track") => {
                self.ratio("seek_average").map(|ratio| ratio.min(1.0))
            }
            ("hdd", "cache_segments" | "write_buffer") => {
                self.ratio("cache").map(|ratio| ratio.min(1.0))
            }
            _ => None,
        };
        factor.unwrap_or(1.0)
    }
}

/// Gives an SSD of another size as many dies as it has flash, so that the size of a die stays the
/// same.
fn spread_over_dies(numbers: &mut Table, own: &Table, size: Option<Bytes>, base: Option<Bytes>) {
    let (Some(size), Some(base)) = (size, base) else { return };
    let ratio = size.0 as f64 / base.0.max(1) as f64;
    let has_own =
        ["raw_size", "channels", "dies_per_channel"].iter().any(|key| own.contains_key(*key));
    if has_own || (ratio - 1.0).abs() < 1e-9 {
        return;
    }
    let number = |numbers: &Table, key: &str| {
        own.get(key).or_else(|| numbers.get(key)).and_then(Value::as_integer).unwrap_or(1).max(1)
            as u64
    };
    let channels = number(numbers, "channels");
    let dies = (channels * number(numbers, "dies_per_channel")) as f64;
    let dies = (dies * 2f64.powf(ratio.log2().round())).clamp(1.0, 4096.0) as u64;
    let channels = channels.min(dies);
    let per_channel = (dies / channels).clamp(1, 64);
    let dies = channels * per_channel;
    let page = bytes(own.get("page").or_else(|| numbers.get("page"))).unwrap_or(Bytes::kib(16));
    let row = page * number(numbers, "planes");
    let raw = bytes(numbers.get("raw_size")).map_or(size.0, |raw| (raw.0 as f64 * ratio) as u64);
    // The model's map limits the number of blocks, and collection needs some more: larger blocks,
    // more flash.
    let mut pages = number(numbers, "pages_per_block");
    let needed = |pages: u64| {
        let block = row * pages;
        blocks_needed(size, dies, row, block).max(raw / (block.0 * dies).max(1))
    };
    while needed(pages) * dies > MOST_BLOCKS && pages < 16_384 {
        pages = (pages * 2).min(16_384);
    }
    let raw = Bytes((row * pages).0 * dies * needed(pages));
    let mut set = |key: &str, value: Value| {
        if !own.contains_key(key) {
            numbers.insert(key.to_owned(), value);
        }
    };
    set("channels", Value::Integer(channels.cast_signed()));
    set("dies_per_channel", Value::Integer(per_channel.cast_signed()));
    set("pages_per_block", Value::Integer(pages.cast_signed()));
    set("raw_size", Value::String(format!("{} KiB", raw.0 / 1024)));
}

fn bytes(value: Option<&Value>) -> Option<Bytes> {
    match value? {
        Value::String(text) => text.parse().ok(),
        Value::Integer(number) => u64::try_from(*number).ok().map(Bytes),
        _ => None,
    }
}

/// Returns the amount of a number, or of a quantity in its smallest unit.
fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::String(text) => {
            let rate = || text.parse::<disklab_units::Rate>().ok().map(|rate| rate.0);
            let time = || text.parse::<disklab_units::Nanos>().ok().map(|time| time.0);
            let amount =
                rate().or_else(time).or_else(|| text.parse::<Bytes>().ok().map(|size| size.0));
            amount.map(|amount| amount as f64)
        }
        _ => None,
    }
}

/// Returns a number, or a quantity in its own unit, times a factor, with four digits.
fn scaled(value: &Value, factor: f64) -> Value {
    if (factor - 1.0).abs() < 1e-9 {
        return value.clone();
    }
    match value {
        Value::Integer(number) => Value::Integer((*number as f64 * factor).round().max(1.0) as i64),
        Value::Float(number) => Value::Float(number * factor),
        Value::String(text) => {
            let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
            let (number, unit) = text.split_at(end.unwrap_or(text.len()));
            let Ok(number) = number.parse::<f64>() else { return value.clone() };
            let number = number * factor;
            let places = (3.0 - number.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
            let digits = format!("{number:.places$}");
            let digits = if digits.contains('.') {
                digits.trim_end_matches('0').trim_end_matches('.')
            } else {
                &digits
            };
            Value::String(format!("{digits}{unit}"))
        }
        other => other.clone(),
    }
}

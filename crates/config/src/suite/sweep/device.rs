//! Reads a file of the lab again with other values. A value that the file may not have is refused
//! with the same words.

use std::collections::BTreeMap;

use disklab_units::Nanos;
use toml::{Table as Document, Value};

use super::number::Number;
use super::parameter::SEEK;
use crate::device::{Device, FAMILIES};
use crate::read::{Diagnostics, TomlReader};
use crate::workload::Workload;

/// The keys of a hard disk's seek times.
const SEEKS: [&str; 3] = ["seek_track_to_track", "seek_average", "seek_full"];
/// The key of a device's size, above its family's table.
const SIZE: &str = "size";

/// The texts of files, by name.
pub type Texts = BTreeMap<String, String>;

/// Returns a device with other values of some keys.
pub(super) fn device(
    base: &Device,
    texts: &Texts,
    changes: &[(&str, &str)],
) -> Result<Device, String> {
    let name = &base.name;
    let mut document = document("device", name, texts)?;
    let family =
        FAMILIES.into_iter().find(|family| document.contains_key(*family)).unwrap_or_default();
    for (key, value) in changes {
        match *key {
            SIZE => set(&mut document, SIZE, value)?,
            SEEK => scale_seeks(&mut document, name, value)?,
            key => set(&mut document, &format!("{family}.{key}"), value)?,
        }
    }
    let text = document.to_string();
    let read = TomlReader::new(name, &text).read(|table| Device::read(name, table));
    let device = read.map_err(|mistakes| refusal("device", name, changes, &mistakes))?;
    // The array decides the size of the used part.
    let used = if base.used == base.bytes { device.bytes } else { base.used.min(device.bytes) };
    Ok(Device { used, inherited: base.inherited.clone(), ..device })
}

/// Returns a workload with other values of some keys.
pub(super) fn workload(
    base: &Workload,
    texts: &Texts,
    changes: &[(&str, &str)],
) -> Result<Workload, String> {
    let name = &base.name;
    let mut document = document("workload", name, texts)?;
    for (key, value) in changes {
        set(&mut document, key, value)?;
    }
    let text = document.to_string();
    let workload = TomlReader::new(name, &text).read(|table| Workload::read(name, table));
    workload.map_err(|mistakes| refusal("workload", name, changes, &mistakes))
}

fn document(kind: &str, name: &str, texts: &Texts) -> Result<Document, String> {
    let text = texts
        .get(name)
        .ok_or_else(|| format!("{kind} `{name}` has no file whose keys could be changed"))?;
    text.parse::<Document>().map_err(|error| format!("{kind} `{name}`: {error}"))
}

/// Sets the value at a path of keys. The kind of value remains that of the old value.
fn set(document: &mut Document, path: &str, value: &str) -> Result<(), String> {
    let (tables, key) =
        path.rsplit_once('.').map_or((None, path), |(tables, key)| (Some(tables), key));
    let mut table = document;
    for name in tables.into_iter().flat_map(|tables| tables.split('.')) {
        let inner = table.entry(name).or_insert_with(|| Value::Table(Document::new()));
        table = inner.as_table_mut().ok_or_else(|| format!("`{name}` is not a table"))?;
    }
    let plain =
        || value.parse::<i64>().map(Value::Integer).or_else(|_| value.parse().map(Value::Float));
    let value = match table.get(key) {
        Some(Value::String(_)) => Value::String(value.to_owned()),
        _ => match value {
            "true" => Value::Boolean(true),
            "false" => Value::Boolean(false),
            text => plain().unwrap_or_else(|_| Value::String(text.to_owned())),
        },
    };
    table.insert(key.to_owned(), value);
    Ok(())
}

fn scale_seeks(document: &mut Document, name: &str, factor: &str) -> Result<(), String> {
    let billionths = factor.parse::<Number>().ok().and_then(Number::billionths);
    let billionths =
        billionths.ok_or_else(|| format!("`{SEEK}` is a factor to the seek times, such as 1.5"))?;
    for key in SEEKS {
        let known = document.get("hdd").and_then(|hdd| hdd.get(key)).and_then(Value::as_str);
        let time: Nanos = known
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| format!("device `{name}` is not a hard disk: it has no `{key}`"))?;
        let scaled = (u128::from(time.0) * u128::from(billionths) + 500_000_000) / 1_000_000_000;
        set(document, &format!("hdd.{key}"), &format!("{scaled} ns"))?;
    }
    Ok(())
}

/// Returns a message without the places, which are in no file. The caller names the key if only one
/// is changed.
fn refusal(kind: &str, name: &str, changes: &[(&str, &str)], mistakes: &Diagnostics) -> String {
    let is_named = |place: &str| match changes {
        [(key, _)] => place == *key || place.split_once('.').is_some_and(|(_, rest)| rest == *key),
        _ => false,
    };
    let all = mistakes.0.iter().map(|mistake| match mistake.place.key.as_str() {
        key if is_named(key) => mistake.message.clone(),
        key => format!("{key}: {}", mistake.message),
    });
    let all: Vec<String> = all.collect();
    format!("{kind} `{name}`: {}", all.join("; "))
}

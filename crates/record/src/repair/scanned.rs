//! Reads the intact parts of a damaged line.

use disklab_units::Seed;
use serde::de::DeserializeOwned;

use crate::outcome::{Cell, Outcome, Status};

/// The outcome of a damaged line, from its readable parts.
pub struct Scanned {
    pub outcome: Outcome,
    /// Whether the line says which trial it belongs to, and how the trial ended.
    pub is_enough: bool,
}

impl Scanned {
    pub fn read(line: &[u8]) -> Self {
        let own = (
            member::<String>(line, "trial"),
            member::<Cell>(line, "cell"),
            member::<u32>(line, "seed_index"),
            member::<Seed>(line, "seed"),
            member::<Status>(line, "status"),
        );
        let is_enough = matches!(own, (Some(_), Some(_), Some(_), Some(_), Some(_)));
        let (trial, cell, seed_index, seed, status) = own;
        let outcome = Outcome::new(
            trial.unwrap_or_default(),
            cell.unwrap_or_default(),
            seed_index.unwrap_or_default(),
            seed.unwrap_or(Seed(0)),
            status.unwrap_or(Status::Ok),
        );
        let outcome = Outcome {
            key: member(line, "key"),
            reason: member::<Option<String>>(line, "reason").flatten(),
            fault: member(line, "fault"),
            virtual_ns: member(line, "virtual_ns"),
            wall_ms: member(line, "wall_ms").unwrap_or_default(),
            sample: member(line, "sample"),
            remarks: member(line, "remarks").unwrap_or_default(),
            raw: member::<Option<String>>(line, "raw").flatten(),
            files: member(line, "files").unwrap_or_default(),
            other_files: member(line, "other_files").unwrap_or_default(),
            disks: member(line, "disks").unwrap_or_default(),
            measures: member(line, "measures").unwrap_or_default(),
            found: member(line, "found"),
            ..outcome
        };
        Self { outcome, is_enough }
    }
}

/// Returns the first member of this name and type in a line, which may be incomplete.
pub fn member<T: DeserializeOwned>(line: &[u8], name: &str) -> Option<T> {
    let key = format!("\"{name}\":").into_bytes();
    let places = line.windows(key.len()).enumerate().filter(|(_, bytes)| *bytes == key);
    let value = |(at, _): (usize, &[u8])| {
        let rest = line.get(at + key.len()..)?;
        serde_json::Deserializer::from_slice(rest).into_iter::<T>().next()?.ok()
    };
    places.into_iter().find_map(value)
}

//! Formats quantities as device files have them.

use disklab_units::{Bytes, Nanos, Rate};

/// Decimal units, largest first. The last one is the base unit.
const SIZES: [(&str, u64); 5] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];
const TIMES: [(&str, u64); 3] = [("ms", 1_000_000), ("us", 1000), ("ns", 1)];
const RATES: [(&str, u64); 3] = [("MB/s", 1_000_000), ("kB/s", 1000), ("B/s", 1)];

/// Formats a number in the largest unit that is exact.
fn exact(value: u64, units: &[(&str, u64)]) -> String {
    let fitting = units.iter().find(|(_, size)| value > 0 && value.is_multiple_of(*size));
    match fitting.or(units.last()) {
        Some((unit, size)) => format!("{} {unit}", value / size),
        None => value.to_string(),
    }
}

/// Formats a size for a device file.
pub fn size(bytes: Bytes) -> String {
    exact(bytes.0, &SIZES)
}

/// Formats a time for a device file.
pub fn time(nanos: Nanos) -> String {
    exact(nanos.0, &TIMES)
}

/// Formats a rate for a device file.
pub fn rate(rate: Rate) -> String {
    exact(rate.0, &RATES)
}

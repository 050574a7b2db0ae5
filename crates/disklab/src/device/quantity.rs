//! Quantities as the file of a device has them.

use disklab_units::{Bytes, Nanos, Rate};

/// Units of ten, largest first, of which the last is the smallest there is.
const SIZES: [(&str, u64); 5] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];
const TIMES: [(&str, u64); 3] = [("ms", 1_000_000), ("us", 1000), ("ns", 1)];
const RATES: [(&str, u64); 3] = [("MB/s", 1_000_000), ("kB/s", 1000), ("B/s", 1)];

/// A number in the largest unit that is exact.
fn exact(value: u64, units: &[(&str, u64)]) -> String {
    let fitting = units.iter().find(|(_, size)| value > 0 && value.is_multiple_of(*size));
    match fitting.or(units.last()) {
        Some((unit, size)) => format!("{} {unit}", value / size),
        None => value.to_string(),
    }
}

/// A size as a file has it.
pub fn size(bytes: Bytes) -> String {
    exact(bytes.0, &SIZES)
}

/// A time as a file has it.
pub fn time(nanos: Nanos) -> String {
    exact(nanos.0, &TIMES)
}

/// A rate as a file has it.
pub fn rate(rate: Rate) -> String {
    exact(rate.0, &RATES)
}

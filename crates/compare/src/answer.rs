//! Formats values, changes and cells as text.

use disklab_config::suite::SuiteAxis;
use disklab_record::outcome::Cell;
use disklab_stats::{Estimate, percent};
use disklab_units::prose::{digits, listed};
use serde::Serialize;

/// A change from baseline to treatment in per cent, with the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RelativeChange {
    pub percent: f64,
    pub low: f64,
    pub high: f64,
}

impl RelativeChange {
    pub fn from_log_ratio(log_ratio: Estimate) -> Self {
        Self {
            percent: percent(log_ratio.value),
            low: percent(log_ratio.interval.low),
            high: percent(log_ratio.interval.high),
        }
    }

    /// Formats the change, or one end of it if the other is unknown: trials timed out, or a value
    /// was zero.
    pub fn in_words(self) -> String {
        let change = change(self.percent);
        match (self.low > -100.0, self.high.is_finite()) {
            (true, false) => format!("≥ {change}"),
            (false, true) => format!("≤ {change}"),
            _ => change,
        }
    }
}

/// Formats a change and its interval; two dashes without a change.
pub fn change_and_interval(change: Option<RelativeChange>) -> (String, String) {
    let Some(known) = change else { return ("-".to_owned(), "-".to_owned()) };
    let interval = match (known.low > -100.0, known.high.is_finite()) {
        (false, false) => "unknown".to_owned(),
        _ => format!("{} to {}", self::change(known.low), self::change(known.high)),
    };
    (known.in_words(), interval)
}

/// Formats a change: `+12 %`, `-3.4 %`; from a factor of ten on `x 13`.
pub fn change(percent: f64) -> String {
    match percent {
        _ if !percent.is_finite() => "unbounded".to_owned(),
        900.0.. => format!("x {:.0}", 1.0 + percent / 100.0),
        _ if percent.abs() >= 9.95 => format!("{percent:+.0} %"),
        _ => format!("{percent:+.1} %"),
    }
}

/// Returns the size of a change, up or down: to a tenth is as large as to ten times. A change that
/// is not a number is the largest.
pub fn size(percent: f64) -> f64 {
    let size = (1.0 + percent / 100.0).ln().abs();
    if size.is_nan() { 0.0 } else { size }
}

/// Formats the name of a choice within a sentence: a scheduler may be called `none`.
pub fn name(choice: &str) -> String {
    if choice == "none" { "\"none\"".to_owned() } else { choice.to_owned() }
}

/// Largest number of seeds of a run.
pub const MOST_SEEDS: usize = 1000;

/// Formats a number of seeds: `about 140 seeds`, with no more digits than are known.
pub fn seeds(number: usize) -> String {
    if number > MOST_SEEDS {
        return format!("more than {MOST_SEEDS} seeds");
    }
    format!("about {} seeds", rounded(number))
}

/// Rounds a number of seeds to the digits that are known.
pub fn rounded(seeds: usize) -> usize {
    let step = if seeds < 100 { 1 } else { 10 };
    seeds.div_ceil(step) * step
}

/// Formats seeds: `seed 1`, `seeds 1 and 3`.
pub fn numbered_seeds(seeds: &[String]) -> String {
    let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
    format!("{noun} {}", listed(seeds))
}

/// Formats the values of a cell: `hdd-raid1, background none, randread-4k-qd1, jobs 4`.
pub fn values(cell: &Cell) -> String {
    cell.0.iter().map(|(axis, value)| named(axis, value)).collect::<Vec<_>>().join(", ")
}

/// Formats the values of a cell as a heading. The heading of a cell without axes is `all`.
pub fn title(cell: &Cell) -> String {
    if cell.0.is_empty() { "all".to_owned() } else { values(cell) }
}

/// Formats a value, with its axis if it is unclear by itself.
pub fn named(axis: &str, value: &str) -> String {
    let is_number = value.chars().all(|letter| letter.is_ascii_digit());
    let is_parameter = matches!(axis.parse(), Ok(SuiteAxis::Parameter(_)));
    if value == "none" || is_number || is_parameter {
        format!("{axis} {value}")
    } else {
        value.to_owned()
    }
}

/// Formats a value with its unit.
pub fn value(value: f64, unit: &str) -> String {
    match unit {
        "1/s" => digits(value),
        "bytes/s" => format!("{} MiB/s", digits(value / f64::from(1 << 20))),
        "bytes" => bytes(value),
        "ns" => disklab_units::Nanos(value.round() as u64).to_string(),
        _ => format!("{} {unit}", digits(value)).trim_end().to_owned(),
    }
}

/// Formats a size, with a sign if it is negative.
fn bytes(value: f64) -> String {
    let size = disklab_units::Bytes(value.abs().round() as u64);
    if value <= -0.5 { format!("-{size}") } else { size.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign() {
        let texts = [0.04, -3.41, 9.96, 899.0, 900.0, f64::INFINITY].map(change);
        assert_eq!(texts, ["+0.0 %", "-3.4 %", "+10 %", "+899 %", "x 10", "unbounded"]);
    }
}

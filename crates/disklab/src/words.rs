//! Formats numbers and amounts for people.

use std::time::Duration;

use disklab_units::Nanos;
use disklab_units::prose::in_shell;
pub use disklab_units::prose::{count, filled};

/// Returns the command line as it was typed, to be typed again.
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| in_shell(&word.to_string_lossy()));
    std::iter::once("disklab".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Formats wall time with at most two units: `350 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub fn wall(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        _ => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
    }
}

/// Formats the virtual time of whole runs: minutes are easier to read than 1440 s.
pub fn virtual_time(time: Nanos) -> String {
    if time < Nanos::from_secs(60) { time.to_string() } else { wall(Duration::from_nanos(time.0)) }
}

/// Formats a value, or a dash for None.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_has_two_units_at_most() {
        for (millis, text) in [
            (350, "350 ms"),
            (1_400, "1 s"),
            (59_700, "1 min"),
            (200_000, "3 min 20 s"),
            (7_500_000, "2 h 5 min"),
            (7_200_000, "2 h"),
        ] {
            assert_eq!(wall(Duration::from_millis(millis)), text);
        }
        assert_eq!(virtual_time(Nanos::from_millis(300)), "300 ms");
        assert_eq!(virtual_time(Nanos::from_secs(1440)), "24 min");
    }
}

//! Reads files of sysfs that hold one of several choices, or a value.

use std::fs;
use std::path::Path;

/// Returns the active choice of `pid [round-robin:262144] devid:1`.
pub fn bracketed(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0)
}

/// Returns whether every value that was asked for is active. Other values may be active too:
/// `devid:1` agrees with `devid`.
pub fn agrees(active: &str, asked: &str) -> bool {
    let values = |text| str::split_once(text, ':').map_or((text, ""), |parts| parts);
    let ((name, active), (wanted, asked)) = (values(active), values(asked));
    name == wanted
        && (asked.is_empty()
            || asked.split(',').all(|value| active.split(',').any(|own| own == value)))
}

/// Returns the value of a file if it is not the value that was written to it.
pub fn other(path: &Path, gave: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    let active = bracketed(text).unwrap_or(text);
    (!agrees(active, gave)).then(|| active.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_choice_counts_not_the_list() {
        assert_eq!(bracketed("pid [round-robin:262144] devid:1"), Some("round-robin:262144"));
        assert_eq!(bracketed("pid round-robin"), None);
        assert!(agrees("round-robin:262144", "round-robin"));
        assert!(!agrees("round-robin:262144", "round-robin:4096"));
        assert!(agrees(
            "latency-rr:125,bytes=262144,burst=1",
            "latency-rr:125,bytes=262144,burst=1"
        ));
        assert!(agrees("latency-rr:125,bytes=262144,burst=1", "latency-rr:125,burst=1"));
        assert!(agrees("latency-rr:125,bytes=262144,burst=1", "latency-rr:burst=1"));
        assert!(!agrees("latency-rr:125,bytes=262144,burst=1", "latency-rr:120,burst=1"));
        assert!(!agrees("latency-rr:125,bytes=262144,burst=1", "latency-rr:125,burst=100"));
        assert!(!agrees("latency-rr", "latency-rr:125"));
        assert!(!agrees("pid", "devid"));
        assert!(!agrees("round-robin-x:1", "round-robin"));
    }
}

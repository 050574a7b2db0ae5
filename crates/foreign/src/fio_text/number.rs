//! Numbers as fio prints them for people: `12.3k`, `48.1MiB/s`, `4096B`, `2889MiB`.

/// The largest number that is accepted: beyond any bandwidth, size or latency. The limit keeps sums
/// and products finite.
const LARGEST: f64 = 1e18;

/// Parses a number with a prefix, and converts bits to bytes: `50.5MB/s` is 50.5e6. fio writes `Ki`
/// for 1024, and `k` for 1000.
pub fn scaled(text: &str) -> Option<f64> {
    let text = text.trim();
    let end =
        text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let number: f64 = digits.parse().ok()?;
    let (factor, unit) = prefix(rest);
    let per_unit = match unit {
        "" | "B" | "B/s" => 1.0,
        "b" | "bit" | "bit/s" => 0.125,
        _ => return None,
    };
    Some(number * factor * per_unit).filter(|value| (0.0..=LARGEST).contains(value))
}

fn prefix(rest: &str) -> (f64, &str) {
    let mut letters = rest.chars();
    let power = match letters.next() {
        Some('k' | 'K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some('E') => 6,
        _ => return (1.0, rest),
    };
    let after = letters.as_str();
    after
        .strip_prefix('i')
        .map_or((1000_f64.powi(power), after), |unit| (1024_f64.powi(power), unit))
}

/// Returns the nanoseconds of a unit.
pub fn nanos_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "nsec" | "ns" => 1.0,
        "usec" | "us" => 1e3,
        "msec" | "ms" => 1e6,
        "sec" | "s" => 1e9,
        _ => return None,
    })
}

/// Returns the text between `before` and `after`.
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_units_are_fios() {
        for (text, value) in [
            ("1760", 1760.0),
            ("12.3k", 12_300.0),
            ("48.1MiB/s", 48.1 * 1_048_576.0),
            ("50.5MB/s", 50.5e6),
            ("4096B", 4096.0),
            ("64.0KiB", 65_536.0),
            ("7209kB/s", 7_209_000.0),
            ("403Mibit/s", 403.0 * 131_072.0),
            ("1234.5k", 1_234_500.0),
            ("0", 0.0),
        ] {
            let read = scaled(text).unwrap_or(f64::NAN);
            assert!((read - value).abs() < 1e-6 * value.max(1.0), "{text}: {read}");
        }
        for wrong in ["", "k", "-1", "1e5", "1x", "1.2.3", "99999E", "NaN", "inf"] {
            assert_eq!(scaled(wrong), None, "{wrong}");
        }
    }
}

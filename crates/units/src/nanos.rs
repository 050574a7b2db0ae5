use crate::quantity::{Notation, quantity};

quantity! {
    /// A length of time, or a point of virtual time since the guest's start, in nanoseconds.
    ///
    /// It is printed as `7 ns`, `50 us`, `8.33 ms`, `20 s`: never minutes or hours, as in fio's
    /// output.
    Nanos,
    written: Notation {
        noun: "a time",
        examples: "`20s`, `8.33 ms` or `50us`",
        units: &[
            ("ns", 1),
            ("us", MICRO),
            ("ms", MILLI),
            ("s", SECOND),
            ("min", 60 * SECOND),
            ("h", 3600 * SECOND),
        ],
        suffix: "",
        printed: &[("ns", 1), ("us", MICRO), ("ms", MILLI), ("s", SECOND)],
    }
}

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

impl Nanos {
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * MICRO)
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * MILLI)
    }

    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * SECOND)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }

    /// Returns the nearest whole number of nanoseconds. Negative numbers and NaN become zero, and
    /// larger values than fit become [`Nanos::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * SECOND as f64).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> u64 {
        text.parse::<Nanos>().unwrap().0
    }

    fn error(text: &str) -> String {
        text.parse::<Nanos>().unwrap_err().to_string()
    }

    #[test]
    fn parses_what_people_write() {
        assert_eq!(parse("20s"), 20_000_000_000);
        assert_eq!(parse("300ms"), 300_000_000);
        assert_eq!(parse("8.33 ms"), 8_330_000);
        assert_eq!(parse(" 50us "), 50_000);
        assert_eq!(parse("2min"), 120_000_000_000);
        assert_eq!(parse("1.5h"), 5_400_000_000_000);
        assert_eq!(parse("7ns"), 7);
        assert_eq!(parse("0"), 0);
        assert_eq!(parse("0.0"), 0);
        assert_eq!(parse("0 ms"), 0);
        assert_eq!(parse("007 ns"), 7);
        assert_eq!(parse("0.4 ns"), 0, "rounds to the nearest");
        assert_eq!(parse("0.5 ns"), 1);
    }

    #[test]
    fn errors_say_what_would_be_right() {
        assert_eq!(error("20"), "`20` has no unit: write `20s`, `8.33 ms` or `50us`");
        assert_eq!(
            error("20 sec"),
            "`20 sec` has an unknown unit `sec`: use one of ns, us, ms, s, min, h"
        );
        for text in ["", "ms", "-5 ms", ".5 ms", "5. ms", "1.2.3 ms", "1e3 ms", "soon"] {
            let message = error(text);
            assert!(message.starts_with(&format!("`{text}` ")), "{message}");
        }
        assert_eq!(error("soon"), "`soon` is not a time: write `20s`, `8.33 ms` or `50us`");
        assert_eq!(error("9999999 h"), "`9999999 h` is too large for a time");
    }

    #[test]
    fn prints_three_digits_in_the_unit_that_fits() {
        for (nanos, text) in [
            (0, "0 ns"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1 us"),
            (50_000, "50 us"),
            (123_456, "123 us"),
            (999_499, "999 us"),
            (999_500, "1 ms"),
            (8_333_333, "8.33 ms"),
            (9_996_000, "10 ms"),
            (12_340_000, "12.3 ms"),
            (1_050_000_000, "1.05 s"),
            (20_000_000_000, "20 s"),
            (1_234_400_000_000, "1234 s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
        assert_eq!(format!("{:>9}", Nanos(50_000)), "    50 us", "a width pads it");
    }

    #[test]
    fn seconds_as_floats_saturate() {
        assert_eq!(Nanos::from_secs_f64(0.008_333_333_4), Nanos(8_333_333));
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::NAN), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::INFINITY), Nanos::MAX);
        assert!((Nanos(1_500_000_000).as_secs_f64() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn is_a_plain_integer_in_json() {
        assert_eq!(serde_json::to_string(&Nanos(8_333_333)).unwrap(), "8333333");
        assert_eq!(serde_json::from_str::<Nanos>("7").unwrap(), Nanos(7));
    }

    proptest! {
        #[test]
        fn reading_back_what_was_printed_is_near(nanos in 0..u64::MAX / 2, shift in 0..63) {
            let nanos = nanos >> shift;
            let back = parse(&Nanos(nanos).to_string());
            // Half of the third digit is 1 in 200 at most.
            prop_assert!(back.abs_diff(nanos) <= nanos / 199, "{nanos} came back as {back}");
        }

        #[test]
        fn whole_units_come_back_exactly(
            count in 0..1000u64,
            unit in prop::sample::select(vec!["ns", "us", "ms", "s"]),
        ) {
            let nanos: Nanos = format!("{count}{unit}").parse().unwrap();
            prop_assert_eq!(nanos.to_string().parse::<Nanos>().unwrap(), nanos);
        }

        #[test]
        fn no_text_panics(text in "\\PC*", number in "[0-9.]{0,40}", unit in "[ a-zA-Z/]{0,4}") {
            let _ = text.parse::<Nanos>();
            let _ = format!("{number}{unit}").parse::<Nanos>();
        }
    }
}

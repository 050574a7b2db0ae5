use crate::bytes::{Bytes, PRINTED, UNITS};
use crate::nanos::Nanos;
use crate::quantity::{Notation, quantity};

quantity! {
    /// A speed of transfer, in bytes per second.
    ///
    /// Files give it as a size with its unit, and `/s`. It is printed in IEC units.
    Rate,
    written: Notation {
        noun: "a rate",
        examples: "`210 MB/s` or `190 MiB/s`",
        units: UNITS,
        suffix: "/s",
        printed: PRINTED,
    }
}

const NANOS_A_SECOND: u64 = 1_000_000_000;

impl Rate {
    /// Returns the time for `bytes` at this rate, rounded up so that no data moves in no time.
    ///
    /// It is [`Nanos::MAX`] if it never ends (a rate of zero) or does not fit.
    pub const fn time_for(self, bytes: Bytes) -> Nanos {
        if self.0 == 0 {
            return Nanos::MAX;
        }
        // Up to 18 GB the product fits and the division is one instruction. This function runs for
        // every request.
        if let Some(product) = bytes.0.checked_mul(NANOS_A_SECOND) {
            return Nanos(product.div_ceil(self.0));
        }
        let wide = (bytes.0 as u128 * NANOS_A_SECOND as u128).div_ceil(self.0 as u128);
        if wide > u64::MAX as u128 { Nanos::MAX } else { Nanos(wide as u64) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Rate>().unwrap_err().to_string()
    }

    #[test]
    fn parses_sizes_a_second() {
        assert_eq!("210 MB/s".parse::<Rate>().unwrap(), Rate(210_000_000));
        assert_eq!("190MiB/s".parse::<Rate>().unwrap(), Rate(190 << 20));
        assert_eq!("512 B/s".parse::<Rate>().unwrap(), Rate(512));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        assert_eq!(
            error("210 MB"),
            "`210 MB` has no `/s` at its end: write `210 MB/s` or `190 MiB/s`"
        );
        assert_eq!(error("fast/s"), "`fast/s` is not a rate: write `210 MB/s` or `190 MiB/s`");
        assert_eq!(
            error("6 Gb/s"),
            "`6 Gb/s` has an unknown unit `Gb`: use one of B, k, K, KiB, kB, m, M, MiB, MB, g, G, \
             GiB, GB, t, T, TiB, TB"
        );
    }

    #[test]
    fn prints_iec() {
        assert_eq!(Rate(210_000_000).to_string(), "200 MiB/s");
        assert_eq!(Rate(550_000_000).to_string(), "525 MiB/s");
    }

    #[test]
    fn time_is_rounded_up_and_never_overflows() {
        assert_eq!(Rate(1_000_000_000).time_for(Bytes(4096)), Nanos(4096));
        assert_eq!(Rate(3).time_for(Bytes(1)), Nanos(333_333_334));
        assert_eq!(Rate(200_000_000).time_for(Bytes(4_000_000_000_000)), Nanos::from_secs(20_000));
        assert_eq!(Rate(0).time_for(Bytes(1)), Nanos::MAX);
        assert_eq!(Rate(1).time_for(Bytes::MAX), Nanos::MAX);
    }

    proptest! {
        #[test]
        fn reading_back_what_was_printed_is_near(rate in 0..u64::MAX / 2, shift in 0..63) {
            let rate = rate >> shift;
            let back = Rate(rate).to_string().parse::<Rate>().unwrap().0;
            prop_assert!(back.abs_diff(rate) <= rate / 199, "{rate} came back as {back}");
        }

        #[test]
        fn narrow_and_wide_arithmetic_agree(bytes: u64, shift in 0..63, rate: u64, by in 0..63u32) {
            let (bytes, rate) = (bytes >> shift, u64::max(rate >> by, 1));
            let exact = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate));
            let expected = u64::try_from(exact).unwrap_or(u64::MAX);
            prop_assert_eq!(Rate(rate).time_for(Bytes(bytes)), Nanos(expected));
        }

        #[test]
        fn no_text_panics(text in "\\PC*", number in "[0-9.]{0,30}", unit in "[ a-zA-Z/]{0,5}") {
            let _ = text.parse::<Rate>();
            let _ = format!("{number}{unit}").parse::<Rate>();
        }
    }
}

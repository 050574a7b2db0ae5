//! The numbers of ranges: exact, with or without a unit. A printed number is read back as the same
//! number.

use std::fmt;
use std::str::FromStr;

use disklab_units::{Bytes, Nanos, Rate};

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    kind: NumberKind,
    /// The amount: billionths for a number without a unit, otherwise ns, bytes, or bytes per
    /// second.
    atoms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NumberKind {
    Plain,
    Time,
    Size,
    Rate,
}

/// Number of digits behind the decimal point of a number without a unit.
const PLACES: usize = 9;
const ONE: u64 = 1_000_000_000;
/// Number of significant digits of a computed number.
const DIGITS: u32 = 4;
/// Sizes from this one on are rounded to multiples of it: the size of a sector of btrfs, of a page,
/// and of the logical block of every disk.
const BLOCK: u64 = 4096;

const TIMES: &[(&str, u64)] = &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
const SIZES: &[(&str, u64)] =
    &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
const DECIMAL_SIZES: &[(&str, u64)] =
    &[("TB", 1_000_000_000_000), ("GB", ONE), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];

impl Number {
    /// Returns the number at a fraction `way` (0 to 1) of the way between two numbers of one kind.
    /// The way is in equal distances, or in equal factors with `by_factor`. 0 and 1 give exactly
    /// the ends. With `whole`, a number without a unit is a whole one.
    pub(super) fn between(first: Self, last: Self, way: f64, by_factor: bool, whole: bool) -> Self {
        if way <= 0.0 {
            return first;
        }
        if way >= 1.0 {
            return last;
        }
        let (from, to) = (first.atoms as f64, last.atoms as f64);
        let exact = if by_factor {
            (from.ln() + (to.ln() - from.ln()) * way).exp()
        } else {
            from + (to - from) * way
        };
        first.rounded(exact, whole)
    }

    /// Returns the number after `step` of `of` equal steps from one number to another. It is exact
    /// if it has few digits.
    pub(super) fn step(first: Self, last: Self, step: u32, of: u32, whole: bool) -> Self {
        let (from, to) = (u128::from(first.atoms), u128::from(last.atoms));
        let (step, of) = (u128::from(step), u128::from(of.max(1)));
        let sum = from * (of - step) + to * step;
        let exact = u64::try_from(sum / of).ok().filter(|_| sum.is_multiple_of(of));
        let number = exact.map(|atoms| Self { kind: first.kind, atoms });
        // Few digits are as many as the ends of the range could have.
        let is_short = |number: &Self| {
            let is_fit = !whole || number.kind != NumberKind::Plain;
            number.to_string().len() <= 8 && (is_fit || number.atoms.is_multiple_of(ONE))
        };
        number.filter(is_short).unwrap_or_else(|| first.rounded(sum as f64 / of as f64, whole))
    }

    /// Returns the nearest number of its kind with few digits.
    fn rounded(self, atoms: f64, whole: bool) -> Self {
        let grain = match self.kind {
            NumberKind::Plain if whole => ONE,
            NumberKind::Size if atoms >= BLOCK as f64 => {
                let unit = SIZES.iter().find(|(_, factor)| atoms >= *factor as f64);
                BLOCK.max(unit.map_or(1, |(_, factor)| *factor) / 256)
            }
            _ => {
                let digits = atoms.max(1.0).log10().floor() as u32 + 1;
                10_u64.pow(digits.saturating_sub(DIGITS).min(19))
            }
        };
        let steps = (atoms / grain as f64).round().max(0.0) as u64;
        Self { kind: self.kind, atoms: steps.saturating_mul(grain) }
    }

    pub(super) fn is_zero(self) -> bool {
        self.atoms == 0
    }

    /// Returns whether both numbers are of one kind, for example times.
    pub(super) fn is_like(self, other: Self) -> bool {
        self.kind == other.kind
    }

    /// Gives a zero without a unit the kind of `other`; returns other numbers as they are.
    pub(super) fn zero_like(self, other: Self) -> Self {
        if self.is_zero() && self.kind == NumberKind::Plain {
            Self { kind: other.kind, atoms: 0 }
        } else {
            self
        }
    }

    /// Returns the number for drawing charts: in seconds, bytes, bytes per second, or without a
    /// unit.
    pub fn value(self) -> f64 {
        match self.kind {
            NumberKind::Plain | NumberKind::Time => self.atoms as f64 / ONE as f64,
            NumberKind::Size | NumberKind::Rate => self.atoms as f64,
        }
    }

    /// Returns a factor in billionths, or `None` for a number with a unit.
    pub(super) fn billionths(self) -> Option<u64> {
        (self.kind == NumberKind::Plain).then_some(self.atoms)
    }
}

/// Prints the number without a space, so that it can be part of a name: `8.5ms`, `640MiB`,
/// `210MB/s`, `0.3`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.kind {
            NumberKind::Plain => decimal(self.atoms, ONE),
            NumberKind::Time => in_unit(self.atoms, TIMES),
            NumberKind::Size => size(self.atoms),
            NumberKind::Rate => size(self.atoms) + "/s",
        };
        f.pad(&text)
    }
}

/// Prints a size in units of 1024 or of 1000, whichever takes fewer letters.
fn size(bytes: u64) -> String {
    let (binary, own) = (in_unit(bytes, SIZES), in_unit(bytes, DECIMAL_SIZES));
    if own.len() < binary.len() { own } else { binary }
}

/// Prints an amount in the largest unit in which it is at least 1 and has few digits, or else in as
/// few letters as possible.
fn in_unit(atoms: u64, units: &[(&str, u64)]) -> String {
    let possible = units.iter().filter(|(_, factor)| atoms >= *factor || *factor == 1);
    let finite = possible.filter(|(_, factor)| is_finite(atoms, *factor));
    let texts: Vec<(String, &str)> =
        finite.map(|(unit, factor)| (decimal(atoms, *factor), *unit)).collect();
    let is_short = |(number, _): &&(String, &str)| {
        number.split_once('.').is_none_or(|(_, places)| places.len() <= 3)
    };
    let chosen =
        texts.iter().find(is_short).or_else(|| texts.iter().min_by_key(|(number, _)| number.len()));
    chosen.map(|(number, unit)| format!("{number}{unit}")).unwrap_or_default()
}

/// Returns whether a division ends within [`PLACES`] digits.
fn is_finite(atoms: u64, factor: u64) -> bool {
    (u128::from(atoms % factor) * u128::from(ONE)).is_multiple_of(u128::from(factor))
}

fn decimal(atoms: u64, factor: u64) -> String {
    let fraction = u128::from(atoms % factor) * u128::from(ONE) / u128::from(factor);
    if fraction == 0 {
        return (atoms / factor).to_string();
    }
    let fraction = format!("{fraction:0PLACES$}");
    format!("{}.{}", atoms / factor, fraction.trim_end_matches('0'))
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Some(atoms) = plain(text) {
            return Ok(Self { kind: NumberKind::Plain, atoms });
        }
        let is_plain = text.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        let known = if is_plain { None } else { of_unit(text) };
        known.ok_or_else(|| {
            let what = "no number, with or without the unit of a time, a size or a rate";
            format!("`{}` is {what}, or has too many digits", text.escape_debug())
        })
    }
}

fn of_unit(text: &str) -> Option<Number> {
    let number = |kind, atoms| Number { kind, atoms };
    let time = || text.parse::<Nanos>().ok().map(|time| number(NumberKind::Time, time.0));
    let size = || text.parse::<Bytes>().ok().map(|size| number(NumberKind::Size, size.0));
    let rate = || text.parse::<Rate>().ok().map(|rate| number(NumberKind::Rate, rate.0));
    time().or_else(size).or_else(rate)
}

/// Parses digits with at most [`PLACES`] of them behind a point.
fn plain(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > PLACES {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<PLACES$}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(ONE)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        text.parse().expect(text)
    }

    #[test]
    fn numbers_have_one_spelling() {
        for (text, spelled) in [
            ("8 ms", "8ms"),
            ("0.0085s", "8.5ms"),
            ("1500us", "1.5ms"),
            ("90 s", "90s"),
            ("0.30", "0.3"),
            ("12", "12"),
            ("4k", "4KiB"),
            ("640 MiB", "640MiB"),
            ("1 TB", "1TB"),
            ("210 MB/s", "210MB/s"),
            ("190 MiB/s", "190MiB/s"),
            ("1 ns", "1ns"),
        ] {
            assert_eq!(number(text).to_string(), spelled, "{text}");
            assert_eq!(number(spelled), number(text));
        }
        for bad in ["", "ms", "1 parsec", "-1", "1e3", "0.1234567891", "99999999999999"] {
            assert!(bad.parse::<Number>().is_err(), "{bad}");
        }
    }

    #[test]
    fn steps_are_readable() {
        let steps = |first: &str, last: &str, of: u32| -> Vec<String> {
            let step =
                |step| Number::step(number(first), number(last), step, of, false).to_string();
            (0..=of).map(step).collect()
        };
        assert_eq!(steps("0", "0.9", 3), ["0", "0.3", "0.6", "0.9"]);
        assert_eq!(steps("0", "1", 3), ["0", "0.3333", "0.6667", "1"]);
        assert_eq!(steps("4 ms", "16ms", 4), ["4ms", "7ms", "10ms", "13ms", "16ms"]);
        assert_eq!(steps("256 MiB", "1 GiB", 2), ["256MiB", "640MiB", "1GiB"]);
        let whole = |step| Number::step(number("0"), number("10"), step, 3, true).to_string();
        assert_eq!([1, 2].map(whole), ["3", "7"]);
        let log =
            |way| Number::between(number("4ms"), number("16ms"), way, true, false).to_string();
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0].map(log),
            ["4ms", "5.657ms", "8ms", "11.31ms", "16ms"]
        );
        assert_eq!(
            Number::between(number("1"), number("2"), 0.5, true, false).to_string(),
            "1.414"
        );
        assert_eq!(
            Number::between(number("4k"), number("1M"), 0.5, true, false).to_string(),
            "64KiB"
        );
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(
            atoms in any::<u64>(),
            kind in 0_usize..4,
            digits in 0_u32..19,
        ) {
            use NumberKind::{Plain, Rate, Size, Time};
            let kind = [Plain, Time, Size, Rate][kind];
            let number = Number { kind, atoms: atoms / 10_u64.pow(digits) };
            let text = number.to_string();
            prop_assert!(!text.contains(' ') && !text.is_empty());
            prop_assert_eq!(text.parse::<Number>(), Ok(number), "{}", text);
        }

        #[test]
        fn what_a_range_has_is_in_it(
            one in 1_u64..u64::MAX / 2,
            other in 1_u64..u64::MAX / 2,
            way in 0.0..1.0_f64,
        ) {
            let number = |atoms| Number { kind: NumberKind::Time, atoms };
            let (first, last) = (number(one.min(other)), number(one.max(other)));
            for by_factor in [false, true] {
                let found = Number::between(first, last, way, by_factor, false);
                let slack = last.atoms / 1000 + 1;
                prop_assert!(found.atoms + slack >= first.atoms);
                prop_assert!(found.atoms <= last.atoms + slack);
            }
        }
    }
}

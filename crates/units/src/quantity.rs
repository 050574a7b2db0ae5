//! A number with a unit: parsing and printing that all quantities share.

use std::fmt;

/// Why a text is not a quantity. The message quotes the text and says what would have been right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {reason}")]
pub struct ParseError {
    text: String,
    reason: String,
}

/// What may be written for one quantity.
pub(crate) struct Kind {
    /// With its article: "a time".
    pub noun: &'static str,
    /// Two or three right spellings, for error messages.
    pub examples: &'static str,
    /// Spelling and factor. An empty spelling allows a number without a unit.
    pub units: &'static [(&'static str, u64)],
}

/// A decimal number: `whole`, and `fraction` divided by ten to the `places`.
struct Decimal {
    whole: u128,
    fraction: u128,
    places: u32,
}

/// Digits behind the point that are looked at. Enough for one nanosecond in an hour, and few enough
/// that the arithmetic below cannot overflow.
const MOST_PLACES: usize = 18;

impl Kind {
    pub(crate) fn parse(&self, text: &str) -> Result<u64, ParseError> {
        self.parse_part(text, text)
    }

    /// The same with `/s` after the unit; the unit must then be there.
    pub(crate) fn parse_per_second(&self, text: &str) -> Result<u64, ParseError> {
        match text.trim_end().strip_suffix("/s") {
            Some(amount) => self.parse_part(text, amount),
            None => Err(wrong(text, format!("has no `/s` at its end: write {}", self.examples))),
        }
    }

    /// Parses `part`; errors quote the whole `text`.
    fn parse_part(&self, text: &str, part: &str) -> Result<u64, ParseError> {
        let part = part.trim();
        let split = part.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(part.len());
        let (number, unit) = part.split_at(split);
        let unit = unit.trim_start();
        let Some(number) = Decimal::parse(number) else {
            return Err(wrong(text, format!("is not {}: write {}", self.noun, self.examples)));
        };
        if number.is_zero() && unit.is_empty() {
            return Ok(0);
        }
        let Some(&(_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let reason = if unit.is_empty() {
                format!("has no unit: write {}", self.examples)
            } else {
                format!(
                    "has an unknown unit `{}`: use one of {}",
                    unit.escape_debug(),
                    self.unit_names()
                )
            };
            return Err(wrong(text, reason));
        };
        number.times(factor).ok_or_else(|| wrong(text, format!("is too large for {}", self.noun)))
    }

    fn unit_names(&self) -> String {
        let names: Vec<_> =
            self.units.iter().map(|&(name, _)| name).filter(|name| !name.is_empty()).collect();
        names.join(", ")
    }
}

fn wrong(text: &str, reason: String) -> ParseError {
    ParseError { text: text.escape_debug().to_string(), reason }
}

impl Decimal {
    /// Digits with at most one point among them and a digit on each side of it.
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let fraction = &fraction[..fraction.len().min(MOST_PLACES)];
        Some(Self {
            // Digits fail to parse only where there are too many of them, and then no unit makes
            // them fit.
            whole: whole.parse().unwrap_or(u128::MAX),
            fraction: fraction.parse().ok()?,
            places: fraction.len() as u32,
        })
    }

    fn is_zero(&self) -> bool {
        self.whole == 0 && self.fraction == 0
    }

    /// To the nearest whole number; `None` where that does not fit.
    fn times(&self, factor: u64) -> Option<u64> {
        let factor = u128::from(factor);
        let scale = 10u128.pow(self.places);
        let whole = self.whole.checked_mul(factor)?;
        let fraction = (self.fraction * factor + scale / 2) / scale;
        u64::try_from(whole.checked_add(fraction)?).ok()
    }
}

/// Prints `value` in the largest of `units` (smallest first) that leaves at least one whole of it.
///
/// Three significant digits without trailing zeroes; whole numbers of more than three digits are
/// printed whole.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let mut chosen = units.iter().rposition(|&(_, factor)| value >= factor).unwrap_or(0);
    // 999.96 us is printed as 1 ms: rounding reaches the next unit.
    if let Some(&(_, next)) = units.get(chosen + 1) {
        let factor = units[chosen].1;
        let rounded = (value + factor / 2) / factor * factor;
        chosen += usize::from(rounded >= next);
    }
    let (name, factor) = units[chosen];
    f.pad(&format!("{} {name}", digits(value, factor)))
}

/// `value / factor` to three significant digits, or to whole numbers where it has more than three.
fn digits(value: u64, factor: u64) -> String {
    let (value, factor) = (u128::from(value), u128::from(factor));
    // Decided on the unrounded value: 9.996 is printed as "10", not "10.0", since trailing zeroes
    // go anyway.
    let places = match value / factor {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let scale = 10u128.pow(places);
    let scaled = (value * scale + factor / 2) / factor;
    let (whole, fraction) = (scaled / scale, scaled % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let fraction = format!("{fraction:0width$}", width = places as usize);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

/// The operators that every counted quantity has. Overflow is a bug in the caller, as with plain
/// integers; where it can happen with good input, use the `checked_` and `saturating_` forms.
macro_rules! arithmetic {
    ($name:ident) => {
        impl $name {
            pub const ZERO: Self = Self(0);
            pub const MAX: Self = Self(u64::MAX);

            /// `None` where the sum does not fit.
            #[must_use]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }

            /// `None` where `other` is the larger.
            #[must_use]
            pub const fn checked_sub(self, other: Self) -> Option<Self> {
                match self.0.checked_sub(other.0) {
                    Some(difference) => Some(Self(difference)),
                    None => None,
                }
            }

            /// `None` where the product does not fit.
            #[must_use]
            pub const fn checked_mul(self, factor: u64) -> Option<Self> {
                match self.0.checked_mul(factor) {
                    Some(product) => Some(Self(product)),
                    None => None,
                }
            }

            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// Zero where `other` is the larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            #[must_use]
            pub const fn saturating_mul(self, factor: u64) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }

        impl std::ops::Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl std::ops::Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl std::ops::Mul<u64> for $name {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl std::ops::Div<u64> for $name {
            type Output = Self;
            fn div(self, divisor: u64) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl std::ops::SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
                parts.fold(Self::ZERO, |sum, part| sum + part)
            }
        }
    };
}
pub(crate) use arithmetic;

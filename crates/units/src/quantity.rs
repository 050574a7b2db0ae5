//! Parses and prints numbers with a unit, for all quantities.

/// A reason why a text is not a quantity. The message quotes the text and has correct examples.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {reason}")]
pub struct ParseError {
    text: String,
    reason: String,
}

/// The notation of a quantity.
pub(crate) struct Notation {
    /// The quantity with its article: "a time".
    pub noun: &'static str,
    /// Two or three correct spellings, for error messages.
    pub examples: &'static str,
    /// Spellings and factors. An empty spelling allows a number without a unit.
    pub units: &'static [(&'static str, u64)],
    /// Text that must follow the unit.
    pub suffix: &'static str,
    /// The units that are printed, smallest first.
    pub printed: &'static [(&'static str, u64)],
}

/// A decimal number: `whole`, and `fraction` divided by ten to the `places`.
struct Decimal {
    whole: u128,
    fraction: u128,
    places: u32,
}

/// Largest number of digits behind the point that count. They are enough for one nanosecond in an
/// hour, and few enough that the arithmetic below cannot overflow.
const MOST_PLACES: usize = 18;

impl Notation {
    pub(crate) fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let wrong = |reason| ParseError { text: text.escape_debug().to_string(), reason };
        let amount = text.trim_end().strip_suffix(self.suffix).ok_or_else(|| {
            wrong(format!("has no `{}` at its end: write {}", self.suffix, self.examples))
        })?;
        let amount = amount.trim();
        let split = amount.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(amount.len());
        let (number, unit) = amount.split_at(split);
        let unit = unit.trim_start();
        let number = Decimal::parse(number)
            .ok_or_else(|| wrong(format!("is not {}: write {}", self.noun, self.examples)))?;
        if number.is_zero() && unit.is_empty() {
            return Ok(0);
        }
        let factor = self.units.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor);
        let factor = factor.ok_or_else(|| {
            if unit.is_empty() {
                return wrong(format!("has no unit: write {}", self.examples));
            }
            let names = self.units.iter().map(|&(name, _)| name).filter(|name| !name.is_empty());
            let names = names.collect::<Vec<_>>().join(", ");
            let unit = unit.escape_debug();
            wrong(format!("has an unknown unit `{unit}`: use one of {names}"))
        })?;
        number.times(factor).ok_or_else(|| wrong(format!("is too large for {}", self.noun)))
    }

    /// Prints `value` in the largest unit in which it is at least 1.
    ///
    /// Three significant digits without trailing zeroes; whole numbers of more than three digits
    /// are printed whole.
    pub(crate) fn print(&self, value: u64) -> String {
        let units = self.printed;
        let mut chosen = units.iter().rposition(|&(_, factor)| value >= factor).unwrap_or(0);
        // 999.96 us is printed as 1 ms: rounding reaches the next unit.
        if let Some(&(_, next)) = units.get(chosen + 1) {
            let factor = units[chosen].1;
            let rounded = (value + factor / 2) / factor * factor;
            chosen += usize::from(rounded >= next);
        }
        let (name, factor) = units[chosen];
        format!("{} {name}{}", digits(value, factor), self.suffix)
    }
}

impl Decimal {
    /// Parses digits with at most one point among them and a digit on each side of it.
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let fraction = &fraction[..fraction.len().min(MOST_PLACES)];
        Some(Self {
            // Digits fail to parse only if there are too many of them, and then no unit makes them
            // fit.
            whole: whole.parse().unwrap_or(u128::MAX),
            fraction: fraction.parse().ok()?,
            places: fraction.len() as u32,
        })
    }

    fn is_zero(&self) -> bool {
        self.whole == 0 && self.fraction == 0
    }

    /// Returns the product, rounded to the nearest whole number, or `None` if it does not fit.
    fn times(&self, factor: u64) -> Option<u64> {
        let factor = u128::from(factor);
        let scale = 10u128.pow(self.places);
        let whole = self.whole.checked_mul(factor)?;
        let fraction = (self.fraction * factor + scale / 2) / scale;
        u64::try_from(whole.checked_add(fraction)?).ok()
    }
}

/// Prints `value / factor` with three significant digits, or all whole digits if there are more.
fn digits(value: u64, factor: u64) -> String {
    let (value, factor) = (u128::from(value), u128::from(factor));
    // The unrounded value decides: 9.996 is printed as "10", not "10.0", since trailing zeroes are
    // removed anyway.
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

/// Defines a counted quantity, with the operations of all quantities; with a [`Notation`], also its
/// parsing and printing. The operators overflow like those of plain integers, which is a bug in the
/// caller. If good input can overflow, use the `checked_` and `saturating_` forms.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident $(, written: $notation:expr)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[derive(derive_more::Add, derive_more::Sub, derive_more::Mul, derive_more::Div)]
        #[derive(derive_more::AddAssign, derive_more::SubAssign, derive_more::Sum)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            pub const ZERO: Self = Self(0);
            pub const MAX: Self = Self(u64::MAX);

            /// Returns the sum, or `None` if it does not fit.
            #[must_use]
            pub fn checked_add(self, other: Self) -> Option<Self> {
                self.0.checked_add(other.0).map(Self)
            }

            /// Returns the difference, or `None` if `other` is larger.
            #[must_use]
            pub fn checked_sub(self, other: Self) -> Option<Self> {
                self.0.checked_sub(other.0).map(Self)
            }

            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// Returns the difference, or zero if `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            #[must_use]
            pub const fn saturating_mul(self, factor: u64) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }

        $(
            impl std::str::FromStr for $name {
                type Err = crate::quantity::ParseError;

                fn from_str(text: &str) -> Result<Self, Self::Err> {
                    $notation.parse(text).map(Self)
                }
            }

            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.pad(&$notation.print(self.0))
                }
            }
        )?
    };
}
pub(crate) use quantity;

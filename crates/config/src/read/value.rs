//! Converts TOML values to types.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use disklab_units::{Bytes, Nanos, Rate};
use toml::de::DeValue;

/// A type that can be the value of a key.
pub trait FromToml: Sized {
    /// Description of a valid value, with its article, for "expected ...".
    const EXPECTED: &'static str;

    /// Converts a value. The error describes the user's mistake, without key and place.
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String>;
}

/// Returns a message such as "expected a whole number, found a string".
pub fn unexpected<T: FromToml>(value: &DeValue<'_>) -> String {
    let found = match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    format!("expected {}, found {found}", T::EXPECTED)
}

/// Checks that a value is in a range.
pub fn in_range<T: PartialOrd + Display>(
    value: &T,
    range: &RangeInclusive<T>,
) -> Result<(), String> {
    if range.contains(value) {
        return Ok(());
    }
    Err(format!("{value} is out of range ({} to {})", range.start(), range.end()))
}

/// Parses a value that is written as a string.
pub fn from_string<T: FromToml + FromStr>(value: &DeValue<'_>) -> Result<T, String>
where
    T::Err: Display,
{
    match value {
        DeValue::String(text) => text.parse().map_err(|error: T::Err| error.to_string()),
        _ => Err(unexpected::<T>(value)),
    }
}

/// Implements [`FromToml`] for types that are written as strings and parsed; the text describes the
/// expected value.
macro_rules! parsed {
    ($($type:ty: $expected:expr,)+) => {
        $(
            impl $crate::read::FromToml for $type {
                const EXPECTED: &'static str = $expected;

                fn from_toml(value: &toml::de::DeValue<'_>) -> Result<Self, String> {
                    $crate::read::from_string(value)
                }
            }
        )+
    };
}

/// Implements the same, and the conversions that serde needs, for a type whose error is a text.
macro_rules! text_form {
    ($type:ty: $expected:expr) => {
        $crate::read::parsed! { $type: $expected, }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    };
}
pub(crate) use {parsed, text_form};

parsed! {
    Nanos: "a time in quotes, such as \"8.5 ms\"",
    Bytes: "a size in quotes, such as \"4 KiB\"",
    Rate: "a rate in quotes, such as \"210 MB/s\"",
}

impl FromToml for String {
    const EXPECTED: &'static str = "a string";

    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| unexpected::<Self>(value))
    }
}

impl FromToml for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| unexpected::<Self>(value))
    }
}

impl FromToml for u32 {
    const EXPECTED: &'static str = "a whole number";

    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let number = u64::from_toml(value)?;
        Self::try_from(number).map_err(|_| format!("{number} is too large: at most {}", Self::MAX))
    }
}

impl FromToml for u64 {
    const EXPECTED: &'static str = "a whole number";

    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let DeValue::Integer(integer) = value else {
            return Err(unexpected::<Self>(value));
        };
        u64::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| format!("expected a whole number from 0 to {}, found {integer}", u64::MAX))
    }
}

impl FromToml for f64 {
    const EXPECTED: &'static str = "a number";

    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let number = match value {
            DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
            DeValue::Integer(integer) => integer.as_str().parse::<f64>().ok(),
            _ => None,
        };
        number.filter(|number| number.is_finite()).ok_or_else(|| unexpected::<Self>(value))
    }
}

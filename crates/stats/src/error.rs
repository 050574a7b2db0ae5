//! Errors, and the checks that all functions make of their arguments.

/// A reason why a statistic cannot be computed. `what` names the argument in the words of the
/// function's documentation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("{what}: {given} given, at least {needed} are needed; run more seeds")]
    TooFew { what: &'static str, given: usize, needed: usize },
    #[error("{what}: {given} given, at most {most} can be handled")]
    TooMany { what: &'static str, given: usize, most: usize },
    #[error("{what}: number {index} is {value}, which is not finite")]
    NotFinite { what: &'static str, index: usize, value: f64 },
    #[error("{what}: number {index} is {value}; ratios and logarithms need values above zero")]
    NotPositive { what: &'static str, index: usize, value: f64 },
    #[error(
        "paired values must be as many on both sides, but are {left} and {right}; \
         pair by seed and drop the rest"
    )]
    NotPaired { left: usize, right: usize },
    #[error("{what} is {value}; it must be {must}")]
    OutOfRange { what: &'static str, value: f64, must: &'static str },
}

pub(crate) fn at_least(what: &'static str, given: usize, needed: usize) -> Result<(), Error> {
    if given < needed { Err(Error::TooFew { what, given, needed }) } else { Ok(()) }
}

pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NotFinite { what, index, value: values[index] }),
        None => Ok(()),
    }
}

pub(crate) fn positive(what: &'static str, values: &[f64]) -> Result<(), Error> {
    finite(what, values)?;
    match values.iter().position(|&value| value <= 0.0) {
        Some(index) => Err(Error::NotPositive { what, index, value: values[index] }),
        None => Ok(()),
    }
}

pub(crate) fn paired(left: &[f64], right: &[f64]) -> Result<(), Error> {
    let (left, right) = (left.len(), right.len());
    if left == right { Ok(()) } else { Err(Error::NotPaired { left, right }) }
}

/// Checks that a chance lies strictly between 0 and 1.
pub(crate) fn chance(what: &'static str, value: f64) -> Result<(), Error> {
    let must = "between 0 and 1, both excluded";
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(Error::OutOfRange { what, value, must }) }
}

/// Checks that a number is finite and above zero.
pub(crate) fn above_zero(what: &'static str, value: f64) -> Result<(), Error> {
    let is_right = value > 0.0 && value.is_finite();
    let must = "finite and above zero";
    if is_right { Ok(()) } else { Err(Error::OutOfRange { what, value, must }) }
}

//! The outcome of a search for a number.

/// A number that a matrix may determine.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedNumber {
    pub key: &'static str,
    /// The keys that kept their ratio to it.
    pub with: &'static [&'static str],
    /// The bounds of the number, or why the results do not determine it: then it is what it was.
    pub found: Result<FitBounds, String>,
    /// The results that decide it.
    pub how: &'static str,
}

/// The values of a number beyond which the device fits clearly worse, with all other numbers as
/// they are: in ns, or a count. An end of the range that is searched is a bound too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitBounds {
    pub low: f64,
    pub high: f64,
    /// How far the number is from the farther bound, as a part of it.
    pub error: f64,
}

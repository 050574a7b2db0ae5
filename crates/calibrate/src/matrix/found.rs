//! The outcome of a search for a number.

/// A number that a matrix may determine.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedNumber {
    pub key: &'static str,
    /// The keys whose ratio to this number was kept.
    pub with: &'static [&'static str],
    /// The bounds of the number, or the reason why the results do not determine it; then it keeps
    /// its previous value.
    pub found: Result<FitBounds, String>,
    /// The results that determine the number.
    pub how: &'static str,
}

/// The values of a number beyond which the device fits clearly worse, with all other numbers
/// unchanged: in ns, or a count. The ends of the range that is searched are bounds too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitBounds {
    pub low: f64,
    pub high: f64,
    /// Relative distance of the number from the farther bound.
    pub error: f64,
}

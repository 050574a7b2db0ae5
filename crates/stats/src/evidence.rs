//! What tests of location have in common.

use crate::{Error, Interval, Tails};

/// What data say about one number: a difference, or a log-ratio.
///
/// Interval and p-values agree: [`Tails::two_sided`] is at most `alpha` where the interval leaves
/// the number out.
pub trait Evidence {
    /// In the unit of the data.
    fn estimate(&self) -> f64;

    /// Misses the truth with a chance of at most `alpha`: 0.05 for a 95 % interval. Unbounded where
    /// there is too little data for that.
    fn interval(&self, alpha: f64) -> Result<Interval, Error>;

    /// Tests whether the truth is `null`.
    fn tails(&self, null: f64) -> Tails;
}

//! Statistics for benchmarks: what is known after so many trials, and how often that is wrong.
//!
//! Pure functions on slices. The same values give the same answer on any machine; resampling takes
//! a seed. Nothing here panics on data: [`Error`] says what is wrong with them. `alpha` is always
//! the chance of being wrong that is allowed, 0.05 if in doubt.
//!
//! | question | answer |
//! | --- | --- |
//! | Is the treatment better? | [`Rule`]: effect, interval, [`Verdict`], by a method that is honest with so many seeds |
//! | ... over all cells of a suite? | [`Rule::family`], by way of [`Correction`] |
//! | ... and may I look while seeds are added? | [`Looks`] |
//! | Did anything get worse by more than is allowed? | [`Gate`] |
//! | By how much? | [`log_ratios`], [`geometric_mean`]; [`one_sample_shift`], [`two_sample_shift`]; [`one_sample_t`], [`paired_t`], [`welch`] |
//! | Does one tend to be larger? | [`mann_whitney`], [`signed_rank`]; [`censored_rank_test`] where runs were given up |
//! | Is the difference too small to matter? | [`equivalence`()] |
//! | How many seeds? What can be found with these? | [`trials_needed`], [`power`()], [`detectable_effect`] |
//! | How many seeds would decide what is undecided? | [`Rule::trials_to_decide`] |
//! | How certain is a p99 of all trials together? | [`MergedHistograms`] in [`Bootstrap`] |
//! | How long does it take, where some took too long? | [`median_time`] |
//! | When did the level change? From where on is it steady? | [`change_points`], [`first_steady`] |
//!
//! How it is known to be right: numbers from SciPy and others in tests/vectors, all deals counted
//! one by one in tests/enumeration.rs, and tests/simulation, which prints how often intervals and
//! verdicts were wrong: `cargo test -p disklab-stats --test simulation -- --nocapture`.

#![cfg_attr(test, expect(clippy::float_cmp, reason = "what is exact is compared exactly"))]

mod bootstrap;
mod censored;
mod change_point;
pub mod comparison;
mod distribution;
mod equivalence;
mod error;
mod evidence;
mod gate;
mod histogram;
mod hodges_lehmann;
mod interval;
mod log_ratio;
mod mann_whitney;
mod multiplicity;
mod pareto;
mod permutation;
pub mod power;
mod rank_null;
mod seeds;
pub mod sequential;
mod signed_rank;
mod steady_state;
mod t_test;
mod tails;
mod verdict;

pub use bootstrap::{Bootstrap, expanded_alpha};
pub use censored::{Time, censored_rank_test, median_time};
pub use change_point::{change_points, penalty};
pub use comparison::{Comparison, Finding, Method};
pub use equivalence::{Equivalence, equivalence};
pub use error::Error;
pub use evidence::Evidence;
pub use gate::{Crossing, Gate, Passage};
pub use histogram::{MergedHistograms, MergedPercentile};
pub use hodges_lehmann::{Shift, one_sample_shift, two_sample_shift};
pub use interval::{Estimate, Interval};
pub use log_ratio::{geometric_mean, log_ratios, logarithms, percent};
pub use mann_whitney::{RankTest, mann_whitney, mann_whitney_asymptotic, mann_whitney_exact};
pub use multiplicity::Correction;
pub use pareto::front;
pub use power::{Design, detectable_effect, power, trials_needed};
pub use seeds::CHANCE;
pub use sequential::Looks;
pub use signed_rank::{SignedRankTest, signed_rank, signed_rank_asymptotic, signed_rank_exact};
pub use steady_state::{Criterion, Limit, first_steady};
pub use t_test::{StudentT, one_sample_t, paired_t, welch};
pub use tails::Tails;
pub use verdict::{Better, Rule, Verdict};

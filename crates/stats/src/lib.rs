//! Statistics for benchmarks: the conclusions from a number of trials, and how often they are
//! wrong.
//!
//! The functions are pure, on slices. The same values give the same answer on any machine. They
//! never panic on data: [`Error`] says what is wrong with the data. `alpha` is always the allowed
//! chance of a wrong conclusion, 0.05 if in doubt.
//!
//! | question | answer |
//! | --- | --- |
//! | Is the treatment better? | [`Rule`]: effect, interval, [`Verdict`], by a suitable method |
//! | ... over all cells of a suite? | [`Rule::family`], by way of [`Correction`] |
//! | ... and may I look while seeds are added? | [`InterimAnalyses`], [`share_of_stage`] |
//! | Did anything get worse by more than is allowed? | [`Gate`] |
//! | By how much? | [`log_ratios`]; [`one_sample_shift`], [`two_sample_shift`] |
//! | ... if data are normal? | [`one_sample_t`], [`welch`] |
//! | Is the difference too small to matter? | [`LocationTest::p_equivalent`] |
//! | How many seeds would decide an undecided cell? | [`Rule::trials_to_decide`] |
//! | Does a cell take one of two values, by seed? | [`two_modes`] |
//! | When did the level change? Is it steady? | [`change_points`], [`Criterion`] |
//!
//! Three kinds of tests check the results. tests/vectors has numbers from SciPy and others, and
//! tests/enumeration.rs counts all deals one by one. tests/simulation prints how often intervals
//! and verdicts were wrong: `cargo test -p disklab-stats --test simulation -- --nocapture`.

#![cfg_attr(test, expect(clippy::float_cmp, reason = "what is exact is compared exactly"))]

mod change_point;
pub mod comparison;
mod distribution;
mod error;
mod gate;
mod hodges_lehmann;
mod interim;
mod interval;
mod location;
mod log_ratio;
mod modes;
mod multiplicity;
mod pareto;
mod planning;
mod rank_null;
mod steady_state;
mod student_t;
mod verdict;

pub use change_point::{change_points, penalty};
pub use comparison::{Comparison, Finding, Method};
pub use error::Error;
pub use gate::{Gate, GateTest, GateVerdict};
pub use hodges_lehmann::{Shift, one_sample_shift, two_sample_shift};
pub use interim::{Analysis, InterimAnalyses, share_of_stage};
pub use interval::{Estimate, Interval};
pub use location::{LocationTest, Tails};
pub use log_ratio::{log_ratios, percent};
pub use modes::{TwoModes, two_modes};
pub use multiplicity::Correction;
pub use pareto::front;
pub use planning::{PLANNED_POWER, TrialsNeeded};
pub use steady_state::Criterion;
pub use student_t::{StudentT, one_sample_t, welch};
pub use verdict::{Better, Rule, Verdict};

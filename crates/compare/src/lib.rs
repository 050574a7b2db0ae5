//! The comparison of the trials of one or two records.
//!
//! - [`index`]: which cell each trial of a record belongs to, and what its suite says of them;
//! - [`metric`]: what of a trial is compared;
//! - [`matching`]: one cell beside another, its trials paired by seed where seeds are shared;
//! - [`decision`]: the rule by which verdicts are given;
//! - [`comparison`]: effects, intervals and verdicts of all matched trials together;
//! - [`choice`]: comparisons in which what differs had nothing to choose;
//! - [`noise`]: how far two measurements of the same are apart; [`machine`]: what a record says of
//!   the machine that it was made on;
//! - [`sensitivity`]: verdicts at the ends of estimated parameters;
//! - [`drives`]: verdicts over several drives;
//! - [`sequential`]: interim analyses, of runs that add seeds and of records that are extended;
//! - [`answer`]: values, changes and cells in words; [`conclusion`]: verdicts in words;
//! - [`separation`]: what of the recorded samples separates two choices;
//! - [`recommendation`]: which value of the compared axis to take, and what another would cost;
//! - [`winner`]: which of several choices is best along a range.
//!
//! Nothing here reads a file or prints: records come in as they were opened.

pub mod answer;
pub mod choice;
pub mod comparison;
pub mod conclusion;
pub mod decision;
pub mod drives;
pub mod error;
pub mod index;
pub mod machine;
pub mod matching;
pub mod metric;
pub mod noise;
pub mod recommendation;
pub mod sensitivity;
pub mod separation;
pub mod sequential;
mod served;
pub mod winner;

pub use answer::RelativeChange;
pub use comparison::Comparison;
pub use decision::{DecisionRule, ErrorControl};
pub use error::Error;
pub use index::{
    CellIndex, MetricUse, RECORD, default_axis, default_metrics, index_records, interim_plan,
};
pub use matching::{MatchedTrials, Trust, check_measured, match_across, match_trials};
pub use metric::Metric;
pub use noise::Noise;
pub use recommendation::{Recommendation, RecommendationRule, Weight, recommend};
pub use sensitivity::compare;
pub use sequential::SequentialDesign;

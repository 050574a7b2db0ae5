//! The comparison of the trials of one or several records.
//!
//! - [`index`]: the cell of each trial of a record, and the suite's settings for it;
//! - [`metric`]: the numbers that are compared;
//! - [`matching`]: cells side by side, with trials paired by seed if seeds are shared;
//! - [`decision`]: the rule of the verdicts;
//! - [`comparison`]: effects, intervals and verdicts of all matched trials together;
//! - [`choice`]: comparisons in which the compared policy or scheduler had no choice;
//! - [`noise`]: the difference between two measurements of the same trial; [`machine`]: the machine
//!   of a record;
//! - [`sensitivity`]: verdicts at the ends of estimated parameters;
//! - [`drives`]: verdicts over several drives;
//! - [`sequential`]: interim analyses, of runs that add seeds and of records that are extended;
//! - [`answer`]: values, changes and cells as text; [`conclusion`]: verdicts as text;
//! - [`separation`]: the recorded numbers that separate two choices;
//! - [`recommendation`]: the value of the compared axis to choose, and the cost of another;
//! - [`winner`]: the best of several choices along a range.
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

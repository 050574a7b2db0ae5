//! Which trials of one or two records are held against which, and what comes of it.
//!
//! - [`index`]: which cell each trial of a record belongs to, and what its suite says of them;
//! - [`contest`]: one cell against another, its trials paired by seed where seeds are shared;
//! - [`metric`]: what of a trial is compared;
//! - [`judgement`]: effects, intervals and verdicts of all contests together;
//! - [`noise`]: how far two measurements of the same are apart on a machine;
//! - [`drift`]: whether a machine's level changed over a run;
//! - [`answer`]: the verdicts in words;
//! - [`separation`]: what of the recorded samples separates two choices.
//!
//! Nothing here reads a file or prints: records come in as they were opened.

pub mod answer;
pub mod contest;
pub mod drift;
pub mod error;
pub mod index;
pub mod judgement;
pub mod metric;
pub mod noise;
pub mod separation;
pub mod winner;

pub use contest::{Contest, Trust, across, contests};
pub use error::Error;
pub use index::{CellIndex, MetricUse, RECORD, default_axis, default_metrics, interim_plan};
pub use judgement::{Change, Judgement, Limit, Looked, Terms, judge};
pub use metric::Metric;
pub use noise::Noise;

use disklab_record::Record;

/// What there is to say of the machine that a record was made on, and of how the run went on it:
/// sentences without their full stops. None of modelled disks.
pub fn of_machine(record: &Record, metrics: &[Metric], terms: Terms) -> Vec<String> {
    if record.manifest().on_host.is_none() {
        return Vec::new();
    }
    let drifted = metrics.iter().filter_map(|metric| drift::sentence(record, metric));
    noise::sentences(record, metrics, terms).into_iter().chain(drifted).collect()
}

/// Refuses a metric that no trial has: a name that was mistyped.
pub fn measured(contests: &[Contest], metrics: &[Metric]) -> Result<(), Error> {
    let outcomes = || contests.iter().flat_map(Contest::outcomes);
    for metric in metrics {
        let has_any =
            outcomes().next().is_none() || outcomes().any(|outcome| metric.of(outcome).is_some());
        if !has_any {
            let mut found: Vec<String> =
                outcomes().flat_map(|it| it.measures.keys().cloned()).collect();
            found.sort_unstable();
            found.dedup();
            return Err(Error::NoMetric {
                metric: metric.name().to_owned(),
                known: Metric::known(),
                found,
            });
        }
    }
    Ok(())
}

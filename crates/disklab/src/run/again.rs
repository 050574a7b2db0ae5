//! Trials that are measured a second time in the same run. The difference between two measurements
//! of the same trial is the noise of this machine.

use disklab_compare::index::default_baseline;
use disklab_config::Trial;
use disklab_record::outcome::again;

use crate::question::Question;

/// Returns the second measurements: of every trial of the baseline, or of the first cell if the
/// suite has no baseline.
pub fn second_measurements(question: &Question) -> Vec<Trial> {
    let baseline = default_baseline(&question.suite);
    let is_twice = |trial: &&Trial| match (&baseline, question.trials.first()) {
        (Some((axes, values)), _) => axes
            .iter()
            .zip(values)
            .all(|(axis, value)| trial.value(axis).is_some_and(|own| own == value)),
        (None, first) => first.is_some_and(|first| first.cell == trial.cell),
    };
    let second = |trial: &Trial| Trial { id: again(&trial.id), ..trial.clone() };
    question.trials.iter().filter(is_twice).map(second).collect()
}

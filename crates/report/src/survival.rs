//! The result of a record's power cuts, in a sentence.

use disklab_config::suite::metric::SURVIVED;
use disklab_record::{Outcome, Record, Status};
use disklab_results::measure::Measure;
use disklab_units::prose::{count, in_shell, listed};

/// Returns the sentence without its full stop. Returns None if the power was never cut.
pub fn sentence(record: &Record) -> Option<String> {
    let outcomes: Vec<_> =
        record.outcomes().into_iter().filter_map(|(_, outcome)| outcome).collect();
    let cuts: Vec<(&Outcome, &Measure)> = outcomes
        .iter()
        .filter(|outcome| outcome.status == Status::Ok)
        .filter_map(|outcome| Some((*outcome, outcome.measures.get(SURVIVED)?)))
        .collect();
    if cuts.is_empty() {
        return None;
    }
    // Older records count the survived cuts only.
    let of = |measure: &Measure| measure.of.unwrap_or(measure.value);
    let all: f64 = cuts.iter().map(|(_, measure)| of(measure)).sum();
    let lost: f64 = cuts.iter().map(|(_, measure)| of(measure) - measure.value).sum();
    let losers: Vec<String> = cuts
        .iter()
        .filter(|(_, measure)| measure.value < of(measure))
        .map(|(outcome, _)| outcome.trial.clone())
        .collect();
    let (cuts, trials) = (count(all as usize, "power cut"), count(cuts.len(), "trial"));
    let failed = outcomes.iter().filter(|outcome| outcome.status == Status::Failed).count();
    let unknown = match failed {
        0 => String::new(),
        _ => {
            format!("; {} failed, and the outcome of their cuts is unknown", count(failed, "trial"))
        }
    };
    if losers.is_empty() {
        return Some(format!(
            "After each of {cuts} in {trials}, all fsynced data was found{unknown}"
        ));
    }
    let (named, more) = losers.split_at(losers.len().min(NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    Some(format!(
        "After {lost} of {cuts} in {trials}, fsynced data was missing: in {}{more} (`disklab show \
         {} TRIAL` lists it){unknown}",
        listed(named),
        in_shell(&record_name(record))
    ))
}

/// Largest number of trials that are named.
const NAMED: usize = 3;

fn record_name(record: &Record) -> String {
    disklab_record::record::name_of(record.folder())
}

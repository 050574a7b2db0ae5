//! What came of a record's power cuts, in a sentence.

use disklab_spec::suite::metric::SURVIVED;
use disklab_store::{Record, Status};
use disklab_units::prose::count;

/// Without its full stop. None: nobody cut the power.
pub fn sentence(record: &Record) -> Option<String> {
    let outcomes: Vec<_> = record.outcomes().into_iter().filter_map(|(_, outcome)| outcome).collect();
    let survived: Vec<usize> = outcomes
        .iter()
        .filter(|outcome| outcome.status == Status::Ok)
        .filter_map(|outcome| Some(outcome.measures.get(SURVIVED)?.value as usize))
        .collect();
    if survived.is_empty() {
        return None;
    }
    let (cuts, trials) = (count(survived.iter().sum(), "power cut"), count(survived.len(), "trial"));
    let failed = outcomes.iter().filter(|outcome| outcome.status == Status::Failed).count();
    let rest = match failed {
        0 => String::new(),
        _ => format!(
            "; {} failed, and say what was lost: disklab show {}",
            count(failed, "trial"),
            record_name(record)
        ),
    };
    Some(format!("After each of {cuts} in {trials}, everything that had been promised was found{rest}"))
}

fn record_name(record: &Record) -> String {
    disklab_store::record::name_of(record.folder())
}

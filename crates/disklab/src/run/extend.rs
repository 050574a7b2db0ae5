//! Adds seeds to a record whose results could be seen (`run --resume RUN --seeds N`).

use disklab_config::Suite;
use disklab_record::manifest::{Extension, UntilDecided};
use disklab_record::outcome::seed_of_id;
use disklab_record::{Manifest, Record};
use disklab_stats::InterimAnalyses;

/// Returns the extension of a record to the trials of `now`, or None if the record has them all.
pub fn extension(record: &Record, now: &Manifest) -> Option<Extension> {
    let last = |trials: &[String]| trials.iter().filter_map(|trial| seed_of_id(trial)).max();
    let (after, upto) = (last(&record.manifest().trials)?, last(&now.trials)?);
    let (created, command) = (now.created.clone(), now.command.clone());
    (upto > after).then_some(Extension { created, command, after, upto })
}

/// Returns the rule by which seeds are added only to undecided cells, with the analyses of the new
/// seeds.
pub fn until_decided(
    recorded: &Manifest,
    suite: &Suite,
    extension: Option<&Extension>,
) -> Option<UntilDecided> {
    let mut until = recorded.until_decided.clone()?;
    if let Some(extension) = extension {
        // Analyses count seeds from the first seed of the suite.
        let before = suite.seeds().first() - 1;
        let trials = |seed: u32| (seed - before.min(seed)) as usize;
        let later = InterimAnalyses::later(trials(extension.after), trials(extension.upto));
        until.analyses.extend(later.into_iter().map(|trials| before + trials as u32));
    }
    Some(until)
}

/// Describes the cost of adding seeds.
pub fn in_words(extension: &Extension) -> String {
    let Extension { after, upto, .. } = extension;
    let added = match after + 1 {
        first if first == *upto => format!("seed {upto} is"),
        first => format!("seeds {first} to {upto} are"),
    };
    format!(
        "{added} added after an analysis of the results up to seed {after}: verdicts account for \
         it (docs/METHODOLOGY.md)"
    )
}

//! `disklab repair`: rebuilds damaged lines of a record from raw files.

use std::path::Path;

use disklab_record::outcome::Cell;
use disklab_record::repair::{Derive, LeftLine, Repaired, repair as repair_record};
use disklab_record::{Outcome, RecordError};
use disklab_runner::derive;
use disklab_units::prose::count;
use serde_json::json;

use crate::derived::Descriptions;
use crate::exit::{Exit, Failure};
use crate::home::from_here;
use crate::records;
use crate::screen::{Paint, Screen};

/// Rebuild damaged or removed lines of a record.
///
/// Every number of a line follows from raw files, except its wall time and the digests of its
/// disks. These are taken from the damaged line if they can be read. If the digests of the record
/// prove that a rebuilt line is the one that was written, nothing else changes. A line without such
/// a proof gets a remark that every verb shows. Lines whose raw files are gone or were changed stay
/// as they are, and repair names them. The damaged file is kept as trials.jsonl.damaged.
///
/// Exit status: 1 if a line could not be rebuilt.
#[derive(Debug, clap::Args)]
pub struct RepairArgs {
    /// A record, by its name in ./records or by its path.
    run: String,

    /// Print the changes, and make none.
    #[arg(long)]
    dry_run: bool,
}

pub fn repair(args: &RepairArgs, screen: &Screen) -> Result<Exit, Failure> {
    let folder = records::find(&args.run)?;
    let manifest = disklab_record::record::read_manifest(&folder)?;
    let descriptions = Descriptions::read(&folder, &manifest);
    let derive: Derive = &|raw: &Path, outcome: &mut Outcome| {
        let trial = descriptions.get(&outcome.trial)?;
        outcome.cell = Cell(trial.cell.clone());
        (outcome.seed_index, outcome.seed) = (trial.seed_index, trial.seed);
        derive(trial, raw, outcome)
    };
    let done: Result<Repaired, RecordError> = repair_record(&folder, args.dry_run, derive);
    let done = done?;
    let exit = if done.is_whole() { Exit::Ok } else { Exit::Failed };
    let document = json!({
        "record": folder, "dry_run": args.dry_run, "whole": done.is_whole(),
        "restored": done.restored, "made_again": done.made_again, "left": done.left,
        "copies": done.copies, "lost": done.lost, "count_written": done.count_written,
        "kept": done.kept,
    });
    screen.present(&document, |out| {
        for line in sentences(&done, args.dry_run) {
            writeln!(out, "{}", screen.shown(&line))?;
        }
        for path in &done.kept {
            writeln!(out, "the damaged file is kept: {}", from_here(path).display())?;
        }
        let name = records::name_in_shell(&folder);
        if done.lost > 0 && !args.dry_run {
            writeln!(out, "to run what is missing: disklab run --resume {name}")?;
        }
        let (verdict, paint) = match (done.is_whole(), args.dry_run) {
            (true, false) => ("every line can be read", Paint::Good),
            (true, true) => ("every line could be read then", Paint::Good),
            (false, _) => ("not every line could be made again", Paint::Bad),
        };
        Ok(writeln!(out, "{}", screen.paint(verdict, paint))?)
    })?;
    Ok(exit)
}

/// Describes the changes that were made, or would be made, one sentence each.
fn sentences(done: &Repaired, dry_run: bool) -> Vec<String> {
    let be = |past: &str| if dry_run { format!("would be {past}") } else { past.to_owned() };
    let mut all = Vec::new();
    if done == &Repaired::default() {
        all.push("no line is damaged, and none is gone: nothing to do".to_owned());
    }
    for trial in &done.restored {
        all.push(format!("{}, as a digest proves: {trial}", be("restored as it was written")));
    }
    for trial in &done.made_again {
        let made = be("made again from raw files");
        all.push(format!("{made}, without a proof, and marked so: {trial}"));
    }
    for LeftLine { line, trial, reason } in &done.left {
        let trial = trial.as_deref().map_or_else(String::new, |trial| format!(" ({trial})"));
        all.push(format!("left as it is: line {line}{trial}: {reason}"));
    }
    if done.copies > 0 {
        all.push(format!("{}: {}", be("taken out"), count(done.copies, "copy")));
    }
    if done.lost > 0 {
        let lines = count(done.lost, "line");
        all.push(format!(
            "lost: {lines}, of which there are no raw files; their trials count as not run"
        ));
    }
    if done.count_written {
        all.push(format!("{}: trials.last, the count of lines", be("written again")));
    }
    all
}

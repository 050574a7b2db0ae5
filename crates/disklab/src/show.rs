//! `disklab show`: prints a record as a table of its cells, or everything about one of its trials.

mod cells;
mod curve;
pub mod measures;
mod phases;
mod trial;
mod warm_up;

use std::io::Write;

use disklab_compare::CellIndex;
use disklab_config::read::nearest;
use disklab_record::{Outcome, Record};
use disklab_report::merge;

use crate::exit::{Exit, Failure, mistaken};
use crate::records;
use crate::screen::Screen;

/// Show the results of a record, or of one of its trials.
///
/// The table has a row for each cell: the median over seeds of each number. With TRIAL, everything
/// about that trial is shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, by its name in ./records or by its path.
    run: String,

    /// A trial of the record, by the values of its cell and its seed.
    ///
    /// Example: hdd-raid1+randread-4k-qd1+pid+s1.
    trial: Option<String>,
}

pub fn show(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let folder = records::find(&args.run)?;
    let Some(id) = &args.trial else {
        let record = records::open_at(&folder, screen)?;
        if screen.json {
            screen.json(&merge::MergedRecord::new(&CellIndex::new(&record)))?;
        } else {
            let mut out = screen.out();
            cells(&record, screen, &mut out)?;
            out.flush()?;
        }
        return Ok(Exit::Ok);
    };
    let record = records::with_trial(&folder, id, screen)?;
    let outcome = outcome(&record, id)?;
    trial::print(&record, outcome, screen)?;
    Ok(Exit::Ok)
}

/// Prints the table of a record.
pub fn cells(record: &Record, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    cells::print(&merge::MergedRecord::new(&CellIndex::new(record)), screen, out)
}

/// Returns the outcome of a trial of this record.
pub fn outcome<'a>(record: &'a Record, id: &str) -> Result<&'a Outcome, Failure> {
    let trials = &record.manifest().trials;
    match record.outcome(id) {
        Some(outcome) => Ok(outcome),
        None if trials.iter().any(|trial| trial == id) => Err(mistaken!(
            "trial {id} has not run; disklab run --resume {} runs what is missing",
            records::name_in_shell(record.folder())
        )),
        None => {
            let near = nearest(id, trials.iter().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?"));
            let first = || trials.first().map(|first| format!("; the first is {first}"));
            let hint = near.or_else(first).unwrap_or_default();
            let run = record.folder().display();
            Err(mistaken!("{run} has no trial `{}`{hint}", id.escape_debug()))
        }
    }
}

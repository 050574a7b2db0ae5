//! `disklab merge`: records of parts of a suite as one record.

use std::io::Write;
use std::path::{Path, PathBuf};

use disklab_record::Record;
use disklab_record::merge::{self, Conflict, Made, MergeError, Merged};
use disklab_report::Tally;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::home::from_here;
use crate::screen::{Paint, Screen};
use crate::{records, words};

/// Put records of parts of a suite together, as if one run had made them all.
///
/// The parts are what `disklab run --shard` and `--trial` leave, on any machines. Refused are
/// records of other kernels, other builds of disklab, other tools, other files of the lab, another
/// suite, or other settings of it (--set, --seeds). A trial that several records have is kept once
/// where its results are the same, byte for byte; where they are not, that is an error, which names
/// trial and file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Records, by their names in ./records or by their paths.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// The new record's folder [default: a new one in ./records].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn merge(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let open = |run: &String| Ok(Record::open(&records::find(run)?)?);
    let records: Vec<Record> = args.runs.iter().map(open).collect::<Result<_, Failure>>()?;
    let folder = args.out.clone().unwrap_or_else(|| new_folder(&records));
    let made = Made {
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    match merge::merge(&records, &folder, &made) {
        Ok(merged) => tell(&folder, merged, records.len(), screen),
        Err(MergeError::Conflicts(conflicts)) if screen.json => {
            screen
                .json(&json!({ "conflicts": conflicts.iter().map(as_json).collect::<Vec<_>>() }))?;
            Ok(Exit::Failed)
        }
        Err(error) => Err(error.into()),
    }
}

/// Named as a run's would be.
fn new_folder(records: &[Record]) -> PathBuf {
    let suite = records.first().map_or("merged", |record| record.manifest().suite.name.as_str());
    let name = format!("{suite}-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S"));
    let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone())
        .chain(numbered)
        .map(|name| Path::new(records::FOLDER).join(name));
    names.find(|folder| !folder.exists()).unwrap_or_default()
}

fn tell(folder: &Path, merged: Merged, count: usize, screen: &Screen) -> Result<Exit, Failure> {
    let Merged { trials, of, duplicates, superseded, damaged } = merged;
    let tally = Tally::new(&Record::open(folder)?);
    for file in &damaged {
        screen.complain(&format!(
            "{} is not what was recorded of it; another record's was taken",
            from_here(file).display()
        ));
    }
    if screen.json {
        screen.json(&json!({
            "record": folder,
            "trials": tally,
            "of": of,
            "records": count,
            "duplicates": duplicates,
            "superseded": superseded,
            "damaged": damaged,
        }))?;
        return Ok(Exit::Ok);
    }
    let mut out = screen.out();
    let name = records::name_of(folder);
    writeln!(
        out,
        "{}, of {}",
        screen.paint(&tally.to_string(), Paint::Strong),
        words::count(count, "record")
    )?;
    if duplicates > 0 {
        writeln!(
            out,
            "{} that others had too, byte for byte as recorded",
            words::count(duplicates, "result")
        )?;
    }
    if superseded > 0 {
        writeln!(
            out,
            "{} without a result, which another record has",
            words::count(superseded, "trial")
        )?;
    }
    if trials < of {
        writeln!(
            out,
            "{} of the suite's {of} are in none of them",
            words::count(of - trials, "trial")
        )?;
    }
    writeln!(out, "record: {}", from_here(folder).display())?;
    if tally.missing() > 0 {
        writeln!(out, "to run what is missing: disklab run --resume {name}")?;
    }
    Ok(out.flush().map(|()| Exit::Ok)?)
}

fn as_json(conflict: &Conflict) -> serde_json::Value {
    let Conflict { trial, key, file, first, second } = conflict;
    json!({ "trial": trial, "key": key, "file": file, "first": first, "second": second })
}

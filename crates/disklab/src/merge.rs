//! `disklab merge`: merges records of parts of a suite into one.

use std::path::{Path, PathBuf};

use disklab_record::Record;
use disklab_record::manifest::Extension;
use disklab_record::merge::{self, Conflict, Made, MergeError, Merged};
use disklab_report::Tally;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::home::from_here;
use crate::screen::{Paint, Screen};
use crate::{derived, records, words};

/// Merge records of parts of a suite into one record.
///
/// The merged record is the one that a single run would have made. The parts come from `disklab
/// run` with --shard, --trial or --seeds 6-10, on any machines. merge refuses records with
/// different kernels, builds of disklab, tools, files of the lab, suites, or settings (--set).
///
/// If several records have a trial with the same results, byte for byte, the trial is kept once. If
/// the results differ, merge fails and names the trial and the file. merge also fails if a number
/// of a line does not follow from the raw files of its trial.
///
/// Seeds that were begun after a record with other seeds had ended count as added after an interim
/// analysis, as with `disklab run --resume RUN --seeds N`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Records, by their names in ./records or by their paths.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// The folder of the new record [default: a new folder in ./records].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn merge(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let records: Vec<Record> =
        args.runs.iter().map(|run| records::open(run, screen)).collect::<Result<_, _>>()?;
    let mut differ = Vec::new();
    for record in &records {
        differ.extend(derived::differences(record, screen)?);
    }
    if let Some(first) = differ.first() {
        let more = match differ.len() - 1 {
            0 => String::new(),
            more => format!("\nand {} like this", words::count(more, "more number")),
        };
        return Err(Failure::said(
            Exit::Failed,
            format_args!(
                "a number does not follow from the raw files of its trial; nothing was written:\n  \
                 {first}{more}\n`disklab audit` names them all"
            ),
        ));
    }
    let folder = args.out.clone().unwrap_or_else(|| {
        let suite = records.first().map(|record| record.manifest().suite.name.as_str());
        records::new_folder(suite.unwrap_or("merged"))
    });
    let made = Made {
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    match merge::merge(&records, &folder, &made) {
        Ok(merged) => tell(&folder, merged, records.len(), screen),
        Err(MergeError::Conflicts(conflicts)) if screen.json => {
            let conflicts: Vec<_> = conflicts.iter().map(as_json).collect();
            screen.json_named("merge-conflicts", &json!({ "conflicts": conflicts }))?;
            Ok(Exit::Failed)
        }
        Err(error) => Err(error.into()),
    }
}

fn tell(folder: &Path, merged: Merged, count: usize, screen: &Screen) -> Result<Exit, Failure> {
    let Merged { trials, of, duplicates, superseded, damaged, pooled, extended } = merged;
    let tally = Tally::new(&Record::open(folder)?);
    for file in &damaged {
        screen.complain(&format!(
            "{} was changed after it was recorded; the copy of another record was taken",
            from_here(file).display()
        ));
    }
    let document = json!({
        "record": folder, "trials": tally, "of": of, "records": count, "duplicates": duplicates,
        "superseded": superseded, "damaged": damaged, "pooled": pooled, "extended": extended,
    });
    screen.present(&document, |out| {
        let head = screen.paint(&tally.to_string(), Paint::Strong);
        writeln!(out, "{head}, of {}", words::count(count, "record"))?;
        let in_none = format!("of the suite's {of} are in none of them");
        for (number, noun, what) in [
            (duplicates, "result", "that others had too, byte for byte as recorded"),
            (superseded, "trial", "without a result, which another record has"),
            (of.saturating_sub(trials), "trial", in_none.as_str()),
        ] {
            if number > 0 {
                writeln!(out, "{} {what}", words::count(number, noun))?;
            }
        }
        if let Some((first, last)) = pooled {
            writeln!(out, "seeds {first} to {last} of one suite, pooled")?;
        }
        for extension in &extended {
            let Extension { after, upto, .. } = extension;
            let seen = if *after == 0 { "others".to_owned() } else { format!("seed {after}") };
            writeln!(
                out,
                "seeds up to {upto} were begun when results of {seen} could be seen: verdicts \
                 account for it (docs/METHODOLOGY.md)"
            )?;
        }
        writeln!(out, "record: {}", from_here(folder).display())?;
        if tally.missing() > 0 {
            let name = records::name_in_shell(folder);
            writeln!(out, "to run what is missing: disklab run --resume {name}")?;
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}

fn as_json(conflict: &Conflict) -> serde_json::Value {
    let Conflict { trial, key, file, first, second } = conflict;
    json!({ "trial": trial, "key": key, "file": file, "first": first, "second": second })
}

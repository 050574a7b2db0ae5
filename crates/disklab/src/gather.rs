//! `disklab gather`: collects a suite's trials that other machines run, for the Python package.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;

use disklab_config::Trial;
use disklab_kernels::Kernel;
use disklab_record::gather::NotTaken;
use disklab_record::{Record, Retry, Writer};
use disklab_runner::Run;
use disklab_runner::ahead::Ready;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure, cannot, mistaken};
use crate::home::Home;
use crate::plan::Jobs;
use crate::question::{Overrides, Question};
use crate::run::manifest::{self, By};
use crate::run::ready;
use crate::screen::Screen;
use crate::{document, run, signals};

/// Collect trials run by other machines into one record.
///
/// The Python package uses this command. Both sides write one JSON document for each line. First,
/// disklab prints the record, the trials that it lacks, and the kernels; then each set of prepared
/// disks as soon as it is ready, with the trials that begin on it. Each line of input names a
/// record of some of the trials. disklab moves the raw output of that record into this one, and
/// answers with the trials that were added.
///
/// The end of the input ends the command. Added trials are in the record whatever happens later,
/// and `disklab run --resume` can continue the record too.
#[derive(Debug, clap::Args)]
pub struct GatherArgs {
    /// A suite by its name in the lab (see `disklab list suites`), or by the path of its file.
    suite: String,

    #[command(flatten)]
    overrides: Overrides,

    #[command(flatten)]
    jobs: Jobs,

    /// The folder of the record. An existing record is continued.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Run failed trials of an existing record again.
    #[arg(long)]
    retry_failed: bool,
}

/// A line of input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HandedIn {
    /// Folder of a record, on the filesystem of the record that its trials are added to.
    part: PathBuf,
    /// Trials of the record that are not wanted.
    #[serde(default)]
    without: BTreeSet<String>,
}

pub fn gather(args: &GatherArgs, screen: &Screen) -> Result<Exit, Failure> {
    let home = Home::open()?;
    let question = Question::ask(&home.lab, &args.suite, &args.overrides)?;
    let guests = ready::check(&home, &question.trials, args.jobs.get(), signals::watch()?, screen)?;
    let manifest = manifest::describe(&home, &question, &By::Guests(guests.clone()))?;
    let retry = if args.retry_failed { Retry::Failed } else { Retry::Nothing };
    let (writer, tidied) = run::open(args.out.clone(), &manifest, retry)?;
    run::say_tidied(&tidied, screen);
    let _in_use = guests.hold_cache()?;
    let remaining = writer.remaining();
    let kernels: Vec<Value> = guests.kernels.values().map(kernel).collect();
    say(&json!({
        "schema": document::name("gather"),
        "record": writer.folder(),
        "kernels": kernels,
        "library": guests.installation.library,
        "share": home.share.root(),
        "cache": guests.cache.root(),
        "remaining": remaining,
    }))?;
    let lacking: BTreeSet<&String> = remaining.iter().collect();
    let trials: Vec<&Trial> =
        question.trials.iter().filter(|trial| lacking.contains(&trial.id)).collect();
    thread::scope(|scope| {
        let preparing = thread::Builder::new()
            .spawn_scoped(scope, || prepare(&guests, &trials))
            .map_err(|error| cannot!("cannot prepare disks: {error}"))?;
        let taken = take(&writer);
        // Input has ended, so no more disks are needed.
        guests.stop.store(true, Ordering::Relaxed);
        // The preparing thread does not panic. If it did, the trials that were added would still
        // count.
        preparing.join().unwrap_or(Ok(())).and(taken)
    })?;
    Ok(Exit::Ok)
}

fn kernel(Kernel { key, version, path, .. }: &Kernel) -> Value {
    json!({ "key": key, "version": version.to_string(), "path": path })
}

fn prepare(guests: &Run, trials: &[&Trial]) -> Result<(), Failure> {
    let told = guests.prepare_ahead(trials, &|Ready { trials, key, disks }| {
        let names: Vec<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
        let (path, reason) = match disks {
            Ok(path) => (path, None),
            Err(reason) => (None, Some(reason)),
        };
        // A reader that stops also closes the input, which ends the command.
        let _ = say(&json!({ "disks": key, "path": path, "reason": reason, "trials": names }));
    });
    if let Err(error) = &told {
        let _ = say(&json!({ "failed": error.to_string() }));
    }
    Ok(told?)
}

fn take(writer: &Writer) -> Result<(), Failure> {
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| cannot!("cannot read standard input: {error}"))?;
        let HandedIn { part, without } = serde_json::from_str(&line).map_err(|error| {
            mistaken!("cannot parse a line of standard input, `{}`: {error}", line.escape_debug())
        })?;
        say(&answer(writer, &part, &without)?)?;
    }
    Ok(())
}

/// Adds the trials of a record, and returns the answer. An error means that nothing can be added to
/// this record.
fn answer(writer: &Writer, part: &Path, without: &BTreeSet<String>) -> Result<Value, Failure> {
    let record = match Record::open(part) {
        Ok(record) => record,
        Err(error) => return Ok(json!({ "part": part, "refused": error.to_string() })),
    };
    Ok(match writer.take(&record, without) {
        Ok(taken) => json!({ "part": part, "added": taken.added, "known": taken.known }),
        Err(NotTaken::Store(error)) => return Err(error.into()),
        Err(error @ NotTaken::Conflict { .. }) => {
            json!({ "part": part, "conflict": error.to_string() })
        }
        Err(error) => json!({ "part": part, "refused": error.to_string() }),
    })
}

fn say(what: &Value) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{what}")?;
    Ok(out.flush()?)
}

//! `disklab list`: lists the contents of the lab, and the records in `./records`.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use disklab_config::workload::{Job, WorkloadKind};
use disklab_config::{Lab, Workload};
use disklab_kernels::{Btrfs, Cache, find};
use itertools::Itertools;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::exit::{Exit, Failure};
use crate::home::Home;
use crate::records;
use crate::screen::{Paint, Screen};
use crate::table::{Align, TextTable, left, right};

/// List suites, arrays, devices, workloads, kernels and records.
///
/// The lab holds the suites and their parts; the records of your runs are in ./records.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// The kind of thing to list [default: every kind].
    #[arg(value_enum)]
    what: Option<ListKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListKind {
    Suites,
    Arrays,
    Devices,
    Workloads,
    Backgrounds,
    Policies,
    Kernels,
    Runs,
}

pub fn list(args: &ListArgs, screen: &Screen) -> Result<Exit, Failure> {
    let wanted = args.what.map_or_else(|| ListKind::value_variants().to_vec(), |what| vec![what]);
    let name = |what: ListKind| {
        what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    };
    // Listing records needs no lab.
    let opened = if wanted == [ListKind::Runs] { None } else { Some(Home::open_valid()?) };
    let (home, mistakes) = opened.unzip();
    let mistakes = mistakes.filter(|mistakes| !mistakes.0.is_empty());
    if screen.json {
        if let Some(mistakes) = mistakes {
            return Err(mistakes.into());
        }
        let lists: Map<String, Value> =
            wanted.iter().map(|&what| (name(what), as_json(what, home.as_ref()))).collect();
        screen.json(&lists)?;
        return Ok(Exit::Ok);
    }
    let mut out = screen.out();
    for (i, &what) in wanted.iter().enumerate() {
        let mut indent = "";
        if wanted.len() > 1 {
            let gap = if i > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}", screen.paint(&name(what), Paint::Strong))?;
            indent = "  ";
        }
        match table(what, home.as_ref(), screen) {
            Some(table) => table.print(screen, indent, &mut out)?,
            None => writeln!(out, "{indent}none in ./{}", records::FOLDER)?,
        }
    }
    out.flush()?;
    // The files without mistakes have been listed.
    mistakes.map_or(Ok(Exit::Ok), |mistakes| Err(mistakes.into()))
}

/// Builds the table of a list, or returns None if there is no record.
fn table(what: ListKind, home: Option<&Home>, screen: &Screen) -> Option<TextTable> {
    let Some(home) = home.filter(|_| what != ListKind::Runs) else { return runs(screen) };
    let lab = &home.lab;
    Some(match what {
        ListKind::Suites => summaries([right("trials")], suites(lab), screen, |suite| {
            let trials =
                suite.trials.map_or_else(|| "none".to_owned(), |trials| trials.to_string());
            let summary = suite.question.unwrap_or_else(|| suite.mistakes.join("\n"));
            (suite.name, [trials], summary)
        }),
        ListKind::Arrays => {
            let facts = [left("join"), right("disks"), right("holds")];
            summaries(facts, lab.arrays.values(), screen, |array| {
                let holds = array.usable_bytes(&lab.devices_of(array)).to_string();
                let facts = [array.layout.to_string(), array.devices.len().to_string(), holds];
                (array.name.clone(), facts, array.summary.clone())
            })
        }
        ListKind::Devices => {
            let facts = [left("kind"), right("size")];
            summaries(facts, lab.devices.values(), screen, |device| {
                let facts = [device.model.family().to_owned(), device.bytes.to_string()];
                (device.name.clone(), facts, device.summary.clone())
            })
        }
        ListKind::Workloads => {
            let facts = [left("rw"), right("bs"), right("iodepth"), right("file")];
            summaries(facts, lab.workloads.values(), screen, |workload| {
                (workload.name.clone(), load(workload), workload.summary.clone())
            })
        }
        ListKind::Backgrounds => {
            let facts = [left("programs"), right("trees")];
            summaries(facts, lab.backgrounds.values(), screen, |background| {
                let commands =
                    background.processes.iter().filter_map(|process| process.command.first());
                let workload = background.workload.as_ref().map(|workload| &workload.name);
                let programs = commands.chain(workload).dedup().join(", ");
                let trees = background.trees.map(|trees| trees.bytes().to_string());
                let facts = [programs, trees.unwrap_or_else(|| "none".to_owned())];
                (background.name.clone(), facts, background.summary.clone())
            })
        }
        ListKind::Policies => {
            summaries([left("parameters")], lab.policies.values(), screen, |policy| {
                let keys = policy.parameters.iter().map(|parameter| &parameter.key).join(", ");
                let keys = if keys.is_empty() { "none".to_owned() } else { keys };
                (policy.name.clone(), [keys], policy.summary.clone())
            })
        }
        ListKind::Kernels => {
            let cache = Cache::open().ok();
            let facts = [right("preference"), right("built")];
            summaries(facts, &lab.kernels, screen, |kernel| {
                let find = |cache| find(cache, &home.share, Btrfs::Policies, &kernel.series).ok();
                let built = cache.as_ref().and_then(find).map(|built| built.version.to_string());
                let built = built.unwrap_or_else(|| "no".to_owned());
                let facts = [kernel.preference.to_string(), built];
                (kernel.series.clone(), facts, kernel.summary.clone())
            })
        }
        ListKind::Runs => return None,
    })
}

/// Builds a table: name, facts in the columns with their names, and summary.
fn summaries<T, const N: usize>(
    facts: [(&str, Align); N],
    things: impl IntoIterator<Item = T>,
    screen: &Screen,
    row: impl Fn(T) -> (String, [String; N], String),
) -> TextTable {
    let columns: Vec<_> = [&[left("name")], &facts[..], &[left("summary")]].concat();
    let mut table = TextTable::new(&columns, screen.color);
    for (name, facts, summary) in things.into_iter().map(row) {
        table.row([name].into_iter().chain(facts).chain([summary]));
    }
    table
}

/// Returns a workload's operation, block size, depth and file size.
fn load(workload: &Workload) -> [String; 4] {
    let each = |column: fn(&Job) -> String| workload.jobs().iter().map(column).join(", ");
    let none = String::new;
    let [does, bs, depth] = match &workload.kind {
        WorkloadKind::Phases(_) => ["phases".to_owned(), none(), none()],
        WorkloadKind::FileLoad(_) => ["files".to_owned(), none(), workload.depth().to_string()],
        WorkloadKind::Startup(_) => ["start".to_owned(), none(), none()],
        WorkloadKind::Player { player, .. } => ["play".to_owned(), player.bs.to_string(), none()],
        WorkloadKind::Fio(fio) if !fio.sections.is_empty() => [
            format!("job file: {}", each(|job| job.rw.to_string())),
            each(|job| job.bs.to_string()),
            each(|job| job.iodepth.to_string()),
        ],
        WorkloadKind::Fio(_) => [
            each(|job| job.rw.to_string()),
            each(|job| job.bs.to_string()),
            each(|job| job.iodepth.to_string()),
        ],
    };
    [does, bs, depth, workload.file_size().to_string()]
}

fn runs(screen: &Screen) -> Option<TextTable> {
    let runs = records::list();
    let mut table = TextTable::with_heads("name|suite|begun|trials", screen.color);
    let is_any = !runs.is_empty();
    for run in runs {
        let trials = run.trials.map(|tally| tally.to_string()).or(run.error).unwrap_or_default();
        table.row([
            run.name,
            run.suite.unwrap_or_default(),
            run.created.unwrap_or_default(),
            trials,
        ]);
    }
    is_any.then_some(table)
}

/// A suite in the list. A mistaken suite is listed with its mistakes, and does not affect the
/// others.
#[derive(Debug, Default, Serialize)]
struct ListedSuite {
    name: String,
    path: PathBuf,
    question: Option<String>,
    trials: Option<usize>,
    mistakes: Vec<String>,
}

fn suites(lab: &Lab) -> Vec<ListedSuite> {
    let listed = |(name, path): (&String, &PathBuf)| {
        let read = lab.suite(name).and_then(|suite| Ok((suite.trials(lab)?.len(), suite.question)));
        let suite = ListedSuite { name: name.clone(), path: path.clone(), ..Default::default() };
        match read {
            Ok((trials, question)) => {
                ListedSuite { question: Some(question), trials: Some(trials), ..suite }
            }
            Err(mistakes) => {
                let mistakes = mistakes.0.iter().map(ToString::to_string).collect();
                ListedSuite { mistakes, ..suite }
            }
        }
    };
    lab.suites.iter().map(listed).collect()
}

/// Returns the listed things as read, with all keys of their files.
fn as_json(what: ListKind, home: Option<&Home>) -> Value {
    let Some(home) = home else { return json!(records::list()) };
    let lab = &home.lab;
    match what {
        ListKind::Suites => json!(suites(lab)),
        ListKind::Arrays => json!(lab.arrays.values().collect::<Vec<_>>()),
        ListKind::Devices => json!(lab.devices.values().collect::<Vec<_>>()),
        ListKind::Workloads => json!(lab.workloads.values().collect::<Vec<_>>()),
        ListKind::Backgrounds => json!(lab.backgrounds.values().collect::<Vec<_>>()),
        ListKind::Policies => json!(lab.policies.values().collect::<Vec<_>>()),
        ListKind::Kernels => json!(lab.kernels),
        ListKind::Runs => json!(records::list()),
    }
}

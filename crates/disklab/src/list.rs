//! `disklab list`: what the lab holds, and the records in `./records`.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use disklab_config::Lab;
use disklab_config::workload::WorkloadKind;
use disklab_kernels::Cache;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::exit::{Exit, Failure};
use crate::home::Home;
use crate::records;
use crate::screen::{Paint, Screen};
use crate::table::{Side, Table};

/// List what the lab holds, and the records in ./records.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these; everything unless said.
    #[arg(value_enum)]
    what: Option<What>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Suites,
    Arrays,
    Devices,
    Workloads,
    Backgrounds,
    Policies,
    Kernels,
    Runs,
}

impl What {
    const fn name(self) -> &'static str {
        match self {
            Self::Suites => "suites",
            Self::Arrays => "arrays",
            Self::Devices => "devices",
            Self::Workloads => "workloads",
            Self::Backgrounds => "backgrounds",
            Self::Policies => "policies",
            Self::Kernels => "kernels",
            Self::Runs => "runs",
        }
    }
}

/// A thing by its name, with a few words between that and its summary.
#[derive(Debug)]
struct Thing {
    name: String,
    facts: Vec<String>,
    summary: String,
}

pub fn list(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let wanted = args.what.map_or_else(|| What::value_variants().to_vec(), |what| vec![what]);
    // Records can be listed where there is no lab.
    let home = if wanted == [What::Runs] { None } else { Some(Home::open()?) };
    if screen.json {
        let lists: Map<String, Value> = wanted
            .iter()
            .map(|&what| (what.name().to_owned(), as_json(what, home.as_ref())))
            .collect();
        screen.json(&lists)?;
        return Ok(Exit::Ok);
    }
    let mut out = screen.out();
    for (i, &what) in wanted.iter().enumerate() {
        let indent = if wanted.len() > 1 {
            let gap = if i > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}", screen.paint(what.name(), Paint::Strong))?;
            "  "
        } else {
            ""
        };
        match what {
            What::Runs => runs(screen, indent, &mut out)?,
            _ => home.iter().try_for_each(|home| print(what, home, screen, indent, &mut out))?,
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn print(
    what: What,
    home: &Home,
    screen: &Screen,
    indent: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    use Side::{Left, Right};
    let facts: &[(&str, Side)] = match what {
        What::Suites => &[("trials", Right)],
        What::Arrays => &[("join", Left), ("disks", Right), ("holds", Right)],
        What::Devices => &[("kind", Left), ("size", Right)],
        What::Workloads => &[("rw", Left), ("bs", Right), ("iodepth", Right), ("file", Right)],
        What::Backgrounds => &[("programs", Left), ("trees", Right)],
        What::Policies => &[("parameters", Left)],
        What::Kernels => &[("preference", Right), ("built", Right)],
        What::Runs => &[],
    };
    let columns: Vec<_> = [&[("name", Left)], facts, &[("summary", Left)]].concat();
    let mut table = Table::new(&columns, screen.color);
    for Thing { name, facts, summary } in things(what, home) {
        table.row(std::iter::once(name).chain(facts).chain([summary]));
    }
    table.print(screen, indent, out)
}

fn things(what: What, home: &Home) -> Vec<Thing> {
    let lab = &home.lab;
    match what {
        What::Suites => suites(lab).into_iter().map(Thing::from).collect(),
        What::Arrays => {
            let array = |array: &disklab_config::Array| {
                let facts = vec![
                    array.join.to_string(),
                    array.devices.len().to_string(),
                    array.usable_bytes(&lab.devices_of(array)).to_string(),
                ];
                Thing { name: array.name.clone(), facts, summary: array.summary.clone() }
            };
            lab.arrays.values().map(array).collect()
        }
        What::Devices => {
            let device = |device: &disklab_config::Device| {
                let facts = vec![device.model.family().to_owned(), device.bytes.to_string()];
                Thing { name: device.name.clone(), facts, summary: device.summary.clone() }
            };
            lab.devices.values().map(device).collect()
        }
        What::Workloads => {
            let workload = |workload: &disklab_config::Workload| {
                let each = |value: fn(&disklab_config::workload::Job) -> String| {
                    workload.jobs().iter().map(value).collect::<Vec<_>>().join(", ")
                };
                let (does, bs, depth) = match &workload.kind {
                    WorkloadKind::Phases(_) => ("phases".to_owned(), String::new(), String::new()),
                    WorkloadKind::FileLoad(_) => {
                        ("files".to_owned(), String::new(), workload.depth().to_string())
                    }
                    WorkloadKind::Startup(_) => ("start".to_owned(), String::new(), String::new()),
                    WorkloadKind::Player { player, .. } => {
                        ("play".to_owned(), player.bs.to_string(), String::new())
                    }
                    WorkloadKind::Fio(_) => (
                        each(|job| job.rw.to_string()),
                        each(|job| job.bs.to_string()),
                        each(|job| job.iodepth.to_string()),
                    ),
                };
                let facts = vec![does, bs, depth, workload.file_size().to_string()];
                Thing { name: workload.name.clone(), facts, summary: workload.summary.clone() }
            };
            lab.workloads.values().map(workload).collect()
        }
        What::Backgrounds => lab.backgrounds.values().map(background).collect(),
        What::Policies => {
            let policy = |policy: &disklab_config::Policy| {
                let keys: Vec<_> = policy.parameters.iter().map(|it| it.key.as_str()).collect();
                let keys = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
                Thing {
                    name: policy.name.clone(),
                    facts: vec![keys],
                    summary: policy.summary.clone(),
                }
            };
            lab.policies.values().map(policy).collect()
        }
        What::Kernels => {
            let cache = Cache::open().ok();
            let built = |series: &str| {
                let found = cache.as_ref().and_then(|cache| {
                    disklab_kernels::find(
                        cache,
                        &home.share,
                        disklab_kernels::Btrfs::Policies,
                        series,
                    )
                    .ok()
                });
                found.map_or_else(|| "no".to_owned(), |kernel| kernel.version.to_string())
            };
            let kernel = |kernel: &disklab_config::Kernel| Thing {
                name: kernel.series.clone(),
                facts: vec![kernel.preference.to_string(), built(&kernel.series)],
                summary: kernel.summary.clone(),
            };
            lab.kernels.iter().map(kernel).collect()
        }
        What::Runs => Vec::new(),
    }
}

fn background(background: &disklab_config::Background) -> Thing {
    let mut programs: Vec<&str> = background
        .processes
        .iter()
        .filter_map(|process| process.command.first())
        .map(String::as_str)
        .collect();
    programs.extend(background.workload.as_ref().map(|workload| workload.name.as_str()));
    programs.dedup();
    let trees =
        background.trees.map_or_else(|| "none".to_owned(), |trees| trees.bytes().to_string());
    let facts = vec![programs.join(", "), trees];
    Thing { name: background.name.clone(), facts, summary: background.summary.clone() }
}

/// A suite with mistakes is listed with them: the others are as good as before.
#[derive(Debug, Serialize)]
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
        let (name, path) = (name.clone(), path.clone());
        match read {
            Ok((trials, question)) => ListedSuite {
                name,
                path,
                question: Some(question),
                trials: Some(trials),
                mistakes: Vec::new(),
            },
            Err(mistakes) => {
                let mistakes = mistakes.0.iter().map(ToString::to_string).collect();
                ListedSuite { name, path, question: None, trials: None, mistakes }
            }
        }
    };
    lab.suites.iter().map(listed).collect()
}

impl From<ListedSuite> for Thing {
    fn from(suite: ListedSuite) -> Self {
        let ListedSuite { name, question, trials, mistakes, .. } = suite;
        let trials = trials.map_or_else(|| "none".to_owned(), |trials| trials.to_string());
        Self { name, facts: vec![trials], summary: question.unwrap_or_else(|| mistakes.join("\n")) }
    }
}

fn runs(screen: &Screen, indent: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let runs = records::list();
    if runs.is_empty() {
        return Ok(writeln!(out, "{indent}none in ./{}", records::FOLDER)?);
    }
    let columns = [
        ("name", Side::Left),
        ("suite", Side::Left),
        ("begun", Side::Left),
        ("trials", Side::Left),
    ];
    let mut table = Table::new(&columns, screen.color);
    for run in runs {
        let trials = run.trials.map(|tally| tally.to_string()).or(run.error).unwrap_or_default();
        table.row([
            run.name,
            run.suite.unwrap_or_default(),
            run.created.unwrap_or_default(),
            trials,
        ]);
    }
    table.print(screen, indent, out)
}

/// Things as they were read, with all that their files say.
fn as_json(what: What, home: Option<&Home>) -> Value {
    let Some(home) = home else { return json!(records::list()) };
    let lab = &home.lab;
    match what {
        What::Suites => json!(suites(lab)),
        What::Arrays => json!(lab.arrays.values().collect::<Vec<_>>()),
        What::Devices => json!(lab.devices.values().collect::<Vec<_>>()),
        What::Workloads => json!(lab.workloads.values().collect::<Vec<_>>()),
        What::Backgrounds => json!(lab.backgrounds.values().collect::<Vec<_>>()),
        What::Policies => json!(lab.policies.values().collect::<Vec<_>>()),
        What::Kernels => json!(lab.kernels),
        What::Runs => json!(records::list()),
    }
}

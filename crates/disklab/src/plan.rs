//! `disklab plan`: shows the trials, the time and the needs of a suite, and runs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use disklab_config::Trial;
use disklab_kernels::{Cache, Error as KernelError, Kernel, KernelLookup};
use disklab_record::outcome::Cell;
use disklab_runner::run::without_zfs;
use disklab_runner::{content_of_disks, estimate, facts, key};
use disklab_units::{Bytes, Nanos};
use itertools::Itertools;
use serde::{Serialize, Serializer};

use crate::exit::{Exit, Failure};
use crate::home::Home;
use crate::limits::AtATime;
use crate::part::{self, Wanted};
use crate::question::{Overrides, Question};
use crate::run::ready;
use crate::screen::{Paint, Screen};
use crate::table::{Align, TextTable, right};
use crate::{records, words};

/// Show the trials of a suite and their time, and run nothing.
///
/// The plan has the number of trials, their virtual time and the expected wall time. With --json,
/// it also has the key of each trial.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// A suite by its name in the lab (see `disklab list suites`), or by the path of its file.
    suite: String,

    #[command(flatten)]
    overrides: Overrides,

    #[command(flatten)]
    wanted: Wanted,

    #[command(flatten)]
    jobs: Jobs,
}

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Jobs {
    /// The number of trials that run at a time [default: the number of processors].
    ///
    /// Results do not depend on it.
    #[arg(long, value_name = "N")]
    jobs: Option<AtATime>,
}

impl Jobs {
    pub fn get(self) -> usize {
        self.jobs.unwrap_or_default().get()
    }
}

#[derive(Debug, Serialize)]
struct SuitePlan {
    suite: String,
    question: String,
    set: Vec<String>,
    /// Trials in the order in which they would run.
    trials: Vec<PlannedTrial>,
    cells: Vec<PlannedCell>,
    jobs: usize,
    virtual_ns: Nanos,
    /// Estimated time with `jobs` guests at a time.
    wall_ms: Millis,
    /// Estimated time to prepare the disks that are not in the cache yet.
    preparing_ms: Millis,
    /// Largest size of the prepared disks.
    prepared: Bytes,
    kernels: Vec<PlannedKernel>,
    room: Vec<FreeRoom>,
    /// Remarks about trials that cannot do everything that the suite asks.
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PlannedTrial {
    /// Name of the trial in the record.
    id: String,
    /// Key that `run --trial` takes. It is None while the kernel is unknown.
    key: Option<String>,
    cell: Cell,
    seed_index: u32,
    virtual_ns: Nanos,
    wall_ms: Millis,
    /// Number of processors that the trial keeps busy.
    processors: u32,
    /// Largest memory of the trial.
    memory: Bytes,
}

#[derive(Debug, Default, Serialize)]
struct PlannedCell {
    cell: Cell,
    trials: usize,
    virtual_ns: Nanos,
    wall_ms: Millis,
}

#[derive(Debug, Default, Serialize)]
struct PlannedKernel {
    /// Name of the kernel in the suite.
    name: String,
    key: Option<String>,
    version: Option<String>,
    path: Option<String>,
    /// The reason why the kernel cannot be used as it is.
    missing: Option<String>,
    /// The source from which `run` builds the kernel first.
    build: Option<PlannedBuild>,
}

#[derive(Debug, Serialize)]
struct PlannedBuild {
    from: String,
    /// Time of the last build. It is None if no build was timed yet.
    wall_ms: Option<Millis>,
}

#[derive(Debug, Serialize)]
struct FreeRoom {
    what: &'static str,
    folder: String,
    free: Option<Bytes>,
}

pub fn plan(args: &PlanArgs, screen: &Screen) -> Result<Exit, Failure> {
    let home = Home::open()?;
    let jobs = args.jobs.get();
    let question = Question::ask(&home.lab, &args.suite, &args.overrides)?;
    let question =
        args.wanted.select(question, |trials| part::kernels_here(&home, trials, jobs))?;
    let plan = SuitePlan::new(&home, &question, jobs)?;
    screen.present(&plan, |out| plan.print(&question, screen, out))?;
    Ok(Exit::Ok)
}

/// Returns one trial for each set of disks. Disks that trials share are prepared once.
pub fn prepared_once(trials: &[Trial]) -> Vec<&Trial> {
    let mut seen = BTreeSet::new();
    let mut is_new = |trial: &&Trial| {
        let content = content_of_disks(trial);
        content.is_some_and(|content| seen.insert((trial.kernel.clone(), content)))
    };
    trials.iter().filter(|trial| trial.unfit.is_none() && is_new(trial)).collect()
}

/// Returns the virtual time of a trial: measured time and the time before it. A trial that cannot
/// run takes none.
pub fn virtual_time(trial: &Trial) -> Nanos {
    if trial.unfit.is_some() { Nanos::ZERO } else { estimate::measured(trial) }
}

impl SuitePlan {
    fn new(home: &Home, question: &Question, jobs: usize) -> Result<Self, Failure> {
        let cache = Cache::open();
        let trials = &question.trials;
        let (kernels, there) = kernels(cache.as_ref(), home, trials, jobs)?;
        let find_obstacle = |trial: &Trial| {
            let without_zfs = || without_zfs(trial, there.get(&trial.kernel)?);
            facts::obstacle(trial).or_else(without_zfs)
        };
        // Each obstacle looks for programs in several folders, so it is computed once.
        let obstacles: BTreeMap<&str, String> = trials
            .iter()
            .filter_map(|trial| Some((trial.id.as_str(), find_obstacle(trial)?)))
            .collect();
        let obstacle = |trial: &Trial| obstacles.get(trial.id.as_str()).cloned();
        let keys = kernels
            .iter()
            .filter_map(|kernel| Some((kernel.name.clone(), kernel.key.clone()?)))
            .collect();
        let keys = key::of_all(trials, &keys)?;
        let mut seen = BTreeSet::new();
        let planned = |(trial, key): (&Trial, Option<String>)| {
            let is_possible = obstacle(trial).is_none();
            // All trials with the same key have the same result.
            let is_new = key.as_ref().is_none_or(|key| seen.insert(key.clone()));
            PlannedTrial {
                id: trial.id.clone(),
                key,
                cell: Cell(trial.cell.clone()),
                seed_index: trial.seed_index,
                virtual_ns: if is_possible { estimate::measured(trial) } else { Nanos::ZERO },
                wall_ms: Millis(if is_possible && is_new {
                    estimate::wall(trial)
                } else {
                    Duration::ZERO
                }),
                processors: 1,
                memory: estimate::memory(trial),
            }
        };
        let planned: Vec<_> = trials.iter().zip(keys).map(planned).collect();
        let possible: Vec<Trial> =
            trials.iter().filter(|trial| obstacle(trial).is_none()).cloned().collect();
        let prepared = prepared_once(&possible);
        let preparing: Duration = prepared.iter().copied().map(estimate::preparing).sum();
        let parallel = u32::try_from(jobs.min(trials.len()).max(1)).unwrap_or(u32::MAX);
        Ok(Self {
            suite: question.suite.name.clone(),
            question: question.suite.question.clone(),
            set: question.set.clone(),
            virtual_ns: planned.iter().map(|trial| trial.virtual_ns).sum(),
            wall_ms: Millis(
                planned.iter().map(|trial| trial.wall_ms.0).sum::<Duration>() / parallel,
            ),
            preparing_ms: Millis(preparing / parallel),
            cells: cells(&planned),
            trials: planned,
            jobs,
            kernels,
            room: room(cache.as_ref()),
            remarks: question.remarks(obstacle),
            prepared: prepared.into_iter().map(estimate::room).sum(),
        })
    }

    fn print(
        &self,
        question: &Question,
        screen: &Screen,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        writeln!(out, "{}: {}", screen.paint(&self.suite, Paint::Strong), self.question)?;
        writeln!(out)?;
        self.table(screen.color).print(screen, "", out)?;
        writeln!(out)?;
        let seeds = words::count(question.suite.seeds().count() as usize, "seed");
        writeln!(
            out,
            "{} ({}, {seeds} each), {}{} of virtual time",
            words::count(self.trials.len(), "trial"),
            words::count(self.cells.len(), "combination"),
            // A start-up may end long before its limit.
            if question.trials.iter().any(|trial| trial.workload.startup().is_some()) {
                "at most "
            } else {
                ""
            },
            words::virtual_time(self.virtual_ns)
        )?;
        writeln!(
            out,
            "wall time: about {} with {} at a time; preparing disks that are not in the cache: \
             about {}",
            words::wall(self.wall_ms.0),
            words::count(self.jobs, "guest"),
            words::wall(self.preparing_ms.0)
        )?;
        writeln!(out, "prepared disks take up to {} in the cache", self.prepared)?;
        self.kernels.iter().try_for_each(|kernel| writeln!(out, "kernel: {kernel}"))?;
        for FreeRoom { what, folder, free } in &self.room {
            let free = free.map_or_else(|| "unknown".to_owned(), |free| free.to_string());
            writeln!(out, "{what}: {free} free in {folder}")?;
        }
        self.remarks.iter().try_for_each(|remark| writeln!(out, "{remark}"))?;
        Ok(())
    }

    /// Builds the table. A value that equals the one above it is left out, as long as the values
    /// before it are left out too.
    fn table(&self, color: bool) -> TextTable {
        let axes = self.cells.iter().take(1).flat_map(|cell| &cell.cell.0);
        let mut columns: Vec<_> = axes.map(|(axis, _)| (axis.as_str(), Align::Left)).collect();
        columns.extend([right("trials"), right("virtual"), right("wall, about")]);
        let mut table = TextTable::new(&columns, color);
        let mut above: &[(String, String)] = &[];
        for PlannedCell { cell: Cell(cell), trials, virtual_ns, wall_ms } in &self.cells {
            let same = above.iter().zip(cell).take_while(|(above, here)| above == here).count();
            let values = cell.iter().map(|(_, value)| value.clone());
            let values =
                values.enumerate().map(|(i, value)| if i < same { String::new() } else { value });
            let numbers =
                [trials.to_string(), words::virtual_time(*virtual_ns), words::wall(wall_ms.0)];
            table.row(values.chain(numbers));
            above = cell;
        }
        table
    }
}

fn cells(planned: &[PlannedTrial]) -> Vec<PlannedCell> {
    let mut cells: Vec<PlannedCell> = Vec::new();
    let mut known: BTreeMap<&[(String, String)], usize> = BTreeMap::new();
    for PlannedTrial { cell, virtual_ns, wall_ms, .. } in planned {
        let at = *known.entry(&cell.0).or_insert(cells.len());
        if at == cells.len() {
            cells.push(PlannedCell { cell: cell.clone(), ..PlannedCell::default() });
        }
        cells[at].trials += 1;
        cells[at].virtual_ns += *virtual_ns;
        cells[at].wall_ms.0 += wall_ms.0;
    }
    cells
}

/// A wall time, written to JSON in whole milliseconds.
#[derive(Debug, Default, Clone, Copy)]
struct Millis(Duration);

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Returns the planned kernels, and by the same names the kernels that exist. A kernel that must be
/// built first is part of the plan. A path without a kernel, or a kernel that lacks what trials
/// need, is a mistake.
fn kernels(
    cache: Result<&Cache, &KernelError>,
    home: &Home,
    trials: &[Trial],
    jobs: usize,
) -> Result<(Vec<PlannedKernel>, BTreeMap<String, Kernel>), Failure> {
    let planned = |name: &str| PlannedKernel { name: name.to_owned(), ..PlannedKernel::default() };
    let missing = |name: &str, error: &KernelError| PlannedKernel {
        missing: Some(error.to_string()),
        ..planned(name)
    };
    let cache = match cache {
        Ok(cache) => cache,
        Err(error) => {
            let names = trials.iter().map(|trial| trial.kernel.as_str()).sorted().dedup();
            return Ok((names.map(|name| missing(name, error)).collect(), BTreeMap::new()));
        }
    };
    let (mut kernels, mut there) = (Vec::new(), BTreeMap::new());
    for (name, found) in part::look_up(cache, home, trials, jobs)? {
        kernels.push(match found {
            Ok(KernelLookup::Built(kernel)) => {
                ready::check_options(name, &kernel, trials)?;
                let planned = PlannedKernel {
                    key: Some(kernel.key.clone()),
                    version: Some(kernel.version.to_string()),
                    path: Some(kernel.path.display().to_string()),
                    ..planned(name)
                };
                there.insert(name.to_owned(), *kernel);
                planned
            }
            Ok(KernelLookup::ToBuild { from, key, took }) => {
                let build = PlannedBuild { from: from.to_string(), wall_ms: took.map(Millis) };
                PlannedKernel { key: Some(key), build: Some(build), ..planned(name) }
            }
            Err(error @ KernelError::NoKernel { .. }) => missing(name, &error),
            Err(error) => return Err(error.into()),
        });
    }
    Ok((kernels, there))
}

fn room(cache: Result<&Cache, &KernelError>) -> Vec<FreeRoom> {
    let free = |folder: &Path| {
        let stat = rustix::fs::statvfs(folder).ok()?;
        Some(Bytes(stat.f_bavail.saturating_mul(stat.f_frsize)))
    };
    let cache = cache.ok().map(|cache| FreeRoom {
        what: "disks and kernels",
        folder: cache.root().display().to_string(),
        free: free(cache.root()),
    });
    let folder = format!("./{}", records::FOLDER);
    let results = FreeRoom { what: "results", folder, free: free(Path::new(".")) };
    cache.into_iter().chain([results]).collect()
}

impl std::fmt::Display for PlannedKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(version) = &self.version {
            return write!(f, "{} is Linux {version}", self.name);
        }
        let Some(PlannedBuild { from, wall_ms }) = &self.build else {
            return write!(f, "{}", self.missing.as_deref().unwrap_or(&self.name));
        };
        let how_long = wall_ms.map_or_else(
            || "some minutes".to_owned(),
            |Millis(wall)| format!("about {}, as the last build took", words::wall(wall)),
        );
        write!(f, "{} is not built yet; `run` builds it first, from {from}: {how_long}", self.name)
    }
}

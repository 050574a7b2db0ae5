//! `disklab run`: runs a suite, or the trials that a record lacks.

mod again;
mod decide;
mod extend;
pub mod manifest;
pub mod on_host;
pub mod progress;
pub mod ready;
mod summary;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use disklab_config::{Lab, Trial};
use disklab_guest::confinement::{gap, landlock_version};
use disklab_record::{Manifest, Outcome, Record, RecordError, Retry, Status, Tidied, Writer};
use disklab_runner::Executor as _;
use disklab_runner::{Event, Model, Run};
use disklab_units::Nanos;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure, mistaken};
use crate::home::{Home, from_here};
use crate::part::{self, Wanted};
use crate::plan::Jobs;
use crate::question::{Overrides, Question};
use crate::records;
use crate::run::manifest::By;
use crate::run::progress::Progress;
use crate::screen::{Paint, Screen};
use crate::{signals, undo, words};
use disklab_report::Tally;

/// Run a suite, and keep its results in a record.
///
/// The record is a new folder, ./records/<suite>-<date>-<time>. If a run is stopped, its completed
/// trials are kept, and --resume runs the rest.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct RunArgs {
    /// A suite by its name in the lab (see `disklab list suites`), or by the path of its file.
    #[arg(required_unless_present = "resume")]
    suite: Option<String>,

    #[command(flatten)]
    overrides: Overrides,

    #[command(flatten)]
    wanted: Wanted,

    #[command(flatten)]
    jobs: Jobs,

    /// Add seeds to each cell until its verdict against the suite's baseline is decided.
    ///
    /// A decided cell gets no more seeds. --seeds is then the largest number of seeds, 30 by
    /// default.
    #[arg(long, conflicts_with_all = ["resume", "trials", "shard"])]
    until_decided: bool,

    #[command(flatten)]
    verdicts: decide::VerdictArgs,

    /// With --until-decided: start no trial after this time, and list the undecided cells.
    ///
    /// The first trial always starts. The option also works for a record that was begun with
    /// --until-decided.
    #[arg(long, value_name = "TIME")]
    budget: Option<Nanos>,

    /// The folder of the record. An existing record is continued.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Continue a record, by its name in ./records or by its path.
    ///
    /// The suite, the settings and the disks are those of the record. With --seeds N, seeds up to N
    /// are added; the verdicts then account for the interim analysis of the seeds before.
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = [
            "suite", "set", "kernel", "trials", "shard", "out", "on", "devices", "at", "array",
            "order", "warm_up", "no_pairs", "sensitivity", "drives",
        ]
    )]
    resume: Option<String>,

    /// Draw the matrix of trials above the progress, as `disklab watch` does.
    #[arg(long)]
    watch: bool,

    /// Do not record the requests of the disks.
    ///
    /// Without them, `disklab trace` and the pictures over time have no data for these trials. In
    /// virtual time, the results are the same. On real disks, a trace costs 1.4 us of processor
    /// time for each request, and the writes to the record. The time shows only if a request takes
    /// a few microseconds.
    #[arg(long)]
    no_trace: bool,

    /// In a record that is continued, also run failed and skipped trials again.
    ///
    /// Trials that failed by a fault of the machine, such as a killed guest, run again without this
    /// option.
    #[arg(long)]
    retry_failed: bool,

    #[command(flatten)]
    host: on_host::HostArgs,
}

pub fn run(args: &RunArgs, screen: &Screen) -> Result<Exit, Failure> {
    if let Some(out) = args.out.as_ref().filter(|out| out.exists() && !out.is_dir()) {
        return Err(mistaken!(
            "--out: {} exists and is not a folder; name a new folder",
            out.display()
        ));
    }
    let home = Home::open()?;
    let begun = args.resume.as_deref().map(records::find).transpose()?;
    let (question, mut by) = ask(args, &home, begun.as_deref(), screen)?;
    let mut manifest = manifest::describe(&home, &question, &by)?;
    let recorded = begun.as_deref().map(Record::open).transpose()?;
    let is_paired = match &recorded {
        Some(record) => !record.manifest().again.is_empty(),
        None => matches!(by, By::Host(_)) && !args.host.no_pairs,
    };
    let second = if is_paired { again::second_measurements(&question) } else { Vec::new() };
    manifest.again = second.iter().map(|trial| trial.id.clone()).collect();
    let trials = [question.trials.clone(), second].concat();
    let extension = recorded.as_ref().and_then(|record| extend::extension(record, &manifest));
    manifest.until_decided = match &recorded {
        Some(record) => {
            extend::until_decided(record.manifest(), &question.suite, extension.as_ref())
        }
        None if args.until_decided => Some(args.verdicts.plan(&question)?),
        None => None,
    };
    if args.budget.is_some() && manifest.until_decided.is_none() {
        return Err(mistaken!("--budget works with --until-decided only; add --until-decided"));
    }
    let retry = if args.retry_failed { Retry::Failed } else { Retry::Nothing };
    if let By::Host(host) = &by
        && args.host.dry_run
    {
        let of = |id: &str| recorded.as_ref().and_then(|record| record.outcome(id));
        let left: Vec<Trial> =
            trials.into_iter().filter(|trial| retry.wants(of(&trial.id))).collect();
        on_host::dry_run(host, &left, manifest.until_decided.as_ref(), &mut screen.out())?;
        return Ok(Exit::Ok);
    }
    by.end_by(args.budget);
    let run = by.as_executor();
    question.remarks(|trial| by.obstacle(trial)).iter().for_each(|remark| screen.remark(remark));
    // The claim is held to the end of the run.
    let _claim = match &by {
        By::Host(host) => {
            let claim =
                disklab_block_devices::claim_disks(host.place.disks()).map_err(Failure::cannot)?;
            claim.remarks.iter().for_each(|remark| screen.remark(remark));
            Some(claim)
        }
        By::Guests(_) | By::Model(_) => None,
    };
    let (writer, tidied) = match (&begun, extension) {
        (Some(folder), Some(extension)) => {
            let said = extend::in_words(&extension);
            let extended = Record::extend(folder, &manifest, extension, retry)?;
            screen.remark(&said);
            extended
        }
        _ => open(begun.or_else(|| args.out.clone()), &manifest, retry)?,
    };
    say_tidied(&tidied, screen);
    if let By::Host(host) = &by
        && let Some(remark) = on_host::record_is_in_the_way(host, writer.folder())
    {
        screen.remark(&remark);
    }

    let start = Instant::now();
    let watched = args.watch.then(|| writer.folder());
    let progress = Progress::new(screen, &trials, &writer.remaining(), run, watched);
    let events = &|event: Event| progress.event(&event);
    let result = match &manifest.until_decided {
        Some(until) => decide::run(run, &trials, &writer, until, events, screen),
        None => run.run_trials(&trials, &writer, events).map(|_| Vec::new()).map_err(Failure::from),
    };
    progress.end();
    let ending = Ending {
        folder: writer.folder().to_owned(),
        fresh: progress.ended(),
        took: start.elapsed(),
        stopped: run.stop().load(std::sync::atomic::Ordering::Relaxed),
        budget: args.budget.filter(|_| run.is_past_deadline()),
    };
    // The lock of the record is released before the end of the run is reported.
    drop(writer);
    ending.report(result, screen)
}

/// Returns the suite and trials to run, new or from a record, and the executor.
fn ask(
    args: &RunArgs,
    home: &Home,
    begun: Option<&Path>,
    screen: &Screen,
) -> Result<(Question, By), Failure> {
    let recorded = begun.map(Record::open).transpose()?;
    let on_host = recorded.as_ref().and_then(|record| record.manifest().on_host.as_ref());
    let host = on_host.map(|on| args.host.recorded(on)).transpose()?;
    let host =
        host.as_ref().or(Some(&args.host).filter(|host| host.on == on_host::ExecutorChoice::Host));
    let overrides = args.overrides.with_seeds(args.until_decided.then_some(decide::MOST_SEEDS));
    let question = |lab: &Lab, overrides: &Overrides| match (begun, &recorded) {
        (Some(folder), Some(record)) => match args.overrides.seeds() {
            Some(seeds) => Question::with_seeds(lab, folder, record.manifest(), seeds),
            None => Question::recorded(lab, folder, record.manifest()),
        },
        _ => Question::ask(lab, args.suite.as_deref().unwrap_or_default(), overrides),
    };
    let jobs = args.jobs.get();
    let is_of_model = match &recorded {
        Some(record) => record.manifest().is_of_model(),
        None => args.host.on == on_host::ExecutorChoice::Model,
    };
    if is_of_model {
        args.host.check()?;
        let question = question(&home.lab, &overrides)?;
        let question = args.wanted.select(question, |trials| Ok(manifest::no_kernels(trials)))?;
        let stop = signals::watch()?;
        return Ok((question, By::Model(Model { jobs, deadline: None, stop })));
    }
    let Some(host) = host else {
        args.host.check()?;
        let question = question(&home.lab, &overrides)?;
        let question =
            args.wanted.select(question, |trials| part::kernels_here(home, trials, jobs))?;
        let run = ready::check(home, &question.trials, jobs, signals::watch()?, screen)?;
        if let Some(gap) = gap(landlock_version()) {
            screen.remark(&format!(
                "this machine's kernel cannot confine guests completely (Landlock): a program that \
                 a lab file names can {gap}"
            ));
        }
        return Ok((question, By::Guests(Run { trace: !args.no_trace, ..run })));
    };
    args.overrides.refuse_models()?;
    for line in undo::left_by_killed_runs(host.dry_run, screen)?.lines(host.dry_run) {
        screen.remark(&format!("left by a killed run: {line}"));
    }
    let arrays = recorded.as_ref().and_then(|record| on_host::arrays(&record.manifest().suite.set));
    let asked = host.ask(&home.lab, args.suite.as_deref(), arrays, &overrides)?;
    let question = question(&asked.lab, &asked.overrides);
    let question = question.inspect_err(|failure| asked.remark_on(failure, screen))?;
    let question = args.wanted.select(question, |trials| Ok(manifest::own_kernels(trials)))?;
    on_host::check_kernels(&question.trials)?;
    let host = host.host(asked.place, !args.no_trace, signals::watch()?)?;
    Ok((question, By::Host(host)))
}

/// Opens the record in a folder, new or continued. Without a folder, a new one is named by suite
/// and time.
pub fn open(
    folder: Option<PathBuf>,
    manifest: &Manifest,
    retry: Retry,
) -> Result<(Writer, Tidied), RecordError> {
    Ok(match folder {
        Some(folder) if folder.exists() => Record::resume(&folder, manifest, retry)?,
        Some(folder) => (Record::create_at(&folder, manifest)?, Tidied::default()),
        None => {
            let name = records::name_now(&manifest.suite.name);
            (Record::create(Path::new(records::FOLDER), &name, manifest)?, Tidied::default())
        }
    })
}

/// Runs trials of one of disklab's own suites, and returns their record in `folder`.
pub fn own_suite(
    run: &Run,
    suite: disklab_record::manifest::Suite,
    trials: &[Trial],
    folder: &Path,
    events: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Record, Failure> {
    let ids = trials.iter().map(|trial| trial.id.clone()).collect();
    let now = jiff::Timestamp::now().to_string();
    let manifest = Manifest::new(env!("CARGO_PKG_VERSION"), &now, suite, ids);
    let writer = Record::create_at(folder, &manifest)?;
    run.run_trials(trials, &writer, events)?;
    drop(writer);
    Ok(Record::open(folder)?)
}

pub fn say_tidied(tidied: &Tidied, screen: &Screen) {
    let again = tidied.unfinished.len() + tidied.unrecorded.len();
    if again > 0 {
        let trials = words::count(again, "trial");
        screen.remark(&format!(
            "run again, because it had not ended when this record was left: {trials}"
        ));
    }
    if tidied.torn_bytes > 0 {
        screen.remark(
            "an incomplete line of trials.jsonl was moved to trials.jsonl.torn; its trial is run \
             again",
        );
    }
}

/// The facts that are reported when no trial runs any more.
#[derive(Debug)]
struct Ending {
    folder: PathBuf,
    /// Trials that ended in this run, by id.
    fresh: Vec<String>,
    took: Duration,
    stopped: bool,
    /// The budget, if it was spent.
    budget: Option<Nanos>,
}

impl Ending {
    fn report(
        &self,
        result: Result<Vec<String>, Failure>,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        let record = records::open_at(&self.folder, screen)?;
        let tally = Tally::new(&record);
        let document = self.document(&record, tally);
        let print = |out: &mut dyn Write| self.print(&record, tally, result.is_ok(), screen, out);
        match screen.present(&document, print) {
            // Trials keep their outcomes if standard output is closed.
            Ok(()) | Err(Failure::NobodyReads) => {}
            Err(failure) => return Err(failure),
        }
        if self.stopped && tally.missing() > 0 {
            return Ok(Exit::Interrupted);
        }
        let open = result?;
        if let Some(budget) = self.budget.filter(|_| tally.missing() > 0) {
            for line in decide::still_open(budget, &open, &self.folder) {
                screen.remark(&line);
            }
            return Ok(Exit::Undecided);
        }
        Ok(if tally.is_whole() { Exit::Ok } else { Exit::Failed })
    }

    fn print(
        &self,
        record: &Record,
        tally: Tally,
        whole: bool,
        screen: &Screen,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        // The table of a stopped run would be mostly empty.
        if whole && !self.stopped {
            summary::print(record, screen, out)?;
            writeln!(out)?;
        }
        // A run that ended early reports an error in place of its speed.
        let speed = if whole { self.speed(record) } else { String::new() };
        writeln!(out, "{}{speed}", screen.paint(&tally.to_string(), Paint::Strong))?;
        let name = records::name_in_shell(&self.folder);
        writeln!(out, "record: {}", from_here(&self.folder).display())?;
        if whole && !self.stopped {
            writeln!(out, "all numbers: disklab show {name}; as a page: disklab report {name}")?;
        }
        let again = match (tally.failed, tally.skipped) {
            (0, 0) => None,
            (0, _) => Some("to run skipped trials again, once the reason is gone"),
            _ => Some("to run failed trials again"),
        };
        if let Some(what) = again {
            writeln!(out, "{what}: disklab run --resume {name} --retry-failed")?;
        }
        if tally.missing() > 0 {
            writeln!(out, "to continue: disklab run --resume {name}")?;
        }
        Ok(())
    }

    /// Formats the speed: `; 24 min of virtual time in 1 min 52 s`.
    fn speed(&self, record: &Record) -> String {
        let fresh = record.lines().iter().filter(|outcome| self.fresh.contains(&outcome.trial));
        let time: Nanos = fresh.filter_map(|outcome| outcome.virtual_ns).sum();
        match (self.fresh.is_empty(), self.stopped) {
            (true, true) => "; interrupted".to_owned(),
            (true, false) => "; there was nothing left to run".to_owned(),
            _ if record.manifest().on_host.is_some() => format!("; in {}", words::wall(self.took)),
            _ => format!(
                "; {} of virtual time in {}",
                words::virtual_time(time),
                words::wall(self.took)
            ),
        }
    }

    fn document(&self, record: &Record, tally: Tally) -> Value {
        let is_failure =
            |outcome: &&Outcome| matches!(outcome.status, Status::Failed | Status::Skipped);
        let outcomes = record.outcomes().into_iter().filter_map(|(_, outcome)| outcome);
        let mut failures = Vec::new();
        for Outcome { trial, status, reason, .. } in outcomes.filter(is_failure) {
            failures.push(json!({ "trial": trial, "status": status, "reason": reason }));
        }
        json!({
            "record": self.folder,
            "trials": tally,
            "ran": self.fresh.len(),
            "wall_ms": self.took.as_millis(),
            "interrupted": self.stopped,
            "failures": failures,
            "recommendation": (!self.stopped).then(|| summary::recommendation(record)).flatten(),
        })
    }
}

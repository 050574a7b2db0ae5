//! Tests that the first process of a trial logs the lines of the dry run, and that its steps about
//! programs and settings are in that log.

use crate::place;
use crate::repeatable::summary_on;
use disklab_config::workload::WorkloadKind;
use disklab_config::{Lab, Suite, Trial};
use disklab_guest::init::actions;
use disklab_guest::site::GuestSite;
use disklab_protocol::action::Plan;
use disklab_protocol::names;
use disklab_protocol::shell;
use disklab_protocol::step::{ProgramEnd, Step};
use disklab_record::{Record, Status};
use disklab_runner::Installation;
use disklab_units::{Bytes, Nanos};
use libtest_mimic::Trial as Test;
use std::fs;
use std::path::Path;

pub fn tests() -> Vec<Test> {
    let suites = Lab::load(&place::share().lab()).unwrap().suites.into_keys();
    let test = |suite: String| {
        let name = format!("the_dry_run_is_what_runs::{suite}");
        Test::test(name, move || {
            first_trial_runs_as_printed(&suite);
            Ok(())
        })
    };
    suites.map(test).collect()
}

fn first_trial_runs_as_printed(name: &str) {
    let lab = Lab::load(&place::share().lab()).unwrap();
    let suite: Suite = lab.suite(name).unwrap();
    let trial = short(suite.trials(&lab).unwrap().swap_remove(0));
    let here = tempfile::tempdir().unwrap();
    let (installation, cache) = (Installation::find().unwrap(), place::cache());
    let trials = std::slice::from_ref(&trial);
    let (_, folder) = summary_on(place::kernel(), &installation, &cache, trials, here.path(), 1);
    let record = Record::open(&folder).unwrap();
    let (_, outcome) = record.outcomes().swap_remove(0);
    let outcome = outcome.expect("the trial has run");
    if outcome.status == Status::Skipped {
        println!("skipped {name}: {}", outcome.reason.as_deref().unwrap_or_default());
        return;
    }
    let raw = record.raw(outcome).expect("raw output");
    runs_as_printed(&raw, &disklab_runner::plan(&trial), name);
    let Some(preparing) = disklab_runner::preparing_plan(&trial) else { return };
    // The cache keeps the output of the guest that prepared the disks.
    let folders = fs::read_dir(cache.disks()).unwrap().map(|entry| entry.unwrap().path());
    // Other tests make disks there at the same time. The digests are written last.
    let is_it = |folder: &std::path::PathBuf| {
        folder.join("disks.sha256").exists() && plan_of(folder).as_ref() == Some(&preparing)
    };
    let folder = folders.into_iter().find(is_it).expect("its disks are in the cache");
    runs_as_printed(&folder, &preparing, name);
}

/// Makes the trial shorter: smaller files, less time.
fn short(mut trial: Trial) -> Trial {
    const FILE: Bytes = Bytes::mib(16);
    "newest".clone_into(&mut trial.kernel);
    trial.runtime = trial.runtime.min(Nanos::from_millis(200));
    trial.ramp = trial.ramp.min(Nanos::from_millis(50));
    let workloads = [&mut trial.workload].into_iter();
    let beside = trial.background.iter_mut().flat_map(|beside| &mut beside.workload);
    for workload in workloads.chain(beside) {
        match &mut workload.kind {
            WorkloadKind::Fio(fio) => fio.file_size = fio.file_size.min(FILE),
            WorkloadKind::Player { file_size, .. } => *file_size = (*file_size).min(FILE),
            WorkloadKind::FileLoad(load) => load.scale = 1,
            WorkloadKind::Startup(_) | WorkloadKind::Phases(_) => {}
        }
    }
    if let Some(cut) = &mut trial.power_cut {
        cut.cuts = 1;
    }
    trial
}

fn plan_of(folder: &Path) -> Option<Plan> {
    serde_json::from_slice(&fs::read(folder.join(names::PLAN)).ok()?).ok()
}

fn runs_as_printed(folder: &Path, plan: &Plan, name: &str) {
    let log = fs::read_to_string(folder.join(names::ACTIONS)).unwrap();
    let logged: Vec<&str> = log.lines().collect();
    let steps = Step::read_all(&fs::read(folder.join(names::STEPS)).unwrap());
    let printed = actions::lines(plan, &GuestSite);
    if steps.last() == Some(&Step::Finished) {
        assert_eq!(logged, printed, "{name}");
    } else {
        // A trial this short may fail. Its steps until then are as printed.
        println!("{name} ended with {:?}", steps.last());
        assert_eq!(logged, printed[..logged.len()], "{name}");
    }
    let mut next = logged.iter();
    for step in &steps {
        let line = match step {
            Step::Set { path, value, .. } => format!("echo {} > {path}", shell::word(value)),
            Step::Program { end: ProgramEnd { command, .. }, .. }
            | Step::Phase { program: Some(ProgramEnd { command, .. }), .. } => {
                shell::command(command)
            }
            _ => continue,
        };
        let is_logged = next.any(|logged| logged.trim_end_matches(" &") == line);
        assert!(is_logged, "{name}: `{line}` was run and is not in this order in\n{log}");
    }
}

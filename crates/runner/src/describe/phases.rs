//! The phases of a workload: the guest's work in each.

use super::{fio, stack};
use disklab_config::Trial;
use disklab_config::command::filled;
use disklab_config::phases::{Caches, FileJob, PhaseAction, Phases, WorkloadPhase};
use disklab_protocol::measure::{Measured, PhaseFio, PhaseWork, PlannedPhase};
use disklab_protocol::places::{self, GO, POOL, SAY};
use disklab_protocol::setup::ZeroFile;
use disklab_units::{Bytes, Seed};

/// A runtime longer than any phase: its reader is ended with the phase.
const ENDLESS: &str = "--runtime=30d";

/// Lists the files that are laid out when the disks are prepared.
pub fn files(phases: &Phases) -> impl Iterator<Item = ZeroFile> {
    phases.laid_out().into_iter().map(|(name, bytes)| ZeroFile { name, bytes })
}

/// Returns a command of the workload, as the guest runs it.
pub fn command(trial: &Trial, words: &[String]) -> Vec<String> {
    let jobs = trial.workload.phases().map_or(1, |phases| phases.numjobs);
    let spare = stack::spare(trial);
    filled(
        words,
        POOL,
        &stack::first_device(trial),
        &stack::last_disk(trial),
        spare.as_deref(),
        jobs,
    )
}

pub fn measured(trial: &Trial, phases: &Phases) -> Measured {
    Measured::Phases(phases.all.iter().map(|phase| describe(trial, phases, phase)).collect())
}

fn describe(trial: &Trial, phases: &Phases, phase: &WorkloadPhase) -> PlannedPhase {
    let what = match &phase.what {
        PhaseAction::Fio(jobs) => PhaseWork::Fio(of_fio(trial, phase, jobs)),
        PhaseAction::Program { command: words, .. } => PhaseWork::Program(command(trial, words)),
        PhaseAction::Remount => match stack::mount(trial) {
            Some(mount) => PhaseWork::Remount { mount, settings: stack::mount_settings(trial) },
            // No suite has phases on a bare device.
            None => PhaseWork::Program(vec!["false".to_owned()]),
        },
    };
    PlannedPhase {
        name: phase.name.clone(),
        cold: phase.caches == Caches::Cold,
        limit_ns: phase.limit.0,
        system_call_ns: phases.system_call.0,
        what,
        reader: phase.reader.as_ref().map(|reader| of_reader(trial, &phase.name, reader)),
    }
}

/// Returns jobs that wait for the phase to begin, and end when all their bytes are done.
fn of_fio(trial: &Trial, phase: &WorkloadPhase, jobs: &[FileJob]) -> PhaseFio {
    let invalidate = format!("--invalidate={}", u8::from(phase.caches == Caches::Cold));
    let phase = &*phase.name;
    let report = format!("/tmp/fio-{phase}.json");
    let mut command = fio::program(&report, seed(trial, phase, "fio"));
    // Like most programs, fio does not reserve a file's blocks. The phase decides whether its data
    // may be in memory.
    command.extend(["--fallocate=none".to_owned(), invalidate]);
    for job in jobs {
        // fio writes whole requests only. If a file lacks a part of the last request of a later
        // job, fio makes the file anew before the phase.
        let whole = job.file_size.0.next_multiple_of(job.job.bs.0.max(1));
        let size = if job.job.makes() { Bytes(whole) } else { job.file_size };
        command.extend(fio::job(phase, &format!("{POOL}/{}", job.file), size, &job.job));
        if job.job.rw.writes() {
            command.push("--end_fsync=1".to_owned());
        }
        if job.stonewall {
            command.push("--stonewall".to_owned());
        }
        command.push(before(phase));
        command.push(format!("--exec_postrun=echo {} >{SAY}; exit 0;", places::over(phase)));
    }
    let count = |jobs: &[FileJob]| jobs.iter().map(|each| each.job.numjobs).sum();
    let alone =
        jobs.iter().skip(1).position(|job| job.stonewall).map_or(jobs.len(), |behind| behind + 1);
    let files = jobs.iter().filter(|each| !each.job.makes()).map(needed).collect();
    PhaseFio { command, jobs: count(jobs), first: count(&jobs[..alone]), report, files }
}

fn of_reader(trial: &Trial, phase: &str, reader: &FileJob) -> PhaseFio {
    let report = format!("/tmp/reader-{phase}.json");
    let mut command = fio::program(&report, seed(trial, phase, "reader"));
    let file = format!("{POOL}/{}", reader.file);
    command.extend(fio::job("reader", &file, reader.file_size, &reader.job));
    command.extend(["--time_based".to_owned(), ENDLESS.to_owned(), before(phase)]);
    let jobs = reader.job.numjobs;
    PhaseFio { command, jobs, first: jobs, report, files: vec![needed(reader)] }
}

/// Returns the file that a job needs when its phase begins.
fn needed(job: &FileJob) -> ZeroFile {
    ZeroFile { name: job.file.clone(), bytes: job.file_size }
}

/// Returns the command just before a job's first request. It ends before the text that fio appends
/// to write to a file.
fn before(phase: &str) -> String {
    format!("--exec_prerun=echo {} >{SAY}; exec 3<{GO}; exit 0;", places::ready(phase))
}

fn seed(trial: &Trial, phase: &str, what: &str) -> Seed {
    trial.seed.derive(&format!("{what} of phase {phase}"))
}

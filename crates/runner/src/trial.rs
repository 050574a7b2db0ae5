//! One trial, from its description to what became of it.

use crate::describe::{self, DISKS};
use crate::error::{Error, Result};
use crate::evidence::Who;
use crate::guest::{End, Guest, Timeouts};
use crate::prepared::{self, Prepared};
use crate::run::Run;
use crate::scratch::Scratch;
use crate::{
    estimate, evidence, fault, fsload, image, phases, player, power_cut, snapshots, startup,
    throughput,
};
use disklab_config::Trial;
use disklab_config::suite::Metadata;
use disklab_config::workload::WorkloadKind;
use disklab_guest::heartbeat::Heartbeat;
use disklab_kernels::Kernel;
use disklab_protocol::closing::Closing;
use disklab_protocol::names;
use disklab_protocol::step::Step;
use disklab_record::outcome::{Cell, Fault};
use disklab_record::{Outcome, Status};
use disklab_results::integrity::Clock;
use disklab_results::measure::Measures;
use disklab_results::sample::{self, RequestedLoad};
use disklab_results::{Remark, Sample, fio, read_stats};
use disklab_units::{Bytes, Nanos};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Less than this, and a full disk would cut off even the account of what went wrong.
const RAW_OUTPUT: Bytes = Bytes::mib(16);

/// Carries a trial out in `folder`, where its raw output stays. An error is the host's; a trial's
/// own failure is an outcome.
pub fn run(
    run: &Run,
    trial: &Trial,
    kernel: &Kernel,
    disks: Option<&Prepared>,
    folder: &Path,
    seen: &mut dyn FnMut(Heartbeat),
) -> Result<Outcome> {
    let started = Instant::now();
    image::check_room("the raw output of a trial", folder, RAW_OUTPUT)?;
    let scratch = Scratch::create(&run.trials_folder())?;
    if let Some(prepared) = disks {
        prepared.copy(trial, scratch.path())?;
    }
    // A name in the trial's folder, so that its description is the same wherever the disks are.
    let link = folder.join(DISKS);
    std::os::unix::fs::symlink(scratch.path(), &link).map_err(Error::io("link", &link))?;
    prepared::write_json(&folder.join(names::MACHINE), &describe::machine(trial, run.trace))?;
    prepared::write_json(&folder.join(names::PLAN), &describe::plan(trial))?;

    let limit = limit(trial, &run.timeouts);
    let guest = Guest {
        kernel: &kernel.path,
        installation: &run.installation,
        folder,
        memory: trial.memory,
        guests: run.jobs,
        parameters: &[],
    };
    let end = guest.run(run.timeouts.silence, limit, run.stop, seen)?;
    let virtual_ns = evidence::virtual_time(folder);
    let results = results(trial, folder, &end, Who::Guest);
    // While their disks are there.
    let left = match &results {
        Ok((.., closing)) => power_cut::look(run, trial, kernel, folder, closing)?,
        Err(_) => Ok(power_cut::Left::default()),
    };
    let fault = fault::of(folder, &end);
    for clutter in [DISKS, names::HEARTBEAT] {
        // A guest that ended at once has made no heartbeat.
        let _ = fs::remove_file(folder.join(clutter));
    }
    let results = results.and_then(|(sample, mut remarks, mut measures, closing)| {
        let (of_cuts, not_survived) = power_cut::results(trial, &closing, &left?)?;
        measures.extend(of_cuts);
        remarks.extend(not_survived);
        Ok((sample, remarks, measures, closing))
    });
    let mut outcome = outcome(trial, folder, &end, results, run.stop);
    if outcome.status == Status::Failed {
        // What could not be packed had been measured.
        outcome.fault =
            Some(if outcome.fault == Some(Fault::Machine) { Fault::Machine } else { fault });
    }
    outcome.virtual_ns = virtual_ns;
    outcome.disks = disks.map(|prepared| prepared.digests.clone()).unwrap_or_default();
    outcome.wall_ms = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    Ok(outcome)
}

/// When a trial is given up: what it takes, and much more.
pub fn limit(trial: &Trial, timeouts: &Timeouts) -> Nanos {
    Nanos(estimate::virtual_time(trial).0 * 2 + timeouts.overtime.0)
}

/// What became of a trial whose raw output is whole, or not; with what else there is to say of it,
/// or why it is not.
pub fn conclude(
    trial: &Trial,
    folder: &Path,
    end: &End,
    who: Who,
    besides: std::result::Result<Vec<Remark>, String>,
    stop: &AtomicBool,
) -> Outcome {
    let results =
        results(trial, folder, end, who).and_then(|(sample, mut remarks, measures, closing)| {
            remarks.extend(besides?);
            Ok((sample, remarks, measures, closing))
        });
    outcome(trial, folder, end, results, stop)
}

fn outcome(
    trial: &Trial,
    folder: &Path,
    end: &End,
    results: std::result::Result<Results, String>,
    stop: &AtomicBool,
) -> Outcome {
    let mut outcome = blank(trial);
    // Of one that failed, too; what keeps it from being packed, such as a full disk, is a failure
    // of the trial.
    let packed = disklab_trace::pack(folder)
        .map_err(|error| format!("{} could not be packed: {error}", names::REQUESTS));
    let is_unpacked = results.is_ok() && packed.is_err();
    match results.and_then(|results| packed.map(|()| results)) {
        Ok((sample, remarks, measures, _)) => {
            outcome.status =
                if remarks.iter().any(Remark::voids) { Status::Failed } else { Status::Ok };
            outcome.reason = remarks.iter().find(|remark| remark.voids()).map(ToString::to_string);
            (outcome.sample, outcome.remarks, outcome.measures) = (sample, remarks, measures);
        }
        Err(reason) => {
            // One that a signal reached before us ended in its own way.
            let stopped = matches!(end, End::Stopped) || stop.load(Ordering::Relaxed);
            outcome.status = if stopped { Status::Interrupted } else { Status::Failed };
            outcome.reason = Some(reason);
            outcome.fault = is_unpacked.then_some(Fault::Machine);
        }
    }
    outcome
}

/// The outcome of a trial that was not carried out.
pub fn not_run(trial: &Trial, status: Status, reason: String) -> Outcome {
    Outcome { status, reason: Some(reason), ..blank(trial) }
}

fn blank(trial: &Trial) -> Outcome {
    let cell = Cell(trial.cell.clone());
    Outcome::new(trial.id.clone(), cell, trial.seed_index, trial.seed, Status::Failed)
}

/// Of btrfs's trees, for a read whose checksum is not in memory: a leaf and the nodes above it, of
/// 16 KiB each.
const COLD: u64 = 4 * (16 << 10);

/// fio's numbers, where it was fio, what is odd about them, and others.
type Results = (Option<Sample>, Vec<Remark>, Measures, Closing);

fn results(
    trial: &Trial,
    folder: &Path,
    end: &End,
    who: Who,
) -> std::result::Result<Results, String> {
    let closing = evidence::judge(folder, end, who)?;
    let text = fs::read(folder.join(names::STEPS)).map_err(|e| format!("{}: {e}", names::STEPS))?;
    let steps = Step::read_all(&text);
    let mut measures = throughput::measures(trial, &closing);
    measures.extend(snapshots::measures(trial, &steps)?);
    let with_remark = |(own, late): (Measures, Option<Remark>)| (own, late.into_iter().collect());
    let (own, late) = match &trial.workload.kind {
        WorkloadKind::Phases(phases) => phases::measures(phases, folder, &steps, &closing)?,
        WorkloadKind::Player { player, .. } => with_remark(player::measures(player, &steps)?),
        WorkloadKind::Startup(_) => with_remark(startup::measures(&steps)?),
        WorkloadKind::FileLoad(_) => (fsload::measures(folder)?, Vec::new()),
        WorkloadKind::Fio(_) => (Measures::new(), Vec::new()),
    };
    measures.extend(own);
    let Some(w) = trial.workload.fio() else { return Ok((None, late, measures, closing)) };
    let path = folder.join(names::FIO);
    let report = fs::read(&path).map_err(|e| format!("fio left no report: {e}"))?;
    let report = fio::parse(&report).map_err(|e| format!("fio's report: {e}"))?;
    let direct = w.is_direct();
    let blocks: BTreeSet<Bytes> = w.jobs.iter().map(|job| job.bs).collect();
    let asked = RequestedLoad {
        in_flight: (direct && w.jobs.iter().all(|job| job.rate.is_none())).then(|| w.depth()),
        direct,
        alone: !describe::is_accompanied(trial),
        runtime: describe::fio_runtime(trial),
        jobs: w.numjobs(),
        has_one_window: describe::has_one_window(trial),
        block: blocks.first().filter(|_| blocks.len() == 1).map(|block| block.0),
        clock: if who == Who::Guest { Clock::Virtual } else { Clock::Real },
        besides: if trial.metadata == Metadata::Warm { 0 } else { COLD },
    };
    let (mut sample, mut remarks) = sample::join(&report, &closing, &asked);
    remarks.extend(read_stats::add(&steps, &mut sample));
    Ok((Some(sample), remarks, measures, closing))
}

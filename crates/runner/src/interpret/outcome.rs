//! Makes the outcome of a trial from the raw files that it left.

use super::end::End;
use super::evidence::{self, Who};
use super::{choice, fsload, phases, player, sections, snapshots, startup, throughput};
use crate::describe::fio::{fio_runtime, has_one_window, is_accompanied};
use disklab_config::Trial;
use disklab_config::suite::Metadata;
use disklab_config::workload::WorkloadKind;
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
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes an outcome from a trial's results, or from the reason why it has none.
pub fn outcome(
    trial: &Trial,
    folder: &Path,
    end: &End,
    results: Result<TrialResults, String>,
    stop: &AtomicBool,
) -> Outcome {
    let mut outcome = blank(trial);
    // Raw files of a failed trial are packed too. If they cannot be packed, for example on a full
    // disk, the trial has failed.
    let packed = disklab_trace::pack(folder)
        .map_err(|error| format!("{} could not be packed: {error}", names::REQUESTS));
    let is_unpacked = results.is_ok() && packed.is_err();
    match results.and_then(|results| packed.map(|()| results)) {
        Ok(results) => results.put_into(&mut outcome),
        Err(reason) => {
            // A trial whose process a signal reached first ended in its own way.
            let stopped = matches!(end, End::Stopped) || stop.load(Ordering::Relaxed);
            outcome.status = if stopped { Status::Interrupted } else { Status::Failed };
            outcome.reason = Some(reason);
            outcome.fault = is_unpacked.then_some(Fault::Machine);
        }
    }
    outcome
}

/// Returns the outcome of a trial that did not run.
pub fn not_run(trial: &Trial, status: Status, reason: String) -> Outcome {
    Outcome { status, reason: Some(reason), ..blank(trial) }
}

fn blank(trial: &Trial) -> Outcome {
    let cell = Cell(trial.cell.clone());
    Outcome::new(trial.id.clone(), cell, trial.seed_index, trial.seed, Status::Failed)
}

/// Bytes of btrfs's trees for a read whose checksum is not in memory: a leaf and the nodes above
/// it, of 16 KiB each.
const COLD: u64 = 4 * (16 << 10);

/// The results of a trial.
pub struct TrialResults {
    /// fio's numbers, if fio ran.
    pub sample: Option<Sample>,
    /// Remarks on implausible numbers.
    pub remarks: Vec<Remark>,
    pub measures: Measures,
    pub closing: Closing,
}

pub fn results(trial: &Trial, folder: &Path, end: &End, who: Who) -> Result<TrialResults, String> {
    let closing = evidence::judge(folder, end, who)?;
    let no_steps = || format!("the {} wrote no log of its steps", who.name());
    let text = evidence::raw_file(folder, names::STEPS, no_steps)?;
    let steps = Step::read_all(&text);
    let mut measures = throughput::measures(trial, &closing);
    measures.extend(snapshots::measures(trial, &steps)?);
    let with_remark = |(own, late): (Measures, Option<Remark>)| (own, late.into_iter().collect());
    let (own, mut remarks) = match &trial.workload.kind {
        WorkloadKind::Phases(phases) => phases::measures(phases, folder, &steps, &closing)?,
        WorkloadKind::Player { player, .. } => with_remark(player::measures(player, &steps)?),
        WorkloadKind::Startup(_) => with_remark(startup::measures(&steps)?),
        WorkloadKind::FileLoad(_) => (fsload::measures(folder)?, Vec::new()),
        WorkloadKind::Fio(_) => (Measures::new(), Vec::new()),
    };
    measures.extend(own);
    remarks.extend(choice::remarks(trial, &closing));
    // Without this remark, the failed start would not show in the result.
    remarks.extend(folder.join(names::STALLED).exists().then_some(Remark::StartedAgain));
    let Some(w) = trial.workload.fio() else {
        return Ok(TrialResults { sample: None, remarks, measures, closing });
    };
    let report = evidence::raw_file(folder, names::FIO, || "fio wrote no report".to_owned())?;
    let report = fio::parse(&report).map_err(|e| format!("fio's report: {e}"))?;
    // The sections of a job file run in turn, and may end, wait and verify, so that few checks
    // apply.
    let is_job_file = !w.sections.is_empty();
    let direct = w.is_direct() && !is_job_file;
    let blocks: BTreeSet<Bytes> = w.jobs.iter().map(|job| job.bs).collect();
    let asked = RequestedLoad {
        in_flight: (direct && w.jobs.iter().all(|job| job.rate.is_none())).then(|| w.depth()),
        direct,
        alone: !is_accompanied(trial) && !is_job_file,
        runtime: if is_job_file { Nanos::ZERO } else { fio_runtime(trial) },
        jobs: w.numjobs(),
        has_one_window: has_one_window(trial),
        block: blocks.first().filter(|_| blocks.len() == 1 && !is_job_file).map(|block| block.0),
        clock: if who == Who::Guest { Clock::Virtual } else { Clock::Real },
        besides: if trial.metadata == Metadata::Warm { 0 } else { COLD },
    };
    let (of_sections, few) = sections::measures(&w.sections, &report)?;
    measures.extend(of_sections);
    remarks.extend(few);
    let (mut sample, odd) = sample::join(&report, &closing, &asked);
    remarks.extend(odd);
    remarks.extend(read_stats::add(&steps, &mut sample));
    Ok(TrialResults { sample: Some(sample), remarks, measures, closing })
}

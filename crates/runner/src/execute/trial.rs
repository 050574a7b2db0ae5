//! Runs one trial in a guest, from its description to its outcome.

use super::guest::Timeouts;
use super::left_behind;
use super::power_cut;
use super::prepared::{Prepared, write_json};
use super::run::Run;
use super::scratch::{Scratch, remove_file};
use crate::describe::machine::{DISKS, machine};
use crate::describe::plan::plan;
use crate::describe::read_policy;
use crate::error::{Error, Result};
use crate::estimate;
use crate::interpret::evidence::{self, Who};
use crate::interpret::outcome::{TrialResults, outcome, results};
use crate::interpret::power_cut::Left;
use crate::interpret::{fault, power_cut as cuts};
use crate::room::check_room;
use disklab_config::Trial;
use disklab_kernels::Kernel;
use disklab_protocol::heartbeat::Heartbeat;
use disklab_protocol::names;
use disklab_record::outcome::Fault;
use disklab_record::{Outcome, Status};
use disklab_units::{Bytes, Nanos};
use std::path::Path;
use std::time::Instant;

/// Least free room. With less, a full disk would cut off even the description of the failure.
const RAW_OUTPUT: Bytes = Bytes::mib(16);

/// Runs a trial in `folder`, where its raw output stays. An error concerns the host; a failure of
/// the trial is an outcome.
pub fn run(
    run: &Run,
    trial: &Trial,
    kernel: &Kernel,
    disks: Option<&Prepared>,
    folder: &Path,
    seen: &mut dyn FnMut(Heartbeat),
) -> Result<Outcome> {
    let started = Instant::now();
    check_room("the raw output of a trial", folder, RAW_OUTPUT)?;
    let scratch = Scratch::create(&run.trials_folder())?;
    if let Some(prepared) = disks {
        prepared.copy(trial, scratch.path())?;
    }
    // The link gives the disks a name in the trial's folder, so that the description is the same
    // for any place.
    let link = folder.join(DISKS);
    std::os::unix::fs::symlink(scratch.path(), &link).map_err(Error::io("link", &link))?;
    write_json(&folder.join(names::MACHINE), &machine(trial, run.trace))?;
    write_json(&folder.join(names::PLAN), &plan(&read_policy::named_on(trial, kernel)))?;

    let limit = limit(trial, &run.timeouts);
    let end = run.guest(kernel, folder, trial.memory, &[], limit, seen)?;
    let hostile = left_behind::check(folder)?;
    let heartbeat = folder.join(names::HEARTBEAT);
    let virtual_ns = evidence::virtual_time(folder).map_err(Error::io("read", &heartbeat))?;
    // Only the host makes this link; a program may have removed it.
    remove_file(&link)?;
    std::os::unix::fs::symlink(scratch.path(), &link).map_err(Error::io("link", &link))?;
    let results = match (&hostile, results(trial, folder, &end, Who::Guest)) {
        (Some(reason), Ok(_)) => Err(reason.clone()),
        (Some(reason), Err(own)) => Err(format!("{reason}; {own}")),
        (None, results) => results,
    };
    // This comes while the disks still exist.
    let (left, virtual_ns) = match &results {
        // Programs of the guest may write the heartbeat; the closing record comes after their end.
        Ok(TrialResults { closing, .. }) => {
            (power_cut::look(run, trial, kernel, folder, closing)?, Some(closing.virtual_ns))
        }
        Err(_) => (Ok(Left::default()), virtual_ns),
    };
    let reason = results.as_ref().err().map(String::as_str);
    let fault = match hostile {
        Some(_) if !fault::was_killed(&end) => Fault::Trial,
        _ => fault::of_guest(folder, &end, reason),
    };
    let is_full = fault::is_full(folder);
    remove_file(&link)?;
    // A guest that ended at once has made no heartbeat.
    remove_file(&heartbeat)?;
    let results = results.and_then(|mut results| {
        let (of_cuts, not_survived) = cuts::results(trial, &results.closing, &left?)?;
        results.measures.extend(of_cuts);
        results.remarks.extend(not_survived);
        Ok(results)
    });
    let mut outcome = outcome(trial, folder, &end, results, run.stop);
    if outcome.status == Status::Failed {
        // The trial was measured, and its output could not be packed.
        outcome.fault = outcome.fault.or(Some(fault));
        if outcome.fault == Some(Fault::Machine) && (is_full || fault::is_full(folder)) {
            let reason = outcome.reason.unwrap_or_default();
            let path = if fault::is_full(folder) { folder.to_owned() } else { run.trials_folder() };
            return Err(Error::Full { what: trial.id.clone(), reason, path });
        }
        if let Some(reason) = read_policy::lacking(trial, kernel, folder) {
            (outcome.status, outcome.reason, outcome.fault) = (Status::Skipped, Some(reason), None);
        }
    }
    outcome.virtual_ns = virtual_ns;
    outcome.disks = disks.map(|prepared| prepared.digests.clone()).unwrap_or_default();
    outcome.wall_ms = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    Ok(outcome)
}

/// Returns the virtual time after which a trial counts as failed: its own time, and much more.
pub fn limit(trial: &Trial, timeouts: &Timeouts) -> Nanos {
    Nanos(estimate::virtual_time(trial).0 * 2 + timeouts.overtime.0)
}

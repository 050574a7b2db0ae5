//! After a trial with power cuts, runs a guest on the disks in each state that a cut may leave. The
//! guest mounts the filesystem, checks all promises to the witness, reads everything, and runs the
//! filesystem's own checker.

use super::guest::A_DAY_AFTER;
use super::prepared::write_json;
use super::run::Run;
use super::scratch::{remove_file, remove_folder};
use crate::describe::machine::{self, DISKS};
use crate::describe::power_cut;
use crate::error::{Error, Result};
use crate::interpret::end::End;
use crate::interpret::evidence::{self, Who};
use crate::interpret::power_cut::Left;
use crate::interpret::{fault, fsload};
use crate::room::check_room;
use disklab_config::Trial;
use disklab_kernels::Kernel;
use disklab_protocol::closing::{Closing, PowerCut};
use disklab_protocol::machine::{GuestMachine, cut_images};
use disklab_protocol::names;
use disklab_units::{Bytes, Nanos};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Reading everything on a large, slow disk takes long.
const LIMIT: Nanos = Nanos::from_secs(24 * 3600);

/// Largest room for the raw output of a state.
const RAW_OUTPUT: Bytes = Bytes::mib(16);

/// Checks all states of all cuts, and keeps the evidence. The inner error gives the reason why a
/// check was impossible.
pub fn look(
    run: &Run,
    trial: &Trial,
    kernel: &Kernel,
    folder: &Path,
    closing: &Closing,
) -> Result<std::result::Result<Left, String>> {
    let mut left = Left::default();
    let most = trial.power_cut.map_or(0, |asked| asked.cuts.saturating_mul(asked.states));
    if closing.power_cuts.len() > most as usize {
        return Ok(Err(format!(
            "the closing record has {} states of disks, and the suite asks for {most}",
            closing.power_cuts.len()
        )));
    }
    for (number, cut) in closing.power_cuts.iter().enumerate() {
        let looked = look_at(run, trial, kernel, folder, number, cut)?;
        if looked.is_err() {
            if run.stop.load(Ordering::Relaxed) {
                return Ok(Err("interrupted".to_owned()));
            }
            // Without this check, a full disk of the host would count as the filesystem's fault.
            check_room("the check of a power cut", folder, RAW_OUTPUT)?;
        }
        left.add(cut, looked);
    }
    Ok(Ok(left))
}

fn look_at(
    run: &Run,
    trial: &Trial,
    kernel: &Kernel,
    folder: &Path,
    number: usize,
    cut: &PowerCut,
) -> Result<std::result::Result<Option<Nanos>, String>> {
    let place = cut_images(folder, number);
    fs::create_dir(&place).map_err(Error::io("create", &place))?;
    let disks = fs::canonicalize(cut_images(&folder.join(DISKS), number))
        .map_err(Error::io("find", folder))?;
    let link = place.join(DISKS);
    std::os::unix::fs::symlink(&disks, &link).map_err(Error::io("link", &link))?;
    let machine = GuestMachine { power_cuts: None, ..machine::machine(trial, false) };
    write_json(&place.join(names::MACHINE), &machine)?;
    let files = match fsload::promises(trial, folder, cut.promised) {
        Ok(files) => files,
        Err(reason) => return Ok(Err(reason)),
    };
    write_json(&place.join(names::PLAN), &power_cut::plan(trial, cut.acknowledged, files))?;
    let end = run.guest(kernel, &place, trial.memory, &[A_DAY_AFTER], LIMIT, &mut |_| ())?;
    remove_file(&link)?;
    // A guest that ended at once has made no heartbeat.
    remove_file(&place.join(names::HEARTBEAT))?;
    remove_folder(&disks)?;
    if matches!(end, End::Stopped) {
        return Ok(Err("interrupted".to_owned()));
    }
    let judged = evidence::judge(&place, &end, Who::Guest);
    match judged {
        // The filesystem is not at fault.
        Err(reason) if fault::was_killed(&end) => {
            Err(Error::CheckKilled { number: number + 1, reason })
        }
        judged => Ok(judged.map(|_| evidence::mount_time(&place))),
    }
}

//! After a trial with power cuts: for each, a guest on the disks as the cut left them. It mounts
//! the filesystem, looks for all that the witness was promised, reads everything there is, and has
//! the filesystem's own checker look at it.

use crate::describe::{self, DISKS};
use crate::error::{Error, Result};
use crate::guest::{A_DAY_AFTER, End, Guest};
use crate::run::Run;
use crate::{evidence, fsload, image, prepared, stack};
use disklab_config::power_cut::{Flushes, PowerCut as Asked};
use disklab_config::suite::metric::SURVIVED;
use disklab_config::{Filesystem, Trial};
use disklab_fsload::promises::Promise;
use disklab_kernels::Kernel;
use disklab_protocol::action::{Action, CheckSurvival, Plan, Program, Unmount};
use disklab_protocol::closing::{Closing, PowerCut};
use disklab_protocol::machine::{GuestMachine, PowerCutPlan, cut_images};
use disklab_protocol::names;
use disklab_protocol::places::Side;
use disklab_protocol::places::{POOL, ZFS_POOL};
use disklab_results::Remark;
use disklab_results::measure::{Better, Measure, Measures};
use disklab_units::{Bytes, Nanos};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// A file that fio rewrites block by block, each with its checksum.
const VERIFIED: &str = "verified";
const VERIFIED_SIZE: Bytes = Bytes::mib(16);
/// So many of its blocks a second: the disks are mostly the workload's.
const REWRITES: u32 = 100;
/// To read everything on a large, slow disk takes long.
const LIMIT: Nanos = Nanos::from_secs(24 * 3600);
/// Of one cut: none survived is not told from less than this.
const HALF: f64 = 0.5;
/// What the account of a cut takes at most.
const RAW_OUTPUT: Bytes = Bytes::mib(16);

/// What the disk library is to do.
pub fn wanted(trial: &Trial, asked: Asked) -> PowerCutPlan {
    PowerCutPlan {
        cuts: asked.cuts,
        length_ns: trial.runtime.0,
        ignore_flushes: asked.flushes == Flushes::Ignored,
        folder: DISKS.into(),
    }
}

/// fio's options for the file that it verifies.
fn verified(options: &[&str]) -> Vec<String> {
    let fixed = [
        "fio",
        "--clocksource=clock_gettime",
        "--thread",
        "--disk_util=0",
        "--eta=never",
        "--name=verified",
        "--bs=4k",
        "--direct=1",
        "--verify=crc32c",
        "--verify_state_save=0",
    ];
    let place = [format!("--filename={POOL}/{VERIFIED}"), format!("--size={}", VERIFIED_SIZE.0)];
    fixed.iter().chain(options).map(|&word| word.to_owned()).chain(place).collect()
}

/// Writes it once, before anything is measured.
pub fn lay_out() -> Vec<String> {
    verified(&["--rw=write", "--do_verify=0", "--end_fsync=1"])
}

/// Goes on writing it at random.
pub fn rewrite(trial: &Trial) -> Vec<String> {
    let seed = format!("--randseed={}", trial.seed.derive("verified").0 >> 1);
    let rate = format!("--rate_iops={REWRITES}");
    let options =
        ["--rw=randwrite", "--do_verify=0", "--norandommap", "--randrepeat=0", "--time_based"];
    let until_ended = ["--runtime=30d", &seed, &rate];
    verified(&[options.as_slice(), &until_ended].concat())
}

/// What the guest after a cut does.
fn plan(trial: &Trial, promised: u64, files: Vec<Promise>) -> Plan {
    let verify = verified(&["--rw=read", "--verify_fatal=1"]);
    let scrub = match trial.array.layout.filesystem() {
        Some(Filesystem::Btrfs) => {
            Some(stack::words(&["btrfs", "scrub", "start", "-B", "-r", POOL]))
        }
        Some(Filesystem::Zfs) => Some(stack::words(&["zpool", "scrub", "-w", ZFS_POOL])),
        _ => None,
    };
    let mut actions: Vec<Action> =
        describe::device_settings(trial).into_iter().map(Action::Set).collect();
    actions.extend(stack::below(trial, false));
    actions.extend(stack::mount(trial).map(Action::Mount));
    actions.push(Action::CheckSurvival(CheckSurvival { promised, files }));
    let look = scrub.into_iter().chain([verify]);
    actions.extend(look.map(|command| stack::run("look", command)));
    let unmount = Unmount { all: vec![Side::Pool] };
    actions.extend(stack::mount(trial).map(|_| Action::Unmount(unmount)));
    actions.extend(stack::fsck(trial).map(|command| stack::run("fsck", command)));
    actions.extend(stack::stop_below(trial));
    Plan { actions }
}

/// The programs that look at what a trial's power cuts leave.
pub fn programs(trial: &Trial) -> Vec<String> {
    let Some(_) = trial.power_cut else { return Vec::new() };
    let looks = plan(trial, 0, Vec::new()).actions.into_iter().filter_map(|action| match action {
        Action::Run(Program { step, command }) if step == "look" || step == "fsck" => Some(command),
        _ => None,
    });
    looks.filter_map(|words| words.into_iter().next()).collect()
}

/// What a trial's cuts left.
#[derive(Debug, Default)]
pub struct Left {
    /// How long mounting took, and how many records had been promised, after each cut that was
    /// survived.
    survived: Vec<(Option<Nanos>, u64)>,
    /// What was not there after the others: of each its number, from 1 on, when it was, and the
    /// reason.
    lost: Vec<(usize, Nanos, String)>,
}

/// All cuts are looked at: their evidence is kept. The inner error says why nobody could look.
pub fn look(
    run: &Run,
    trial: &Trial,
    kernel: &Kernel,
    folder: &Path,
    closing: &Closing,
) -> Result<std::result::Result<Left, String>> {
    let mut left = Left::default();
    for (number, cut) in closing.power_cuts.iter().enumerate() {
        match look_at(run, trial, kernel, folder, number, cut)? {
            Ok(took) => left.survived.push((took, cut.acknowledged)),
            Err(_) if run.stop.load(Ordering::Relaxed) => return Ok(Err("interrupted".to_owned())),
            Err(reason) => {
                // Else a full disk of the host's would be the filesystem's fault.
                if let Err(full) =
                    image::check_room("what looks at a power cut", folder, RAW_OUTPUT)
                {
                    return Ok(Err(full.to_string()));
                }
                left.lost.push((number + 1, cut.at, reason));
            }
        }
    }
    Ok(Ok(left))
}

/// What a trial's cuts add to its results, and to what is said beside them. An error if there were
/// none, of those that were asked for.
pub fn results(
    trial: &Trial,
    closing: &Closing,
    left: &Left,
) -> std::result::Result<(Measures, Option<Remark>), String> {
    let Some(asked) = trial.power_cut else { return Ok((Measures::new(), None)) };
    let cuts = &closing.power_cuts;
    if cuts.len() < asked.cuts as usize {
        return Err(format!(
            "of {} power cuts, only {} came before the guest's end",
            asked.cuts,
            cuts.len()
        ));
    }
    let unflushed = cuts.iter().map(|cut| cut.lost).max().unwrap_or_default();
    // What the disks lost is no merit of the filesystem's; that there was something to lose shows
    // in it.
    let unflushed = Measure { better: Better::Lower, ..Measure::rate(unflushed as f64, "blocks") };
    let survived = Measure {
        least: Some(HALF),
        of: Some(cuts.len() as f64),
        ..Measure::rate(left.survived.len() as f64, "cuts")
    };
    let mut measures = Measures::from([
        (SURVIVED.to_owned(), survived),
        ("unflushed blocks lost".to_owned(), unflushed),
    ]);
    if let Some(slowest) = left.survived.iter().filter_map(|(took, _)| *took).max() {
        measures.insert("slowest mount after a cut".to_owned(), Measure::time(slowest.0 as f64));
    }
    if let Some(records) = left.survived.iter().map(|(_, records)| *records).max() {
        let records = Measure::rate(records as f64, "records");
        measures.insert("fsynced records, all found".to_owned(), records);
    }
    Ok((measures, left.remark(cuts.len())))
}

impl Left {
    fn remark(&self, cuts: usize) -> Option<Remark> {
        let (number, at, reason) = self.lost.first()?;
        Some(Remark::NotSurvived {
            cuts: cuts as u64,
            lost: self.lost.len() as u64,
            first: format!("cut {number}, at {at}: {reason}"),
        })
    }
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
    let machine = GuestMachine { power_cuts: None, ..describe::machine(trial, false) };
    prepared::write_json(&place.join(names::MACHINE), &machine)?;
    let files = match fsload::promises(trial, folder, cut.promised) {
        Ok(files) => files,
        Err(reason) => return Ok(Err(reason)),
    };
    prepared::write_json(&place.join(names::PLAN), &plan(trial, cut.acknowledged, files))?;
    let guest = Guest {
        kernel: &kernel.path,
        installation: &run.installation,
        folder: &place,
        memory: trial.memory,
        guests: run.jobs,
        parameters: &[A_DAY_AFTER],
    };
    let end = guest.run(run.timeouts.silence, LIMIT, run.stop, &mut |_| ())?;
    for clutter in [&link, &place.join(names::HEARTBEAT)] {
        // A guest that ended at once has made no heartbeat.
        let _ = fs::remove_file(clutter);
    }
    fs::remove_dir_all(&disks).map_err(Error::io("remove", &disks))?;
    if matches!(end, End::Stopped) {
        return Ok(Err("interrupted".to_owned()));
    }
    Ok(evidence::judge(&place, &end, evidence::Who::Guest).map(|_| evidence::mount_time(&place)))
}

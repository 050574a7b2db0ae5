//! Power cuts: the file that records the promises, and the plan of the guest that checks them.

use super::scheduler::device_settings;
use super::stack;
use disklab_config::{Filesystem, Trial};
use disklab_fsload::promises::Promise;
use disklab_protocol::action::{Action, CheckSurvival, Plan, Program, Unmount};
use disklab_protocol::places::{POOL, Side, ZFS_POOL};
use disklab_units::Bytes;

/// A file that fio rewrites block by block, each with its checksum.
const VERIFIED: &str = "verified";

const VERIFIED_SIZE: Bytes = Bytes::mib(16);

/// Blocks that are rewritten per second: the disks are mostly the workload's.
const REWRITES: u32 = 100;

/// fio's command on the file that it verifies.
fn verified(options: &str) -> Vec<String> {
    stack::words(&format!(
        "fio --clocksource=clock_gettime --thread --disk_util=0 --eta=never --name=verified \
         --bs=4k --direct=1 --verify=crc32c --verify_state_save=0 {options} \
         --filename={POOL}/{VERIFIED} --size={}",
        VERIFIED_SIZE.0
    ))
}

/// Returns the command that writes the file once, before the measurement.
pub fn lay_out() -> Vec<String> {
    verified("--rw=write --do_verify=0 --end_fsync=1")
}

/// Returns the command that rewrites random blocks of the file.
pub fn rewrite(trial: &Trial) -> Vec<String> {
    verified(&format!(
        "--rw=randwrite --do_verify=0 --norandommap --randrepeat=0 --time_based --runtime=30d \
         --randseed={} --rate_iops={REWRITES}",
        trial.seed.derive("verified").0 >> 1
    ))
}

/// Returns the plan of the guest after a cut.
pub fn plan(trial: &Trial, promised: u64, files: Vec<Promise>) -> Plan {
    let verify = verified("--rw=read --verify_fatal=1");
    let scrub = match trial.array.layout.filesystem() {
        Some(Filesystem::Btrfs) => Some(format!("btrfs scrub start -B -r {POOL}")),
        Some(Filesystem::Zfs) => Some(format!("zpool scrub -w {ZFS_POOL}")),
        _ => None,
    };
    let mut actions: Vec<Action> = device_settings(trial).into_iter().map(Action::Set).collect();
    actions.extend(stack::below(trial, false));
    actions.extend(stack::mount(trial).map(Action::Mount));
    actions.push(Action::CheckSurvival(CheckSurvival { promised, files }));
    let look = scrub.map(|command| stack::words(&command)).into_iter().chain([verify]);
    actions.extend(look.map(|command| stack::run("look", command)));
    let unmount = Unmount { all: vec![Side::Pool] };
    actions.extend(stack::mount(trial).map(|_| Action::Unmount(unmount)));
    actions.extend(stack::fsck(trial).map(|command| stack::run("fsck", command)));
    actions.extend(stack::stop_below(trial));
    Plan { actions }
}

/// Lists the programs that check the disks after a trial's power cuts.
pub fn programs(trial: &Trial) -> Vec<String> {
    let Some(_) = trial.power_cut else { return Vec::new() };
    let looks = plan(trial, 0, Vec::new()).actions.into_iter().filter_map(|action| match action {
        Action::Run(Program { step, command }) if step == "look" || step == "fsck" => Some(command),
        _ => None,
    });
    looks.filter_map(|words| words.into_iter().next()).collect()
}

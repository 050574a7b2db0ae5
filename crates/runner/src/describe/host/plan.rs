//! The plan of a first process on this machine: a guest's plan, and actions for a machine that
//! others use too.

use super::place::HostPlace;
use crate::describe::fio::warming;
use crate::describe::plan::{self, HostAdditions};
use crate::describe::scheduler::device_settings;
use crate::describe::stack;
use disklab_block_devices::cgroups;
use disklab_config::phases::{Caches, Phases};
use disklab_config::policy::PREFIX;
use disklab_config::suite::Axis;
use disklab_config::suite::sweep::SweptParameter;
use disklab_config::workload::FioLoad;
use disklab_config::{Filesystem, Layout, SchedulerChoice, Trial};
use disklab_guest::init::kernel_value;
use disklab_guest::real_machine::RealMachine;
use disklab_protocol::action::{Action, CheckSettings, DropCaches, Plan, Release};
use disklab_protocol::measure::{Measure, Measured, WarmUp};
use disklab_protocol::setup::Setting;
use disklab_results::device_errors;
use disklab_units::{Nanos, Seed};
use rustix::process::geteuid;
use std::path::{Path, PathBuf};

/// Returns the reason why a trial cannot run on real disks at all.
pub fn obstacle(trial: &Trial, place: &HostPlace) -> Option<String> {
    let varies_memory =
        trial.cell.iter().any(|(axis, _)| *axis == SweptParameter::Memory.to_string());
    let priorities =
        [Some(trial.workload.priority), trial.background.as_ref().map(|beside| beside.priority)];
    let is_weighted = priorities.iter().flatten().any(|priority| priority.weight.is_some());
    let has_flash = place.disks().iter().any(|disk| !disk.rotational);
    let why = first_that_holds(&[
        (
            trial.power_cut.is_some(),
            "a power cut needs modelled disks, since disklab cannot cut the power of real ones",
        ),
        (
            varies_memory,
            "`memory` is for guests, and trials on real disks have all of the machine's memory; \
             leave the axis out",
        ),
        (
            trial.array.cache.is_some(),
            "bcache needs modelled disks, since it takes no UUID by which disklab could undo it",
        ),
        (
            names_a_guests_devices(trial),
            "its commands name devices of a guest (/dev/..., /sys/...), which are other devices \
             on this machine",
        ),
        (is_weighted && !cgroups::are_whole(), cgroups::NOT_WHOLE),
        (
            has_flash && reads_what_nobody_wrote(trial),
            "it reads a device that nothing was written to: an SSD answers such reads from its \
             map, without a read of its flash; take an array with a filesystem",
        ),
    ]);
    why.or_else(|| match place {
        HostPlace::Disks { disks, .. } if disks.len() != trial.devices.len() => Some(format!(
            "{} has {} disks, and {} were named",
            trial.array.name,
            trial.devices.len(),
            disks.len()
        )),
        HostPlace::Disks { .. } => None,
        HostPlace::At { path, .. } => at_obstacle(trial, path),
    })
}

fn first_that_holds(obstacles: &[(bool, &str)]) -> Option<String> {
    obstacles.iter().find(|(holds, _)| *holds).map(|(_, why)| (*why).to_owned())
}

/// Returns the reason if this kernel's btrfs lacks a read policy, as far as a mounted btrfs shows.
/// It serves users who may not try the policy. A scheduler may be a module that is loaded on
/// demand.
pub fn policy_not_had(trial: &Trial, place: &HostPlace) -> Option<String> {
    let sysfs = Path::new("/sys/fs/btrfs");
    let value = trial.policy.as_ref()?.setting();
    let of_all = || {
        let mut all: Vec<PathBuf> = sysfs
            .read_dir()
            .ok()?
            .flatten()
            .map(|entry| entry.path().join("read_policy"))
            .collect();
        all.sort();
        all.into_iter().find(|path| path.is_file())
    };
    let file = match place {
        HostPlace::At { uuid, .. } => sysfs.join(uuid.as_ref()?).join("read_policy"),
        HostPlace::Disks { .. } => of_all()?,
    };
    let has = std::fs::read_to_string(&file)
        .map_or_else(|_| "no such file".to_owned(), |text| text.trim().to_owned());
    let wanted = Setting { path: String::new(), value: value.clone(), choice: true };
    (!kernel_value::offers(&has, &wanted))
        .then(|| not_had(&value, &file.display().to_string(), &has))
}

/// Returns true if commands of a workload or a background contain paths of a guest's devices, in
/// place of the words for them.
fn names_a_guests_devices(trial: &Trial) -> bool {
    let beside = trial.background.iter();
    let processes = beside
        .clone()
        .flat_map(|background| background.processes.iter().map(|process| &process.command));
    let mut commands = processes.chain(beside.flat_map(|background| &background.prepare)).flatten();
    let phases = trial.workload.phases();
    let devices = ["/dev/md", "/dev/vd", "/sys/"];
    commands.any(|word| devices.iter().any(|device| word.contains(device)))
        || phases.is_some_and(|phases| devices.iter().any(|device| phases.uses(device)))
}

/// Returns true if a load reads a device without a filesystem: mkfs discards all blocks that it
/// does not write.
fn reads_what_nobody_wrote(trial: &Trial) -> bool {
    let bare = trial.array.layout.filesystem().is_none();
    let beside = trial.background.as_ref().and_then(|background| background.workload.as_ref());
    let mut loads = [&trial.workload].into_iter().chain(beside);
    let reads = |fio: &FioLoad| (bare || fio.raw) && fio.jobs.iter().any(|job| job.rw.reads());
    loads.any(|load| load.fio().is_some_and(reads))
}

/// Returns the reason why a trial cannot run in an existing filesystem.
fn at_obstacle(trial: &Trial, path: &Path) -> Option<String> {
    let is_root = geteuid().is_root();
    let background = trial.background.as_ref();
    let phases = trial.workload.phases();
    let fio = trial.workload.fio();
    let beside = background.and_then(|background| background.fio());
    let of_the_whole = |name: &String| ["btrfs", "mdadm", "sh"].contains(&name.as_str());
    let why = first_that_holds(&[
        (
            !is_root && !settings(trial).is_empty(),
            "it sets a read policy or a scheduler, and only root may do that",
        ),
        (
            !is_root && trial.workload.startup().is_some(),
            "a start-up is timed with cold caches, and only root may drop caches",
        ),
        (
            !is_root && (trial.workload.file_load().is_some() || phases.is_some_and(begin_cold)),
            "it reads its files with cold caches, and only root may drop caches",
        ),
        (
            background.is_some_and(|background| background.snapshots.is_some()),
            "snapshots need the whole filesystem, and disklab has only a folder of it",
        ),
        (
            phases.is_some_and(Phases::mounts),
            "it mounts its filesystem again, and disklab has only a folder of it",
        ),
        // Programs for a whole filesystem or its devices would act on the user's data too. Other
        // programs have only disklab's folder.
        (
            background.is_some_and(works_on_the_whole),
            "its background works on the whole filesystem, and disklab has only a folder of it",
        ),
        (
            phases.is_some_and(|phases| phases.programs().any(of_the_whole)),
            "its phases work on the whole filesystem, and disklab has only a folder of it",
        ),
        (
            fio.into_iter().chain(beside).any(|fio| fio.raw),
            "it reads the disk itself, and disklab has only a folder on it",
        ),
    ]);
    if why.is_some() {
        return why;
    }
    if path.is_dir() {
        return None;
    }
    let reads_one = fio.is_some_and(|fio| !fio.own_files && fio.only_reads());
    let size = path.metadata().map_or(0, |file| file.len());
    if !reads_one || background.is_some() {
        Some(format!(
            "{} is a single file, which is only read; the trial needs a folder to write in",
            path.display()
        ))
    } else if size < trial.workload.file_size().0 {
        Some(format!(
            "{} is shorter than the workload's file of {}",
            path.display(),
            trial.workload.file_size()
        ))
    } else {
        None
    }
}

fn begin_cold(phases: &Phases) -> bool {
    phases.all.iter().any(|phase| phase.caches == Caches::Cold)
}

/// Programs that work on a filesystem as a whole or on its devices, for any folder they are given.
const OF_THE_WHOLE: [&str; 6] = ["btrfs", "fsfreeze", "fstrim", "mdadm", "zfs", "zpool"];

fn works_on_the_whole(background: &disklab_config::Background) -> bool {
    let processes = background.processes.iter().map(|process| &process.command);
    processes.chain(&background.prepare).any(|command| {
        // defragment takes folders.
        let defragments =
            command.starts_with(&["btrfs", "filesystem", "defragment"].map(str::to_owned));
        let mut words =
            command.iter().flat_map(|word| word.split(|letter: char| !letter.is_alphanumeric()));
        !defragments && words.any(|word| OF_THE_WHOLE.contains(&word))
    })
}

/// Returns the settings that a trial changes on disks that others use too: only those that its
/// suite varies. A scheduler that the suite does not name stays as it is.
fn settings(trial: &Trial) -> Vec<Setting> {
    let asked = trial.scheduler != SchedulerChoice::default()
        || trial.cell.iter().any(|(axis, _)| axis == Axis::Scheduler.as_str());
    let of_disks = if asked { device_settings(trial) } else { Vec::new() };
    of_disks.into_iter().chain(stack::mount_settings(trial)).collect()
}

/// Returns the values of the trial's settings that name one of a kernel's choices.
pub fn choices(trial: &Trial) -> Vec<String> {
    let all = device_settings(trial).into_iter().chain(stack::mount_settings(trial));
    all.filter(|setting| setting.choice).map(|setting| setting.value).collect()
}

/// Returns the plan that prepares the trial's disks, or a folder in a user's filesystem. Returns
/// None if there is nothing to prepare.
pub fn preparing(trial: &Trial, machine: &RealMachine) -> Option<Plan> {
    if trial.array.layout == Layout::SINGLE {
        return None;
    }
    let contents = plan::contents(trial, Some(contents()));
    match &machine.at {
        Some(at) if at.is_file() => None,
        Some(_) => Some(Plan::new(contents)),
        None => {
            let start = release(machine, stack::start(trial, true)).into_iter();
            Some(Plan::new(start.chain(contents).chain(stack::stop(trial))))
        }
    }
}

/// Returns the plan that measures, with a warm-up of at most `warm_up`.
pub fn measuring(trial: &Trial, machine: &RealMachine, warm_up: Option<Nanos>) -> Plan {
    let settings = if machine.at.is_some() { settings(trial) } else { device_settings(trial) };
    let mut actions: Vec<Action> = settings.into_iter().map(Action::Set).collect();
    if machine.at.is_none() {
        actions.extend(release(machine, stack::start(trial, false)));
    }
    let all = actions.iter().filter_map(|action| match action {
        Action::Set(setting) => Some(setting.clone()),
        _ => None,
    });
    let check = Action::CheckSettings(CheckSettings { all: all.collect() });
    // Device errors, as `btrfs device stats` prints them.
    let errors = (trial.array.layout.filesystem() == Some(Filesystem::Btrfs))
        .then(|| format!("{}/devinfo/*/{}", stack::sysfs_of_btrfs(trial), device_errors::FILE));
    let additions = HostAdditions {
        warm_up: self::warm_up(trial, warm_up),
        keep: errors.into_iter().collect(),
    };
    let measurement = plan::measurement(trial, Some(additions));
    actions.push(drop_caches(&measurement));
    actions.extend(measurement);
    actions.push(check);
    // The end of a guest takes its arrays and pools away. Here the next trial assembles them anew.
    if machine.at.is_none() && !stack::stop_below(trial).is_empty() {
        actions.extend(stack::stop(trial));
    }
    Plan { actions }
}

/// Releases the disks before something is made on them or mounted, and removes data that may be
/// lost. mkfs leaves some foreign signatures in place, and a disk with two kinds of them is
/// ambiguous. Disks that are neither made nor mounted stay claimed to the end.
fn release(machine: &RealMachine, start: Vec<Action>) -> Vec<Action> {
    let release = (!start.is_empty()).then_some(Action::Release(Release {}));
    let again = machine.overwrite.iter().flatten();
    let disks = again.filter_map(|path| machine.disks.iter().find(|disk| disk.named == *path));
    let wipes = disks.map(|disk| {
        stack::run("wipe", stack::words(&format!("wipefs --all --quiet /dev/{}", disk.name)))
    });
    release.into_iter().chain(wipes).chain(start).collect()
}

/// Drops more than the caches of the new mount. fio's own files are then read again, so that their
/// reads are not measured.
fn drop_caches(measurement: &[Action]) -> Action {
    let fio = measurement.iter().find_map(|action| match action {
        Action::Measure(Measure { what: Measured::Program { command, .. }, .. }) => {
            command.first().filter(|program| Path::new(program).file_name() == Some("fio".as_ref()))
        }
        _ => None,
    });
    let reread = fio.map(|fio| vec![fio.clone(), "--version".to_owned()]);
    Action::DropCaches(DropCaches { reread })
}

/// Longest warm-up by default, as a multiple of the measured time.
const LONGEST: u64 = 5;
/// Samples in a measured time, so that half of that time has to be steady. No sample is shorter
/// than the shortest sample.
const SAMPLES: u64 = 10;
const SHORTEST: Nanos = Nanos::from_millis(10);

pub fn warm_up(trial: &Trial, limit: Option<Nanos>) -> Option<WarmUp> {
    let limit = limit.unwrap_or(Nanos(trial.runtime.0.saturating_mul(LONGEST)));
    // fio is ended earlier.
    let command = warming(trial, Nanos(limit.0.saturating_mul(2)) + Nanos::from_secs(60));
    let every_ns = (trial.runtime.0 / SAMPLES).max(SHORTEST.0);
    command.filter(|_| limit > Nanos::ZERO).map(|command| WarmUp {
        command,
        every_ns,
        limit_ns: limit.0,
    })
}

/// Returns the seed of the contents of test files, which is the same for all trials.
pub fn contents() -> Seed {
    Seed(0).derive("contents of test files")
}

/// Says that a file of the kernel does not offer the value that a trial asks for.
pub fn not_had(value: &str, path: &str, has: &str) -> String {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let ours = format!("{PREFIX}{}", choice(value));
    // The kernel has the patches of `disklab kernel patch`.
    let hint = if has.contains(&ours) {
        format!("; disklab's is `{ours}`: --set policy={ours} takes it")
    } else {
        String::new()
    };
    format!("the kernel that runs (Linux {release}) has no {value}: {path} has {has:?}{hint}")
}

/// Returns `round-robin` for `round-robin:4096`.
pub fn choice(value: &str) -> &str {
    value.split(':').next().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_config::Lab;

    #[test]
    fn beside_a_trial_in_somebodys_folder_runs_what_stays_there() {
        let lab = Lab::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab")))
            .expect("the lab");
        let of = |name: &str| works_on_the_whole(&lab.backgrounds[name]);
        assert_eq!(["copy", "bursts", "git-checkout", "package", "defrag"].map(of), [false; 5]);
        assert!(of("scrub"));
        let with = |command: &str| {
            let mut background = lab.backgrounds["bursts"].clone();
            background.processes[0].command = command.split(' ').map(str::to_owned).collect();
            works_on_the_whole(&background)
        };
        assert!(with("sh -c /usr/bin/btrfs balance start {pool}") && with("fstrim {pool}"));
        assert!(
            with("btrfs subvolume list {pool}") && !with("btrfs filesystem defragment -r {pool}")
        );
    }
}

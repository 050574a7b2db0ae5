//! What a run would do on this machine: every command and every write, in order. From the same plans that are carried out.

use super::{Host, Place, order, plan, prepared};
use crate::facts;
use disklab_guest::plan as guest;
use disklab_guest::plan::{Act, Measured, POOL, Plan, REPLICA, Setting};
use disklab_spec::Trial;
use disklab_units::Nanos;
use std::path::{Path, PathBuf};

/// Stands for one that is drawn when it is needed.
const UUID: &str = "00000000-0000-4000-8000-000000000000";

/// A line each; those that begin with `#` say what is not a command.
pub fn script(host: &Host, trials: &[Trial]) -> Vec<String> {
    let mut lines = vec![
        "# in a mount and a process namespace of its own: mounts and programs end with the trial, and the machine's files are read-only there"
            .to_owned(),
        format!("# what is changed is noted in {} first, and is undone behind each trial", host.state.display()),
    ];
    let obstacle = |trial: &&Trial| facts::obstacle(trial).or_else(|| plan::obstacle(trial, &host.place));
    let (out, possible): (Vec<_>, Vec<_>) = trials.iter().partition(|trial| obstacle(trial).is_some());
    for trial in out {
        lines.push(format!("# {}: left out: {}", trial.id, obstacle(&trial).unwrap_or_default()));
    }
    let mut there: Option<String> = None;
    lines.push(format!("# the order of trials is drawn; `--order {}` draws this one again", host.order));
    for trial in order::of(possible, host.order) {
        let key = order::key(trial);
        let uuid = match &host.place {
            Place::Disks { .. } => Some(UUID.to_owned()),
            Place::At { uuid, .. } => uuid.clone(),
        };
        let placed = prepared::places(trial, &host.place, uuid.clone());
        let own = || host.of_plan(&host.state.join("PID-0.journal"), uuid.clone(), at(&host.place));
        if there.as_ref() != Some(&key) {
            if there.is_some() {
                lines.extend(unmake(host));
            }
            lines.push(format!("# {}, on {}", trial.array.name, names(host)));
            lines.extend(make(host));
            lines.extend(plan::preparing(&placed, own()).iter().flat_map(of_plan));
        }
        lines.push(format!("# {}", trial.id));
        lines.extend(of_plan(&plan::measuring(&placed, own(), host.warm_up)));
        there = Some(key).filter(|_| prepared::only_reads(trial));
        if there.is_none() {
            lines.extend(unmake(host));
        }
    }
    if there.is_some() {
        lines.extend(unmake(host));
    }
    lines
}

fn at(place: &Place) -> Option<PathBuf> {
    let Place::At { path, .. } = place else { return None };
    Some(if path.is_dir() { path.join(format!("{}{UUID}", prepared::FOLDER)) } else { path.clone() })
}

/// A folder that is made, and not one file of the user's.
fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prepared::FOLDER))
}

fn names(host: &Host) -> String {
    let named: Vec<String> = host.place.disks().iter().map(|disk| disk.named.display().to_string()).collect();
    named.join(" ")
}

fn make(host: &Host) -> Vec<String> {
    match at(&host.place) {
        Some(folder) if is_ours(&folder) => vec![format!("mkdir {}", folder.display())],
        _ => Vec::new(),
    }
}

fn unmake(host: &Host) -> Vec<String> {
    match (&host.place, at(&host.place)) {
        (Place::Disks { disks, .. }, _) => {
            let wipe = |name: &str| {
                format!("wipefs --all --quiet /dev/{name}  # if it still holds what was made there")
            };
            disks.iter().rev().map(|disk| wipe(&disk.name)).collect()
        }
        (_, Some(folder)) if is_ours(&folder) => {
            vec![format!("rm -r {}", folder.display())]
        }
        _ => Vec::new(),
    }
}

fn of_plan(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = settings(&plan.device_settings);
    lines.extend(plan.raid.iter().map(|raid| words(&raid.start)));
    lines.extend(plan.pools.iter().map(|pool| words(&pool.start)));
    lines.extend(plan.mkfs.iter().map(|command| words(command)));
    lines.extend(plan.mount.iter().map(|it| mount(it, POOL)));
    if let Some(at) = plan.host.as_ref().and_then(|host| host.at.as_ref()) {
        let to = if is_ours(at) { POOL.to_owned() } else { format!("{POOL}/test") };
        lines.push(format!("mount --bind {} {to}", at.display()));
    }
    lines.extend(settings(&plan.mount_settings));
    if let Some(replica) = &plan.replica {
        lines.extend(replica.mkfs.iter().map(|command| words(command)));
        lines.push(mount(&replica.mount, REPLICA));
    }
    lines.extend(plan.files.iter().map(|file| format!("# write {} to {POOL}/{}", file.bytes, file.name)));
    lines.extend(plan.fsload.iter().map(|_| format!("# write the workload's files below {}", guest::FSLOAD)));
    lines.extend(
        plan.entries
            .iter()
            .map(|entries| format!("# write {} files and folders below {}", entries.all.len(), guest::ROOT)),
    );
    lines.extend(plan.prepare.iter().map(|command| words(command)));
    lines.extend(plan.trees.iter().map(|_| format!("# write fragmented trees below {}", guest::TREES)));
    lines.extend(plan.first_snapshot.iter().map(|_| "# take the first snapshot".to_owned()));
    if plan.measure.is_some() {
        lines.extend(["sync".to_owned(), "echo 3 > /proc/sys/vm/drop_caches".to_owned()]);
    }
    lines.extend(
        plan.touch.iter().map(|it| format!("# read a block of each {} of {POOL}/{}", it.every, it.name)),
    );
    if let Some(background) = &plan.background {
        lines.extend(background.processes.iter().map(|it| format!("{} &", words(&it.command))));
        lines.extend(background.snapshots.iter().map(|_| "# take snapshots".to_owned()));
    }
    if let Some(warm) = plan.measure.as_ref().and_then(|it| it.warm_up.as_ref()) {
        let most = Nanos(warm.limit_ns);
        lines.push(format!("{}  # until its rate is steady, for {most} at most", words(&warm.command)));
    }
    lines.extend(plan.measure.iter().flat_map(|it| measured(&it.what)));
    if plan.unmount {
        lines.extend(plan.mount.iter().map(|_| format!("umount {POOL}")));
        lines.extend(plan.replica.iter().map(|_| format!("umount {REPLICA}")));
    }
    lines.extend(plan.pools.iter().map(|pool| words(&pool.stop)));
    // A trial's own is stopped when the trial is undone.
    lines.extend(plan.raid.iter().map(|raid| words(&raid.stop)));
    if plan.measure.is_some() {
        let changed = plan.mount_settings.iter().chain(&plan.device_settings).rev();
        lines.extend(changed.map(|it| format!("# {} gets back what it was", it.path)));
    }
    lines
}

fn measured(what: &Measured) -> Vec<String> {
    match what {
        Measured::Program { command, .. } => vec![words(command)],
        Measured::Startup { .. } => {
            vec![format!("# start the program, or what was recorded of it, with {} as its root", guest::ROOT)]
        }
        Measured::Player { file, .. } => vec![format!("# play {file}")],
        Measured::Fsload { .. } => vec![format!("# work on the files below {}", guest::FSLOAD)],
        Measured::Phases(phases) => phases.iter().flat_map(of_phase).collect(),
    }
}

fn of_phase(phase: &guest::Phase) -> Vec<String> {
    let mut lines = Vec::new();
    if phase.cold {
        lines.extend(["sync".to_owned(), "echo 3 > /proc/sys/vm/drop_caches".to_owned()]);
    }
    lines.extend(phase.reader.iter().map(|fio| format!("{} &", words(&fio.command))));
    match &phase.what {
        Act::Fio(fio) => lines.push(words(&fio.command)),
        Act::Program(command) => lines.push(words(command)),
        Act::Remount { mount: it, settings: after } => {
            lines.extend([format!("umount {POOL}"), mount(it, POOL)]);
            lines.extend(settings(after));
        }
    }
    lines
}

fn settings(all: &[Setting]) -> Vec<String> {
    all.iter().map(|it| format!("echo {} > {}", quoted(&it.value), it.path)).collect()
}

fn mount(it: &guest::Mount, to: &str) -> String {
    let noatime = it.noatime.then_some("noatime");
    let options: Vec<&str> =
        noatime.into_iter().chain(Some(it.data.as_str()).filter(|it| !it.is_empty())).collect();
    let options = if options.is_empty() { String::new() } else { format!(" -o {}", options.join(",")) };
    format!("mount -t {}{options} {} {to}", it.filesystem, it.source)
}

fn words(command: &[String]) -> String {
    command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// As a shell wants it.
fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_=/.,:+@%".contains(it);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

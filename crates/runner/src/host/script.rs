//! What a run would do on this machine: every command and every write, in order. From the same
//! plans that are carried out.

use super::{Host, Place, duration, order, plan, prepared};
use crate::facts;
use disklab_block_devices::cgroups;
use disklab_block_devices::change::Change;
use disklab_block_devices::environment::ASKS_HEALTH;
use disklab_config::Trial;
use disklab_guest::init::setting;
use disklab_guest::init::tool::{Side, Tool};
use disklab_guest::plan as guest;
use disklab_guest::plan::{Act, FirstSnapshot, Measured, POOL, Plan, REPLICA, Setting, Snapshots};
use disklab_units::Nanos;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Stands for one that is drawn when it is needed.
const UUID: &str = "00000000-0000-4000-8000-000000000000";
/// Where instances of the kernel's tracing are made.
const TRACING: &str = "/sys/kernel/tracing/instances";

/// A line each; those that begin with `#` say what is not a command.
pub fn script(host: &Host, trials: &[Trial]) -> Vec<String> {
    let mut lines = vec![
        "# in a mount and a process namespace of its own: mounts and programs end with the trial, and the machine's files are read-only there"
            .to_owned(),
        format!("# {UUID} stands for what is drawn when it is needed"),
        format!("# programs are those of {}, whatever your PATH says", disklab_block_devices::PATH),
        format!("# what is changed is noted in {} first, and is undone behind each trial", host.state.display()),
        format!("# before each trial nothing of ours runs for {}, and the disks are looked at", host.rest),
        format!("# before and behind each trial, if it is installed, and for each disk: {} DISK", ASKS_HEALTH.join(" ")),
    ];
    let (out, possible): (Vec<_>, Vec<_>) =
        trials.iter().partition(|trial| obstacle(trial, host).is_some());
    for trial in out {
        lines.push(format!(
            "# {}: left out: {}",
            trial.id,
            obstacle(trial, host).unwrap_or_default()
        ));
    }
    lines.push(format!(
        "# the order of trials is drawn; `--order {}` draws this one again",
        host.order
    ));
    // What is on the disks, and what undoes it.
    let mut there: Option<(String, Vec<String>)> = None;
    let mut overwrite = again(&host.place);
    for trial in order::of(possible, host.order) {
        let key = order::key(trial);
        let uuid = match &host.place {
            Place::Disks { .. } => Some(UUID.to_owned()),
            Place::At { uuid, .. } => uuid.clone(),
        };
        let at = prepared::at(&host.place, UUID);
        let placed = prepared::places(trial, &host.place, uuid);
        let own =
            |overwrite| host.of_plan(&host.state.join("PID-0.journal"), overwrite, at.clone());
        if there.as_ref().is_none_or(|(known, _)| *known != key) {
            lines.extend(there.take().into_iter().flat_map(|(_, undo)| undo));
            lines.push(format!("# {}, on {}", trial.array.name, names(host)));
            let changes = prepared::changes(&placed, &host.place, at.as_deref());
            lines.extend(changes.iter().filter_map(made_at_once));
            let preparing = plan::preparing(&placed, own(Some(std::mem::take(&mut overwrite))));
            lines.extend(preparing.iter().flat_map(of_plan));
            there = Some((
                key,
                changes.iter().rev().map(|it| undoing(it, &placed.places.md)).collect(),
            ));
        }
        lines.push(format!("# {}", trial.id));
        lines.extend(of_plan(&plan::measuring(&placed, own(None), host.warm_up)));
        if !prepared::only_reads(trial) {
            lines.extend(there.take().into_iter().flat_map(|(_, undo)| undo));
        }
    }
    lines.extend(there.into_iter().flat_map(|(_, undo)| undo));
    lines
}

/// How long that takes, roughly.
pub fn time(host: &Host, trials: &[Trial]) -> Duration {
    let possible = trials.iter().filter(|trial| obstacle(trial, host).is_none());
    let (mut all, mut there) = (Duration::ZERO, None);
    for trial in order::of(possible.collect(), host.order) {
        let key = order::key(trial);
        if there.as_ref() != Some(&key) || !prepared::only_reads(trial) {
            all += duration::preparing(host, trial);
        }
        all += duration::wall(host, trial);
        there = Some(key);
    }
    all
}

fn obstacle(trial: &Trial, host: &Host) -> Option<String> {
    let known = facts::obstacle(trial).or_else(|| plan::obstacle(trial, &host.place));
    known.or_else(|| plan::policy_not_had(trial, &host.place))
}

/// Disks that were named again, as they were named first.
fn again(place: &Place) -> Vec<PathBuf> {
    let Place::Disks { disks, permission } = place else { return Vec::new() };
    prepared::named_again(disks, permission)
}

fn names(host: &Host) -> String {
    let named: Vec<String> =
        host.place.disks().iter().map(|disk| disk.named.display().to_string()).collect();
    named.join(" ")
}

/// Folders are made by the run itself.
fn made_at_once(change: &Change) -> Option<String> {
    let Change::Folder { path, .. } = change else { return None };
    Some(format!("mkdir {}", quoted(&path.display().to_string())))
}

/// How a change is undone, if it was made.
fn undoing(change: &Change, md: &str) -> String {
    match change {
        Change::Value { path, was, .. } => format!("echo {} > {}", quoted(was), path.display()),
        Change::Md { .. } => format!("mdadm --quiet --stop /dev/{md}  # if it is there"),
        Change::Made { disk, .. } => {
            format!(
                "wipefs --all --quiet /dev/{}  # if it still holds what was made there",
                disk.name
            )
        }
        Change::Pool { name, .. } => {
            format!("zpool destroy -f {name}  # if it is there, and of these disks")
        }
        Change::Folder { path, .. } => format!("rm -r {}", quoted(&path.display().to_string())),
        Change::Cgroup { path } => format!("rmdir {}", path.display()),
        Change::Tracing { instance } => format!("rmdir {TRACING}/{instance}"),
    }
}

fn of_plan(plan: &Plan) -> Vec<String> {
    let Some(host) = &plan.host else { return Vec::new() };
    let (mut lines, mut undo) = (Vec::new(), Vec::new());
    if host.trace {
        lines.push(format!("mkdir {TRACING}/{}", host.name));
        lines.push(format!(
            "# there: trace_clock, events/block/*/filter and enable, of {} alone",
            of_disks(host)
        ));
        undo.push(Change::Tracing { instance: host.name.clone() });
    }
    lines.extend(settings(&plan.device_settings));
    undo.extend(changed(&plan.device_settings));
    lines.extend(host.wipes().iter().map(|command| words(command)));
    lines.extend(plan.raid.iter().map(|raid| words(&raid.start)));
    for pool in &plan.pools {
        lines.extend(nodes(pool, host));
        lines.push(words(&pool.start));
    }
    lines.extend(plan.mkfs.iter().map(|command| words(command)));
    lines.extend(plan.mount.iter().map(|it| mount(it, POOL)));
    if let Some(at) = &host.at {
        let to = if at.is_file() { format!("{POOL}/test") } else { POOL.to_owned() };
        lines.push(format!("mount --bind {} {to}", quoted(&at.display().to_string())));
    }
    lines.extend(settings(&plan.mount_settings));
    undo.extend(changed(&plan.mount_settings));
    if let Some(replica) = &plan.replica {
        lines.extend(replica.mkfs.iter().map(|command| words(command)));
        lines.push(mount(&replica.mount, REPLICA));
    }
    lines.extend(filled(plan));
    if plan.measure.is_some() {
        lines.extend(["sync".to_owned(), "echo 3 > /proc/sys/vm/drop_caches".to_owned()]);
    }
    lines.extend(
        plan.touch
            .iter()
            .map(|it| format!("# read a block of each {} of {POOL}/{}", it.every, it.name)),
    );
    lines.extend(weights(plan, host, &mut undo));
    if let Some(background) = &plan.background {
        lines.extend(background.snapshots.iter().flat_map(|it| snapshots(it, &Tool::of(plan))));
        lines.extend(background.processes.iter().map(|it| format!("{} &", words(&it.command))));
    }
    if let Some(warm) = plan.measure.as_ref().and_then(|it| it.warm_up.as_ref()) {
        let most = Nanos(warm.limit_ns);
        lines.push(format!(
            "{}  # until its rate is steady, for {most} at most",
            words(&warm.command)
        ));
    }
    lines.extend(plan.measure.iter().flat_map(|it| measured(&it.what)));
    if plan.unmount {
        lines.extend(plan.mount.iter().map(|_| format!("umount {POOL}")));
        lines.extend(plan.replica.iter().map(|_| format!("umount {REPLICA}")));
        lines.extend(plan.pools.iter().map(|pool| words(&pool.stop)));
        lines.extend(plan.raid.iter().map(|raid| words(&raid.stop)));
    }
    lines.extend(undo.iter().rev().map(|it| undoing(it, "")));
    // The files of a filesystem that is not there yet cannot be read.
    let unread = plan.mount_settings.iter().filter(|it| before(it).is_none());
    lines.extend(unread.map(|it| format!("# {} gets back what it was", it.path)));
    lines
}

/// What is put on the filesystem.
fn filled(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(
        plan.files.iter().map(|file| format!("# write {} to {POOL}/{}", file.bytes, file.name)),
    );
    lines.extend(
        plan.fsload.iter().map(|_| format!("# write the workload's files below {}", guest::FSLOAD)),
    );
    lines.extend(plan.entries.iter().map(|entries| {
        format!("# write {} files and folders below {}", entries.all.len(), guest::ROOT)
    }));
    lines.extend(plan.prepare.iter().map(|command| words(command)));
    lines.extend(
        plan.trees.iter().map(|_| format!("# write fragmented trees below {}", guest::TREES)),
    );
    if let Some(first) = plan.first_snapshot {
        let tool = Tool::of(plan);
        lines.extend(tool.make_place().iter().map(|command| words(command)));
        lines.push(words(&tool.take(0)));
        if first == FirstSnapshot::Replicated {
            lines.push(format!("{} | {}", words(&tool.send(None, 0)), words(&tool.receive())));
        }
    }
    lines
}

/// Those that are taken again and again, as the first of them are.
fn snapshots(what: &Snapshots, tool: &Tool) -> Vec<String> {
    let mut lines = vec![
        format!("# every {}, {} of them kept:", Nanos(what.every_ns), what.keep),
        words(&tool.take(1)),
        words(&tool.delete(Side::Pool, 0)),
    ];
    if let Some(every) = what.replicate_every_ns {
        lines.push(format!("# every {}:", Nanos(every)));
        lines.push(format!("{} | {}", words(&tool.send(Some(0), 1)), words(&tool.receive())));
        lines.push(words(&tool.delete(Side::Replica, 0)));
    }
    lines
}

/// Cgroups of programs with a weight.
fn weights(plan: &Plan, host: &guest::Host, undo: &mut Vec<Change>) -> Vec<String> {
    let measured = plan.measure.as_ref().and_then(|it| it.priority.weight);
    let beside = plan.background.as_ref().and_then(|it| it.priority.weight);
    let each = [("measured", measured), ("background", beside)];
    let each: Vec<(&str, u32)> =
        each.iter().filter_map(|(name, weight)| Some((*name, (*weight)?))).collect();
    if each.is_empty() {
        return Vec::new();
    }
    let control = format!("{}/cgroup.subtree_control", cgroups::ROOT);
    let is_given = std::fs::read_to_string(&control)
        .is_ok_and(|it| it.split_whitespace().any(|it| it == "io"));
    let mut lines = Vec::new();
    if !is_given {
        lines.push(format!("echo +io > {control}"));
        undo.push(Change::value(control.as_ref(), "-io"));
    }
    for (name, weight) in each {
        let path = PathBuf::from(format!("{}/{}-{name}", cgroups::ROOT, host.name));
        lines.push(format!("mkdir {}", path.display()));
        lines.push(format!("echo {weight} > {}/io.bfq.weight", path.display()));
        undo.push(Change::Cgroup { path });
    }
    lines
}

fn of_disks(host: &guest::Host) -> String {
    host.disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// By which zpool is given disks.
fn nodes(pool: &guest::Pool, host: &guest::Host) -> Vec<String> {
    let node = |name: &String| {
        let (major, minor) = host.disks.iter().find(|disk| disk.name == *name)?.number;
        Some(format!("mknod {}/{name} b {major} {minor}", pool.nodes.as_ref()?.display()))
    };
    pool.disks.iter().filter_map(node).collect()
}

/// What files say now that are there.
fn changed(all: &[Setting]) -> Vec<Change> {
    all.iter().filter_map(before).flatten().collect()
}

fn before(setting: &Setting) -> Option<Vec<Change>> {
    // Tunables are those of the scheduler that is chosen before them.
    let path = Path::new(&setting.path);
    setting::before(path, setting).ok()
}

fn measured(what: &Measured) -> Vec<String> {
    match what {
        Measured::Program { command, .. } => vec![words(command)],
        Measured::Startup { way: guest::Startup::Program { command, server, .. }, .. } => {
            let server =
                Some(server).filter(|it| !it.is_empty()).map(|it| format!("{} &", words(it)));
            server
                .into_iter()
                .chain([format!("chroot {} {}", guest::ROOT, words(command))])
                .collect()
        }
        Measured::Startup { .. } => {
            vec![format!("# do what was recorded of a start, with {} as its root", guest::ROOT)]
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
    let options =
        if options.is_empty() { String::new() } else { format!(" -o {}", options.join(",")) };
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

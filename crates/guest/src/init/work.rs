//! The steps of a plan.

use super::direct::{self, BLOCK, Buffer};
use super::gate::Closed;
use super::ground::mark;
use super::priority::Place;
use super::program::{Program, Words, prepare, run};
use super::snapshots::tool::Tool;
use super::syncing::Syncing;
use super::trees::{Made, Scatter};
use super::witness::{self, Witness};
use super::{
    Failure, Steps, background, bcache, entries, fsload, ground, keep, phases, player, raid,
    setting, snapshots, space, startup, warm, zfs,
};
use crate::plan::{
    FSLOAD, Gate, Host, Look, Measure, Measured, Mount, PIDS, POOL, Plan, REPLICA, Setting, Touch,
    ZeroFile,
};
use disklab_protocol::Mark;
use disklab_units::{Random, Seed};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The step that says which choice this machine's kernel does not have.
const LACKING: &str = "lacking";
/// A file is written in so many parts, with a part of the trees after each.
const PARTS: u64 = 64;

pub fn carry_out(plan: &Plan, steps: &mut Steps) -> Result<(), Failure> {
    if plan.measure.is_some() && ground::is_a_guest() {
        round_pids()?;
    }
    burn_pids(plan.burn_pids)?;
    apply(&plan.device_settings, steps)?;
    if let Some(cache) = &plan.cache {
        bcache::start(cache, steps)?;
    }
    apply(&plan.cache_settings, steps)?;
    take_over(plan, steps)?;
    if let Some(raid) = &plan.raid {
        raid::start(raid, steps)?;
    }
    plan.pools.iter().try_for_each(|pool| zfs::start(pool, steps))?;
    if let Some(command) = &plan.mkfs {
        run(command, "mkfs", steps)?;
    }
    if let Some(m) = &plan.mount {
        let begun = Instant::now();
        mount_on(m, POOL)?;
        let took = begun.elapsed().as_nanos() as u64;
        steps.say(&json!({"step": "mounted", "filesystem": m.filesystem, "took_ns": took}));
    }
    // Before there is a second filesystem: they find theirs by its being the only one.
    apply(&plan.mount_settings, steps)?;
    if let Some(replica) = &plan.replica {
        if let Some(command) = &replica.mkfs {
            run(command, "mkfs", steps)?;
        }
        mount_on(&replica.mount, REPLICA)?;
    }
    write_files(plan, steps)?;
    if let Some(load) = &plan.fsload {
        fsload::lay_out(load, steps)?;
    }
    if let Some(entries) = &plan.entries {
        let contents = plan.host.as_ref().map(|host| host.contents.derive("entries"));
        let made = entries::make(entries, contents)?;
        steps.say(&json!({"step": "entries", "made": made}));
    }
    plan.prepare.iter().try_for_each(|command| run(command, "prepare", steps))?;
    if let Some(first) = plan.first_snapshot {
        snapshots::lay_out(first, Tool::of(plan))?;
    }
    if let (Some(_), Some(measure)) = (&plan.host, &plan.measure) {
        cold(&measure.what, steps);
    }
    for t in &plan.touch {
        let blocks = touch(t)?;
        steps.say(&json!({"step": "touched", "file": t.name, "blocks": blocks}));
    }
    if let Some(look) = &plan.look {
        look_for(look, steps)?;
    }
    beside_witness(plan, steps)?;
    if plan.measure.is_some() && !ground::is_a_guest() {
        let all =
            plan.device_settings.iter().chain(&plan.cache_settings).chain(&plan.mount_settings);
        all.into_iter().try_for_each(setting::check)?;
    }
    if plan.unmount && plan.mount.is_some() {
        unmount_pool()?;
        if plan.replica.is_some() {
            unmount_from(REPLICA)?;
        }
        steps.say(&json!({"step": "unmounted"}));
    }
    if let Some(command) = &plan.fsck {
        run(command, "fsck", steps)?;
    }
    if plan.unmount {
        plan.pools.iter().try_for_each(|pool| zfs::stop(pool, steps))?;
    }
    if plan.unmount
        && let Some(raid) = &plan.raid
    {
        raid::stop(raid, steps)?;
    }
    if plan.unmount && plan.cache.is_some() {
        bcache::stop(steps)?;
    }
    Ok(())
}

/// On a real machine: the disks are let go for what is about to be made on them, or mounted. What
/// they hold that may be lost is taken off.
fn take_over(plan: &Plan, steps: &mut Steps) -> Result<(), Failure> {
    // A device that nothing is made on or mounted from is kept from others to the end.
    if plan.raid.is_some() || !plan.pools.is_empty() || plan.mkfs.is_some() || plan.mount.is_some()
    {
        ground::let_go()?;
    }
    let wipes = plan.host.iter().flat_map(Host::wipes);
    wipes.into_iter().try_for_each(|command| run(&command, "wipe", steps))
}

/// Uses process ids up until the next one is the first of a round of [`PIDS`]. Kernels differ in
/// how many threads they have started by then, and what chooses by pid is to have the same luck in
/// all of them.
fn round_pids() -> Result<(), Failure> {
    while burn_pid()? % PIDS != PIDS - 1 {}
    Ok(())
}

fn burn_pids(count: u32) -> Result<(), Failure> {
    (0..count).try_for_each(|_| burn_pid().map(drop))
}

/// Uses a process id up, and says which.
fn burn_pid() -> Result<i32, Failure> {
    let thread = std::thread::spawn(|| rustix::thread::gettid().as_raw_nonzero().get());
    thread.join().map_err(|_| "a thread that does nothing failed".to_owned())
}

/// On a real machine more is in memory than what was mounted just now. A user may not drop it,
/// which is told. The program that measures is read again, so that this is not among what is
/// measured.
fn cold(measured: &Measured, steps: &mut Steps) {
    rustix::fs::sync();
    let failed = startup::forget().err();
    if let Measured::Program { command, .. } = measured
        && let Some(program) =
            command.first().filter(|it| Path::new(it).file_name() == Some("fio".as_ref()))
    {
        // Whatever comes of it, the load itself tells.
        let version = [program.clone(), "--version".to_owned()];
        let _ = Words::of("load").and_then(|words| {
            prepare(&version, "load", &words)?.status().map_err(|error| error.to_string())
        });
    }
    steps.say(&json!({"step": "caches", "dropped": failed.is_none(), "error": failed}));
}

pub fn apply(settings: &[Setting], steps: &mut Steps) -> Result<(), Failure> {
    for s in settings {
        let says = setting::apply(s).inspect_err(|_| {
            // Nothing went wrong, then: there is no such thing to be measured here.
            if let Some(has) = setting::lacking(s) {
                steps.say(&json!({"step": LACKING, "path": s.path, "value": s.value, "has": has}));
            }
        })?;
        steps.say(&json!({"step": "set", "path": s.path, "value": s.value, "says": says}));
    }
    Ok(())
}

pub fn unmount_pool() -> Result<(), Failure> {
    unmount_from(POOL)
}

fn unmount_from(folder: &str) -> Result<(), Failure> {
    unmount(folder, UnmountFlags::empty()).map_err(|e| format!("unmounting {folder}: {e}"))
}

pub fn mount_pool(m: &Mount) -> Result<(), Failure> {
    mount_on(m, POOL)
}

fn mount_on(m: &Mount, folder: &str) -> Result<(), Failure> {
    let data = std::ffi::CString::new(m.data.as_str()).map_err(|e| e.to_string())?;
    let flags = if m.noatime { MountFlags::NOATIME } else { MountFlags::empty() };
    mount(m.source.as_str(), folder, m.filesystem.as_str(), flags, data.as_c_str()).map_err(|e| {
        format!("mounting {} ({}) on {folder} with {:?}: {e}", m.source, m.filesystem, m.data)
    })
}

fn write_files(plan: &Plan, steps: &mut Steps) -> Result<(), Failure> {
    let of_trees = plan.host.as_ref().map(|host| host.contents.derive("trees"));
    let mut trees =
        plan.trees.as_ref().map(|trees| Scatter::create(trees, of_trees)).transpose()?;
    for file in &plan.files {
        let contents = plan.host.as_ref().map(|host| host.contents.derive(&file.name));
        write_file(file, contents, trees.as_mut())?;
        steps.say(&json!({"step": "written", "file": file.name, "bytes": file.bytes}));
    }
    if let Some(trees) = trees {
        let Made { fragments, extents } = trees.finish()?;
        steps.say(&json!({"step": "scattered", "fragments": fragments, "extents": extents}));
    }
    Ok(())
}

/// Direct, so that the page cache stays as it is; sequential, as the seeds' script lays out its
/// file. With zeroes, or what is drawn.
fn write_file(
    file: &ZeroFile,
    contents: Option<Seed>,
    mut trees: Option<&mut Scatter>,
) -> Result<(), Failure> {
    const LENGTH: usize = 1 << 20;
    let path = Path::new(POOL).join(&file.name);
    let failed = |e| format!("writing {} to {}: {e}", file.bytes, path.display());
    let mut out = direct::create(&path).map_err(failed)?;
    let mut buffer = Buffer::zeroes(LENGTH);
    let mut random = contents.map(Random::new);
    let (mut written, mut part) = (0, 1);
    while written < file.bytes.0 {
        let length = (file.bytes.0 - written).min(LENGTH as u64);
        if let Some(random) = &mut random {
            direct::fill(buffer.bytes_mut(), random);
        }
        out.write_all(&buffer.bytes()[..length as usize]).map_err(failed)?;
        written += length;
        if let Some(trees) = trees.as_deref_mut()
            && written >= file.bytes.0 / PARTS * part
        {
            trees.write(written, file.bytes.0)?;
            part = written / (file.bytes.0 / PARTS).max(1) + 1;
        }
    }
    out.sync_all().map_err(failed)
}

/// Reads the blocks; returns how many.
fn touch(touch: &Touch) -> Result<u64, Failure> {
    let path = Path::new(POOL).join(&touch.name);
    let failed = |e| format!("reading {}: {e}", path.display());
    let file = direct::open(&path).map_err(failed)?;
    let blocks = file.metadata().map_err(failed)?.len() / touch.every.0.max(BLOCK as u64);
    let mut block = Buffer::zeroes(BLOCK);
    for i in 0..blocks {
        file.read_exact_at(block.bytes_mut(), i * touch.every.0).map_err(failed)?;
    }
    Ok(blocks)
}

/// Everything that should have survived, each told by itself.
fn look_for(look: &Look, steps: &mut Steps) -> Result<(), Failure> {
    let lost: Vec<Failure> = [
        witness::look(look.promised),
        disklab_fsload::promises::look(Path::new(FSLOAD), &look.files),
    ]
    .into_iter()
    .filter_map(Result::err)
    .collect();
    if !lost.is_empty() {
        return Err(lost.join("; "));
    }
    steps.say(&json!({"step": "found", "records": look.promised, "files": look.files.len()}));
    look.programs.iter().try_for_each(|command| run(command, "look", steps))
}

/// Measures, with a witness of power cuts from before that until after it.
fn beside_witness(plan: &Plan, steps: &mut Steps) -> Result<(), Failure> {
    let Some(command) = &plan.witness else { return beside_background(plan, steps) };
    run(command, "witness", steps)?;
    let witness =
        Witness::start(|record| mark(Mark::Fsynced(record)).map_err(|e| format!("witness: {e}")))?;
    let measured = beside_background(plan, steps);
    let records = witness.stop()?;
    steps.say(&json!({"step": "witnessed", "records": records}));
    measured
}

/// Measures, with the background running from before that until after it.
fn beside_background(plan: &Plan, steps: &mut Steps) -> Result<(), Failure> {
    let asked = plan.measure.as_ref().map(|measure| measure.priority).unwrap_or_default();
    let beside = plan.background.as_ref().map(|background| background.priority).unwrap_or_default();
    let [own, beside] = Place::of(&asked, &beside)?;
    let running = plan
        .background
        .as_ref()
        .map(|it| background::start(it, &beside, Tool::of(plan)))
        .transpose()?;
    let has_ended = running.as_ref().is_some_and(background::Running::has_ended);
    let measured = match &plan.measure {
        // Stopping it tells why.
        _ if has_ended => Ok(()),
        Some(measure) => {
            let ready =
                burn_pids(plan.background.as_ref().map_or(0, |background| background.burn_pids));
            let warm = ready.and_then(|()| warm_up(measure, &own, steps));
            let kept = warm.and_then(|()| keep::keep(&plan.keep, "before", steps));
            let kept = kept.and_then(|()| say_space(plan, "before", steps));
            let placed =
                kept.and_then(|()| own.enter().map_err(|e| format!("its I/O priority: {e}")));
            let measured = placed.and_then(|()| self::measure(measure, steps));
            measured.and_then(|()| keep::keep(&plan.keep, "after", steps))
        }
        None => Ok(()),
    };
    let stopped = running.map_or(Ok(()), |running| running.stop(!has_ended, steps));
    measured.and(stopped).and_then(|()| say_space(plan, "after", steps))
}

/// With the I/O priority that it is measured with.
fn warm_up(measure: &Measure, own: &Place, steps: &mut Steps) -> Result<(), Failure> {
    let Some(warm) = &measure.warm_up else { return Ok(()) };
    own.enter().map_err(|e| format!("its I/O priority: {e}"))?;
    warm::warm_up(warm, steps)
}

fn say_space(plan: &Plan, when: &str, steps: &mut Steps) -> Result<(), Failure> {
    if plan.space { space::say(plan, when, steps) } else { Ok(()) }
}

fn measure(measure: &Measure, steps: &mut Steps) -> Result<(), Failure> {
    let Measure { what, warm_up: _, phase, ramp_ns, sync_every_ns, priority: _ } = measure;
    let _syncing = sync_every_ns.map(|every| Syncing::start(Duration::from_nanos(every)));
    match what {
        Measured::Program { command, gate } => {
            program(command, gate.as_ref(), (phase, *ramp_ns), steps)
        }
        Measured::Startup { way, limit_ns } => {
            mark(Mark::begin(phase, 0))?;
            let over = startup::measure(way, Duration::from_nanos(*limit_ns), steps)?;
            // What never began, or found all in memory, reached no disk.
            let _ = mark(Mark::End);
            startup::account(way, &over)
        }
        Measured::Player { player, file, length, seed } => {
            mark(Mark::begin(phase, 0))?;
            player::measure(player, file, *length, *seed, steps)?;
            // As above.
            let _ = mark(Mark::End);
            Ok(())
        }
        Measured::Phases(all) => phases::measure(all, steps),
        Measured::Fsload { load, seed, ramp, length, notes } => {
            mark(Mark::begin(phase, *ramp_ns))?;
            let done = fsload::measure(load, *seed, [*ramp, *length], *notes)?;
            // As above.
            let _ = mark(Mark::End);
            fsload::account(&done, steps)
        }
    }
}

/// Runs it in a phase of this name and ramp.
fn program(
    command: &[String],
    gate: Option<&Gate>,
    (phase, ramp_ns): (&str, u64),
    steps: &mut Steps,
) -> Result<(), Failure> {
    let begin = || mark(Mark::begin(phase, ramp_ns));
    let end =
        || mark(Mark::End).map_err(|e| format!("{e}; no request of the {phase} reached a disk"));
    let Some(gate) = gate else {
        begin()?;
        run(command, phase, steps)?;
        return end();
    };
    let closed = Closed::new(gate)?;
    let mut program = Program::start(command, phase)?;
    closed.wait(program.child())?;
    begin()?;
    drop(closed);
    std::thread::sleep(Duration::from_nanos(gate.length_ns));
    // Where there was no such phase, the program's own failure is nearer to the cause.
    let ended = end();
    program.finish(steps)?;
    ended
}

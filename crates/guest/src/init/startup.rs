//! The start of a program, or what was recorded of one, with the files on the disks as its root.

use super::program::{Program, Words};
use super::{Failure, Steps, entries, ground, host, mounted, pages, replay};
use crate::plan::{ROOT, Startup};
use crate::startup::{ENVIRONMENT, Ready, SERVER, STEP};
use rustix::process::{Pid, Signal, chroot, kill_process};
use rustix::thread::UnshareFlags;
use serde_json::json;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// A start that is over.
pub struct Over {
    pub ready: Ready,
    /// The program's first process.
    program: Option<Pid>,
}

/// From here on nothing of the disks is in memory, and time runs; says what came of it.
pub fn measure(way: &Startup, limit: Duration, steps: &mut Steps) -> Result<Over, Failure> {
    let words = Words::of(STEP)?;
    // For what was recorded too: where something is mounted, its folder and those above it are in
    // memory.
    if !surrounded(limit)? {
        let ready = Ready::NotWithin { ns: limit.as_nanos() as u64 };
        steps.say(
            &json!({"step": STEP, "ready": ready, "said": "not even its folders could be read"}),
        );
        return Ok(Over { ready, program: None });
    }
    let mut server = None;
    if let Startup::Program { server: command, .. } = way {
        if !command.is_empty() {
            server = Some(Program::start(command, "server")?);
            std::thread::sleep(SERVER);
        }
        if ground::is_a_guest() {
            pages::begin()?;
        }
    }
    settle();
    forget()?;
    let begun = Instant::now();
    let (tell, told) = channel();
    let (way, output) = (way.clone(), words.output().map_err(|e| format!("{STEP}: {e}"))?);
    // A thread of its own has its own root, and to a scheduler is a process that has just begun.
    let thread = std::thread::Builder::new().spawn(move || {
        let end = go(&way, output, &tell);
        // Nobody listens once it is given up.
        let _ = tell.send(News::Ended(end));
    });
    thread.map_err(|e| format!("{STEP}: a thread: {e}"))?;
    let mut running = None;
    let ready = loop {
        match told.recv_timeout(limit.saturating_sub(begun.elapsed())) {
            Ok(News::Running(pid)) => running = Some(pid),
            Ok(News::Ended(Ok(()))) => {
                break Ready::After { ns: begun.elapsed().as_nanos() as u64 };
            }
            Ok(News::Ended(Err(reason))) => {
                let said = words.read()?;
                let last = said.lines().last().map_or_else(String::new, |line| format!(": {line}"));
                break Ready::Never { reason: format!("{reason}{last}") };
            }
            Err(RecvTimeoutError::Timeout) => {
                break Ready::NotWithin { ns: limit.as_nanos() as u64 };
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("{STEP}: its thread failed"));
            }
        }
    };
    if let (Ready::NotWithin { .. }, Some(pid)) = (&ready, running) {
        // It may have ended in this moment.
        let _ = kill_process(pid, Signal::KILL);
    }
    if let Some(server) = server {
        server.end(steps)?;
    }
    steps.say(&json!({"step": STEP, "ready": ready, "said": words.read()?}));
    Ok(Over { ready, program: running })
}

/// Keeps what a program that started read of its files. On a real machine, where others start
/// programs too, nothing of it is recorded.
pub fn account(way: &Startup, over: &Over) -> Result<(), Failure> {
    match (way, over) {
        (
            Startup::Program { entries, .. },
            Over { ready: Ready::After { .. }, program: Some(program) },
        ) if ground::is_a_guest() => pages::end(entries, *program),
        _ => Ok(()),
    }
}

enum News {
    Running(Pid),
    Ended(Result<(), String>),
}

/// A kernel that has just booted has coarse timers until its first ticks: a sleep of 0.1 ms takes 6.
pub fn settle() {
    std::thread::sleep(Duration::from_millis(50));
}

/// Whether the surroundings could be made. Others may leave the disks no time at all for this, and
/// the first process must not wait for ever: without a scheduler, a request that is not first in
/// its plug waits as long as others plug theirs, on a device that takes one at a time
/// (`blk_mq_dispatch_rq_list` comes before the software queues).
fn surrounded(limit: Duration) -> Result<bool, Failure> {
    let (tell, told) = channel();
    let begin = move || {
        // Nobody listens once it is given up.
        let _ = tell.send(surroundings());
    };
    std::thread::Builder::new().spawn(begin).map_err(|e| format!("{STEP}: a thread: {e}"))?;
    match told.recv_timeout(limit) {
        Ok(made) => made.map(|()| true),
        Err(RecvTimeoutError::Timeout) => Ok(false),
        Err(RecvTimeoutError::Disconnected) => Err(format!("{STEP}: its thread failed")),
    }
}

/// What a running system has besides files. On a real machine a program gets nothing of that by
/// which it could change the machine.
fn surroundings() -> Result<(), Failure> {
    if !ground::is_a_guest() {
        return host::surroundings(Path::new(ROOT));
    }
    for (name, kind) in entries::MOUNTED.into_iter().zip(["devtmpfs", "proc", "sysfs", "tmpfs"]) {
        mounted(kind, &format!("{ROOT}/{name}"), "")?;
    }
    let terminals = format!("{ROOT}/dev/pts");
    fs::create_dir_all(&terminals).map_err(|e| format!("{terminals}: {e}"))?;
    mounted("devpts", &terminals, "ptmxmode=0666")
}

/// Drops what of files, folders and inodes is in memory.
pub fn forget() -> Result<(), Failure> {
    const DROP: &str = "/proc/sys/vm/drop_caches";
    fs::write(DROP, "3").map_err(|e| format!("{DROP}: {e}"))
}

fn go(way: &Startup, output: [File; 2], tell: &Sender<News>) -> Result<(), String> {
    // SAFETY: this thread alone gets a root of its own; no descriptors are unshared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }
        .map_err(|e| format!("a root of its own: {e}"))?;
    chroot(ROOT)
        .and_then(|()| rustix::process::chdir("/"))
        .map_err(|e| format!("{ROOT} as the root: {e}"))?;
    match way {
        Startup::Replay { entries, threads } => replay::all(entries, threads),
        Startup::Program { command, environment, .. } => {
            program(command, environment, output, tell)
        }
    }
}

fn program(
    command: &[String],
    environment: &[String],
    [output, errors]: [File; 2],
    tell: &Sender<News>,
) -> Result<(), String> {
    let [program, arguments @ ..] = command else { return Err("an empty command".to_owned()) };
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(ENVIRONMENT)
        .envs(environment.iter().filter_map(|it| it.split_once('=')))
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn();
    let mut child = child.map_err(|e| format!("{program} cannot be run: {e}"))?;
    let _ = tell.send(News::Running(Pid::from_child(&child)));
    let status = child.wait().map_err(|e| format!("{program}: waiting for its end: {e}"))?;
    match status.signal() {
        _ if status.success() => Ok(()),
        Some(signal) => Err(format!("{program} was ended by signal {signal}")),
        None => Err(format!("{program} failed ({status})")),
    }
}

//! The start of a program, or its replay, with the files on the disks as its root.

use super::environment::Environment;
use super::filesystem::{drop_caches, settle};
use super::perform::Session;
use super::program::{Program, Words};
use super::steps::Failure;
use super::threads::spawn;
use super::{pages, replay};
use disklab_block_devices::PATH;
use disklab_protocol::measure::StartupWay;
use disklab_protocol::places::ROOT;
use disklab_protocol::step::{StartupEnd, Step};
use rustix::process::{Pid, Signal, chroot, kill_process};
use rustix::thread::UnshareFlags;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Name of its failures.
const STEP: &str = "startup";

/// Complete environment of a program.
pub const ENVIRONMENT: [(&str, &str); 4] =
    [("PATH", PATH), ("HOME", "/tmp"), ("LC_ALL", "C"), ("TERM", "dumb")];

/// Time between the start of a program's server and that of the program.
pub const SERVER: Duration = Duration::from_secs(2);

/// A start that has ended.
pub struct Over {
    pub ready: StartupEnd,
    /// First process of the program.
    program: Option<Pid>,
}

/// Measures a start. From here on, nothing of the disks is in memory, and time runs.
pub fn measure(way: &StartupWay, limit: Duration, session: &mut Session) -> Result<Over, Failure> {
    let words = Words::create(STEP)?;
    // A replay needs this too: a folder with a mounted filesystem, and the folders above it, are in
    // memory.
    if !surrounded(limit, &session.environment)? {
        let ready = StartupEnd::NotWithin { ns: limit.as_nanos() as u64 };
        let said = "not even its folders could be read".to_owned();
        session.steps.say(&Step::Startup { ready: ready.clone(), said });
        return Ok(Over { ready, program: None });
    }
    let mut server = None;
    if let StartupWay::Program { server: command, .. } = way {
        if !command.is_empty() {
            server = Some(Program::start(command, "server")?);
            std::thread::sleep(SERVER);
        }
        if session.environment.records_pages() {
            pages::begin()?;
        }
    }
    settle();
    drop_caches()?;
    let begun = Instant::now();
    let (tell, told) = channel();
    let (way, output) = (way.clone(), words.output().map_err(|e| format!("{STEP}: {e}"))?);
    // The program's thread has its own root, and to a scheduler is a new process.
    spawn(STEP, move || {
        let end = go(&way, output, &tell);
        // After a timeout, nothing receives this.
        let _ = tell.send(News::Ended(end));
    })?;
    let mut running = None;
    let ready = loop {
        match told.recv_timeout(limit.saturating_sub(begun.elapsed())) {
            Ok(News::Running(pid)) => running = Some(pid),
            Ok(News::Ended(Ok(()))) => {
                break StartupEnd::After { ns: begun.elapsed().as_nanos() as u64 };
            }
            Ok(News::Ended(Err(reason))) => {
                let said = words.read()?;
                let last = said.lines().last().map_or_else(String::new, |line| format!(": {line}"));
                break StartupEnd::Never { reason: format!("{reason}{last}") };
            }
            Err(RecvTimeoutError::Timeout) => {
                break StartupEnd::NotWithin { ns: limit.as_nanos() as u64 };
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("{STEP}: its thread failed"));
            }
        }
    };
    if let (StartupEnd::NotWithin { .. }, Some(pid)) = (&ready, running) {
        // The process may have ended at this moment.
        let _ = kill_process(pid, Signal::KILL);
    }
    if let Some(server) = server {
        server.end(&mut session.steps)?;
    }
    session.steps.say(&Step::Startup { ready: ready.clone(), said: words.read()? });
    Ok(Over { ready, program: running })
}

/// Keeps the recorded reads of a program that started, if they are recorded.
pub fn account(
    way: &StartupWay,
    over: &Over,
    environment: &dyn Environment,
) -> Result<(), Failure> {
    match (way, over) {
        (
            StartupWay::Program { entries, .. },
            Over { ready: StartupEnd::After { .. }, program: Some(program) },
        ) if environment.records_pages() => pages::end(entries, *program),
        _ => Ok(()),
    }
}

enum News {
    Running(Pid),
    Ended(Result<(), String>),
}

/// Makes the surroundings, and returns whether that succeeded. Others may leave the disks no time
/// for it, and the first process must not wait for ever. Without a scheduler, a request that is not
/// first in its plug may wait for others. It waits as long as they plug theirs, on a device that
/// takes one at a time (`blk_mq_dispatch_rq_list` comes before the software queues).
fn surrounded(limit: Duration, environment: &Arc<dyn Environment>) -> Result<bool, Failure> {
    let (tell, told) = channel();
    let environment = Arc::clone(environment);
    spawn(STEP, move || {
        // After a timeout, nothing receives this.
        let _ = tell.send(environment.surround_program(Path::new(ROOT)));
    })?;
    match told.recv_timeout(limit) {
        Ok(made) => made.map(|()| true),
        Err(RecvTimeoutError::Timeout) => Ok(false),
        Err(RecvTimeoutError::Disconnected) => Err(format!("{STEP}: its thread failed")),
    }
}

fn go(way: &StartupWay, output: [File; 2], tell: &Sender<News>) -> Result<(), String> {
    // SAFETY: this thread alone gets a root of its own; no descriptors are unshared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }
        .map_err(|e| format!("giving the program its own root: {e}"))?;
    chroot(ROOT)
        .and_then(|()| rustix::process::chdir("/"))
        .map_err(|e| format!("changing the root to {ROOT}: {e}"))?;
    match way {
        StartupWay::Replay { entries, threads } => replay::all(entries, threads),
        StartupWay::Program { command, environment, .. } => {
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
        .envs(environment.iter().filter_map(|variable| variable.split_once('=')))
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

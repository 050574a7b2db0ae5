//! Runs the program to record on this machine: under strace, and for its time.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use disklab_guest::init::startup::SERVER;
use disklab_results::strace;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::args::RecordStartupArgs;
use crate::exit::{Failure, cannot, mistaken};
use crate::screen::Screen;

/// Longest time that a start may take.
const LIMIT: Duration = Duration::from_secs(120);
/// Time that processes of the program get to end after it.
const GRACE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);
/// Time after which a remark says what disklab waits for.
const SOON: Duration = Duration::from_secs(5);
/// System calls that strace shows. Calls with a ? do not exist on every machine.
const TRACED: &str = "trace=%file,getdents64,clone,?clone3,?fork,?vfork";

/// The program that must run beside the recorded one. It ends when this is dropped.
pub struct StartedServer(Option<Child>);

impl StartedServer {
    pub fn start(args: &RecordStartupArgs) -> Result<Self, Failure> {
        let words = args.server_words();
        let [program, arguments @ ..] = words.as_slice() else { return Ok(Self(None)) };
        let mut server = Command::new(program);
        server.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = server.spawn().map_err(|e| {
            mistaken!(
                "--server: cannot start {program}: {e}; name an installed program, or its path"
            )
        })?;
        std::thread::sleep(SERVER);
        Ok(Self(Some(server)))
    }
}

impl Drop for StartedServer {
    fn drop(&mut self) {
        if let Some(server) = &mut self.0 {
            // The server may have ended by itself.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Runs the program under strace, and returns strace's output.
pub fn traced(args: &RecordStartupArgs, screen: &Screen) -> Result<Vec<u8>, Failure> {
    let file = tempfile::NamedTempFile::new()
        .map_err(|e| cannot!("cannot make a temporary file for strace's output: {e}"))?;
    let mut strace = Command::new("strace");
    // The options ask for names of descriptors, for times, and for complete names.
    strace.args(["-f", "-q", "-I", "2", "-y", "-ttt", "-s", "4096", "-e", TRACED, "-o"]);
    strace.arg(file.path()).arg("--").args(&args.command);
    // Processes that the program leaves running would keep disklab's own output open, and its
    // reader would wait for them.
    strace.stdin(Stdio::null()).stdout(Stdio::null());
    let home = home()?;
    strace.env_clear().envs(args.environment()).env("HOME", home.path());
    let mut strace = strace
        .spawn()
        .map_err(|error| cannot!("strace cannot be run: {error}; on Debian: apt install strace"))?;
    match ended(&mut strace, file.path(), screen)? {
        TraceEnd::Well => {}
        TraceEnd::Leaving => screen.remark(
            "it ended and left processes running: the recording has their actions until then, \
             since a start-up ends with its command",
        ),
        TraceEnd::Badly(how) => {
            return Err(mistaken!(
                "{} failed under strace ({how}): only a successful start can be recorded",
                args.command.join(" ")
            ));
        }
        TraceEnd::Never => {
            return Err(mistaken!(
                "{} did not end within {} s: a start-up ends with its command; make it end as soon \
                 as it is ready, as `xterm -e /bin/true` does",
                args.command.join(" "),
                LIMIT.as_secs()
            ));
        }
    }
    std::fs::read(file.path())
        .map_err(|e| cannot!("cannot read the output of strace, {}: {e}", file.path().display()))
}

/// The way in which the command ended.
enum TraceEnd {
    Well,
    /// The command ended successfully, and left processes running.
    Leaving,
    Badly(String),
    Never,
}

/// Waits for strace, which runs until all processes have ended. The command itself may end earlier.
fn ended(strace: &mut Child, output: &Path, screen: &Screen) -> Result<TraceEnd, Failure> {
    let failed = |e| cannot!("cannot wait for strace: {e}");
    let of = |status: ExitStatus| {
        if status.success() { TraceEnd::Well } else { TraceEnd::Badly(status.to_string()) }
    };
    let begun = Instant::now();
    let mut last = None;
    let mut told = false;
    loop {
        if let Some(status) = strace.try_wait().map_err(failed)? {
            return Ok(of(status));
        }
        let first = || std::fs::read(output).ok().and_then(|text| strace::first_exit(&text));
        if last.is_none() {
            last = first().map(|code| (code, Instant::now()));
        }
        let left = last.filter(|(_, since)| since.elapsed() > GRACE);
        if left.is_some() || begun.elapsed() > LIMIT {
            if left.is_none() {
                let traced = std::fs::read(output).unwrap_or_default();
                for pid in strace::running(&traced) {
                    signal(pid, Signal::KILL);
                }
            }
            // strace detaches from the processes on this signal.
            signal(strace.id().cast_signed(), Signal::TERM);
            strace.wait().map_err(failed)?;
            return Ok(match left {
                Some((0, _)) => TraceEnd::Leaving,
                Some((code, _)) => TraceEnd::Badly(format!("exit status: {code}")),
                None => TraceEnd::Never,
            });
        }
        if !told && begun.elapsed() > SOON {
            told = true;
            screen.remark(&format!(
                "it has run for {} s; a start-up ends with its command, and disklab waits for up \
                 to {} s",
                SOON.as_secs(),
                LIMIT.as_secs()
            ));
        }
        std::thread::sleep(LOOK);
    }
}

/// Sends a signal to a process, which may have ended at this moment.
fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Makes an empty home, as in the guest. Files that programs write at their first start are written
/// each time.
fn home() -> Result<TempDir, Failure> {
    tempfile::tempdir_in("/tmp").map_err(|e| cannot!("cannot make a temporary home in /tmp: {e}"))
}

/// Returns the time that the program takes with all its files in memory.
pub fn warm(args: &RecordStartupArgs) -> Result<Duration, Failure> {
    let [program, arguments @ ..] = args.command.as_slice() else { return Ok(Duration::ZERO) };
    let home = home()?;
    let mut started = Command::new(program);
    started.args(arguments).env_clear().envs(args.environment()).env("HOME", home.path());
    started.stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let status = started.status();
    let status = status.map_err(|e| {
        cannot!("cannot run {program} again, without strace, to time its start: {e}")
    })?;
    if status.success() {
        Ok(begun.elapsed())
    } else {
        Err(mistaken!(
            "{} succeeded under strace, and failed when it was run again to time its start \
             ({status}); record a command that succeeds each time in an empty home folder",
            args.command.join(" ")
        ))
    }
}

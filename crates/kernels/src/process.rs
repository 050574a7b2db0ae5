//! Runs child processes in a group of their own, watches them, and ends them when the build is
//! stopped or killed.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::{Error, Result};

/// Interval at which a silent child is checked, and the time that a stopped one gets to exit.
const LOOK: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_secs(2);

/// Sign of life of a running child.
pub(crate) enum Sign<'a> {
    /// A line of its standard output or standard error, without the newline.
    Line(&'a str),
    /// The child printed nothing for a tenth of a second.
    Quiet,
}

/// Runs children; `stop` ends them.
#[derive(Clone, Copy)]
pub(crate) struct Runner<'a> {
    pub stop: &'a AtomicBool,
}

impl Runner<'_> {
    /// Runs `command` without standard input, with both outputs in one stream, which goes to
    /// `watch` line by line.
    pub fn watch(self, command: &mut Command, watch: &mut dyn FnMut(Sign)) -> Result<ExitStatus> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |cause: io::Error| Error::Tool { program: program.clone(), cause };
        self.check()?;
        let group = ProcessGroup::begin().map_err(failed)?;
        let (output, mut child) = spawn(command, &group).map_err(failed)?;
        let followed = self.follow(output, watch, &failed);
        if followed.is_err() {
            group.ask_to_leave(&mut child);
        }
        let status = child.wait().map_err(failed)?;
        followed.map(|()| status)
    }

    /// Runs `command` and returns its output. A failure is an error that shows the last lines.
    pub fn output(self, command: &mut Command) -> Result<String> {
        let (status, text) = self.text(command, &mut || ())?;
        if status.success() { Ok(text) } else { Err(failure(command, status, &text)) }
    }

    /// Runs `command` and returns its exit status and output; `moved` is called for each line and
    /// for each tenth of a second without one.
    pub fn text(
        self,
        command: &mut Command,
        moved: &mut dyn FnMut(),
    ) -> Result<(ExitStatus, String)> {
        let mut text = String::new();
        let status = self.watch(command, &mut |sign| {
            if let Sign::Line(line) = sign {
                text.push_str(line);
                text.push('\n');
            }
            moved();
        })?;
        Ok((status, text))
    }

    pub fn check(self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Reads until the child's end of the pipe is closed, or until the build is stopped.
    fn follow(
        self,
        output: OwnedFd,
        watch: &mut dyn FnMut(Sign),
        failed: &dyn Fn(io::Error) -> Error,
    ) -> Result<()> {
        let mut output = std::fs::File::from(output);
        let mut pending = Vec::new();
        let mut buffer = [0; 8192];
        loop {
            self.check()?;
            if !readable(&output).map_err(failed)? {
                watch(Sign::Quiet);
                continue;
            }
            match output.read(&mut buffer).map_err(failed)? {
                0 => break,
                n => pending.extend_from_slice(&buffer[..n]),
            }
            while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
                watch(Sign::Line(&String::from_utf8_lossy(&pending[..end])));
                pending.drain(..=end);
            }
        }
        if !pending.is_empty() {
            watch(Sign::Line(&String::from_utf8_lossy(&pending)));
        }
        Ok(())
    }
}

/// Returns the error for a command that ran and failed.
pub(crate) fn failure(command: &Command, status: ExitStatus, output: &str) -> Error {
    let lines: Vec<&str> = output.lines().collect();
    let tail = lines[lines.len().saturating_sub(8)..].iter().map(|&line| line.to_owned()).collect();
    Error::Command { command: shown(command), status: status.to_string(), tail }
}

fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A process group that ends with this process in any case. Its first member waits at a pipe that
/// only this process holds open, and ends the others when it is closed.
struct ProcessGroup {
    keeper: Child,
}

impl ProcessGroup {
    fn begin() -> io::Result<Self> {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", "read -r nothing; kill -KILL 0"]).stdin(Stdio::piped());
        let keeper = keeper.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
        Ok(Self { keeper })
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.keeper)
    }

    /// Gives the child time to clean up.
    fn ask_to_leave(&self, child: &mut Child) {
        let asked = Instant::now();
        let _ = kill_process_group(self.id(), Signal::TERM);
        while asked.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = kill_process_group(self.id(), Signal::KILL);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let _ = kill_process_group(self.id(), Signal::KILL);
        let _ = self.keeper.wait();
    }
}

fn spawn(command: &mut Command, group: &ProcessGroup) -> io::Result<(OwnedFd, Child)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    command.stdin(Stdio::null()).stdout(write.try_clone()?).stderr(write);
    command.process_group(group.id().as_raw_nonzero().get());
    let child = command.spawn();
    // The command holds copies of the write end. Unless they are closed, the output would never
    // end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((read, child?))
}

fn readable(output: &impl AsFd) -> io::Result<bool> {
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    match poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_outputs_come_line_by_line() {
        let stop = AtomicBool::new(false);
        let text =
            Runner { stop: &stop }.output(&mut shell("echo a; echo b >&2; printf c")).unwrap();
        assert_eq!(text, "a\nb\nc\n");
    }

    #[test]
    fn a_failure_shows_the_command_its_status_and_last_words() {
        let stop = AtomicBool::new(false);
        let error = Runner { stop: &stop }
            .output(&mut shell("echo no room; exit 3"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("exit 3")
                && error.contains("exit status: 3")
                && error.contains("  no room"),
            "{error}"
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let stop = AtomicBool::new(false);
        let error = Runner { stop: &stop }
            .output(&mut Command::new("no-such-tool"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("no-such-tool") && error.contains("doctor"), "{error}");
    }

    #[test]
    fn stopping_takes_the_whole_group_along() {
        let folder = tempfile::tempdir().unwrap();
        let alive = folder.path().join("alive");
        let script = format!("(while sleep 0.05; do date >> '{}'; done) & wait", alive.display());
        let stop = AtomicBool::new(false);
        let result = Runner { stop: &stop }.watch(&mut shell(&script), &mut |_| {
            if alive.exists() {
                stop.store(true, Ordering::Relaxed);
            }
        });
        assert!(matches!(result, Err(Error::Interrupted)));
        let size = || std::fs::metadata(&alive).unwrap().len();
        let before = size();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(size(), before, "the grandchild still writes");
    }
}

//! Starts a guest in a trial's folder, watches it until it ends, and ends it if it has gone wrong.

use crate::error::{Error, Result};
use crate::interpret::end::End;
use disklab_protocol::heartbeat::Heartbeat;
use disklab_protocol::names;
use disklab_units::{Bytes, Nanos};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, setrlimit};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a guest is looked at. Its end is seen this late; the guest loses some microseconds
/// each time.
const LOOK: Duration = Duration::from_millis(5);
/// A console is a page or two; a guest that writes more than this has gone wrong and would fill the
/// disk.
const LONGEST_CONSOLE: u64 = 16 << 20;
/// When a guest's calendar begins, ns since 1970: any fixed moment will do (this one is in November
/// 2023).
const EPOCH: u64 = 1_700_000_000_000_000_000;
/// A parameter of guests that prepare what others begin with: their calendar is a day behind.
/// ext4's journal tells what is left of older transactions by the times of their commits, and would
/// take them for damaged new ones if time had gone back.
pub const A_DAY_BEFORE: &str = "time-travel-start=1699913600000000000";
/// The same of guests that look at what a trial left.
pub const A_DAY_AFTER: &str = "time-travel-start=1700086400000000000";
/// Environment variable with the number of guests of all disklabs that run on this machine.
const GUESTS: &str = "DISKLAB_GUESTS";
/// The first process's program in a guest, wherever it is on the host
/// (guest-kernel/files/arch/um/include/shared/disklab_init.h).
const INIT: &str = "/.disklab-init";

/// The two programs that a guest is made of besides its kernel.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The disk library.
    pub library: PathBuf,
    /// The first process: this program.
    pub init: PathBuf,
}

impl Installation {
    /// The running program, and the library beside it or in `../lib/disklab`.
    pub fn find() -> Result<Self> {
        let init =
            std::env::current_exe().map_err(Error::io("find", Path::new("/proc/self/exe")))?;
        let folder = init.parent().unwrap_or(Path::new("/"));
        let name = "libdisklab_guest.so";
        // Cargo always writes the one in `deps`, and the one beside the program only when it is
        // asked for the library; a program that is a test is in `deps` itself.
        let places = ["deps", "", "../lib/disklab"].map(|place| folder.join(place).join(name));
        let library = places
            .iter()
            .find(|place| place.is_file())
            .ok_or_else(|| Error::NoLibrary(places[1].clone()))?;
        let library = library.canonicalize().map_err(Error::io("find", library))?;
        Ok(Self { library, init })
    }
}

/// When a guest is given up.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// So long in which neither virtual time nor a request moves: it hangs.
    pub silence: Duration,
    /// So much virtual time beyond what the trial was to take: something in it waits for ever.
    pub overtime: Nanos,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { silence: Duration::from_secs(60), overtime: Nanos::from_secs(600) }
    }
}

/// A guest that can be started.
#[derive(Debug)]
pub struct Guest<'a> {
    pub kernel: &'a Path,
    pub installation: &'a Installation,
    /// Holds `machine.json` and `plan.json`; the guest's output goes there.
    pub folder: &'a Path,
    pub memory: Bytes,
    /// How many run at a time: their memory has to fit together.
    pub guests: usize,
    /// More of the kernel's parameters; a trial has none.
    pub parameters: &'a [&'a str],
}

impl Guest<'_> {
    /// Runs it to its end. `limit` is when virtual time is past what can be right.
    pub fn run(
        &self,
        silence: Duration,
        limit: Nanos,
        stop: &AtomicBool,
        seen: &mut dyn FnMut(Heartbeat),
    ) -> Result<End> {
        let mut child = self.start()?;
        let end = self.watch(&mut child, silence, limit, stop, seen);
        if !matches!(end, Ok(End::Exited(_))) {
            let _ = child.kill();
            let _ = child.wait();
        }
        // The programs of the guest die with its kernel's process, but for one that was just being
        // started.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        // The kernel's own folder, named by `uml_dir`, of no use to anybody.
        let _ = std::fs::remove_dir_all(self.folder.join("uml"));
        end
    }

    /// Guests on this machine, of this run and of those beside it.
    fn at_a_time(&self) -> usize {
        let told = std::env::var(GUESTS).ok().and_then(|told| told.parse().ok());
        self.guests.max(told.unwrap_or_default())
    }

    fn start(&self) -> Result<Child> {
        // A guest that panics would leave all its memory as a core file.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        let mut command = Command::new(self.kernel);
        command
            .arg(format!("mem={}K", self.memory.0 >> 10))
            .args([
                "rootfstype=hostfs",
                "rootflags=/",
                "ro",
                "quiet",
                "con=null",
                "con0=null,fd:1",
                "uml_dir=uml/",
            ])
            .args(["time-travel=inf-cpu", &format!("time-travel-start={EPOCH}"), "seccomp=auto"])
            // A guest that panics ends.
            .arg("panic=-1")
            .args(self.parameters)
            .arg(format!("init={INIT}"))
            .args(["--", disklab_guest::init::ARGUMENT])
            .env_clear()
            .env("DISKLAB_LIBRARY", &self.installation.library)
            .env("DISKLAB_INIT", &self.installation.init)
            .env("DISKLAB_STARTER", std::process::id().to_string())
            .env("TMPDIR", memory_folder(self.folder, self.memory, self.at_a_time()));
        spawn(&mut command, self.folder)
    }

    fn watch(
        &self,
        child: &mut Child,
        silence: Duration,
        limit: Nanos,
        stop: &AtomicBool,
        seen: &mut dyn FnMut(Heartbeat),
    ) -> Result<End> {
        let mut last = Heartbeat::default();
        let mut moved = Instant::now();
        loop {
            let status =
                child.try_wait().map_err(Error::io("wait for the guest in", self.folder))?;
            if let Some(status) = status {
                return Ok(End::Exited(status));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(End::Stopped);
            }
            // Absent until the library has made it.
            let beat = Heartbeat::read(self.folder).unwrap_or_default();
            if beat != last {
                (last, moved) = (beat, Instant::now());
                seen(beat);
            }
            if moved.elapsed() > silence {
                return Ok(End::Silent(silence));
            }
            if beat.now > limit.0 {
                return Ok(End::PastTime(limit));
            }
            let console = self.folder.join(names::CONSOLE).metadata();
            if console.is_ok_and(|console| console.len() > LONGEST_CONSOLE) {
                return Ok(End::Talkative);
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Starts a program in a trial's folder; all that it says goes to the trial's console.
pub fn spawn(command: &mut Command, folder: &Path) -> Result<Child> {
    let path = folder.join(names::CONSOLE);
    let console = File::create(&path).map_err(Error::io("create", &path))?;
    let both = console.try_clone().map_err(Error::io("create", &path))?;
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .current_dir(folder)
        // A terminal's Ctrl-C is for the one who watches.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(console)
        .stderr(both)
        .spawn()
        .map_err(|cause| Error::Tool { program, cause })
}

/// Folder of the file that is the guest's memory: in memory if there is room for all guests of a
/// run, else beside the trial. The file grows as the guest uses its memory; what does not fit then
/// kills the guest.
fn memory_folder(trial: &Path, memory: Bytes, guests: usize) -> PathBuf {
    let shm = Path::new("/dev/shm");
    let all = memory.saturating_mul(guests as u64);
    if crate::room::check_room("", shm, all).is_ok() {
        shm.to_owned()
    } else {
        // The guest's process looks for it from the trial's folder.
        std::path::absolute(trial).unwrap_or_else(|_| trial.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_memory_is_beside_the_trial() {
        let trial = tempfile::tempdir().unwrap();
        assert_eq!(memory_folder(trial.path(), Bytes::mib(256), usize::MAX), trial.path());
        assert_eq!(memory_folder(trial.path(), Bytes(0), 1), Path::new("/dev/shm"));
    }
}

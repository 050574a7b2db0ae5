//! Starts a guest in a trial's folder, watches it until it ends, and kills it if it fails.

use super::scratch::{remove_file, remove_folder};
use super::stalled;
use crate::describe::machine::DISKS;
use crate::error::{Error, Result};
use crate::interpret::end::End;
use disklab_protocol::heartbeat::Heartbeat;
use disklab_protocol::names;
use disklab_units::{Bytes, Nanos};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, kill_process_group, setrlimit, waitpgid,
};
use std::fs::{File, FileType};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval between two checks of a guest. Its end is noticed this late; each check costs the guest
/// some microseconds.
const LOOK: Duration = Duration::from_millis(5);
/// Largest console. A console is a page or two; a guest that writes more has failed and would fill
/// the disk.
const LONGEST_CONSOLE: u64 = 16 << 20;
/// Largest output of a trial, besides the trace that the library writes. The lab's largest trials
/// write some MiB.
pub const LARGEST_OUTPUT: Bytes = Bytes::gib(1);
/// Largest length of the library's trace, which programs may have replaced by a hole.
pub const LONGEST_TRACE: Bytes = Bytes::gib(64);
/// Least size that each file and folder counts as, so that a flood of empty ones ends too.
const SMALLEST_FILE: Bytes = Bytes::kib(4);
/// Interval between two scans of a trial's folder.
const LOOK_THROUGH: Duration = Duration::from_secs(1);
/// Time that killed processes get to end.
const REAPING: Duration = Duration::from_secs(2);
/// Beginning of a guest's calendar, in ns since 1970. Any fixed moment works; this one is in
/// November 2023.
const EPOCH: u64 = 1_700_000_000_000_000_000;
/// Kernel parameter of guests that prepare disks: their calendar is a day behind. ext4's journal
/// recognizes remains of older transactions by the times of their commits. If time had gone back,
/// it would take them for damaged new transactions.
pub const A_DAY_BEFORE: &str = "time-travel-start=1699913600000000000";
/// Kernel parameter of guests that check the remains of a trial: their calendar is a day ahead.
pub const A_DAY_AFTER: &str = "time-travel-start=1700086400000000000";
/// Environment variable with the number of guests of all disklabs on this machine.
const GUESTS: &str = "DISKLAB_GUESTS";
/// Path of the first process's program in a guest, wherever the program is on the host
/// (guest-kernel/files/arch/um/include/shared/disklab_init.h).
const INIT: &str = "/.disklab-init";

/// The two programs of a guest besides its kernel.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The disk library.
    pub library: PathBuf,
    /// Program of the first process: this program.
    pub init: PathBuf,
}

impl Installation {
    /// Finds the running program, and the library beside it or in `../lib/disklab`.
    pub fn find() -> Result<Self> {
        let init =
            std::env::current_exe().map_err(Error::io("find", Path::new("/proc/self/exe")))?;
        let folder = init.parent().unwrap_or(Path::new("/"));
        let name = "libdisklab_guest.so";
        // Cargo always writes the library in `deps`, and beside the program only if it was asked
        // for the library. A test program is in `deps` itself.
        let places = ["deps", "", "../lib/disklab"].map(|place| folder.join(place).join(name));
        let library = places
            .iter()
            .find(|place| place.is_file())
            .ok_or_else(|| Error::NoLibrary(places[1].clone()))?;
        let library = library.canonicalize().map_err(Error::io("find", library))?;
        Ok(Self { library, init })
    }
}

/// Times after which a guest is killed.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Time without progress of virtual time and of requests: the guest hangs.
    pub silence: Duration,
    /// Virtual time beyond that of the trial: some process in the guest waits for ever.
    pub overtime: Nanos,
    /// Wall time in all: the guest takes steps that need no virtual time.
    pub wall: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(60),
            overtime: Nanos::from_secs(600),
            wall: Duration::from_secs(24 * 3600),
        }
    }
}

/// A guest that can be started.
#[derive(Debug)]
pub struct Guest<'a> {
    pub kernel: &'a Path,
    pub installation: &'a Installation,
    /// Folder with `machine.json` and `plan.json`. The guest's output goes there.
    pub folder: &'a Path,
    pub memory: Bytes,
    /// Number of guests at a time: their memory must fit together.
    pub guests: usize,
    /// Additional kernel parameters; a trial has none.
    pub parameters: &'a [&'a str],
}

impl Guest<'_> {
    /// Runs the guest to its end. `limit` is the virtual time beyond which the trial has failed. A
    /// guest that hangs before it has done anything is started once more.
    pub fn run(
        &self,
        timeouts: &Timeouts,
        limit: Nanos,
        stop: &AtomicBool,
        seen: &mut dyn FnMut(Heartbeat),
    ) -> Result<End> {
        // Programs of the guest may change its files, but not what was seen of them before.
        let mut has_worked = false;
        let mut note = |beat: Heartbeat| {
            has_worked |= beat.now > 0 || beat.requests > 0;
            seen(beat);
        };
        let end = self.run_once(timeouts, limit, stop, &mut note)?;
        if matches!(end, End::Silent(_)) && !has_worked && !self.folder.join(names::STEPS).exists()
        {
            return self.run_once(timeouts, limit, stop, seen);
        }
        Ok(end)
    }

    fn run_once(
        &self,
        timeouts: &Timeouts,
        limit: Nanos,
        stop: &AtomicBool,
        seen: &mut dyn FnMut(Heartbeat),
    ) -> Result<End> {
        let own: Vec<OwnFile> = [names::MACHINE, names::PLAN, names::STALLED]
            .into_iter()
            .map(|name| OwnFile::read(self.folder, name))
            .collect::<Result<_>>()?;
        let mut child = self.start()?;
        let end = self.watch(&mut child, timeouts, limit, stop, seen);
        if !matches!(end, Ok(End::Exited(_))) {
            let _ = child.kill();
            let _ = child.wait();
        }
        // The guest's programs die with its kernel's process, except one that was just being
        // started.
        let group = Pid::from_child(&child);
        let _ = kill_process_group(group, Signal::KILL);
        reap(group);
        // Nobody uses the kernel's own folder, which `uml_dir` names.
        let _ = remove_folder(&self.folder.join("uml"));
        let is_silent = matches!(end, Ok(End::Silent(_)));
        for file in own.iter().filter(|file| !(is_silent && file.name == names::STALLED)) {
            file.put_back(self.folder)?;
        }
        end
    }

    /// Returns the number of guests on this machine, of this run and of others.
    fn at_a_time(&self) -> usize {
        let told = std::env::var(GUESTS).ok().and_then(|told| told.parse().ok());
        self.guests.max(told.unwrap_or_default())
    }

    fn start(&self) -> Result<Child> {
        // A guest that panics would write all its memory to a core file.
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
            // A guest that panics then ends.
            .arg("panic=-1")
            .args(self.parameters)
            .arg(format!("init={INIT}"))
            .args(["--", disklab_guest::init::ARGUMENT])
            .env_clear()
            .env("DISKLAB_LIBRARY", &self.installation.library)
            .env("DISKLAB_INIT", &self.installation.init)
            .env("DISKLAB_STARTER", std::process::id().to_string())
            .env("TMPDIR", memory_folder(self.folder, self.memory, self.at_a_time())?);
        spawn(&mut command, self.folder)
    }

    fn watch(
        &self,
        child: &mut Child,
        timeouts: &Timeouts,
        limit: Nanos,
        stop: &AtomicBool,
        seen: &mut dyn FnMut(Heartbeat),
    ) -> Result<End> {
        let mut last = Heartbeat::default();
        let started = Instant::now();
        // The disks of a trial are elsewhere, and those of a preparation in the folder itself. A
        // program may put a folder of its own in the link's place.
        let disks = disklab_files::type_at(&self.folder.join(DISKS)).ok().flatten();
        let (mut moved, mut looked, mut judged) = (started, started, started);
        // Processor time that the guest had used in the middle of a silence.
        let mut taken = None;
        loop {
            let status =
                child.try_wait().map_err(Error::io("wait for the guest in", self.folder))?;
            if let Some(status) = status {
                return Ok(End::Exited(status));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(End::Stopped);
            }
            // The heartbeat does not exist until the library has made it.
            let beat = Heartbeat::read(self.folder).unwrap_or_default();
            if beat != last {
                (last, moved, taken) = (beat, Instant::now(), None);
                seen(beat);
            }
            let silent = moved.elapsed();
            if silent > timeouts.silence / 2 && taken.is_none() {
                taken = Some(stalled::processor_time(child.id()));
            }
            let is_due = silent > timeouts.silence && judged.elapsed() > LOOK_THROUGH;
            if is_due && stalled::waits_for_a_processor(child.id(), taken, timeouts.silence / 2) {
                judged = Instant::now();
            } else if is_due {
                stalled::keep(self.folder, child.id());
                return Ok(End::Silent(timeouts.silence));
            }
            if started.elapsed() > timeouts.wall {
                return Ok(End::PastWall(timeouts.wall));
            }
            if beat.now > limit.0 {
                return Ok(End::PastTime(limit));
            }
            let console = self.folder.join(names::CONSOLE).metadata();
            if console.is_ok_and(|console| console.len() > LONGEST_CONSOLE) {
                return Ok(End::Talkative);
            }
            if looked.elapsed() > LOOK_THROUGH {
                if !is_within(self.folder, disks, LARGEST_OUTPUT) {
                    return Ok(End::Overfull(LARGEST_OUTPUT));
                }
                looked = Instant::now();
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Returns true if the output in a trial's folder takes at most `most`, without the library's trace
/// and its disks, which are of this type. Files that vanish meanwhile count as 0.
fn is_within(trial: &Path, disks: Option<FileType>, most: Bytes) -> bool {
    let mut taken = Bytes(0);
    let mut folders = vec![trial.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            // What cannot be listed cannot be counted.
            Err(_) => return false,
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            // The metadata are those of a link itself.
            let Ok(meta) = entry.metadata() else { continue };
            let is_disks = name == DISKS && Some(meta.file_type()) == disks;
            let is_trace = name == names::REQUESTS && meta.is_file();
            if folder == trial && is_trace && meta.blocks() * 512 > LONGEST_TRACE.0 {
                return false;
            }
            if folder == trial && (is_disks || is_trace) {
                continue;
            }
            taken = taken.saturating_add(Bytes(meta.blocks() * 512).max(SMALLEST_FILE));
            if taken > most {
                return false;
            }
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    true
}

/// A file in a trial's folder that only the host writes. A result is derived from it, and programs
/// in the guest could change it.
struct OwnFile {
    name: &'static str,
    /// Content, if there is a file.
    bytes: Option<Vec<u8>>,
}

impl OwnFile {
    fn read(folder: &Path, name: &'static str) -> Result<Self> {
        let path = folder.join(name);
        match disklab_files::read(&path, &disklab_files::TRIAL) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self { name, bytes: None }),
            Err(error) => Err(Error::io("read", &path)(error)),
            Ok(bytes) => Ok(Self { name, bytes: Some(bytes) }),
        }
    }

    /// Makes the file what it was, after all programs of the guest have ended.
    fn put_back(&self, folder: &Path) -> Result<()> {
        if Self::read(folder, self.name).is_ok_and(|now| now.bytes == self.bytes) {
            return Ok(());
        }
        let path = folder.join(self.name);
        match disklab_files::type_at(&path).map_err(Error::io("look at", &path))? {
            Some(kind) if kind.is_dir() => remove_folder(&path)?,
            _ => remove_file(&path)?,
        }
        let write = |bytes| std::fs::write(&path, bytes).map_err(Error::io("write", &path));
        self.bytes.as_ref().map_or(Ok(()), write)
    }
}

/// Starts a program in a trial's folder. Its output goes to the trial's console.
pub fn spawn(command: &mut Command, folder: &Path) -> Result<Child> {
    let path = folder.join(names::CONSOLE);
    let console = File::create(&path).map_err(Error::io("create", &path))?;
    let both = console.try_clone().map_err(Error::io("create", &path))?;
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .current_dir(folder)
        // Only disklab, and not the guest, gets a terminal's Ctrl-C.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(console)
        .stderr(both)
        .spawn()
        .map_err(|cause| Error::Tool { program, cause })
}

/// Collects the processes of a killed group whose parents are gone. In a container, the first
/// process becomes their parent, and each would stay as a zombie until the end.
fn reap(group: Pid) {
    let begun = Instant::now();
    loop {
        match waitpgid(group, WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) if begun.elapsed() < REAPING => std::thread::sleep(Duration::from_millis(1)),
            // Elsewhere, another process is their parent.
            Ok(None) | Err(_) => return,
        }
    }
}

/// Returns the folder for the file with the guest's memory. It is in memory if all guests of a run
/// have room there, or else beside the trial. The file grows as the guest uses its memory; a guest
/// whose memory does not fit is killed.
fn memory_folder(trial: &Path, memory: Bytes, guests: usize) -> Result<PathBuf> {
    let shm = Path::new("/dev/shm");
    let all = memory.saturating_mul(guests as u64);
    if is_fit_for_memory(shm) && crate::room::check_room("", shm, all).is_ok() {
        Ok(shm.to_owned())
    } else if is_fit_for_memory(trial) {
        // The guest's process resolves the path from the trial's folder.
        Ok(std::path::absolute(trial).unwrap_or_else(|_| trial.to_owned()))
    } else {
        Err(Error::NoPlaceForMemory { trial: trial.to_owned() })
    }
}

/// Returns true if a guest can make its memory in a folder, from which the kernel executes code.
fn is_fit_for_memory(folder: &Path) -> bool {
    let has_exec =
        statvfs(folder).is_ok_and(|stat| !stat.f_flag.contains(StatVfsMountFlags::NOEXEC));
    has_exec && access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_counts_without_disks_and_trace() {
        let trial = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: usize| {
            std::fs::write(trial.path().join(name), vec![7; bytes]).unwrap();
        };
        std::fs::create_dir(trial.path().join(DISKS)).unwrap();
        write("disks/0.img", 1 << 20);
        let disks = disklab_files::type_at(&trial.path().join(DISKS)).unwrap();
        write(names::REQUESTS, 1 << 20);
        assert!(is_within(trial.path(), disks, Bytes::kib(512)));
        let linked = disklab_files::type_at(Path::new("/proc/self/exe")).unwrap();
        assert!(!is_within(trial.path(), linked, Bytes::kib(512)), "a folder in the link's place");
        std::fs::create_dir(trial.path().join("deep")).unwrap();
        write("deep/large", 1 << 20);
        assert!(!is_within(trial.path(), disks, Bytes::kib(512)));
        assert!(is_within(trial.path(), disks, Bytes::mib(2)));
        for number in 0..300 {
            write(&format!("deep/{number}"), 0);
        }
        assert!(!is_within(trial.path(), disks, Bytes::mib(2)), "empty files are free");
    }

    #[test]
    fn what_does_not_fit_into_memory_is_beside_the_trial() {
        let trial = tempfile::tempdir().unwrap();
        let folder = |memory, guests| memory_folder(trial.path(), memory, guests).unwrap();
        assert_eq!(folder(Bytes::mib(256), usize::MAX), trial.path());
        assert_eq!(folder(Bytes(0), 1), Path::new("/dev/shm"));
        let error = memory_folder(Path::new("/dev/none"), Bytes::mib(256), usize::MAX).unwrap_err();
        assert!(error.is_of_all_trials() && error.to_string().contains("noexec"), "{error}");
        assert!(is_fit_for_memory(trial.path()) && !is_fit_for_memory(Path::new("/dev/none")));
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let noexec = mounts.lines().find(|line| line.contains("noexec"));
        match noexec.and_then(|line| line.split(' ').nth(1)) {
            Some(place) => assert!(!is_fit_for_memory(Path::new(place)), "{place}"),
            None => disklab_testkit::skipped("no filesystem is mounted noexec here"),
        }
    }
}

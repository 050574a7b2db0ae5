//! The first process of a trial on a real machine: `disklab` again, in namespaces of its own.
//!
//! What it mounts and what it starts ends with it, however it ends, and all of the machine's files
//! are read-only to it but for the trial's folder and what the user named. The same plan is carried
//! out by the same code as in a guest, and finds things at the same places.
//!
//! Two processes: the outer one makes the namespaces and waits, the inner one is the first in them.
//! Each ends with the one that started it.

use super::ground::Held;
use super::{Failure, ground, mounted, plan_in, run_plan};
use crate::plan::{Host, POOL, REPLICA, TRIAL};
use disklab_block_devices::{Disk, guard};
use disklab_protocol::names;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Signal, getegid, geteuid, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::{CString, c_char, c_int, c_long, c_uint};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The argument by which the program knows that it is this; no subcommand has this name.
pub const ARGUMENT: &str = "host-init";
const INSIDE: &str = "inside";
const PROBE: &str = "probe";
/// Where the inner process sees the run's journal.
const JOURNAL: &str = "/mnt/journal";
/// Below [`POOL`], where the plan is about one file of the user's.
const TEST_FILE: &str = "test";

/// Carries out the plan in the working folder, as one of the two processes.
pub fn main() -> ! {
    let ended = match std::env::args_os().nth(2) {
        Some(word) if word == INSIDE => inside_namespaces().map(|()| 0),
        Some(word) if word == PROBE => own_namespaces().and_then(|()| keep_mounts()).map(|()| 0),
        _ => own_namespaces().and_then(|()| start_inside()),
    };
    std::process::exit(ended.unwrap_or_else(|failure| {
        eprintln!("disklab: {failure}");
        1
    }))
}

/// Whether this machine lets the caller have the namespaces that a trial is kept in; the error says
/// why not. `program` is disklab.
pub fn probe(program: &Path) -> Result<(), Failure> {
    let asked = Command::new(program).args([ARGUMENT, PROBE]).stdin(Stdio::null()).output();
    let said = asked.map_err(|e| format!("{}: {e}", program.display()))?;
    if said.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&said.stderr);
    Err(why.trim().trim_start_matches("disklab: ").to_owned())
}

fn own_namespaces() -> Result<(), Failure> {
    end_with_parent()?;
    let user = !geteuid().is_root();
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let own = UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    let own = if user { own | UnshareFlags::NEWUSER } else { own };
    // SAFETY: this process has one thread, and no file descriptors are taken apart.
    unsafe { unshare_unsafe(own) }.map_err(|e| {
        let whose = if user {
            "this machine does not let users have namespaces of their own"
        } else {
            "not as root of this machine"
        };
        format!("namespaces for the trial: {e}; {whose}")
    })?;
    if user {
        put("/proc/self/setgroups", "deny")?;
        put("/proc/self/uid_map", &format!("0 {uid} 1"))?;
        put("/proc/self/gid_map", &format!("0 {gid} 1"))?;
    }
    Ok(())
}

fn start_inside() -> Result<i32, Failure> {
    let mut inner = Command::new("/proc/self/exe");
    // Its input ends when this process does.
    let child = inner.args([ARGUMENT, INSIDE]).stdin(Stdio::piped()).spawn();
    let mut child = child.map_err(|e| format!("the first process of the trial: {e}"))?;
    let input = child.stdin.take();
    let status =
        child.wait().map_err(|e| format!("waiting for the first process of the trial: {e}"))?;
    drop(input);
    Ok(status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1))
}

fn inside_namespaces() -> Result<(), Failure> {
    end_with_parent()?;
    // It may have ended just before.
    let input = io::stdin();
    let mut asked = [PollFd::new(&input, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now))
        .map_err(|e| format!("looking after the one who started this: {e}"))?;
    if asked[0].revents().contains(PollFlags::HUP) {
        return Err("whoever started this is gone".to_owned());
    }
    let plan = plan_in(Path::new("."))?;
    let host = plan.host.clone().ok_or_else(|| format!("{}: it is a guest's", names::PLAN))?;
    let held = held(&host)?;
    surround(&host)?;
    ground::enter(&host, Path::new(JOURNAL), Path::new(TRIAL), held)?;
    run_plan(Ok(plan))
}

/// The disks, if they are still those that the run was given, and nobody else's. They are held from
/// here, where all of the machine is seen, until just before something is made on them or mounted.
fn held(host: &Host) -> Result<Held, Failure> {
    let mut held = Held::new();
    for disk in &host.disks {
        let now = Disk::find(&disk.named).map_err(|e| e.to_string())?;
        if (now.number, &now.serial, now.bytes) != (disk.number, &disk.serial, disk.bytes) {
            let name = disk.named.display();
            return Err(format!(
                "{name}: it is no longer the disk that the run began with; nothing was done to it"
            ));
        }
        // Those below a filesystem of the user's are in use.
        if host.at.is_none() {
            held.push((disk.clone(), guard::hold(disk).map_err(|e| e.to_string())?));
        }
    }
    if let Some(overwrite) = &host.overwrite {
        let free = |disk| guard::is_free(disk, overwrite).map_err(|e| e.to_string());
        host.disks.iter().try_for_each(free)?;
    }
    Ok(held)
}

fn end_with_parent() -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| format!("to end with its starter: {e}"))
}

/// The machine's files, read-only, and over them the places that plans know.
fn surround(host: &Host) -> Result<(), Failure> {
    // A kernel without users' namespaces has no map.
    let root = geteuid().is_root()
        && fs::read_to_string("/proc/self/uid_map").map_or(true, |map| is_whole(&map));
    keep_mounts()?;
    let at = host.at.as_deref().map(no_link).transpose()?;
    let journal = found(&host.journal)?;
    read_only("/", true)?;
    mounted("proc", "/proc", "")?;
    if root {
        // There is one for all, and it is there. mdadm makes nodes.
        read_only("/sys", false)?;
        read_only("/dev", false)?;
    }
    for folder in ["/tmp", "/mnt", "/run", "/dev/shm"] {
        if Path::new(folder).is_dir() {
            mounted("tmpfs", folder, "")?;
        }
    }
    for folder in [TRIAL, POOL, REPLICA] {
        fs::create_dir(folder).map_err(|e| format!("{folder}: {e}"))?;
    }
    File::create(JOURNAL).map_err(|e| format!("{JOURNAL}: {e}"))?;
    writable(Path::new("."), TRIAL)?;
    writable(&by_descriptor(&journal), JOURNAL)?;
    match &at {
        Some((fd, true)) => writable(&by_descriptor(fd), POOL),
        Some((fd, false)) => {
            let file = Path::new(POOL).join(TEST_FILE);
            File::create(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            bound(&by_descriptor(fd), &file)
        }
        None => Ok(()),
    }
}

/// What is mounted here stays here. What is unmounted on the machine goes from here too: a
/// filesystem that somebody else unmounts would be in use until the trial ends.
fn keep_mounts() -> Result<(), Failure> {
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(|e| format!("keeping mounts to itself: {e}"))
}

/// What a program has below its own root besides files: of devices those that are nobody's, of the
/// kernel what can be read.
pub(super) fn surroundings(root: &Path) -> Result<(), Failure> {
    let at = |name: &str| root.join(name).display().to_string();
    mounted("tmpfs", &at("dev"), "")?;
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let to = root.join("dev").join(name);
        File::create(&to).map_err(|e| format!("{}: {e}", to.display()))?;
        bound(&Path::new("/dev").join(name), &to)?;
    }
    for name in ["dev/pts", "dev/shm"] {
        fs::create_dir(root.join(name)).map_err(|e| format!("{}: {e}", at(name)))?;
    }
    let ptmx = root.join("dev/ptmx");
    symlink("pts/ptmx", &ptmx).map_err(|e| format!("{}: {e}", ptmx.display()))?;
    read_only(&at("dev"), true)?;
    mounted("devpts", &at("dev/pts"), "ptmxmode=0666,newinstance")?;
    mounted("tmpfs", &at("dev/shm"), "")?;
    mounted("proc", &at("proc"), "")?;
    for name in ["sys", "sysrq-trigger", "irq", "bus", "fs"] {
        let path = root.join("proc").join(name);
        // Not every kernel has all of them.
        if path.exists() {
            bound(&path, &path)?;
            read_only(&path.display().to_string(), true)?;
        }
    }
    mounted("sysfs", &at("sys"), "")?;
    read_only(&at("sys"), true)?;
    mounted("tmpfs", &at("tmp"), "")
}

/// Not a part of one: a user's namespace maps one user only.
fn is_whole(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// A file or folder that can be bound once its path leads elsewhere.
fn found(path: &Path) -> Result<OwnedFd, Failure> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// The same of what the user named, and whether it is a folder. Who owns the folder above could
/// have put a link in its place since.
fn no_link(path: &Path) -> Result<(OwnedFd, bool), Failure> {
    let failed = |e: Errno| format!("{}: {e}", path.display());
    let fd = open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
        .map_err(failed)?;
    match FileType::from_raw_mode(fstat(&fd).map_err(failed)?.st_mode) {
        FileType::Directory => Ok((fd, true)),
        FileType::RegularFile => Ok((fd, false)),
        _ => Err(format!("{}: it is no longer the folder or file that it was", path.display())),
    }
}

fn by_descriptor(fd: &OwnedFd) -> std::path::PathBuf {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into()
}

pub(super) fn bound(from: &Path, to: &Path) -> Result<(), Failure> {
    mount_bind(from, to).map_err(|e| format!("binding {} to {}: {e}", from.display(), to.display()))
}

fn writable(from: &Path, to: &str) -> Result<(), Failure> {
    bound(from, Path::new(to))?;
    read_only(to, false)
}

fn put(path: &str, value: &str) -> Result<(), Failure> {
    fs::write(path, value).map_err(|e| format!("writing {value:?} to {path}: {e}"))
}

/// Whether what is mounted there, and for `true` all below, can be written.
pub(super) fn read_only(path: &str, yes: bool) -> Result<(), Failure> {
    // As in linux/mount.h and asm/unistd.h: mount_setattr(2) came with Linux 5.12.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        userns: u64,
    }
    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }
    const MOUNT_SETATTR: c_long = 442;
    const CWD: c_int = -100;
    const RECURSIVE: c_uint = 0x8000;
    const RDONLY: u64 = 1;
    let (set, clear, flags) = if yes { (RDONLY, 0, RECURSIVE) } else { (0, RDONLY, 0) };
    let attributes = Attributes { set, clear, propagation: 0, userns: 0 };
    let name = CString::new(path).map_err(|e| format!("{path}: {e}"))?;
    let name: *const c_char = name.as_ptr();
    // SAFETY: the path ends with a zero byte, and the attributes are there for the length that is
    // told.
    let result = unsafe {
        syscall(MOUNT_SETATTR, CWD, name, flags, &raw const attributes, size_of::<Attributes>())
    };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    let how = if yes {
        "keeping programs from writing to this machine's files"
    } else {
        "making it writable"
    };
    Err(format!("{path}: {how}: {error} (it needs Linux 5.12 or newer)"))
}

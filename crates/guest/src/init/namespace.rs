//! The namespaces of a trial on a real machine: its mounts, and its view of the machine's files.

use super::filesystem::mounted;
use super::steps::{Failure, on};
use crate::real_machine::{RealMachine, TEST_FILE};
use disklab_protocol::places::{POOL, REPLICA, TRIAL};
use libc::{AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY, mount_attr};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Signal, getegid, geteuid, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;

/// The run's journal, as the inner process sees it.
pub const JOURNAL: &str = "/mnt/journal";

pub fn own_namespaces() -> Result<(), Failure> {
    end_with_parent()?;
    let user = !geteuid().is_root();
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let own = UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    let own = if user { own | UnshareFlags::NEWUSER } else { own };
    // SAFETY: this process has one thread, and no file descriptors are taken apart.
    unsafe { unshare_unsafe(own) }.map_err(|e| {
        let whose = if user {
            "this machine does not let users create namespaces"
        } else {
            "a container may forbid it even to root"
        };
        format!("creating namespaces for the trial: {e}; {whose}")
    })?;
    if user {
        put("/proc/self/setgroups", "deny")?;
        put("/proc/self/uid_map", &format!("0 {uid} 1"))?;
        put("/proc/self/gid_map", &format!("0 {gid} 1"))?;
    }
    Ok(())
}

pub fn end_with_parent() -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| format!("asking the kernel to end this process with its parent: {e}"))
}

/// Makes the machine's files read-only, and mounts the places that plans know over them.
pub fn surround(machine: &RealMachine) -> Result<(), Failure> {
    // A kernel without user namespaces has no map.
    let root = geteuid().is_root()
        && fs::read_to_string("/proc/self/uid_map").map_or(true, |map| is_whole(&map));
    keep_mounts()?;
    let at = machine.at.as_deref().map(no_link).transpose()?;
    let journal = found(&machine.journal)?;
    read_only("/", true)?;
    mounted("proc", "/proc", "")?;
    if root {
        // sysfs is the same in all namespaces, and is mounted. mdadm makes nodes in /dev.
        read_only("/sys", false)?;
        read_only("/dev", false)?;
    }
    for folder in ["/tmp", "/mnt", "/run", "/dev/shm"] {
        if Path::new(folder).is_dir() {
            mounted("tmpfs", folder, "")?;
        }
    }
    for folder in [TRIAL, POOL, REPLICA] {
        fs::create_dir(folder).map_err(|e| format!("creating {folder}: {e}"))?;
    }
    File::create(JOURNAL).map_err(|e| format!("creating {JOURNAL}: {e}"))?;
    writable(Path::new("."), TRIAL)?;
    writable(&by_descriptor(&journal), JOURNAL)?;
    match &at {
        Some((fd, true)) => writable(&by_descriptor(fd), POOL),
        Some((fd, false)) => {
            let file = Path::new(POOL).join(TEST_FILE);
            File::create(&file).map_err(on(&file))?;
            bound(&by_descriptor(fd), &file)
        }
        None => Ok(()),
    }
}

/// Keeps mounts made here from the machine. An unmount on the machine takes effect here too, since
/// otherwise the filesystem would stay in use until the trial ends.
pub fn keep_mounts() -> Result<(), Failure> {
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(|e| format!("making / a slave mount, so that new mounts stay in the trial: {e}"))
}

/// Mounts the filesystems below a program's root: devices that belong to nobody, and the readable
/// part of the kernel's files.
pub fn surround_program(root: &Path) -> Result<(), Failure> {
    let at = |name: &str| root.join(name).display().to_string();
    mounted("tmpfs", &at("dev"), "")?;
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let to = root.join("dev").join(name);
        File::create(&to).map_err(on(&to))?;
        bound(&Path::new("/dev").join(name), &to)?;
    }
    for name in ["dev/pts", "dev/shm"] {
        fs::create_dir(root.join(name)).map_err(|e| format!("creating {}: {e}", at(name)))?;
    }
    let ptmx = root.join("dev/ptmx");
    symlink("pts/ptmx", &ptmx).map_err(on(&ptmx))?;
    read_only(&at("dev"), true)?;
    mounted("devpts", &at("dev/pts"), "ptmxmode=0666,newinstance")?;
    mounted("tmpfs", &at("dev/shm"), "")?;
    mounted("proc", &at("proc"), "")?;
    for name in ["sys", "sysrq-trigger", "irq", "bus", "fs"] {
        let path = root.join("proc").join(name);
        // Some kernels lack some of these.
        if path.exists() {
            bound(&path, &path)?;
            read_only(&path.display().to_string(), true)?;
        }
    }
    mounted("sysfs", &at("sys"), "")?;
    read_only(&at("sys"), true)?;
    mounted("tmpfs", &at("tmp"), "")
}

/// Returns true if the map covers all users: a user namespace maps one user only.
fn is_whole(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Opens a file or folder that can be bound after its path leads elsewhere.
fn found(path: &Path) -> Result<OwnedFd, Failure> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(on(path))
}

/// Opens a path of the user's without following links, and returns whether it is a folder. The
/// owner of the folder above could have replaced it by a link.
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

fn bound(from: &Path, to: &Path) -> Result<(), Failure> {
    mount_bind(from, to).map_err(|e| format!("binding {} to {}: {e}", from.display(), to.display()))
}

fn writable(from: &Path, to: &str) -> Result<(), Failure> {
    bound(from, Path::new(to))?;
    read_only(to, false)
}

fn put(path: &str, value: &str) -> Result<(), Failure> {
    fs::write(path, value).map_err(|e| format!("writing {value:?} to {path}: {e}"))
}

/// Makes a mount read-only, and for `true` all mounts below it.
pub fn read_only(path: &str, yes: bool) -> Result<(), Failure> {
    let (set, clear, flags) =
        if yes { (MOUNT_ATTR_RDONLY, 0, AT_RECURSIVE) } else { (0, MOUNT_ATTR_RDONLY, 0) };
    let attributes = mount_attr { attr_set: set, attr_clr: clear, propagation: 0, userns_fd: 0 };
    let (attributes, size) = (&raw const attributes, size_of::<mount_attr>());
    let name = CString::new(path).map_err(|e| format!("{path:?}: {e}"))?;
    // SAFETY: the path ends with a zero byte, and the attributes are there for the length that the
    // call has.
    let result = unsafe {
        libc::syscall(libc::SYS_mount_setattr, AT_FDCWD, name.as_ptr(), flags, attributes, size)
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

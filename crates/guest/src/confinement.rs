//! Confines the process of a guest's kernel, and the processes of the guest's programs with it:
//! they write to the trial's folder and to the trial's disks, and nowhere else.
//!
//! A lab file names programs, and they are root in the guest. They can mount the host's files
//! writable, and can change the guest's kernel, which is an ordinary process of the user. Therefore
//! the process gives up all rights that it does not need. Landlock refuses writes, devices,
//! programs of the host, TCP, signals and tracing. A seccomp filter refuses what Landlock does not
//! cover: attributes of files, every kind of socket, io_uring, and ioctls that change a filesystem.
//! A process of root drops all capabilities but those that let it open files.
//!
//! This happens in two steps. [`isolate`] comes before the kernel starts, since afterwards a
//! process may signal only processes that it started later. [`confine`] comes just before the first
//! program of the plan: until then the kernel makes the file of its memory, a socket and other
//! files.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::ffi::{c_long, c_ulong};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr;

/// Message of the first process to the library: the trial's programs are about to begin.
pub const COMMAND: &str = "confine";

/// The flag `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: c_ulong = 1;
/// The type `LANDLOCK_RULE_PATH_BENEATH` of a rule.
const PATH_BENEATH: c_ulong = 1;

// Rights of `linux/landlock.h` to files, by their bit.
const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_BLOCK: u64 = 1 << 11;
const MAKE_SYM: u64 = 1 << 12;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// Rights of the first version of Landlock that are refused outside of the trial's folders.
const FIRST: u64 = EXECUTE
    | WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_CHAR
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_BLOCK
    | MAKE_SYM;
/// Rights inside the trial's folders. Symbolic links are excluded: programs that read the folder
/// afterwards are not confined, and would follow them.
const INSIDE: u64 = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE;

/// The kernel's `struct landlock_ruleset_attr`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Ruleset {
    files: u64,
    /// Rights to bind and connect TCP sockets.
    net: u64,
    /// Scopes that exclude abstract sockets of, and signals to, processes outside.
    scoped: u64,
}

/// The kernel's `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    folder: i32,
}

/// Returns the version of Landlock of this machine's kernel, or 0 if it has none or has it switched
/// off.
pub fn landlock_version() -> u32 {
    let version =
        // SAFETY: Without a ruleset the call answers with its version, and reads nothing.
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Names an unwanted action that a guest may take on a machine with this version of Landlock.
/// Returns None if the guest is confined completely.
pub fn gap(landlock: u32) -> Option<&'static str> {
    match landlock {
        0 => Some("write to every file that the user may write to, and start programs"),
        1 | 2 => Some("empty files that the user may write to, and signal the user's processes"),
        3..=5 => Some("signal the user's other processes"),
        _ => None,
    }
}

/// Returns everything that a version of Landlock can refuse.
fn refused(version: u32) -> Ruleset {
    let since = |first: u32, rights: u64| if version >= first { rights } else { 0 };
    Ruleset {
        files: FIRST | since(2, REFER) | since(3, TRUNCATE) | since(5, IOCTL_DEV),
        net: since(4, 0b11),
        scoped: since(6, 0b11),
    }
}

/// Limits signals and abstract sockets of the calling thread, and of all processes that it starts
/// from now on, to these processes.
pub fn isolate() -> Result<(), String> {
    give_up_privileges()?;
    let scopes = Ruleset { scoped: refused(landlock_version()).scoped, ..Ruleset::default() };
    if scopes.scoped == 0 {
        return Ok(());
    }
    restrict(scopes, &[]).map_err(|error| format!("Landlock: {error}"))
}

fn give_up_privileges() -> Result<(), String> {
    let failed = |what: &str, error: io::Error| format!("{what}: {error}");
    drop_capabilities().map_err(|error| failed("dropping capabilities", error))?;
    // SAFETY: The call has no pointers.
    let no_more = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    check(no_more.into()).map(drop).map_err(|error| failed("giving up new privileges", error))
}

/// Confines the calling thread and all processes that it starts from now on. They may write to the
/// `folders` only. Missing folders are left out.
pub fn confine(folders: &[&Path]) -> Result<(), String> {
    let version = landlock_version();
    if version > 0 {
        let refused = Ruleset { scoped: 0, ..refused(version) };
        restrict(refused, folders).map_err(|error| format!("Landlock: {error}"))?;
    }
    filter_system_calls().map_err(|error| format!("seccomp: {error}"))
}

fn restrict(refused: Ruleset, folders: &[&Path]) -> io::Result<()> {
    let create = libc::SYS_landlock_create_ruleset;
    let made =
        // SAFETY: The call reads a ruleset of the size that it is given.
        check(unsafe { libc::syscall(create, &raw const refused, size_of::<Ruleset>(), 0) })?;
    // SAFETY: The descriptor is new, and nobody else's.
    let ruleset = unsafe { OwnedFd::from_raw_fd(made as i32) };
    for folder in folders {
        let folder = match open(*folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => continue,
            opened => opened?,
        };
        let rule = PathBeneath { allowed: INSIDE & refused.files, folder: folder.as_raw_fd() };
        let add = libc::SYS_landlock_add_rule;
        let rule = &raw const rule;
        // SAFETY: The call reads the rule, whose folder is open.
        check(unsafe { libc::syscall(add, ruleset.as_raw_fd(), PATH_BENEATH, rule, 0) })?;
    }
    let restrict = libc::SYS_landlock_restrict_self;
    // SAFETY: The call has no pointers.
    check(unsafe { libc::syscall(restrict, ruleset.as_raw_fd(), 0) }).map(drop)
}

fn check(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The capabilities `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH`: the trial's folder and files may
/// be another user's.
const KEPT_CAPABILITIES: u32 = 1 << 1 | 1 << 2;
/// The version `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITIES: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    thread: i32,
}

/// The kernel's `struct __user_cap_data_struct`.
#[repr(C)]
#[derive(Default, Clone, Copy)]
struct Capabilities {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn drop_capabilities() -> io::Result<()> {
    let header = CapabilityHeader { version: CAPABILITIES, thread: 0 };
    let mut sets = [Capabilities::default(); 2];
    let (header, sets_at) = (&raw const header, &raw mut sets);
    // SAFETY: Both are structures of the kernel's third version, which has two sets.
    check(unsafe { libc::syscall(libc::SYS_capget, header, sets_at) })?;
    let [low, high] = &mut sets;
    low.effective &= KEPT_CAPABILITIES;
    low.permitted &= KEPT_CAPABILITIES;
    low.inheritable = 0;
    *high = Capabilities::default();
    // SAFETY: Both are structures of the kernel's third version, which has two sets.
    check(unsafe { libc::syscall(libc::SYS_capset, header, sets_at) }).map(drop)
}

/// System calls that change the machine without opening a file for writing, or that reach other
/// processes. A booted guest needs none of them.
const REFUSED_CALLS: [c_long; 47] = [
    libc::SYS_socket,
    libc::SYS_io_uring_setup,
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_chown,
    libc::SYS_fchown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // setxattrat, removexattrat and file_setattr, which libc does not know by name.
    463,
    466,
    469,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// ioctls of the host that a guest needs: those of terminals (`0x54..`), except those that type for
/// the user, and cloning of file contents.
const TERMINAL: u32 = 0x5400;
const TYPING: [u32; 2] = [0x5412, 0x541C];
const CLONING: [u32; 2] = [0x4004_9409, 0x4020_940D];

// Offsets of fields of `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const SECOND_ARGUMENT: u32 = 24;
/// The architecture `AUDIT_ARCH_X86_64`.
const X86_64: u32 = 0xC000_003E;
/// Bit in the numbers of x32's system calls.
const X32: u32 = 0x4000_0000;

const ALLOW: libc::sock_filter = answer(libc::SECCOMP_RET_ALLOW);
const REFUSE: libc::sock_filter = answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);

const fn answer(value: u32) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: value }
}

const fn load(field: u32) -> libc::sock_filter {
    let code = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    libc::sock_filter { code, jt: 0, jf: 0, k: field }
}

/// Skips `jt` instructions if the loaded value is `value`, and `jf` otherwise.
const fn equals(value: u32, jt: u8, jf: u8) -> libc::sock_filter {
    let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    libc::sock_filter { code, jt, jf, k: value }
}

/// Returns the filter. Programs of the guest have the guest kernel's own filter too, whose answer
/// counts first, so that their system calls remain the guest's.
fn filter() -> Vec<libc::sock_filter> {
    let beyond = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    let and = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
    let mut filter = vec![load(ARCHITECTURE), equals(X86_64, 1, 0), REFUSE, load(NUMBER)];
    filter.push(libc::sock_filter { code: beyond, jt: 0, jf: 1, k: X32 });
    filter.push(REFUSE);
    for call in REFUSED_CALLS {
        filter.extend([equals(call as u32, 0, 1), REFUSE]);
    }
    // Limits of other processes.
    filter.extend([equals(libc::SYS_prlimit64 as u32, 0, 4), load(FIRST_ARGUMENT)]);
    filter.extend([equals(0, 0, 1), ALLOW, REFUSE]);
    filter.extend([equals(libc::SYS_ioctl as u32, 1, 0), ALLOW, load(SECOND_ARGUMENT)]);
    for ioctl in TYPING {
        filter.extend([equals(ioctl, 0, 1), REFUSE]);
    }
    for ioctl in CLONING {
        filter.extend([equals(ioctl, 0, 1), ALLOW]);
    }
    filter.push(libc::sock_filter { code: and, jt: 0, jf: 0, k: 0xFFFF_FF00 });
    filter.extend([equals(TERMINAL, 0, 1), ALLOW, REFUSE]);
    filter
}

fn filter_system_calls() -> io::Result<()> {
    let mut filter = filter();
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: The program has as many instructions as it says, and lives until the call is over.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, c_ulong::from(mode), &raw const program) };
    match check(set.into()) {
        // If the kernel has no seccomp filters, User Mode Linux traces the programs.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    #[test]
    fn each_version_of_landlock_refuses_what_it_knows() {
        assert_eq!(refused(1).files, FIRST);
        assert_eq!((refused(1).net, refused(1).scoped), (0, 0));
        assert_eq!(refused(3).files, FIRST | REFER | TRUNCATE);
        let newest = refused(7);
        assert_eq!(newest.files, FIRST | REFER | TRUNCATE | IOCTL_DEV);
        assert_eq!((newest.net, newest.scoped), (3, 3));
        assert!(gap(0).is_some_and(|gap| gap.contains("write to every file")));
        assert_eq!(gap(6), None);
    }

    /// Tests that a confined thread changes its own folder only.
    #[test]
    fn a_confined_thread_writes_to_its_folder_alone() {
        if landlock_version() < 3 {
            println!("skipped: this machine's kernel has no Landlock that refuses truncation");
            return;
        }
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (inside, outside) = (inside.path(), outside.path());
        let victim = outside.join("victim");
        fs::write(&victim, "whole").unwrap();
        let mode = victim.metadata().unwrap().permissions().mode();
        let confined = || {
            isolate().unwrap();
            confine(&[inside, &inside.join("absent")]).unwrap();
            let mine = inside.join("mine");
            fs::write(&mine, "x").unwrap();
            fs::rename(&mine, inside.join("renamed")).unwrap();
            fs::create_dir(inside.join("folder")).unwrap();
            fs::remove_dir(inside.join("folder")).unwrap();
            assert_eq!(fs::read(&victim).unwrap(), b"whole");
            let starter = rustix::process::getppid().unwrap();
            let signal = rustix::process::test_kill_process(starter);
            let is_sent = signal.is_ok();
            assert_eq!(is_sent, landlock_version() < 6, "{signal:?}");
            let refused = [
                fs::write(&victim, "x").err(),
                fs::write(outside.join("new"), "x").err(),
                fs::remove_file(&victim).err(),
                fs::rename(&victim, inside.join("taken")).err(),
                fs::hard_link(&victim, inside.join("linked")).err(),
                symlink(&victim, inside.join("link")).err(),
                fs::create_dir(outside.join("new")).err(),
                fs::set_permissions(&victim, fs::Permissions::from_mode(0o777)).err(),
                fs::File::open(&victim).unwrap().set_modified(std::time::UNIX_EPOCH).err(),
                Command::new("/bin/true").status().err(),
                TcpListener::bind("127.0.0.1:0").err(),
                UdpSocket::bind("127.0.0.1:0").err(),
                UnixStream::connect("/run/dbus/system_bus_socket").err(),
                // SAFETY: There is no segment -1, so that nothing can be removed.
                check(unsafe { libc::syscall(libc::SYS_shmctl, -1, libc::IPC_RMID, 0) }).err(),
            ];
            for (number, error) in refused.into_iter().enumerate() {
                let error = error.unwrap_or_else(|| panic!("try {number} was permitted"));
                let code = error.raw_os_error();
                let codes = [libc::EACCES, libc::EPERM, libc::EXDEV].map(Some);
                assert!(codes.contains(&code), "try {number}: {error}");
            }
        };
        std::thread::scope(|scope| scope.spawn(confined).join()).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"whole");
        assert_eq!(victim.metadata().unwrap().permissions().mode(), mode);
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
    }
}

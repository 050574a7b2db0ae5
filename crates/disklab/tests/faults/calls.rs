//! System calls that the tests make fail, and the errors that each call returns on a machine with
//! missing resources or a broken disk.

use nix::errno::Errno;
use nix::libc;

/// A system call: number, name, and the errors that it is made to return. A call without errors
/// reads the clock.
#[derive(Debug)]
pub struct Call {
    pub number: i64,
    pub name: &'static str,
    pub errors: &'static [Errno],
    /// Whether the call moves bytes, and may move fewer than asked for.
    pub may_be_short: bool,
}

/// Errors of calls that take or make names of files.
const NAMES: &[Errno] = &[Errno::EIO, Errno::ENOSPC, Errno::EDQUOT, Errno::EROFS, Errno::EACCES];
/// Errors of calls that take two names, which may be on two filesystems.
const TWO_NAMES: &[Errno] =
    &[Errno::EIO, Errno::ENOSPC, Errno::EDQUOT, Errno::EROFS, Errno::EACCES, Errno::EXDEV];
const COPIES: &[Errno] =
    &[Errno::ENOSPC, Errno::EIO, Errno::EDQUOT, Errno::EFBIG, Errno::EINTR, Errno::EXDEV];
const OPENS: &[Errno] =
    &[Errno::EMFILE, Errno::ENFILE, Errno::ENOSPC, Errno::EIO, Errno::EACCES, Errno::EINTR];
const WRITES: &[Errno] = &[Errno::ENOSPC, Errno::EIO, Errno::EDQUOT, Errno::EFBIG, Errno::EINTR];
const READS: &[Errno] = &[Errno::EIO, Errno::EINTR];
const SYNCS: &[Errno] = &[Errno::EIO, Errno::ENOSPC];
const MEMORY: &[Errno] = &[Errno::ENOMEM];
const PROCESSES: &[Errno] = &[Errno::EAGAIN, Errno::ENOMEM];
const EXECS: &[Errno] = &[Errno::ENOMEM, Errno::EACCES, Errno::ENOEXEC, Errno::ETXTBSY];
const WAITS: &[Errno] = &[Errno::EINTR];
const LOCKS: &[Errno] = &[Errno::ENOLCK, Errno::EINTR];
const DESCRIPTORS: &[Errno] = &[Errno::EMFILE, Errno::ENFILE];

const fn call(number: i64, name: &'static str, errors: &'static [Errno]) -> Call {
    Call { number, name, errors, may_be_short: false }
}

const fn moves(number: i64, name: &'static str, errors: &'static [Errno]) -> Call {
    Call { number, name, errors, may_be_short: true }
}

pub const CALLS: &[Call] = &[
    moves(libc::SYS_read, "read", READS),
    moves(libc::SYS_pread64, "pread64", READS),
    moves(libc::SYS_write, "write", WRITES),
    moves(libc::SYS_pwrite64, "pwrite64", WRITES),
    call(libc::SYS_writev, "writev", WRITES),
    call(libc::SYS_copy_file_range, "copy_file_range", COPIES),
    call(libc::SYS_sendfile, "sendfile", WRITES),
    call(libc::SYS_openat, "openat", OPENS),
    call(libc::SYS_openat2, "openat2", OPENS),
    call(libc::SYS_statx, "statx", READS),
    call(libc::SYS_newfstatat, "newfstatat", READS),
    call(libc::SYS_fstat, "fstat", READS),
    call(libc::SYS_statfs, "statfs", READS),
    call(libc::SYS_fstatfs, "fstatfs", READS),
    call(libc::SYS_getdents64, "getdents64", READS),
    call(libc::SYS_lseek, "lseek", READS),
    call(libc::SYS_readlink, "readlink", READS),
    call(libc::SYS_readlinkat, "readlinkat", READS),
    call(libc::SYS_ioctl, "ioctl", READS),
    call(libc::SYS_fsync, "fsync", SYNCS),
    call(libc::SYS_fdatasync, "fdatasync", SYNCS),
    call(libc::SYS_syncfs, "syncfs", SYNCS),
    call(libc::SYS_ftruncate, "ftruncate", WRITES),
    call(libc::SYS_fallocate, "fallocate", WRITES),
    call(libc::SYS_rename, "rename", TWO_NAMES),
    call(libc::SYS_renameat, "renameat", TWO_NAMES),
    call(libc::SYS_renameat2, "renameat2", TWO_NAMES),
    call(libc::SYS_mkdir, "mkdir", NAMES),
    call(libc::SYS_mkdirat, "mkdirat", NAMES),
    call(libc::SYS_link, "link", TWO_NAMES),
    call(libc::SYS_linkat, "linkat", TWO_NAMES),
    call(libc::SYS_symlink, "symlink", NAMES),
    call(libc::SYS_symlinkat, "symlinkat", NAMES),
    call(libc::SYS_unlink, "unlink", NAMES),
    call(libc::SYS_unlinkat, "unlinkat", NAMES),
    call(libc::SYS_rmdir, "rmdir", NAMES),
    call(libc::SYS_chmod, "chmod", NAMES),
    call(libc::SYS_fchmod, "fchmod", NAMES),
    call(libc::SYS_utimensat, "utimensat", NAMES),
    call(libc::SYS_flock, "flock", LOCKS),
    call(libc::SYS_fcntl, "fcntl", LOCKS),
    call(libc::SYS_mmap, "mmap", MEMORY),
    call(libc::SYS_mremap, "mremap", MEMORY),
    call(libc::SYS_mprotect, "mprotect", MEMORY),
    call(libc::SYS_brk, "brk", MEMORY),
    call(libc::SYS_clone, "clone", PROCESSES),
    call(libc::SYS_clone3, "clone3", PROCESSES),
    call(libc::SYS_fork, "fork", PROCESSES),
    call(libc::SYS_vfork, "vfork", PROCESSES),
    call(libc::SYS_execve, "execve", EXECS),
    call(libc::SYS_kill, "kill", &[Errno::EPERM, Errno::ESRCH]),
    call(libc::SYS_pidfd_open, "pidfd_open", DESCRIPTORS),
    call(libc::SYS_pidfd_send_signal, "pidfd_send_signal", &[Errno::EPERM, Errno::ESRCH]),
    call(libc::SYS_wait4, "wait4", WAITS),
    call(libc::SYS_waitid, "waitid", WAITS),
    call(libc::SYS_poll, "poll", WAITS),
    call(libc::SYS_ppoll, "ppoll", WAITS),
    call(libc::SYS_clock_gettime, "clock_gettime", &[]),
    call(libc::SYS_clock_nanosleep, "clock_nanosleep", WAITS),
    call(libc::SYS_pipe2, "pipe2", DESCRIPTORS),
    call(libc::SYS_dup, "dup", DESCRIPTORS),
    call(libc::SYS_dup2, "dup2", DESCRIPTORS),
    call(libc::SYS_dup3, "dup3", DESCRIPTORS),
    call(libc::SYS_socket, "socket", DESCRIPTORS),
    call(libc::SYS_socketpair, "socketpair", DESCRIPTORS),
    call(libc::SYS_bind, "bind", &[Errno::EADDRINUSE, Errno::EACCES]),
    call(libc::SYS_memfd_create, "memfd_create", DESCRIPTORS),
    call(libc::SYS_prlimit64, "prlimit64", &[Errno::EPERM]),
    call(libc::SYS_sched_setaffinity, "sched_setaffinity", &[Errno::EINVAL, Errno::EPERM]),
    call(libc::SYS_sched_getaffinity, "sched_getaffinity", &[Errno::EINVAL]),
];

/// Finds a call by its number.
pub fn by_number(number: i64) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number == number)
}

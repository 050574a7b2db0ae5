//! The machine itself: processor, memory, permissions of its kernel, and the cache's file system.

use std::fs::{self, File};
use std::path::Path;

use disklab_units::Bytes;
use rustix::fs::{StatVfsMountFlags, ioctl_ficlone, statvfs};

use super::check::Check;
use crate::cache::Cache;
use crate::file;

/// Memory of a guest with a margin.
const ONE_GUEST: Bytes = Bytes::gib(1);

/// Room for an unpacked kernel source, its objects, and the prepared disks of the first suite.
const FIRST_RUN: Bytes = Bytes::gib(5);

/// Room for the prepared disks and the copies of a run, if the kernel is built already.
const LATER_RUN: Bytes = Bytes::gib(1);

pub(super) fn processor() -> Check {
    let found = std::env::consts::ARCH;
    if found == "x86_64" {
        Check::good("processor", found)
    } else {
        Check::bad(
            "processor",
            format!("{found}: User Mode Linux runs on x86_64 only"),
            "use an x86_64 machine",
        )
    }
}

/// The guest catches its programs' system calls by seccomp, or, 10 % slower, by ptrace.
pub(super) fn system_calls() -> Check {
    let read = |path| fs::read_to_string(path).ok();
    judge_system_calls(
        read("/proc/sys/kernel/seccomp/actions_avail").as_deref(),
        read("/proc/sys/kernel/yama/ptrace_scope").as_deref(),
    )
}

/// Judges the two files of `/proc/sys/kernel`; an absent one means that the kernel lacks the
/// feature.
fn judge_system_calls(actions: Option<&str>, ptrace_scope: Option<&str>) -> Check {
    let name = "catching system calls";
    let scope = ptrace_scope.map_or("0", str::trim);
    if actions.is_some_and(|actions| actions.split_whitespace().any(|action| action == "trap")) {
        Check::good(name, "by seccomp")
    } else if matches!(scope, "0" | "1") {
        Check::good(name, "by ptrace (this kernel has no seccomp filters, which are 10 % faster)")
    } else {
        let detail = format!(
            "no seccomp filters, and ptrace is forbidden (kernel.yama.ptrace_scope is {scope})"
        );
        Check::bad(name, detail, "sysctl kernel.yama.ptrace_scope=1")
    }
}

pub(super) fn memory() -> Check {
    let name = "memory";
    match fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(available) {
        Some(free) if free >= ONE_GUEST => Check::good(name, format!("{free} available")),
        Some(free) => Check::bad(
            name,
            format!("{free} available, a guest takes about {ONE_GUEST}"),
            "end other programs",
        ),
        None => Check::bad(
            name,
            "/proc/meminfo does not say what is available",
            "mount -t proc proc /proc",
        ),
    }
}

fn available(meminfo: &str) -> Option<Bytes> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok().map(Bytes::kib)
}

/// Checks the folder of the guest's memory, a file that the guest maps and executes.
pub(super) fn shared_memory(folder: &Path) -> Check {
    let name = "shared memory";
    let at = folder.display();
    let Ok(stat) = statvfs(folder) else {
        return Check::missing(
            name,
            format!("{at} is not there"),
            format!("mount -t tmpfs tmpfs {at}"),
        );
    };
    let free = Bytes(stat.f_bavail.saturating_mul(stat.f_frsize));
    if stat.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        Check::bad(name, format!("{at} is mounted noexec"), format!("mount -o remount,exec {at}"))
    } else if free < ONE_GUEST {
        let remedy =
            format!("mount -o remount,size=2G {at} (a container: start it with --shm-size=2g)");
        Check::bad(name, format!("{at} has {free} free, a guest takes about {ONE_GUEST}"), remedy)
    } else {
        Check::good(name, format!("{at}, {free} free"))
    }
}

pub(super) fn space(cache: &Cache, built: bool) -> Check {
    let name = "cache";
    let (needed, run) = if built { (LATER_RUN, "a run") } else { (FIRST_RUN, "a first run") };
    let at = cache.root().display();
    match file::free_space(cache.root()) {
        Ok(free) if free >= needed => Check::good(name, format!("{at}, {free} free")),
        Ok(free) => Check::bad(
            name,
            format!("{at} has {free} free, {run} takes about {needed}"),
            "export XDG_CACHE_HOME=/a/larger/disk",
        ),
        Err(error) => Check::bad(name, error.to_string(), "export XDG_CACHE_HOME=/var/tmp/$USER"),
    }
}

/// Checks if a copy of prepared disks shares their blocks. Both ways work.
pub(super) fn copies(cache: &Cache) -> Check {
    let name = "copies of disks";
    match clone(&cache.disks()) {
        Ok(true) => Check::good(name, "share blocks (reflink)"),
        Ok(false) => Check::good(name, "sparse (this file system has no reflink)"),
        Err(cause) => Check::bad(name, cause.to_string(), "make the cache folder writable"),
    }
}

fn clone(folder: &Path) -> std::io::Result<bool> {
    let name = |end: &str| folder.join(format!(".reflink-{}-{end}", std::process::id()));
    let (from, to) = (name("from"), name("to"));
    let probe = || {
        fs::write(&from, [1; 4096])?;
        Ok(ioctl_ficlone(File::create(&to)?, File::open(&from)?).is_ok())
    };
    let result = probe();
    // The files are removed; a leftover would be an empty file without consequence.
    let _ = (fs::remove_file(&from), fs::remove_file(&to));
    result
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    #[test]
    fn either_way_of_catching_system_calls_will_do() {
        let state = |actions, scope| judge_system_calls(actions, scope).state;
        assert_eq!(state(Some("kill_process trap errno allow\n"), Some("3\n")), CheckState::Good);
        assert_eq!(state(Some("kill errno\n"), Some("1\n")), CheckState::Good);
        assert_eq!(state(None, None), CheckState::Good);
        assert_eq!(state(None, Some("2\n")), CheckState::Bad);
    }

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(Bytes::mib(2)));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
    }

    #[test]
    fn a_missing_folder_says_what_to_mount() {
        let check = shared_memory(Path::new("/no/such/folder"));
        assert_eq!(check.state, CheckState::Missing);
        assert_eq!(check.remedy.as_deref(), Some("mount -t tmpfs tmpfs /no/such/folder"));
    }

    #[test]
    fn trying_a_reflink_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        clone(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(clone(Path::new("/no/such/folder")).is_err());
    }
}

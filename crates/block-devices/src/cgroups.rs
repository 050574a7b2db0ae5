//! Checks that this machine has cgroups in which programs can get weights: version 2, and no other.

use rustix::fs::statfs;

pub const ROOT: &str = "/sys/fs/cgroup";
/// Magic number of the filesystem, from linux/magic.h.
const MAGIC: u64 = 0x6367_7270;
/// The reason why a weight is not available.
pub const NOT_WHOLE: &str = "it has a weight, which needs cgroups of version 2 alone at \
    /sys/fs/cgroup: this machine has none, or those of version 1; boot it with \
    systemd.unified_cgroup_hierarchy=1 on the kernel's command line";

/// Returns whether only cgroups of version 2 are there. With version 1, that version has the
/// controller of disks.
pub fn are_whole() -> bool {
    #[expect(clippy::cast_sign_loss, reason = "a magic number is bits")]
    statfs(ROOT).is_ok_and(|filesystem| filesystem.f_type as u64 == MAGIC)
}

//! The disks or the folder on which trials run on this machine.

use super::super::stack;
use disklab_block_devices::change::Change;
use disklab_block_devices::sysfs::SysfsBlock;
use disklab_block_devices::{Allow, Disk};
use disklab_config::workload::FioLoad;
use disklab_config::{Filesystem, Places, Trial};
use std::path::{Path, PathBuf};

/// The disks or the folder on which trials run.
#[derive(Debug, Clone)]
pub enum HostPlace {
    /// Whole disks or partitions, in the order of the trials' devices. Their old contents are lost.
    Disks { disks: Vec<Disk>, permission: Permission },
    /// A folder of a mounted filesystem, or a file that is only read, with the known disks below
    /// it.
    At { path: PathBuf, disks: Vec<Disk>, uuid: Option<String> },
}

/// Permission to write disks: the allow list, and the disks that may be overwritten.
#[derive(Debug, Clone)]
pub struct Permission {
    pub allow: Allow,
    /// Disks that may be written although they hold data.
    pub overwrite: Vec<PathBuf>,
}

impl HostPlace {
    pub fn disks(&self) -> &[Disk] {
        match self {
            Self::Disks { disks, .. } | Self::At { disks, .. } => disks,
        }
    }

    /// Returns the UUID of the filesystem: `fresh` for a new one, or else its own.
    pub fn uuid(&self, fresh: &str) -> Option<String> {
        match self {
            Self::Disks { .. } => Some(fresh.to_owned()),
            Self::At { uuid, .. } => uuid.clone(),
        }
    }
}

/// Prefix of disklab's folders in a user's folder; a unique name follows.
pub const FOLDER: &str = "disklab-";

/// Returns true if a trial leaves test files unchanged.
pub fn only_reads(trial: &Trial) -> bool {
    trial.workload.fio().is_some_and(FioLoad::only_reads) && trial.background.is_none()
}

/// Returns true if writes to the trial's disks during the measurement come from others. The
/// filesystem itself writes only a little when it is read (btrfs: 6 writes to a disk in 40 s). New
/// contents do not count: md still synchronizes its mirrors, and ZFS writes periodically.
pub fn nothing_of_it_writes(trial: &Trial, place: &HostPlace) -> bool {
    let join = trial.array.layout;
    let is_quiet = join.raid().is_none() && join.filesystem() != Some(Filesystem::Zfs);
    only_reads(trial) && (is_quiet || matches!(place, HostPlace::At { .. }))
}

/// Returns true if the trial's own programs issue all of its reads. ZFS, bcache and the kernel's
/// work beside the trial (a scrub, md's check, a balance) read in kernel threads.
pub fn its_programs_read(trial: &Trial) -> bool {
    trial.background.is_none()
        && trial.workload.phases().is_none()
        && trial.array.cache.is_none()
        && trial.array.layout.filesystem() != Some(Filesystem::Zfs)
}

/// Returns the trial with this machine's disks.
pub fn places(trial: &Trial, place: &HostPlace, uuid: Option<String>) -> Trial {
    let disks = place.disks();
    let whole = |disk: &Disk| {
        let block = SysfsBlock::find(disk.number)?;
        Some(block.disk.file_name()?.to_string_lossy().into_owned())
    };
    let wholes =
        disks.iter().map(|disk| whole(disk).unwrap_or_else(|| disk.name.clone())).collect();
    let disks = disks.iter().map(|disk| disk.name.clone()).collect();
    Trial { places: Places { disks, wholes, md: free_md(), uuid }, ..trial.clone() }
}

/// Returns the disks that were named a second time, by the names that they were given first.
pub fn named_again(place: &HostPlace) -> Vec<PathBuf> {
    let HostPlace::Disks { disks, permission } = place else { return Vec::new() };
    let is_again = |disk: &&Disk| {
        let same = |path: &PathBuf| Disk::find(path).is_ok_and(|again| again.number == disk.number);
        permission.overwrite.iter().any(same)
    };
    disks.iter().filter(is_again).map(|disk| disk.named.clone()).collect()
}

/// Returns the path of trials in a user's filesystem: a folder of disklab's, or one file.
pub fn test_path(place: &HostPlace, uuid: &str) -> Option<PathBuf> {
    let HostPlace::At { path, .. } = place else { return None };
    Some(if path.is_dir() { path.join(format!("{FOLDER}{uuid}")) } else { path.clone() })
}

/// Lists the changes of this machine that making the disks' contents causes, in the order in which
/// they are journalled.
pub fn changes(placed: &Trial, place: &HostPlace, at: Option<&Path>) -> Vec<Change> {
    let disks = match place {
        HostPlace::Disks { disks, .. } => disks,
        HostPlace::At { path, .. } => {
            return at.filter(|at| *at != path).map(Change::folder).into_iter().collect();
        }
    };
    let made = |disks: &[Disk], uuid: Option<String>| -> Vec<Change> {
        let uuid = uuid.unwrap_or_default();
        disks.iter().map(|disk| Change::Made { disk: disk.clone(), uuid: uuid.clone() }).collect()
    };
    let mut changes = made(disks, placed.places.uuid.clone());
    changes.extend(made(&disks[placed.array.replica_disks()], placed.places.uuid_of_replica()));
    let pools = stack::pools(placed, true);
    let nodes = pools.first().map(|(_, pool)| pool.nodes.clone());
    // The folder is in memory, and does not outlive a boot.
    changes.extend(nodes.map(|path| Change::Folder { path, on: None }));
    let names = pools.into_iter().map(|(name, _)| name);
    changes.extend(names.map(|name| Change::Pool { name, disks: disks.clone() }));
    let uuid = placed.places.uuid.clone().filter(|_| placed.array.layout.raid().is_some());
    changes.extend(uuid.map(|uuid| Change::Md { uuid }));
    changes
}

/// Returns the name of a device that md does not have.
fn free_md() -> String {
    let is_free = |name: &String| !Path::new("/sys/block").join(name).exists();
    (100..1000).map(|number| format!("md{number}")).find(is_free).unwrap_or_default()
}

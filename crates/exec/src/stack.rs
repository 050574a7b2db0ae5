//! What is between the disks and the files of a trial, in the guest's words: a cache, software RAID, a filesystem.

use disklab_guest::plan::{Cache, Mount, Raid, Replica, Setting};
use disklab_spec::cache::Mode;
use disklab_spec::{Filesystem, Join, Md, Profiles, Trial};

/// The block devices that the filesystem is made of.
pub fn pool_paths(trial: &Trial) -> Vec<String> {
    let path = |i| match trial.array.cache {
        Some(_) => format!("/dev/bcache{i}"),
        None => disk_path(trial, i),
    };
    (0..trial.array.devices.len()).map(path).collect()
}

fn disk_path(trial: &Trial, index: usize) -> String {
    format!("/dev/{}", trial.places.disks[index])
}

/// The device that md makes of the disks.
fn md(trial: &Trial) -> String {
    format!("/dev/{}", trial.places.md)
}

/// The first device of the filesystem: its first disk, or md's.
pub fn first_device(trial: &Trial) -> String {
    if trial.array.join.raid().is_some() { md(trial) } else { pool_paths(trial).swap_remove(0) }
}

/// The last disk of the array.
pub fn last_disk(trial: &Trial) -> String {
    pool_paths(trial).pop().unwrap_or_default()
}

/// The first of its spares, which are behind its disks and its cache.
pub fn spare(trial: &Trial) -> Option<String> {
    let before = trial.array.devices.len() + usize::from(trial.array.cache.is_some());
    (!trial.array.spares.is_empty()).then(|| disk_path(trial, before))
}

/// The array's cache is the disk after its disks. `make` where there is nothing on them yet.
pub fn cache(trial: &Trial, make: bool) -> Option<Cache> {
    trial.array.cache.as_ref()?;
    let disks: Vec<_> = (0..trial.array.devices.len()).map(|i| disk_path(trial, i)).collect();
    let cache = disk_path(trial, disks.len());
    let words = || {
        let words = ["make-bcache", "--block", "4k", "--cache", &cache, "--bdev"].into_iter();
        words.chain(disks.iter().map(String::as_str)).map(str::to_owned).collect()
    };
    Some(Cache { make: make.then(words), disks, cache })
}

/// Of each disk that is cached.
pub fn cache_mode(trial: &Trial, mode: Mode) -> Vec<Setting> {
    let of = |i| Setting {
        path: format!("/sys/block/bcache{i}/bcache/cache_mode"),
        value: mode.to_string(),
        choice: true,
    };
    let disks = if trial.array.cache.is_some() { trial.array.devices.len() } else { 0 };
    (0..disks).map(of).collect()
}

/// What a filesystem on one device is on, or fio.
pub fn device(trial: &Trial) -> String {
    if trial.array.join.raid().is_some() { md(trial) } else { disk_path(trial, 0) }
}

/// Software RAID; `make` where there is nothing on the disks yet. They are all zeroes then, so that copies are equal.
pub fn raid(trial: &Trial, make: bool) -> Option<Raid> {
    let level = trial.array.join.raid()?;
    let disks = pool_paths(trial);
    let count = format!("--raid-devices={}", disks.len());
    let md = md(trial);
    let created = ["--create", &md, "--run", "--assume-clean", "--homehost=any", "--name=0"];
    let found = ["--assemble", &md, "--run"];
    let mut start = words(&["mdadm", "--quiet"]);
    if make {
        start.extend(words(&created));
        start.extend([format!("--level={}", level.as_str()), count]);
        start.extend(trial.places.uuid.as_ref().map(|uuid| format!("--uuid={uuid}")));
        // Where there are copies, as mdadm itself proposes: after a power cut only what was being written is copied.
        start.extend((level != Md::Raid0).then(|| "--bitmap=internal".to_owned()));
    } else {
        start.extend(words(&found));
    }
    start.extend(disks);
    Some(Raid { start, stop: words(&["mdadm", "--quiet", "--stop", &md]) })
}

/// Makes the filesystem: complete, so that nothing of it is left to be made while something is measured.
pub fn mkfs(trial: &Trial) -> Option<Vec<String>> {
    let (start, paths): (&[&str], _) = match trial.array.join {
        Join::Btrfs(profiles) => return Some(mkfs_btrfs(profiles, trial.places.uuid.as_deref(), pool_paths(trial))),
        Join::On { filesystem, .. } => {
            let start: &[&str] = match filesystem? {
                Filesystem::Btrfs => &["mkfs.btrfs", "-q", "-f"],
                Filesystem::Ext4 => {
                    &["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]
                }
                Filesystem::Xfs => &["mkfs.xfs", "-q", "-f"],
            };
            (start, vec![device(trial)])
        }
    };
    let marked = trial.places.uuid.iter().flat_map(|uuid| mark(trial.array.join.filesystem(), uuid));
    Some(words(start).into_iter().chain(marked).chain(paths).collect())
}

/// How a filesystem is given a UUID.
fn mark(filesystem: Option<Filesystem>, uuid: &str) -> [String; 2] {
    match filesystem {
        Some(Filesystem::Xfs) => ["-m".to_owned(), format!("uuid={uuid}")],
        _ => ["-U".to_owned(), uuid.to_owned()],
    }
}

fn mkfs_btrfs(Profiles { data, metadata }: Profiles, uuid: Option<&str>, paths: Vec<String>) -> Vec<String> {
    let start = words(&["mkfs.btrfs", "-q", "-f", "-d", data.as_str(), "-m", metadata.as_str()]);
    let marked = uuid.iter().flat_map(|uuid| mark(Some(Filesystem::Btrfs), uuid));
    start.into_iter().chain(marked).chain(paths).collect()
}

/// The array's replica; `make` where there is nothing on its disks yet.
pub fn replica(trial: &Trial, make: bool) -> Option<Replica> {
    let Join::Btrfs(profiles) = trial.array.replica.as_ref()?.join else { return None };
    let paths: Vec<_> = trial.array.replica_disks().map(|i| disk_path(trial, i)).collect();
    let mount = mount_btrfs(&paths, trial);
    let uuid = trial.places.uuid_of_replica();
    Some(Replica { mkfs: make.then(|| mkfs_btrfs(profiles, uuid.as_deref(), paths)), mount })
}

/// The programs that make the contents of a trial's disks.
pub fn makers(trial: &Trial) -> Vec<String> {
    let cache = cache(trial, true).and_then(|cache| cache.make);
    let raid = raid(trial, true).map(|raid| raid.start);
    let replica = replica(trial, true).and_then(|replica| replica.mkfs);
    let all = [cache, raid, mkfs(trial), replica].into_iter().flatten();
    let first = all.filter_map(|words| words.into_iter().next());
    // It takes the first snapshot and sends it.
    let snapshots = trial.background.as_ref().and_then(|background| background.snapshots);
    first.chain(snapshots.map(|_| "btrfs".to_owned())).collect()
}

/// Looks whether the unmounted filesystem is whole, and changes nothing.
pub fn fsck(trial: &Trial) -> Option<Vec<String>> {
    let start: &[&str] = match trial.array.join.filesystem()? {
        Filesystem::Btrfs => &["btrfs", "check", "--readonly", "--check-data-csum"],
        Filesystem::Ext4 => &["e2fsck", "-f", "-n"],
        Filesystem::Xfs => &["xfs_repair", "-n"],
    };
    let device = if matches!(trial.array.join, Join::Btrfs(_)) { disk_path(trial, 0) } else { device(trial) };
    Some(words(start).into_iter().chain([device]).collect())
}

pub fn mount(trial: &Trial) -> Option<Mount> {
    let filesystem = trial.array.join.filesystem()?;
    Some(match trial.array.join {
        Join::Btrfs(_) => mount_btrfs(&pool_paths(trial), trial),
        Join::On { .. } => mounted(filesystem, device(trial), Vec::new(), trial),
    })
}

/// Of several devices, all of which it is told.
fn mount_btrfs(paths: &[String], trial: &Trial) -> Mount {
    let devices = paths.iter().map(|path| format!("device={path}")).collect();
    mounted(Filesystem::Btrfs, paths.first().cloned().unwrap_or_default(), devices, trial)
}

fn mounted(filesystem: Filesystem, source: String, mut data: Vec<String>, trial: &Trial) -> Mount {
    let (noatime, others): (Vec<&String>, Vec<&String>) =
        trial.mount_options.iter().partition(|option| *option == "noatime");
    data.extend(others.into_iter().cloned());
    Mount {
        source,
        filesystem: filesystem.as_str().to_owned(),
        data: data.join(","),
        noatime: !noatime.is_empty(),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

//! What is between the disks and the files of a trial, in the guest's words: a cache, software RAID, a filesystem.

use disklab_guest::machine::disk_name;
use disklab_guest::plan::{
    Cache, Mount, Pool, Raid, Replica, Setting, ZFS_DATA, ZFS_NODES, ZFS_POOL, ZFS_REPLICA, ZFS_REPLICA_DATA,
};
use disklab_spec::cache::Mode;
use disklab_spec::{Filesystem, Join, Md, Profile, Trial};

/// The device that md makes of the disks.
const MD: &str = "/dev/md0";

/// The block devices that the filesystem is made of.
pub fn pool_paths(trial: &Trial) -> Vec<String> {
    let path = |i| match trial.array.cache {
        Some(_) => format!("/dev/bcache{i}"),
        None => disk_path(i),
    };
    (0..trial.array.devices.len()).map(path).collect()
}

fn disk_path(index: usize) -> String {
    format!("/dev/{}", disk_name(index))
}

/// The first device of the filesystem: its first disk, or md's.
pub fn first_device(trial: &Trial) -> String {
    if trial.array.join.raid().is_some() { MD.to_owned() } else { pool_paths(trial).swap_remove(0) }
}

/// The last disk of the array.
pub fn last_disk(trial: &Trial) -> String {
    pool_paths(trial).pop().unwrap_or_default()
}

/// The first of its spares, which are behind its disks and its cache.
pub fn spare(trial: &Trial) -> Option<String> {
    let before = trial.array.devices.len() + usize::from(trial.array.cache.is_some());
    (!trial.array.spares.is_empty()).then(|| disk_path(before))
}

/// The array's cache is the disk after its disks. `make` where there is nothing on them yet.
pub fn cache(trial: &Trial, make: bool) -> Option<Cache> {
    trial.array.cache.as_ref()?;
    let disks: Vec<_> = (0..trial.array.devices.len()).map(disk_path).collect();
    let cache = disk_path(disks.len());
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
    if trial.array.join.raid().is_some() { MD.to_owned() } else { disk_path(0) }
}

/// Software RAID; `make` where there is nothing on the disks yet. They are all zeroes then, so that copies are equal.
pub fn raid(trial: &Trial, make: bool) -> Option<Raid> {
    let level = trial.array.join.raid()?;
    let disks = pool_paths(trial);
    let count = format!("--raid-devices={}", disks.len());
    let created = ["--create", MD, "--run", "--assume-clean", "--homehost=any", "--name=0"];
    let found = ["--assemble", MD, "--run"];
    let mut start = words(&["mdadm", "--quiet"]);
    if make {
        start.extend(words(&created));
        start.extend([format!("--level={}", level.as_str()), count]);
        // Where there are copies, as mdadm itself proposes: after a power cut only what was being written is copied.
        start.extend((level != Md::Raid0).then(|| "--bitmap=internal".to_owned()));
    } else {
        start.extend(words(&found));
    }
    start.extend(disks);
    Some(Raid { start, stop: words(&["mdadm", "--quiet", "--stop", MD]) })
}

/// Pools of OpenZFS, of the array and of its replica; `make` where there is nothing on the disks yet.
pub fn pools(trial: &Trial, make: bool) -> Vec<Pool> {
    let own = (trial.array.join, ZFS_POOL, 0..trial.array.devices.len());
    let replica = trial.array.replica.as_ref().map(|it| (it.join, ZFS_REPLICA, trial.array.replica_disks()));
    let of_zfs = [own].into_iter().chain(replica).filter(|(join, ..)| *join == Join::ZfsMirrors);
    of_zfs.map(|(_, name, disks)| pool(name, &disks.map(disk_name).collect::<Vec<_>>(), make)).collect()
}

/// Blocks of 4 KiB, and as they are written: zeroes of a test file would be holes to compression. Nothing is mounted but what
/// is asked for, nothing is noted on the host's disks.
fn pool(name: &str, disks: &[String], make: bool) -> Pool {
    let start = if make {
        let options = ["-o", "ashift=12", "-o", "cachefile=none", "-O", "compression=off", "-O", "atime=off"];
        let node = |disk: &String| format!("{ZFS_NODES}/{disk}");
        let mirror =
            |pair: &[String]| ["mirror".to_owned()].into_iter().chain(pair.iter().map(node)).collect();
        let mirrors = disks.chunks(2).flat_map(|pair| -> Vec<String> { mirror(pair) });
        let create = words(&["zpool", "create", "-f"]).into_iter().chain(words(&options));
        create.chain(words(&["-m", "none", name])).chain(mirrors).collect()
    } else {
        words(&["zpool", "import", "-N", "-o", "cachefile=none", "-d", ZFS_NODES, name])
    };
    Pool { disks: disks.to_vec(), start, stop: words(&["zpool", "export", name]) }
}

/// A dataset that mount(2) takes.
fn dataset(name: &str) -> Vec<String> {
    words(&["zfs", "create", "-o", "mountpoint=legacy", name])
}

/// Makes the filesystem: complete, so that nothing of it is left to be made while something is measured.
pub fn mkfs(trial: &Trial) -> Option<Vec<String>> {
    let (start, paths): (&[&str], _) = match trial.array.join {
        Join::Btrfs(profile) => return Some(mkfs_btrfs(profile, pool_paths(trial))),
        Join::ZfsMirrors => return Some(dataset(ZFS_DATA)),
        Join::On { filesystem, .. } => {
            let start: &[&str] = match filesystem? {
                Filesystem::Btrfs => &["mkfs.btrfs", "-q", "-f"],
                Filesystem::Ext4 => {
                    &["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]
                }
                Filesystem::Xfs => &["mkfs.xfs", "-q", "-f"],
                // Is never on another device.
                Filesystem::Zfs => return None,
            };
            (start, vec![device(trial)])
        }
    };
    Some(words(start).into_iter().chain(paths).collect())
}

fn mkfs_btrfs(profile: Profile, paths: Vec<String>) -> Vec<String> {
    let profile = profile.as_str();
    let start = words(&["mkfs.btrfs", "-q", "-f", "-d", profile, "-m", profile]);
    start.into_iter().chain(paths).collect()
}

/// The array's replica; `make` where there is nothing on its disks yet.
pub fn replica(trial: &Trial, make: bool) -> Option<Replica> {
    let paths: Vec<_> = trial.array.replica_disks().map(disk_path).collect();
    match trial.array.replica.as_ref()?.join {
        Join::Btrfs(profile) => {
            let mount = mount_btrfs(&paths, trial);
            Some(Replica { mkfs: make.then(|| mkfs_btrfs(profile, paths)), mount })
        }
        Join::ZfsMirrors => Some(Replica {
            mkfs: make.then(|| dataset(ZFS_REPLICA_DATA)),
            mount: mounted(Filesystem::Zfs, ZFS_REPLICA_DATA.to_owned(), Vec::new(), trial),
        }),
        Join::On { .. } => None,
    }
}

/// The programs that make the contents of a trial's disks.
pub fn makers(trial: &Trial) -> Vec<String> {
    let cache = cache(trial, true).and_then(|cache| cache.make);
    let raid = raid(trial, true).map(|raid| raid.start);
    let replica = replica(trial, true).and_then(|replica| replica.mkfs);
    let pools = pools(trial, true).into_iter().map(|pool| pool.start);
    let all = [cache, raid, mkfs(trial), replica].into_iter().flatten().chain(pools);
    let first = all.filter_map(|words| words.into_iter().next());
    // It takes the first snapshot and sends it.
    let snapshots = trial.background.as_ref().and_then(|background| background.snapshots);
    let program = if trial.array.join == Join::ZfsMirrors { "zfs" } else { "btrfs" };
    first.chain(snapshots.map(|_| program.to_owned())).collect()
}

/// Looks whether the unmounted filesystem is whole, and changes nothing.
pub fn fsck(trial: &Trial) -> Option<Vec<String>> {
    let start: &[&str] = match trial.array.join.filesystem()? {
        Filesystem::Btrfs => &["btrfs", "check", "--readonly", "--check-data-csum"],
        Filesystem::Ext4 => &["e2fsck", "-f", "-n"],
        Filesystem::Xfs => &["xfs_repair", "-n"],
        // It has none; a scrub reads all of the mounted pool.
        Filesystem::Zfs => return None,
    };
    let device = if matches!(trial.array.join, Join::Btrfs(_)) { disk_path(0) } else { device(trial) };
    Some(words(start).into_iter().chain([device]).collect())
}

pub fn mount(trial: &Trial) -> Option<Mount> {
    let filesystem = trial.array.join.filesystem()?;
    Some(match trial.array.join {
        Join::Btrfs(_) => mount_btrfs(&pool_paths(trial), trial),
        Join::ZfsMirrors => mounted(filesystem, ZFS_DATA.to_owned(), Vec::new(), trial),
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

#[cfg(test)]
mod tests {
    use disklab_spec::{Lab, Suite, Trial};
    use std::path::Path;

    use super::*;

    /// Eight disks and eight for their replica.
    fn trial() -> Trial {
        let lab = Lab::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab"))).unwrap();
        let text = "question = \"?\"\nseeds = 1\nkernel = \"newest\"\nworkload = \"8r23w-64k\"\narray = \"nas-8-zfs-mirrors\"\n\
                    mount_options = [\"noatime\"]\nruntime = { rotational = \"1s\", solid_state = \"1s\" }\n\
                    [axes]\nbackground = [\"snapshots-replication\"]\n";
        Suite::of_text("zfs", "zfs", text, &[]).unwrap().trials(&lab).unwrap().swap_remove(0)
    }

    #[test]
    fn pools_of_zfs_are_made_of_mirrors() {
        let trial = trial();
        let made = pools(&trial, true);
        let options = "-o ashift=12 -o cachefile=none -O compression=off -O atime=off -m none";
        let mirrors = |pairs: &[&str]| {
            let one = |pair: &&str| format!(" mirror /dev/pool/vd{} /dev/pool/vd{}", &pair[..1], &pair[1..]);
            pairs.iter().map(one).collect::<String>()
        };
        let own = format!("zpool create -f {options} disklab{}", mirrors(&["ab", "cd", "ef", "gh"]));
        let replica =
            format!("zpool create -f {options} disklab-replica{}", mirrors(&["ij", "kl", "mn", "op"]));
        assert_eq!([made[0].start.join(" "), made[1].start.join(" ")], [own, replica]);
        assert_eq!(made[0].disks, ["vda", "vdb", "vdc", "vdd", "vde", "vdf", "vdg", "vdh"]);
        assert_eq!(made[1].stop.join(" "), "zpool export disklab-replica");
        let found = pools(&trial, false);
        assert_eq!(found[0].start.join(" "), "zpool import -N -o cachefile=none -d /dev/pool disklab");
        assert_eq!(found[0].stop, made[0].stop);
    }

    #[test]
    fn datasets_of_zfs_are_mounted_as_any_filesystem() {
        let trial = trial();
        assert_eq!(mkfs(&trial).unwrap().join(" "), "zfs create -o mountpoint=legacy disklab/data");
        let mount = mount(&trial).unwrap();
        assert_eq!((mount.source.as_str(), mount.filesystem.as_str()), ("disklab/data", "zfs"));
        assert!(mount.noatime && mount.data.is_empty(), "{mount:?}");
        let made = replica(&trial, true).unwrap();
        assert_eq!(made.mkfs.unwrap().join(" "), "zfs create -o mountpoint=legacy disklab-replica/data");
        assert_eq!(made.mount.source, "disklab-replica/data");
        assert_eq!(replica(&trial, false).unwrap().mkfs, None);
        assert_eq!((raid(&trial, true), fsck(&trial)), (None, None));
        let programs: std::collections::BTreeSet<String> = makers(&trial).into_iter().collect();
        assert_eq!(programs.into_iter().collect::<Vec<_>>(), ["zfs", "zpool"]);
    }
}

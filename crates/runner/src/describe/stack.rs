//! Actions for the layers between the disks and the files of a trial: a cache, software RAID, a
//! filesystem.

use disklab_config::cache::Mode;
use disklab_config::{Filesystem, Layout, Md, Places, Profiles, Trial};
use disklab_protocol::action::{Action, Bcache, Program, StartPool, StartRaid, Unmount};
use disklab_protocol::places::{Side, ZFS_NODES, ZFS_POOL, ZFS_REPLICA, zfs_copy, zfs_data};
use disklab_protocol::setup::{Mount, Setting};
use disklab_protocol::snapshots::Tool;
use std::path::PathBuf;

/// Returns actions that make the trial's filesystem, or that find and mount it as it was left.
pub fn start(trial: &Trial, make: bool) -> Vec<Action> {
    // The cache is clean while it is made, whatever its mode in the trial.
    let mode = trial.array.cache.as_ref();
    let mode = mode.map(|cache| if make { Mode::Writethrough } else { cache.mode });
    let mut actions: Vec<Action> = cache(trial, make).map(Action::Bcache).into_iter().collect();
    actions.extend(mode.into_iter().flat_map(|mode| cache_mode(trial, mode)).map(Action::Set));
    actions.extend(below(trial, make));
    actions.extend(mkfs(trial).filter(|_| make).map(|command| run("mkfs", command)));
    actions.extend(mount(trial).map(Action::Mount));
    if !make {
        // These settings come before a second filesystem exists, since they find theirs as the only
        // one.
        actions.extend(mount_settings(trial).into_iter().map(Action::Set));
    }
    if let Some((mkfs, mount)) = replica(trial) {
        actions.extend(make.then(|| run("mkfs", mkfs)));
        actions.push(Action::Mount(mount));
    }
    actions
}

/// Returns actions that unmount the filesystem and stop the layers below, so that the disks can be
/// used again.
pub fn stop(trial: &Trial) -> Vec<Action> {
    let replica = replica(trial).map(|_| Side::Replica);
    let all: Vec<Side> = [Side::Pool].into_iter().chain(replica).collect();
    let unmount = mount(trial).map(|_| Action::Unmount(Unmount { all }));
    let cache = trial.array.cache.as_ref().map(|_| Action::Bcache(Bcache::Stop));
    unmount.into_iter().chain(stop_below(trial)).chain(cache).collect()
}

/// Returns actions that make software RAID or pools, or find them.
pub fn below(trial: &Trial, make: bool) -> Vec<Action> {
    let raid = raid(trial, make).map(Action::StartRaid).into_iter();
    raid.chain(pools(trial, make).into_iter().map(|(_, pool)| Action::StartPool(pool))).collect()
}

/// Returns actions that stop these layers, so that they are found clean later.
pub fn stop_below(trial: &Trial) -> Vec<Action> {
    let pools = pools(trial, false).into_iter();
    let pools = pools.map(|(name, _)| run("zpool", words(&format!("zpool export {name}"))));
    let raid = trial.array.layout.raid();
    let raid = raid.map(|_| run("md", words(&format!("mdadm --quiet --stop {}", md(trial)))));
    pools.chain(raid).collect()
}

/// Returns an action that runs a program to its end.
pub fn run(step: &str, command: Vec<String>) -> Action {
    Action::Run(Program { step: step.to_owned(), command })
}

/// Returns the block devices that the filesystem is made of.
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

/// Returns the device that md makes of the disks.
fn md(trial: &Trial) -> String {
    format!("/dev/{}", trial.places.md)
}

/// Returns the first device of the filesystem: its first disk, or md's device.
pub fn first_device(trial: &Trial) -> String {
    if trial.array.layout.raid().is_some() { md(trial) } else { pool_paths(trial).swap_remove(0) }
}

/// Returns the last disk of the array.
pub fn last_disk(trial: &Trial) -> String {
    pool_paths(trial).pop().unwrap_or_default()
}

/// Returns the first spare. Spares come after the array's disks and its cache.
pub fn spare(trial: &Trial) -> Option<String> {
    let before = trial.array.devices.len() + usize::from(trial.array.cache.is_some());
    (!trial.array.spares.is_empty()).then(|| disk_path(trial, before))
}

/// Returns the array's cache, the disk after its disks. With `make`, there is nothing on them yet.
fn cache(trial: &Trial, make: bool) -> Option<Bcache> {
    trial.array.cache.as_ref()?;
    let disks: Vec<_> = (0..trial.array.devices.len()).map(|i| disk_path(trial, i)).collect();
    let cache = disk_path(trial, disks.len());
    let command =
        || words(&format!("make-bcache --block 4k --cache {cache} --bdev {}", disks.join(" ")));
    Some(Bcache::Start { make: make.then(command), disks, cache })
}

/// Returns the mode of each cached disk.
fn cache_mode(trial: &Trial, mode: Mode) -> impl Iterator<Item = Setting> {
    (0..trial.array.devices.len()).map(move |i| Setting {
        path: format!("/sys/block/bcache{i}/bcache/cache_mode"),
        value: mode.to_string(),
        choice: true,
    })
}

/// Returns settings of the mounted filesystem.
pub fn mount_settings(trial: &Trial) -> Vec<Setting> {
    let policy = trial.policy.as_ref().map(|policy| Setting {
        path: format!("{}/read_policy", sysfs_of_btrfs(trial)),
        value: policy.setting(),
        choice: true,
    });
    policy.into_iter().collect()
}

/// Returns the folder of btrfs's files. A guest has just one; a real machine may have several.
pub fn sysfs_of_btrfs(trial: &Trial) -> String {
    format!("/sys/fs/btrfs/{}", trial.places.uuid.as_deref().unwrap_or("*"))
}

/// Returns the device of a filesystem on one device, or of fio.
pub fn device(trial: &Trial) -> String {
    if trial.array.layout.raid().is_some() { md(trial) } else { disk_path(trial, 0) }
}

/// Returns the software RAID. With `make`, there is nothing on the disks yet. A guest's new disks
/// are zeroes, so that copies are equal. On a real machine, copies differ where nothing was
/// written, which no filesystem reads. Synchronizing them would write whole disks for hours beside
/// the measurement.
fn raid(trial: &Trial, make: bool) -> Option<StartRaid> {
    let level = trial.array.layout.raid()?;
    let disks = pool_paths(trial);
    let md = md(trial);
    let mut start = if make {
        words(&format!(
            "mdadm --quiet --create {md} --run --assume-clean --homehost=any --name=0 --level={} \
             --raid-devices={}",
            level.as_str(),
            disks.len()
        ))
    } else {
        words(&format!("mdadm --quiet --assemble {md} --run"))
    };
    if make {
        start.extend(trial.places.uuid.as_ref().map(|uuid| format!("--uuid={uuid}")));
        // If there are copies, the bitmap is mdadm's own default: after a power cut, only the
        // blocks being written are copied.
        start.extend((level != Md::Raid0).then(|| "--bitmap=internal".to_owned()));
    }
    start.extend(disks);
    Some(StartRaid { command: start })
}

/// Returns the OpenZFS pools of the array and of its replica, with their names. With `make`, there
/// is nothing on the disks yet.
pub fn pools(trial: &Trial, make: bool) -> Vec<(String, StartPool)> {
    let own = (trial.array.layout, ZFS_POOL, 0..trial.array.devices.len());
    let replica = trial
        .array
        .replica
        .as_ref()
        .map(|replica| (replica.layout, ZFS_REPLICA, trial.array.replica_disks()));
    let of_zfs = [own].into_iter().chain(replica).filter(|(join, ..)| *join == Layout::ZfsMirrors);
    of_zfs.map(|(_, name, disks)| pool(name, &trial.places, disks, make)).collect()
}

/// Returns the name of a pool. In a guest there are no other pools; on a real machine the name is
/// unique.
fn pool_name(name: &str, places: &Places) -> String {
    places.uuid.as_ref().map_or_else(|| name.to_owned(), |uuid| format!("{name}-{uuid}"))
}

/// Returns the folder for device nodes on a real machine. By these nodes, zpool does not take the
/// disks for whole disks, which it would partition.
pub fn nodes(places: &Places) -> Option<PathBuf> {
    Some(format!("/dev/disklab-{}", places.uuid.as_ref()?).into())
}

/// Returns a pool with blocks of 4 KiB and no compression: zeroes of a test file would become
/// holes. It mounts only on request, and writes no cache file on the host.
fn pool(
    name: &str,
    places: &Places,
    disks: std::ops::Range<usize>,
    make: bool,
) -> (String, StartPool) {
    let (disks, name) = (&places.disks[disks], &*pool_name(name, places));
    let own_nodes = nodes(places);
    let is_own = own_nodes.is_some();
    let nodes = own_nodes.unwrap_or_else(|| ZFS_NODES.into());
    let folder = nodes.display().to_string();
    let command = if make {
        let create = words(&format!(
            "zpool create -f -o ashift=12 -o cachefile=none -O compression=off -O atime=off \
             -m none {name}"
        ));
        let node = |disk: &String| format!("{folder}/{disk}");
        let mirror = |pair: &[String]| {
            ["mirror".to_owned()].into_iter().chain(pair.iter().map(node)).collect()
        };
        let mirrors = disks.chunks(2).flat_map(|pair| -> Vec<String> { mirror(pair) });
        create.into_iter().chain(mirrors).collect()
    } else {
        // On a real machine, the pool is looked for on its own disks only.
        let each = disks.iter().map(|disk| format!("{folder}/{disk}"));
        let places = if is_own { each.collect() } else { vec![folder] };
        let places = places.into_iter().flat_map(|place| ["-d".to_owned(), place]);
        let import = words("zpool import -N -o cachefile=none").into_iter();
        import.chain(places).chain([name.to_owned()]).collect()
    };
    (name.to_owned(), StartPool { disks: disks.to_vec(), nodes, command })
}

/// Returns options of a dataset that mount(2) accepts.
fn dataset(pool: &str, places: &Places) -> Vec<String> {
    let name = zfs_data(&pool_name(pool, places));
    words(&format!("zfs create -o mountpoint=legacy {name}"))
}

/// Returns the command that makes the filesystem completely, so that no work on it is left for the
/// measured time.
pub fn mkfs(trial: &Trial) -> Option<Vec<String>> {
    let uuid = trial.places.uuid.as_deref();
    let filesystem = match trial.array.layout {
        Layout::Btrfs(profiles) => return Some(mkfs_btrfs(profiles, uuid, pool_paths(trial))),
        Layout::ZfsMirrors => return Some(dataset(ZFS_POOL, &trial.places)),
        Layout::On { filesystem, .. } => filesystem?,
    };
    let start = match filesystem {
        Filesystem::Btrfs => "mkfs.btrfs -q -f",
        Filesystem::Ext4 => "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0",
        Filesystem::Xfs => "mkfs.xfs -q -f",
        // A ZFS pool is never made on another device.
        Filesystem::Zfs => return None,
    };
    let marked = uuid.iter().flat_map(|uuid| mark(filesystem, uuid));
    Some(words(start).into_iter().chain(marked).chain([device(trial)]).collect())
}

/// Returns the options that give a filesystem a UUID.
fn mark(filesystem: Filesystem, uuid: &str) -> [String; 2] {
    match filesystem {
        Filesystem::Xfs => ["-m".to_owned(), format!("uuid={uuid}")],
        _ => ["-U".to_owned(), uuid.to_owned()],
    }
}

fn mkfs_btrfs(
    Profiles { data, metadata }: Profiles,
    uuid: Option<&str>,
    paths: Vec<String>,
) -> Vec<String> {
    let (data, metadata) = (data.as_str(), metadata.as_str());
    let start = words(&format!("mkfs.btrfs -q -f -d {data} -m {metadata}"));
    let marked = uuid.iter().flat_map(|uuid| mark(Filesystem::Btrfs, uuid));
    start.into_iter().chain(marked).chain(paths).collect()
}

/// Returns the command that makes the array's replica, and its mount.
fn replica(trial: &Trial) -> Option<(Vec<String>, Mount)> {
    let paths: Vec<_> = trial.array.replica_disks().map(|i| disk_path(trial, i)).collect();
    match trial.array.replica.as_ref()?.layout {
        Layout::Btrfs(profiles) => {
            let mount = mount_btrfs(Side::Replica, &paths, trial);
            let uuid = trial.places.uuid_of_replica();
            Some((mkfs_btrfs(profiles, uuid.as_deref(), paths), mount))
        }
        Layout::ZfsMirrors => {
            Some((dataset(ZFS_REPLICA, &trial.places), mounted_pool(Side::Replica, trial)))
        }
        Layout::On { .. } => None,
    }
}

/// Lists the programs that make the contents of a trial's disks.
pub fn mkfs_tools(trial: &Trial) -> Vec<String> {
    let command = |action| match action {
        Action::Bcache(Bcache::Start { make, .. }) => make,
        Action::StartRaid(StartRaid { command })
        | Action::StartPool(StartPool { command, .. })
        | Action::Run(Program { command, .. }) => Some(command),
        _ => None,
    };
    let all = start(trial, true).into_iter().filter_map(command);
    let first = all.filter_map(|words| words.into_iter().next());
    // This program takes the first snapshot and sends it.
    let snapshots = trial.background.as_ref().and_then(|background| background.snapshots);
    let program = if trial.array.layout == Layout::ZfsMirrors { "zfs" } else { "btrfs" };
    first.chain(snapshots.map(|_| program.to_owned())).collect()
}

/// Returns the command that checks the unmounted filesystem without changing it.
pub fn fsck(trial: &Trial) -> Option<Vec<String>> {
    let start = match trial.array.layout.filesystem()? {
        Filesystem::Btrfs => "btrfs check --readonly --check-data-csum",
        Filesystem::Ext4 => "e2fsck -f -n",
        Filesystem::Xfs => "xfs_repair -n",
        // ZFS has no such checker; a scrub reads all of the mounted pool.
        Filesystem::Zfs => return None,
    };
    let device = if matches!(trial.array.layout, Layout::Btrfs(_)) {
        disk_path(trial, 0)
    } else {
        device(trial)
    };
    Some(words(start).into_iter().chain([device]).collect())
}

pub fn mount(trial: &Trial) -> Option<Mount> {
    let filesystem = trial.array.layout.filesystem()?;
    Some(match trial.array.layout {
        Layout::Btrfs(_) => mount_btrfs(Side::Pool, &pool_paths(trial), trial),
        Layout::ZfsMirrors => mounted_pool(Side::Pool, trial),
        Layout::On { .. } => mounted((Side::Pool, filesystem), device(trial), Vec::new(), trial),
    })
}

/// Returns the dataset of a side.
pub fn dataset_of(side: Side, trial: &Trial) -> String {
    let pool = if side == Side::Pool { ZFS_POOL } else { ZFS_REPLICA };
    zfs_data(&pool_name(pool, &trial.places))
}

fn mounted_pool(side: Side, trial: &Trial) -> Mount {
    mounted((side, Filesystem::Zfs), dataset_of(side, trial), Vec::new(), trial)
}

/// Returns the program that takes snapshots of the filesystem.
pub fn snapshot_tool(trial: &Trial) -> Tool {
    match trial.array.layout {
        Layout::ZfsMirrors => {
            let replica = replica(trial).map_or_else(String::new, |(_, mount)| mount.source);
            Tool::Zfs { data: dataset_of(Side::Pool, trial), copy: zfs_copy(&replica) }
        }
        _ => Tool::Btrfs,
    }
}

/// Mounts several devices as one filesystem, by naming all of them.
fn mount_btrfs(side: Side, paths: &[String], trial: &Trial) -> Mount {
    let devices = paths.iter().map(|path| format!("device={path}")).collect();
    let source = paths.first().cloned().unwrap_or_default();
    mounted((side, Filesystem::Btrfs), source, devices, trial)
}

fn mounted(
    (on, filesystem): (Side, Filesystem),
    source: String,
    mut data: Vec<String>,
    trial: &Trial,
) -> Mount {
    let (noatime, others): (Vec<&String>, Vec<&String>) =
        trial.mount_options.iter().partition(|option| *option == "noatime");
    data.extend(others.into_iter().cloned());
    Mount {
        on,
        source,
        filesystem: filesystem.as_str().to_owned(),
        data: data.join(","),
        noatime: !noatime.is_empty(),
    }
}

/// Splits a command line without quotes into words.
pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use disklab_config::{Lab, Suite, Trial};
    use std::path::Path;

    use super::*;

    /// Returns a trial with eight disks and eight for their replica.
    fn trial() -> Trial {
        let lab = Lab::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab"))).unwrap();
        let text = "question = \"?\"\nseeds = 1\nmemory = \"512 MiB\"\nkernel = \
            \"newest\"\nworkload = \"8r23w-64k\"\narray = \"nas-8-zfs-mirrors\"\n\
                    mount_options = [\"noatime\"]\nruntime = { rotational = \"1s\", solid_state = \
                    \"1s\" }\n\
                    [axes]\nbackground = [\"snapshots-replication\"]\n";
        Suite::of_text("zfs", "zfs", text, &[]).unwrap().trials(&lab).unwrap().swap_remove(0)
    }

    fn is_mkfs(action: &Action) -> bool {
        matches!(action, Action::Run(program) if program.step == "mkfs")
    }

    #[test]
    fn pools_of_zfs_are_made_of_mirrors() {
        let trial = trial();
        let made = pools(&trial, true);
        let options = "-o ashift=12 -o cachefile=none -O compression=off -O atime=off -m none";
        let mirrors = |pairs: &[&str]| {
            let one = |pair: &&str| {
                format!(" mirror /dev/pool/vd{} /dev/pool/vd{}", &pair[..1], &pair[1..])
            };
            pairs.iter().map(one).collect::<String>()
        };
        let own =
            format!("zpool create -f {options} disklab{}", mirrors(&["ab", "cd", "ef", "gh"]));
        let replica = format!(
            "zpool create -f {options} disklab-replica{}",
            mirrors(&["ij", "kl", "mn", "op"])
        );
        assert_eq!([made[0].1.command.join(" "), made[1].1.command.join(" ")], [own, replica]);
        assert_eq!(made[0].1.disks, ["vda", "vdb", "vdc", "vdd", "vde", "vdf", "vdg", "vdh"]);
        let stop = |trial: &Trial| -> Vec<String> {
            let lines = stop_below(trial).into_iter().map(|action| match action {
                Action::Run(program) => program.command.join(" "),
                other => format!("{other:?}"),
            });
            lines.collect()
        };
        assert_eq!(stop(&trial), ["zpool export disklab", "zpool export disklab-replica"]);
        let found = pools(&trial, false);
        assert_eq!(
            found[0].1.command.join(" "),
            "zpool import -N -o cachefile=none -d /dev/pool disklab"
        );
    }

    /// Tests a real machine that may have other pools too.
    #[test]
    fn a_real_machines_pools_are_of_named_disks_and_of_nobody_elses_name() {
        let mut trial = trial();
        trial.places.uuid = Some("1-2".to_owned());
        trial.places.disks = (0..16).map(|disk| format!("sd{}", char::from(b'b' + disk))).collect();
        let (made, found) = (pools(&trial, true), pools(&trial, false));
        let start = made[0].1.command.join(" ");
        assert!(
            start.contains("-m none disklab-1-2 mirror /dev/disklab-1-2/sdb /dev/disklab-1-2/sdc"),
            "{start}"
        );
        assert_eq!(made[0].1.nodes, Path::new("/dev/disklab-1-2"));
        assert_eq!(made[1].1.disks[0], "sdj");
        let import = found[1].1.command.join(" ");
        assert!(
            import.starts_with("zpool import -N -o cachefile=none -d /dev/disklab-1-2/sdj -d"),
            "{import}"
        );
        assert!(import.ends_with("-d /dev/disklab-1-2/sdq disklab-replica-1-2"), "{import}");
        assert_eq!((&*found[0].0, &*made[0].0), ("disklab-1-2", "disklab-1-2"));
        assert_eq!(mkfs(&trial).unwrap().pop().unwrap(), "disklab-1-2/data");
        assert_eq!(mount(&trial).unwrap().source, "disklab-1-2/data");
        assert_eq!(replica(&trial).unwrap().1.source, "disklab-replica-1-2/data");
    }

    #[test]
    fn datasets_of_zfs_are_mounted_as_any_filesystem() {
        let trial = trial();
        assert_eq!(mkfs(&trial).unwrap().join(" "), "zfs create -o mountpoint=legacy disklab/data");
        let mount = mount(&trial).unwrap();
        assert_eq!((mount.source.as_str(), mount.filesystem.as_str()), ("disklab/data", "zfs"));
        assert!(mount.noatime && mount.data.is_empty(), "{mount:?}");
        let (mkfs, mount) = replica(&trial).unwrap();
        assert_eq!(mkfs.join(" "), "zfs create -o mountpoint=legacy disklab-replica/data");
        assert_eq!(mount.source, "disklab-replica/data");
        let made = |make| start(&trial, make).iter().filter(|action| is_mkfs(action)).count();
        assert_eq!((made(true), made(false)), (2, 0));
        assert_eq!((raid(&trial, true), fsck(&trial)), (None, None));
        let programs: std::collections::BTreeSet<String> = mkfs_tools(&trial).into_iter().collect();
        assert_eq!(programs.into_iter().collect::<Vec<_>>(), ["zfs", "zpool"]);
    }

    #[test]
    fn snapshots_are_taken_by_the_programs_of_the_filesystem() {
        let (zfs, mut btrfs) = (trial(), trial());
        btrfs.array.layout = "btrfs-raid1".parse().unwrap();
        let copy = "disklab-replica/data/copy".to_owned();
        let of_zfs = Tool::Zfs { data: "disklab/data".to_owned(), copy };
        assert_eq!([snapshot_tool(&zfs), snapshot_tool(&btrfs)], [of_zfs, Tool::Btrfs]);
    }
}

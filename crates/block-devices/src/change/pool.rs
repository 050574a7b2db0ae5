//! A ZFS pool that a run made. disklab destroys it only if all of its devices were given to that
//! run.

use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::program::{output, run};
use crate::wait::{Obstacle, until_done};
use crate::wipe;

/// Returns whether a pool of this name is imported.
pub fn is_pool(name: &str) -> bool {
    run(&["zpool", "list", "-H", "-o", "name", name]).is_ok()
}

/// Destroys the pool, and removes the signatures that it leaves on the disks. Returns false if
/// nothing of the pool is there.
pub fn undo(name: &str, disks: &[Disk], waits: &mut dyn FnMut(&str)) -> Result<bool, String> {
    let mut undone = false;
    if is_pool(name) {
        let said = output(&["zpool", "list", "-v", "-H", "-P", "-L", name])?;
        is_made_of(name, &said, disks, |leaf| Disk::find(leaf).ok())?;
        until_done(waits, || run(&["zpool", "destroy", "-f", name]).map_err(Obstacle::Passing))?;
        undone = true;
    }
    let ours = |signature: &wipe::Signature| {
        signature.kind.as_deref() == Some("zfs_member") && signature.label.as_deref() == Some(name)
    };
    let mut result = Ok(());
    for disk in disks {
        match wipe::remove(disk, ours, waits) {
            Ok(removed) => undone |= removed,
            Err(why) => result = Err(why),
        }
    }
    result.map(|()| undone)
}

/// Checks that each device in the output of `zpool list -vHPL` is one of `disks`.
fn is_made_of(
    name: &str,
    said: &str,
    disks: &[Disk],
    find: impl Fn(&Path) -> Option<Disk>,
) -> Result<(), String> {
    let leaves: Vec<PathBuf> = said
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect();
    let somebodys = |what: String| {
        Err(format!("{what}, so that it is left alone; if it is not needed: zpool destroy {name}"))
    };
    if leaves.is_empty() {
        return somebodys(format!("zpool prints no path of a disk in the pool {name}"));
    }
    let is_ours = |leaf: &PathBuf| {
        find(leaf).is_some_and(|found| disks.iter().any(|disk| wipe::is_it(disk, &found)))
    };
    match leaves.iter().find(|leaf| !is_ours(leaf)) {
        Some(other) => somebodys(format!(
            "the pool {name} has {}, which was not given to disklab",
            other.display()
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_units::Bytes;

    fn disk(name: &str, serial: Option<&str>) -> Disk {
        Disk {
            named: Path::new("/dev").join(name),
            name: name.to_owned(),
            number: (8, u32::from(name.as_bytes()[2])),
            bytes: Bytes(1 << 30),
            rotational: true,
            model: None,
            serial: serial.map(str::to_owned),
        }
    }

    /// Output of OpenZFS 2.3, with groups between the pool and its devices.
    const SAID: &str = "disklab-1\t1.98G\t110K\t1.98G\t-\t-\t0%\t0%\t1.00x\tONLINE\t-\n\
        \tmirror-0\t1.98G\t110K\t1.98G\t-\t-\t0%\t0.00%\t-\tONLINE\n\
        \t/dev/disklab-1/sdb\t2.00G\t-\t-\t-\t-\t-\t-\t-\tONLINE\n\
        \t/dev/disklab-1/sdc\t2.00G\t-\t-\t-\t-\t-\t-\t-\tONLINE\n";

    fn made_of(said: &str, given: &[Disk], now: &[Disk]) -> Result<(), String> {
        is_made_of("disklab-1", said, given, |leaf| {
            now.iter()
                .find(|disk| leaf.file_name().is_some_and(|name| name == disk.name.as_str()))
                .cloned()
        })
    }

    #[test]
    fn a_pool_of_the_runs_own_disks_is_its_own() {
        let given = [disk("sdb", Some("b")), disk("sdc", Some("c"))];
        assert_eq!(made_of(SAID, &given, &given), Ok(()));
        // Another boot gave the disks other numbers.
        let now = given.clone().map(|disk| Disk { number: (65, disk.number.1), ..disk });
        assert_eq!(made_of(SAID, &given, &now), Ok(()));
    }

    #[test]
    fn one_that_has_another_disk_is_somebodys() {
        let given = [disk("sdb", Some("b")), disk("sdc", Some("c"))];
        let refused = |said: &str, given: &[Disk], now: &[Disk], word: &str| {
            let why = made_of(said, given, now).unwrap_err();
            assert!(why.contains(word) && why.contains("zpool destroy disklab-1"), "{why}");
        };
        refused(SAID, &given[..1], &given, "/dev/disklab-1/sdc, which was not given");
        // Another disk has replaced one of the given disks.
        refused(
            SAID,
            &given,
            &[given[0].clone(), disk("sdc", Some("d"))],
            "sdc, which was not given",
        );
        refused(SAID, &given, &given[..1], "sdc, which was not given");
        refused("disklab-1\t1.98G\n\tmirror-0\t1.98G\n", &given, &given, "no path of a disk");
        refused("", &given, &given, "no path of a disk");
        // Disks without a serial are identified by their numbers.
        let [one, other] = [disk("sdb", None), Disk { number: (9, 9), ..disk("sdb", None) }];
        let said = "\t/dev/sdb\t2.00G\n";
        assert_eq!(made_of(said, std::slice::from_ref(&one), std::slice::from_ref(&one)), Ok(()));
        refused(said, &[one], &[other], "sdb, which was not given");
    }
}

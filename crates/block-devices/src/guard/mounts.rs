//! Mounts according to mountinfo, which has a line per mount with fields between spaces: see
//! proc(5).

use std::collections::BTreeSet;
use std::fs;

use crate::machine::{self, Machine, Process};
use crate::mountinfo::{mounts, unescaped};
use crate::refusal::Why;
use crate::sysfs;

/// Reads the list of mounts. Without it no disk is known to be free, so an error forbids writing.
pub(super) fn read(machine: &Machine) -> Result<String, Why> {
    let file = "/proc/self/mountinfo";
    let text = machine.text(file).map_err(|error| {
        Why::Unknown(format!(
            "cannot find out what is mounted: cannot read {file}: {error}; is /proc mounted?"
        ))
    })?;
    // The root is always mounted.
    if text.trim().is_empty() {
        Err(Why::Unknown(format!("cannot find out what is mounted: {file} is empty")))
    } else {
        Ok(text)
    }
}

/// A list of mounts, and the process that sees it if it is not this one.
pub(super) struct List {
    pub text: String,
    pub whose: Option<String>,
}

/// Returns the list of this process, and the list of each other mount namespace (containers,
/// services, trials of another disklab), as far as this user may see them.
pub(super) fn everywhere(machine: &Machine) -> Result<Vec<List>, Why> {
    let mut lists = vec![List { text: read(machine)?, whose: None }];
    let mut seen = BTreeSet::new();
    seen.extend(fs::read_link(machine.path("/proc/self/ns/mnt")).ok());
    for process in Process::all(machine) {
        let Ok(namespace) = fs::read_link(process.folder.join("ns/mnt")) else { continue };
        if !seen.contains(&namespace)
            && let Ok(text) = machine::text(&process.folder.join("mountinfo"))
        {
            seen.insert(namespace);
            lists.push(List { text, whose: Some(process.to_string()) });
        }
    }
    Ok(lists)
}

/// A mount, and the devices that it may be on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mounted {
    pub number: Option<(u32, u32)>,
    pub place: String,
    /// Paths of devices in /dev.
    pub devices: Vec<String>,
}

pub(super) fn all(mountinfo: &str) -> impl Iterator<Item = Mounted> {
    mounts(mountinfo).map(|mount| {
        let source = unescaped(mount.source);
        // bcachefs has all of its devices in one word; XFS and ext4 name external logs among their
        // options.
        let options = mount
            .options
            .split(',')
            .filter_map(|option| Some(unescaped(option.split_once('=')?.1)));
        let mut devices: Vec<String> =
            source.split(':').map(str::to_owned).chain(options).collect();
        devices.push(source);
        devices.retain(|path| path.starts_with("/dev/"));
        Mounted { number: sysfs::number(mount.number), place: unescaped(mount.place), devices }
    })
}

/// Returns the mount point of a device, found by its number, or by the name that a filesystem of
/// several devices was mounted by.
pub(super) fn of_device(
    mountinfo: &str,
    number: &str,
    is_it: impl Fn(&str) -> bool,
) -> Option<String> {
    let found = mounts(mountinfo).find(|mount| {
        mount.number == number
            || mount.source.starts_with("/dev/") && is_it(&unescaped(mount.source))
    });
    found.map(|mount| unescaped(mount.place))
}

/// Returns the place where a file is mounted over another.
pub(super) fn of_file(mountinfo: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    // A mount of a whole filesystem is not a file. Skipping it also avoids filesystems that do not
    // answer.
    let places =
        mounts(mountinfo).filter(|mount| mount.root != "/").map(|mount| unescaped(mount.place));
    places.into_iter().find(|place| is_it(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                        28 27 8:1 / /mnt/a\\040b rw - xfs /dev/sda1 rw\n\
                        29 27 0:45 /@home /home rw shared:2 - btrfs /dev/sdb rw,space_cache=v2\n\
                        30 27 254:0 /var/image /opt/image rw - ext4 /dev/vda rw\n";

    #[test]
    fn a_mount_is_found_by_its_number() {
        let of = |number| of_device(TEXT, number, |_| false);
        assert_eq!(of("8:1").as_deref(), Some("/mnt/a b"));
        assert_eq!(of("8:0"), None);
    }

    /// Tests a mount of btrfs, which has a number of its own.
    #[test]
    fn or_by_what_was_mounted() {
        assert_eq!(
            of_device(TEXT, "8:16", |source| source == "/dev/sdb").as_deref(),
            Some("/home")
        );
    }

    #[test]
    fn a_file_is_mounted_where_it_is_found_again() {
        assert_eq!(of_file(TEXT, |place| place == "/opt/image").as_deref(), Some("/opt/image"));
        assert_eq!(of_file(TEXT, |place| place == "/"), None, "a whole filesystem is none");
    }

    #[test]
    fn this_machines_list_is_read() {
        assert!(read(&Machine::here()).unwrap().contains(" / "));
    }
}

//! Removes the things that disklab itself made on a disk. It finds the disk by its serial, and the
//! things by the UUID that disklab gave them.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::disk::{Disk, open_alone};
use crate::guard;
use crate::program::{output, run};
use crate::wait::{Obstacle, until_done};

/// A signature in wipefs's list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Signature {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub uuid: Option<String>,
    pub label: Option<String>,
}

impl Signature {
    /// Returns whether the signature has this UUID. Programs format UUIDs with hyphens and colons
    /// in different ways.
    pub fn has(&self, uuid: &str) -> bool {
        self.uuid.as_ref().is_some_and(|own| hex(own) == hex(uuid))
    }
}

/// Removes all signatures from the disk, whatever its name is now, if one of them is ours. Returns
/// false if none is ours: the others are somebody else's by now.
pub fn remove(
    disk: &Disk,
    is_ours: impl Fn(&Signature) -> bool,
    waits: &mut dyn FnMut(&str),
) -> Result<bool, String> {
    let all = Disk::all().map_err(|error| error.to_string())?;
    let found = again(disk, &all);
    if found.is_empty() {
        return Err(format!(
            "no disk of {} with the serial {} is in this machine now; plug it in and try again, \
            or wipe it yourself where it is",
            disk.bytes,
            disk.serial.as_deref().unwrap_or("none")
        ));
    }
    let mut removed = false;
    for now in found {
        let path = Path::new("/dev").join(now.name.replace('!', "/"));
        if signatures(&path)?.iter().any(&is_ours) {
            until_done(waits, || {
                is_let_go(now, &path)?;
                run(&["wipefs", "--all", "--quiet", &path.display().to_string()])
                    .map_err(Obstacle::Passing)
            })?;
            removed = true;
        }
    }
    Ok(removed)
}

/// Returns the disks of this machine that may be `disk`. Its name and number may be others after
/// another boot.
fn again<'a>(disk: &Disk, all: &'a [Disk]) -> Vec<&'a Disk> {
    all.iter().filter(|now| now.serial == disk.serial && now.bytes == disk.bytes).collect()
}

/// Returns whether the disk found now is the noted one. A disk without a serial is identified by
/// its number.
pub fn is_it(disk: &Disk, now: &Disk) -> bool {
    now.serial == disk.serial
        && now.bytes == disk.bytes
        && (disk.serial.is_some() || now.number == disk.number)
}

/// Checks that the kernel lets the disk be opened exclusively: its filesystems are written and
/// gone.
pub fn is_let_go(disk: &Disk, path: &Path) -> Result<(), Obstacle> {
    match open_alone(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
            Err(match guard::holder(disk) {
                Some(who) => Obstacle::Passing(format!("{}: {who}", path.display())),
                None => Obstacle::Ending(format!(
                    "{} is still in use: the kernel is writing cached data to it",
                    path.display()
                )),
            })
        }
        Err(error) => {
            Err(Obstacle::Lasting(format!("{} cannot be opened: {error}", path.display())))
        }
    }
}

/// Returns all signatures that wipefs knows on a disk. Unlike blkid, wipefs names each of several
/// signatures that contradict each other. It finds none on an unreadable disk, with the same output
/// as for an empty one, so this checks first that the disk can be read.
fn signatures(path: &Path) -> Result<Vec<Signature>, String> {
    #[derive(Default, Deserialize)]
    struct Listed {
        signatures: Vec<Signature>,
    }
    answers(path).map_err(|error| {
        format!(
            "{} cannot be read: {error}; what was made on it may still be there: try again when \
            it can be, or wipe it yourself",
            path.display()
        )
    })?;
    let said = output(&["wipefs", "--no-act", "--json", &path.display().to_string()])?;
    if said.trim().is_empty() {
        return Ok(Vec::new());
    }
    let listed: Listed = serde_json::from_str(&said).map_err(|error| {
        format!(
            "cannot parse the output of `wipefs --no-act --json {}`: {error}; wipe the \
             disk yourself",
            path.display()
        )
    })?;
    Ok(listed.signatures)
}

/// Checks that the beginning and the end of the disk can be read, where signatures are.
fn answers(path: &Path) -> io::Result<()> {
    let mut disk = File::open(path)?;
    let end = disk.seek(SeekFrom::End(0))?;
    let mut block = [0; 4096];
    for at in [0, end.saturating_sub(block.len() as u64)] {
        disk.seek(SeekFrom::Start(at))?;
        disk.read_exact(&mut block[..end.min(4096) as usize])?;
    }
    Ok(())
}

/// Returns the md device of the array with this UUID: `/dev/md127`. Its number may have changed
/// since.
pub fn md_of(uuid: &str) -> Option<PathBuf> {
    let folders = std::fs::read_dir("/sys/block").ok()?.flatten();
    let mut devices = folders
        .filter(|entry| entry.path().join("md").exists())
        .map(|entry| Path::new("/dev").join(entry.file_name()));
    devices.find(|device| {
        let said = output(&["mdadm", "--detail", "--export", &device.display().to_string()])
            .unwrap_or_default();
        said.lines()
            .filter_map(|line| line.strip_prefix("MD_UUID="))
            .any(|own| hex(own) == hex(uuid))
    })
}

/// Stops an md device. udev and mdadm's own rules may have assembled it again since the last stop.
pub fn stop_md(device: &Path, waits: &mut dyn FnMut(&str)) -> Result<(), String> {
    let disk = Disk::find(device).map_err(|error| error.to_string())?;
    until_done(waits, || {
        is_let_go(&disk, device)?;
        run(&["mdadm", "--quiet", "--stop", &device.display().to_string()])
            .map_err(Obstacle::Passing)
    })
}

fn hex(uuid: &str) -> String {
    uuid.chars().filter(char::is_ascii_hexdigit).map(|digit| digit.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_units::Bytes;

    fn disk(name: &str, number: u32, serial: Option<&str>) -> Disk {
        Disk {
            named: Path::new("/dev").join(name),
            name: name.to_owned(),
            number: (8, number),
            bytes: Bytes(1 << 30),
            rotational: true,
            model: None,
            serial: serial.map(str::to_owned),
        }
    }

    #[test]
    fn a_disk_is_found_by_its_serial_whatever_its_name_is() {
        let was = disk("sdb", 16, Some("S1"));
        let now = [disk("sdb", 16, Some("S2")), disk("sdc", 32, Some("S1"))];
        assert_eq!(again(&was, &now), [&now[1]]);
        assert!(is_it(&was, &now[1]) && !is_it(&was, &now[0]));
        assert_eq!(again(&was, &now[..1]), [&was; 0]);
        let larger = [Disk { bytes: Bytes(2 << 30), ..was.clone() }];
        assert_eq!(again(&was, &larger), [&was; 0], "nobody's serial is that good");
        // If it has no serial, it may be any disk without one; the signatures decide.
        let [one, other] = [disk("vda", 0, None), disk("vdb", 16, None)];
        assert_eq!(again(&one, &[one.clone(), other.clone()]).len(), 2);
        assert!(!is_it(&one, &other));
    }

    #[test]
    fn what_is_on_a_disk_is_listed_with_its_uuid() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4 << 20).unwrap();
        let listed = signatures(file.path());
        if listed.as_ref().is_err_and(|why| why.contains("No such file")) {
            disklab_testkit::skipped("no wipefs here");
            return;
        }
        assert_eq!(listed, Ok(Vec::new()));
        let uuid = "11111111-2222-4333-8444-555555555555";
        let path = file.path().display().to_string();
        if run(&["mkfs.ext4", "-q", "-F", "-U", uuid, &path]).is_err() {
            disklab_testkit::skipped("no mkfs.ext4 here");
            return;
        }
        let found = signatures(file.path()).unwrap();
        assert_eq!((found.len(), found[0].kind.as_deref()), (1, Some("ext4")));
        assert!(found[0].has("11111111:22224333:84445555:55555555") && !found[0].has("1"));
        assert!(signatures(Path::new("/no/such")).unwrap_err().contains("/no/such"));
    }
}

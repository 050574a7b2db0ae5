//! What disklab itself has made on a disk, by the UUID that it gave it.

use std::path::Path;

use crate::change::output;
use crate::disk::Disk;

/// Takes the marks of a filesystem or an array away, if they are still those that were made there. A disk that is another
/// one, or holds something else by now, is left alone: that is somebody's.
pub fn remove(disk: &Disk, uuid: &str) -> Result<(), String> {
    remove_if(disk, |key, value| key == "UUID" && hex(value).eq_ignore_ascii_case(&hex(uuid)))
}

/// The same of a disk that was in a ZFS pool of this name, which draws its own number.
pub fn remove_pool(disk: &Disk, name: &str) -> Result<(), String> {
    remove_if(disk, |key, value| key == "LABEL" && value == name)
}

fn remove_if(disk: &Disk, is_ours: impl Fn(&str, &str) -> bool) -> Result<(), String> {
    // One that was taken out has what was made with it.
    let Ok(now) = Disk::find(&disk.named) else { return Ok(()) };
    if now.serial != disk.serial || now.bytes != disk.bytes {
        return Ok(());
    }
    let path = Path::new("/dev").join(&now.name).display().to_string();
    // It asks no cache. Exit status 2 says that there is nothing.
    let said = match output(&["blkid", "-p", "-o", "export", "--", &path]) {
        Ok(said) => said,
        Err(error) if error.contains("exit status: 2") => return Ok(()),
        Err(error) => return Err(error),
    };
    if said.lines().filter_map(|line| line.split_once('=')).any(|(key, value)| is_ours(key, value)) {
        output(&["wipefs", "--all", "--quiet", &path]).map(drop)
    } else {
        Ok(())
    }
}

/// Programs put hyphens and colons into UUIDs in ways of their own.
fn hex(uuid: &str) -> String {
    uuid.chars().filter(char::is_ascii_hexdigit).collect()
}

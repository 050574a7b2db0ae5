//! What disklab itself has made on a disk, by the UUID that it gave it.

use std::path::Path;

use crate::change::output;
use crate::disk::Disk;

/// Takes the marks of a filesystem or an array away, if they are still those that were made there. A disk that is another
/// one, or holds something else by now, is left alone: that is somebody's.
pub fn remove(disk: &Disk, uuid: &str) -> Result<(), String> {
    // One that was taken out has what was made with it.
    let Ok(now) = Disk::find(&disk.named) else { return Ok(()) };
    if now.serial != disk.serial || now.bytes != disk.bytes {
        return Ok(());
    }
    let path = Path::new("/dev").join(&now.name).display().to_string();
    if is_marked(&path, uuid)? { output(&["wipefs", "--all", "--quiet", &path]).map(drop) } else { Ok(()) }
}

/// Whether a disk has a filesystem, or is a part of something, of this UUID.
fn is_marked(path: &str, uuid: &str) -> Result<bool, String> {
    let hex = |text: &str| -> String { text.chars().filter(char::is_ascii_hexdigit).collect() };
    // It asks no cache. Exit status 2 says that there is nothing.
    let said = match output(&["blkid", "-p", "-o", "export", "--", path]) {
        Ok(said) => said,
        Err(error) if error.contains("exit status: 2") => return Ok(false),
        Err(error) => return Err(error),
    };
    let uuids = said.lines().filter_map(|line| line.strip_prefix("UUID="));
    Ok(uuids.map(hex).any(|found| found.eq_ignore_ascii_case(&hex(uuid))))
}

//! Makes the files that a program's start needs, on the prepared disks.

use super::direct;
use super::perform::{Perform, Session};
use super::steps::Failure;
use crate::site::Site;
use disklab_config::startup::{EntryKind, StartupEntry};
use disklab_protocol::action::MakeEntries;
use disklab_protocol::places::ROOT;
use disklab_protocol::step::Step;
use disklab_units::Random;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Folders on which a running system has filesystems mounted.
pub const MOUNTED: [&str; 4] = ["dev", "proc", "sys", "tmp"];

impl Perform for MakeEntries {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![format!("# write {} files and folders below {ROOT}", self.all.len())]
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        make(self)?;
        session.steps.say(&Step::Entries { made: self.all.len() as u64 });
        Ok(())
    }
}

/// Makes all entries. Contents that this machine's files do not give are zeroes or random.
fn make(entries: &MakeEntries) -> Result<(), Failure> {
    let contents = entries.contents.map(|contents| contents.derive("entries"));
    let mut random = contents.map(Random::new);
    let folders = MOUNTED.map(|name| Path::new(ROOT).join(name));
    for folder in &folders {
        fs::create_dir_all(folder).map_err(|e| format!("making {}: {e}", folder.display()))?;
    }
    for entry in &entries.all {
        let is_copied = entries.modified.is_some();
        make_entry(entry, is_copied, random.as_mut()).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if is_copied => format!(
                "putting {} on the disks: this machine does not have the file; the workload \
                 without `:program` replays the recording with files of the recorded sizes",
                entry.path
            ),
            _ => format!("putting {} on the disks: {e}", entry.path),
        })?;
    }
    // This comes last, since making a file in a folder changes the folder.
    for (entry, modified) in entries.all.iter().zip(entries.modified.iter().flatten()) {
        set_modified(&place(&entry.path), *modified)
            .map_err(|e| format!("{}: setting its time of modification: {e}", entry.path))?;
    }
    rustix::fs::sync();
    Ok(())
}

fn make_entry(
    entry: &StartupEntry,
    with_contents: bool,
    mut random: Option<&mut Random>,
) -> io::Result<()> {
    let path = place(&entry.path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match &entry.kind {
        EntryKind::Folder => fs::create_dir_all(&path),
        EntryKind::Link(target) => std::os::unix::fs::symlink(target, &path),
        // A file without any bytes was only seen in a listing.
        EntryKind::File(bytes) if with_contents && bytes.0 > 0 => {
            fs::copy(&entry.path, &path).map(drop)
        }
        EntryKind::File(bytes) => {
            let mut buffer = vec![0; 1 << 20];
            let mut file = File::create_new(&path)?;
            let mut left = bytes.0;
            while left > 0 {
                let length = left.min(buffer.len() as u64);
                if let Some(random) = random.as_deref_mut() {
                    direct::fill(&mut buffer, random);
                }
                file.write_all(&buffer[..length as usize])?;
                left -= length;
            }
            Ok(())
        }
    }
}

/// Sets the time of an entry; for a link, that of the link itself. `modified` is in ns since 1970.
fn set_modified(path: &Path, modified: i64) -> io::Result<()> {
    const NS: i64 = 1_000_000_000;
    let time = Timespec { tv_sec: modified.div_euclid(NS), tv_nsec: modified.rem_euclid(NS) };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Returns the path on the disks for a path from the program's root.
fn place(path: &str) -> PathBuf {
    Path::new(ROOT).join(path.trim_start_matches('/'))
}

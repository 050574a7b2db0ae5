//! Checks of what programs of a guest have left in its trial's folder, before anybody reads it.
//!
//! Programs of a lab file may be hostile: a file with a hole of 200 GiB, a folder in place of
//! `guest.jsonl`, or 1,500 nested folders would stop those who read the trial's output.

use super::guest::{LARGEST_OUTPUT, LONGEST_TRACE};
use super::scratch::{remove_file, remove_folder};
use crate::describe::machine::DISKS;
use crate::error::{Error, Result};
use disklab_files::make_usable;
use disklab_protocol::names;
use disklab_units::Bytes;
use std::fs;
use std::path::Path;

/// Files in a trial's folder that have a meaning for those who read it.
const FILES: [&str; 13] = [
    names::MACHINE,
    names::PLAN,
    names::REQUESTS,
    names::CLOSING,
    names::STEPS,
    names::FIO,
    names::PHASES,
    names::FSLOAD,
    names::PAGES,
    names::CONSOLE,
    names::HEARTBEAT,
    names::ACTIONS,
    names::STALLED,
];
/// Largest depth of folders in a trial's folder, so that no path is too long.
const DEEPEST: usize = 8;

/// Makes a trial's folder safe to read: what would stop a reader is removed. Returns the reason why
/// the trial has failed, if there was anything.
pub fn check(trial: &Path) -> Result<Option<String>> {
    let mut left = LeftBehind::default();
    left.look_through(trial, 0)?;
    Ok(left.reason.map(|what| format!("a program of the guest left {what} in its trial's folder")))
}

#[derive(Default)]
struct LeftBehind {
    /// Length of all files, with their holes.
    length: Bytes,
    reason: Option<String>,
}

impl LeftBehind {
    fn look_through(&mut self, folder: &Path, depth: usize) -> Result<()> {
        for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
            let entry = entry.map_err(Error::io("read", folder))?;
            let path = entry.path();
            let meta = entry.metadata().map_err(Error::io("look at", &path))?;
            let name = entry.file_name();
            let is_own = depth == 0 && FILES.iter().any(|own| name == *own);
            let what = if name.to_str().is_none() {
                Some("a file whose name is not UTF-8".to_owned())
            } else if depth == 0 && name == DISKS && !meta.is_symlink() {
                Some(format!("a file of its own as `{DISKS}`"))
            } else if depth == 0 && is_hosts(&name.to_string_lossy()) {
                Some(format!("`{}`, which only disklab makes,", name.to_string_lossy()))
            } else if is_own && !meta.is_file() {
                Some(format!("something that is no file as `{}`", name.to_string_lossy()))
            } else if meta.is_dir() && depth == DEEPEST {
                Some(format!("more than {DEEPEST} nested folders"))
            } else if meta.is_file() {
                self.add_length(is_own.then_some(&*name.to_string_lossy()), Bytes(meta.len()))
            } else {
                None
            };
            if what.is_some() {
                self.reason = self.reason.take().or(what);
                if meta.is_dir() { remove_folder(&path)? } else { remove_file(&path)? }
            } else if !meta.is_symlink() {
                make_usable(&path).map_err(Error::io("change the mode of", &path))?;
                if meta.is_dir() {
                    self.look_through(&path, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a file's length, or returns what is wrong with it. The files that have a meaning are
    /// limited by themselves, so that others do not crowd them out.
    fn add_length(&mut self, own: Option<&str>, length: Bytes) -> Option<String> {
        let (most, all) = match own {
            Some(names::REQUESTS) => (LONGEST_TRACE, length),
            Some(_) => (LARGEST_OUTPUT, length),
            None => (LARGEST_OUTPUT, self.length.saturating_add(length)),
        };
        if all > most {
            let what = own.map_or_else(|| "files".to_owned(), |own| format!("a file `{own}`"));
            return Some(format!("{what} of more than {most}"));
        }
        if own.is_none() {
            self.length = all;
        }
        None
    }
}

/// Returns true for names that only the host gives, after the guest's end.
fn is_hosts(name: &str) -> bool {
    let is_number =
        |rest: &str| !rest.is_empty() && rest.bytes().all(|letter| letter.is_ascii_digit());
    name == names::REQUESTS_PACKED || name.strip_prefix("cut-").is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

    /// Returns the reason, and the names that are left.
    fn checked(make: impl Fn(&Path)) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(names::CLOSING), "{}").expect("room");
        std::os::unix::fs::symlink("/nowhere", folder.path().join(DISKS)).expect("a link");
        make(folder.path());
        let reason = check(folder.path()).expect("its own folder").unwrap_or_default();
        let left = fs::read_dir(folder.path()).expect("a folder").flatten();
        let mut left: Vec<String> =
            left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        left.sort_unstable();
        (reason, left)
    }

    #[test]
    fn what_programs_usually_leave_stays() {
        let (reason, left) = checked(|folder| {
            fs::create_dir_all(folder.join("logs/of/today")).expect("folders");
            fs::write(folder.join("logs/of/today/1"), "a line").expect("room");
            let mode = |name: &str, mode| {
                let path = folder.join(name);
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its own");
            };
            mode("logs/of/today/1", 0);
            mode("logs", 0);
        });
        assert_eq!(
            (&*reason, left),
            ("", vec![DISKS.into(), names::CLOSING.into(), "logs".into()])
        );
    }

    #[test]
    fn what_would_stop_a_reader_is_removed() {
        let nested = |folder: &Path| {
            fs::create_dir_all(folder.join("1/2/3/4/5/6/7/8/9/10")).expect("folders");
        };
        let hole = |folder: &Path| {
            let file = File::create(folder.join("hole")).expect("room");
            file.set_len(200 << 30).expect("a hole");
        };
        let trace = |folder: &Path| {
            let file = File::create(folder.join(names::REQUESTS)).expect("room");
            file.set_len(65 << 30).expect("a hole");
        };
        let steps = |folder: &Path| {
            fs::create_dir_all(folder.join(names::STEPS).join("more")).expect("folders");
        };
        let disks = |folder: &Path| {
            fs::remove_file(folder.join(DISKS)).expect("the link");
            fs::create_dir(folder.join(DISKS)).expect("a folder");
        };
        let cut = |folder: &Path| fs::create_dir(folder.join("cut-1")).expect("a folder");
        let name = |folder: &Path| {
            fs::write(folder.join(OsStr::from_bytes(b"bad\xff")), "").expect("room");
        };
        let found = |(reason, mut left): (String, Vec<String>), expected| {
            assert!(reason.contains(expected), "{reason}");
            left.retain(|name| ![DISKS, "1"].contains(&&**name));
            assert_eq!(left, [names::CLOSING], "{expected}");
        };
        found(checked(nested), "more than 8 nested folders");
        found(checked(hole), "files of more than 1 GiB");
        found(checked(trace), "`requests.trace` of more than 64 GiB");
        found(checked(steps), "no file as `guest.jsonl`");
        found(checked(disks), "a file of its own as `disks`");
        found(checked(cut), "`cut-1`, which only disklab makes");
        found(checked(name), "not UTF-8");
    }
}

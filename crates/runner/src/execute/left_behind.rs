//! Checks of what programs of a guest have left in its trial's folder, before anybody reads it.
//!
//! Programs of a lab file may be hostile: a file with a hole of 200 GiB, a folder in place of
//! `guest.jsonl`, or 1,500 nested folders would stop those who read the trial's output.

use super::guest::LARGEST_OUTPUT;
use crate::describe::machine::DISKS;
use crate::error::{Error, Result};
use disklab_protocol::names;
use disklab_units::Bytes;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Files in a trial's folder that have a meaning for those who read it.
const FILES: [&str; 13] = [
    names::MACHINE,
    names::PLAN,
    names::REQUESTS,
    names::REQUESTS_PACKED,
    names::CLOSING,
    names::STEPS,
    names::FIO,
    names::PHASES,
    names::FSLOAD,
    names::PAGES,
    names::CONSOLE,
    names::HEARTBEAT,
    names::ACTIONS,
];
/// Largest depth of folders in a trial's folder, so that no path is too long.
const DEEPEST: usize = 8;
/// Largest length of the library's trace, which may have holes.
const LONGEST_TRACE: Bytes = Bytes::gib(64);

/// Makes a trial's folder safe to read: what cannot be read is removed. Returns the reason why
/// the trial has failed, if anything was.
pub fn check(trial: &Path) -> Result<Option<String>> {
    let mut left = LeftBehind { trial, length: Bytes(0), reason: None };
    left.look_through(trial, 0)?;
    Ok(left.reason.map(|what| format!("a program of the guest left {what} in its trial's folder")))
}

struct LeftBehind<'a> {
    trial: &'a Path,
    /// Length of all files, with their holes.
    length: Bytes,
    reason: Option<String>,
}

impl LeftBehind<'_> {
    fn look_through(&mut self, folder: &Path, depth: usize) -> Result<()> {
        for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
            let entry = entry.map_err(Error::io("read", folder))?;
            let path = entry.path();
            let meta = match entry.metadata() {
                // It was in a folder that has been removed.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                meta => meta.map_err(Error::io("look at", &path))?,
            };
            let name = entry.file_name();
            let is_own = depth == 0 && FILES.iter().any(|own| name == *own);
            let what = if name.to_str().is_none() {
                Some("a file whose name is not UTF-8".to_owned())
            } else if depth == 0 && name == DISKS && !meta.is_symlink() {
                Some(format!("a file of its own as `{DISKS}`"))
            } else if is_own && !meta.is_file() {
                Some(format!("something that is no file as `{}`", name.to_string_lossy()))
            } else if meta.is_dir() && depth == DEEPEST {
                Some(format!("more than {DEEPEST} nested folders"))
            } else if meta.is_file() {
                self.too_long(depth == 0 && name == names::REQUESTS, meta.len())
            } else {
                None
            };
            if what.is_some() {
                self.reason = self.reason.take().or(what);
                self.remove(path, meta.is_dir())?;
            } else if !meta.is_symlink() {
                make_readable(&path, meta.permissions())?;
                if meta.is_dir() {
                    self.look_through(&path, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn too_long(&mut self, is_trace: bool, length: u64) -> Option<String> {
        if is_trace {
            return (length > LONGEST_TRACE.0)
                .then(|| format!("a trace that is longer than {LONGEST_TRACE}"));
        }
        self.length = self.length.saturating_add(Bytes(length));
        (self.length > LARGEST_OUTPUT)
            .then(|| format!("files that are longer than {LARGEST_OUTPUT}"))
    }

    /// Removes a file or folder. A folder in a folder moves to the trial's folder first, since the
    /// path to it may be too long, and the folders too many to open.
    fn remove(&self, path: PathBuf, is_folder: bool) -> Result<()> {
        if !is_folder {
            return fs::remove_file(&path).map_err(Error::io("remove", &path));
        }
        let mut rest = vec![path];
        let mut names = (0_u32..).map(|number| self.trial.join(format!("removed-{number}")));
        while let Some(folder) = rest.pop() {
            let meta = folder.metadata().map_err(Error::io("look at", &folder))?;
            make_readable(&folder, meta.permissions())?;
            for entry in fs::read_dir(&folder).map_err(Error::io("read", &folder))? {
                let entry = entry.map_err(Error::io("read", &folder))?;
                let path = entry.path();
                let kind = entry.file_type().map_err(Error::io("look at", &path))?;
                if !kind.is_dir() {
                    fs::remove_file(&path).map_err(Error::io("remove", &path))?;
                    continue;
                }
                let is_free = |to: &PathBuf| matches!(disklab_files::type_at(to), Ok(None));
                let Some(to) = names.find(is_free) else { continue };
                fs::rename(&path, &to).map_err(Error::io("move", &path))?;
                rest.push(to);
            }
            fs::remove_dir(&folder).map_err(Error::io("remove", &folder))?;
        }
        Ok(())
    }
}

/// Lets this process read a file, or use a folder, that is its own.
fn make_readable(path: &Path, mut permissions: fs::Permissions) -> Result<()> {
    let wanted = if path.is_dir() { 0o700 } else { 0o600 };
    if permissions.mode() & wanted == wanted {
        return Ok(());
    }
    permissions.set_mode(permissions.mode() | wanted);
    fs::set_permissions(path, permissions).map_err(Error::io("change the mode of", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::unix::ffi::OsStrExt;

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
            let mut place = folder.join("deep");
            // The folders are made from the inside, since the whole path is longer than a call
            // takes.
            fs::create_dir(&place).expect("a folder");
            for _ in 0..1500 {
                fs::create_dir(folder.join("outer")).expect("a folder");
                fs::rename(&place, folder.join("outer/deep")).expect("its own");
                place = folder.join("deep");
                fs::rename(folder.join("outer"), &place).expect("its own");
            }
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
        let name = |folder: &Path| {
            fs::write(folder.join(OsStr::from_bytes(b"bad\xff")), "").expect("room");
        };
        let found = |(reason, mut left): (String, Vec<String>), expected| {
            assert!(reason.contains(expected), "{reason}");
            left.retain(|name| ![DISKS, names::CLOSING, "deep"].contains(&&**name));
            assert_eq!(left, [""; 0], "{expected}");
        };
        found(checked(nested), "more than 8 nested folders");
        found(checked(hole), "longer than 1 GiB");
        found(checked(trace), "longer than 64 GiB");
        found(checked(steps), "no file as `guest.jsonl`");
        found(checked(disks), "a file of its own as `disks`");
        found(checked(name), "not UTF-8");
    }
}

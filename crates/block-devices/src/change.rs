//! The changes that a run makes to this machine, and how they are undone.
//!
//! Mounts and programs are not among the changes: they are in a mount and a process namespace of
//! their own, and end with it.

mod pool;
pub mod value;

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use disklab_protocol::shell;
use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::mountinfo::{mounts, unescaped};
use crate::sysfs::word;
use crate::wait::{Obstacle, until_done};
use crate::watch::TRACING;
use crate::wipe;
pub use pool::is_pool;

/// A change. The run writes it to the journal before it makes the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// A new value of a file of sysfs or procfs. If the file belongs to a disk, `of` identifies the
    /// disk, because another disk may get its name.
    Value {
        path: PathBuf,
        was: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<DiskIdentity>,
        /// The new value. If the file has another value when the change is undone, somebody else
        /// has set that value, and it stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gets: Option<String>,
        /// The choice of the new value with the parameter that it had before: `round-robin:262144`.
        /// Undoing writes this before the old value, since the kernel keeps the parameters of
        /// inactive choices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        had: Option<String>,
    },
    /// An md device that is made of disks.
    Md { uuid: String },
    /// Something that is made on a disk, marked with this UUID.
    Made { disk: Disk, uuid: String },
    /// A ZFS pool with a random name, made of disks.
    Pool { name: String, disks: Vec<Disk> },
    /// A new folder with a random name, and everything that a trial puts into it.
    Folder {
        path: PathBuf,
        /// The number of the filesystem that the folder is on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<u64>,
    },
    /// A cgroup.
    Cgroup { path: PathBuf },
    /// An instance of the kernel's tracing.
    Tracing { instance: String },
}

/// The identity of a disk while the machine runs. It comes from the kernel alone, because the
/// serial may be in files that not every process sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskIdentity {
    /// Major and minor number.
    dev: String,
    /// The disk's sequence number, which counts all disks that ever came. The kernel has it since
    /// Linux 5.15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diskseq: Option<String>,
}

impl DiskIdentity {
    /// Reads the identity of the disk that a file in sysfs belongs to.
    fn read(path: &Path) -> Option<Self> {
        let name = path.strip_prefix("/sys/block").ok()?.iter().next()?;
        let folder = Path::new("/sys/block").join(name);
        Some(Self { dev: word(&folder, "dev")?, diskseq: word(&folder, "diskseq") })
    }

    /// Returns whether a file in sysfs still belongs to this disk. A loop device that was detached
    /// and set up again counts as another disk, although it has the same queue with all values.
    fn has(&self, path: &Path) -> bool {
        let now = Self::read(path);
        let is_loop = path.starts_with("/sys/block")
            && path.iter().nth(3).is_some_and(|name| name.to_string_lossy().starts_with("loop"));
        now.is_some_and(|now| now == *self || (is_loop && now.dev == self.dev))
    }
}

/// The result of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// The step, in words.
    pub what: String,
    /// The reason if the step failed, and advice.
    pub failed: Option<String>,
}

/// News while changes are undone.
#[derive(Debug, Clone, Copy)]
pub enum UndoNews<'a> {
    /// The thing still in use that the undoing waits for.
    Waits(&'a str),
    Undone(&'a Undone),
}

/// Writes a sentence about a change that was made.
impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { path, was, .. } => write!(out, "{} was {was:?}", path.display()),
            Self::Md { uuid } => write!(out, "md made a device of the array {uuid}"),
            Self::Made { disk, uuid } => write!(out, "{uuid} was made on {}", disk.named.display()),
            Self::Pool { name, .. } => write!(out, "the pool {name} was made"),
            Self::Folder { path, .. } => write!(out, "the folder {} was made", path.display()),
            Self::Cgroup { path } => write!(out, "the cgroup {} was made", path.display()),
            Self::Tracing { instance } => write!(out, "the tracing instance {instance} was made"),
        }
    }
}

impl Change {
    /// Returns the change of a file's value, if the new value is not known.
    pub fn value(path: &Path, was: &str) -> Self {
        let (path, was, of) = (path.to_owned(), was.to_owned(), DiskIdentity::read(path));
        Self::Value { path, was, of, gets: None, had: None }
    }

    /// Returns the change of a file's value to `gets`. `had` is the choice of that value as the
    /// file names it now.
    pub fn set(path: &Path, was: &str, gets: &str, had: Option<&str>) -> Self {
        let (path, was, of) = (path.to_owned(), was.to_owned(), DiskIdentity::read(path));
        Self::Value { path, was, of, gets: Some(gets.to_owned()), had: had.map(str::to_owned) }
    }

    /// Returns the change that makes a folder, which does not exist yet.
    pub fn folder(path: &Path) -> Self {
        Self::Folder { path: path.to_owned(), on: filesystem_of(path) }
    }

    /// Undoes the change, and calls `waits` with the reason for a long wait. `same_boot` is false
    /// if the machine was started again since, which undoes all changes in its memory. Returns
    /// `None` if there was nothing to undo.
    pub fn undo(&self, same_boot: bool, waits: &mut dyn FnMut(&str)) -> Option<Undone> {
        let (what, result) = match self {
            Self::Value { .. } | Self::Cgroup { .. } | Self::Tracing { .. } if !same_boot => {
                return None;
            }
            Self::Value { path, was, of, gets, had } => match others(path, was, gets.as_deref()) {
                Some(other) if of.as_ref().is_none_or(|of| of.has(path)) => (
                    format!(
                        "{} stays {other:?}: another program has set it to this value",
                        path.display()
                    ),
                    Ok(true),
                ),
                _ => (
                    format!("{} is {was:?} again", path.display()),
                    had.as_ref()
                        .filter(|_| others(path, "", gets.as_deref()).is_none())
                        .map_or(Ok(true), |had| put_back(path, had, of.as_ref()))
                        .and_then(|_| put_back(path, was, of.as_ref())),
                ),
            },
            Self::Md { uuid } => {
                let device = wipe::md_of(uuid)?;
                (
                    format!("{} is stopped", device.display()),
                    wipe::stop_md(&device, waits).map(|()| true),
                )
            }
            Self::Made { disk, uuid } => (
                format!("what was made on {} is unmade", disk.named.display()),
                unmake(disk, uuid, waits),
            ),
            Self::Pool { name, disks } => {
                (format!("the pool {name} is destroyed"), pool::undo(name, disks, waits))
            }
            Self::Folder { path, on } => {
                (format!("{} is removed", path.display()), remove_folder(path, *on, waits))
            }
            Self::Cgroup { path } => {
                let removed = until_done(waits, || remove(path, |path| fs::remove_dir(path)));
                (format!("the cgroup {} is removed", path.display()), removed)
            }
            Self::Tracing { instance } => {
                let removed =
                    crate::watch::remove_instance(instance).map_err(|error| error.to_string());
                (format!("the tracing instance {instance} is removed"), removed)
            }
        };
        match result {
            Ok(false) => None,
            Ok(true) => Some(Undone { what, failed: None }),
            Err(why) => Some(Undone { what, failed: Some(why) }),
        }
    }

    /// Returns the command line of [`Self::undo`], for people. `md` is the name of md's device,
    /// which [`Self::undo`] finds by the array's UUID.
    pub fn undo_line(&self, md: &str) -> String {
        match self {
            Self::Value { path, was, had, .. } => {
                let echo = |value| format!("echo {} > {}", shell::word(value), path.display());
                had.iter().chain([was]).map(|value| echo(value)).collect::<Vec<_>>().join("; ")
            }
            Self::Md { .. } => format!("mdadm --quiet --stop /dev/{md}  # if it exists"),
            Self::Made { disk, .. } => format!(
                "wipefs --all --quiet /dev/{}  # if it still holds what was made there",
                disk.name
            ),
            Self::Pool { name, .. } => {
                format!("zpool destroy -f {name}  # if it exists, and of these disks")
            }
            Self::Folder { path, .. } => {
                format!("rm -r {}", shell::word(&path.display().to_string()))
            }
            Self::Cgroup { path } => format!("rmdir {}", path.display()),
            Self::Tracing { instance } => format!("rmdir {TRACING}/{instance}"),
        }
    }
}

/// Returns the value of a file if it is neither the old value nor the one that it was given.
fn others(path: &Path, was: &str, gets: Option<&str>) -> Option<String> {
    value::other(path, gets?).filter(|other| other != was)
}

/// Writes the old value. Does nothing if the disk is gone, or another one has its name now.
fn put_back(path: &Path, was: &str, of: Option<&DiskIdentity>) -> Result<bool, String> {
    if of.is_some_and(|of| !of.has(path)) {
        return Ok(false);
    }
    // This makes no new file, and leaves nothing of a longer value.
    let open = OpenOptions::new().write(true).truncate(true).open(path);
    match open.and_then(|mut file| file.write_all(was.as_bytes())) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => {
            Err(format!("writing {was:?} to {}: {error}; write it there yourself", path.display()))
        }
    }
}

/// Removes what was made on a disk. First stops an md array of it that something may have assembled
/// again, because the array would keep the disk.
fn unmake(disk: &Disk, uuid: &str, waits: &mut dyn FnMut(&str)) -> Result<bool, String> {
    if let Some(device) = wipe::md_of(uuid) {
        wipe::stop_md(&device, waits)?;
    }
    wipe::remove(disk, |signature| signature.has(uuid), waits)
}

/// Removes a folder. If its filesystem is not mounted, the folder still exists, so that is an
/// error.
fn remove_folder(
    path: &Path,
    on: Option<u64>,
    waits: &mut dyn FnMut(&str),
) -> Result<bool, String> {
    if fs::symlink_metadata(path).is_err() && on.is_some() && filesystem_of(path) != on {
        return Err(format!(
            "{}: the filesystem that it is on is not mounted there; mount it and try again",
            path.display()
        ));
    }
    // Programs that are about to end still make files.
    until_done(waits, || {
        if let Some(place) = mounted_within(path) {
            return Err(Obstacle::Lasting(format!(
                "something is mounted at {place}, and what is there is not ours; unmount it and \
                try again"
            )));
        }
        remove(path, |path| fs::remove_dir_all(path))
    })
}

/// Returns a mount point inside this folder, or the folder itself if it is one. The trial's own
/// mounts are gone by then, because they end with its namespace.
fn mounted_within(path: &Path) -> Option<String> {
    // If a link has replaced the folder, only the link is removed, so the link is not followed.
    let folder = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut places = mounts(&mountinfo).map(|mount| unescaped(mount.place));
    places.find(|place| Path::new(place).starts_with(&folder))
}

/// Returns the number of the filesystem that holds the parent folder of `path`.
fn filesystem_of(path: &Path) -> Option<u64> {
    Some(statvfs(path.parent()?).ok()?.f_fsid).filter(|number| *number != 0)
}

fn remove(path: &Path, how: impl Fn(&Path) -> std::io::Result<()>) -> Result<bool, Obstacle> {
    match how(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => {
            let why = format!("removing {}: {error}; remove it yourself", path.display());
            let passes =
                matches!(error.kind(), ErrorKind::ResourceBusy | ErrorKind::DirectoryNotEmpty);
            Err(if passes { Obstacle::Passing(why) } else { Obstacle::Lasting(why) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(change: &Change) -> Option<Undone> {
        change.undo(true, &mut |_| ())
    }

    #[test]
    fn a_value_goes_to_no_other_disk_that_has_the_name_now() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("scheduler");
        fs::write(&file, "mq-deadline").unwrap();
        let gone = DiskIdentity { dev: "8:16".to_owned(), diskseq: Some("7".to_owned()) };
        let value = |of| Change::Value {
            path: file.clone(),
            was: "none".to_owned(),
            of,
            gets: None,
            had: None,
        };
        assert_eq!(undone(&value(Some(gone))), None);
        assert_eq!(fs::read_to_string(&file).unwrap(), "mq-deadline");
        assert_eq!(undone(&value(None)).unwrap().failed, None);
        assert_eq!(fs::read_to_string(&file).unwrap(), "none");
        assert!(matches!(Change::value(&file, "x"), Change::Value { of: None, .. }));
        let disk = fs::read_dir("/sys/block").into_iter().flatten().flatten().next();
        if let Some(disk) = disk {
            let change = Change::value(&disk.path().join("queue/scheduler"), "x");
            let Change::Value { of: Some(identity), .. } = change else { panic!("{change}") };
            assert!(identity.dev.contains(':'));
        }
        // Undoing makes no file.
        fs::remove_file(&file).unwrap();
        assert_eq!(undone(&value(None)), None);
        assert!(!file.exists());
    }

    #[test]
    fn a_loop_device_that_was_set_up_again_gets_its_scheduler_back() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("disk");
        fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
        let losetup = |arguments: &[&str]| {
            let done = std::process::Command::new("losetup").args(arguments).arg(&file).output();
            done.ok()
                .filter(|done| done.status.success())
                .map(|done| String::from_utf8(done.stdout).unwrap().trim().to_owned())
        };
        let Some(device) = losetup(&["--find", "--show"]) else {
            disklab_testkit::skipped_without_root("no loop device can be set up");
            return;
        };
        let detach = || {
            let done = std::process::Command::new("losetup").args(["--detach", &device]).status();
            assert!(done.unwrap().success());
        };
        let name = device.trim_start_matches("/dev/");
        let path = Path::new("/sys/block").join(name).join("queue/scheduler");
        let says = || fs::read_to_string(&path).unwrap();
        let was = if says().contains("[none]") { "none" } else { "mq-deadline" };
        let gets = if was == "none" { "mq-deadline" } else { "none" };
        let change = Change::set(&path, was, gets, None);
        fs::write(&path, gets).unwrap();
        detach();
        let again = losetup(&[&device]);
        let has_stayed = says().contains(&format!("[{gets}]"));
        let undone = undone(&change);
        let now = says();
        detach();
        assert!(again.is_some() && has_stayed, "the kernel keeps a loop device's queue");
        assert_eq!(undone.unwrap().failed, None);
        assert!(now.contains(&format!("[{was}]")), "{now}");
    }

    #[test]
    fn a_folder_on_what_is_not_mounted_is_not_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("disklab-1");
        let change = Change::folder(&folder);
        assert_eq!(undone(&change), None, "it was not made");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("test"), "x").unwrap();
        assert_eq!(undone(&change).unwrap().failed, None);
        assert!(!folder.exists());
        let Change::Folder { on: Some(number), .. } = change else {
            disklab_testkit::skipped(format!(
                "the filesystem of {} has no number",
                place.path().display()
            ));
            return;
        };
        let elsewhere = Change::Folder { path: folder.clone(), on: Some(number ^ 1) };
        assert!(undone(&elsewhere).unwrap().failed.unwrap().contains("not mounted"));
        // If the folder exists, it is removed, whatever the number is by now.
        fs::create_dir(&folder).unwrap();
        assert_eq!(undone(&elsewhere).unwrap().failed, None);
        assert!(!folder.exists());
    }

    #[test]
    fn what_somebody_mounted_in_a_folder_is_not_removed() {
        let place = tempfile::tempdir().unwrap();
        let (folder, other) = (place.path().join("disklab-1"), place.path().join("other"));
        for made in [&folder.join("in"), &other] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(other.join("precious"), "x").unwrap();
        let mount = std::process::Command::new("mount")
            .arg("--bind")
            .arg(&other)
            .arg(folder.join("in"))
            .status();
        if !mount.is_ok_and(|status| status.success()) {
            disklab_testkit::skipped_without_root("only root mounts");
            return;
        }
        let why = undone(&Change::folder(&folder)).unwrap().failed.unwrap();
        let there = other.join("precious").exists();
        let unmounted = std::process::Command::new("umount").arg(folder.join("in")).status();
        assert!(unmounted.unwrap().success() && there);
        assert!(why.contains("disklab-1/in") && why.contains("unmount it"), "{why}");
        assert_eq!(undone(&Change::folder(&folder)).unwrap().failed, None);
    }

    #[test]
    fn the_line_that_undoes_a_change_quotes_what_a_shell_would_split() {
        let md = Change::Md { uuid: "u".to_owned() };
        assert_eq!(md.undo_line("md100"), "mdadm --quiet --stop /dev/md100  # if it exists");
        let value = Change::value(Path::new("/sys/x"), "a b");
        assert_eq!(value.undo_line(""), "echo 'a b' > /sys/x");
        let folder = Change::Folder { path: "/my disks/disklab-1".into(), on: None };
        assert_eq!(folder.undo_line(""), "rm -r '/my disks/disklab-1'");
        let tracing = Change::Tracing { instance: "disklab-1".to_owned() };
        assert_eq!(tracing.undo_line(""), "rmdir /sys/kernel/tracing/instances/disklab-1");
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (folder, other) = (place.path().join("disklab-1"), place.path().join("other"));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("precious"), "x").unwrap();
        std::os::unix::fs::symlink(&other, &folder).unwrap();
        let _ = undone(&Change::folder(&folder));
        assert!(other.join("precious").exists());
    }

    #[test]
    fn a_disk_that_is_not_there_stays_in_the_journal() {
        let disk = Disk {
            named: "/dev/disklab-no-such".into(),
            name: "disklab-no-such".to_owned(),
            number: (8, 16),
            bytes: disklab_units::Bytes(12_345_678),
            rotational: true,
            model: None,
            serial: Some("S1".to_owned()),
        };
        let uuid = "11111111-2222-4333-8444-555555555555".to_owned();
        let why = undone(&Change::Made { disk, uuid }).unwrap().failed.unwrap();
        assert!(why.contains("serial S1") && why.contains("plug it in"), "{why}");
    }
}

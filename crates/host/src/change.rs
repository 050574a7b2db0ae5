//! What a run changes of this machine, and how each of it is undone.
//!
//! Mounts and programs are not among them: they are in a mount and a process namespace of their own, and end with it.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::marks;

/// One change, as the journal has it: noted before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// A file of sysfs or procfs gets another value.
    Value { path: PathBuf, was: String },
    /// md makes a device of disks.
    Md { uuid: String },
    /// Something is made on a disk, and marked with this.
    Made { disk: Disk, uuid: String },
    /// A ZFS pool of a name that none had is made of disks.
    Pool { name: String, disks: Vec<Disk> },
    /// A new folder, and all that a trial puts into it.
    Folder { path: PathBuf },
    /// A cgroup.
    Cgroup { path: PathBuf },
    /// An instance of the kernel's tracing.
    Tracing { instance: String },
}

/// What became of a change that was to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// What was done, for people.
    pub what: String,
    /// Why it was not, and what to do.
    pub failed: Option<String>,
}

/// Whatever still uses what is to be taken apart ends within so long, or has a reason of its own.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

/// As a change that was made.
impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { path, was } => write!(out, "{} was {was:?}", path.display()),
            Self::Md { uuid } => write!(out, "md made a device of the array {uuid}"),
            Self::Made { disk, uuid } => write!(out, "{uuid} was made on {}", disk.named.display()),
            Self::Pool { name, .. } => write!(out, "the pool {name} was made"),
            Self::Folder { path } => write!(out, "the folder {} was made", path.display()),
            Self::Cgroup { path } => write!(out, "the cgroup {} was made", path.display()),
            Self::Tracing { instance } => write!(out, "the tracing instance {instance} was made"),
        }
    }
}

impl Change {
    /// Undoes it. `same_boot` is false where the machine was started anew since, which undoes all that is in its memory.
    /// `None`: nothing was there to undo.
    pub fn undo(&self, same_boot: bool) -> Option<Undone> {
        let (what, result) = match self {
            Self::Value { .. } | Self::Cgroup { .. } | Self::Tracing { .. } if !same_boot => return None,
            Self::Value { path, was } => {
                (format!("{} is {was:?} again", path.display()), put_back(path, was))
            }
            Self::Md { uuid } => {
                let device = md_of(uuid)?;
                (format!("{device} is stopped"), patiently(|| run(&["mdadm", "--quiet", "--stop", &device])))
            }
            Self::Made { disk, uuid } => (
                format!("what was made on {} is unmade", disk.named.display()),
                patiently(|| marks::remove(disk, uuid)),
            ),
            // After another boot a pool of this name may be anybody's.
            Self::Pool { name, .. } if !same_boot => (
                format!("the pool {name} is destroyed"),
                Err(format!(
                    "the machine was started anew since, and whose it is cannot be told: zpool destroy {name}"
                )),
            ),
            Self::Pool { name, disks } => (
                format!("the pool {name} is destroyed"),
                patiently(|| if is_pool(name) { run(&["zpool", "destroy", "-f", name]) } else { Ok(()) })
                    .and_then(|()| disks.iter().try_for_each(|disk| marks::remove_pool(disk, name))),
            ),
            Self::Folder { path } if path.exists() => {
                (format!("{} is removed", path.display()), remove(path, |it| fs::remove_dir_all(it)))
            }
            Self::Cgroup { path } if path.exists() => (
                format!("the cgroup {} is removed", path.display()),
                patiently(|| remove(path, |it| fs::remove_dir(it))),
            ),
            // Nothing of it is there.
            Self::Folder { .. } | Self::Cgroup { .. } => return None,
            Self::Tracing { instance } => {
                let was_there = match crate::watch::remove_instance(instance) {
                    Ok(false) => return None,
                    other => other.map(drop).map_err(|error| error.to_string()),
                };
                (format!("the tracing instance {instance} is removed"), was_there)
            }
        };
        Some(Undone { what, failed: result.err() })
    }
}

/// What is no longer there, as a disk that was taken out, has nothing to put back.
fn put_back(path: &Path, was: &str) -> Result<(), String> {
    // No file is made where there is none, and of a longer value nothing stays.
    let open = OpenOptions::new().write(true).truncate(true).open(path);
    match open.and_then(|mut file| file.write_all(was.as_bytes())) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("writing {was:?} to {}: {error}; write it there yourself", path.display()))
        }
        _ => Ok(()),
    }
}

fn remove(path: &Path, how: impl Fn(&Path) -> std::io::Result<()>) -> Result<(), String> {
    match how(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("removing {}: {error}; remove it yourself", path.display()))
        }
        _ => Ok(()),
    }
}

/// Filesystems of a namespace that has just ended, and what udev looks at, keep devices busy for a moment.
fn patiently(undo: impl Fn() -> Result<(), String>) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match undo() {
            Err(_) if begun.elapsed() < PATIENCE => sleep(LOOK),
            result => return result,
        }
    }
}

/// The device that md has made of the array with this UUID: `/dev/md127`. Its number may be another one since.
fn md_of(uuid: &str) -> Option<String> {
    let folders = fs::read_dir("/sys/block").ok()?.flatten();
    let wanted: String = hex(uuid);
    let found = folders.filter(|entry| entry.path().join("md").exists()).find(|entry| {
        let device = format!("/dev/{}", entry.file_name().to_string_lossy());
        let said = output(&["mdadm", "--detail", "--export", &device]).unwrap_or_default();
        said.lines().filter_map(|line| line.strip_prefix("MD_UUID=")).any(|it| hex(it) == wanted)
    })?;
    Some(format!("/dev/{}", found.file_name().to_string_lossy()))
}

/// mdadm writes UUIDs in four groups with colons between them.
fn hex(uuid: &str) -> String {
    uuid.chars().filter(char::is_ascii_hexdigit).map(|it| it.to_ascii_lowercase()).collect()
}

/// Whether there is a pool of this name, and it is imported.
pub fn is_pool(name: &str) -> bool {
    run(&["zpool", "list", "-H", "-o", "name", name]).is_ok()
}

/// What a program prints, if it ends well.
pub(crate) fn output(words: &[&str]) -> Result<String, String> {
    let [program, arguments @ ..] = words else { return Err("an empty command".to_owned()) };
    let folders = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", folders).env("LC_ALL", "C").stdin(Stdio::null());
    let line = words.join(" ");
    let out = command.output().map_err(|error| format!("{line}: {error}; run it yourself"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    let last = said.lines().last().unwrap_or("it said nothing");
    Err(format!("{line} failed ({}): {last}; run it yourself", out.status))
}

fn run(words: &[&str]) -> Result<(), String> {
    output(words).map(drop)
}

//! Mounts and unmounts filesystems, and drops caches.

use super::perform::{Perform, Session};
use super::program::{Words, prepare};
use super::steps::Failure;
use crate::site::Site;
use disklab_protocol::action::{DropCaches, Release, Unmount};
use disklab_protocol::places::Side;
use disklab_protocol::setup::Mount;
use disklab_protocol::shell;
use disklab_protocol::step::Step;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::CString;
use std::fs;
use std::time::{Duration, Instant};

/// File that makes the kernel drop its caches.
const DROP: &str = "/proc/sys/vm/drop_caches";

impl Perform for Release {
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        session.environment.release_disks()
    }
}

/// Returns the command line that mounts a filesystem.
pub fn mount_line(mount: &Mount) -> String {
    let noatime = mount.noatime.then_some("noatime");
    let data = Some(mount.data.as_str()).filter(|data| !data.is_empty());
    let options: Vec<&str> = noatime.into_iter().chain(data).collect();
    let options =
        if options.is_empty() { String::new() } else { format!(" -o {}", options.join(",")) };
    let (filesystem, source, folder) = (&mount.filesystem, &mount.source, mount.on.folder());
    format!("mount -t {filesystem}{options} {source} {folder}")
}

impl Perform for Mount {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![mount_line(self)]
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let begun = Instant::now();
        mount_it(self)?;
        let took_ns = Some(begun.elapsed().as_nanos() as u64);
        if self.on == Side::Pool {
            session.steps.say(&Step::Mounted { filesystem: self.filesystem.clone(), took_ns });
        }
        Ok(())
    }
}

impl Perform for Unmount {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        self.all.iter().map(|side| format!("umount {}", side.folder())).collect()
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        self.all.iter().try_for_each(|side| unmount_from(side.folder()))?;
        session.steps.say(&Step::Unmounted);
        Ok(())
    }
}

impl Perform for DropCaches {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        let reread = self.reread.iter().map(|command| shell::command(command));
        drop_lines().into_iter().chain(reread).collect()
    }

    /// A user may not drop caches, and the step reports that.
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        rustix::fs::sync();
        let error = drop_caches().err();
        if let Some(command) = &self.reread {
            // If this fails, so does the load, which reports it.
            let _ = Words::create("load").and_then(|words| {
                prepare(command, "load", &words)?.status().map_err(|error| error.to_string())
            });
        }
        session.steps.say(&Step::Caches { dropped: error.is_none(), error });
        Ok(())
    }
}

/// Returns command lines that write all dirty pages and drop the caches.
pub fn drop_lines() -> [String; 2] {
    ["sync".to_owned(), format!("echo 3 > {DROP}")]
}

/// Drops the caches of files, folders and inodes.
pub fn drop_caches() -> Result<(), Failure> {
    fs::write(DROP, "3").map_err(|e| format!("writing 3 to {DROP}: {e}"))
}

/// Lets timers settle. A kernel that has just booted has coarse timers until its first ticks, and a
/// sleep of 0.1 ms takes 6.
pub fn settle() {
    std::thread::sleep(Duration::from_millis(50));
}

/// Mounts a filesystem of the kernel itself.
pub fn mounted(filesystem: &str, target: &str, data: &str) -> Result<(), Failure> {
    let data = CString::new(data).map_err(|e| e.to_string())?;
    mount(filesystem, target, filesystem, MountFlags::empty(), data.as_c_str())
        .map_err(|e| format!("mounting {filesystem} on {target}: {e}"))
}

pub fn mount_it(what: &Mount) -> Result<(), Failure> {
    let Mount { on, source, filesystem, data, noatime } = what;
    let options = CString::new(data.as_str()).map_err(|e| e.to_string())?;
    let flags = if *noatime { MountFlags::NOATIME } else { MountFlags::empty() };
    let folder = on.folder();
    mount(source.as_str(), folder, filesystem.as_str(), flags, options.as_c_str())
        .map_err(|e| format!("mounting {source} ({filesystem}) on {folder} with {data:?}: {e}"))
}

pub fn unmount_from(folder: &str) -> Result<(), Failure> {
    unmount(folder, UnmountFlags::empty()).map_err(|e| format!("unmounting {folder}: {e}"))
}

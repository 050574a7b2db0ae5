//! Loop devices, and mounts of them, that are removed however a test ends.

use disklab_testkit::skipped_without_root;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock for one test at a time: a search for a free device briefly opens the devices of other
/// tests.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder of a test's own, for the files behind its devices.
pub struct Lab {
    place: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// A loop device that is detached when it is dropped.
pub struct LoopDisk {
    pub path: PathBuf,
}

/// A mount that is unmounted when it is dropped.
pub struct Mount {
    pub path: PathBuf,
}

impl Lab {
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped_without_root("only root makes loop devices");
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Self { place: tempfile::tempdir().unwrap(), _alone: alone })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Makes a sparse file of `mib` MiB without data.
    pub fn file(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.path(name);
        File::create(&path).unwrap().set_len(mib << 20).unwrap();
        path
    }

    pub fn disk(&self, name: &str, mib: u64) -> Option<LoopDisk> {
        attach(&[], &self.file(name, mib))
    }

    pub fn read_only(&self, name: &str, mib: u64) -> Option<LoopDisk> {
        attach(&["--read-only"], &self.file(name, mib))
    }

    pub fn mount(&self, device: &Path) -> Option<Mount> {
        let path = self.path("mnt");
        fs::create_dir_all(&path).unwrap();
        let path = path.canonicalize().unwrap();
        run("mount", &[device.to_str().unwrap()], &path).then_some(Mount { path })
    }
}

pub fn attach(options: &[&str], file: &Path) -> Option<LoopDisk> {
    let said = Command::new("losetup").args(["--find", "--show"]).args(options).arg(file).output();
    match said {
        Ok(said) if said.status.success() => {
            Some(LoopDisk { path: PathBuf::from(String::from_utf8(said.stdout).unwrap().trim()) })
        }
        Ok(said) => skip("losetup", &String::from_utf8_lossy(&said.stderr)),
        Err(error) => skip("losetup", &error.to_string()),
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        run("losetup", &["--detach"], &self.path);
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &[], &self.path);
    }
}

/// Runs a program and returns whether it succeeded; otherwise it prints why.
pub fn run(program: &str, arguments: &[&str], last: &Path) -> bool {
    match Command::new(program).args(arguments).arg(last).output() {
        Ok(done) if done.status.success() => true,
        Ok(done) => skip::<()>(program, &String::from_utf8_lossy(&done.stderr)).is_some(),
        Err(error) => skip::<()>(program, &error.to_string()).is_some(),
    }
}

fn skip<T>(program: &str, why: &str) -> Option<T> {
    skipped_without_root(format!("{program}: {}", why.trim()));
    None
}

//! Loop devices of a test, detached when the test ends or fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use disklab_block_devices::Disk;
use disklab_testkit::skipped_without_root;

pub struct LoopDisk {
    pub path: PathBuf,
}

impl LoopDisk {
    /// Makes a device on a new sparse file. The file is on a disk, so that no test measures memory.
    pub fn new(here: &Path, name: &str, mebibytes: u64) -> Self {
        let file = here.join(name);
        std::fs::File::create(&file)
            .and_then(|file| file.set_len(mebibytes << 20))
            .expect("a file");
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&file)
            .output()
            .expect("losetup");
        assert!(made.status.success(), "losetup: {}", String::from_utf8_lossy(&made.stderr));
        Self { path: String::from_utf8(made.stdout).expect("text").trim().into() }
    }

    pub fn name(&self) -> String {
        self.path.file_name().expect("a name").to_string_lossy().into_owned()
    }

    /// Reads a file of the disk's queue in sysfs.
    pub fn queue(&self, file: &str) -> String {
        let path = Path::new("/sys/block").join(self.name()).join("queue").join(file);
        std::fs::read_to_string(path).expect("sysfs").trim().to_owned()
    }

    /// Returns true if blkid finds nothing on the disk.
    pub fn is_blank(&self) -> bool {
        let out =
            Command::new("wipefs").arg("--noheadings").arg(&self.path).output().expect("wipefs");
        assert!(out.status.success(), "wipefs: {}", String::from_utf8_lossy(&out.stderr));
        out.stdout.is_empty()
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

/// Makes `count` devices of 512 MiB, and an allow file that lists them. If loop devices cannot be
/// made, returns None and prints the reason.
pub fn loops(here: &Path, count: usize) -> Option<(Vec<LoopDisk>, PathBuf)> {
    let why = if !rustix::process::geteuid().is_root() {
        Some("loop devices want root")
    } else if !Path::new("/dev/loop-control").exists() {
        Some("this machine has no loop devices")
    } else {
        None
    };
    if let Some(why) = why {
        skipped_without_root(why);
        return None;
    }
    let loops: Vec<LoopDisk> =
        (0..count).map(|number| LoopDisk::new(here, &format!("{number}.img"), 512)).collect();
    let allow = here.join("devices.toml");
    let text: String = loops.iter().map(allowed).collect();
    std::fs::write(&allow, text).expect("a file");
    Some((loops, allow))
}

fn allowed(disk: &LoopDisk) -> String {
    let serial = Disk::find(&disk.path).expect("it was just made").serial.expect("its file");
    format!("[[device]]\npath = {:?}\nserial = {serial:?}\n", disk.path.display().to_string())
}

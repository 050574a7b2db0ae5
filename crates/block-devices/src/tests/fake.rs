//! A folder that looks like a machine: /sys and /proc with the files of a test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::machine::Machine;

pub(crate) struct Fake {
    place: tempfile::TempDir,
}

/// Mount of the root, on a disk that no test uses otherwise.
const ROOT: &str = "27 1 254:0 / / rw,relatime - ext4 /dev/root rw\n";

impl Fake {
    /// Returns a machine with its root filesystem on vda; tests add other disks.
    pub(crate) fn new() -> Self {
        let fake = Self { place: tempfile::tempdir().unwrap() };
        fake.disk("vda", "254:0");
        fake.disk("sdb", "8:16");
        fake.mounts("");
        fake
    }

    pub(crate) fn machine(&self) -> Machine {
        Machine::below(self.place.path())
    }

    pub(crate) fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.machine().path(path)
    }

    /// Adds mounts after that of the root.
    pub(crate) fn mounts(&self, more: &str) {
        self.put("/proc/self/mountinfo", format!("{ROOT}{more}"));
    }

    /// Adds a disk of 1 GiB.
    pub(crate) fn disk(&self, name: &str, number: &str) {
        self.block(&format!("/sys/devices/{name}"), name, number);
        self.link("/sys/block", name, &format!("/sys/devices/{name}"));
        self.put(&format!("/sys/devices/{name}/queue/rotational"), "0\n");
    }

    pub(crate) fn part(&self, disk: &str, name: &str, number: &str) {
        self.block(&format!("/sys/devices/{disk}/{name}"), name, number);
        self.put(&format!("/sys/devices/{disk}/{name}/partition"), "1\n");
    }

    fn block(&self, folder: &str, name: &str, number: &str) {
        for (file, text) in [("dev", number), ("size", "2097152"), ("ro", "0")] {
            self.put(&format!("{folder}/{file}"), format!("{text}\n"));
        }
        fs::create_dir_all(self.path(&format!("{folder}/holders"))).unwrap();
        self.link("/sys/dev/block", number, folder);
        self.link("/sys/class/block", name, folder);
    }

    /// Records that `above` is made of `below`, the folder of a device.
    pub(crate) fn holds(&self, above: &str, below: &str) {
        let name = Path::new(below).file_name().unwrap().to_str().unwrap();
        self.link(
            &format!("/sys/devices/{below}/holders"),
            above,
            &format!("/sys/devices/{above}"),
        );
        self.link(&format!("/sys/devices/{above}/slaves"), name, &format!("/sys/devices/{below}"));
    }

    pub(crate) fn link(&self, folder: &str, name: &str, to: &str) {
        let folder = self.path(folder);
        fs::create_dir_all(&folder).unwrap();
        symlink(self.path(to), folder.join(name)).unwrap();
    }
}

//! A small lab in a folder of its own, without mistakes until a test adds some.

use std::fs;
use std::path::Path;

use disklab_config::{Lab, Suite, Trial};

/// Paths in the lab, and contents.
const FILES: &[(&str, &str)] = &[
    (
        "devices/plain.toml",
        "summary = \"plain\"\nsize = \"10 GiB\"\n[constant]\nlatency = \"50us\"\nservers = 1\n\
         queue_depth = 32\n",
    ),
    (
        "devices/turning.toml",
        "summary = \"turning\"\nsize = \"1 TB\"\n[constant]\nlatency = \"8ms\"\nservers = 1\n\
         queue_depth = 32\nrotational = true\n",
    ),
    (
        "arrays/pair.toml",
        "summary = \"pair\"\njoin = \"btrfs-raid1\"\ndevices = [\"plain\", \"plain\"]\n",
    ),
    (
        "arrays/turning-pair.toml",
        "summary = \"pair\"\njoin = \"btrfs-raid1\"\npart = \"20 GiB\"\n\
         devices = [\"turning\", \"turning\"]\n",
    ),
    ("arrays/alone.toml", "summary = \"alone\"\njoin = \"single\"\ndevices = [\"plain\"]\n"),
    (
        "workloads/random.toml",
        "summary = \"random\"\nrw = \"randread\"\nbs = \"4k\"\nfilesize = \"1 GiB\"\n\
         ioengine = \"libaio\"\n",
    ),
    (
        "workloads/sequential.toml",
        "summary = \"sequential\"\nrw = \"read\"\nbs = \"1M\"\nfilesize = \"1 GiB\"\n\
         ioengine = \"psync\"\n",
    ),
    ("policies/pid.toml", "summary = \"pid\"\n"),
    (
        "policies/round-robin.toml",
        "summary = \"turns\"\nneeds = [\"BTRFS_EXPERIMENTAL\"]\n[[parameter]]\nkey = \"bytes\"\n\
         kind = \"bytes\"\nleast = \"1 B\"\nmost = \"1 GiB\"\ndefault = \"256 KiB\"\n\
         summary = \"a turn\"\n",
    ),
    (
        "policies/devid.toml",
        "summary = \"one\"\nneeds = [\"BTRFS_EXPERIMENTAL\"]\n[[parameter]]\nkey = \"device\"\n\
         kind = \"device\"\nsummary = \"id\"\n",
    ),
    ("policies/waiting.toml", WAITING),
    ("kernels/7.3.toml", "summary = \"7.3\"\npackage = \"linux-source-7.3\"\npreference = 1\n"),
    ("kernels/7.2.toml", "summary = \"7.2\"\npackage = \"linux-source-7.2\"\npreference = 2\n"),
    ("suites/question.toml", SUITE),
];

/// A policy with a parameter of each other kind.
const WAITING: &str = "\
summary = \"the shortest wait\"
needs = [\"BTRFS_READ_POLICIES\"]

[[parameter]]
key = \"margin\"
kind = \"number\"
least = 100
most = 1000
default = 125
summary = \"per cent\"

[[parameter]]
key = \"count\"
kind = \"word\"
words = [\"all\", \"reads\"]
default = \"all\"
summary = \"what waits\"
";

pub const SUITE: &str = "\
question = \"Which?\"
seeds = 2
memory = \"256 MiB\"
runtime = { rotational = \"20s\", solid_state = \"300ms\" }
kernel = \"newest\"
baseline = { policy = \"pid\" }

[axes]
array = [\"pair\", \"turning-pair\"]
workload = [\"random\"]
policy = [\"pid\", \"round-robin:4k\"]
";

pub struct SmallLab(tempfile::TempDir);

impl SmallLab {
    pub fn new() -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        for (path, text) in FILES {
            lab.write(path, text);
        }
        lab
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn load(&self) -> Lab {
        Lab::load(self.path()).unwrap()
    }

    /// Reads the suite with one piece of its text replaced.
    pub fn suite(&self, from: &str, to: &str) -> Result<Suite, String> {
        assert!(SUITE.contains(from), "the suite has no `{from}`");
        self.write("suites/question.toml", &SUITE.replacen(from, to, 1));
        self.load().suite("question").map_err(|mistakes| self.relative(&mistakes))
    }

    pub fn trials(&self, suite: &Suite) -> Result<Vec<Trial>, String> {
        suite.trials(&self.load()).map_err(|mistakes| self.relative(&mistakes))
    }

    /// Returns the mistakes with the folder's name left out.
    pub fn relative(&self, mistakes: &disklab_config::Diagnostics) -> String {
        mistakes.to_string().replace(&format!("{}/", self.path().display()), "")
    }
}

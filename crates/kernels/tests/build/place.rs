//! A place for a test's build: a tiny tree, a cache and a share of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use disklab_kernels::{
    Btrfs, Build, BuildStep, Built, Cache, Error, KernelLookup, KernelSource, Share,
};
pub static RUN: AtomicBool = AtomicBool::new(false);

pub const MAKEFILE: &str = r#"VERSION = 7
PATCHLEVEL = 3
SUBLEVEL = 4
EXTRAVERSION =

tinyconfig:
	@test ! -e .config || { echo "*** The source tree is not clean"; false; }
	@echo CONFIG_TINY=y > $(O)/.config
olddefconfig:
	@grep -v -e LOST -e '^#' $(O)/.config > $(O)/.new && mv $(O)/.new $(O)/.config
	@echo CONFIG_FORCED=y >> $(O)/.config
mrproper:
	@rm .config
linux:
	@echo "  CC      one.o"
	@sh build.sh
	@echo "  LD      linux"
	@cat build.sh inserted > $(O)/linux
"#;

/// A tree, a share and a cache in one temporary folder.
pub struct BuildPlace(tempfile::TempDir);

impl BuildPlace {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("tree/Makefile", MAKEFILE);
        place.write("tree/build.sh", "true\n");
        place.write("share/lab/none", "");
        place.write(
            "share/guest-kernel/config",
            "# a comment\nCONFIG_BTRFS_EXPERIMENTAL=y\nCONFIG_MODULES=n\n",
        );
        place.write("share/guest-kernel/files/inserted", "the disks\n");
        place.write("share/guest-kernel/btrfs/config", "CONFIG_BTRFS_READ_POLICIES=y\n");
        place.write("share/read-policies/pid.c", "int pid;\n");
        place
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    pub fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn cache(&self) -> Cache {
        Cache::in_folder(&self.path("cache")).unwrap()
    }

    pub fn share(&self) -> Share {
        Share::open(&self.path("share")).unwrap()
    }

    pub fn tree(&self) -> KernelSource {
        KernelSource::find(&self.path("tree")).unwrap()
    }

    pub fn build(&self, source: &KernelSource) -> (Result<Built, Error>, Vec<BuildStep>) {
        let mut steps = Vec::new();
        let (cache, share) = (self.cache(), self.share());
        let build = Build { cache: &cache, share: &share, jobs: 2, stop: &RUN };
        let result = build.from(source, Btrfs::Policies, &mut |step| steps.push(step));
        (result, steps)
    }

    /// Builds the kernel that a suite's axis names, if it has to be built.
    pub fn named(&self, value: &str) -> Result<Built, Error> {
        let (cache, share) = (self.cache(), self.share());
        let build = Build { cache: &cache, share: &share, jobs: 2, stop: &RUN };
        build.named(value, &mut |_| {})
    }

    /// Looks up the kernel that a suite's axis names.
    pub fn look(&self, value: &str) -> Result<KernelLookup, Error> {
        let (cache, share) = (self.cache(), self.share());
        let build = Build { cache: &cache, share: &share, jobs: 2, stop: &RUN };
        build.look(value, &mut |_| {})
    }

    /// Runs `git` in the tree.
    pub fn git(&self, arguments: &[&str]) -> String {
        let who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "tag.gpgSign=false"];
        let output = Command::new("git")
            .args(who)
            .args(arguments)
            .current_dir(self.path("tree"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Makes the tree a repository with two revisions, `one` and `two`, whose builds differ.
    pub fn two_revisions(&self) {
        self.git(&["init", "-q"]);
        for (tag, text) in [("one", "true # one\n"), ("two", "true # two\n")] {
            self.write("tree/build.sh", text);
            self.git(&["add", "."]);
            self.git(&["commit", "-qm", tag]);
            self.git(&["tag", tag]);
        }
    }

    /// Returns `<tree>@<revision>`.
    pub fn at_revision(&self, revision: &str) -> String {
        format!("{}@{revision}", self.path("tree").display())
    }

    /// Builds from the tree, which must succeed.
    pub fn built(&self) -> Built {
        self.build(&self.tree()).0.unwrap()
    }

    /// Builds from the tree, which must fail.
    pub fn refused(&self) -> String {
        self.build(&self.tree()).0.unwrap_err().to_string()
    }

    /// Returns the names in the cache's folder for kernels, without the locks.
    pub fn kernels(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("cache/kernels")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| Path::new(name).extension().is_none_or(|end| end != "lock")).collect()
    }
}

pub fn note(steps: &[BuildStep]) -> &str {
    steps
        .iter()
        .find_map(|step| if let BuildStep::Note(text) = step { Some(text.as_str()) } else { None })
        .unwrap()
}

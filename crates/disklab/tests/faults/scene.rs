//! The state in which schedules begin: a small lab, the fake kernel, a complete record, and the
//! results of each verb without faults.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use disklab_block_devices::PATH;
use disklab_protocol::digest::sha256_hex;
use nix::mount::{self, MsFlags};
use nix::sched::{CloneFlags, unshare};

use crate::kernel;
use crate::tracer::{self, Counts, Ended, Tracer};

const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
/// Kernel options that trials need.
const CONFIG: &str = "CONFIG_BTRFS_FS=y
CONFIG_BTRFS_EXPERIMENTAL=y
CONFIG_MQ_IOSCHED_DEADLINE=y
";

const SUITE: &str = r#"
question = "What is lost?"
seeds = 2
memory = "256 MiB"
runtime = { rotational = "20ms", solid_state = "20ms" }
kernel = "KERNEL"

[axes]
array = ["pair"]
workload = ["reads"]
policy = ["pid", "devid"]
"#;
const ARRAY: &str = r#"
summary = "two equal disks"
join = "btrfs-raid1"
part = "1 GiB"
devices = ["nas-4tb", "nas-4tb"]
"#;
const WORKLOAD: &str = r#"
summary = "4 KiB random reads, one at a time"
rw = "randread"
bs = "4k"
iodepth = 1
ioengine = "libaio"
filesize = "64 MiB"
direct = true
norandommap = true
refill_buffers = true
"#;

/// Verbs with their arguments in a folder that holds the records `whole`, `first` and `second`.
pub const VERBS: [&[&str]; 10] = [
    &["run", "lost.toml", "--jobs", "2", "--out", "record"],
    &["merge", "first", "second", "--out", "made"],
    &["export", "whole", "-o", "made"],
    &["report", "whole", "-o", "made.html"],
    &["show", "whole"],
    &["audit", "whole"],
    &["same", "whole", "whole"],
    &["gate", "whole", "--against", "whole"],
    &["compare", "whole"],
    &["import", "whole/raw/pair+reads+pid+s1/fio.json", "--out", "made"],
];

/// Makes schedules short, where this process may mount: the folder is in memory, and fio is a
/// script. Each run computes the digests of fio and of its libraries (75 MB on Debian), and no
/// guest here runs it. Only this process and its children see these mounts.
///
/// # Errors
/// If this process may not mount. Schedules then take several times as long.
pub fn mount(folder: &Path) -> nix::Result<()> {
    let nothing = None::<&str>;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount::mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    mount::mount(nothing, folder, Some("tmpfs"), MsFlags::empty(), nothing)?;
    let script = folder.join("fio");
    fs::write(&script, "#!/bin/sh\necho fio-3.33\n").expect("room");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its own file");
    let places = PATH.split(':').map(|place| Path::new(place).join("fio"));
    for place in places.filter(|place| place.is_file()) {
        mount::mount(Some(&script), &place, nothing, MsFlags::MS_BIND, nothing)?;
    }
    Ok(())
}

/// A folder with everything that schedules need, and the results of each verb there.
pub struct Scene {
    /// The folder, which has the records that no schedule may change.
    pub folder: PathBuf,
    program: PathBuf,
    /// Results of each verb without faults, in the order of [`VERBS`].
    pub usual: Vec<Usual>,
}

pub struct Usual {
    pub said: Said,
    /// Files that the verb makes, with digests.
    pub made: BTreeMap<PathBuf, String>,
    pub counts: Counts,
}

/// Output of a program that has ended, and its end.
pub struct Said {
    pub ended: Ended,
    pub out: String,
    pub err: String,
    /// Number of faults that happened.
    pub happened: usize,
}

impl Scene {
    /// Makes the scene. The error says why nothing can be traced here.
    pub fn set(folder: &Path) -> Result<Self, String> {
        let program = folder.join("disklab");
        let mut scene = Self { folder: folder.to_owned(), program, usual: Vec::new() };
        scene.lay_out();
        let begun = scene.begin("begun");
        let (run, _) = scene.run(&begun, VERBS[0], Tracer::Faults(&[])).map_err(|error| {
            format!("a child of this process cannot be traced: {error}; ptrace is forbidden")
        })?;
        assert_eq!(run.ended, Ended::Exited(0), "{}{}", run.out, run.err);
        fs::rename(begun.join("record"), folder.join("whole")).expect("a record");
        for (shard, name) in [("1/2", "first"), ("2/2", "second")] {
            let words = [&VERBS[0][..5], &[name, "--shard", shard]].concat();
            let (run, _) =
                scene.run(&begun, &words, Tracer::Faults(&[])).expect("it was traced before");
            assert_eq!(run.ended, Ended::Exited(0), "{}{}", run.out, run.err);
            fs::rename(begun.join(name), folder.join(name)).expect("a record");
        }
        fs::rename(begun.join("cache"), folder.join("cache")).expect("a cache");
        for (number, words) in VERBS.iter().enumerate() {
            let here = scene.begin(&format!("usual-{number}"));
            let (said, counts) =
                scene.run(&here, words, Tracer::Counts).expect("it was traced before");
            let made = made(&here);
            scene.usual.push(Usual { said, made, counts });
        }
        Ok(scene)
    }

    fn lay_out(&self) {
        let write = |path: &str, text: &str| {
            let path = self.folder.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("room");
        };
        // The program is copied, since it may be built again meanwhile.
        fs::copy(env!("CARGO_BIN_EXE_disklab"), &self.program).expect("the built program");
        // Each run computes its digest, and no guest loads it.
        write("libdisklab_guest.so", "");
        for part in ["guest-kernel", "read-policies"] {
            std::os::unix::fs::symlink(Path::new(HOME).join(part), self.folder.join(part))
                .expect("a link");
        }
        for part in ["lab/policies", "lab/kernels"] {
            for file in fs::read_dir(Path::new(HOME).join(part)).expect("the lab").flatten() {
                let name = file.file_name().into_string().expect("text");
                write(&format!("{part}/{name}"), &fs::read_to_string(file.path()).expect("text"));
            }
        }
        let device = Path::new(HOME).join("lab/devices/nas-4tb.toml");
        write("lab/devices/nas-4tb.toml", &fs::read_to_string(device).expect("text"));
        write("lab/arrays/pair.toml", ARRAY);
        write("lab/workloads/reads.toml", WORKLOAD);
        write("lab/suites/.keep", "");
        write("lab/backgrounds/.keep", "");
        write("kernel/config", CONFIG);
        let folder = self.folder.join("kernel");
        write("lost.toml", &SUITE.replace("KERNEL", folder.to_str().expect("text")));
        let this = std::env::current_exe().expect("this program");
        let linux = format!("#!/bin/sh\nexec {} {}\n", this.display(), kernel::GUEST);
        write("kernel/linux", &linux);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join("linux"), executable).expect("its own file");
        let sha256 = sha256_hex(linux.as_bytes());
        write(
            "kernel/kernel.toml",
            &format!(
                "format = 1\nversion = \"7.3.4\"\nseries = \"7.3\"\nkey = \"{sha256}\"\n\
                 recipe = \"\"\ncompiler = \"none\"\nlinux_sha256 = \"{sha256}\"\n\
                 config_sha256 = \"{}\"\nobjects = 0\nbuild_seconds = 0.0\nbuilt = 0\n\
                 btrfs = \"policies\"\n\n[source]\nkind = \"tarball\"\npath = \"/nowhere\"\n\
                 sha256 = \"{sha256}\"\n",
                sha256_hex(CONFIG.as_bytes()),
            ),
        );
    }

    /// Makes a new folder for a schedule.
    pub fn begin(&self, name: &str) -> PathBuf {
        let here = self.folder.join(name);
        fs::create_dir(&here).expect("a folder");
        fs::copy(self.folder.join("lost.toml"), here.join("lost.toml")).expect("room");
        for record in ["whole", "first", "second"] {
            if self.folder.join(record).is_dir() {
                copy(&self.folder.join(record), &here.join(record));
            }
        }
        here
    }

    /// Puts prepared disks into a folder's cache.
    pub fn prepare(&self, here: &Path) {
        let disks = "cache/disklab/disks";
        copy(&self.folder.join(disks), &here.join(disks));
    }

    /// Runs the program in a folder. The error comes from tracing.
    pub fn run(
        &self,
        here: &Path,
        words: &[&str],
        tracer: Tracer<'_>,
    ) -> nix::Result<(Said, Counts)> {
        let file = |name: &str| File::create(here.join(name)).expect("room");
        let text = |name: &str| {
            String::from_utf8_lossy(&fs::read(here.join(name)).expect("a file")).into_owned()
        };
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(tracer.words())
            .arg(&self.program)
            .args(words)
            .current_dir(here)
            .env("DISKLAB_HOME", &self.folder)
            .env("XDG_CACHE_HOME", here.join("cache"))
            .env("NO_COLOR", "1")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"));
        let (ended, counts, happened) = tracer::run(&mut command, &self.program, tracer)?;
        Ok((Said { ended, out: text("stdout"), err: text("stderr"), happened }, counts))
    }
}

/// Copies a folder. Disks are linked, since nobody may write to them.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else if from.extension().is_some_and(|end| end == "img") {
            fs::hard_link(&from, &to).expect("a link");
        } else {
            fs::copy(&from, &to).expect("room");
        }
    }
}

/// Returns the files that a verb makes in its folder, with digests, except files that hold the
/// time.
pub fn made(here: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for top in ["made", "made.html"] {
        gather(here, Path::new(top), &mut found);
    }
    found
}

/// Collects digests of the files below a path.
pub fn gather(here: &Path, place: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let path = here.join(place);
    if path.is_dir() {
        for entry in fs::read_dir(&path).expect("a folder").flatten() {
            gather(here, &place.join(entry.file_name()), found);
        }
    } else if path.is_file() && !["manifest.toml", "lock"].iter().any(|name| path.ends_with(name)) {
        found.insert(place.to_owned(), sha256_hex(&fs::read(&path).expect("a file")));
    }
}

//! Makes disks for tests, and removes them at their end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use disklab_block_devices::disk::Disk;
use disklab_block_devices::watch::instance_name;
use disklab_block_devices::watch::stat::Stat;
use disklab_testkit::{skipped, skipped_without_root};
use disklab_units::Bytes;

const CHILD: &str = "DISKLAB_TEST_INSTANCE";

/// A disk that a test made.
pub struct TestDisk {
    pub path: String,
    pub disk: Disk,
    undo: Option<Vec<String>>,
    _image: Option<tempfile::NamedTempFile>,
}

impl Drop for TestDisk {
    fn drop(&mut self) {
        if let Some([program, arguments @ ..]) = self.undo.as_deref() {
            let undone = Command::new(program).args(arguments).status();
            assert!(
                undone.is_ok_and(|status| status.success()) || std::thread::panicking(),
                "{program}"
            );
        }
    }
}

impl TestDisk {
    fn new(path: &str, undo: Vec<String>, image: Option<tempfile::NamedTempFile>) -> Self {
        let name = path.trim_start_matches("/dev/").to_owned();
        let number = fs::read_to_string(format!("/sys/class/block/{name}/dev")).unwrap();
        let (major, minor) = number.trim().split_once(':').unwrap();
        let disk = Disk {
            named: PathBuf::from(path),
            number: (major.parse().unwrap(), minor.parse().unwrap()),
            bytes: Bytes(
                fs::read_to_string(format!("/sys/class/block/{name}/size"))
                    .unwrap()
                    .trim()
                    .parse::<u64>()
                    .unwrap()
                    * 512,
            ),
            rotational: false,
            model: None,
            serial: None,
            name,
        };
        Self { path: path.to_owned(), disk, undo: Some(undo), _image: image }
    }

    pub fn stat(&self) -> Stat {
        let text = fs::read_to_string(format!("/sys/class/block/{}/stat", self.disk.name)).unwrap();
        Stat::parse(&text).unwrap()
    }

    /// Makes a partition, in units of 512 bytes.
    pub fn partition(&self, begin: u64, sectors: u64) -> Option<Self> {
        if !has("addpart") {
            return None;
        }
        let added = Command::new("addpart")
            .args([&self.path, "1", &begin.to_string(), &sectors.to_string()])
            .output();
        let added = added.unwrap();
        let path = format!("{}p1", self.path);
        if !added.status.success() || !Path::new(&path).exists() {
            let why = String::from_utf8_lossy(&added.stderr);
            skipped_without_root(format!("no partition of a loop device: {}", why.trim()));
            return None;
        }
        Some(Self::new(&path, ["delpart", &self.path, "1"].map(str::to_owned).into(), None))
    }
}

/// Makes `count` loop devices of `mib` MiB. Returns None and prints the reason if it cannot.
pub fn loops(count: usize, mib: u64) -> Option<Vec<TestDisk>> {
    if !is_root() || !has("losetup") || !has("fio") {
        return None;
    }
    (0..count).map(|_| attach(mib)).collect()
}

fn attach(mib: u64) -> Option<TestDisk> {
    // The image is beside the build's output: a tmpfs is not a disk, and has little room.
    let image =
        tempfile::Builder::new().prefix("disk").tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    image.as_file().set_len(mib << 20).unwrap();
    let attached =
        Command::new("losetup").args(["--find", "--show"]).arg(image.path()).output().unwrap();
    if !attached.status.success() {
        skipped_without_root(format!(
            "losetup: {}",
            String::from_utf8_lossy(&attached.stderr).trim()
        ));
        return None;
    }
    let path = String::from_utf8(attached.stdout).unwrap().trim().to_owned();
    Some(TestDisk::new(
        &path,
        ["losetup", "--detach", &path].map(str::to_owned).into(),
        Some(image),
    ))
}

/// Makes a disk in memory, whose driver handles bios and no requests.
pub fn zram(mib: u64) -> Option<TestDisk> {
    if !is_root() || !has("fio") {
        return None;
    }
    let Ok(number) = fs::read_to_string("/sys/class/zram-control/hot_add") else {
        skipped("this kernel has no zram");
        return None;
    };
    let number = number.trim();
    fs::write(format!("/sys/class/block/zram{number}/disksize"), format!("{mib}M")).unwrap();
    let undo = format!(
        "echo 1 > /sys/class/block/zram{number}/reset && echo {number} > \
         /sys/class/zram-control/hot_remove"
    );
    Some(TestDisk::new(
        &format!("/dev/zram{number}"),
        vec!["sh".to_owned(), "-c".to_owned(), undo],
        None,
    ))
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skipped_without_root("disks are made and traced by root only");
    }
    is_root
}

pub fn has(program: &str) -> bool {
    let found =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        skipped_without_root(format!("{program} is not installed"));
    }
    found.is_ok()
}

/// Runs a job, with direct I/O unless the arguments say otherwise, and returns its report.
pub fn fio(file: &str, arguments: &[&str]) -> serde_json::Value {
    let run = Command::new("fio")
        .args(["--name=job", "--direct=1", "--ioengine=libaio", "--output-format=json"])
        .arg(format!("--filename={file}"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

/// Returns a name that no other test uses.
pub fn instance() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", instance_name(std::process::id()), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Starts a watch in a process that aborts.
pub fn leave_instance(name: &str, disk: &TestDisk) -> ExitStatus {
    let disk = serde_json::to_string(&disk.disk).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_is_killed", "--ignored"])
        .env(CHILD, format!("{name} {disk}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
}

pub fn left_by_child() -> Option<(String, Disk)> {
    let asked = std::env::var(CHILD).ok()?;
    let (name, disk) = asked.split_once(' ')?;
    Some((name.to_owned(), serde_json::from_str(disk).ok()?))
}

/// A filesystem that is unmounted on drop.
pub struct Mounted(tempfile::TempDir);

impl Mounted {
    pub fn btrfs_raid1(disks: &[TestDisk]) -> Self {
        let run = |program: &str, arguments: &[&str]| {
            let run = Command::new(program).args(arguments).output().unwrap();
            assert!(run.status.success(), "{program}: {}", String::from_utf8_lossy(&run.stderr));
        };
        let paths: Vec<&str> = disks.iter().map(|disk| disk.path.as_str()).collect();
        run(
            "mkfs.btrfs",
            &[&["--quiet", "--data", "raid1", "--metadata", "raid1"][..], &paths].concat(),
        );
        let folder = tempfile::tempdir().unwrap();
        let devices: Vec<String> = paths.iter().map(|path| format!("device={path}")).collect();
        run(
            "mount",
            &["-t", "btrfs", "-o", &devices.join(","), paths[0], folder.path().to_str().unwrap()],
        );
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status();
        assert!(
            unmounted.is_ok_and(|status| status.success()) || std::thread::panicking(),
            "umount"
        );
    }
}

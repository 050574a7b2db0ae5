//! Tests a host whose disk fills up while disks are prepared and while a trial runs. The run ends
//! with the cause, no trial is recorded as failed, and the remaining trials run once there is room.

use crate::place;
use crate::repeatable::{SUITE, trials};
use disklab_config::Trial;
use disklab_kernels::Cache;
use disklab_record::manifest::{self, Manifest};
use disklab_record::{Outcome, Record, Status};
use disklab_runner::Run;
use disklab_runner::{Executor, Installation, Timeouts};
use disklab_testkit::skipped_without_root;
use disklab_units::Bytes;
use libtest_mimic::Trial as Test;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("no_room_for_preparing", no_room_for_preparing),
        crate::test("a_disk_that_fills_up_in_preparing", a_disk_that_fills_up_in_preparing),
        crate::test("a_disk_that_fills_up_in_a_trial", a_disk_that_fills_up_in_a_trial),
    ]
}

static STOP: AtomicBool = AtomicBool::new(false);

/// A small filesystem with a cache on it.
struct Small {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Small {
    /// Mounts the filesystem. Returns None and prints the reason if only root could mount it.
    fn mount(size: Bytes) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("small");
        fs::create_dir(&root).unwrap();
        let size = format!("size={}", size.0);
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "none"])
            .arg(&root)
            .output()
            .unwrap();
        if !mounted.status.success() {
            skipped_without_root(
                "a full disk needs a small filesystem, and only root can mount one here",
            );
            return None;
        }
        Some(Self { _folder: folder, root })
    }

    fn cache(&self) -> Cache {
        Cache::in_folder(&self.root.join("cache")).unwrap()
    }

    /// Fills the filesystem, and leaves this many bytes free.
    fn fill(&self, free: Bytes) {
        let mut file =
            File::options().append(true).create(true).open(self.root.join("filler")).unwrap();
        for length in [1 << 20, 4096, 1] {
            let bytes = vec![1; length];
            let stat = || rustix::fs::statvfs(&self.root).unwrap();
            while stat().f_bavail * stat().f_frsize > free.0 && file.write_all(&bytes).is_ok() {}
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.root).status();
    }
}

/// Returns a trial of each named workload, on two hard disks.
fn of_workloads(workloads: &str) -> Vec<Trial> {
    let suite = SUITE.replace("seeds = 2", "seeds = 1").replace(", \"ssd-raid10\"", "");
    let suite = suite.replace(", \"round-robin:4k\"", "");
    trials(&suite.replace("\"read\", \"write\", \"buffered\"", workloads))
}

/// Returns the error that ended the run, and the recorded outcomes.
fn run(trials: &[Trial], cache: &Cache) -> (Option<String>, Vec<Outcome>) {
    let records = tempfile::tempdir().unwrap();
    let ids = trials.iter().map(|trial| trial.id.clone()).collect();
    let suite = manifest::Suite::new("suite", "", vec![]);
    let manifest = Manifest::new("test", "2026-01-01T00:00:00Z", suite, ids);
    let writer = Record::create(records.path(), "run", &manifest).unwrap();
    let run = Run {
        kernels: [("newest".to_owned(), place::kernel())].into(),
        installation: Installation::find().unwrap(),
        cache: cache.clone(),
        timeouts: Timeouts::default(),
        jobs: 1,
        trace: true,
        deadline: None,
        stop: &STOP,
    };
    let ended = run.run_trials(trials, &writer, &|_| ());
    let raw = fs::read_dir(writer.folder().join("raw")).unwrap().count();
    let lines = Record::open(writer.folder()).unwrap().lines().to_vec();
    assert_eq!(raw, lines.len(), "raw output without a line");
    assert!(ended.as_ref().err().is_none_or(disklab_runner::Error::is_of_all_trials));
    (ended.err().map(|error| error.to_string()), lines)
}

/// Returns the error of a run that recorded nothing.
fn reason((error, lines): (Option<String>, Vec<Outcome>)) -> String {
    assert_eq!(lines, []);
    error.unwrap()
}

/// The lack of room is detected beforehand, and reported with numbers.
fn no_room_for_preparing() {
    let Some(small) = Small::mount(Bytes::mib(4)) else { return };
    let reason = reason(run(&of_workloads("\"read\""), &small.cache()));
    assert!(reason.contains("preparing the disks of hdd-raid1 needs about"), "{reason}");
    assert!(reason.contains("and 4 MiB are free") && reason.contains("XDG_CACHE_HOME"), "{reason}");
}

/// The lack of room cannot be detected beforehand, since another program fills the disk.
fn a_disk_that_fills_up_in_preparing() {
    let Some(small) = Small::mount(Bytes::mib(256)) else { return };
    let cache = small.cache();
    // This is enough to begin with, and so little that filling it takes no time.
    small.fill(Bytes::mib(40));
    let over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) && !is_preparing(&cache.disks()) {
                std::thread::sleep(Duration::from_millis(1));
            }
            small.fill(Bytes(0));
        });
        let ended = run(&of_workloads("\"read\", \"write\""), &cache);
        over.store(true, Ordering::Relaxed);
        ended
    });
    let reason = reason(ended);
    assert!(
        reason.contains("No space left on device") && reason.contains("is full: free some space"),
        "{reason}"
    );
    // With room again, the disks are prepared, and remains of the first attempt do not count as
    // complete.
    fs::remove_file(small.root.join("filler")).unwrap();
    let (error, outcomes) = run(&of_workloads("\"read\""), &cache);
    assert_eq!((error, outcomes[0].status, &outcomes[0].reason), (None, Status::Ok, &None));
}

/// Returns true if a guest that prepares has its disks.
fn is_preparing(disks: &Path) -> bool {
    let scratch = fs::read_dir(disks).into_iter().flatten().flatten();
    scratch.into_iter().any(|folder| folder.path().join("disks/0.img").exists())
}

fn a_disk_that_fills_up_in_a_trial() {
    // The room is enough for the prepared disks, a copy, and the 64 MiB without which no copy is
    // made. The trial writes 256 MiB.
    let Some(small) = Small::mount(Bytes::mib(96)) else { return };
    let mut trials = of_workloads("\"write\", \"read\"");
    for trial in &mut trials {
        trial.runtime = disklab_units::Nanos::from_secs(60);
    }
    trials[0].workload.fio_mut().unwrap().jobs[0].bs = Bytes::mib(1);
    let reason = reason(run(&trials, &small.cache()));
    assert!(reason.contains(".img") && reason.contains("No space left on device"), "{reason}");
    // A trial that needs less than the filesystem has runs.
    let (error, outcomes) = run(&trials[1..], &small.cache());
    assert_eq!((error, outcomes[0].status, &outcomes[0].reason), (None, Status::Ok, &None));
}

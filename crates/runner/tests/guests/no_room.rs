//! The host's disk fills up while disks are prepared and while a trial runs: that costs these
//! trials, with the cause, and no others.

use crate::place;
use crate::repeatable::{SUITE, trials};
use disklab_config::Trial;
use disklab_kernels::Cache;
use disklab_record::manifest::{self, Manifest};
use disklab_record::outcome::Fault;
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

/// A small filesystem of its own, with a cache on it.
struct Small {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Small {
    /// None, after saying why, where only root could mount it.
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

    /// Leaves so much free.
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

/// One trial of each named workload, on two hard disks.
fn of_workloads(workloads: &str) -> Vec<Trial> {
    let suite = SUITE.replace("seeds = 2", "seeds = 1").replace(", \"ssd-raid10\"", "");
    let suite = suite.replace(", \"round-robin:4k\"", "");
    trials(&suite.replace("\"read\", \"write\", \"buffered\"", workloads))
}

fn run(trials: &[Trial], cache: &Cache) -> Vec<Outcome> {
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
    run.run_trials(trials, &writer, &|_| ()).unwrap();
    Record::open(writer.folder()).unwrap().lines().to_vec()
}

fn reason(outcome: &Outcome) -> &str {
    assert_eq!(outcome.status, Status::Failed, "{outcome:?}");
    outcome.reason.as_deref().unwrap()
}

/// Seen beforehand, and said with numbers.
fn no_room_for_preparing() {
    let Some(small) = Small::mount(Bytes::mib(4)) else { return };
    let outcomes = run(&of_workloads("\"read\""), &small.cache());
    let reason = reason(&outcomes[0]);
    assert!(reason.contains("preparing the disks of hdd-raid1 needs about"), "{reason}");
    assert!(
        reason.contains("and there are 4 MiB") && reason.contains("XDG_CACHE_HOME"),
        "{reason}"
    );
}

/// Not to be seen beforehand: somebody else fills it.
fn a_disk_that_fills_up_in_preparing() {
    let Some(small) = Small::mount(Bytes::mib(256)) else { return };
    let cache = small.cache();
    // Enough to begin with, and so little that filling it takes no time.
    small.fill(Bytes::mib(40));
    let over = AtomicBool::new(false);
    let outcomes = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) && !is_preparing(&cache.disks()) {
                std::thread::sleep(Duration::from_millis(1));
            }
            small.fill(Bytes(0));
        });
        let outcomes = run(&of_workloads("\"read\", \"write\""), &cache);
        over.store(true, Ordering::Relaxed);
        outcomes
    });
    assert_eq!(outcomes.len(), 2);
    for outcome in &outcomes {
        assert!(reason(outcome).contains("No space left on device"), "{outcome:?}");
    }
    // With room again they are prepared, and nothing of the first try is taken for whole.
    fs::remove_file(small.root.join("filler")).unwrap();
    let outcomes = run(&of_workloads("\"read\""), &cache);
    assert_eq!((outcomes[0].status, &outcomes[0].reason), (Status::Ok, &None));
}

/// Whether a guest that prepares has its disks.
fn is_preparing(disks: &Path) -> bool {
    let scratch = fs::read_dir(disks).into_iter().flatten().flatten();
    scratch.into_iter().any(|folder| folder.path().join("disks/0.img").exists())
}

fn a_disk_that_fills_up_in_a_trial() {
    // The prepared disks, a copy of them, and the 64 MiB without which no copy is made; the trial
    // writes 256.
    let Some(small) = Small::mount(Bytes::mib(96)) else { return };
    let mut trials = of_workloads("\"write\", \"read\"");
    for trial in &mut trials {
        trial.runtime = disklab_units::Nanos::from_secs(60);
    }
    trials[0].workload.fio_mut().unwrap().jobs[0].bs = Bytes::mib(1);
    let outcomes = run(&trials, &small.cache());
    let reason = reason(&outcomes[0]);
    assert!(reason.contains(".img") && reason.contains("No space left on device"), "{reason}");
    assert_eq!(outcomes[0].fault, Some(Fault::Machine));
    assert!(outcomes[0].virtual_ns.is_some(), "its clock had moved");
    assert_eq!(
        (outcomes[1].status, &outcomes[1].reason),
        (Status::Ok, &None),
        "the next one has room"
    );
}

//! Tests that the same suite, seed and kernel give the same bytes, for any number of guests at a
//! time and any other load.

use crate::place::{self, has_policy};
use disklab_config::read::TomlReader;
use disklab_config::{Lab, Suite, Trial};
use disklab_kernels::{Cache, Kernel};
use disklab_record::manifest::{self, Manifest};
use disklab_record::{Record, compare};
use disklab_runner::{Executor, Installation, Timeouts};
use disklab_runner::{Run, Summary};
use disklab_trace::TraceEntry;
use libtest_mimic::Trial as Test;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("two_runs_are_equal", two_runs_are_equal),
        crate::test("seeds_are_repeats_not_copies", seeds_are_repeats_not_copies),
        crate::test("two_runs_share_a_cache", two_runs_share_a_cache),
        crate::test("damaged_disks_are_made_again", damaged_disks_are_made_again),
        crate::test(
            "a_large_test_file_is_small_on_the_host",
            a_large_test_file_is_small_on_the_host,
        ),
    ]
}

static STOP: AtomicBool = AtomicBool::new(false);

/// The lab's own arrays with a small file: every family of disks, and three kinds of load.
pub const SUITE: &str = r#"
question = "Is it the same again?"
seeds = 2
memory = "256 MiB"
runtime = { rotational = "3s", solid_state = "10ms" }
kernel = "newest"
[axes]
array = ["hdd-raid1", "ssd-raid10"]
workload = ["read", "write", "buffered"]
policy = ["pid", "round-robin:4k"]
"#;
const READ: &str = r#"
summary = "random reads"
rw = "randread"
bs = "4k"
filesize = "128 MiB"
ioengine = "libaio"
iodepth = 8
direct = true
norandommap = true
"#;
const WRITE: &str = r#"
summary = "reads and writes, through io_uring"
rw = "randrw"
bs = "16k"
filesize = "128 MiB"
ioengine = "io_uring"
iodepth = 4
direct = true
refill_buffers = true
"#;

const BUFFERED: &str = r#"
summary = "reads and writes through the page cache, from several threads"
rw = "randrw"
bs = "8k"
filesize = "128 MiB"
ioengine = "io_uring"
iodepth = 4
numjobs = 4
"#;

/// Returns the trials of a suite on this repository's lab with three additional workloads.
pub fn trials(suite: &str) -> Vec<Trial> {
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    for (name, text) in [("read", READ), ("write", WRITE), ("buffered", BUFFERED)] {
        let workload = TomlReader::new(name, text)
            .read(|table| disklab_config::Workload::read(name, table))
            .unwrap();
        lab.workloads.insert(name.to_owned(), workload);
    }
    trials_of(suite, &lab)
}

/// On a kernel without `round-robin`, such as 6.12, disklab's `latency-rr` takes its place.
pub fn trials_of(suite: &str, lab: &Lab) -> Vec<Trial> {
    let mut suite = suite.to_owned();
    if !has_policy(&place::kernel(), "round-robin") {
        suite = suite.replace("round-robin:4k", "latency-rr").replace("round-robin", "latency-rr");
    }
    let suite = TomlReader::new("suite", &suite).read(|table| Suite::read("suite", table)).unwrap();
    suite.trials(lab).unwrap()
}

pub fn run(trials: &[Trial], records: &Path, jobs: usize) -> PathBuf {
    run_with(&Installation::find().unwrap(), &place::cache(), trials, records, jobs)
}

fn run_with(
    installation: &Installation,
    cache: &Cache,
    trials: &[Trial],
    records: &Path,
    jobs: usize,
) -> PathBuf {
    run_on(place::kernel(), installation, cache, trials, records, jobs)
}

pub fn run_on(
    kernel: Kernel,
    installation: &Installation,
    cache: &Cache,
    trials: &[Trial],
    records: &Path,
    jobs: usize,
) -> PathBuf {
    let (summary, folder) = summary_on(kernel, installation, cache, trials, records, jobs);
    let record = Record::open(&folder).unwrap();
    let reasons: Vec<_> = record.lines().iter().filter_map(|line| line.reason.as_ref()).collect();
    assert_eq!(summary, Summary { ok: trials.len(), ..Summary::default() }, "{reasons:?}");
    folder
}

/// Returns a summary, for trials of any status.
pub fn summary_on(
    kernel: Kernel,
    installation: &Installation,
    cache: &Cache,
    trials: &[Trial],
    records: &Path,
    jobs: usize,
) -> (Summary, PathBuf) {
    let ids = trials.iter().map(|trial| trial.id.clone()).collect();
    let manifest = Manifest::new(
        "test",
        "2026-01-01T00:00:00Z",
        manifest::Suite::new("suite", "", vec![]),
        ids,
    );
    let writer = Record::create(records, "run", &manifest).unwrap();
    let run = Run {
        kernels: [("newest".to_owned(), kernel)].into(),
        installation: installation.clone(),
        cache: cache.clone(),
        timeouts: Timeouts::default(),
        jobs,
        trace: true,
        deadline: None,
        stop: &STOP,
    };
    let summary = run.run_trials(trials, &writer, &|_| ()).unwrap();
    let folder = writer.folder().to_owned();
    (summary, folder)
}

fn two_runs_are_equal() {
    let (short, long) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let trials = trials(SUITE);
    assert_eq!(trials.len(), 24);
    let first = run(&trials, short.path(), 1);
    // The second run is in a place with a long name, with another cache and another copy of the
    // program, two trials at a time, on a loaded machine.
    let place = long
        .path()
        .join("a/folder/somewhere/else/with/a/name/that/is/quite/a/bit/longer/than/the/other/one");
    let cache = Cache::in_folder(&place.join("cache")).unwrap();
    let mut installation = Installation::find().unwrap();
    let copy = place.join("program");
    std::fs::copy(&installation.init, &copy).unwrap();
    installation.init = copy;
    let load = AtomicBool::new(true);
    let second = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while load.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let second = run_with(&installation, &cache, &trials, &place, 2);
        load.store(false, Ordering::Relaxed);
        second
    });
    let differences: Vec<String> =
        compare(&first, &second).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(differences, Vec::<String>::new());
    let copies = std::fs::read_dir(cache.root().join("trials")).unwrap();
    assert_eq!(copies.count(), 0, "copies of disks are left");
}

/// Distinct seeds request distinct blocks on any disks. With `pid`, they also differ in the mirror
/// that they load.
fn seeds_are_repeats_not_copies() {
    let records = tempfile::tempdir().unwrap();
    let suite = SUITE.replace("seeds = 2", "seeds = 4").replace(", \"write\", \"buffered\"", "");
    let trials = trials(&suite.replace(", \"round-robin:4k\"", ""));
    let record = Record::open(&run(&trials, records.path(), 2)).unwrap();
    for array in ["hdd-raid1", "ssd-raid10"] {
        let lines = record.lines().iter().filter(|line| line.cell.value("array") == Some(array));
        let mut busiest = BTreeSet::new();
        let mut blocks: Vec<BTreeSet<u64>> = Vec::new();
        for line in lines {
            blocks.push(blocks_of(&record.raw(line).unwrap()));
            let devices = &line.sample.as_ref().unwrap().devices;
            busiest.insert(devices[0].reads > devices[1].reads);
        }
        assert_eq!(blocks.len(), 4);
        for (i, one) in blocks.iter().enumerate() {
            for other in &blocks[i + 1..] {
                let common = one.intersection(other).count();
                assert!(
                    common < one.len() / 4,
                    "{array}: {common} of {} blocks are the same",
                    one.len()
                );
            }
        }
        assert_eq!(busiest.len(), 2, "{array}: with pid, no seed of four chose the other mirror");
    }
}

/// Returns the first hundred blocks that are read in the measured phase, by their positions on the
/// disks.
fn blocks_of(raw: &Path) -> BTreeSet<u64> {
    let entries = place::entries(raw);
    let begin = entries.iter().find_map(|entry| match entry {
        TraceEntry::Mark { at, text } if text.starts_with("begin") => Some(*at),
        _ => None,
    });
    let mut reads: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry {
            TraceEntry::Served(served) if Some(served.submitted) > begin => {
                Some((served.submitted, served.sector))
            }
            _ => None,
        })
        .collect();
    reads.sort_unstable();
    reads.into_iter().map(|(_, sector)| sector).take(100).collect()
}

/// Both runs need the same disks, which are not prepared yet.
fn two_runs_share_a_cache() {
    let suite = SUITE.replace("seeds = 2", "seeds = 1").replace("\"hdd-raid1\", ", "");
    let mut trials = trials(&suite.replace(", \"write\", \"buffered\"", ""));
    for trial in &mut trials {
        // No other test prepares this size.
        trial.workload.fio_mut().unwrap().file_size.0 += 4096;
    }
    let records = tempfile::tempdir().unwrap();
    let folders: Vec<PathBuf> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2)
            .map(|i| {
                let (trials, place) = (&trials, records.path().join(i.to_string()));
                scope.spawn(move || run(trials, &place, 1))
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert!(compare(&folders[0], &folders[1]).unwrap().is_empty());
}

/// A changed byte of a prepared disk is detected, and the same disks are made again.
fn damaged_disks_are_made_again() {
    use std::os::unix::fs::FileExt;
    let records = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(&records.path().join("cache")).unwrap();
    let installation = Installation::find().unwrap();
    let mut trials = trials(&SUITE.replace("seeds = 2", "seeds = 1"));
    trials.truncate(1);
    let run = || run_with(&installation, &cache, &trials, records.path(), 1);
    let first = run();
    let folder = std::fs::read_dir(cache.disks())
        .unwrap()
        .flatten()
        .find(|entry| entry.path().is_dir())
        .unwrap();
    let disk = std::fs::File::options().write(true).open(folder.path().join("1.img")).unwrap();
    disk.write_all_at(&[0x5a], 64 << 10).unwrap();
    drop(disk);
    let second = run();
    assert!(compare(&first, &second).unwrap().is_empty());
    let disk = std::fs::File::open(folder.path().join("1.img")).unwrap();
    let mut byte = [0];
    disk.read_exact_at(&mut byte, 64 << 10).unwrap();
    assert_ne!(byte, [0x5a], "the damaged disk is still there");
}

/// The file resembles the suites' 50 GiB: zeroes are holes, and only btrfs's checksums take room.
fn a_large_test_file_is_small_on_the_host() {
    use std::os::unix::fs::MetadataExt;
    let mut trials =
        trials(&SUITE.replace("seeds = 2", "seeds = 1").replace(", \"write\", \"buffered\"", ""));
    trials.truncate(1);
    trials[0].workload.fio_mut().unwrap().file_size = disklab_units::Bytes::gib(8);
    let before = disks();
    run(&trials, tempfile::tempdir().unwrap().path(), 1);
    let mut room = 0;
    for folder in disks().difference(&before) {
        for file in std::fs::read_dir(folder).unwrap().flatten() {
            room += file.metadata().unwrap().blocks() * 512;
        }
    }
    // 8 GiB have 8 MiB of checksums on each of two disks; at 1 GiB for 50 they would have 160 MiB.
    assert!(room < 160 << 20, "{} MiB", room >> 20);
}

fn disks() -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(place::cache().disks()).unwrap().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

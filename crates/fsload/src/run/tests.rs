use super::*;
use crate::layout;
use crate::shared::Surroundings;
use disklab_config::Workload;
use disklab_config::fsload::Fsload;
use disklab_config::read::TomlReader;
use disklab_units::Seed;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Returns a load with one set of this kind, and threads of this loop.
pub fn load(files: &str, steps: &str) -> Fsload {
    let text = format!(
        "summary = \"?\"\n[fsload]\n[[fsload.files]]\nname = \"files\"\n{files}\n\
         [[fsload.threads]]\nname = \"threads\"\ncount = 4\nidle = \"1ms\"\nloop = [{steps}]\n"
    );
    let read = |table: &disklab_config::read::TomlTable| Workload::read("w", table);
    TomlReader::new("w", &text).read(read).unwrap().file_load().unwrap().clone()
}

const MAIL: &str = "\"delete\", \"create\", \"append 1 B to 16 KiB\", \"fsync\", \"close\", \
    \"open\", \"read whole\", \
                    \"append 1 B to 16 KiB\", \"fsync\", \"close\", \"stat\", \"list\", \"open\", \
                    \"write whole\", \"close\", \
                    \"replace\", \"open\", \"read 4 KiB\", \"close\"";
const FILES: &str = "count = 60\nwidth = 7\nthere = 80\nsize = \"gamma 1.5, mean 8 KiB\"";

/// Remembers the last number that was promised.
#[derive(Default)]
struct Witness(AtomicU64);

impl Surroundings for Witness {
    fn notes_promises(&self) -> bool {
        true
    }

    fn promised(&self, number: u64) -> Result<(), Failure> {
        self.0.fetch_max(number, Ordering::Relaxed);
        Ok(())
    }
}

fn done(load: &Fsload, surroundings: &dyn Surroundings) -> (tempfile::TempDir, LoadDone) {
    done_within(Duration::from_millis(200), load, surroundings)
}

fn done_within(
    length: Duration,
    load: &Fsload,
    surroundings: &dyn Surroundings,
) -> (tempfile::TempDir, LoadDone) {
    let folder = tempfile::tempdir().unwrap();
    layout::lay_out(load, folder.path()).unwrap();
    let ramp = Duration::from_millis(20);
    let stop = AtomicBool::new(false);
    let it = LoadRun {
        load,
        root: folder.path(),
        seed: Seed(9),
        ramp,
        length,
        stop: &stop,
        surroundings,
    };
    let done = run(&it).unwrap();
    (folder, done)
}

struct Nothing;

impl Surroundings for Nothing {}

/// Returns the path of a file that is not empty.
fn some_file(folder: &Path) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.metadata().unwrap().len() > 100 {
                return entry.path();
            }
        }
    }
    panic!("no file holds anything")
}

#[test]
fn every_operation_is_done_and_accounted_for() {
    let expected: Vec<&str> = Operation::ALL
        .iter()
        .map(|operation| operation.as_str())
        .filter(|name| *name != "make folder")
        .collect();
    // An fsync on this machine's disk takes longer if other programs use the disk: a loop needs
    // several.
    let tries = [200, 2000, 20_000].map(Duration::from_millis);
    let mut names: Vec<String> = Vec::new();
    let runs = tries.into_iter().map(|length| done_within(length, &load(FILES, MAIL), &Nothing));
    let run = runs.into_iter().find(|(_, done)| {
        names = done.report.operations.iter().map(|each| each.name.clone()).collect();
        names == expected
    });
    let Some((folder, done)) = run else { panic!("{names:?} are not all of {expected:?}") };
    let checked = done.check(folder.path()).unwrap();
    let all = &done.report.files[0];
    assert_eq!((checked.files, checked.bytes), (all.count, all.bytes));
    for each in &done.report.operations {
        assert!(
            each.count > 0 && each.p50_ns <= each.p99_ns && each.p99_ns <= each.max_ns,
            "{each:?}"
        );
        assert!(each.mean_ns > 0.0 && each.mean_ns <= each.max_ns as f64, "{each:?}");
    }
    assert!(done.report.threads[0].loops > 0);
}

#[test]
fn planted_faults_are_found() {
    let (folder, done) = done(&load(FILES, MAIL), &Nothing);
    let check = || done.check(folder.path()).unwrap_err();
    let path = some_file(folder.path());
    let held = fs::read(&path).unwrap();
    let mut other = held.clone();
    other[77] ^= 1;
    fs::write(&path, other).unwrap();
    assert!(check().contains("other bytes than were written, from 77 on"), "{}", check());
    fs::write(&path, &held[..99]).unwrap();
    assert!(check().contains("it has 99 bytes instead of"), "{}", check());
    fs::remove_file(&path).unwrap();
    assert!(
        check().contains("1 are not what was written") && check().contains("No such file"),
        "{}",
        check()
    );
    fs::write(&path, &held).unwrap();
    done.check(folder.path()).unwrap();
    fs::write(folder.path().join("files/extra"), "").unwrap();
    assert!(check().contains("files exist, and the load made"), "{}", check());
}

#[test]
fn what_was_fsynced_is_there_and_begins_so() {
    let (load, witness) = (load(FILES, MAIL), Witness::default());
    let (folder, done) = done(&load, &witness);
    let notes = &done.report.notes;
    let last = witness.0.load(Ordering::Relaxed);
    assert_eq!(last, notes.len() as u64);
    let promises = crate::promises::promised(&load, Seed(9), notes, last);
    assert!(!promises.is_empty());
    crate::promises::look(folder.path(), &promises).unwrap();
    fs::write(folder.path().join(&promises[0].path), "").unwrap();
    assert!(crate::promises::look(folder.path(), &promises).unwrap_err().contains("1 are lost"));
    assert!(crate::promises::promised(&load, Seed(9), notes, 0).is_empty());
}

#[test]
fn folders_are_made_filled_and_read() {
    let steps =
        "\"make folder\", \"replace 1 to 10\", \"enter folder\", \"read all\", \"replace any\"";
    let (folder, done) = done(&load("per_folder = 10\nsize = \"1 B to 3 KiB\"", steps), &Nothing);
    let checked = done.check(folder.path()).unwrap();
    let made = done.report.operations.iter().find(|each| each.name == "make folder").unwrap().count;
    assert!(checked.files > made, "{checked:?}");
    assert!(done.report.operations.iter().any(|each| each.name == "read whole"));
}

#[test]
fn what_cannot_be_done_ends_the_run_with_its_reason() {
    let load = load("count = 10\nsize = \"1 KiB\"", "\"open\", \"read whole\", \"close\"");
    let folder = tempfile::tempdir().unwrap();
    let it = LoadRun {
        load: &load,
        root: folder.path(),
        seed: Seed(1),
        ramp: Duration::ZERO,
        length: Duration::from_secs(60),
        stop: &AtomicBool::new(false),
        surroundings: &Nothing,
    };
    let error = run(&it).unwrap_err();
    assert!(
        error.starts_with("fsload: open files/0000000") && error.contains("No such file"),
        "{error}"
    );
}

#[test]
fn it_ends_when_it_is_told_to() {
    let load = load("count = 10\nsize = \"1 KiB\"", "\"open\", \"read whole\", \"close\"");
    let folder = tempfile::tempdir().unwrap();
    layout::lay_out(&load, folder.path()).unwrap();
    let stop = AtomicBool::new(false);
    let it = LoadRun {
        load: &load,
        root: folder.path(),
        seed: Seed(1),
        ramp: Duration::ZERO,
        length: Duration::from_secs(600),
        stop: &stop,
        surroundings: &Nothing,
    };
    let begun = Instant::now();
    let done = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&it));
        std::thread::sleep(Duration::from_millis(50));
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap().unwrap()
    });
    assert!(begun.elapsed() < Duration::from_secs(300) && done.report.threads[0].loops > 0);
    done.check(folder.path()).unwrap();
}

#[test]
fn a_loop_with_nothing_to_do_waits() {
    let (_folder, done) =
        done(&load("count = 10\nsize = \"1 KiB\"", "\"create\", \"close\""), &Nothing);
    let threads = &done.report.threads[0];
    assert_eq!(threads.loops, 0);
    assert!((4..2000).contains(&threads.idle), "{threads:?}");
}

//! Tests that no trial is lost, and none counts twice, if a writer is killed with `kill -9` at any
//! moment and the record is resumed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use disklab_record::{Manifest, Record, Retry, Status};
use tempfile::tempdir;

use crate::{manifest, names, run};

const FOLDER: &str = "DISKLAB_TEST_KILLED";
const TRIALS: usize = 300;

fn many() -> Manifest {
    let trials: Vec<String> = (0..TRIALS).map(|trial| format!("t{trial}")).collect();
    manifest(&trials.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Resumes the record in a process of its own and kills that after a while. Returns whether it had
/// finished.
fn run_and_kill(folder: &Path, after: Duration) -> bool {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "killed::child", "--include-ignored"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("this test again");
    thread::sleep(after);
    child.kill().expect("its own child");
    child.wait().expect("its own child").success()
}

#[test]
fn no_trial_is_lost_or_counted_twice() {
    let folder = tempdir().expect("a folder");
    drop(Record::create(folder.path(), "quick", &many()).expect("a record"));
    let quick = folder.path().join("quick");
    let mut killed = 0;
    // The time grows, so that the test ends on the slowest machine.
    while !run_and_kill(&quick, Duration::from_millis(3 + killed)) {
        killed += 1;
        let record = Record::open(&quick).expect("readable after every crash");
        let recorded: BTreeSet<_> =
            record.lines().iter().map(|outcome| outcome.trial.as_str()).collect();
        assert_eq!(recorded.len(), record.lines().len(), "a trial was recorded twice");
        for outcome in record.lines() {
            let raw = record.raw(outcome).expect("every trial left output");
            assert_eq!(
                fs::read_to_string(raw.join("fio.json")).expect("whole output"),
                outcome.trial
            );
        }
    }
    assert!(killed > 0, "nothing was put to the test");
    let record = Record::open(&quick).expect("a record");
    assert!(record.outcomes().iter().all(|(_, outcome)| outcome.is_some()));
    assert_eq!(record.lines().len(), TRIALS);
    assert_eq!(names(&quick.join("raw")).len(), TRIALS);
}

#[test]
#[ignore = "runs in a process of its own, started by the test above"]
fn child() {
    let folder = std::env::var_os(FOLDER).expect("the folder of the test above");
    let (writer, _) =
        Record::resume(Path::new(&folder), &many(), Retry::Nothing).expect("a record to continue");
    for trial in writer.remaining() {
        run(&writer, &trial, Status::Ok, &trial);
    }
}

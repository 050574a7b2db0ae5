//! Tests a disk that fills up while trials are recorded.
//!
//! There are two ways to make one, neither of which needs root: a limit on the size of files, and a
//! small tmpfs in namespaces of its own. At the limit the write stops halfway, as on a full disk,
//! with another errno. Each way runs [`child`] in a process of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use disklab_record::{Record, RecordError, RecordWriter, Retry, Status};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::tempdir;

use crate::{manifest, outcome};

const FOLDER: &str = "DISKLAB_TEST_FULL_DISK";
const LIMIT: u64 = 20_000;

/// Runs `script`, which is to end in `"$@"`, with this test binary's `child` as its arguments.
fn run_child(program: &str, arguments: &[&str], script: &str, folder: &Path) -> Output {
    Command::new(program)
        .args(arguments)
        .args(["sh", "-c", script, "sh"])
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "full_disk::child", "--include-ignored", "--nocapture"])
        .env(FOLDER, folder)
        .output()
        .expect("a shell")
}

fn assert_passed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_write_that_stops_halfway() {
    let folder = tempdir().expect("a folder");
    // A process that does not ignore the signal is killed instead of getting an error.
    assert_passed(&run_child("env", &[], "trap '' XFSZ; exec \"$@\"", folder.path()));
}

#[test]
fn a_disk_without_space() {
    let folder = tempdir().expect("a folder");
    let mount = "mount -t tmpfs -o size=64k none \"$DISKLAB_TEST_FULL_DISK\" || exit 77; ";
    let unshare = ["--user", "--map-root-user", "--mount"];
    let output = run_child("unshare", &unshare, &(mount.to_owned() + "exec \"$@\""), folder.path());
    let passed_or_failed = String::from_utf8_lossy(&output.stdout).contains("test result");
    if !passed_or_failed {
        let reason = String::from_utf8_lossy(&output.stderr);
        disklab_testkit::skipped(format!("no namespaces for a small disk here: {}", reason.trim()));
        return;
    }
    assert_passed(&output);
}

/// The way in which space is freed again.
enum Full {
    ByLimit(Rlimit),
    ByBallast,
}

impl Full {
    fn make(folder: &Path) -> Self {
        let size = rustix::fs::statvfs(folder).expect("a file system").f_blocks;
        if size > 1000 {
            let before = getrlimit(Resource::Fsize);
            setrlimit(Resource::Fsize, Rlimit { current: Some(LIMIT), ..before }).expect("a limit");
            return Self::ByLimit(before);
        }
        fs::write(folder.join("ballast"), vec![1; 20_000]).expect("room for ballast");
        Self::ByBallast
    }

    fn make_room(self, folder: &Path) {
        match self {
            Self::ByLimit(before) => setrlimit(Resource::Fsize, before).expect("the old limit"),
            Self::ByBallast => fs::remove_file(folder.join("ballast")).expect("the ballast"),
        }
    }
}

/// Records trials until one does not fit; returns the error and the number of trials that did.
fn fill(writer: &RecordWriter) -> (usize, RecordError) {
    for (kept, trial) in writer.remaining().into_iter().enumerate() {
        let mut failed = outcome(&trial, Status::Failed);
        failed.reason = Some("long ".repeat(200));
        if let Err(error) = writer.note(failed) {
            return (kept, error);
        }
    }
    panic!("the disk did not fill up");
}

#[test]
#[ignore = "runs in a process of its own, started by the tests above"]
fn child() {
    let folder = std::env::var_os(FOLDER).expect("the folder of the test above");
    let folder = Path::new(&folder);
    let trials: Vec<String> = (0..100).map(|trial| format!("t{trial}")).collect();
    let manifest = manifest(&trials.iter().map(String::as_str).collect::<Vec<_>>());
    let writer = Record::create(folder, "quick", &manifest).expect("a record");
    let full = Full::make(folder);
    let by_ballast = matches!(full, Full::ByBallast);

    let (kept, error) = fill(&writer);
    assert!(kept > 5, "{kept}: {error}");
    let text = error.to_string();
    assert!(text.contains(&format!("cannot record trial t{kept}")), "{text}");
    assert!(text.contains(&format!("the {kept} trials recorded before it are kept")), "{text}");
    assert_eq!(text.contains("free some space"), by_ballast, "{text}");
    let record = Record::open(writer.folder()).expect("a record");
    assert_eq!((record.lines().len(), record.torn_bytes()), (kept, 0), "half a line was left");

    full.make_room(folder);
    writer.note(outcome(&trials[kept], Status::Ok)).expect("there is room again");
    let quick = writer.folder().to_owned();
    drop(writer);
    let (writer, tidied) =
        Record::resume(&quick, &manifest, Retry::Nothing).expect("a sound record");
    assert_eq!((writer.remaining().len(), tidied.torn_bytes), (100 - kept - 1, 0));
}

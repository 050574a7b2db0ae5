//! Tests `trace` on records made here.

use std::fs;

use crate::input::refused;
use crate::{fixture, run};

const TRIAL: &str = "hdd-raid1+randread-4k-qd1+pid+s1";

const CSV: &str = "disk,op,fua,sector,sectors,submitted_ns,started_ns,ended_ns,mark,depth\n\
                   ,mark,,,,5,,,begin measure 0,\n\
                   vda,read,0,64,8,10,11,100,,1\n\
                   vdb,read,0,0,8,110,111,200,,1\n";

#[test]
fn requests_are_csv_unless_told_otherwise() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let csv = run(here.path(), &["trace", fixture::NAME, TRIAL]);
    assert_eq!((csv.status, csv.out.as_str(), csv.err.as_str()), (Some(0), CSV, ""));
    let blkparse = run(here.path(), &["trace", fixture::NAME, TRIAL, "--format", "blkparse"]);
    let last = "254,1    0        3     0.000000200     0  C   R 0 + 8 [0]\n";
    assert!(blkparse.out.ends_with(last) && blkparse.out.lines().count() == 7, "{}", blkparse.out);
}

#[test]
fn a_file_is_there_once_it_is_whole_and_nobodys_is_replaced() {
    let here = tempfile::tempdir().expect("a folder");
    let raw = fixture::small_record(here.path(), "a", 0).join("raw").join(TRIAL);
    let mine = here.path().join("mine.csv");
    fs::write(&mine, "mine").expect("room");
    let said = refused(run(here.path(), &["trace", "a", TRIAL, "-o", "mine.csv"]));
    assert!(said.contains("mine.csv exists already"), "{said}");
    assert_eq!(fs::read_to_string(&mine).expect("a file"), "mine");
    let done = run(here.path(), &["trace", "a", TRIAL, "-o", "requests.csv"]);
    assert_eq!((done.status, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_to_string(here.path().join("requests.csv")).expect("a file"), CSV);
    fs::write(raw.join(disklab_trace::PACKED), "no trace").expect("room");
    let done = run(here.path(), &["trace", "a", TRIAL, "-o", "others.csv"]);
    assert_eq!(done.status, Some(2));
    assert_eq!(
        fs::read_dir(here.path()).expect("a folder").count(),
        3,
        "nothing half-written is left"
    );
    let done = run(here.path(), &["trace", "a", TRIAL, "-o", "nowhere/requests.csv"]);
    assert_eq!(done.status, Some(5));
    assert!(done.err.contains("cannot write nowhere/requests.csv: "), "{}", done.err);
}

#[test]
fn of_a_damaged_trace_what_can_be_read_is_printed() {
    let here = tempfile::tempdir().expect("a folder");
    let raw = fixture::small_record(here.path(), "a", 0).join("raw").join(TRIAL);
    let path = raw.join(disklab_trace::PACKED);
    let whole: Vec<_> = disklab_trace::open(&path).expect("a trace").collect();
    assert_eq!(whole.len(), 3);
    let packed = fs::read(&path).expect("a trace");
    // The file lacks only the checksum at its end.
    fs::write(&path, &packed[..packed.len() - 8]).expect("room");
    let done = run(here.path(), &["trace", "a", TRIAL]);
    assert_eq!((done.status, done.out.as_str()), (Some(2), CSV));
    assert!(
        done.err.contains("requests.trace.gz was changed after it was recorded"),
        "{}",
        done.err
    );
    assert!(done.err.contains("the trace of requests cannot be read beyond byte "), "{}", done.err);
}

#[test]
fn a_trial_without_a_trace_says_so() {
    let here = tempfile::tempdir().expect("a folder");
    let folder = fixture::small_record(here.path(), "a", 0);
    fs::remove_file(folder.join("raw").join(TRIAL).join(disklab_trace::PACKED))
        .expect("it was there");
    let done = run(here.path(), &["trace", "a", TRIAL]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("requests.trace.gz was removed after the trial"), "{}", done.err);
    // The line of a trial without a trace has no digest of one.
    let path = folder.join("trials.jsonl");
    let line = fs::read_to_string(&path).expect("a line");
    let begin = line.find(",\"requests.trace.gz\"").expect("a digest");
    let length = line[begin..].find('}').expect("the end of the digests");
    let without = format!("{}{}", &line[..begin], &line[begin + length..]);
    fs::write(&path, without).expect("room");
    disklab_testkit::reseal(&folder);
    let done = run(here.path(), &["trace", "a", TRIAL]);
    assert_eq!(done.status, Some(2));
    assert!(
        done.err.contains(" has no trace of requests: ") && done.err.contains("--no-trace"),
        "{}",
        done.err
    );
}

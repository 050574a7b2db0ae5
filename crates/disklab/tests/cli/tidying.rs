//! Tests that `clean` removes the files that it names and no others.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::{disklab, fixture, json, run};

fn fill(here: &Path) {
    let cache = here.join("cache/disklab");
    for made in
        ["kernels/.tmp-dead", "kernels/7.3.4-abc", "disks/key", "sources/linux", "trials/1-dead"]
    {
        fs::create_dir_all(cache.join(made)).expect("a folder");
        fs::write(cache.join(made).join("file"), [7; 8192]).expect("room");
    }
    fs::write(cache.join("trials/1-dead/lock"), "").expect("room");
}

fn left(here: &Path) -> Vec<&'static str> {
    let all =
        ["kernels/.tmp-dead", "kernels/7.3.4-abc", "disks/key", "sources/linux", "trials/1-dead"];
    all.into_iter().filter(|made| here.join("cache/disklab").join(made).exists()).collect()
}

#[test]
fn without_a_word_only_leftovers_go() {
    let here = tempfile::tempdir().expect("a folder");
    fill(here.path());
    let clean = run(here.path(), &["clean"]);
    assert_eq!((clean.status, clean.err.as_str()), (Some(0), ""));
    assert_eq!(left(here.path()), ["kernels/7.3.4-abc", "disks/key", "sources/linux"]);
    assert!(clean.out.contains("kept") && clean.out.contains("7.3.4-abc"), "{}", clean.out);
}

#[test]
fn a_dry_run_removes_nothing() {
    let here = tempfile::tempdir().expect("a folder");
    fill(here.path());
    let clean = json(here.path(), &["clean", "--all", "--dry-run", "--json"]);
    assert_eq!(clean["removed"].as_array().map(Vec::len), Some(5));
    assert_eq!(left(here.path()).len(), 5);
}

#[test]
fn records_stay() {
    let here = tempfile::tempdir().expect("a folder");
    fill(here.path());
    let record = fixture::small_record(here.path(), "a", 7);
    assert_eq!(run(here.path(), &["clean", "--disks", "--sources"]).status, Some(0));
    assert_eq!(left(here.path()), ["kernels/7.3.4-abc"]);
    assert_eq!(run(here.path(), &["clean", "--all"]).status, Some(0));
    assert_eq!(left(here.path()), [""; 0]);
    assert!(record.join("manifest.toml").is_file());
}

/// A run looks up its kernels only when nobody may remove them any more.
#[test]
fn a_run_waits_for_a_clean_that_goes_on() {
    let here = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(here.path().join("cache/disklab")).expect("a folder");
    let lock = fs::File::create(here.path().join("cache/disklab/in-use")).expect("a file");
    flock(&lock, FlockOperation::LockExclusive).expect("a lock");
    let mut run =
        disklab(here.path()).args(["run", "smoke"]).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(run.try_wait().expect("a process"), None, "it looked for a kernel meanwhile");
    drop(lock);
    let ended = run.wait_with_output().expect("a process");
    let said = String::from_utf8(ended.stderr).expect("text");
    assert!(ended.status.code() == Some(5) && said.contains("kernel"), "{said}");
}

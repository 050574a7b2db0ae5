//! Tests `run --on host` with start-ups, players, snapshots and their replicas. The tests run as
//! root on loop devices, and partly as a user in a folder of their own.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use disklab_record::{Outcome, Status};
use disklab_results::Remark;
use disklab_testkit::skipped_without_root;

use crate::loops::{LoopDisk, loops};
use crate::on_host::{
    Mounted, devices, is_as_before, made_and_mounted, on_host, outcomes, schedulers, suite,
};
use crate::{Done, done, starting};

const FILM: &str = r#"summary = "a short film"
filesize = "8 MiB"
[player]
frames = 25
rate = "1 MB/s"
rw = "read"
bs = "64k"
ahead = "100ms"
"#;
const TWICE: &str = r#"summary = "two disks, and two for replicas"
join = "btrfs-raid1"
devices = ["constant-50us", "constant-50us"]
[replica]
join = "btrfs-raid1"
devices = ["constant-50us", "constant-50us"]
"#;
const REPLICATED: &str = r#"summary = "snapshots and replicas in a second"
lead = { rotational = "100ms", solid_state = "100ms" }
[snapshots]
every = "250ms"
keep = 20
replicate_every = "500ms"
"#;

fn measured(here: &Path, home: &Path, arguments: &[&str], record: &str) -> (Done, Vec<Outcome>) {
    let mut command = on_host(here, &[arguments, &["--out", record]].concat());
    let done = done(command.env("DISKLAB_HOME", home).output().expect("it starts"));
    assert!(here.join(record).exists(), "{}{}", done.out, done.err);
    (done, outcomes(&here.join(record)))
}

fn lab(here: &Path) -> std::path::PathBuf {
    let home = starting::home(here);
    for (place, text) in [
        ("workloads/film.toml", FILM),
        ("arrays/twice.toml", TWICE),
        ("backgrounds/replicated.toml", REPLICATED),
    ] {
        fs::write(home.join("lab").join(place), text).expect("a file");
    }
    let text =
        fs::read_to_string(home.join("lab/workloads/smoke-randread.toml")).expect("a workload");
    fs::write(home.join("lab/workloads/mixed.toml"), text.replace("randread", "randrw"))
        .expect("a file");
    home
}

/// Asserts that each kind of trial has its counts.
fn is_measured(outcomes: &[Outcome], what: &Done) {
    assert_eq!(outcomes.len(), 3, "{}{}", what.out, what.err);
    for outcome in outcomes {
        assert_eq!(outcome.status, Status::Ok, "{:?} {}{}", outcome.reason, what.out, what.err);
        let value = |name: &str| outcome.measures.get(name).map(|measure| measure.value);
        if outcome.trial.contains("film") {
            assert!(
                value("first frame").is_some_and(|value| value > 0.0)
                    && value("frames lost").is_some(),
                "{outcome:?}"
            );
        } else {
            assert!(value("start-up").is_some_and(|value| value > 0.0), "{outcome:?}");
        }
    }
}

#[test]
fn programs_start_and_films_play_on_disks_and_for_users_too() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 1) else { return };
    suite(here);
    let home = lab(here);
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    // A program of this machine, the replay of its record, and a film.
    let what = "workload=login-shell:program,login-shell,film";
    let asked =
        ["--devices", &names, "--allow", &allow, "--set", "array=constant-ext4", "--set", what];
    let (done, outcomes) = measured(here, &home, &asked, "a");
    is_measured(&outcomes, &done);
    is_as_before(here, &loops, &before);
    // The comparison of files with what was written must read the disk.
    for_a_user(here, &home, &loops[0], &format!("{what},varmail"));
}

fn for_a_user(here: &Path, home: &Path, disk: &LoopDisk, what: &str) {
    let pool = here.join("pool");
    let _mounted = users_pool(here, &pool, &["mkfs.ext4", "-q", "-F"], std::slice::from_ref(disk));
    let Some(done) =
        as_user(here, home, &["--at", &pool.display().to_string(), "--set", what, "--out", "u"])
    else {
        return;
    };
    let outcomes = outcomes(&here.join("u"));
    assert_eq!(outcomes.len(), 4, "{}{}", done.out, done.err);
    for outcome in outcomes {
        if outcome.trial.contains("film") {
            assert_eq!(outcome.status, Status::Ok, "{:?} {}{}", outcome.reason, done.out, done.err);
            let untraced = outcome.remarks.iter().any(|remark| {
                let Remark::NoTrace { why } = remark else { return false };
                why.contains("only root")
            });
            assert!(untraced, "{:?}", outcome.remarks);
        } else {
            assert_eq!(outcome.status, Status::Skipped, "{:?}", outcome.reason);
            assert!(outcome.reason.is_some_and(|why| why.contains("only root may drop")));
        }
    }
}

/// Makes a filesystem on these disks with a folder for a user.
fn users_pool<'a>(here: &Path, pool: &'a Path, mkfs: &[&str], disks: &[LoopDisk]) -> Mounted<'a> {
    let mounted = made_and_mounted(mkfs, disks, pool);
    let nobody = Some(65534);
    for folder in [here, pool] {
        std::os::unix::fs::chown(folder, nobody, nobody).expect("chown");
    }
    let _ = fs::remove_dir_all(here.join("state"));
    mounted
}

/// Runs as a user. Returns None and prints the reason if users cannot make namespaces.
fn as_user(here: &Path, home: &Path, arguments: &[&str]) -> Option<Done> {
    let mut command = on_host(here, arguments);
    let done =
        done(command.env("DISKLAB_HOME", home).uid(65534).gid(65534).output().expect("it starts"));
    if done.err.contains("does not let users create namespaces") {
        skipped_without_root(format!("as a user: {}", done.err));
        return None;
    }
    Some(done)
}

/// The kernel names the disks of a filesystem to a user who may not read them.
#[test]
fn a_users_btrfs_is_seen_with_all_its_disks() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 2) else { return };
    suite(here);
    let pool = here.join("pool");
    let mkfs = ["mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1"];
    let _mounted = users_pool(here, &pool, &mkfs, &loops);
    let home = Path::new(crate::HOME);
    let Some(done) = as_user(here, home, &["--at", &pool.display().to_string(), "--out", "u"])
    else {
        return;
    };
    let outcome = outcomes(&here.join("u")).remove(0);
    assert_eq!(outcome.status, Status::Ok, "{:?} {}{}", outcome.reason, done.out, done.err);
    let names: Vec<String> = outcome
        .sample
        .iter()
        .flat_map(|sample| &sample.devices)
        .map(|device| device.name.clone())
        .collect();
    let mut disks: Vec<String> = loops.iter().map(LoopDisk::name).collect();
    disks.sort();
    assert_eq!(names, disks);
}

#[test]
fn snapshots_are_taken_and_sent_to_a_replica() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 4) else { return };
    suite(here);
    let text = fs::read_to_string(here.join("mine.toml")).expect("a suite");
    fs::write(here.join("mine.toml"), text.replace("300ms", "2s")).expect("a file");
    let home = lab(here);
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = [
        "--devices",
        &names,
        "--allow",
        &allow,
        "--set",
        "array=twice",
        "--set",
        "background=replicated",
        "--set",
        "workload=mixed",
    ];
    let (done, outcomes) = measured(here, &home, &asked, "a");
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let outcome = &outcomes[0];
    assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.reason);
    let count = |name: &str| outcome.measures.get(name).map_or(0.0, |measure| measure.value);
    assert!(
        count("snapshots taken") >= 3.0 && count("snapshots replicated") >= 1.0,
        "{:?}",
        outcome.measures
    );
    // The pool is on the first two disks and the replica on the others, and nothing else writes to
    // them.
    let writes: Vec<u64> = outcome
        .sample
        .iter()
        .flat_map(|sample| &sample.devices)
        .map(|device| device.writes)
        .collect();
    assert!(writes.len() == 4 && writes.iter().all(|count| *count > 0), "{writes:?}");
    is_as_before(here, &loops, &before);
}

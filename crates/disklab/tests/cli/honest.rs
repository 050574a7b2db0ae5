//! Tests the precautions for measurements on real disks, on loop devices, as root. Elsewhere the
//! tests are skipped with the reason.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use disklab_record::{Record, Status};
use disklab_results::Remark;
use disklab_results::remark::Others;

use crate::loops::loops;
use crate::on_host::{devices, made_and_mounted, outcomes, with_programs};
use crate::{Done, disklab, done};

const SUITE: &str = r#"
question = "Is what differs more than this machine's noise?"
seeds = 3
memory = "256 MiB"
runtime = { rotational = "200ms", solid_state = "200ms" }
baseline = { scheduler = "none" }
[axes]
array = ["constant-ext4"]
workload = ["smoke-randread"]
scheduler = ["none", "mq-deadline"]
"#;

fn run(here: &Path, arguments: &[&str]) -> Done {
    let asked = ["run", "mine.toml", "--on", "host", "--rest", "0 s"];
    let mut command = disklab(here);
    command.env("DISKLAB_STATE", here.join("state")).args(asked).args(arguments);
    done(command.output().expect("it starts"))
}

/// Returns the text without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn steps(record: &Path, raw: &str) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(record.join(raw).join("guest.jsonl")).expect("steps");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn loads_are_warmed_and_the_baseline_is_measured_twice_in_a_drawn_order() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 1) else { return };
    fs::write(here.path().join("mine.toml"), SUITE).expect("a file");
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = ["--devices", &names, "--allow", &allow, "--warm-up", "400 ms", "--order", "5"];
    let dry = run(here.path(), &[&asked[..], &["--dry-run"]].concat());
    let done = run(here.path(), &[&asked[..], &["--out", "a"]].concat());
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let record = Record::open(&here.path().join("a")).expect("a record");
    assert_eq!(record.pairs().len(), 3, "each trial of the baseline has a second");
    for (first, second) in record.pairs() {
        assert_eq!((&first.cell, first.seed), (&second.cell, second.seed));
    }
    // The trials ran in the planned order: block by block, with the second measurements among the
    // others.
    let ran: Vec<&str> = record.lines().iter().map(|outcome| outcome.trial.as_str()).collect();
    let said: Vec<&str> = dry
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|name| ran.contains(name))
        .collect();
    assert_eq!(ran, said, "{}", dry.out);
    let seeds: Vec<u32> = record.lines().iter().map(|outcome| outcome.seed_index).collect();
    assert_eq!(seeds, [1, 1, 1, 2, 2, 2, 3, 3, 3]);
    for outcome in record.lines() {
        let steps = steps(record.folder(), outcome.raw.as_deref().expect("raw output"));
        let warmed = steps.iter().find(|step| step["step"] == "warmed").expect("a warm-up");
        let not_steady =
            outcome.remarks.iter().any(|remark| matches!(remark, Remark::NotSteady { .. }));
        assert_eq!(warmed["steady"] == false, not_steady, "{warmed}");
        assert!(warmed["rates"].as_array().is_some_and(|rates| rates.len() >= 5), "{warmed}");
        let raw = record.folder().join(outcome.raw.as_deref().expect("raw output"));
        surroundings_are_noted(&raw, outcome.cell.value("scheduler").expect("its axis"));
    }
    for command in [
        vec!["show", "a"],
        vec!["compare", "a"],
        vec!["report", "a", "--format", "markdown", "-o", "-"],
    ] {
        let done = crate::run(here.path(), &command);
        let told = flat(&format!("{}{}", done.out, done.err));
        assert!(
            told.contains("measurements of the same trial may differ by"),
            "{command:?}: {told}"
        );
    }
    let id = &record.lines()[0].trial;
    let shown = flat(&crate::run(here.path(), &["show", "a", id]).out);
    assert!(
        shown.contains("warm-up") && shown.contains("requests a second, each over 20 ms"),
        "{shown}"
    );
}

/// Checks the state of the machine before and after a trial that any Linux reports.
fn surroundings_are_noted(raw: &Path, scheduler: &str) {
    let text = fs::read_to_string(raw.join("environment.json")).expect("the environment");
    let noted: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for when in ["before", "after"] {
        let then = &noted[when];
        assert!(
            then["kernel"]
                .as_str()
                .is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit())),
            "{then}"
        );
        assert!(
            then["load"].is_array()
                && then["disks"].as_array().is_some_and(|disks| disks.len() == 1),
            "{then}"
        );
    }
    // The state after the trial is that of the trial.
    let after = noted["after"]["disks"][0]["queue"]["scheduler"].as_str().unwrap_or_default();
    assert!(after.contains(&format!("[{scheduler}]")), "{scheduler}: {noted}");
}

#[test]
fn a_budget_ends_a_run_with_what_is_open() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 1) else { return };
    fs::write(here.path().join("mine.toml"), SUITE).expect("a file");
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = [
        "--devices",
        &names,
        "--allow",
        &allow,
        "--warm-up",
        "0 s",
        "--until-decided",
        "--budget",
        "5 s",
    ];
    let done = run(here.path(), &[&asked[..], &["--seeds", "30", "--out", "a"]].concat());
    assert_eq!(done.status, Some(4), "{}{}", done.out, done.err);
    assert!(flat(&done.err).contains("budget of 5 s is spent"), "{}", done.err);
    assert!(flat(&done.err).contains("IOPS of mq-deadline compared with none"), "{}", done.err);
    assert!(flat(&done.err).contains("disklab run --resume a --budget 5s"), "{}", done.err);
    // The lines of the record include the second measurements, which its outcomes leave out.
    let statuses = || -> Vec<Status> {
        let record = Record::open(&here.path().join("a")).expect("a record");
        record.lines().iter().map(|outcome| outcome.status).collect()
    };
    let ran = statuses();
    assert!(ran.iter().all(|&status| status == Status::Ok), "{}{}", done.out, done.err);
    assert!(!ran.is_empty() && ran.len() < 90, "{} trials", ran.len());
    let counting = outcomes(&here.path().join("a")).len();
    assert!(counting < 60, "{counting} trials");
    // Even a budget that is spent before the first trial gets the run further, by this trial.
    let mut resume = disklab(here.path());
    resume.env("DISKLAB_STATE", here.path().join("state")).args(["run", "--resume", "a"]);
    resume.args(["--allow", &allow, "--budget", "1 ns"]);
    let further = crate::done(resume.output().expect("it starts"));
    assert_eq!(further.status, Some(4), "{}{}", further.out, further.err);
    assert_eq!(statuses().len(), ran.len() + 1, "{}{}", further.out, further.err);
    // The number of seeds is unknown, so that a dry run shows the seeds that are certain.
    let dry = run(here.path(), &[&asked[..], &["--seeds", "30", "--dry-run"]].concat());
    assert_eq!(dry.status, Some(0), "{}", dry.err);
    let last = dry.out.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("# the same with seeds up to 30, for cells whose verdict is undecided"),
        "{last}"
    );
    assert!(dry.out.contains("+s1\n") && !dry.out.contains("+s30\n"), "{}", dry.out);
    let refused = run(here.path(), &["--devices", &names, "--allow", &allow, "--budget", "1 s"]);
    assert_eq!(refused.status, Some(2), "{}", refused.err);
    assert!(refused.err.contains("--until-decided"), "{}", refused.err);
}

#[test]
fn a_choice_that_the_kernel_lacks_is_left_out_and_not_failed() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 2) else { return };
    let suite = SUITE.replace("constant-ext4", "constant-raid1").replace("seeds = 3", "seeds = 2");
    let suite = suite.replace("scheduler = \"none\"", "policy = \"pid\"");
    let suite =
        suite.replace("scheduler = [\"none\", \"mq-deadline\"]", "policy = [\"pid\", \"queue\"]");
    fs::write(here.path().join("mine.toml"), suite).expect("a file");
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked =
        ["--devices", &names, "--allow", &allow, "--warm-up", "0 s", "--no-pairs", "--out", "a"];
    let done = run(here.path(), &asked);
    let outcomes = outcomes(&here.path().join("a"));
    let of = |policy: &str| {
        outcomes
            .iter()
            .filter(|outcome| outcome.cell.value("policy") == Some(policy))
            .collect::<Vec<_>>()
    };
    assert!(
        of("pid").iter().all(|outcome| outcome.status == Status::Ok),
        "{}{}",
        done.out,
        done.err
    );
    // No unpatched kernel has this policy.
    let queue = of("queue");
    assert_eq!(queue.len(), 2);
    for outcome in &queue {
        let reason = outcome.reason.clone().unwrap_or_default();
        assert_eq!(outcome.status, Status::Skipped, "{reason}");
        assert!(reason.contains("has no queue") && reason.contains("pid"), "{reason}");
    }
    assert_eq!(queue.iter().filter(|outcome| outcome.raw.is_some()).count(), 1, "it is tried once");
    assert_eq!(
        fs::read_dir(here.path().join("state")).map_or(0, Iterator::count),
        0,
        "a journal is left"
    );
}

#[test]
fn what_has_nothing_to_be_held_against_gets_no_more_seeds() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 2) else { return };
    let suite = SUITE.replace("constant-ext4", "constant-raid1");
    // No unpatched kernel has this baseline.
    let suite = suite.replace("scheduler = \"none\"", "policy = \"queue\"");
    let suite =
        suite.replace("scheduler = [\"none\", \"mq-deadline\"]", "policy = [\"pid\", \"queue\"]");
    fs::write(here.path().join("mine.toml"), suite).expect("a file");
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = [
        "--devices",
        &names,
        "--allow",
        &allow,
        "--warm-up",
        "0 s",
        "--until-decided",
        "--seeds",
        "8",
    ];
    let done = run(here.path(), &[&asked[..], &["--out", "a"]].concat());
    let outcomes = outcomes(&here.path().join("a"));
    let of = |status: Status| {
        let those = outcomes.iter().filter(|outcome| outcome.status == status);
        those
            .map(|outcome| (outcome.cell.value("policy").unwrap_or_default(), outcome.seed_index))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(Status::Ok), [("pid", 1)], "{}{}", done.out, done.err);
    assert!(
        of(Status::Skipped).iter().all(|trial| *trial == ("queue", 1)),
        "{}{}",
        done.out,
        done.err
    );
    let not_needed = of(Status::NotNeeded);
    assert!(
        not_needed.contains(&("pid", 2)) && not_needed.contains(&("queue", 8)),
        "{not_needed:?}"
    );
    let reasons = outcomes
        .iter()
        .filter(|outcome| outcome.status == Status::NotNeeded)
        .filter_map(|outcome| outcome.reason.as_deref());
    assert!(reasons.into_iter().all(|reason| reason.contains("compare it with, is left out")));
}

#[test]
fn others_that_write_to_a_filesystem_in_use_are_seen_and_it_is_not_filled() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, _)) = loops(here.path(), 1) else { return };
    let suite = SUITE.replace("seeds = 3", "seeds = 1").replace("200ms", "500ms");
    let suite = suite
        .replace("baseline = { scheduler = \"none\" }", "")
        .replace("scheduler = [\"none\", \"mq-deadline\"]", "");
    fs::write(here.path().join("mine.toml"), suite).expect("a file");
    let pool = here.path().join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    let at = pool.display().to_string();
    let stop = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::File::create(pool.join("theirs")).expect("a file");
            while !stop.load(Ordering::Relaxed) {
                let _ = file.write_all(&[1; 4096]).and_then(|()| file.sync_data());
            }
        });
        let done = run(here.path(), &["--at", &at, "--warm-up", "0 s", "--no-pairs", "--out", "a"]);
        stop.store(true, Ordering::Relaxed);
        done
    });
    let outcome = outcomes(&here.path().join("a")).remove(0);
    let wrote = |remark: &Remark| matches!(remark, Remark::Disturbed { others: Others::Wrote, .. });
    assert!(outcome.remarks.iter().any(wrote), "{:?}{}", outcome.remarks, done.err);
    assert!(!outcome.is_sound());
    let shown = flat(&crate::run(here.path(), &["show", "a"]).out);
    assert!(
        shown.contains("disturbed by others") && !shown.contains("cannot be true together"),
        "{shown}"
    );
    // The filesystem has room for the test file, but not for the space that must stay free.
    let filler = fs::File::create(pool.join("filler")).expect("a file");
    let stat = rustix::fs::statvfs(&pool).expect("statvfs");
    let leave = 96 << 20;
    rustix::fs::fallocate(
        &filler,
        rustix::fs::FallocateFlags::empty(),
        0,
        stat.f_bavail * stat.f_frsize - leave,
    )
    .expect("room");
    let done = run(here.path(), &["--at", &at, "--warm-up", "0 s", "--no-pairs", "--out", "b"]);
    assert_eq!(done.status, Some(2), "{}{}", done.out, done.err);
    assert!(flat(&done.err).contains("larger than array `here` holds"), "{}", done.err);
    let mut left = fs::read_dir(&pool).expect("it").flatten().map(|entry| entry.file_name());
    let is_begun = left.any(|name| name.to_string_lossy().contains("disklab"));
    assert!(!here.path().join("b").exists() && !is_begun, "nothing is begun");
}

#[test]
fn an_old_fio_is_refused_before_anything_is_made() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 1) else { return };
    fs::write(here.path().join("mine.toml"), SUITE).expect("a file");
    let programs = here.path().join("programs");
    fs::create_dir(&programs).expect("a folder");
    let fio = programs.join("fio");
    fs::write(&fio, "#!/bin/sh\necho fio-3.12\n").expect("a file");
    fs::set_permissions(&fio, fs::Permissions::from_mode(0o755)).expect("chmod");
    let mut asked = disklab(here.path());
    asked
        .args(["run", "mine.toml", "--on", "host", "--devices", &devices(&loops), "--allow"])
        .arg(&allow);
    asked.env("DISKLAB_STATE", here.path().join("state"));
    // Programs are looked for here first, in this namespace only.
    let done = done(with_programs(&programs, &asked).output().expect("unshare"));
    assert_eq!(done.status, Some(5), "{}{}", done.out, done.err);
    assert!(
        flat(&done.err).contains("fio-3.12") && flat(&done.err).contains("3.18 or newer"),
        "{}",
        done.err
    );
    assert!(loops[0].is_blank() && !here.path().join("records").exists());
}

#[test]
fn a_filesystem_that_others_fill_while_a_trial_writes_is_told() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, _)) = loops(here.path(), 1) else { return };
    let suite = SUITE
        .replace("seeds = 3", "seeds = 1")
        .replace("200ms", "5 s")
        .replace("smoke-randread", "randwrite-4k-qd8-small");
    let suite = suite
        .replace("baseline = { scheduler = \"none\" }", "")
        .replace("scheduler = [\"none\", \"mq-deadline\"]", "");
    fs::write(here.path().join("mine.toml"), suite).expect("a file");
    let pool = here.path().join("pool");
    // On btrfs, overwritten data takes new space.
    let _mounted = made_and_mounted(&["mkfs.btrfs", "--quiet"], &loops, &pool);
    let at = pool.display().to_string();
    let stop = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| fill_up(&pool, &here.path().join("a"), &stop));
        let done = run(here.path(), &["--at", &at, "--warm-up", "0 s", "--no-pairs", "--out", "a"]);
        stop.store(true, Ordering::Relaxed);
        done
    });
    let outcome = outcomes(&here.path().join("a")).remove(0);
    assert_eq!(outcome.status, Status::Failed, "{}{}", done.out, done.err);
    let reason = outcome.reason.unwrap_or_default();
    assert!(reason.contains("No space left on device"), "{reason}");
    let left: Vec<_> =
        fs::read_dir(&pool).expect("it").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["filler"], "the folder is removed all the same");
}

/// Fills the filesystem almost completely when the trial measures, and writes as much as fits,
/// again and again.
fn fill_up(pool: &Path, record: &Path, stop: &AtomicBool) {
    let measures = || {
        let raw = fs::read_dir(record.join("raw")).into_iter().flatten().flatten();
        raw.map(|trial| trial.path().join("marks.jsonl"))
            .any(|marks| marks.metadata().is_ok_and(|data| data.len() > 0))
    };
    while !measures() && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut file =
        fs::File::options().create(true).append(true).open(pool.join("filler")).expect("a file");
    let stat = rustix::fs::statvfs(pool).expect("statvfs");
    let most = (stat.f_bavail * stat.f_frsize).saturating_sub(8 << 20);
    let _ = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, most);
    while !stop.load(Ordering::Relaxed) {
        if file.write_all(&vec![1; 1 << 16]).and_then(|()| file.sync_data()).is_err() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

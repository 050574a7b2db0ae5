//! Tests runs with real guests as users start and end them: signals to a run, the remains of a
//! killed run, and two runs at once. They need a kernel in the user's cache. Without one they are
//! skipped, unless DISKLAB_NEED_GUEST is set.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use disklab_kernels::{Cache, Share, find};
use disklab_record::outcome::Fault;
use disklab_record::{Record, Status};
use rustix::process::{Pid, Signal, kill_process};

use crate::{Done, HOME, disklab, done, json, run};

const TRIALS: usize = 16;
const SUITE: &str = r#"
question = "What does a run leave that ends too early?"
seeds = 16
memory = "192 MiB"
runtime = { rotational = "20ms", solid_state = "20ms" }
[axes]
array = ["constant-raid1"]
workload = ["smoke-randread"]
"#;

/// Makes a folder with a suite, and a cache with the user's kernel and nothing else. Returns None
/// if there is no kernel.
pub fn place() -> Option<tempfile::TempDir> {
    let share = Share::open(Path::new(HOME)).expect("this work tree");
    let kernel = Cache::open()
        .and_then(|cache| find(&cache, &share, disklab_kernels::Btrfs::Policies, "newest"));
    let missing = kernel.as_ref().err().map(ToString::to_string);
    let missing =
        missing.or_else(|| disklab_runner::facts::tools().err().map(|error| error.to_string()));
    if let Some(reason) = missing {
        assert!(
            std::env::var_os("DISKLAB_NEED_GUEST").is_none(),
            "DISKLAB_NEED_GUEST is set, and {reason}"
        );
        disklab_testkit::skipped(reason);
        return None;
    }
    let folder = kernel.expect("looked at above").folder;
    let here = tempfile::tempdir().expect("a folder");
    let kernels = here.path().join("cache/disklab/kernels");
    fs::create_dir_all(&kernels).expect("a folder");
    symlink(&folder, kernels.join(folder.file_name().expect("its name"))).expect("a link");
    fs::write(here.path().join("mine.toml"), SUITE).expect("a file");
    Some(here)
}

pub fn start(here: &Path, arguments: &[&str]) -> Child {
    let mut command = disklab(here);
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Waits until a record has this many lines. The run must not end before.
pub fn wait_for_lines(run: &mut Child, record: &Path, lines: usize) {
    let asked = Instant::now();
    let count =
        || fs::read_to_string(record.join("trials.jsonl")).map_or(0, |text| text.lines().count());
    while count() < lines {
        assert!(
            asked.elapsed() < Duration::from_secs(60),
            "{} lines of {lines} in a minute",
            count()
        );
        assert!(run.try_wait().expect("its state").is_none(), "the run ended before {lines} lines");
        sleep(Duration::from_millis(5));
    }
}

pub fn end(run: Child, signal: Signal) -> Output {
    kill_process(Pid::from_child(&run), signal).expect("it can be signalled");
    run.wait_with_output().expect("it ends")
}

/// Lists processes that work in a folder below `here`, after some seconds in which they may exit.
fn processes(here: &Path) -> Vec<PathBuf> {
    let now = || {
        let all = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
        all.filter(|process| {
            fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(here))
        })
        .filter(|process| {
            fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z "))
        })
        .collect::<Vec<_>>()
    };
    for _ in 0..100 {
        if now().is_empty() {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    now()
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn stopped_by(signal: Signal) {
    let Some(here) = place() else { return };
    let here = here.path();
    let record = here.join("record");
    let mut run = start(here, &["run", "mine.toml", "--jobs", "2", "--out", "record"]);
    wait_for_lines(&mut run, &record, 3);
    let Done { status, out, err } = done(end(run, signal));
    assert_eq!(status, Some(130), "{out}{err}");
    assert_eq!(processes(here), [""; 0].map(PathBuf::from));
    assert!(out.contains("to continue: disklab run --resume record"), "{out}");

    let kept = Record::open(&record).expect("a record");
    let (mut ok, mut interrupted) = (0, 0);
    for line in kept.lines() {
        match line.status {
            Status::Ok => ok += 1,
            Status::Interrupted => interrupted += 1,
            _ => panic!("{} is {}: {:?}", line.trial, line.status, line.reason),
        }
        assert_eq!(line.raw.is_some(), line.status == Status::Ok, "{}", line.trial);
    }
    assert!(ok >= 3 && interrupted >= 1, "{ok} ok, {interrupted} interrupted");
    assert_eq!(ok + interrupted, TRIALS, "each trial is marked once");
    assert_eq!(names(&record.join("raw")).len(), ok, "{:?}", names(&record.join("raw")));
    assert_eq!(names(&here.join("cache/disklab/trials")).len(), 0, "copies of disks are left");
}

#[test]
fn ctrl_c_keeps_what_was_done() {
    stopped_by(Signal::INT);
}

#[test]
fn so_does_an_ordinary_kill() {
    stopped_by(Signal::TERM);
}

/// A guest is killed three times and then runs undisturbed; every trial completes once. A machine
/// without memory may kill a guest's kernel, which is not the trial's fault. The trial runs again
/// without being asked for, and nothing contradicts its result.
#[test]
fn a_killed_guest_is_a_fault_of_the_machine() {
    let Some(here) = place() else { return };
    let here = here.path();
    let record = here.join("record");
    let long = SUITE.replace("20ms", "1 s").replace("seeds = 16", "seeds = 2");
    fs::write(here.join("mine.toml"), long).expect("a file");
    let run_one = start(here, &["run", "mine.toml", "--jobs", "1", "--out", "record"]);
    // The guest must be measuring: a guest that prepares works in another folder.
    let raw = record.join("raw");
    let kernel = |process: &PathBuf| {
        let is_kernel = fs::read_to_string(process.join("cmdline"))
            .is_ok_and(|words| words.contains("time-travel=inf-cpu"));
        let works = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&raw));
        is_kernel && works
    };
    let killed = (0..3000).find_map(|_| {
        sleep(Duration::from_millis(10));
        let all = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
        let process = all.into_iter().find(kernel)?;
        let number = process.file_name()?.to_str()?.parse().ok()?;
        kill_process(Pid::from_raw(number)?, Signal::KILL).ok()
    });
    assert!(killed.is_some(), "no guest was found");
    let ended = done(run_one.wait_with_output().expect("it ends"));
    assert_eq!(ended.status, Some(1), "{}{}", ended.out, ended.err);
    let kept = Record::open(&record).expect("a record");
    let failed: Vec<_> = kept.lines().iter().filter(|line| line.status == Status::Failed).collect();
    let [failed] = &failed[..] else { panic!("{failed:?}") };
    assert_eq!(failed.fault, Some(Fault::Machine), "{failed:?}");
    assert!(failed.reason.as_deref().is_some_and(|reason| reason.contains("signal: 9")));
    // This record and one in which the trial succeeded at once do not contradict each other.
    let whole = run(here, &["run", "mine.toml", "--out", "whole"]);
    assert_eq!(whole.status, Some(0), "{}{}", whole.out, whole.err);
    let merged = run(here, &["merge", "./record", "./whole", "--out", "merged"]);
    assert_eq!(merged.status, Some(0), "{}{}", merged.out, merged.err);
    let resumed = run(here, &["run", "--resume", "./record"]);
    assert_eq!(resumed.status, Some(0), "{}{}", resumed.out, resumed.err);
    assert_eq!(run(here, &["same", "./record", "./whole"]).status, Some(0));
}

/// A shell with a low limit of open files has a higher hard limit, which the program takes.
#[test]
fn the_soft_limit_of_open_files_is_raised() {
    let Some(here) = place() else { return };
    let few = "ulimit -S -n 12; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", few]).arg(disklab(here.path()).get_program());
    command.args(["run", "mine.toml", "--seeds", "1", "--jobs", "2", "--out", "record"]);
    for (name, value) in disklab(here.path()).get_envs() {
        value.map(|value| command.env(name, value));
    }
    let ended = done(command.current_dir(here.path()).output().expect("it starts"));
    assert_eq!(ended.status, Some(0), "{}{}", ended.out, ended.err);
}

/// A full filesystem ends the run at once, and the remaining trials run later.
#[test]
fn a_full_filesystem_ends_a_run_that_is_continued() {
    let Some(here) = place() else { return };
    let small = here.path().join("small");
    fs::create_dir(&small).expect("a folder");
    let mount = |options: &str| {
        let words = ["-t", "tmpfs", "-o", options, "none"];
        let mounted = Command::new("mount").args(words).arg(&small).output();
        mounted.is_ok_and(|output| output.status.success())
    };
    if !mount("size=12M") {
        disklab_testkit::skipped_without_root("only root can mount a small filesystem here");
        return;
    }
    let unmount = || Command::new("umount").arg("--lazy").arg(&small).status();
    let full = run(here.path(), &["run", "mine.toml", "--out", "small/record"]);
    let lines = fs::read_to_string(small.join("record/trials.jsonl"));
    let grown = mount("remount,size=200M");
    let resumed = run(here.path(), &["run", "--resume", "./small/record"]);
    let after = Record::open(&small.join("record")).map(|record| record.lines().len());
    unmount().expect("it is unmounted");
    assert_eq!(full.status, Some(5), "{}{}", full.out, full.err);
    assert!(full.err.contains("small/record"), "{}", full.err);
    assert_eq!(lines.expect("lines"), "", "no trial is recorded");
    assert!(grown);
    assert_eq!(resumed.status, Some(0), "{}{}", resumed.out, resumed.err);
    assert_eq!(after.expect("a record"), TRIALS);
}

#[test]
fn a_killed_run_is_continued() {
    let Some(here) = place() else { return };
    let here = here.path();
    let record = here.join("record");
    for (round, lines) in [2, 5, 9].into_iter().enumerate() {
        let first = ["run", "mine.toml", "--jobs", "2", "--out", "record"];
        let mut run = start(
            here,
            if round == 0 { &first } else { &["run", "--jobs", "2", "--resume", "record/"] },
        );
        wait_for_lines(&mut run, &record, lines);
        // The kill comes at some time during the next two guests.
        sleep(Duration::from_millis(70 * (round as u64 + 1)));
        let killed = end(run, Signal::KILL);
        assert_eq!(killed.status.signal(), Some(9), "round {round}: it ended by itself");
        assert_eq!(processes(here), [""; 0].map(PathBuf::from), "round {round}");
    }
    let Done { status, out, err } = run(here, &["run", "--resume", "record/"]);
    assert_eq!(status, Some(0), "{out}{err}");
    assert!(!(out + &err).contains(|c: char| c.is_control() && c != '\n'), "{err}");

    let kept = Record::open(&record).expect("a record");
    let ran: BTreeSet<&str> = kept.lines().iter().map(|line| line.trial.as_str()).collect();
    assert_eq!((ran.len(), kept.lines().len()), (TRIALS, TRIALS), "a trial was lost or ran twice");
    for line in kept.lines() {
        assert_eq!(
            (line.status, line.disks.len(), line.files.len()),
            (Status::Ok, 2, 4),
            "{line:?}"
        );
        assert_eq!(disklab_record::changed(&kept, line).expect("it can be read"), [""; 0]);
    }
    assert_eq!(names(&record.join("raw")), ran.iter().map(|&trial| trial.to_owned()).collect());
    assert_eq!(names(&here.join("cache/disklab/trials")).len(), 0, "copies of disks are left");
    let disks = names(&here.join("cache/disklab/disks"));
    assert_eq!(disks.iter().filter(|name| name.starts_with(".tmp-")).count(), 0, "{disks:?}");
}

/// The kernel's command line could not hold all of these paths. It need not: in the guest, the
/// program has another name.
#[test]
fn paths_of_all_kinds() {
    let Some(here) = place() else { return };
    let here = here.path();
    for name in
        ["with a space, a $ and 'marks' \\ #", "with \" marks\" and\nlines, in \u{65e5}\u{672c}"]
    {
        let folder = here.join(name);
        fs::create_dir(&folder).expect("a folder");
        let program = folder.join("disklab");
        fs::copy(env!("CARGO_BIN_EXE_disklab"), &program).expect("a copy");
        let library = Path::new(env!("CARGO_BIN_EXE_disklab")).with_file_name("deps");
        symlink(library, folder.join("deps")).expect("a link");
        let mut command = std::process::Command::new(&program);
        command
            .current_dir(&folder)
            .env("DISKLAB_HOME", HOME)
            .env("XDG_CACHE_HOME", here.join("cache"));
        command.args(["run", "../mine.toml", "--seeds", "1", "--out", "record"]);
        let ended = done(command.output().expect("it starts"));
        assert_eq!(ended.status, Some(0), "{name}: {}{}", ended.out, ended.err);
    }
}

/// Both runs need disks that do not exist yet. One run makes them, and the other waits.
#[test]
fn two_runs_share_a_cache() {
    let Some(here) = place() else { return };
    let here = here.path();
    let arguments = |out| ["run", "mine.toml", "--seeds", "3", "--jobs", "1", "--out", out];
    for run in ["a", "b"].map(|out| start(here, &arguments(out))) {
        let Done { status, out, err } = done(run.wait_with_output().expect("it ends"));
        assert_eq!(status, Some(0), "{out}{err}");
    }
    let same = run(here, &["same", "a/", "b/"]);
    assert_eq!(same.status, Some(0), "{}{}", same.out, same.err);
    let disks = names(&here.join("cache/disklab/disks"));
    let prepared = disks.iter().filter(|name| here.join("cache/disklab/disks").join(name).is_dir());
    assert_eq!(prepared.count(), 1, "{disks:?}");
}

/// Seeds are added to undecided cells, and not to decided ones. A killed run continues as if it had
/// not been killed.
#[test]
fn seeds_until_decided() {
    let Some(here) = place() else { return };
    fs::write(here.path().join("decide.toml"), DECIDE).expect("a file");
    let decide = ["run", "decide.toml", "--until-decided", "--seeds", "8", "--out", "whole"];
    let whole = run(here.path(), &decide);
    assert_eq!(whole.status, Some(0), "{}{}", whole.out, whole.err);
    let statuses = |name: &str| -> Vec<(String, Option<Status>)> {
        let record = Record::open(&here.path().join(name)).expect("a record");
        record
            .outcomes()
            .into_iter()
            .map(|(id, outcome)| (id.to_owned(), outcome.map(|outcome| outcome.status)))
            .collect()
    };
    let not_needed =
        statuses("whole").iter().filter(|(_, status)| *status == Some(Status::NotNeeded)).count();
    // Round-robin uses two disks at once, and one disk alone is decided by the fewest seeds there
    // can be. Policies that choose the same disk for each request need no more seeds either.
    assert!(
        not_needed >= 8 && whole.out.contains(&format!("{not_needed} not needed")),
        "{not_needed}: {}",
        whole.out
    );
    let compare = json(here.path(), &["compare", "./whole", "--json"]);
    let verdicts: Vec<&str> = compare["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .filter_map(|cell| cell["verdict"].as_str())
        .collect();
    assert!(verdicts.iter().all(|verdict| *verdict != "undecided"), "{compare}");

    let mut killed = start(
        here.path(),
        &["run", "decide.toml", "--until-decided", "--seeds", "8", "--out", "killed"],
    );
    wait_for_lines(&mut killed, &here.path().join("killed"), 7);
    end(killed, Signal::KILL);
    let resumed = run(here.path(), &["run", "--resume", "./killed"]);
    assert_eq!(resumed.status, Some(0), "{}{}", resumed.out, resumed.err);
    assert_eq!(statuses("killed"), statuses("whole"));
    assert_eq!(run(here.path(), &["same", "./whole", "./killed"]).status, Some(0));
}

const DECIDE: &str = r#"
question = "Which cells need how many seeds?"
seeds = 3
memory = "192 MiB"
runtime = { rotational = "20ms", solid_state = "20ms" }
baseline = { policy = "pid" }
[axes]
array = ["constant-raid1"]
workload = ["smoke-randread"]
policy = ["pid", "round-robin:4k", "queue"]
"#;

/// Four runs differ in their seeds only, so that every verdict of better or worse is false. Each
/// pair of runs is compared. With correction for many cells, at most 5 % of families have a false
/// verdict. For each cell alone, at most 5 % of intervals miss zero.
#[test]
fn a_against_a() {
    let Some(here) = place() else { return };
    fs::write(here.path().join("same.toml"), A_AGAINST_A).expect("a file");
    let runs = ["1-5", "6-10", "11-15", "16-20"];
    for seeds in runs {
        let ran = run(here.path(), &["run", "same.toml", "--seeds", seeds, "--out", seeds]);
        assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
    }
    let (mut families, mut alone, mut all) = (0, 0, 0);
    for (at, first) in runs.iter().enumerate() {
        for second in &runs[at + 1..] {
            let (first, second) = (format!("./{first}"), format!("./{second}"));
            let arguments = ["compare", &first, &second, "--metric", "iops,p99", "--json"];
            let done = run(here.path(), &arguments);
            assert!(done.err.contains("disklab merge"), "{}", done.err);
            let compare: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
            let judged = compare["cells"].as_array().expect("cells");
            assert!(
                judged.len() == 12 && judged.iter().all(|cell| cell["paired"] == false),
                "{compare}"
            );
            let wrong = judged
                .iter()
                .filter(|cell| cell["verdict"] == "better" || cell["verdict"] == "worse")
                .count();
            families += usize::from(wrong > 0);
            let end =
                |cell: &serde_json::Value, end: &str| cell["change"][end].as_f64().unwrap_or(0.0);
            alone += judged
                .iter()
                .filter(|cell| end(cell, "low") > 0.0 || end(cell, "high") < 0.0)
                .count();
            all += judged.len();
        }
    }
    // If the comparisons were independent, more than one of six would be false in 3 % of cases. For
    // cells, the bound is 5 % and three standard deviations.
    let expected = 0.05 * all as f64;
    let most = expected + 3.0 * (0.95 * expected).sqrt();
    assert!(families <= 1 && alone as f64 <= most, "{families} families, {alone} of {all} cells");
}

const A_AGAINST_A: &str = r#"
question = "Does a policy differ from itself?"
seeds = 5
memory = "192 MiB"
runtime = { rotational = "1s", solid_state = "20ms" }
[axes]
array = ["hdd-raid1", "ssd-raid10"]
workload = ["smoke-randread"]
policy = ["pid", "round-robin", "queue"]
"#;

//! Tests `run --on host` on loop devices, as root. Elsewhere the tests are skipped with the reason.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use disklab_record::{Outcome, Record, Status};
use disklab_results::Remark;
use disklab_testkit::skipped_without_root;
use rustix::process::{Pid, Signal, kill_process};

use crate::loops::{LoopDisk, loops};
use crate::{Done, disklab, done};

const SUITE: &str = r#"
question = "Do real disks do what modelled ones do?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "300ms", solid_state = "300ms" }
[axes]
array = ["constant-raid1"]
workload = ["smoke-randread"]
"#;

pub fn suite(here: &Path) {
    fs::write(here.join("mine.toml"), SUITE).expect("a file");
}

pub fn on_host(here: &Path, arguments: &[&str]) -> Command {
    let mut command = disklab(here);
    command.env("DISKLAB_STATE", here.join("state")).args([
        "run",
        "mine.toml",
        "--on",
        "host",
        "--rest",
        "0 s",
        "--warm-up",
        "0 s",
        "--no-pairs",
    ]);
    command.args(arguments);
    command
}

pub fn run(here: &Path, arguments: &[&str]) -> Done {
    done(on_host(here, arguments).output().expect("it starts"))
}

/// Returns the command in a mount namespace of its own, started by a script with arguments of its
/// own.
pub fn behind(script: &str, arguments: &[&Path], command: &Command) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", script, "sh"]).args(arguments);
    unshare.arg(command.get_program()).args(command.get_args());
    unshare.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    unshare.current_dir(command.get_current_dir().expect("a test's own folder"));
    unshare
}

/// Returns the command with the programs of a folder before all others.
pub fn with_programs(programs: &Path, command: &Command) -> Command {
    behind("mount --bind \"$1\" /usr/local/sbin && shift && exec \"$@\"", &[programs], command)
}

pub fn devices(loops: &[LoopDisk]) -> String {
    let names: Vec<String> = loops.iter().map(|disk| disk.path.display().to_string()).collect();
    names.join(",")
}

pub fn outcomes(record: &Path) -> Vec<Outcome> {
    Record::open(record)
        .expect("a record")
        .outcomes()
        .into_iter()
        .filter_map(|(_, outcome)| outcome.cloned())
        .collect()
}

pub fn journals(here: &Path) -> usize {
    fs::read_dir(here.join("state")).map_or(0, Iterator::count)
}

/// Asserts that the run left nothing: no values, signatures, mounts or journals.
pub fn is_as_before(here: &Path, loops: &[LoopDisk], schedulers: &[String]) {
    assert_eq!(loops.iter().map(|disk| disk.queue("scheduler")).collect::<Vec<_>>(), schedulers);
    assert!(loops.iter().all(LoopDisk::is_blank), "something is left on the disks");
    let mounts = fs::read_to_string("/proc/self/mounts").expect("/proc");
    assert!(
        loops.iter().all(|disk| !mounts.contains(disk.path.to_str().expect("a name"))),
        "{mounts}"
    );
    assert_eq!(journals(here), 0, "a journal is left");
}

pub fn schedulers(loops: &[LoopDisk]) -> Vec<String> {
    loops.iter().map(|disk| disk.queue("scheduler")).collect()
}

#[test]
fn stacks_and_schedulers_are_measured_and_everything_is_given_back() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 2) else { return };
    suite(here.path());
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = [
        "--devices",
        &names,
        "--allow",
        &allow,
        "--set",
        "scheduler=none,mq-deadline,bfq,kyber",
        "--out",
        "a",
    ];
    let done = run(here.path(), &asked);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    is_as_before(here.path(), &loops, &before);
    assert!(
        done.out.contains("Disks of a machine, in its own time")
            && !done.out.contains("virtual time"),
        "{}",
        done.out
    );
    let outcomes = outcomes(&here.path().join("a"));
    assert_eq!(outcomes.len(), 4);
    let mut trace = disklab(here.path());
    let traced =
        crate::done(trace.args(["trace", "a", &outcomes[0].trial]).output().expect("it starts"));
    let of_disk = |disk: &LoopDisk| {
        traced.out.lines().any(|line| line.starts_with(&format!("{},read,", disk.name())))
    };
    assert!(
        loops.iter().all(of_disk) && !traced.out.contains("vda"),
        "{}{}",
        traced.out,
        traced.err
    );
    for outcome in outcomes {
        let sample = outcome.sample.expect("fio's numbers");
        assert!(sample.iops > 0.0 && sample.requests > 0);
        let names: Vec<&str> = sample.devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, loops.iter().map(LoopDisk::name).collect::<Vec<_>>());
        let read: u64 = sample.devices.iter().map(|device| device.read_bytes).sum();
        assert!(read >= sample.requests * 4096 * 9 / 10, "{read} of {} requests", sample.requests);
    }
}

#[test]
fn other_filesystems_on_one_disk() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 1) else { return };
    suite(here.path());
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let arrays = ["ssd-xfs", "constant-ext4"].join(",");
    let asked = ["--devices", &names, "--allow", &allow, "--array", &arrays, "--out", "a"];
    let done = run(here.path(), &asked);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    is_as_before(here.path(), &loops, &before);
    assert!(outcomes(&here.path().join("a")).iter().all(|outcome| outcome.status == Status::Ok));
}

#[test]
fn a_scrub_runs_beside_and_a_dry_run_does_nothing() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 2) else { return };
    suite(here.path());
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = [
        "--devices",
        &names,
        "--allow",
        &allow,
        "--set",
        "background=scrub",
        "--set",
        "scheduler=bfq:low_latency=0",
    ];
    let dry = run(here.path(), &[&asked[..], &["--dry-run"]].concat());
    assert_eq!(dry.status, Some(0), "{}", dry.err);
    // 3 s for a filesystem with its small file and the lead of the background, 300 ms of
    // measurement, and a second around both.
    let expected = if loops[0].queue("rotational").trim() == "1" {
        3.6 + 2.0 + 0.3 + 1.0
    } else {
        3.1 + 0.05 + 0.3 + 1.0
    };
    let told =
        dry.out.lines().find_map(|line| line.strip_prefix("# 1 trial that would take about "));
    let seconds: Option<f64> =
        told.and_then(|text| text.strip_suffix(" s")).and_then(|text| text.parse().ok());
    assert!(
        seconds.is_some_and(|seconds| (seconds - expected).abs() < 1.0),
        "{told:?} for {expected} s in\n{}",
        dry.out
    );
    is_as_before(here.path(), &loops, &before);
    assert!(!here.path().join("records").exists());
    let done = run(here.path(), &[&asked[..], &["--out", "a"]].concat());
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    is_as_before(here.path(), &loops, &before);
    // The steps of the trial are the lines of the dry run, in the same order.
    let raw = fs::read_dir(here.path().join("a/raw"))
        .expect("raw")
        .next()
        .expect("a trial")
        .expect("a folder");
    let steps = fs::read_to_string(raw.path().join("guest.jsonl")).expect("steps");
    let logged = fs::read_to_string(raw.path().join("actions.log")).expect("a log");
    let [logged, said] =
        [&logged, &dry.out].map(|text| text.lines().map(masked).collect::<Vec<_>>());
    assert!(
        !logged.is_empty() && said.windows(logged.len()).any(|window| window == logged),
        "{logged:#?} is not what was said to be run:\n{}",
        dry.out
    );
    let (mut lines, mut behind) = (dry.out.lines(), Vec::new());
    let mut next = |said: &str| {
        assert!(lines.any(|line| line == said), "`{said}` is not in this order in\n{}", dry.out);
    };
    // A successful preparation leaves nothing behind.
    let uuid = "00000000-0000-4000-8000-000000000000";
    next("# before each trial, disklab is idle for 0 ns and watches the disks");
    next(&format!("mkfs.btrfs -q -f -d raid1 -m raid1 -U {uuid} {}", names.replace(',', " ")));
    next("umount /mnt/pool");
    for step in
        steps.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
    {
        let word = |key: &str| step[key].as_str().unwrap_or_default();
        match (word("step"), &step["command"]) {
            ("set", _) => next(&format!("echo {} > {}", word("value"), word("path"))),
            ("mounted", _) => {
                let devices = names.replace(',', ",device=");
                next(&format!(
                    "mount -t btrfs -o device={devices} {} /mnt/pool",
                    loops[0].path.display()
                ));
            }
            ("caches", _) => next("echo 3 > /proc/sys/vm/drop_caches"),
            // A background ends, and is listed, after the load that it runs beside.
            ("background", serde_json::Value::Array(command)) => behind.push(command.clone()),
            (_, serde_json::Value::Array(command)) => next(&line_of(command)),
            _ => {}
        }
    }
    assert!(
        !behind.is_empty()
            && behind.iter().all(|command| dry.out.contains(&format!("{} &", line_of(command))))
    );
    // The dry run also prints how each change is undone, with the present value of each file.
    for (disk, was) in loops.iter().zip(&before).rev() {
        let active = was
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'))
            .expect("one is active")
            .0;
        next(&format!("echo {active} > /sys/block/{}/queue/scheduler", disk.name()));
        next(&format!(
            "echo {} > /sys/block/{}/queue/nr_requests",
            disk.queue("nr_requests"),
            disk.name()
        ));
    }
    for disk in loops.iter().rev() {
        next(&format!(
            "wipefs --all --quiet {}  # if it still holds what was made there",
            disk.path.display()
        ));
    }
}

/// Returns a line without the values that are drawn for each run: UUIDs and names.
fn masked(line: &str) -> String {
    let is_uuid = |part: &str| part.len() == 36 && part.matches('-').count() == 4;
    let word = |word: &str| {
        let parts = word.split('/').map(|part| match part {
            part if is_uuid(part) => "UUID",
            part if part.starts_with("disklab-") => "NAME",
            part => part,
        });
        parts.collect::<Vec<_>>().join("/")
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Formats a command as the dry run does.
fn line_of(command: &[serde_json::Value]) -> String {
    let quoted = |word: &serde_json::Value| {
        let word = word.as_str().expect("a word");
        let plain = word
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-_=/.,:+@%".contains(letter));
        if plain { word.to_owned() } else { format!("'{word}'") }
    };
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Waits until the run's journals have this many lines, or until it has ended.
fn wait_for_lines(run: &mut Child, here: &Path, lines: usize) -> bool {
    let begun = Instant::now();
    loop {
        let entries = fs::read_dir(here.join("state")).into_iter().flatten().flatten();
        let count: usize = entries
            .map(|journal| {
                fs::read_to_string(journal.path()).map_or(0, |text| text.lines().count())
            })
            .sum();
        if count >= lines {
            return true;
        }
        if run.try_wait().expect("its state").is_some() {
            return false;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{count} lines of {lines} in a minute");
        sleep(Duration::from_micros(200));
    }
}

#[test]
fn killed_at_any_line_of_its_journal_it_is_undone_by_clean_and_by_the_next_run() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 2) else { return };
    suite(here.path());
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = ["--devices", &names, "--allow", &allow, "--set", "scheduler=bfq"];
    let (mut killed, mut marked, mut set) = (0, 0, 0);
    for lines in 1.. {
        let record = format!("killed-{lines}");
        let mut command = on_host(here.path(), &[&asked[..], &["--out", &record]].concat());
        let mut killing =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let there = wait_for_lines(&mut killing, here.path(), lines);
        let _ = killing.kill();
        killing.wait().expect("its end");
        if !there {
            break;
        }
        killed += 1;
        // The journal was written just before the change, which may have been made in between.
        let [is_marked, is_set] =
            [loops.iter().any(|disk| !disk.is_blank()), schedulers(&loops) != before];
        marked += usize::from(is_marked);
        set += usize::from(is_set);
        // `clean` or the next run undoes the changes.
        let next = format!("next-{lines}");
        let undone = if lines % 2 == 0 {
            let mut clean = disklab(here.path());
            clean.env("DISKLAB_STATE", here.path().join("state")).arg("clean");
            done(clean.output().expect("it starts"))
        } else {
            let undone = run(here.path(), &[&asked[..], &["--out", &next]].concat());
            // Changes that were noted and not made are not undone.
            assert!(
                !is_marked && !is_set || undone.err.contains("left by a killed run"),
                "{}",
                undone.err
            );
            undone
        };
        assert_eq!(undone.status, Some(0), "after {lines} lines: {}{}", undone.out, undone.err);
        is_as_before(here.path(), &loops, &before);
    }
    // The steps are the first filesystem, two disks, md; the second filesystem, tracing, and for
    // each disk its scheduler.
    assert!(killed >= 8, "it was killed {killed} times only");
    assert!(
        marked > 0 && set > 0,
        "of {killed} kills {marked} left something on the disks, and {set} a scheduler"
    );
}

#[test]
fn interrupted_it_keeps_what_was_done_and_can_be_continued() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 2) else { return };
    fs::write(here.path().join("mine.toml"), SUITE.replace("seeds = 1", "seeds = 6"))
        .expect("a file");
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let mut command = on_host(here.path(), &["--devices", &names, "--allow", &allow, "--out", "a"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let log = here.path().join("a/trials.jsonl");
    while fs::read_to_string(&log).map_or(0, |text| text.lines().count()) < 2 {
        assert!(run.try_wait().expect("its state").is_none(), "it ended early");
        sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&run), Signal::INT).expect("it can be signalled");
    assert_eq!(run.wait().expect("its end").code(), Some(130));
    is_as_before(here.path(), &loops, &before);
    let resume = |more: &[&str]| {
        let mut resume = disklab(here.path());
        resume
            .env("DISKLAB_STATE", here.path().join("state"))
            .args(["run", "--resume", "a"])
            .args(more);
        crate::done(resume.output().expect("it starts"))
    };
    // A list that only the record names does not count, since the record may be somebody else's.
    let refused = resume(&[]);
    assert_eq!(refused.status, Some(2), "{}{}", refused.out, refused.err);
    assert!(refused.err.contains(&format!("--allow {allow}")), "{}", refused.err);
    // The disks are those of the record. Others are not accepted in their place.
    let others = resume(&["--allow", &allow, "--devices", "/dev/null"]);
    assert_eq!(others.status, Some(2), "{}{}", others.out, others.err);
    assert!(others.err.contains("--devices"), "{}", others.err);
    let dry = resume(&["--allow", &allow, "--dry-run"]);
    assert!(
        dry.out.contains("before each trial, disklab is idle for 0 ns"),
        "{}{}",
        dry.out,
        dry.err
    );
    // Only the remaining trials run.
    let left = outcomes(&here.path().join("a"))
        .iter()
        .filter(|outcome| outcome.status != Status::Ok)
        .count()
        + fs::read_to_string(&log).map_or(6, |text| 6 - text.lines().count());
    let told = format!("# {left} trial{} that would take about", if left == 1 { "" } else { "s" });
    assert!(dry.out.contains(&told), "`{told}` is not in\n{}", dry.out);
    let done = resume(&["--allow", &allow]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert_eq!(
        outcomes(&here.path().join("a"))
            .iter()
            .filter(|outcome| outcome.status == Status::Ok)
            .count(),
        6
    );
    is_as_before(here.path(), &loops, &before);
}

#[test]
fn what_is_not_offered_is_not_touched() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 2) else { return };
    suite(here.path());
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let refused = |arguments: &[&str], word: &str| {
        let done = run(here.path(), arguments);
        assert_eq!(done.status, Some(2), "{arguments:?}: {}{}", done.out, done.err);
        assert!(done.err.contains(word), "{arguments:?}: {}", done.err);
        assert!(!here.path().join("records").exists(), "a record was begun");
    };
    refused(&["--devices", &names], "does not list it");
    refused(
        &["--devices", loops[0].path.to_str().expect("a name"), "--allow", &allow],
        "this number",
    );
    refused(&["--devices", "/dev/null,/dev/zero", "--allow", &allow], "not a block device");
    refused(&[], "--on host needs disks");
    let twice = format!("{0},{0}", loops[0].path.display());
    refused(&["--devices", &twice, "--allow", &allow], "named twice");
    // The disk holds somebody's filesystem, and is named once.
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-F"])
        .arg(&loops[0].path)
        .status()
        .expect("mkfs.ext4");
    assert!(made.success());
    refused(&["--devices", &names, "--allow", &allow], "ext filesystem");
    // Named again, the disk is overwritten.
    let again = loops[0].path.display().to_string();
    let done = run(
        here.path(),
        &["--devices", &names, "--allow", &allow, "--overwrite", &again, "--out", "a"],
    );
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
}

#[test]
fn on_a_filesystem_that_is_there_one_folder_is_made_and_removed() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, _)) = loops(here.path(), 1) else { return };
    suite(here.path());
    let pool = here.path().join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    fs::write(pool.join("mine"), "not to be touched").expect("a file");
    let mut contents: Vec<_> =
        fs::read_dir(&pool).expect("it").flatten().map(|entry| entry.file_name()).collect();
    contents.sort();
    let at = pool.display().to_string();
    let dry = run(here.path(), &["--at", &at, "--dry-run"]).out;
    let mut lines = dry.lines();
    for wanted in [
        "mkdir /",
        "mount --bind /",
        "# write 64 MiB to /mnt/pool/test",
        "mount --bind /",
        "fio ",
        "rm -r /",
    ] {
        assert!(
            lines.any(|line| line.starts_with(wanted)),
            "no `{wanted}` in this order in\n{dry}"
        );
    }
    let done = run(here.path(), &["--at", &at, "--out", "a"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let sample = outcomes(&here.path().join("a"))[0].sample.clone().expect("fio's numbers");
    assert_eq!(sample.devices[0].name, loops[0].name(), "its disk is seen");
    assert!(sample.devices[0].reads > 0);
    let mut after: Vec<_> =
        fs::read_dir(&pool).expect("it").flatten().map(|entry| entry.file_name()).collect();
    after.sort();
    assert_eq!(after, contents);
    // A single file of the user is only read. Here, a large one is made first.
    let file = pool.join("large");
    fs::write(&file, vec![7; 64 << 20]).expect("a file");
    let done = run(here.path(), &["--at", &file.display().to_string(), "--out", "b"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert!(fs::read(&file).expect("it").iter().all(|&byte| byte == 7));
    // The user may write the folder, and change nothing on the machine.
    as_nobody(here.path(), &pool);
}

fn as_nobody(here: &Path, pool: &Path) {
    let own = pool.join("nobody");
    fs::create_dir(&own).expect("a folder");
    let nobody = Some((65534, 65534));
    for folder in [here, &own] {
        std::os::unix::fs::chown(folder, nobody.map(|ids| ids.0), nobody.map(|ids| ids.1))
            .expect("chown");
    }
    let _ = fs::remove_dir_all(here.join("state"));
    let at = own.display().to_string();
    let run = |arguments: &[&str]| {
        let mut command = on_host(here, &[&["--at", &at], arguments].concat());
        done(command.uid(65534).gid(65534).output().expect("it starts"))
    };
    let done = run(&["--out", "c"]);
    if done.err.contains("does not let users create namespaces") {
        return skipped_without_root(format!("as a user: {}", done.err));
    }
    let outcome = outcomes(&here.join("c")).remove(0);
    assert_eq!(outcome.status, Status::Ok, "{}{}", done.out, done.err);
    let kept = |remark: &Remark| matches!(remark, Remark::CachesKept { .. });
    assert!(outcome.remarks.iter().any(kept), "a user drops no caches: {:?}", outcome.remarks);
    let done = run(&["--set", "scheduler=bfq", "--out", "d"]);
    let skipped = outcomes(&here.join("d")).remove(0);
    assert_eq!(skipped.status, Status::Skipped, "{}{}", done.out, done.err);
    assert!(skipped.reason.is_some_and(|why| why.contains("root")));
    assert_eq!(fs::read_dir(&own).expect("it").count(), 0);
}

/// Makes a filesystem on these disks, and mounts it at a new folder.
pub fn made_and_mounted<'a>(mkfs: &[&str], disks: &[LoopDisk], at: &'a Path) -> Mounted<'a> {
    fs::create_dir(at).expect("a folder");
    let made =
        Command::new(mkfs[0]).args(&mkfs[1..]).args(disks.iter().map(|disk| &disk.path)).status();
    let mounted = Command::new("mount").arg(&disks[0].path).arg(at).status();
    assert!(made.expect("mkfs").success() && mounted.expect("mount").success());
    Mounted(at)
}

pub struct Mounted<'a>(pub &'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

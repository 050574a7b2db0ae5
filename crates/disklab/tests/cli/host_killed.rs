//! Tests the host executor in a guest, killed at each step of its journals. Each step must be a
//! real change, and `clean` must undo it. The trials use md with a weight, and a btrfs that is in
//! use; few machines have either.
//!
//! This file is also the program that kills: the guest runs it as its only program. The journals
//! are on a modelled disk, so that each line takes time, which the killing process can see.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use disklab_config::Lab;
use disklab_protocol::machine::MachineDisk;
use disklab_units::Bytes;

use crate::guests;
use crate::host_in_guest::{allow, run_in_guest};

const SUITE: &str = r#"
question = "What is left?"
seeds = 2
memory = "256 MiB"
runtime = { rotational = "20ms", solid_state = "20ms" }
[axes]
array = ["constant-raid1"]
workload = ["weighty"]
scheduler = ["bfq:low_latency=0"]
"#;

const WORKLOAD: &str = r#"
summary = "4 KiB random reads of a small file: for this test"
rw = "randread"
bs = "4k"
iodepth = 4
ioengine = "libaio"
filesize = "16 MiB"
direct = true
weight = 500
"#;

const STATE: &str = "/mnt/state";
const DATA: &str = "/mnt/data";
/// Environment variable for the inner process: the arguments of the run to kill.
const ASKED: &str = "DISKLAB_TEST_KILLED";

#[test]
fn at_any_step_with_md_and_a_weight() {
    let asked =
        "--devices /dev/vda,/dev/vdb --allow /mnt/trial/devices.toml --array nvme-md-raid1-ext4";
    killed(asked, "cgroup control journal mark md scheduler tracing", 12);
}

#[test]
fn at_any_step_on_a_filesystem_that_is_in_use() {
    killed(
        "--at /mnt/data --set policy=round-robin:4k",
        "cgroup folder journal policy scheduler tracing",
        9,
    );
}

/// Kills the run at least `least` times; each of the changes in `different` must occur at some
/// time.
fn killed(arguments: &str, different: &str, least: u32) {
    let Some(_here) = guests::place() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let home = crate::starting::home(folder);
    fs::write(home.join("lab/workloads/weighty.toml"), WORKLOAD).expect("a file");
    fs::write(folder.join("mine.toml"), SUITE).expect("a file");
    let lab = Lab::load(&home.join("lab")).expect("the lab");
    let disk = |number: u32| MachineDisk {
        device: "constant-50us".to_owned(),
        bytes: Bytes::mib(512),
        size: Bytes::mib(512),
        model: lab.devices["constant-50us"].model.clone(),
        image: format!("{number}.img"),
    };
    let disks: Vec<MachineDisk> = (0..5).map(disk).collect();
    allow(folder, &disks);
    let own = std::env::current_exe().expect("this test").display().to_string();
    let (asked, state) =
        (format!("{ASKED}={arguments}|{different}|{least}"), format!("DISKLAB_STATE={STATE}"));
    let inside = "host_killed::inside_the_guest";
    let words = [
        "env",
        "DISKLAB_HOME=/mnt/trial/home",
        "XDG_CACHE_HOME=/tmp",
        &state,
        &asked,
        &own,
        "--ignored",
        "--exact",
        inside,
    ];
    run_in_guest(folder, disks, &words.map(str::to_owned));
}

/// Runs inside a guest, for the tests above. It is not a test of its own.
#[test]
#[ignore = "for a guest"]
fn inside_the_guest() {
    let Ok(asked) = std::env::var(ASKED) else { return };
    let [arguments, different, least] = asked.split('|').collect::<Vec<_>>()[..] else {
        panic!("{asked}")
    };
    fs::create_dir(STATE).and_then(|()| fs::create_dir(DATA)).expect("folders");
    for command in [
        "mount -t cgroup2 cgroup2 /sys/fs/cgroup",
        "mount -t tracefs tracefs /sys/kernel/tracing",
        "mkfs.btrfs -q -f -d raid1 -m raid1 /dev/vdc /dev/vde",
        "mount /dev/vdc /mnt/data",
        "mkfs.ext4 -q -F /dev/vdd",
        "mount /dev/vdd /mnt/state",
        "rmdir /mnt/state/lost+found",
    ] {
        done(command);
    }
    for disk in ["vda", "vdb", "vdc", "vde"] {
        fs::write(format!("/sys/block/{disk}/queue/scheduler"), "none").expect("sysfs");
    }
    let before = HostState::now();
    let mut seen = BTreeSet::new();
    let mut kills = 0;
    for lines in 1.. {
        let mut run = start(arguments);
        if !wait_for(&mut run, || journalled() >= lines) {
            let end = run.wait_with_output().expect("its end");
            // Both trials succeed; the second one finds the array of the first assembled or
            // stopped.
            assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
            break;
        }
        kills += 1;
        seen.extend(kill(run, &before, &format!("{lines} lines")));
    }
    // The runs before were killed just before a change. This one is killed after all changes.
    let mut run = start(arguments);
    assert!(wait_for(&mut run, is_measuring), "it measures nothing");
    seen.extend(kill(run, &before, "a measurement had begun"));
    assert!(
        different.split(' ').all(|kind| seen.contains(kind)),
        "of {different} only {seen:?} was ever different"
    );
    assert!(kills >= least.parse().expect("a number"), "it was killed {kills} times only");
}

/// Kills the run, and returns the kinds of changes that it had made and `clean` has undone.
fn kill(mut run: Child, before: &HostState, when: &str) -> BTreeSet<&'static str> {
    run.kill().expect("it runs");
    run.wait().expect("its end");
    let mut changed = HostState::now().unlike(before);
    // The processes are about to end.
    changed.remove("process");
    let clean = disklab("clean").output().expect("it starts");
    let said = String::from_utf8_lossy(&clean.stdout);
    assert!(clean.status.success(), "after {when}: {said}");
    let left = HostState::now().unlike(before);
    assert!(left.is_empty(), "after {when}, with {changed:?} changed, {left:?} is left:\n{said}");
    // A single change may be the journal itself. Further changes must be reported.
    assert!(
        changed.len() < 2 || !said.starts_with("nothing"),
        "{changed:?} changed, and it said {said}"
    );
    changed
}

fn done(command: &str) {
    let mut words = command.split(' ');
    let out = Command::new(words.next().expect("a program")).args(words).output().expect(command);
    assert!(out.status.success(), "{command}: {}", String::from_utf8_lossy(&out.stderr));
}

fn disklab(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_disklab"));
    command.args(arguments.split(' ')).current_dir("/tmp").stdin(Stdio::null());
    command
}

fn start(arguments: &str) -> Child {
    let _ = fs::remove_dir_all("/tmp/record");
    let mut command = disklab(
        "run /mnt/trial/mine.toml --on host --out /tmp/record --rest 0s --warm-up 0s --no-pairs",
    );
    command
        .args(arguments.split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Waits for a condition. Returns false if the run ends first.
fn wait_for(run: &mut Child, is_there: impl Fn() -> bool) -> bool {
    while !is_there() {
        if run.try_wait().expect("its state").is_some() {
            return false;
        }
        sleep(Duration::from_micros(100));
    }
    true
}

/// Returns the number of lines in all journals.
fn journalled() -> usize {
    let journals = fs::read_dir(STATE).into_iter().flatten().flatten();
    journals
        .map(|journal| fs::read_to_string(journal.path()).map_or(0, |text| text.lines().count()))
        .sum()
}

fn is_measuring() -> bool {
    let mut trials = fs::read_dir("/tmp/record/raw").into_iter().flatten().flatten();
    trials.any(|trial| {
        fs::read_to_string(trial.path().join("marks.jsonl")).is_ok_and(|text| !text.is_empty())
    })
}

/// State of everything that a trial may change, each line with its kind.
struct HostState(BTreeSet<(&'static str, String)>);

impl HostState {
    fn now() -> Self {
        let mut all = BTreeSet::new();
        for disk in ["vda", "vdb", "vdc", "vde"] {
            let queue = format!("/sys/block/{disk}/queue");
            let tunables = names(&format!("{queue}/iosched"))
                .into_iter()
                .map(|file| format!("iosched/{file}"));
            for file in tunables.chain(["scheduler".to_owned(), "nr_requests".to_owned()]) {
                all.insert((
                    "scheduler",
                    format!("{disk} {file} {}", said(&format!("{queue}/{file}"))),
                ));
            }
        }
        for filesystem in names("/sys/fs/btrfs").iter().filter(|name| name.contains('-')) {
            all.insert(("policy", said(&format!("/sys/fs/btrfs/{filesystem}/read_policy"))));
        }
        let ours = |folder: &str| names(folder).into_iter().filter(|name| name.contains("disklab"));
        all.extend(ours("/sys/fs/cgroup").map(|name| ("cgroup", name)));
        all.extend(ours("/sys/kernel/tracing/instances").map(|name| ("tracing", name)));
        all.extend(ours("/dev").map(|name| ("node", name)));
        all.insert(("control", said("/sys/fs/cgroup/cgroup.subtree_control")));
        all.extend(
            names("/sys/block")
                .into_iter()
                .filter(|name| name.starts_with("md"))
                .map(|name| ("md", name)),
        );
        all.extend(names(DATA).into_iter().map(|name| ("folder", name)));
        all.extend(names(STATE).into_iter().map(|name| ("journal", name)));
        for disk in ["/dev/vda", "/dev/vdb"] {
            let marks =
                Command::new("wipefs").args(["--noheadings", disk]).output().expect("wipefs");
            all.insert(("mark", String::from_utf8_lossy(&marks.stdout).into_owned()));
        }
        all.extend(said("/proc/self/mounts").lines().map(|line| ("mount", line.to_owned())));
        // The command line of a zombie process is empty.
        let words = |pid: &String| {
            format!("{pid} {}", said(&format!("/proc/{pid}/cmdline")).replace('\0', " "))
        };
        let running = names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok());
        let ours = running
            .map(|pid| words(&pid))
            .filter(|words| ["host-init", "fio ", "mkfs"].iter().any(|word| words.contains(word)));
        all.extend(ours.map(|words| ("process", words)));
        Self(all)
    }

    /// Returns the kinds of lines that differ.
    fn unlike(&self, before: &Self) -> BTreeSet<&'static str> {
        self.0.symmetric_difference(&before.0).map(|(kind, _)| *kind).collect()
    }
}

fn said(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

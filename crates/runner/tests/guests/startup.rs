//! Tests the start of programs: its time is measured, timeouts and failures are reported, and
//! backgrounds run. Also tests the effects of a scheduler's tunables, and of jobs with files of
//! their own.

use crate::place;
use crate::repeatable::{summary_on, trials_of};
use disklab_config::device::Model;
use disklab_config::read::{TomlReader, TomlTable};
use disklab_config::workload::WorkloadKind;
use disklab_config::{Lab, Trial, Workload};
use disklab_disks::Op;
use disklab_protocol::names;
use disklab_record::{Outcome, Record, Status};
use disklab_runner::Installation;
use disklab_trace::TraceEntry;
use disklab_units::Rate;
use libtest_mimic::Trial as Test;
use serde_json::Value;
use std::path::Path;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("a_start_takes_as_long_again", a_start_takes_as_long_again),
        crate::test(
            "threads_of_a_start_wait_for_each_other",
            threads_of_a_start_wait_for_each_other,
        ),
        crate::test("a_start_that_times_out_is_a_result", a_start_that_times_out_is_a_result),
        crate::test("a_program_that_fails_is_told_with_its_words", a_program_that_fails),
        crate::test("a_workload_runs_beside_a_start", a_workload_runs_beside_a_start),
        crate::test("tunables_are_set_and_read_back", tunables_are_set_and_read_back),
        crate::test("jobs_share_one_window", jobs_share_one_window),
        crate::test("idle_starts_keep_to_their_disks_physics", idle_starts_keep_to_physics),
    ]
}

const START: &str = r#"
summary = "a program with a library and a folder"
[startup]
command = ["sh", "-c", "echo no such luck >&2; exit 3"]
limit = "LIMIT"
files = [
    "300000 /bin/it", "0 /lib -> usr/lib", "2000000 /usr/lib/lib.so", "0 /etc/", "12 /etc/conf",
]
steps = """
0 look 0
0 read 0 0 4096
0 map 0 65536 8192
2000 look 2
0 map 2 1900000 100000
0 map 2 0 300000
0 list 3
1000 read 4 0 12
"""
"#;

const READERS: &str = r#"
summary = "three readers"
filesize = "64 MiB"
own_files = true
sync_every = "500ms"
[[job]]
rw = "read"
bs = "64k"
ioengine = "psync"
numjobs = 2
[[job]]
rw = "randwrite"
bs = "4k"
ioengine = "psync"
rate = "40 kB/s"
"#;

fn trials(limit: &str, axes: &str) -> Vec<Trial> {
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    for (name, text) in [("start", START.replace("LIMIT", limit)), ("readers", READERS.to_owned())]
    {
        let read = |table: &TomlTable| Workload::read(name, table);
        lab.workloads.insert(name.to_owned(), TomlReader::new(name, &text).read(read).unwrap());
    }
    lab_trials(&lab, axes)
}

/// Returns short trials of a suite with these axes.
pub fn lab_trials(lab: &Lab, axes: &str) -> Vec<Trial> {
    let suite = format!(
        "question = \"?\"\nseeds = 1\nmemory = \"256 MiB\"\nkernel = \"newest\"\n\
         runtime = {{ rotational = \"2s\", solid_state = \"200ms\" }}\n\
         ramp = {{ rotational = \"1s\", solid_state = \"100ms\" }}\n[axes]\n{axes}\n"
    );
    trials_of(&suite, lab)
}

/// Returns the outcome of each trial in order, and the steps of its guest.
pub fn outcomes(trials: &[Trial]) -> Vec<(Outcome, Vec<Value>)> {
    let here = tempfile::tempdir().unwrap();
    let (installation, cache) = (Installation::find().unwrap(), place::cache());
    let (_, folder) = summary_on(place::kernel(), &installation, &cache, trials, here.path(), 2);
    let record = Record::open(&folder).unwrap();
    let steps = |outcome: &Outcome| {
        // A skipped trial has no steps.
        let Some(raw) = outcome.raw.as_deref() else { return Vec::new() };
        let raw = record.folder().join(raw);
        let text = std::fs::read_to_string(raw.join(names::STEPS)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let of = |(id, outcome): (&str, Option<&Outcome>)| {
        let outcome = outcome.unwrap_or_else(|| panic!("{id} has not run")).clone();
        let steps = steps(&outcome);
        (outcome, steps)
    };
    record.outcomes().into_iter().map(of).collect()
}

pub fn measure(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.measures.get(name);
    found.unwrap_or_else(|| panic!("no {name}: {:?} {:?}", outcome.reason, outcome.measures)).value
}

fn a_start_takes_as_long_again() {
    let axes = "array = [\"bfq-hdd\", \"bfq-ssd\", \"hdd-xfs\"]\nworkload = [\"start\"]";
    let all = trials("60s", axes);
    let (first, second) = (outcomes(&all), outcomes(&all));
    let times: Vec<f64> = first.iter().map(|(outcome, _)| measure(outcome, "start-up")).collect();
    let again: Vec<f64> = second.iter().map(|(outcome, _)| measure(outcome, "start-up")).collect();
    assert_eq!(
        times.iter().map(|time| time.to_bits()).collect::<Vec<_>>(),
        again.iter().map(|time| time.to_bits()).collect::<Vec<_>>()
    );
    // The start has 3 ms of computing, and about a dozen requests to a disk that takes 12 ms on
    // average for a distant one.
    let [hdd, ssd, xfs] = times[..] else { panic!("{times:?}") };
    assert!((20e6..300e6).contains(&hdd) && (20e6..300e6).contains(&xfs), "{times:?}");
    assert!((3e6..20e6).contains(&ssd), "{times:?}");
}

/// Replays each program of the lab on an idle disk. No read is faster than its bytes cross the
/// link, and all reads together are no faster than the medium. The start takes at most its
/// computing, the bytes at the slowest rate and, for each request, the longest seek and two turns.
fn idle_starts_keep_to_physics() {
    let lab = Lab::load(&place::share().lab()).unwrap();
    let programs = lab
        .workloads
        .values()
        .filter(|workload| workload.startup().is_some())
        .map(|workload| format!("{:?}", workload.name));
    let programs: Vec<String> = programs.collect();
    assert!(programs.len() >= 5, "{programs:?}");
    let axes = format!("array = [\"bfq-hdd\", \"bfq-ssd\"]\nworkload = [{}]", programs.join(", "));
    let all = lab_trials(&lab, &axes);
    let here = tempfile::tempdir().unwrap();
    let (installation, cache) = (Installation::find().unwrap(), place::cache());
    let (_, folder) = summary_on(place::kernel(), &installation, &cache, &all, here.path(), 2);
    let record = Record::open(&folder).unwrap();
    for trial in &all {
        let id = &trial.id;
        let outcome = record.outcome(id).unwrap_or_else(|| panic!("{id} has not run"));
        let start = measure(outcome, "start-up");
        let model = &trial.devices[0].model;
        // Rates of the link and of the medium at its fastest and slowest, and the longest time of a
        // request besides its bytes (ns). A cache segment's data may have been read before.
        let (link, fastest, slowest, most, held) = match model {
            Model::Hdd(hdd) => {
                let most = hdd.seek_full.0 as f64 + 2.0 * 60e9 / f64::from(hdd.rpm);
                let held = hdd.cache.0 / u64::from(hdd.cache_segments);
                (hdd.link, hdd.rate_outer, hdd.rate_inner, most, held as f64)
            }
            Model::Ssd(ssd) => (ssd.link, ssd.link, Rate(ssd.link.0 / 8), 2e6, 0.0),
            other => panic!("{other:?}"),
        };
        let time = |bytes: f64, rate: Rate| bytes / rate.0 as f64 * 1e9;
        let trace = disklab_trace::find(&record.raw(outcome).unwrap()).unwrap();
        let (mut begun, mut requests, mut bytes) = (None, 0_u32, 0.0);
        for entry in disklab_trace::open(&trace).unwrap() {
            match entry.unwrap() {
                TraceEntry::Mark { at, text } => {
                    begun = text.starts_with("begin measure").then_some(at);
                }
                TraceEntry::Served(served) if begun.is_some() && served.op == Op::Read => {
                    let length = f64::from(served.sectors) * 512.0;
                    let took = (served.ended - served.submitted) as f64;
                    assert!(
                        took >= time(length, link) * 0.999,
                        "{id}: {length} bytes in {took} ns"
                    );
                    (requests, bytes) = (requests + 1, bytes + length);
                    let until = served.ended - begun.unwrap();
                    let least = time(bytes - held, fastest);
                    assert!(until as f64 >= least * 0.999, "{id}: {bytes} bytes in {until} ns");
                }
                TraceEntry::Served(_) => {}
            }
        }
        let computing = trial.workload.startup().unwrap().threads.computing().0 as f64;
        let longest = computing + f64::from(requests) * most + time(bytes, slowest);
        assert!(requests > 10, "{id} read nothing");
        assert!(
            start <= longest,
            "{id}: {start} ns, and no more than {longest} for {requests} requests"
        );
    }
}

/// Two threads compute in parallel, one of them after the first has made a step. Nothing waits for
/// the fourth thread.
fn threads_of_a_start_wait_for_each_other() {
    let steps = "0 look 0\nafter 1 1\nafter 2 1\n0 look 0\nthread 1\nafter 0 0\n2000000 look \
        0\nthread 2\nafter 1 0\nafter 0 1\n\
                 3000000 look 0\nthread 3\nafter 2 1\n50000000 look 0\n";
    let (head, _) = START.split_once("0 look 0\n").unwrap();
    let text = format!("{head}{steps}\"\"\"\n").replace("LIMIT", "60s");
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    let start = TomlReader::new("start", &text)
        .read(|table: &TomlTable| Workload::read("start", table))
        .unwrap();
    lab.workloads.insert("start".to_owned(), start);
    let all = lab_trials(&lab, "array = [\"bfq-hdd\"]\nworkload = [\"start\"]");
    let [(outcome, _)] = &outcomes(&all)[..] else { panic!("one trial") };
    let time = measure(outcome, "start-up");
    assert!((3.0e9..3.2e9).contains(&time), "{time} ns");
}

fn a_start_that_times_out_is_a_result() {
    let all = trials("5ms", "array = [\"bfq-hdd\"]\nworkload = [\"start\"]");
    let [(outcome, _)] = &outcomes(&all)[..] else { panic!("one trial") };
    assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.reason);
    let found = &outcome.measures["start-up"];
    assert!(found.censored && (found.value - 5e6).abs() < 1.0, "{found:?}");
    assert_eq!(
        outcome.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["start-up: timed out after 5 ms"]
    );
}

fn a_program_that_fails() {
    let mut all = trials("60s", "array = [\"bfq-ssd\"]\nworkload = [\"start:program\"]");
    // The files are this machine's, so that there is a shell.
    let WorkloadKind::Startup(startup) = &mut all[0].workload.kind else { panic!("no start-up") };
    startup.files.clear();
    startup.files.push(disklab_config::startup::StartupEntry {
        path: "/etc/passwd".to_owned(),
        kind: disklab_config::startup::EntryKind::File(disklab_units::Bytes(1)),
    });
    let [(outcome, _)] = &outcomes(&all)[..] else { panic!("one trial") };
    assert_eq!(outcome.status, Status::Failed);
    let reason = outcome.reason.as_deref().unwrap();
    assert!(reason.starts_with("sh cannot be run: No such file"), "{reason}");
}

fn a_workload_runs_beside_a_start() {
    let axes = "array = [\"bfq-hdd\"]\nworkload = [\"start\"]\nbackground = [\"none\", \
        \"readers\"]\nscheduler = [\"none\", \"bfq\"]";
    let all = outcomes(&trials("60s", axes));
    let time = |at: usize| measure(&all[at].0, "start-up");
    assert!(time(2) > 2.0 * time(0), "beside readers {} ns, alone {} ns", time(2), time(0));
    assert!(time(3) < time(2), "bfq {} ns, none {} ns", time(3), time(2));
    for (outcome, steps) in &all[2..] {
        let beside = steps.iter().find(|step| step["step"] == "background").expect("it ran");
        assert_eq!(
            (beside["stopped"].as_bool(), beside["passes"].as_u64()),
            (Some(true), Some(0)),
            "{beside}"
        );
        assert!(beside["ran_ns"].as_u64() >= Some(1_000_000_000), "{beside}");
        assert!(measure(outcome, "read from disks") > 10e6, "{:?}", outcome.measures);
    }
    assert!(!all[0].0.measures.contains_key("read from disks"));
}

fn tunables_are_set_and_read_back() {
    let axes = "array = [\"bfq-ssd\"]\nworkload = [\"start\"]\n\
                scheduler = [\"bfq:slice_idle=0,low_latency=0,read_ahead_kb=64\", \
                \"none:nr_requests=7\"]";
    let all = outcomes(&trials("60s", axes));
    let said = |at: usize| -> Vec<(String, String)> {
        let set = all[at].1.iter().filter(|step| step["step"] == "set");
        let word = |step: &Value, name: &str| step[name].as_str().unwrap().to_owned();
        let name = |path: &str| Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
        set.map(|step| (name(&word(step, "path")), word(step, "says"))).collect()
    };
    let pair = |name: &str, says: &str| (name.to_owned(), says.to_owned());
    let bfq = [
        pair("scheduler", "none mq-deadline kyber [bfq]"),
        pair("slice_idle", "0"),
        pair("low_latency", "0"),
        pair("read_ahead_kb", "64"),
    ];
    assert_eq!(said(0), bfq);
    assert_eq!(
        said(1),
        [pair("scheduler", "[none] mq-deadline kyber bfq"), pair("nr_requests", "7")]
    );
}

fn jobs_share_one_window() {
    let all = outcomes(&trials(
        "60s",
        "array = [\"bfq-hdd\"]\nworkload = [\"readers\"]\nscheduler = [\"bfq\"]",
    ));
    let [(outcome, _)] = &all[..] else { panic!("one trial") };
    assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.reason);
    let (read, written) =
        (measure(outcome, "read from disks"), measure(outcome, "written to disks"));
    // The disk moves at most 125 MB/s. The writer is limited to 40 kB/s, and the filesystem writes
    // about as much.
    assert!((20e6..125e6).contains(&read), "{read}");
    assert!((20e3..2e6).contains(&written), "{written}");
    // fio's sum covers the same time for all jobs, so that it is no more than the disk's.
    let sample = outcome.sample.as_ref().unwrap();
    assert!(sample.read.as_ref().unwrap().bw_bytes as f64 <= 125e6, "{:?}", sample.read);
}

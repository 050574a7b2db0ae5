//! Tests programs that start or play, loads beside them, their priorities, power cuts, and every
//! mistake with these.

use crate::small_lab::SmallLab;
use disklab_config::priority::{Ioprio, Priority};
use disklab_config::{Lab, Trial};
use disklab_units::{Bytes, Nanos};

const START: &str = "\
summary = \"a start\"
ioprio = \"best-effort:0\"
[startup]
command = [\"it\", \"-x\"]
environment = [\"DISPLAY=:9\"]
server = [\"Xvfb\", \":9\"]
limit = \"5s\"
files = [\"9000 /bin/it\", \"0 /lib -> usr/lib\", \"0 /etc/\"]
steps = \"\"\"
12 read 0 0 4096
0 map 0 8192 808
3 look 1

0 miss 2
after 1 1
0 list 2
thread 1
after 0 2
30 look 2
\"\"\"
";

const FILM: &str = "\
summary = \"a film\"
filesize = \"64 MiB\"
[player]
frames = 25
rate = \"1 MB/s\"
rw = \"read\"
bs = \"64k\"
";

const BESIDE: &str = "\
summary = \"a load and a program\"
lead = { rotational = \"5s\", solid_state = \"75ms\" }
workload = \"sequential\"
room = \"64 MiB\"
ioprio = \"idle\"
weight = 10
[[prepare]]
command = [\"touch\", \"{pool}/it\"]
[[process]]
command = [\"cat\", \"{pool}/it\"]
pause = \"4s\"
";

fn lab() -> SmallLab {
    let lab = SmallLab::new();
    lab.write("workloads/start.toml", START);
    lab.write("workloads/film.toml", FILM);
    lab.write("backgrounds/beside.toml", BESIDE);
    let raw = "summary = \"raw\"\nrw = \"read\"\nbs = \"4k\"\nfilesize = \"1 GiB\"\n\
    ioengine = \"psync\"\nraw = true\n";
    lab.write("workloads/raw.toml", raw);
    lab.write("arrays/ext4.toml", "summary = \"ext4\"\njoin = \"ext4\"\ndevices = [\"plain\"]\n");
    lab
}

/// Returns the mistakes of the lab if a piece of a file is replaced.
fn mistakes((path, text): (&str, &str), from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    let lab = lab();
    lab.write(path, &text.replacen(from, to, 1));
    let found = Lab::load(lab.path()).expect_err("no mistake was found");
    lab.relative(&found).replace(&format!("{path}:"), "")
}

/// Returns the trials of the suite with a piece replaced and other values of its axes.
fn trials(from: &str, to: &str, sets: &[(&str, &str)]) -> Result<Vec<Trial>, String> {
    let lab = lab();
    let mut suite = lab.suite(from, to)?;
    for (axis, values) in sets {
        suite.set(axis, values).map_err(|mistakes| lab.relative(&mistakes))?;
    }
    lab.trials(&suite)
}

#[test]
fn a_start_takes_its_own_time() {
    let sets = [("workload", "start,start:program"), ("policy", "pid"), ("background", "beside")];
    let all =
        trials("runtime = { rotational = \"20s\", solid_state = \"300ms\" }\n", "", &sets).unwrap();
    let trial = &all[0];
    assert_eq!((trial.runtime, trial.ramp), (Nanos::from_secs(5), Nanos::ZERO));
    let start = trial.workload.startup().unwrap();
    assert_eq!(
        (start.server.len(), start.environment[0].as_str(), start.threads.uses().count()),
        (2, "DISPLAY=:9", 6)
    );
    assert_eq!((start.bytes(), start.threads.computing()), (Bytes(9000), Nanos::from_micros(42)));
    let high = Priority { ioprio: Some(Ioprio::BestEffort(0)), weight: None };
    assert_eq!(trial.workload.priority, high);
    let beside = trial.background.as_ref().unwrap();
    assert_eq!(beside.priority, Priority { ioprio: Some(Ioprio::Idle), weight: Some(10) });
    assert_eq!((beside.processes[0].pause, beside.prepare.len()), (Nanos::from_secs(4), 1));
    // The room is that of the workload's file, and the most that its programs write.
    assert_eq!(beside.bytes(), Bytes::gib(1) + Bytes::mib(64));
}

#[test]
fn mistakes_in_a_start() {
    let start = ("workloads/start.toml", START);
    for (from, to, message) in [
        ("\"9000 /bin/it\"", "\"many /bin/it\"", "expected a number of bytes before the path"),
        ("\"9000 /bin/it\"", "\"9000 bin/it\"", "expected a path that begins with /"),
        ("\"9000 /bin/it\"", "\"9000 /bin/../it\"", "expected a plain path, without . and .."),
        ("\"9000 /bin/it\"", "\"9000000000000000 /bin/it\"", "the file is larger than"),
        ("-> usr/lib", "-> ", "expected the target of the link"),
        (
            "\"9000 /bin/it\"",
            "\"9000 /bin/it\", \"1 /bin/it\"",
            "`1 /bin/it`: it is listed already",
        ),
        (
            "\"9000 /bin/it\"",
            "\"9000 /bin/it\", \"1 /bin/it/it\"",
            "`1 /bin/it/it`: `/bin/it` is not a folder",
        ),
        ("\"9000 /bin/it\"", "\"9000 /bin/it\", \"1 /bin\"", "`1 /bin`: it is listed already"),
        // A path through a link would put the file elsewhere.
        ("\"9000 /bin/it\"", "\"0 /a -> /\", \"9000 /a/it\"", "`9000 /a/it`: `/a` is not a folder"),
        ("12 read", "x read", "line 1, `x read 0 0 4096`: `x` is not a number"),
        ("12 read", "12 write", "`write` is not what a step does: read, map, look, miss or list"),
        ("read 0 0 4096", "read 7 0 4096", "file 7 is out of range: there are "),
        ("read 0 0 4096", "read 0 0 9001", "out of range: the file has 9000"),
        ("read 0 0 4096", "read 0 18446744073709551615 2", "out of range: the file has 9000"),
        (
            "read 0 0 4096",
            "read 0 0",
            "expected the first byte and the number of bytes after the file",
        ),
        ("read 0 0 4096", "read 2 0 1", "/etc is not a file"),
        (
            "look 1",
            "look",
            "line 3, `3 look`: expected MICROSECONDS ACTION FILE, such as `3 look 1`",
        ),
        ("miss 2", "miss 0", "`miss` is not what a step does"),
        ("thread 1", "thread 2", "line 8, `thread 2`: expected `thread 1`"),
        ("after 0 2", "0 look 2", "thread 1 does not begin with `after`"),
        ("after 1 1", "after 1 2", "thread 0 waits for use 2 of thread 1, which has fewer"),
        ("after 1 1", "after 0 1", "thread 0 waits for use 1 of thread 0, which has fewer"),
        ("after 1 1", "after 7 0", "thread 0 waits for use 0 of thread 7, which has fewer"),
        ("after 1 1", "after 1 x", "`x` is not a number"),
        ("after 0 2", "after 0 5", "threads wait for each other in a circle"),
        ("\"5s\"", "\"5 h\"", "7:9: startup.limit: 18000 s is out of range"),
        ("\"DISPLAY=:9\"", "\"=9\"", "5:16: startup.environment: `=9` is not NAME=value"),
        ("\"it\", \"-x\"", "\"it\\u0000\"", "what a program is given cannot have a NUL"),
        ("command = [\"it\", \"-x\"]\n", "", "startup.command: is missing"),
        ("limit", "limits", "startup.limits: unknown key; did you mean `limit`?"),
        ("\"best-effort:0\"", "\"best-effort:9\"", "`best-effort:9` is not an I/O priority"),
    ] {
        let found = mistakes(start, from, to);
        assert!(found.contains(message), "{to}: {found}");
    }
}

#[test]
fn mistakes_beside() {
    let beside = ("backgrounds/beside.toml", BESIDE);
    for (from, to, message) in [
        (
            "\"sequential\"",
            "\"sequentail\"",
            "workload: unknown workload `sequentail`; did you mean `sequential`?",
        ),
        (
            "\"sequential\"",
            "\"film\"",
            "workload `film` ends by itself; a background needs one of: ",
        ),
        ("weight = 10", "weight = 0", "6:10: weight: 0 is out of range (1 to 1000)"),
        ("\"4s\"", "\"40 h\"", "process.pause: 144000 s is out of range"),
        ("command = [\"touch\", \"{pool}/it\"]", "command = []", "prepare.command"),
        (
            "\"{pool}/it\"]\npause",
            "\"{tree}/it\"]\npause",
            "`{tree}` stands for one of the [trees], and there are none",
        ),
    ] {
        let found = mistakes(beside, from, to);
        assert!(found.contains(message), "{to}: {found}");
    }
    let idle = "summary = \"x\"\nlead = { rotational = \"5s\", solid_state = \"75ms\" }\n";
    let lab = lab();
    lab.write("backgrounds/beside.toml", idle);
    let found = lab.relative(&Lab::load(lab.path()).unwrap_err());
    assert!(found.contains("a background needs a `workload`, [snapshots], or programs"), "{found}");
}

#[test]
fn what_plays_needs_a_time_and_a_film_that_lasts() {
    let runtime = "runtime = { rotational = \"20s\", solid_state = \"300ms\" }\n";
    let sets = [("workload", "film"), ("policy", "pid")];
    let trial = &trials("[axes]", "[axes]", &sets).unwrap()[0];
    assert_eq!((trial.runtime, trial.ramp), (Nanos::from_millis(300), Nanos::ZERO));
    let found = trials(runtime, "", &sets).unwrap_err();
    assert!(found.contains("workload `film`: the suite has no `runtime`"), "{found}");
    let found = trials("\"20s\"", "\"100s\"", &sets).unwrap_err();
    assert!(found.contains("a film of 100 s has 95."), "{found}");
    // A player cannot run as a background.
    let found = trials("[axes]", "[axes]", &[("background", "film")]).unwrap_err();
    assert!(found.contains("unknown background `film`"), "{found}");
}

const FILES: &str = "summary = \"files\"\n[fsload]\nscale = 10\n[[fsload.files]]\n\
name = \"mail\"\ncount = 1000\n\
                     size = \"16 KiB\"\n[[fsload.threads]]\nname = \"mail\"\nloop = [\"stat\"]\n";

#[test]
fn many_files_have_a_size_threads_and_a_filesystem() {
    let lab = lab();
    lab.write("workloads/files.toml", FILES);
    let reader = "[[fsload.threads]]\nname = \"reader\"\nloop = [\"stat\"]\n";
    lab.write("workloads/two.toml", &format!("{FILES}{reader}"));
    let with = |sets: &[(&str, &str)]| {
        let mut suite = lab.suite("[axes]", "[axes]")?;
        for (axis, values) in sets {
            suite.set(axis, values).map_err(|mistakes| lab.relative(&mistakes))?;
        }
        lab.trials(&suite)
    };
    let all = with(&[("workload", "files,files:full"), ("policy", "pid"), ("jobs", "3")]).unwrap();
    let found = |name: &str| {
        let is_it = |trial: &&Trial| trial.cell.iter().any(|(_, value)| value == name);
        let trial = all.iter().find(is_it).unwrap();
        (trial.workload.bytes(), trial.workload.file_load().unwrap().thread_count())
    };
    assert_eq!(found("files"), (Bytes::kib(16 * 100), 3));
    assert_eq!(found("files:full"), (Bytes::kib(16 * 1000), 3));
    let several = with(&[("workload", "two"), ("policy", "pid"), ("jobs", "3")]).unwrap_err();
    assert!(
        several.contains("`two` has several kinds of threads, each with its own count"),
        "{several}"
    );
    let other = with(&[("workload", "film:full"), ("policy", "pid")]).unwrap_err();
    assert!(other.contains("`film` has no files that it could have more of"), "{other}");
}

#[test]
fn raw_readers_need_one_device_that_is_not_written() {
    let on = |array: &str, axis: &str| {
        trials("[axes]", "[axes]", &[("array", array), (axis, "raw"), ("policy", "pid")])
    };
    let found = on("pair", "background").unwrap_err();
    assert!(found.contains("`raw` reads one device, and array `pair` has several"), "{found}");
    let trial = &trials(
        "policy = [\"pid\", \"round-robin:4k\"]",
        "",
        &[("array", "ext4"), ("workload", "raw"), ("background", "raw")],
    );
    // The baseline names an axis that the suite no longer has.
    assert!(trial.is_err());
    let text = crate::small_lab::SUITE
        .replace("policy = [\"pid\", \"round-robin:4k\"]", "")
        .replace("baseline", "# baseline");
    let lab = lab();
    lab.write(
        "suites/raw.toml",
        &text.replace("\"pair\", \"turning-pair\"", "\"ext4\"").replace("\"random\"", "\"raw\""),
    );
    let all = lab.load().suite("raw").unwrap().trials(&lab.load()).unwrap();
    assert_eq!(all[0].workload.bytes(), Bytes(0));
    let raw = "summary = \"raw\"\nrw = \"rw\"\nbs = \"4k\"\nfilesize = \"1 GiB\"\n\
    ioengine = \"psync\"\nraw = true\n";
    let found = mistakes(("workloads/raw.toml", raw), "raw", "raw");
    assert!(found.contains("raw: is for readers"), "{found}");
}

#[test]
fn metrics_and_power_cuts() {
    let with = |line: &str| lab().suite("[axes]", &format!("{line}\n[axes]")).unwrap_err();
    let found = trials("[axes]", "metrics = [\"iops\", \"frames lots\"]\n[axes]", &[]).unwrap_err();
    assert!(
        found.contains("metrics: unknown metric `frames lots`; did you mean `frames lost`?"),
        "{found}"
    );
    let found = with("power_cut = { cuts = 0 }");
    assert!(found.contains("power_cut.cuts: 0 is out of range (1 to 64)"), "{found}");
    let found = with("power_cut = { cuts = 1, flushes = \"keep\" }");
    assert!(found.contains("unknown treatment of flushes `keep`; did you mean `kept`?"), "{found}");
    let found = with("power_cut = { cuts = 5, states = 13 }");
    assert!(found.contains("5 cuts of 13 states are more than 64 in all"), "{found}");
    let found = with("power_cut = { flushes = \"kept\" }");
    assert!(found.contains("power_cut.cuts: is missing"), "{found}");
    let suite =
        lab().suite("[axes]", "metrics = [\"longest stall\", \"read p99\"]\n[axes]").unwrap();
    assert_eq!(suite.metrics, ["longest stall", "read p99"]);
}

#[test]
fn commas_between_schedulers_and_between_tunables() {
    let sets = [
        ("scheduler", "bfq:slice_idle=0,low_latency=0,none,mq-deadline:read_ahead_kb=128"),
        ("policy", "pid"),
    ];
    let all = trials("[axes]", "[axes]", &sets).unwrap();
    let mut found: Vec<String> = all.iter().map(|trial| trial.scheduler.to_string()).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, ["bfq:slice_idle=0,low_latency=0", "mq-deadline:read_ahead_kb=128", "none"]);
}

//! Tests workloads of phases: their parts, every mistake in one, the names of their results, and
//! arrays on which they do not fit.

use disklab_config::command::filled;
use disklab_config::phases::{Caches, PhaseAction, PrintedNumbers};
use disklab_config::{Lab, Trial, Workload};
use disklab_units::{Bytes, Nanos};

use crate::small_lab::SmallLab;

const PHASES: &str = "\
summary = \"a file, a program, a mount\"
system_call = \"5us\"
numjobs = 4
room = \"1 GiB\"
needs = [\"tar\"]
expected = { rotational = \"2min\", solid_state = \"10s\" }
[[prepare]]
command = [\"mkdir\", \"{pool}/tree\"]
[[phase]]
name = \"create\"
filesize = \"2 GiB\"
file = \"a\"
rw = \"write\"
bs = \"1M\"
ioengine = \"psync\"
[[phase]]
name = \"both\"
filesize = \"2 GiB\"
[[phase.job]]
file = \"a\"
rw = \"read\"
bs = \"1M\"
ioengine = \"psync\"
[[phase.job]]
file = \"b\"
stonewall = true
rw = \"randread\"
bs = \"4k\"
ioengine = \"psync\"
filesize = \"1 GiB\"
[[phase]]
name = \"clients\"
command = [\"dbench\", \"-D\", \"{pool}\", \"{jobs}\"]
caches = \"warm\"
limit = \"10min\"
numbers = \"dbench\"
[phase.reader]
filesize = \"512 MiB\"
rw = \"randread\"
bs = \"4k\"
ioengine = \"psync\"
[[phase]]
name = \"mount\"
remount = true
";

fn lab_with(text: &str) -> SmallLab {
    let lab = SmallLab::new();
    lab.write("workloads/phases.toml", text);
    lab
}

fn workload(text: &str) -> Workload {
    lab_with(text).load().workloads.remove("phases").unwrap()
}

/// Returns the mistakes of the lab if a piece of the file is replaced.
fn mistakes(from: &str, to: &str) -> String {
    assert!(PHASES.contains(from), "{from}");
    let lab = lab_with(&PHASES.replacen(from, to, 1));
    let found = Lab::load(lab.path()).expect_err("no mistake was found");
    lab.relative(&found).replace("workloads/phases.toml:", "")
}

/// Returns the trials of a suite of phases with these lines at its top, on these arrays.
fn trials(
    lab: &SmallLab,
    lines: &str,
    arrays: &str,
    workloads: &str,
) -> Result<Vec<Trial>, String> {
    let suite = format!(
        "question = \"?\"\nseeds = 1\nmemory = \"256 MiB\"\n{lines}\n[axes]\narray = [{arrays}]\n\
         workload = [{workloads}]\n"
    );
    lab.write("suites/phases.toml", &suite);
    let suite = lab.load().suite("phases").map_err(|mistakes| lab.relative(&mistakes))?;
    lab.trials(&suite)
}

#[test]
fn phases_are_what_their_file_says() {
    let phases = workload(PHASES).phases().unwrap().clone();
    assert_eq!(
        (phases.system_call, phases.numjobs, phases.all.len()),
        (Nanos::from_micros(5), 4, 4)
    );
    let names: Vec<&str> = phases.all.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["create", "both", "clients", "mount"]);
    // The first phase makes `a`. No phase makes `b` and the reader's file.
    let laid_out = [("b".to_owned(), Bytes::gib(1)), ("reader".to_owned(), Bytes::mib(512))];
    assert_eq!(phases.laid_out(), laid_out);
    assert_eq!(phases.bytes(), Bytes::mib(1024 + 2048 + 1024 + 512));
    let PhaseAction::Fio(jobs) = &phases.all[1].what else { panic!("fio's") };
    assert_eq!((jobs[0].file_size, jobs[1].file_size), (Bytes::gib(2), Bytes::gib(1)));
    assert_eq!((jobs[0].stonewall, jobs[1].stonewall), (false, true));
    let PhaseAction::Program { command, numbers } = &phases.all[2].what else {
        panic!("a program")
    };
    assert_eq!((command.len(), *numbers), (4, Some(PrintedNumbers::Dbench)));
    assert_eq!((phases.all[2].caches, phases.all[2].limit), (Caches::Warm, Nanos::from_secs(600)));
    assert_eq!(
        (phases.all[0].caches, phases.limit()),
        (Caches::Cold, Nanos::from_secs(3 * 3600 + 600))
    );
    assert_eq!(phases.all[3].what, PhaseAction::Remount);
    assert_eq!(phases.programs().collect::<Vec<_>>(), ["dbench", "mkdir", "tar"]);
    let words = ["{pool}/{jobs}", "{device}", "{last}", "{spare}"].map(str::to_owned);
    let found = filled(&words, "/pool", "/dev/a", "/dev/c", Some("/dev/d"), 4);
    assert_eq!(found, ["/pool/4", "/dev/a", "/dev/c", "/dev/d"]);
}

#[test]
fn the_names_of_results() {
    let names: Vec<String> = workload(PHASES).phases().unwrap().clone().metrics().collect();
    for name in [
        "create time",
        "create bandwidth",
        "create written to disks",
        "both read from disks",
        "clients throughput",
        "clients Flush max",
        "clients reader p99",
        "clients read from disks",
        "mount time",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    for name in
        ["create read from disks", "mount bandwidth", "mount reader p99", "create reader p99"]
    {
        assert!(!names.iter().any(|known| known == name), "{name}: {names:?}");
    }
}

#[test]
fn mistakes_in_phases() {
    for (from, to, message) in [
        ("name = \"both\"", "name = \"create\"", "name: `create` is given twice"),
        ("name = \"both\"", "name = \"Both\"", "`Both` is no phase's name"),
        ("name = \"both\"", "name = \"measure\"", "give it another name"),
        ("name = \"both\"\n", "", "name: is missing"),
        ("name = \"mount\"\nremount = true", "name = \"mount\"", "a phase is either fio's"),
        ("remount = true", "remount = true\ncommand = [\"x\"]", "a phase is either fio's"),
        ("remount = true", "remount = false", "remount: is true, or left out"),
        ("remount = true", "remount = true\nnumbers = \"dbench\"", "numbers: unknown key"),
        ("\"dbench\"\n[phase.reader]", "\"dbenhc\"\n[phase.reader]", "did you mean `dbench`?"),
        ("caches = \"warm\"", "caches = \"hot\"", "unknown state of caches `hot`"),
        ("limit = \"10min\"", "limit = \"0s\"", "limit: 0 ns is out of range"),
        ("rw = \"write\"", "rw = \"wirte\"", "did you mean `write`?"),
        (
            "file = \"a\"\nrw = \"write\"",
            "file = \"../a\"\nrw = \"write\"",
            "is not a plain name of a file",
        ),
        (
            "file = \"a\"\nrw = \"write\"",
            "file = \"reader\"\nrw = \"write\"",
            "is the file of [phase.reader]",
        ),
        ("file = \"a\"\nrw = \"write\"", "rw = \"write\"", "file: is missing"),
        (
            "filesize = \"2 GiB\"\n[[phase.job]]",
            "filesize = \"3 GiB\"\n[[phase.job]]",
            "which has 2 GiB when this phase begins",
        ),
        (
            "rw = \"randread\"\nbs = \"4k\"\nioengine = \"psync\"\n[[phase]]\nname = \"mount\"",
            "rw = \"randwrite\"\nbs = \"4k\"\nioengine = \"psync\"\n[[phase]]\nname = \"mount\"",
            "a reader reads",
        ),
        (
            "remount = true\n",
            "remount = true\n[phase.reader]\nfilesize = \"1 MiB\"\nrw = \"read\"\nbs = \"4k\"\n\
             ioengine = \"psync\"\n",
            "no file to read while",
        ),
        ("system_call = \"5us\"", "system_call = \"5s\"", "system_call: 5 s is out of range"),
        ("system_call = \"5us\"", "sytem_call = \"5us\"", "did you mean `system_call`?"),
        ("[\"mkdir\", \"{pool}/tree\"]", "[]", "needs at least one element"),
        ("[\"mkdir\", \"{pool}/tree\"]", "[\"mkdir\", \"{tree}\"]", "there are none"),
    ] {
        let found = mistakes(from, to);
        assert!(found.contains(message), "{to}: {found}");
    }
}

#[test]
fn a_suite_of_phases_needs_no_time() {
    let lab = lab_with(PHASES);
    let all = trials(&lab, "", "\"pair\"", "\"phases\"").unwrap();
    assert_eq!((all[0].runtime, all[0].ramp), (Nanos::from_secs(3 * 3600 + 600), Nanos::ZERO));
    let found = trials(&lab, "", "\"pair\"", "\"phases\", \"random\"").unwrap_err();
    assert!(found.contains("workload `random`: the suite has no `runtime`"), "{found}");
    let found = trials(&lab, "", "\"alone\"", "\"phases\"").unwrap_err();
    assert!(
        found.contains("its phases need a filesystem; array `alone` is a bare device"),
        "{found}"
    );
}

#[test]
fn metrics_are_those_of_the_suites_workloads() {
    let lab = lab_with(PHASES);
    let with = |metrics: &str, workloads: &str| {
        let lines = format!(
            "metrics = [{metrics}]\nruntime = {{ rotational = \"20s\", solid_state = \"300ms\" }}"
        );
        trials(&lab, &lines, "\"pair\"", workloads)
    };
    with("\"create bandwidth\", \"clients throughput\", \"clients reader p99.9\"", "\"phases\"")
        .unwrap();
    with("\"create bandwidth\", \"read p99\"", "\"phases\", \"random\"").unwrap();
    for (metrics, workloads, message) in [
        (
            "\"create bandwith\"",
            "\"phases\"",
            "unknown metric `create bandwith`; did you mean `create bandwidth`?",
        ),
        (
            "\"read p98\"",
            "\"phases\", \"random\"",
            "unknown metric `read p98`; did you mean `read p99`?",
        ),
        ("\"read p99\"", "\"phases\"", "no workload of this suite has `read p99`"),
        ("\"create time\"", "\"random\"", "no workload of this suite has `create time`"),
        ("\"mount time\", \"start-up\"", "\"phases\"", "no workload of this suite has `start-up`"),
    ] {
        let found = with(metrics, workloads).unwrap_err();
        assert!(found.contains(message), "{metrics} of {workloads}: {found}");
    }
    // With workloads from the command line, a suite's metrics may have no numbers. A mistyped
    // metric is still a mistake.
    let suite = |metric: &str| {
        let text = format!(
            "question = \"?\"\nseeds = 1\nmemory = \"256 MiB\"\nmetrics = [\"{metric}\"]\n\
             runtime = {{ rotational = \"20s\", solid_state = \"300ms\" }}\n[axes]\n\
             array = [\"pair\"]\nworkload = [\"phases\"]\n"
        );
        lab.write("suites/set.toml", &text);
        let mut suite = lab.load().suite("set").unwrap();
        suite.set("workload", "random").unwrap();
        lab.trials(&suite)
    };
    assert_eq!(suite("create time").unwrap().len(), 1);
    assert!(suite("creat time").unwrap_err().contains("did you mean `create time`?"));
}

#[test]
fn what_finds_no_place_is_told_of() {
    let lab = lab_with(&PHASES.replace("room = \"1 GiB\"", "room = \"6 GiB\""));
    // The files take 9.5 GiB, and only the larger pair has room.
    let all = trials(&lab, "", "\"pair\", \"turning-pair\"", "\"phases\"").unwrap();
    let reasons: Vec<Option<&str>> = all.iter().map(|trial| trial.unfit.as_deref()).collect();
    let [Some(reason), None] = reasons[..] else { panic!("{reasons:?}") };
    assert!(reason.contains("larger than array `pair` holds: 9 GiB at most"), "{reason}");
    let found = trials(&lab, "", "\"pair\"", "\"phases\"").unwrap_err();
    assert!(found.contains("larger than array `pair` holds: 9 GiB at most"), "{found}");
    // Only one of two arrays has a spare.
    let spared = "summary = \"pair\"\njoin = \"btrfs-raid1\"\ndevices = [\"plain\", \"plain\"]\n\
    spares = [\"plain\"]\n";
    let lab = lab_with(&PHASES.replace("\"{jobs}\"]", "\"{spare}\"]"));
    lab.write("arrays/spared.toml", spared);
    let all = trials(&lab, "", "\"pair\", \"spared\"", "\"phases\"").unwrap();
    assert!(
        all[0].unfit.as_ref().unwrap().contains("array `pair` has no `spares`"),
        "{:?}",
        all[0].unfit
    );
    assert_eq!((all[1].unfit.as_ref(), all[1].devices.len()), (None, 3));
    lab.write(
        "arrays/spared.toml",
        &spared.replace("spares = [\"plain\"]", "spares = [\"plane\"]"),
    );
    let found = lab.relative(&Lab::load(lab.path()).unwrap_err());
    assert!(found.contains("spares: unknown device `plane`; did you mean `plain`?"), "{found}");
}

#[test]
fn programs_of_a_filesystem_are_for_that_filesystem() {
    let lab = lab_with(&PHASES.replace("needs = [\"tar\"]", "needs = [\"btrfs\"]"));
    lab.write("arrays/other.toml", "summary = \"ext4\"\njoin = \"ext4\"\ndevices = [\"plain\"]\n");
    lab.write(
        "backgrounds/scrub.toml",
        "summary = \"scrub\"\nlead = { rotational = \"1s\", solid_state = \"1s\" }\n[[process]]\n\
         command = [\"btrfs\", \"scrub\"]\n",
    );
    let all = trials(&lab, "", "\"pair\", \"other\"", "\"phases\"").unwrap();
    let expected = "it runs `btrfs`, and array `other` (ext4) has no btrfs";
    assert_eq!([0, 1].map(|at: usize| all[at].unfit.as_deref()), [None, Some(expected)]);
    // If it fits on no array, that is a mistake.
    let found = trials(&lab, "", "\"other\"", "\"phases\"").unwrap_err();
    assert!(found.contains(expected), "{found}");
    let times =
        "runtime = { rotational = \"20s\", solid_state = \"300ms\" }\nbackground = \"scrub\"";
    let all = trials(&lab, times, "\"pair\", \"other\"", "\"random\"").unwrap();
    assert_eq!(all[0].unfit, None);
    assert_eq!(all[1].unfit, Some(format!("background `scrub`: {expected}")));
    let lab = lab_with(&PHASES.replace("[\"dbench\"", "[\"mdadm\""));
    let found = trials(&lab, "", "\"pair\"", "\"phases\"").unwrap_err();
    assert!(found.contains("it runs `mdadm`, and array `pair` (btrfs-raid1) has no md"), "{found}");
}

#[test]
fn jobs_are_what_commands_get() {
    let lab = lab_with(PHASES);
    let suite = "question = \"?\"\nseeds = 1\nmemory = \"256 MiB\"\n[axes]\narray = [\"pair\"]\n\
    workload = [\"phases\"]\njobs = [1, 8]\n";
    lab.write("suites/jobs.toml", suite);
    let read = || lab.load().suite("jobs").unwrap();
    let all = lab.trials(&read()).unwrap();
    let jobs: Vec<u32> = all.iter().map(|trial| trial.workload.phases().unwrap().numjobs).collect();
    assert_eq!(jobs, [1, 8]);
    lab.write("workloads/phases.toml", &PHASES.replace("\"{jobs}\"", "\"4\""));
    let found = lab.trials(&read()).unwrap_err();
    assert!(found.contains("no command of workload `phases` has `{jobs}`"), "{found}");
}

#[test]
fn a_check_of_md_is_for_md_with_copies() {
    let lab = lab_with(PHASES);
    let array = |name: &str, join: &str| {
        let text =
            format!("summary = \"x\"\njoin = \"{join}\"\ndevices = [\"plain\", \"plain\"]\n");
        lab.write(&format!("arrays/{name}.toml"), &text);
    };
    array("striped", "ext4-on-md-raid0");
    array("mirrored", "ext4-on-md-raid1");
    let check = include_str!("../../../../lab/backgrounds/md-check.toml");
    lab.write("backgrounds/md-check.toml", check);
    let times =
        "runtime = { rotational = \"20s\", solid_state = \"300ms\" }\nbackground = \"md-check\"";
    let arrays = "\"pair\", \"striped\", \"mirrored\"";
    let all = trials(&lab, times, arrays, "\"random\"").unwrap();
    let reasons = [0, 1, 2].map(|at: usize| all[at].unfit.clone().unwrap_or_default());
    assert!(reasons[0].contains("`/sys/block/md`, and array `pair`"), "{}", reasons[0]);
    assert!(reasons[0].ends_with("has no md"), "{}", reasons[0]);
    assert!(
        reasons[1].contains("array `striped`") && reasons[1].ends_with("has one"),
        "{}",
        reasons[1]
    );
    assert_eq!(reasons[2], "");
}

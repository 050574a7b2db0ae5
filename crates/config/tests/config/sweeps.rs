//! Tests axes over numbers.

use std::collections::BTreeSet;

use disklab_config::suite::Metadata;
use disklab_config::{Model, PolicyChoice, Trial};
use disklab_units::{Bytes, Nanos};

use crate::small_lab::{SUITE, SmallLab};

const DISK: &str = r#"
summary = "a hard disk"
size = "1 TB"
[hdd]
rpm = 7200
seek_track_to_track = "1 ms"
seek_average = "8 ms"
seek_full = "16 ms"
write_settle = "0.5 ms"
head_switch = "1 ms"
surfaces = 2
rate_outer = "200 MB/s"
rate_inner = "100 MB/s"
zones = 10
command_overhead = "0.2 ms"
link = "550 MB/s"
queue_depth = 32
queue_error = "8 ms"
queue_patience = "1 s"
cache = "64 MiB"
cache_segments = 16
look_ahead = "1 MiB"
write_cache = true
write_buffer = "16 MiB"
write_window = 16
"#;

/// Ranges of estimates.
const ESTIMATES: &str = "[estimated]\nqueue_patience = [\"300 ms\", \"3 s\"]\n\
    queue_error = [\"4 ms\", \"16 ms\"]\n";

/// Returns the trials of the lab's suite with these axes and without a baseline, on two hard disks.
fn suite(axes: &str) -> Result<Vec<Trial>, String> {
    asked(axes).map(|(trials, _)| trials)
}

/// Returns these trials, and the parts of the matrix that are left out.
fn asked(axes: &str) -> Result<(Vec<Trial>, Vec<String>), String> {
    let lab = SmallLab::new();
    lab.write("devices/disk.toml", &format!("{DISK}{ESTIMATES}"));
    let pair = "summary = \"pair\"\njoin = \"btrfs-raid1\"\npart = \"20 GiB\"\n\
    devices = [\"disk\", \"disk\"]\n";
    lab.write("arrays/disks.toml", pair);
    let own = format!("array = [\"disks\"]\nworkload = [\"random\"]\n{axes}\n");
    let all =
        SUITE.split_once("baseline").map(|(_, all)| format!("baseline{all}")).expect("a baseline");
    let mut suite = lab.suite(&all, &format!("[axes]\n{own}"))?;
    suite.set_seeds("1".parse()?);
    Ok((lab.trials(&suite)?, suite.left_out(&lab.load())))
}

fn trials(axes: &str) -> Vec<Trial> {
    suite(axes).unwrap_or_else(|error| panic!("{error}"))
}

const PID: &str = "policy = [\"pid\"]\n";

fn values(trials: &[Trial], axis: &str) -> Vec<String> {
    let value = |trial: &Trial| {
        trial.cell.iter().find(|(known, _)| known == axis).map(|(_, value)| value.clone())
    };
    trials.iter().filter_map(value).collect()
}

fn seeks(trial: &Trial) -> [[Nanos; 3]; 2] {
    [0, 1].map(|disk| match &trial.devices[disk].model {
        Model::Hdd(hdd) => [hdd.seek_track_to_track, hdd.seek_average, hdd.seek_full],
        other => panic!("{other:?}"),
    })
}

#[test]
fn one_disk_of_several_becomes_slower() {
    let all = trials(&format!("{PID}\"disk.2.seek\" = {{ log = [1, 4], steps = 5 }}"));
    assert_eq!(values(&all, "disk.2.seek"), ["1", "1.414", "2", "2.828", "4"]);
    assert_eq!(all[1].id, "disks+random+pid+1.414+s1");
    let ms = |times: [u64; 3]| times.map(|us| Nanos(us * 1000));
    assert_eq!(seeks(&all[1]), [ms([1000, 8000, 16000]), ms([1414, 11312, 22624])]);
    assert_eq!(seeks(&all[0]), [ms([1000, 8000, 16000]); 2]);
    assert_eq!(all[1].devices[1].used, Bytes::gib(20), "the array's part of it");
}

#[test]
fn any_key_of_a_file_can_be_an_axis() {
    let all = trials(&format!(
        "{PID}\"device.seek_average\" = {{ linear = [\"4 ms\", \"0.012s\"], steps = 3 }}\n\
         \"device.queue_depth\" = [1, 32]\n\
         \"workload.iodepth\" = [1, 8]\nmemory = [\"256 MiB\", \"0.5 GiB\"]"
    ));
    assert_eq!(all.len(), 3 * 2 * 2 * 2);
    let last = all.last().expect("a trial");
    assert_eq!(last.id, "disks+random+pid+12ms+32+8+512MiB+s1");
    assert_eq!(
        (seeks(last)[0][1], seeks(last)[1][1]),
        (Nanos::from_millis(12), Nanos::from_millis(12))
    );
    assert_eq!((last.workload.jobs()[0].iodepth, last.memory), (8, Bytes::mib(512)));
    assert_eq!(all[0].devices[1].model.queue_depth(), 1);
    // A zero needs no unit.
    let all = trials(&format!(
        "{PID}\"device.command_overhead\" = {{ linear = [0, \"1 ms\"], steps = 3 }}"
    ));
    let values: Vec<&str> =
        all.iter().map(|trial| trial.cell.last().expect("the axis").1.as_str()).collect();
    assert_eq!(values, ["0ns", "500us", "1ms"]);
    // The axes have the order of the file.
    let first = trials("\"workload.iodepth\" = [4, 8]\npolicy = [\"pid\"]");
    assert_eq!(first[1].id, "disks+random+8+pid+s1");
}

#[test]
fn values_of_policies_and_schedulers() {
    let all = trials(
        "policy = [\"pid\", \"waiting\", \"waiting:count=reads\"]\n\
         scheduler = [\"bfq:low_latency=0\"]\n\
         \"scheduler.slice_idle\" = [0, 8]",
    );
    assert_eq!(all.len(), 6);
    assert_eq!(all[1].scheduler.to_string(), "bfq:slice_idle=8,low_latency=0");
    let margins = trials(
        "policy = [\"waiting\", \"waiting:count=reads\"]\n\
         \"policy.margin\" = { linear = [100, 300], steps = 4 }",
    );
    assert_eq!(values(&margins[..4], "policy.margin"), ["100", "167", "233", "300"]);
    let set: Vec<String> =
        margins.iter().filter_map(|trial| Some(trial.policy.as_ref()?.setting())).collect();
    assert_eq!(
        (set[1].as_str(), set[7].as_str()),
        ("waiting:167,count=all", "waiting:300,count=reads")
    );
    let only_one = trials(
        "policy = [\"pid\", \"waiting\"]\n\"policy.margin\" = [100, 200]\n\
         scheduler = [\"bfq\", \"none\"]\n\"scheduler.slice_idle\" = [0, 8]",
    );
    let set = |trial: &Trial| {
        (trial.policy.as_ref().map(PolicyChoice::setting), trial.scheduler.to_string())
    };
    let without: BTreeSet<_> = only_one
        .iter()
        .filter(|trial| trial.id.contains("pid+") && trial.id.contains("none"))
        .map(set)
        .collect();
    assert_eq!(
        without,
        [(Some("pid".to_owned()), "none".to_owned())].into(),
        "what has it not is the same at each value"
    );
    assert_eq!(only_one.iter().map(set).collect::<BTreeSet<_>>().len(), (1 + 2) * (2 + 1));
    assert_eq!(only_one.len(), 16);
    assert_eq!(
        values(&margins[4..5], "policy"),
        ["waiting:count=reads"],
        "the axis has its own values"
    );
}

#[test]
fn arrays_grow_and_shrink() {
    let all = trials(&format!("{PID}disks = [2, 5]"));
    assert_eq!(all.iter().map(|trial| trial.devices.len()).collect::<Vec<_>>(), [2, 5]);
    assert_eq!(all[1].array.devices, ["disk"; 5]);
    assert_eq!(all[1].places.disks.len(), 5);
}

#[test]
fn a_hypercube_has_samples_over_several() {
    let axes = format!(
        "{PID}[hypercube]\nsamples = 8\nseed = 3\n\"disk.2.seek\" = {{ log = [1, 4] }}\n\
         \"workload.iodepth\" = {{ linear = [1, 32] }}\nmemory = [\"256 MiB\", \"1 GiB\"]"
    );
    let all = trials(&axes);
    assert_eq!(all.len(), 8);
    assert_eq!(
        values(&all, "memory").iter().filter(|memory| *memory == "1GiB").count(),
        4,
        "equal parts"
    );
    let mut depths: Vec<u32> =
        values(&all, "workload.iodepth").iter().filter_map(|depth| depth.parse().ok()).collect();
    depths.sort_unstable();
    // The range of 31 has 8 parts: each depth is within its part, to the nearest whole number.
    for (part, depth) in depths.iter().enumerate() {
        let from = 1.0 + part as f64 * 31.0 / 8.0;
        assert!((from - 0.5..=from + 31.0 / 8.0 + 0.5).contains(&f64::from(*depth)), "{depths:?}");
    }
    assert_eq!(all, trials(&axes), "the same again");
    assert_ne!(all, trials(&axes.replace("seed = 3", "seed = 4")));
}

#[test]
fn jobs_and_times_are_numbers_too() {
    let all = trials(&format!("{PID}jobs = {{ linear = [1, 8], steps = 8 }}"));
    let jobs: Vec<u32> = all.iter().map(|trial| trial.workload.fio().unwrap().numjobs()).collect();
    assert_eq!(jobs, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(values(&all, "jobs"), ["1", "2", "3", "4", "5", "6", "7", "8"]);
    let all = trials(&format!("{PID}runtime = [\"10 s\", \"1 min\"]\nramp = [\"0 s\", \"2 s\"]"));
    let times: Vec<(Nanos, Nanos)> = all.iter().map(|trial| (trial.runtime, trial.ramp)).collect();
    let seconds = Nanos::from_secs;
    assert_eq!(
        times,
        [(10, 0), (10, 2), (60, 0), (60, 2)]
            .map(|(runtime, ramp)| (seconds(runtime), seconds(ramp)))
    );
}

#[test]
fn what_is_in_memory_before_is_an_axis() {
    let all = trials(&format!("{PID}metadata = [\"cold\", \"warm\"]"));
    let found: Vec<Metadata> = all.iter().map(|trial| trial.metadata).collect();
    assert_eq!(found, [Metadata::Cold, Metadata::Warm]);
    assert_eq!(values(&all, "metadata"), ["cold", "warm"]);
}

#[test]
fn a_workload_in_the_background_has_keys() {
    let axes = "policy = [\"pid\"]\nbackground = [\"none\", \"random\"]\n\
    \"background.iodepth\" = [2, 8]\nramp = [\"3 s\"]";
    let all = trials(axes);
    let depth =
        |trial: &Trial| Some(trial.background.as_ref()?.workload.as_ref()?.jobs()[0].iodepth);
    assert_eq!(all.iter().map(depth).collect::<Vec<_>>(), [None, None, Some(2), Some(8)]);
    assert_eq!(all[2].lead(), Nanos::from_secs(3), "it begins with the ramp");
    assert!(
        all.iter().all(|trial| trial.workload == all[0].workload),
        "the measured one is as it was"
    );
}

#[test]
fn a_factor_is_one_to_what_is_set_beside_it() {
    for axes in [
        "\"disk.2.seek\" = [2]\n\"device.seek_average\" = [\"9 ms\"]",
        "\"device.seek_average\" = [\"9 ms\"]\n\"disk.2.seek\" = [2]",
    ] {
        let all = trials(&format!("{PID}{axes}"));
        assert_eq!(seeks(&all[0]).map(|of| of[1]), [9, 18].map(Nanos::from_millis), "{axes}");
    }
}

#[test]
fn samples_that_round_to_the_same_are_told() {
    let axes = format!(
        "{PID}[hypercube]\nsamples = 100\ndisks = {{ linear = [2, 3] }}\n\
         \"workload.iodepth\" = {{ linear = [1, 3] }}"
    );
    let (all, said) = asked(&axes).unwrap();
    assert_eq!(all.len(), 6);
    assert_eq!(said.len(), 1);
    assert!(
        said[0].starts_with(
            "100 samples of the hypercube are 6 different ones: over disks and workload.iodepth"
        ),
        "{said:?}"
    );
}

#[test]
fn what_no_machine_could_list_is_refused_before() {
    let range = |name: &str, steps: u32| {
        format!("\"{name}\" = {{ linear = [1, 100000], steps = {steps} }}\n")
    };
    let axes = [
        range("workload.iodepth", 1000),
        range("scheduler.nr_requests", 500),
        range("policy.a", 100),
    ];
    let error = suite(&format!("{PID}{}", axes.concat())).unwrap_err();
    for words in [
        "the suite has 50000000 trials",
        "1000 of workload.iodepth x 500 of scheduler.nr_requests x 100 of policy.a, 1 seeds",
        "100000 at most",
        "question.toml:",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn mistakes_are_told_with_their_places() {
    let wrong = |axes: &str| suite(&format!("{PID}{axes}")).expect_err(axes);
    for (axes, expected) in [
        ("\"disk.2.seek_avrage\" = [\"8 ms\"]", "unknown key; did you mean `seek_average`?"),
        (
            "\"device.seek_average\" = [\"8 ms\", \"80 ms\"]",
            "80 ms is out of range (1 ms to 50 ms)",
        ),
        ("\"device.seek_average\" = [\"0.5 ms\"]", "500 us is out of range"),
        (
            "\"device.seek_average\" = [\"17 ms\"]",
            "hdd.seek_full: 16 ms is shorter than seek_average, 17 ms",
        ),
        ("\"disk.3.seek\" = [1]", "array `disks` has no disk 3: it has 2"),
        ("\"policy.margn\" = [100]", "policy `pid` takes no parameters"),
        ("\"scheduler.slice_idle\" = [0]", "`mq-deadline`: unknown tunable `slice_idle`"),
        ("\"workload.iodpeth\" = [1]", "unknown key; did you mean `iodepth`?"),
        ("disks = [1]", "btrfs-raid1 needs at least 2 devices, here are 1"),
        ("memory = [\"1 MiB\"]", "1 MiB is out of range (192 MiB to 256 GiB)"),
        ("memroy = [\"1 GiB\"]", "unknown key; did you mean `memory`?"),
        ("\"polciy.margin\" = [1]", "unknown kind of parameter `polciy`; did you mean `policy`?"),
        ("disk.2.seek = [1, 2]", "a name with points in it stands in quotes"),
        ("disks = [2, 2]", "`2` is given twice"),
        ("disks = []", "needs at least one element"),
        ("disks = { linear = [2, 4] }", "steps: is missing"),
        ("disks = { linear = [2, 4], steps = 1 }", "1 is out of range (2 to 1000)"),
        ("disks = { linear = [2, 4], steps = 9 }", "9 steps are too many: two of them round to 2"),
        ("disks = { linear = [4, 2], steps = 3 }", "2 is not above the other end, 4"),
        ("disks = { log = [0, 2], steps = 3 }", "a `log` range cannot begin at 0"),
        (
            "disks = { linear = [2], steps = 3 }",
            "has two ends, the least and the greatest; here are 1",
        ),
        ("disks = { liner = [2, 4], steps = 3 }", "a range has either `linear` or `log`"),
        (
            "\"disk.1.seek\" = { linear = [1, \"2 ms\"], steps = 3 }",
            "2ms is not of the same kind as 1",
        ),
        (
            "\"device.seek\" = [2]\n\"disk.2.seek\" = [1, 3]",
            "disk 2 has two values of `seek`, by device.seek and disk.2.seek: leave one",
        ),
        ("runtime = [\"2 days\"]", "unknown unit `days`"),
        ("metadata = [\"hot\"]", "unknown state of metadata `hot`; known: cold, warm"),
        ("runtime = [\"48 h\"]", "is out of range"),
        ("\"background.iodepth\" = [1]", "no background of the suite is a workload"),
        ("jobs = { linear = [1, 400], steps = 3 }", "400 is out of range (1 to 256)"),
        (
            "jobs = [1, 2]\n\"workload.numjobs\" = [1, 2]",
            "are the same number: leave one of them out",
        ),
        ("runtime = { log = [0, \"2 s\"], steps = 3 }", "a `log` range cannot begin at 0"),
        ("\"disk.1.seek\" = [\"2 ms\"]", "`seek` is a factor to the seek times"),
        ("[hypercube]\nsamples = 4\ndisks = [2, 4]", "needs two parameters or more"),
        (
            "disks = [2]\n[hypercube]\nsamples = 4\ndisks = [2, 4]\nmemory = [\"1 GiB\"]",
            "is in [axes] too",
        ),
    ] {
        let error = wrong(axes);
        assert!(error.contains(expected), "{axes}: {error}");
        assert!(error.contains("question.toml:"), "{axes}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[test]
fn the_command_line_sets_values_of_parameters() {
    let lab = SmallLab::new();
    let mut suite = lab.suite("", "").unwrap();
    suite.set("workload.iodepth", "1,4").unwrap();
    suite.set("policy", "pid").unwrap();
    suite.set("array", "pair").unwrap();
    suite.set_seeds("1".parse().unwrap());
    let trials = lab.trials(&suite).unwrap();
    assert_eq!(values(&trials, "workload.iodepth"), ["1", "4"]);
    let error = suite.set("wrkload.iodepth", "1").unwrap_err().to_string();
    assert!(error.contains("did you mean `workload`?"), "{error}");
}

#[test]
fn a_file_may_be_made_to_fit() {
    let fits = |size: &str| format!("{PID}\"workload.filesize\" = [\"{size}\"]");
    assert_eq!(trials(&fits("64 MiB")).len(), 1);
    assert_eq!(trials(&format!("{PID}\"workload.filesize\" = [\"64 MiB\", \"9 TiB\"]")).len(), 2);
    let said = suite(&fits("9 TiB")).expect_err("too large");
    assert!(
        said.contains("larger than array `disks` holds")
            && said.contains("--set workload.filesize="),
        "{said}"
    );
}

#[test]
fn estimates_are_set_to_the_ends_of_their_ranges() {
    let all = trials("estimated = [\"as-is\", \"queue_patience-low\", \"queue_error-high\"]");
    let limits: Vec<(String, Nanos)> = all
        .iter()
        .map(|trial| match &trial.devices[1].model {
            Model::Hdd(hdd) => (trial.value("estimated").unwrap().to_owned(), hdd.queue_patience),
            _ => panic!("no hard disk"),
        })
        .collect();
    let expected = [
        ("as-is", Nanos::from_secs(1)),
        ("queue_patience-low", Nanos::from_millis(300)),
        ("queue_error-high", Nanos::from_secs(1)),
    ];
    assert_eq!(limits, expected.map(|(value, limit)| (value.to_owned(), limit)));
    // A value that the suite itself sets is not an estimate.
    let set = trials("\"device.queue_patience\" = [\"2 s\"]\nestimated = [\"queue_patience-low\"]");
    assert!(set.iter().all(|trial| matches!(&trial.devices[0].model,
        Model::Hdd(hdd) if hdd.queue_patience == Nanos::from_secs(2))));
    for bad in ["queue_patience-lo", "zones-low", "low"] {
        let error = suite(&format!("estimated = [\"{bad}\"]")).unwrap_err();
        assert!(error.contains("end of an estimate"), "{bad}: {error}");
    }
}

/// The name `4k` is not a size here: a drive has the name of its file.
#[test]
fn a_drive_stands_in_the_place_of_all_disks_of_its_kind() {
    let lab = SmallLab::new();
    lab.write("devices/disk.toml", DISK);
    lab.write("devices/4k.toml", &DISK.replace("1 TB", "10 GiB"));
    let constant = "summary = \"s\"\nsize = \"1 TB\"\n[constant]\nlatency = \"1 us\"\n\
        servers = 1\nqueue_depth = 32\n";
    lab.write("devices/flash.toml", constant);
    let pair = "summary = \"pair\"\njoin = \"btrfs-raid1\"\npart = \"20 GiB\"\n\
    devices = [\"flash\", \"disk\", \"disk\"]\n";
    lab.write("arrays/disks.toml", pair);
    let arrays = "array = [\"pair\", \"turning-pair\"]";
    let own = "array = [\"disks\"]\ndevice = [\"4k\", \"disk\"]";
    let suite = lab.suite(arrays, own).expect("a suite");
    let mut trials = lab.trials(&suite).expect("trials");
    trials.sort_by_key(|trial| trial.devices[1].name.clone());
    trials.dedup_by_key(|trial| trial.devices[1].name.clone());
    let names: Vec<Vec<&str>> = trials
        .iter()
        .map(|trial| trial.devices.iter().map(|device| device.name.as_str()).collect())
        .collect();
    assert_eq!(names, [["flash", "4k", "4k"], ["flash", "disk", "disk"]]);
    assert_eq!(trials[0].array.devices, ["flash", "4k", "4k"]);
    assert_eq!(trials[0].value("device"), Some("4k"));
    let used: Vec<Bytes> = trials[0].devices.iter().map(|device| device.used).collect();
    assert_eq!(used, [Bytes::gib(20), Bytes::gib(10), Bytes::gib(10)]);
    let suite = lab.suite(arrays, &own.replace("4k", "dsik")).expect("a suite");
    let wrong = lab.trials(&suite).expect_err("no such drive");
    assert!(wrong.contains("did you mean `disk`?"), "{wrong}");
}

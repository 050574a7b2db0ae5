//! Tests pages of a small synthetic record.

use std::fs;
use std::path::Path;

use disklab_config::Lab;
use disklab_record::manifest::{Kernel, Suite};
use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record, Status};
use disklab_results::sample::{DeviceSample, DirectionSample};
use disklab_results::{Remark, Sample};
use disklab_units::Nanos;

use super::axes::CellPlace;
use super::causes::{self, Side};
use super::kind::{Kind, MIXED, READS};
use super::merged::Merged;
use super::page;
use super::published::Published;

const TEXT: &str = r#"question = "Which?"
seeds = 3
memory = "512 MiB"
runtime = { rotational = "15s", solid_state = "150ms" }

[axes]
array = ["hdd-raid1", "ssd-raid10"]
background = ["none", "defrag"]
workload = ["randread-4k-qd1", "randread-4k-qd32"]
jobs = [1, 4]
policy = ["pid", "round-robin"]
"#;

/// Returns the lab of this repository.
fn lab() -> Lab {
    Lab::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab")).expect("a lab")
}

/// Results of a synthetic trial: IOPS, and each disk's share of the reads and utilisation.
struct Found {
    iops: f64,
    disks: [(f64, f64); 2],
}

fn found(iops: f64, disks: [(f64, f64); 2]) -> Found {
    Found { iops, disks }
}

fn sample(kind: &Kind, depth: f64, found: &Found) -> Sample {
    let one = |share: f64| DirectionSample {
        iops: found.iops * share,
        bw_bytes: (found.iops * share * 4096.0) as u64,
        requests: 1500,
        lat_mean_ns: depth / found.iops * 1e9,
        p50_ns: None,
        p99_ns: Some(Nanos(12_345_678)),
        p99_9_ns: Some(Nanos(23_456_789)),
    };
    let mixed = kind.name == MIXED.name;
    let device = |(at, (share, busy)): (usize, &(f64, f64))| DeviceSample {
        name: ["vda", "vdb"][at].to_owned(),
        device: Some("nas-4tb".to_owned()),
        reads: (1000.0 * share) as u64,
        read_share: Some(*share),
        utilisation: *busy,
        service_mean_ns: Some(Nanos(5_000_000)),
        depth_mean: Some(depth * share),
        not_sequential: Some(1.0),
        distance_mean_bytes: Some(1e10),
        ..DeviceSample::default()
    };
    let all = one(1.0);
    Sample {
        iops: all.iops,
        bw_bytes: all.bw_bytes,
        requests: all.requests,
        lat_mean_ns: all.lat_mean_ns,
        p99_ns: all.p99_ns,
        p99_9_ns: all.p99_9_ns,
        read: Some(one(if mixed { 0.5 } else { 1.0 })),
        write: mixed.then(|| one(0.5)),
        read_switches: Some(0.25),
        devices: found.disks.iter().enumerate().map(device).collect(),
        ..Sample::default()
    }
}

/// Makes the outcome of a trial. Without a sample it has failed.
fn outcome(workload: &str, policy: &str, seed: u32, sample: Option<Sample>) -> Outcome {
    let cell = [
        ("array", "hdd-raid1"),
        ("background", "none"),
        ("workload", workload),
        ("jobs", "1"),
        ("policy", policy),
    ];
    let failed = sample.is_none();
    let trial = format!("hdd-raid1+none+{workload}+1+{}+s{seed}", policy.replacen(':', "=", 1));
    let few = Remark::FewRequests { requests: 10, what: None };
    Outcome {
        status: if failed { Status::Failed } else { Status::Ok },
        reason: failed.then(|| "the guest | panicked".to_owned()),
        virtual_ns: Some(Nanos::from_secs(20)),
        wall_ms: 7,
        sample,
        remarks: (policy == "queue").then_some(few).into_iter().collect(),
        ..disklab_testkit::outcome(trial, &cell, seed)
    }
}

/// Makes a record with these trials, and with others that have not run.
fn record(name: &str, outcomes: &[Outcome], not_run: &[&str]) -> Record {
    record_of(
        Suite::new(name, TEXT, vec!["array=hdd-raid1".to_owned(), "seeds=2".to_owned()]),
        outcomes,
        not_run,
    )
}

fn record_of(suite: Suite, outcomes: &[Outcome], not_run: &[&str]) -> Record {
    let folder = tempfile::tempdir().expect("a folder");
    let ids = outcomes.iter().map(|outcome| outcome.trial.clone());
    let ids = ids.chain(not_run.iter().map(|id| (*id).to_owned()));
    let mut manifest = disklab_testkit::manifest(suite, ids);
    manifest.created = "2026-11-22T00:00:00Z".to_owned();
    manifest.kernels = vec![Kernel {
        key: "5b0a6d4039ed".repeat(4),
        source: String::new(),
        compiler: String::new(),
        ..disklab_testkit::kernel("newest", "7.3.4")
    }];
    let mut chain = manifest.chain();
    let lines: String =
        outcomes.iter().map(|outcome| outcome.to_line(&mut chain).expect("plain data")).collect();
    fs::write(folder.path().join("manifest.toml"), manifest.to_toml().expect("plain data"))
        .expect("written");
    fs::write(folder.path().join("trials.jsonl"), lines).expect("written");
    let last = chain.last().expect("a chain with digests").to_text().expect("plain data");
    fs::write(folder.path().join("trials.last"), last).expect("written");
    Record::open(folder.path()).expect("a record")
}

/// Makes a record of reads. The published order at depth 32 is queue > round-robin > pid >
/// latency-rr, latency. Here it is round-robin > queue, and the rest uses one disk; latency-rr
/// failed once and has not run once.
fn reads() -> Record {
    let work = "randread-4k-qd32";
    let mut outcomes = Vec::new();
    let mut add = |workload: &str, policy: &str, depth: f64, seeds: [Option<Found>; 2]| {
        for (seed, found) in (1..).zip(seeds) {
            let sample = found.map(|found| sample(&READS, depth, &found));
            outcomes.push(outcome(workload, policy, seed, sample));
        }
    };
    let (both, one) = ([(0.5, 1.0), (0.5, 0.98)], [(0.98, 1.0), (0.02, 0.03)]);
    add(work, "pid", 32.0, [Some(found(500.0, one)), Some(found(520.0, one))]);
    add(work, "round-robin", 32.0, [Some(found(1000.0, both)), Some(found(1001.0, both))]);
    add(work, "latency", 32.0, [Some(found(510.0, one)), Some(found(505.0, one))]);
    add(work, "queue", 32.0, [Some(found(840.0, both)), None]);
    let same =
        || [Some(found(168.0, [(1.0, 1.0), (0.0, 0.0)])), Some(found(168.5, [(0.5, 0.5); 2]))];
    for policy in ["pid", "round-robin", "latency", "queue"] {
        add("randread-4k-qd1", policy, 1.0, same());
    }
    record("read-policy", &outcomes, &["hdd-raid1+none+randread-4k-qd32+1+latency-rr+s1"])
}

#[test]
fn a_page_of_reads() {
    let burst = sample(&READS, 32.0, &found(700.0, [(0.5, 1.0); 2]));
    let more = outcome("randread-4k-qd32", "latency:burst=100", 1, Some(burst));
    let failed = outcome("randread-4k-qd1", "latency:burst=100", 1, None);
    let records = [reads(), record("read-policy", &[more, failed], &[])];
    let made = page(&READS, &lab(), &records).expect("a page");
    assert_eq!(
        made,
        page(&READS, &lab(), &records).expect("a page"),
        "the same records, the same bytes"
    );
    insta::assert_snapshot!(made);
}

#[test]
fn a_page_of_reads_and_writes() {
    let trial = |policy: &str, iops: f64| {
        let sample = sample(&MIXED, 1.0, &found(iops, [(0.5, 0.5); 2]));
        let mut outcome = outcome("randrw-4k-qd1-50-50", policy, 1, Some(sample));
        outcome.cell.0[0].1 = "ssd-raid10".to_owned();
        outcome.trial = outcome.trial.replace("hdd-raid1", "ssd-raid10");
        outcome
    };
    // The published order is round-robin > queue > pid: 6845, 6630 and 5581 reads and writes.
    let record =
        record("read-policy-mixed", &[trial("pid", 100.0), trial("round-robin", 90.0)], &[]);
    insta::assert_snapshot!(page(&MIXED, &lab(), &[record]).expect("a page"));
}

/// Makes a record of `read-policy` with one trial, run or not, whose cell has only these axes.
fn with_axes(text: &str, set: &[&str], axes: &[(&str, &str)], ran: bool) -> Record {
    let values: Vec<_> = axes.iter().map(|(_, value)| *value).collect();
    let id = format!("{}+s1", values.join("+"));
    let mut outcome = outcome("randread-4k-qd1", "pid", 1, None);
    outcome.trial.clone_from(&id);
    outcome.cell =
        Cell(axes.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect());
    let suite =
        Suite::new("read-policy", text, set.iter().map(|setting| (*setting).to_owned()).collect());
    if ran { record_of(suite, &[outcome], &[]) } else { record_of(suite, &[], &[&id]) }
}

fn places(record: Record) -> anyhow::Result<Vec<CellPlace>> {
    Ok(Merged::new(&[record])?.places())
}

#[test]
fn what_is_fixed_in_a_suite_is_in_no_cell_and_counts() {
    let place = |background: &str, jobs| CellPlace {
        array: "hdd-raid1".to_owned(),
        background: background.to_owned(),
        jobs,
        workload: "randread-4k-qd1".to_owned(),
    };
    let crossed = [("array", "hdd-raid1"), ("workload", "randread-4k-qd1"), ("policy", "pid")];
    let without =
        TEXT.replace("background = [\"none\", \"defrag\"]\n", "").replace("jobs = [1, 4]\n", "");
    for ran in [true, false] {
        let fixed = format!("jobs = 4\nbackground = \"none\"\n{without}");
        let found = places(with_axes(&fixed, &[], &crossed, ran)).expect("a record");
        assert_eq!(found, [place("none", 4)], "a number at the top of the suite");

        let set = ["background=defrag", "jobs=4", "seeds=2"];
        let found = places(with_axes(&without, &set, &crossed, ran)).expect("a record");
        assert_eq!(found, [place("defrag", 4)], "axes that the command line adds");
    }
    // With several values, an axis of the command line comes after the others.
    let crossed = [crossed.as_slice(), &[("jobs", "4")]].concat();
    let set = ["background=defrag", "jobs=1,4"];
    let found = places(with_axes(&without, &set, &crossed, false)).expect("a record");
    assert_eq!(found, [place("defrag", 4)]);
}

#[test]
fn a_page_has_no_rows_of_what_no_record_measures() {
    let axes = |array, background, jobs| {
        let workload = "randread-4k-qd1";
        [
            ("array", array),
            ("background", background),
            ("workload", workload),
            ("jobs", jobs),
            ("policy", "pid"),
        ]
    };
    let records = [
        with_axes(TEXT, &[], &axes("hdd-raid1", "none", "1"), true),
        with_axes(TEXT, &[], &axes("ssd-raid10", "defrag", "4"), false),
    ];
    let places = Merged::new(&records).expect("records").places();
    let told: Vec<_> = places
        .iter()
        .map(|place| (place.array.as_str(), place.background.as_str(), place.jobs))
        .collect();
    assert_eq!(told, [("hdd-raid1", "none", 1), ("ssd-raid10", "defrag", 4)]);
}

#[test]
fn a_record_that_does_not_say_all_is_refused() {
    let crossed = [("array", "hdd-raid1"), ("workload", "randread-4k-qd1"), ("policy", "pid")];
    let error = |text: &str, set: &[&str], axes: &[(&str, &str)]| {
        places(with_axes(text, set, axes, true)).expect_err("refused").to_string()
    };
    let without_jobs = TEXT.replace("jobs = [1, 4]\n", "");
    let message = error(&without_jobs, &["background=none"], &crossed);
    assert!(message.contains("has no axis `jobs`") && message.contains("--set jobs="), "{message}");

    let message = error(TEXT, &["background=none"], &crossed);
    assert!(message.contains("has no jobs"), "{message}");

    let message = error(TEXT, &["scheduler=none,bfq"], &crossed);
    assert!(message.contains("several values of `scheduler`"), "{message}");

    let message = error("question = 1", &[], &crossed);
    assert!(message.contains("its suite cannot be read"), "{message}");
}

#[test]
fn a_record_of_another_suite_is_refused() {
    let made = |kind: &Kind, suites: &[&str]| {
        let records: Vec<_> = suites.iter().map(|name| record(name, &[], &[])).collect();
        page(kind, &lab(), &records).map_err(|error| error.to_string())
    };
    for suites in
        [&["read-policy"][..], &["read-policy-bcache"], &["read-policy", "read-policy-bcache"]]
    {
        assert!(made(&READS, suites).is_ok(), "{suites:?}");
    }
    assert!(made(&MIXED, &["read-policy-mixed"]).is_ok());
    for (kind, other) in [
        (&READS, "read-policy-mixed"),
        (&READS, "smoke"),
        (&MIXED, "read-policy"),
        (&MIXED, "read-policy-bcache"),
    ] {
        let message = made(kind, &[kind.name, other]).expect_err("refused");
        let told = [other, kind.name].iter().all(|name| message.contains(&format!("`{name}`")));
        assert!(told, "{message}");
    }
}

#[test]
fn the_first_authors_disks_are_beside_those_with_a_cache_where_there_are_any() {
    let place = |array: &str| CellPlace {
        array: array.to_owned(),
        background: "none".to_owned(),
        jobs: 1,
        workload: "randread-4k-qd1".to_owned(),
    };
    let beside = |arrays: &[&str], array: &str| {
        let arrays: Vec<_> = arrays.iter().map(|array| (*array).to_owned()).collect();
        let published = Published::read(&READS, &arrays).expect("tables");
        published.find("kakra-run2", &place(array), "queue").is_some()
    };
    let (plain, cached) = ("hdd-8-mixed", "hdd-8-mixed-bcache");
    assert!(beside(&[plain], plain));
    assert!(beside(&[cached], cached));
    assert!(beside(&[plain, cached], cached) && !beside(&[plain, cached], plain));
}

/// Returns the place of one job of random reads without a background.
fn alone(array: &str) -> CellPlace {
    CellPlace {
        array: array.to_owned(),
        background: "none".to_owned(),
        jobs: 1,
        workload: "randread-4k-qd1".to_owned(),
    }
}

/// Makes two disks of these devices. The second policy's requests are nearer to each other, and it
/// does more.
fn nearer(array: &str, devices: [&str; 2]) -> String {
    let with = |iops, distance| {
        let mut sample = sample(&READS, 1.0, &found(iops, [(0.5, 0.5); 2]));
        for (device, name) in sample.devices.iter_mut().zip(devices) {
            device.device = Some(name.to_owned());
        }
        sample.devices[1].distance_mean_bytes = Some(distance);
        sample
    };
    let (more, less) = (with(200.0, 1e9), with(100.0, 9e9));
    let side = |policy, sample| Side { policy, samples: vec![(1, sample)] };
    let place = alone(array);
    causes::why(&lab(), &place, &side("queue", &more), &side("pid", &less))
}

#[test]
fn distance_counts_on_disks_that_turn_whatever_their_array_is_called() {
    let turning = nearer("ssd-raid10", ["nas-4tb", "nas-4tb"]);
    assert!(turning.contains("moves the heads 1.73 times"), "{turning}");
    for devices in [["sata-ssd-1tb", "sata-ssd-1tb"], ["nas-4tb", "sata-ssd-1tb"]] {
        let still = nearer("hdd-raid1", devices);
        assert!(!still.contains("heads"), "{still}");
    }
}

#[test]
fn what_a_cache_serves_is_told() {
    let with = |iops, cache: f64| {
        let mut sample = sample(&READS, 1.0, &found(iops, [(1.0 - cache, 0.5), (cache, 0.5)]));
        sample.devices[1].device = Some("sata-ssd-1tb".to_owned());
        sample
    };
    let (more, less) = (with(200.0, 0.75), with(100.0, 0.25));
    let side = |policy, sample| Side { policy, samples: vec![(1, sample)] };
    let why = |array: &str| {
        let place = alone(array);
        causes::why(&lab(), &place, &side("queue", &more), &side("pid", &less))
    };
    let told = "the cache serves 75 % of the reads, and 25 % with pid";
    assert!(why("hdd-8-mixed-bcache").contains(told), "{}", why("hdd-8-mixed-bcache"));
    assert!(!why("hdd-8-mixed").contains("cache"), "{}", why("hdd-8-mixed"));
}

#[test]
fn rows_that_break_littles_law_are_known() {
    let published = Published::read(&READS, &[]).expect("tables");
    let broken = |source: &str| {
        let rows = || published.rows.iter().filter(|row| row.source == source);
        (rows().filter(|row| row.breaks_littles_law()).count(), rows().count())
    };
    assert_eq!(broken("kakra-run2"), (1, 30));
    assert_eq!(broken("forza-2025-05-04"), (15, 30));
    assert_eq!(broken("forza-2025-05-08"), (87, 120));
    let mixed = Published::read(&MIXED, &[]).expect("tables");
    assert_eq!(mixed.rows.iter().filter(|row| row.breaks_littles_law()).count(), 0);
    assert_eq!(mixed.rows.len(), 15);
}

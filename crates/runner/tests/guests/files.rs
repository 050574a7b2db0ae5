//! Tests disklab's own workload engine in a guest: repeats are equal, written data is there, and
//! promised data survives.

use crate::place;
use crate::repeatable::{summary_on, trials_of};
use crate::startup::{lab_trials, measure, outcomes};
use disklab_config::read::{TomlReader, TomlTable};
use disklab_config::{Array, Lab, Workload};
use disklab_protocol::action::{Action, Plan};
use disklab_record::{Outcome, Record, Status};
use disklab_runner::Installation;
use libtest_mimic::Trial as Test;
use std::path::PathBuf;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("files_are_worked_on_the_same_again", the_same_again),
        crate::test("many_files_are_worked_on_beside_what_is_measured", beside_what_is_measured),
        crate::test("an_operation_takes_its_time", an_operation_takes_its_time),
        crate::test("a_full_filesystem_is_a_reason", a_full_filesystem_is_a_reason),
        crate::test("files_that_were_fsynced_survive_power_cuts", what_was_fsynced_survives),
        crate::test("files_that_lying_disks_lose_are_found", what_lying_disks_lose),
    ]
}

fn lab(workloads: &[(&str, &str)]) -> Lab {
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    for (name, text) in workloads {
        let read = |table: &TomlTable| Workload::read(name, table);
        lab.workloads.insert((*name).to_owned(), TomlReader::new(name, text).read(read).unwrap());
    }
    lab
}

fn the_same_again() {
    let axes = "array = [\"hdd-raid1\", \"ssd-xfs\"]\nworkload = [\"webproxy\", \"varmail\", \
        \"fileserver\", \"blogbench\"]";
    let all = lab_trials(&lab(&[]), axes);
    let (first, second) = (outcomes(&all), outcomes(&all));
    for ((one, steps), (other, _)) in first.iter().zip(&second) {
        assert_eq!((one.status, &one.reason), (Status::Ok, &None), "{}", one.trial);
        assert_eq!(one.files, other.files, "{}", one.trial);
        assert!(one.files.contains_key("fsload.json"), "{:?}", one.files);
        assert_eq!(one.measures, other.measures, "{}", one.trial);
        assert!(measure(one, "ops") > 100.0, "{}: {:?}", one.trial, one.measures);
        let checked = steps.iter().find(|step| step["step"] == "fsload").expect("it was checked");
        assert!(checked["files_as_written"].as_u64().unwrap() > 100, "{checked}");
    }
}

/// A mail server uses a reader's disks from before it to after it. The data that it wrote is there.
fn beside_what_is_measured() {
    let all = lab_trials(
        &lab(&[]),
        "array = [\"hdd-ext4\"]\nworkload = [\"randread-4k-qd1\"]\nbackground = [\"none\", \
         \"varmail\"]",
    );
    let (first, second) = (outcomes(&all), outcomes(&all));
    let [(alone, _), (beside, steps)] = &first[..] else { panic!("two trials") };
    for (outcome, again) in [(alone, &second[0].0), (beside, &second[1].0)] {
        assert_eq!((outcome.status, &outcome.reason), (Status::Ok, &None), "{}", outcome.trial);
        assert_eq!(outcome.files, again.files, "{}", outcome.trial);
    }
    let iops = |outcome: &Outcome| outcome.sample.as_ref().expect("fio's").iops;
    assert!(iops(beside) < iops(alone) * 0.7, "{} beside, {} alone", iops(beside), iops(alone));
    let step =
        steps.iter().find(|step| step["step"] == "background fsload").expect("it is told of");
    let number = |key: &str| step[key].as_u64().unwrap();
    assert!(number("operations") > 100 && number("files_as_written") > 100, "{step}");
    assert!(number("ran_ns") >= all[0].runtime.0, "{step}");
}

/// Work on files in memory takes processor time, of one processor for all threads.
const CACHED: &str = r#"
summary = "one file that is read again and again"
[fsload]
operation = "40us"
[[fsload.files]]
name = "file"
count = 1
size = "4 KiB"
[[fsload.threads]]
name = "reader"
count = 8
loop = ["open", "read whole", "close"]
"#;

fn an_operation_takes_its_time() {
    let all =
        lab_trials(&lab(&[("cached", CACHED)]), "array = [\"ssd-xfs\"]\nworkload = [\"cached\"]");
    let [(outcome, _)] = &outcomes(&all)[..] else { panic!("one trial") };
    assert_eq!((outcome.status, &outcome.reason), (Status::Ok, &None));
    let ops = measure(outcome, "ops");
    assert!((24_990.0..=25_000.5).contains(&ops), "{ops} operations a second");
    let latency = measure(outcome, "read whole p50");
    assert!((39_600.0..40_400.0).contains(&latency), "{latency} ns");
    assert!((measure(outcome, "reader loops") - ops / 3.0).abs() < 100.0, "{:?}", outcome.measures);
}

const FILLS: &str = r#"
summary = "fills its filesystem"
[fsload]
[[fsload.files]]
name = "heap"
count = 100000
there = 0
size = "1 MiB"
[[fsload.threads]]
name = "writer"
count = 2
loop = ["create", "write whole", "close"]
"#;

fn a_full_filesystem_is_a_reason() {
    let mut lab = lab(&[("fills", FILLS)]);
    for (name, join) in
        [("small-ext4", "ext4"), ("small-xfs", "xfs"), ("small-btrfs", "btrfs-single")]
    {
        let part = if join == "btrfs-single" { "256 MiB" } else { "400 MiB" };
        let text = format!(
            "summary = \"?\"\njoin = \"{join}\"\npart = \"{part}\"\ndevices = [\"sata-ssd-1tb\"]\n"
        );
        let devices =
            lab.devices.iter().map(|(name, device)| (name.clone(), Some(device.clone()))).collect();
        let read = |table: &TomlTable| Array::read(name, table, &devices);
        lab.arrays.insert(name.to_owned(), TomlReader::new(name, &text).read(read).unwrap());
    }
    let suite = "question = \"?\"\nseeds = 1\nmemory = \"256 MiB\"\nkernel = \"newest\"\n\
                 runtime = { rotational = \"60s\", solid_state = \"60s\" }\nworkload = \
                 \"fills\"\n[axes]\narray = [\"small-ext4\", \"small-xfs\", \"small-btrfs\"]\n";
    for (outcome, _) in outcomes(&trials_of(suite, &lab)) {
        assert_eq!(outcome.status, Status::Failed, "{}", outcome.trial);
        let reason = outcome.reason.unwrap_or_default();
        assert!(
            reason.starts_with("fsload: ") && reason.contains("No space left on device"),
            "{reason}"
        );
        assert!(reason.contains("heap/000"), "{reason}");
    }
}

/// Runs a mail server with power cuts.
fn cut(power_cut: &str) -> Vec<(Outcome, PathBuf)> {
    let suite = format!(
        "question = \"What is left?\"\nseeds = 1\nmemory = \"256 MiB\"\nkernel = \"newest\"\n\
         runtime = {{ rotational = \"3s\", solid_state = \"300ms\" }}\nworkload = \"varmail\"\n\
         power_cut = {power_cut}\n[axes]\narray = [\"hdd-raid1\", \"hdd-ext4\", \"ssd-xfs\"]\n"
    );
    let trials = trials_of(&suite, &lab(&[]));
    let here = tempfile::tempdir().unwrap().keep();
    let installation = Installation::find().unwrap();
    let (_, folder) =
        summary_on(place::kernel(), &installation, &place::cache(), &trials, &here, 2);
    let record = Record::open(&folder).unwrap();
    let raw = |outcome: &Outcome| record.folder().join(outcome.raw.as_deref().unwrap());
    record.lines().iter().map(|outcome| (outcome.clone(), raw(outcome))).collect()
}

fn what_was_fsynced_survives() {
    for (outcome, raw) in cut("{ cuts = 3 }") {
        assert_eq!((outcome.status, &outcome.reason), (Status::Ok, &None), "{}", outcome.trial);
        assert_eq!(
            measure(&outcome, "power cuts survived") as u32,
            3,
            "{}: {:?}",
            outcome.trial,
            outcome.remarks
        );
        assert!(
            measure(&outcome, "unflushed blocks lost") > 0.0,
            "{}: nothing was lost",
            outcome.trial
        );
        // Without a file to look for, the test would prove nothing.
        let looked_for = (1..=3).map(|cut| {
            let plan = std::fs::read(raw.join(format!("cut-{cut}/plan.json"))).unwrap();
            let plan: Plan = serde_json::from_slice(&plan).unwrap();
            let files = plan.actions.iter().map(|action| match action {
                Action::CheckSurvival(check) => check.files.len(),
                _ => 0,
            });
            files.sum::<usize>()
        });
        let most = looked_for.max().unwrap_or_default();
        assert!(most > 5, "{}: {most} files were promised", outcome.trial);
    }
}

fn what_lying_disks_lose() {
    let lost = cut("{ cuts = 3, flushes = \"ignored\" }").into_iter().map(|(outcome, _)| {
        assert!(measure(&outcome, "power cuts survived") < 3.0, "{}: nobody saw it", outcome.trial);
        outcome.remarks.iter().map(ToString::to_string).collect()
    });
    // If the filesystem can be mounted at all, files of the mail server are missing.
    let reasons: Vec<String> = lost.collect();
    assert!(reasons.iter().any(|reason| reason.contains("fsload: of ")), "{reasons:#?}");
}

//! Tests power cuts: data that a filesystem promised is there afterwards, on disks that honour
//! flushes and on no others.

use crate::{place, repeatable};
use disklab_disks::Op;
use disklab_record::{Outcome, Record, Status};
use disklab_runner::Installation;
use disklab_trace::TraceEntry;
use libtest_mimic::Trial as Test;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("what_was_fsynced_survives_power_cuts", what_was_fsynced_survives),
        crate::test("md_does_not_wait_for_the_flush_before_a_commit", md_does_not_wait),
        crate::test("md_on_disks_that_keep_what_they_have_survives", md_survives_without_caches),
        crate::test("disks_that_lie_about_flushes_are_found", disks_that_lie_are_found),
        crate::test("power_cuts_repeat", power_cuts_repeat),
    ]
}

fn suite(arrays: &str, power_cut: &str) -> String {
    format!(
        r#"
question = "What is left?"
seeds = 1
memory = "256 MiB"
runtime = {{ rotational = "2s", solid_state = "300ms" }}
kernel = "newest"
workload = "randwrite-4k-qd8-small"
power_cut = {power_cut}
[axes]
array = [{arrays}]
"#
    )
}

fn outcomes(suite: &str) -> Vec<Outcome> {
    let folder = tempfile::tempdir().unwrap();
    let trials = repeatable::trials(suite);
    let installation = Installation::find().unwrap();
    let (_, folder) = repeatable::summary_on(
        place::kernel(),
        &installation,
        &place::cache(),
        &trials,
        folder.path(),
        2,
    );
    Record::open(&folder).unwrap().lines().to_vec()
}

fn what_was_fsynced_survives() {
    let arrays = r#""hdd-raid1", "hdd-ext4", "hdd-xfs", "ssd-xfs""#;
    let outcomes = outcomes(&suite(arrays, "{ cuts = 3 }"));
    assert_eq!(outcomes.len(), 4);
    for outcome in outcomes {
        assert_eq!((outcome.status, &outcome.reason), (Status::Ok, &None), "{}", outcome.trial);
        let measure = |name: &str| outcome.measures[name].value;
        assert_eq!(
            measure("power cuts survived") as u32,
            3,
            "{}: {:?}",
            outcome.trial,
            outcome.remarks
        );
        // Without any loss, the test would prove nothing.
        assert!(measure("unflushed blocks lost") > 0.0, "{}: nothing was lost", outcome.trial);
        assert!(
            measure("fsynced records, all found") > 3.0,
            "{}: nothing was promised",
            outcome.trial
        );
        assert!(measure("slowest mount after a cut") > 0.0, "{}", outcome.trial);
        assert!(outcome.sample.is_some(), "the trial has its results as ever");
    }
}

/// A write with REQ_PREFLUSH must not begin before the flush has ended. Since Linux 6.12, md begins
/// both at once, so that some cuts destroy an ext4 on it (docs/results/md-flush.md). Chance decides
/// which cuts do, but not whether any do.
fn md_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    // Commits of ext4's journal: how many began after the end of a flush that followed their
    // transaction, and how many during the flush.
    let commits = |array: &str| {
        let trials = repeatable::trials(&suite(&format!("\"{array}\""), "{ cuts = 1 }"));
        let record =
            Record::open(&repeatable::run(&trials, &folder.path().join(array), 1)).unwrap();
        let entries = place::entries(&record.raw(&record.lines()[0]).expect("raw output"));
        let served: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                TraceEntry::Served(served) => Some(served),
                TraceEntry::Mark { .. } => None,
            })
            .collect();
        let flushes: Vec<_> = served.iter().filter(|request| request.op == Op::Flush).collect();
        // The workload's own writes have one block.
        let transactions: Vec<_> =
            served.iter().filter(|write| write.op == Op::Write && write.sectors > 8).collect();
        let (mut ordered, mut overtaking) = (0, 0);
        for commit in served.iter().filter(|write| write.op == Op::Write && write.sectors == 8) {
            let before = transactions.iter().filter(|write| {
                write.disk == commit.disk
                    && write.sector + u64::from(write.sectors) == commit.sector
                    && write.ended <= commit.submitted
            });
            let Some(since) = before.map(|write| write.ended).max() else { continue };
            let mut between = flushes.iter().filter(|flush| {
                flush.disk == commit.disk && (since..=commit.submitted).contains(&flush.submitted)
            });
            if between.clone().any(|flush| flush.ended <= commit.submitted) {
                ordered += 1;
            } else if between.any(|flush| flush.ended > commit.submitted) {
                overtaking += 1;
            }
        }
        (ordered, overtaking)
    };
    let (ordered, overtaking) = commits("hdd-ext4");
    assert!(
        ordered > 10 && overtaking == 0,
        "without md, the block layer waits: {ordered}, {overtaking}"
    );
    let (ordered, overtaking) = commits("hdd-md-raid1-ext4");
    assert!(
        overtaking > 10,
        "{ordered}, {overtaking}: md waits for its flushes now; say so in \
         docs/results/md-flush.md and put its array back above"
    );
}

fn md_survives_without_caches() {
    for outcome in outcomes(&suite("\"nvme-md-raid1-ext4\"", "{ cuts = 3 }")) {
        assert_eq!((outcome.status, &outcome.reason), (Status::Ok, &None), "{}", outcome.trial);
        assert_eq!(
            outcome.measures["power cuts survived"].value as u32, 3,
            "{:?}",
            outcome.remarks
        );
        assert!(
            outcome.measures["fsynced records, all found"].value > 3.0,
            "{}: nothing was promised",
            outcome.trial
        );
    }
}

fn disks_that_lie_are_found() {
    let arrays = r#""hdd-raid1", "hdd-ext4", "hdd-md-raid1-ext4", "ssd-xfs""#;
    let outcomes = outcomes(&suite(arrays, r#"{ cuts = 3, flushes = "ignored" }"#));
    assert_eq!(outcomes.len(), 4);
    for outcome in outcomes {
        // The cell has the loss in its numbers, and the trial has its other results.
        assert_eq!((outcome.status, &outcome.reason), (Status::Ok, &None), "{}", outcome.trial);
        let survived = &outcome.measures["power cuts survived"];
        assert!(
            survived.value < 3.0 && survived.of == Some(3.0),
            "{}: nobody saw it",
            outcome.trial
        );
        let said: Vec<String> = outcome.remarks.iter().map(ToString::to_string).collect();
        let expected = format!(
            "{} of 3 power cuts not survived; the first of them is cut ",
            3.0 - survived.value
        );
        assert!(said.iter().any(|remark| remark.starts_with(&expected)), "{said:?}");
        assert!(outcome.sample.is_some(), "{}", outcome.trial);
    }
}

fn power_cuts_repeat() {
    let suite = suite(r#""hdd-ext4", "ssd-raid1""#, "{ cuts = 2, states = 3 }");
    let comparable = |outcome: Outcome| {
        let has = |cut: &str| outcome.other_files.contains_key(&format!("{cut}/plan.json"));
        assert!(has("cut-6") && !has("cut-7"), "{}: three states of each cut", outcome.trial);
        (outcome.trial, outcome.measures, outcome.files)
    };
    let (mut one, mut other): (Vec<_>, Vec<_>) = (
        outcomes(&suite).into_iter().map(comparable).collect(),
        outcomes(&suite).into_iter().map(comparable).collect(),
    );
    one.sort_by(|a, b| a.0.cmp(&b.0));
    other.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(one == other, "{one:#?}\n{other:#?}");
}

//! Tests the description of the machine in a record of real disks: its noise and its drift.

use disklab_compare::machine::{drift, in_time, sentences};
use disklab_compare::{Comparison, DecisionRule, MatchedTrials, Metric, compare};
use disklab_record::manifest::OnHost;
use disklab_record::outcome::{Cell, again};
use disklab_record::{Outcome, Record};
use disklab_results::measure::Measure;
use disklab_stats::Verdict;
use disklab_units::{Random, Seed};

const RULE: DecisionRule = DecisionRule::DEFAULT;

fn outcome(cell: &str, seed_index: u32, value: f64) -> Outcome {
    let trial = format!("{cell}+s{seed_index}");
    Outcome {
        measures: [("ops".to_owned(), Measure::rate(value, "1/s"))].into(),
        ..disklab_testkit::outcome(trial, &[("policy", cell)], seed_index)
    }
}

fn metric() -> Metric {
    Metric::of_name("ops")
}

/// Compares five pairs of trials that differ by 5 %, almost without scatter, on a machine with this
/// noise.
fn judged(noise: &[f64]) -> Comparison {
    let all = |cell: &str, values: &[f64]| -> Vec<Outcome> {
        (1..).zip(values).map(|(seed, value)| outcome(cell, seed, *value)).collect()
    };
    let baselines = all("pid", &[1000.0, 1001.0, 999.0, 1000.0, 1002.0]);
    let treatments = all("queue", &[1050.0, 1052.0, 1049.0, 1051.0, 1051.0]);
    let seconds: Vec<Outcome> =
        (1..).zip(noise).map(|(seed, by)| outcome("pid", seed, 1000.0 * by)).collect();
    let matched = MatchedTrials {
        cell: Cell(Vec::new()),
        treatment: "queue".to_owned(),
        baseline: "pid".to_owned(),
        paired: true,
        treatments: treatments.iter().collect(),
        baselines: baselines.iter().collect(),
        left_out: Vec::new(),
        repeated: baselines.iter().zip(&seconds).collect(),
    };
    compare(&[matched], &[metric()], RULE, None).unwrap().swap_remove(0)
}

#[test]
fn a_difference_within_what_the_same_differs_by_is_not_called_better() {
    assert_eq!(judged(&[]).verdict, Verdict::Better);
    let quiet = judged(&[1.001, 0.999, 1.0, 1.002, 0.998]);
    assert_eq!(quiet.verdict, Verdict::Better);
    assert!(
        quiet.noise.is_some_and(|noise| noise.percent < 0.5 && noise.pairs == 5),
        "{:?}",
        quiet.noise
    );
    let loud = judged(&[1.06, 0.95, 1.04, 0.97, 1.05]);
    assert_eq!(loud.verdict, Verdict::Undecided);
    assert!(
        loud.remarks
            .iter()
            .any(|remark| remark.starts_with("better, but within this machine's noise")),
        "{:?}",
        loud.remarks
    );
    // The second of each pair is always slower, by the same factor.
    assert_eq!(judged(&[0.9, 0.9, 0.9, 0.901, 0.9]).verdict, Verdict::Undecided);
    // A single pair has no interval.
    assert_eq!(judged(&[1.06]).verdict, Verdict::Undecided);
    assert_eq!(judged(&[1.04]).verdict, Verdict::Better);
}

/// Makes a record of trials in this order, each with its value. The second occurrence of a trial is
/// its second measurement.
fn record(folder: &std::path::Path, trials: &[(&str, u32, f64)]) -> Record {
    let (mut ids, mut seconds, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    for (cell, seed, value) in trials {
        let mut outcome = outcome(cell, *seed, *value);
        if ids.contains(&outcome.trial) {
            outcome.trial = again(&outcome.trial);
            seconds.push(outcome.trial.clone());
        } else {
            ids.push(outcome.trial.clone());
        }
        outcomes.push(outcome);
    }
    let mut manifest = disklab_testkit::manifest(disklab_testkit::suite("mine"), ids);
    manifest.again = seconds;
    manifest.on_host = Some(OnHost {
        at: None,
        allow: None,
        order: 1,
        rest: None,
        warm_up: None,
        disks: Vec::new(),
    });
    disklab_testkit::record(&folder.join("record"), &manifest, outcomes)
}

#[test]
fn second_measurements_are_in_no_cell_and_tell_the_noise() {
    let folder = tempfile::tempdir().unwrap();
    let trials = [
        ("pid", 1, 100.0),
        ("queue", 1, 120.0),
        ("pid", 1, 103.0),
        ("pid", 2, 100.0),
        ("pid", 2, 99.0),
    ];
    let record = record(folder.path(), &trials);
    assert_eq!(record.outcomes().len(), 3);
    assert_eq!(record.pairs().len(), 2);
    let told = sentences(&record, &[metric()], RULE);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("ops: two measurements of the same trial may differ by 3.00 % (pid)"),
        "{told:?}"
    );
    assert!(told[0].contains("as 2 pairs of repeated measurements show"), "{told:?}");
}

/// Returns trials of six cells in blocks, half of them with ten times the noise of the others; from
/// a trial on they are slower.
fn run(seed: u64, blocks: u32, slower: (usize, f64)) -> Vec<(&'static str, u32, f64)> {
    let mut random = Random::new(Seed(seed));
    let mut normal =
        || (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
    let mut trials = Vec::new();
    for block in 1..=blocks {
        for (number, cell) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
            let noise = if number % 2 == 0 { 0.003 } else { 0.03 };
            let drift = if trials.len() >= slower.0 { slower.1 } else { 1.0 };
            trials.push((
                cell,
                block,
                (number + 1) as f64 * 1000.0 * (1.0 + noise * normal()) * drift,
            ));
        }
    }
    trials
}

#[test]
fn a_level_that_changes_is_told_with_its_trial() {
    let folder = tempfile::tempdir().unwrap();
    let record = record(folder.path(), &run(1, 6, (18, 0.85)));
    let (changes, trials) = drift(&in_time(&record), &metric());
    assert_eq!((changes.len(), trials), (1, 36), "{changes:?}");
    assert!((17..=21).contains(&changes[0].place) && changes[0].percent < -8.0, "{changes:?}");
    let told = sentences(&record, &[metric()], RULE);
    assert!(told.len() == 1 && told[0].starts_with("ops drifted"), "{told:?}");
}

#[test]
fn what_does_not_drift_is_seldom_said_to() {
    let mut found = 0;
    for seed in 0..1000 {
        let trials: Vec<Outcome> = run(seed, 5, (0, 1.0))
            .into_iter()
            .map(|(cell, seed, value)| outcome(cell, seed, value))
            .collect();
        found += usize::from(!drift(&trials.iter().collect::<Vec<_>>(), &metric()).0.is_empty());
    }
    println!("a drift was found in {found} of 1000 runs of 30 trials without one");
    assert!(found <= 70, "{found} of 1000");
}

//! Tests censored trials, and measures that may be zero.

use disklab_compare::{Comparison, DecisionRule, MatchedTrials, Metric, compare};
use disklab_record::Outcome;
use disklab_record::outcome::Cell;
use disklab_results::measure::Measure;
use disklab_stats::Verdict;

const LIMIT: f64 = 60.0;

fn outcome(seed_index: u32, measure: Measure) -> Outcome {
    Outcome {
        measures: [("start-up".to_owned(), measure)].into(),
        ..disklab_testkit::outcome(format!("t+s{seed_index}"), &[], seed_index)
    }
}

/// Returns times of one seed each; from the limit on they timed out.
fn times(values: &[f64]) -> Vec<Outcome> {
    let measure =
        |&value: &f64| Measure { censored: value >= LIMIT, ..Measure::time(value.min(LIMIT)) };
    (1..).zip(values.iter().map(measure)).map(|(seed, measure)| outcome(seed, measure)).collect()
}

fn judged(treatment: &[Outcome], baseline: &[Outcome]) -> Comparison {
    let matched = MatchedTrials {
        cell: Cell(Vec::new()),
        treatment: "bfq".to_owned(),
        baseline: "none".to_owned(),
        paired: true,
        treatments: treatment.iter().collect(),
        baselines: baseline.iter().collect(),
        left_out: Vec::new(),
        repeated: Vec::new(),
    };
    let rule = DecisionRule::DEFAULT;
    compare(&[matched], &[Metric::of_name("start-up")], rule, None).unwrap().swap_remove(0)
}

#[test]
fn what_was_censored_is_longer_by_so_much_or_more() {
    let (quick, never) = (times(&[2.0, 2.1, 1.9, 2.0, 2.0]), times(&[60.0; 5]));
    let better = judged(&quick, &never);
    assert_eq!(better.verdict, Verdict::Better);
    let change = better.change.unwrap();
    assert!(change.percent < -96.0 && change.low <= -100.0 && change.high < 0.0, "{change:?}");
    assert!(better.change_and_verdict().starts_with("≤ -9"));
    let worse = judged(&never, &quick);
    assert_eq!(worse.verdict, Verdict::Worse);
    assert!(worse.change.unwrap().high.is_infinite());
    assert!(worse.change_and_verdict().contains("≥ x 30 worse"));
}

#[test]
fn of_two_that_were_censored_nobody_knows_which_is_longer() {
    let never = times(&[60.0; 5]);
    let comparison = judged(&never, &never);
    assert_eq!((comparison.verdict, comparison.change), (Verdict::Undecided, None));
    assert!(
        comparison.remarks.iter().any(|remark| remark.contains("both sides of 5 pairs timed out"))
    );
    // Medians are over all trials. The numbers beside a change are those of the change.
    let comparison =
        judged(&times(&[60.0, 60.0, 60.0, 2.0, 2.0]), &times(&[60.0, 60.0, 60.0, 30.0, 31.0]));
    assert_eq!((comparison.trials, comparison.treatment_median), ((2, 2), Some(60.0)));
    assert_eq!(comparison.numbers_in_words(), ("2 ns".to_owned(), "30 ns".to_owned()));
    assert!(comparison.too_few_seeds && comparison.change_and_verdict().starts_with("-93 %"));
    assert!(
        comparison.remarks.iter().any(|remark| remark.starts_with("2 pairs left to compare")),
        "{:?}",
        comparison.remarks
    );
    // The remaining trials decide, if there are enough.
    let comparison =
        judged(&times(&[60.0, 60.0, 2.0, 2.1, 2.0]), &times(&[60.0, 60.0, 30.0, 31.0, 60.0]));
    assert_eq!((comparison.verdict, comparison.trials), (Verdict::Better, (3, 3)));
}

#[test]
fn what_was_censored_is_not_called_the_same_or_less() {
    // The values are at the limit or nearly so, but the true times are unknown.
    let (nearly, never) = (times(&[59.9, 59.8, 59.9, 59.9, 59.8]), times(&[60.0; 5]));
    assert_eq!(judged(&never, &nearly).verdict, Verdict::Undecided);
    assert_eq!(judged(&nearly, &never).verdict, Verdict::Undecided);
    // Both sides timed out, in different pairs.
    let mixed = (times(&[60.0, 1.0, 1.0, 1.1, 1.0]), times(&[1.0, 60.0, 50.0, 51.0, 60.0]));
    assert_eq!(judged(&mixed.0, &mixed.1).verdict, Verdict::Undecided);
}

#[test]
fn nothing_counts_as_the_least_there_can_be() {
    let of = |values: &[f64]| -> Vec<Outcome> {
        let measure = |&value: &f64| Measure {
            least: Some(0.1),
            unit: "%".to_owned(),
            ..Measure::time(value)
        };
        (1..)
            .zip(values.iter().map(measure))
            .map(|(seed, measure)| outcome(seed, measure))
            .collect()
    };
    let (none, some) = (of(&[0.0; 5]), of(&[10.0, 11.0, 9.0, 10.0, 10.0]));
    let better = judged(&none, &some);
    assert_eq!((better.verdict, better.treatment_median), (Verdict::Better, Some(0.0)));
    assert!(better.change_and_verdict().starts_with("≤ -9"));
    assert!(
        better.remarks.iter().any(|remark| remark.contains("a value of 0 is taken as 0.1")),
        "{:?}",
        better.remarks
    );
    assert_eq!(judged(&none, &none).verdict, Verdict::Same);
}

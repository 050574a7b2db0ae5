//! Simulates how often intervals hold the truth: the shift between two cells whose logarithms have
//! one shape.

use disklab_stats::{
    Better, Interval, LocationTest, Rule, one_sample_shift, one_sample_t, two_sample_shift, welch,
};

use crate::source::{Rate, Shape, Table, TrialSource};

const SIMULATIONS: usize = 2_500;
const TRIALS: [usize; 4] = [3, 5, 10, 30];
const EFFECT: f64 = 0.3;

/// The claimed coverage of an interval.
#[derive(Clone, Copy, PartialEq)]
enum Claim {
    /// The coverage is 95 % within 1.5 points.
    Exact,
    /// The coverage is 93.5 % or more, since the method or the data make the interval cautious.
    AtLeast,
}

/// Prints and checks the coverage of `interval` on the logarithms of treatment and baseline.
fn coverage(
    table: &mut Table,
    name: &str,
    shape: Shape,
    claim: impl Fn(usize) -> Claim,
    interval: impl Fn(&[f64], &[f64]) -> Interval,
) {
    let rates = TRIALS.map(|n| {
        let mut source = TrialSource::new(&format!("{name} {shape:?} {n}"));
        let mut rate = Rate::default();
        for _ in 0..SIMULATIONS {
            let mut side = |effect: f64| -> Vec<f64> {
                (0..n).map(|_| effect + source.logarithm(shape)).collect()
            };
            let (treatment, baseline) = (side(EFFECT), side(0.0));
            rate.count(interval(&treatment, &baseline).contains(EFFECT));
        }
        let covered = rate.percent();
        let what = format!("{name}, {shape:?}, {n}: {covered:.2} %");
        match claim(n) {
            Claim::Exact => assert!((93.5..=96.5).contains(&covered), "{what}"),
            Claim::AtLeast => assert!(covered >= 93.5, "{what}"),
        }
        covered
    });
    table.row(&format!("{name}, {shape:?}"), rates);
}

fn differences(treatment: &[f64], baseline: &[f64]) -> Vec<f64> {
    treatment.iter().zip(baseline).map(|(treatment, baseline)| treatment - baseline).collect()
}

const TESTED: [Shape; 5] =
    [Shape::Normal, Shape::Exponential, Shape::Pareto, Shape::HeavyTails, Shape::Cauchy];

/// Student's t is exact for normal data, and cautious for heavier tails.
#[test]
fn student_and_welch() {
    let mut table =
        Table::new(&format!("coverage in % of 95 % intervals; trials a cell: {TRIALS:?}"));
    for shape in TESTED {
        let claim = |_| if shape == Shape::Normal { Claim::Exact } else { Claim::AtLeast };
        coverage(&mut table, "paired t", shape, claim, |treatment, baseline| {
            one_sample_t(&differences(treatment, baseline)).unwrap().interval(0.05).unwrap()
        });
        // Welch's degrees of freedom are themselves estimates: the interval is cautious with 3
        // against 3, even for normal data.
        let claim = |n| if shape == Shape::Normal && n > 3 { Claim::Exact } else { Claim::AtLeast };
        coverage(&mut table, "Welch", shape, claim, |treatment, baseline| {
            welch(treatment, baseline).unwrap().interval(0.05).unwrap()
        });
    }
}

/// Ranks hold for every shape. They have few levels with few trials, and none at 5 % with 3, or
/// with 5 pairs; the interval is then unbounded.
#[test]
fn hodges_lehmann() {
    let mut table =
        Table::new(&format!("coverage in % of 95 % intervals; trials a cell: {TRIALS:?}"));
    for shape in TESTED {
        let claim = |n| if n >= 10 { Claim::Exact } else { Claim::AtLeast };
        coverage(&mut table, "paired shift", shape, claim, |treatment, baseline| {
            one_sample_shift(&differences(treatment, baseline)).unwrap().interval(0.05).unwrap()
        });
        coverage(&mut table, "shift", shape, claim, |treatment, baseline| {
            two_sample_shift(treatment, baseline).unwrap().interval(0.05).unwrap()
        });
    }
}

/// The intervals of verdicts are cautious with 3 trials, and wrong at most as often as stated with
/// any number.
#[test]
fn of_verdicts() {
    let mut table =
        Table::new(&format!("coverage in % of 95 % intervals; trials a cell: {TRIALS:?}"));
    let rule = Rule::new(0.05, 0.02, Better::Lower).unwrap();
    let exp = |logarithms: &[f64]| {
        logarithms.iter().map(|logarithm| logarithm.exp()).collect::<Vec<f64>>()
    };
    for shape in TESTED {
        coverage(
            &mut table,
            "Rule::paired",
            shape,
            |_| Claim::AtLeast,
            |treatment, baseline| {
                rule.paired(&exp(treatment), &exp(baseline)).unwrap().log_ratio.interval
            },
        );
        coverage(
            &mut table,
            "Rule::unpaired",
            shape,
            |_| Claim::AtLeast,
            |treatment, baseline| {
                rule.unpaired(&exp(treatment), &exp(baseline)).unwrap().log_ratio.interval
            },
        );
    }
}

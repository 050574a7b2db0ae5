//! How often intervals hold the truth: the shift between two cells whose logarithms have one shape.

use disklab_stats::{
    Better, Bootstrap, Evidence, Interval, MergedHistograms, Rule, expanded_alpha,
    one_sample_shift, one_sample_t, two_sample_shift, welch,
};
use disklab_units::Seed;

use crate::source::{Rate, Shape, Source, Table};

const SIMULATIONS: usize = 2_500;
const TRIALS: [usize; 4] = [3, 5, 10, 30];
const EFFECT: f64 = 0.3;

/// What is claimed of an interval's coverage.
#[derive(Clone, Copy, PartialEq)]
enum Claim {
    /// 95 % within 1.5 points.
    Exact,
    /// 93.5 % at least; more, since the method or the data make it cautious.
    AtLeast,
    /// Nothing.
    None,
}

/// Prints and checks the coverage of what `interval` makes of logarithms of treatment and baseline.
fn coverage(
    table: &mut Table,
    name: &str,
    shape: Shape,
    claim: impl Fn(usize) -> Claim,
    interval: impl Fn(&[f64], &[f64]) -> Interval,
) {
    let rates = TRIALS.map(|n| {
        let mut source = Source::new(&format!("{name} {shape:?} {n}"));
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
            Claim::None => {}
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

/// t is exact for normal data, and cautious for tails heavier than those.
#[test]
fn student_and_welch() {
    let mut table =
        Table::new(&format!("coverage in % of 95 % intervals; trials a cell: {TRIALS:?}"));
    for shape in TESTED {
        let claim = |_| if shape == Shape::Normal { Claim::Exact } else { Claim::AtLeast };
        coverage(&mut table, "paired t", shape, claim, |treatment, baseline| {
            one_sample_t(&differences(treatment, baseline)).unwrap().interval(0.05).unwrap()
        });
        // Welch's degrees of freedom are themselves estimated: cautious with 3 against 3, even for
        // normal data.
        let claim = |n| if shape == Shape::Normal && n > 3 { Claim::Exact } else { Claim::AtLeast };
        coverage(&mut table, "Welch", shape, claim, |treatment, baseline| {
            welch(treatment, baseline).unwrap().interval(0.05).unwrap()
        });
    }
}

/// Ranks hold for every shape. They have few levels with few trials, and none at 5 % with 3, or
/// with 5 pairs: then the interval is everything.
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

/// The intervals that verdicts are given by: cautious with 3 trials, and at most as wrong as they
/// say with any number.
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

/// BCa claims its 95 % from 10 trials on, for means of normal data, if alpha is expanded.
#[test]
fn bca_bootstrap() {
    let mut table =
        Table::new(&format!("coverage in % of 95 % intervals; trials a cell: {TRIALS:?}"));
    for (name, expand) in [("BCa, mean", false), ("expanded BCa, mean", true)] {
        for shape in [Shape::Normal, Shape::Exponential, Shape::HeavyTails] {
            let claim = |n| {
                if expand && shape == Shape::Normal && n >= 10 { Claim::Exact } else { Claim::None }
            };
            coverage(&mut table, name, shape, claim, |treatment, baseline| {
                let differences = differences(treatment, baseline);
                let mean = |[drawn]: [&[u32]; 1]| {
                    drawn.iter().map(|&at| differences[at as usize]).sum::<f64>()
                        / drawn.len() as f64
                };
                bca(differences.len(), expand)
                    .interval([differences.len()], mean)
                    .map_or(ANYTHING, |of| of.interval)
            });
        }
    }
}

/// An interval that does not exist says nothing, and is not wrong.
const ANYTHING: Interval = Interval::UNBOUNDED;

fn bca(n: usize, expand: bool) -> Bootstrap {
    let alpha = if expand { expanded_alpha(0.05, n).unwrap() } else { 0.05 };
    Bootstrap { resamples: 600, seed: Seed(1), alpha }
}

/// The p99 of all requests together, of trials that differ in speed: the ratio of two cells' merged
/// percentiles.
#[test]
fn bca_bootstrap_of_a_merged_percentile() {
    const REQUESTS: usize = 400;
    let mut table =
        Table::new(&format!("coverage in % of 95 % intervals; trials a cell: {TRIALS:?}"));
    let rates = TRIALS.map(|n| {
        let mut source = Source::new(&format!("merged {n}"));
        let mut rates = [Rate::default(); 2];
        for _ in 0..300 {
            let cells: [MergedHistograms; 2] = [EFFECT, 0.0].map(|effect| {
                let trials: Vec<Vec<(u64, u64)>> = (0..n)
                    .map(|_| {
                        let speed = (0.2 * source.normal() + effect).exp();
                        (0..REQUESTS)
                            .map(|_| (to_bin(1e6 * speed * source.exponential()), 1))
                            .collect()
                    })
                    .collect();
                MergedHistograms::new(&trials.iter().map(Vec::as_slice).collect::<Vec<_>>())
                    .unwrap()
            });
            let [one, other] = cells.each_ref().map(|cell| cell.percentile(99.0).unwrap());
            let ratio =
                |[left, right]: [&[u32]; 2]| (one.of(left) as f64 / other.of(right) as f64).ln();
            for (rate, expand) in rates.iter_mut().zip([false, true]) {
                let estimate = bca(n, expand).interval([n, n], ratio);
                rate.count(estimate.map_or(ANYTHING, |of| of.interval).contains(EFFECT));
            }
        }
        rates.map(Rate::percent)
    });
    table.row("BCa, merged p99", rates.map(|[plain, _]| plain));
    table.row("expanded BCa, merged p99", rates.map(|[_, expanded]| expanded));
    assert!(rates[2..].iter().all(|[_, expanded]| (91.0..=98.0).contains(expanded)), "{rates:?}");
}

/// The middle of its bin, 64 to an octave.
fn to_bin(ns: f64) -> u64 {
    let width = 2_f64.powi((ns.max(1.0).log2().floor() as i32 - 6).max(0));
    ((ns / width).floor() * width + width / 2.0) as u64
}

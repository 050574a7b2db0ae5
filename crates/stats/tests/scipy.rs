//! The same numbers as SciPy, statsmodels and ruptures; tests/vectors/make.py wrote them.

#![expect(clippy::float_cmp, reason = "what is exact is compared exactly")]

use disklab_stats as stats;
use disklab_stats::{Bootstrap, Correction, Criterion, Design, Evidence, StudentT, Tails, Time};
use disklab_units::Seed;
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    mann_whitney: Vec<MannWhitney>,
    signed_rank: Vec<SignedRank>,
    welch: Vec<TTest>,
    paired: Vec<TTest>,
    student: Vec<Critical>,
    multiplicity: Vec<Multiplicity>,
    power: Vec<Power>,
    bootstrap: Vec<Resampled>,
    change_points: Vec<ChangePoints>,
    survival: Vec<Survival>,
    gehan: Vec<Gehan>,
    others: Others,
}

#[derive(Deserialize)]
struct Sides {
    less: f64,
    greater: f64,
    two_sided: f64,
}

#[derive(Deserialize)]
struct MannWhitney {
    left: Vec<f64>,
    right: Vec<f64>,
    u: f64,
    exact: Option<Sides>,
    asymptotic: Sides,
}

#[derive(Deserialize)]
struct SignedRank {
    differences: Vec<f64>,
    positive_ranks: f64,
    exact: Option<Sides>,
    asymptotic: Sides,
}

#[derive(Deserialize)]
struct TTest {
    left: Vec<f64>,
    right: Vec<f64>,
    degrees_of_freedom: f64,
    low: f64,
    high: f64,
    tails: Sides,
    margin: f64,
    equivalence: f64,
}

#[derive(Deserialize)]
struct Critical {
    degrees_of_freedom: f64,
    alpha: f64,
    value: f64,
}

#[derive(Deserialize)]
struct Multiplicity {
    p_values: Vec<f64>,
    holm: Vec<f64>,
    benjamini_hochberg: Vec<f64>,
}

#[derive(Deserialize)]
struct Power {
    n: usize,
    effect: f64,
    alpha: f64,
    paired: f64,
    unpaired: f64,
}

#[derive(Deserialize)]
struct Resampled {
    statistic: String,
    samples: Vec<Vec<f64>>,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct ChangePoints {
    series: Vec<f64>,
    penalty: f64,
    cuts: Vec<usize>,
}

#[derive(Deserialize)]
struct Survival {
    times: Vec<f64>,
    ended: Vec<bool>,
    median: Option<f64>,
}

#[derive(Deserialize)]
struct Gehan {
    times: Vec<f64>,
    ended: Vec<bool>,
    left: usize,
    wins_less_losses: f64,
    tails: Sides,
}

#[derive(Deserialize)]
struct Others {
    values: Vec<f64>,
    geometric_mean: f64,
    slope: f64,
    max_mean_deviation: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("vectors/reference.json")).expect("the reference is whole")
}

#[track_caller]
fn close(ours: f64, theirs: f64, relative: f64) {
    assert!((ours - theirs).abs() <= relative * theirs.abs() + 1e-14, "{ours} is not {theirs}");
}

#[track_caller]
fn same_tails(ours: Tails, theirs: &Sides, relative: f64) {
    close(ours.less, theirs.less, relative);
    close(ours.greater, theirs.greater, relative);
    close(ours.two_sided(), theirs.two_sided, relative);
}

#[test]
fn mann_whitney() {
    let mut exact = 0;
    for case in reference().mann_whitney {
        let approximate = stats::mann_whitney_asymptotic(&case.left, &case.right).unwrap();
        assert_eq!(approximate.u, case.u);
        same_tails(approximate.tails, &case.asymptotic, 1e-9);
        if let Some(theirs) = case.exact {
            exact += 1;
            same_tails(
                stats::mann_whitney_exact(&case.left, &case.right).unwrap().tails,
                &theirs,
                1e-12,
            );
        }
    }
    assert!(exact >= 15, "only {exact} exact cases");
}

#[test]
fn signed_rank() {
    let mut exact = 0;
    for case in reference().signed_rank {
        let approximate = stats::signed_rank_asymptotic(&case.differences).unwrap();
        assert_eq!(approximate.positive_ranks, case.positive_ranks);
        same_tails(approximate.tails, &case.asymptotic, 1e-9);
        if let Some(theirs) = case.exact {
            exact += 1;
            same_tails(stats::signed_rank_exact(&case.differences).unwrap().tails, &theirs, 1e-12);
        }
    }
    assert!(exact >= 10, "only {exact} exact cases");
}

#[test]
fn student_and_welch() {
    let same = |ours: StudentT, theirs: &TTest| {
        close(ours.degrees_of_freedom, theirs.degrees_of_freedom, 1e-12);
        let interval = ours.interval(0.05).unwrap();
        close(interval.low, theirs.low, 1e-9);
        close(interval.high, theirs.high, 1e-9);
        same_tails(ours.tails(0.0), &theirs.tails, 1e-9);
        close(
            stats::equivalence(&ours, theirs.margin).unwrap().p_value(),
            theirs.equivalence,
            1e-9,
        );
    };
    for case in reference().welch {
        same(stats::welch(&case.left, &case.right).unwrap(), &case);
    }
    for case in reference().paired {
        same(stats::paired_t(&case.left, &case.right).unwrap(), &case);
    }
}

#[test]
fn critical_values_of_t() {
    for case in reference().student {
        let standard = StudentT {
            estimate: 0.0,
            standard_error: 1.0,
            degrees_of_freedom: case.degrees_of_freedom,
        };
        close(standard.interval(case.alpha).unwrap().high, case.value, 1e-8);
    }
}

#[test]
fn corrections_for_many_cells() {
    for case in reference().multiplicity {
        let compare = |correction: Correction, theirs: &[f64]| {
            let ours = correction.adjust(&case.p_values).unwrap();
            ours.iter().zip(theirs).for_each(|(ours, theirs)| close(*ours, *theirs, 1e-12));
        };
        compare(Correction::Holm, &case.holm);
        compare(Correction::BenjaminiHochberg, &case.benjamini_hochberg);
    }
}

#[test]
fn power_of_t_tests() {
    for case in reference().power {
        let power = |design| stats::power(design, case.n, case.effect, 1.0, case.alpha).unwrap();
        close(power(Design::Paired), case.paired, 1e-6);
        close(power(Design::Unpaired), case.unpaired, 1e-6);
    }
}

/// Within 2 % of the interval's width: ours has other resamples, 100 000 of them.
#[test]
fn bca_bootstrap() {
    let mean = |values: &[f64], drawn: &[u32]| {
        drawn.iter().map(|&at| values[at as usize]).sum::<f64>() / drawn.len() as f64
    };
    let deviation = |values: &[f64], drawn: &[u32]| {
        let mean = mean(values, drawn);
        let squares: f64 = drawn.iter().map(|&at| (values[at as usize] - mean).powi(2)).sum();
        (squares / (drawn.len() - 1) as f64).sqrt()
    };
    let bootstrap = Bootstrap { resamples: 100_000, seed: Seed(5), alpha: 0.05 };
    for case in reference().bootstrap {
        let first = case.samples[0].as_slice();
        let second = case.samples.get(1).map_or(first, Vec::as_slice);
        let sizes = [first.len(), second.len()];
        let ours = match case.statistic.as_str() {
            "mean" => bootstrap.interval([first.len()], |[drawn]| mean(first, drawn)),
            "standard deviation" => {
                bootstrap.interval([first.len()], |[drawn]| deviation(first, drawn))
            }
            "difference of means" => {
                bootstrap.interval(sizes, |[left, right]| mean(first, left) - mean(second, right))
            }
            "ratio of means, paired" => bootstrap
                .interval([first.len()], |[drawn]| mean(first, drawn) / mean(second, drawn)),
            other => panic!("{other} is not known"),
        };
        let ours = ours.unwrap().interval;
        let off = (ours.low - case.low).abs().max((ours.high - case.high).abs());
        assert!(
            off < 0.02 * (case.high - case.low),
            "{}: {ours:?}, not {}..{}",
            case.statistic,
            case.low,
            case.high
        );
    }
}

#[test]
fn change_points() {
    let mut cuts = 0;
    for case in reference().change_points {
        cuts += case.cuts.len();
        assert_eq!(stats::change_points(&case.series, case.penalty), Ok(case.cuts));
    }
    assert!(cuts > 10);
}

fn times(values: &[f64], ended: &[bool]) -> Vec<Time> {
    let time =
        |(&value, &ended)| if ended { Time::Exactly(value) } else { Time::LongerThan(value) };
    values.iter().zip(ended).map(time).collect()
}

#[test]
fn censored_medians() {
    for case in reference().survival {
        match (stats::median_time(&times(&case.times, &case.ended)).unwrap(), case.median) {
            (Time::Exactly(ours), Some(theirs)) => close(ours, theirs, 1e-12),
            (Time::LongerThan(_), None) => {}
            (ours, theirs) => panic!("{ours:?} is not {theirs:?}"),
        }
    }
}

#[test]
fn censored_ranks() {
    for case in reference().gehan {
        let times = times(&case.times, &case.ended);
        let (left, right) = times.split_at(case.left);
        let test = stats::censored_rank_test(left, right).unwrap();
        assert_eq!(2.0 * test.u - (left.len() * right.len()) as f64, case.wins_less_losses);
        same_tails(test.tails, &case.tails, 1e-12);
    }
}

#[test]
fn means_and_steadiness() {
    let others = reference().others;
    close(stats::geometric_mean(&others.values).unwrap(), others.geometric_mean, 1e-13);
    close(Criterion::Slope.of(&others.values).unwrap(), others.slope, 1e-9);
    close(
        Criterion::MaxMeanDeviation.of(&others.values).unwrap(),
        others.max_mean_deviation,
        1e-12,
    );
}

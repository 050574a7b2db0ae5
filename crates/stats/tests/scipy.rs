//! Compares with numbers from SciPy, statsmodels and ruptures; tests/vectors/make.py wrote them.

#![expect(clippy::float_cmp, reason = "what is exact is compared exactly")]

use disklab_stats as stats;
use disklab_stats::{Correction, Criterion, LocationTest, StudentT, Tails};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    mann_whitney: Vec<MannWhitney>,
    signed_rank: Vec<SignedRank>,
    welch: Vec<TTest>,
    paired: Vec<TTest>,
    student: Vec<Critical>,
    multiplicity: Vec<Multiplicity>,
    change_points: Vec<ChangePoints>,
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
    exact: Option<Sides>,
}

#[derive(Deserialize)]
struct SignedRank {
    differences: Vec<f64>,
    exact: Option<Sides>,
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
struct ChangePoints {
    series: Vec<f64>,
    penalty: f64,
    cuts: Vec<usize>,
}

#[derive(Deserialize)]
struct Others {
    values: Vec<f64>,
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

fn distinct(values: impl Iterator<Item = f64>) -> bool {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.windows(2).all(|pair| pair[0] != pair[1])
}

/// Without ties, the shift's p-values are those of the Mann-Whitney test.
#[test]
fn mann_whitney() {
    let mut exact = 0;
    for case in reference().mann_whitney {
        let all = case.left.iter().chain(&case.right).copied();
        let Some(theirs) = case.exact.filter(|_| distinct(all)) else { continue };
        exact += 1;
        let shift = stats::two_sample_shift(&case.left, &case.right).unwrap();
        same_tails(shift.tails(0.0), &theirs, 1e-12);
    }
    assert!(exact >= 7, "only {exact} exact cases");
}

/// Without ties, the shift's p-values are those of Wilcoxon's signed-rank test.
#[test]
fn signed_rank() {
    let mut exact = 0;
    for case in reference().signed_rank {
        let magnitudes = case.differences.iter().map(|difference| difference.abs());
        let has_zero = case.differences.contains(&0.0);
        let Some(theirs) = case.exact.filter(|_| distinct(magnitudes) && !has_zero) else {
            continue;
        };
        exact += 1;
        let shift = stats::one_sample_shift(&case.differences).unwrap();
        same_tails(shift.tails(0.0), &theirs, 1e-12);
    }
    assert!(exact >= 6, "only {exact} exact cases");
}

#[test]
fn student_and_welch() {
    let same = |ours: StudentT, theirs: &TTest| {
        close(ours.degrees_of_freedom, theirs.degrees_of_freedom, 1e-12);
        let interval = ours.interval(0.05).unwrap();
        close(interval.low, theirs.low, 1e-9);
        close(interval.high, theirs.high, 1e-9);
        same_tails(ours.tails(0.0), &theirs.tails, 1e-9);
        close(ours.p_equivalent(theirs.margin).unwrap(), theirs.equivalence, 1e-9);
    };
    for case in reference().welch {
        same(stats::welch(&case.left, &case.right).unwrap(), &case);
    }
    for case in reference().paired {
        let differences: Vec<f64> =
            std::iter::zip(&case.left, &case.right).map(|(left, right)| left - right).collect();
        same(stats::one_sample_t(&differences).unwrap(), &case);
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
            let ours = correction.adjust(case.p_values.iter().copied()).unwrap();
            ours.iter().zip(theirs).for_each(|(ours, theirs)| close(*ours, *theirs, 1e-12));
        };
        compare(Correction::Holm, &case.holm);
        compare(Correction::BenjaminiHochberg, &case.benjamini_hochberg);
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

#[test]
fn steadiness() {
    let others = reference().others;
    close(Criterion::Slope.measure(&others.values).unwrap(), others.slope, 1e-9);
    close(
        Criterion::MaxMeanDeviation.measure(&others.values).unwrap(),
        others.max_mean_deviation,
        1e-12,
    );
}

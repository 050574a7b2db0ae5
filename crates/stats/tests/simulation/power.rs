//! The exact power of t-tests, the reference for plans and verdicts.
//!
//! It is for normal log-ratios (Cohen, "Statistical Power Analysis", 1988, chapter 2), with the
//! noncentral t distribution itself, not its approximation.

use disklab_stats::{
    Better, Comparison, Correction, Estimate, Interval, LocationTest, Method, PLANNED_POWER, Rule,
    StudentT, Verdict,
};
use serde::Deserialize;
use statrs::distribution::{ContinuousCDF, Normal};

/// The relation between the trials of two cells.
#[derive(Debug, Clone, Copy)]
pub enum Design {
    /// Pairs of trials with the same seed. The standard deviation is that of the log-ratios of
    /// pairs.
    Paired,
    /// Unrelated trials, as many on each side. The standard deviation is that of the logarithms
    /// within a cell.
    Unpaired,
}

impl Design {
    /// Returns the degrees of freedom with `n` trials of each cell, and the noncentrality of an
    /// effect of one standard deviation.
    fn student(self, n: usize) -> (f64, f64) {
        let n = n as f64;
        match self {
            Self::Paired => (n - 1.0, n.sqrt()),
            Self::Unpaired => (2.0 * (n - 1.0), (n / 2.0).sqrt()),
        }
    }
}

/// Returns the chance that a two-sided test at `alpha` with `n` trials of each cell distinguishes a
/// log-ratio of `effect` from zero, if its standard deviation is `sd`.
fn power(design: Design, n: usize, effect: f64, sd: f64, alpha: f64) -> f64 {
    let (degrees, noncentrality) = design.student(n);
    let critical = t_critical(alpha, degrees);
    let noncentrality = noncentrality * effect / sd;
    noncentral_t_upper(critical, degrees, noncentrality)
        + noncentral_t_upper(critical, degrees, -noncentrality)
}

fn t_critical(alpha: f64, degrees_of_freedom: f64) -> f64 {
    let standard = StudentT { estimate: 0.0, standard_error: 1.0, degrees_of_freedom };
    standard.interval(alpha).unwrap().high
}

/// Returns the least log-ratio that a two-sided test at `alpha` finds with the chance `wanted`: the
/// minimum detectable effect.
pub fn detectable_effect(design: Design, n: usize, sd: f64, alpha: f64, wanted: f64) -> f64 {
    let (mut low, mut high) = (0.0, 100.0);
    while high - low > 1e-12 * high {
        let middle = f64::midpoint(low, high);
        if power(design, n, middle, 1.0, alpha) >= wanted {
            high = middle;
        } else {
            low = middle;
        }
    }
    high * sd
}

/// Returns the fewest trials of each cell with which a two-sided test at `alpha` finds a log-ratio
/// of `effect` with the chance `wanted`.
pub fn trials_needed(design: Design, effect: f64, sd: f64, alpha: f64, wanted: f64) -> usize {
    let reaches = |n: usize| power(design, n, effect, sd, alpha) >= wanted;
    let mut high = 2;
    while !reaches(high) {
        high *= 2;
    }
    let mut low = 1; // is not enough
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if reaches(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Returns the chance that a noncentral t exceeds `t`. That is the chance that a normal value with
/// mean `noncentrality` exceeds t times a standard deviation estimated from `degrees` of freedom.
/// It is averaged over the possible estimates (Simpson's rule).
fn noncentral_t_upper(t: f64, degrees: f64, noncentrality: f64) -> f64 {
    const STEPS: usize = 2_000;
    // The estimate relative to the truth is a chi variable by the root of its degrees: its density,
    // up to a factor. With the substitution s = x^2 it is smooth at zero for one degree of freedom
    // too.
    let log_density = |s: f64| (degrees - 1.0) * s.ln() - degrees * s * s / 2.0;
    let peak = log_density(((degrees - 1.0) / degrees).sqrt().max(1e-3));
    let most = 1.0 + 9.0 / (2.0 * degrees).sqrt();
    let width = most.sqrt() / STEPS as f64;
    let (mut exceeding, mut all) = (0.0, 0.0);
    for step in 1..=STEPS {
        let x = step as f64 * width;
        let s = x * x;
        let simpson = if step == STEPS { 1.0 } else { 2.0 * (1 + step % 2) as f64 };
        let weight = simpson * (log_density(s) - peak).exp() * x;
        all += weight;
        exceeding += weight * Normal::standard().cdf(noncentrality - t * s);
    }
    exceeding / all
}

/// Compares with the numbers of statsmodels.
#[test]
fn power_is_that_of_others() {
    #[derive(Deserialize)]
    struct Reference {
        power: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        n: usize,
        effect: f64,
        alpha: f64,
        paired: f64,
        unpaired: f64,
    }
    let reference: Reference =
        serde_json::from_str(include_str!("../vectors/reference.json")).unwrap();
    for Case { n, effect, alpha, paired, unpaired } in reference.power {
        for (design, theirs) in [(Design::Paired, paired), (Design::Unpaired, unpaired)] {
            let ours = power(design, n, effect, 1.0, alpha);
            assert!((ours - theirs).abs() <= 1e-6 * theirs, "{ours} is not {theirs}");
        }
    }
}

#[test]
fn without_an_effect_the_power_is_alpha() {
    for (design, n) in
        [(Design::Paired, 2), (Design::Paired, 3), (Design::Unpaired, 2), (Design::Unpaired, 300)]
    {
        let power = power(design, n, 0.0, 0.1, 0.05);
        assert!((power - 0.05).abs() < 1e-8, "{design:?} {n}: {power}");
    }
}

#[test]
fn effect_and_trials_are_inverse() {
    let (sd, alpha, wanted) = (0.07, 0.05, 0.8);
    for n in [3, 5, 10, 30] {
        for design in [Design::Paired, Design::Unpaired] {
            let effect = detectable_effect(design, n, sd, alpha, wanted);
            assert!((power(design, n, effect, sd, alpha) - wanted).abs() < 1e-9);
            assert_eq!(trials_needed(design, effect * (1.0 + 1e-9), sd, alpha, wanted), n);
            assert_eq!(trials_needed(design, -effect * 0.999, sd, alpha, wanted), n + 1);
        }
    }
}

/// The plan of `Rule::trials_to_decide` for a difference is the number of trials that t needs.
#[test]
fn a_difference_takes_what_the_exact_power_of_t_says() {
    const PAIRS: usize = 6;
    let rule = Rule::new(0.05, 1e-6, Better::Higher).unwrap();
    for (effect, sd) in [(0.05, 0.1), (0.02, 0.1), (0.1, 0.11), (0.01, 0.2)] {
        let exact = trials_needed(Design::Paired, effect, sd, 0.0125, PLANNED_POWER);
        let half = t_critical(0.05, PAIRS as f64 - 1.0) * sd / (PAIRS as f64).sqrt();
        let cell = Comparison {
            method: Method::PairedRanks,
            trials: (PAIRS, PAIRS),
            log_ratio: Estimate {
                value: effect,
                interval: Interval { low: effect - half, high: effect + half },
            },
            p_different: 0.5,
            p_same: 0.5,
            verdict: Verdict::Undecided,
            baseline: 0.0,
            spread: Some(sd),
        };
        // An extended record has a quarter of alpha.
        let cells = [cell];
        let planned = rule.trials_to_decide(&cells, Correction::Holm, (1.0, 0.25)).unwrap()[0]
            .unwrap()
            .trials;
        assert!(
            planned.abs_diff(exact) <= 1 + exact / 50,
            "{effect} {sd}: {planned}, exactly {exact}"
        );
    }
}

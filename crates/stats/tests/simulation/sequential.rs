//! Simulates the cost and the savings of interim analyses: seeds are added until the verdict is no
//! longer open.

use disklab_stats::{
    Analysis, Better, Comparison, Correction, InterimAnalyses, Rule, Verdict, share_of_stage,
};

use crate::power::{Design, trials_needed};
use crate::source::{Rate, SHAPES, Shape, Table, TrialSource};

const BUDGET: usize = 30;

fn rule() -> Rule {
    Rule::new(0.05, 0.02, Better::Higher).unwrap()
}

/// Adds pairs until the verdict is decided; returns the verdict and the number of pairs.
fn until_decided(
    source: &mut TrialSource,
    shape: Shape,
    analyses: &InterimAnalyses,
    effect: f64,
    noise: f64,
) -> (Verdict, usize) {
    let rule = rule().with_alpha(analyses.alpha()).unwrap();
    let mut side = |effect: f64| -> Vec<f64> {
        (0..BUDGET).map(|_| (effect + noise * source.logarithm(shape)).exp()).collect()
    };
    let (one, other) = (side(effect), side(0.0));
    for &n in analyses.trials() {
        let verdict = rule.paired(&one[..n], &other[..n]).unwrap().verdict;
        if verdict != Verdict::Undecided {
            return (verdict, n);
        }
    }
    (Verdict::Undecided, BUDGET)
}

fn is_false(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

#[test]
fn looking_gives_no_more_false_verdicts() {
    let mut table = Table::new(&format!(
        "false verdicts in % over all looks up to {BUDGET} pairs: planned looks; 5 % at each n"
    ));
    let analyses = InterimAnalyses::plan(BUDGET, 0.05).unwrap();
    for shape in SHAPES {
        let mut source = TrialSource::new(&format!("looks {shape:?}"));
        let (mut planned, mut naive) = (Rate::default(), Rate::default());
        for _ in 0..1_500 {
            let noise = if shape == Shape::Bins { 1.0 } else { 0.2 };
            planned.count(is_false(until_decided(&mut source, shape, &analyses, 0.0, noise).0));
        }
        for _ in 0..60 {
            let (one, other) = (source.trials(shape, BUDGET), source.trials(shape, BUDGET));
            let mut verdicts =
                (3..=BUDGET).map(|n| rule().paired(&one[..n], &other[..n]).unwrap().verdict);
            naive.count(verdicts.any(is_false));
        }
        planned.assert_at_most(5.0, &format!("{shape:?}, looks"));
        table.row(&format!("{shape:?}"), [planned.percent(), naive.percent()]);
        if shape == Shape::Normal {
            assert!(naive.percent() > 12.0, "looking at each n is not the trap it is said to be");
        }
    }
}

/// Returns the verdicts on a record of fixed n that is extended until it has one. The first
/// analysis has all of alpha, as its user saw it; then the record is an extended one.
fn extended_until_significant(one: &[f64], other: &[f64], sizes: &[usize]) -> Vec<Verdict> {
    let stages = |so_far: usize| {
        let analysis =
            |stage: usize| Analysis { pairs: sizes[stage], share: share_of_stage(stage, so_far) };
        (0..so_far).map(analysis).collect::<Vec<_>>()
    };
    let family = |so_far: usize| {
        let found = rule().after_analyses(one, other, &stages(so_far)).unwrap();
        rule().family(&[found], Correction::Holm).unwrap()[0]
    };
    (1..=sizes.len()).map(family).collect()
}

/// Seeds are added until there is a verdict of better or worse, up to five times. If the looks are
/// ignored, far more than 5 % of records show a difference without an effect. An extended record
/// does so in at most 5 %. With the verdict of the first look at all of alpha, the rate is at most
/// 7.5 %.
#[test]
fn seeds_that_are_added_until_significant_give_few_false_verdicts() {
    const SIZES: [usize; 6] = [5, 8, 12, 18, 27, 41];
    let mut table = Table::new(
        "false verdicts in % when seeds are added up to five times (5, 8, 12, 18, 27, 41 pairs): \
         by an extended record; with the first look at 5 %; each look at 5 %",
    );
    for shape in SHAPES {
        let mut source = TrialSource::new(&format!("extended {shape:?}"));
        let (mut extended, mut user, mut naive) =
            (Rate::default(), Rate::default(), Rate::default());
        for _ in 0..1_000 {
            let most = SIZES[SIZES.len() - 1];
            let (one, other) = (source.trials(shape, most), source.trials(shape, most));
            let verdicts = extended_until_significant(&one, &other, &SIZES);
            extended.count(verdicts[1..].iter().any(|verdict| is_false(*verdict)));
            user.count(verdicts.iter().any(|verdict| is_false(*verdict)));
            let mut each =
                SIZES.iter().map(|&n| rule().paired(&one[..n], &other[..n]).unwrap().verdict);
            naive.count(each.any(is_false));
        }
        extended.assert_at_most(5.0, &format!("{shape:?}, extended"));
        user.assert_at_most(7.5, &format!("{shape:?}, with the first look"));
        table.row(&format!("{shape:?}"), [extended.percent(), user.percent(), naive.percent()]);
        if shape == Shape::Normal {
            assert!(naive.percent() > 8.0, "looking is not the trap it is said to be");
        }
    }
}

/// Compares, for known effects, how often the verdict is right, and the mean number of pairs, with
/// the pairs of a fixed design that finds the effect in as many cases.
#[test]
fn settled_cells_take_fewer_trials() {
    let mut table = Table::new(
        "+5 %, other noise; noise of a pair in %, right %, pairs, \
         pairs of a fixed design of equal power",
    );
    let analyses = InterimAnalyses::plan(BUDGET, 0.05).unwrap();
    let effect = 1.05_f64.ln();
    for noise in [0.01, 0.02, 0.03, 0.05] {
        let mut source = TrialSource::new(&format!("saving {noise}"));
        let (mut right, mut pairs) = (Rate::default(), 0);
        for _ in 0..1_000 {
            let (verdict, n) = until_decided(&mut source, Shape::Normal, &analyses, effect, noise);
            right.count(verdict == Verdict::Better);
            pairs += n;
        }
        let of_pair = noise * 2.0_f64.sqrt();
        let power = (right.percent() / 100.0).min(0.999);
        let fixed = trials_needed(Design::Paired, effect, of_pair, 0.05, power);
        let pairs = pairs as f64 / 1_000.0;
        table.row("normal", [100.0 * of_pair, right.percent(), pairs, fixed as f64]);
        assert!(
            right.percent() > 80.0 && pairs < 0.8 * BUDGET as f64,
            "noise {noise}: {pairs} pairs"
        );
    }
}

/// Cells without any difference are settled too, if the noise allows it.
#[test]
fn equal_cells_are_settled() {
    let analyses = InterimAnalyses::plan(BUDGET, 0.05).unwrap();
    let mut source = TrialSource::new("equal");
    let (mut same, mut pairs) = (Rate::default(), 0);
    for _ in 0..1_000 {
        let (verdict, n) = until_decided(&mut source, Shape::Normal, &analyses, 0.0, 0.01);
        same.count(verdict == Verdict::Same);
        pairs += n;
    }
    println!(
        "\nno effect, 1.4 % of noise: {:.1} % same, {} pairs",
        same.percent(),
        pairs as f64 / 1_000.0
    );
    assert!(same.percent() > 85.0, "{} %", same.percent());
}

/// The cells of a suite that are analysed together: each gets seeds until the family has a verdict
/// on it.
struct Family {
    cells: Vec<(Vec<f64>, Vec<f64>)>,
    correction: Correction,
}

impl Family {
    /// Returns the verdicts, and the number of pairs of each cell.
    fn until_decided(&self, analyses: &InterimAnalyses) -> Vec<(Verdict, usize)> {
        let mut settled = vec![(Verdict::Undecided, 0); self.cells.len()];
        for &n in analyses.trials() {
            for cell in settled.iter_mut().filter(|(verdict, _)| *verdict == Verdict::Undecided) {
                cell.1 = n;
            }
            let comparisons: Vec<Comparison> = self
                .cells
                .iter()
                .zip(&settled)
                .map(|((one, other), (_, pairs))| {
                    let trials = analyses.trials();
                    let share = 1.0 / trials.len() as f64;
                    let taken = trials.iter().filter(|n| *n <= pairs);
                    let taken: Vec<Analysis> =
                        taken.map(|&pairs| Analysis { pairs, share }).collect();
                    rule().after_analyses(one, other, &taken).unwrap()
                })
                .collect();
            let verdicts = rule().family(&comparisons, self.correction).unwrap();
            for (cell, verdict) in settled.iter_mut().zip(verdicts) {
                assert!(
                    cell.0 == Verdict::Undecided || cell.0 == verdict,
                    "what was decided stays so"
                );
                cell.0 = verdict;
            }
            if settled.iter().all(|(verdict, _)| *verdict != Verdict::Undecided) {
                break;
            }
        }
        settled
    }
}

/// Tests a suite of 20 cells, 15 of them without a difference, each with other noise. By Holm, at
/// most 5 % of suites have any false verdict. By Benjamini and Hochberg, 5 % of verdicts are false
/// on average. Both hold though each cell has its own number of analyses.
#[test]
fn a_suite_that_stops_where_it_is_decided() {
    const SUITES: usize = 400;
    let analyses = InterimAnalyses::plan(BUDGET, 0.05).unwrap();
    for (correction, name) in
        [(Correction::Holm, "Holm"), (Correction::BenjaminiHochberg, "Benjamini-Hochberg")]
    {
        let mut source = TrialSource::new(&format!("suite {name}"));
        let (mut any, mut share, mut pairs, mut right) = (Rate::default(), 0.0, 0, Rate::default());
        for _ in 0..SUITES {
            let cell = |at: usize, source: &mut TrialSource| {
                let (effect, noise) = (if at < 5 { 0.1 } else { 0.0 }, 0.005 * (1 + at) as f64);
                let mut side = |effect: f64| -> Vec<f64> {
                    (0..BUDGET)
                        .map(|_| (effect + noise * source.logarithm(Shape::Normal)).exp())
                        .collect()
                };
                (side(effect), side(0.0))
            };
            let cells = (0..20).map(|at| cell(at, &mut source)).collect();
            let settled = Family { cells, correction }.until_decided(&analyses);
            let found = settled.iter().filter(|(verdict, _)| is_false(*verdict)).count();
            let wrong = settled[5..].iter().filter(|(verdict, _)| is_false(*verdict)).count();
            any.count(wrong > 0);
            share += wrong as f64 / found.max(1) as f64;
            pairs += settled.iter().map(|(_, pairs)| pairs).sum::<usize>();
            settled[..5].iter().for_each(|(verdict, _)| right.count(*verdict == Verdict::Better));
        }
        let share = 100.0 * share / SUITES as f64;
        let of = 100.0 * pairs as f64 / (20 * BUDGET * SUITES) as f64;
        println!(
            "\n{name}: any false in {:.2} % of suites, {share:.2} % of findings, \
             {:.1} % of effects found, with {of:.0} % of the pairs of a fixed design",
            any.percent(),
            right.percent()
        );
        match correction {
            Correction::Holm => any.assert_at_most(5.0, name),
            Correction::BenjaminiHochberg => assert!(share < 5.0, "{share}"),
        }
        assert!(right.percent() > 95.0);
    }
}

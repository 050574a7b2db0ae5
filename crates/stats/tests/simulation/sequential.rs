//! What looking costs, and what it saves: seeds are added until the verdict is no longer open.

use disklab_stats::{Better, Design, Looks, Rule, Verdict, trials_needed};

use crate::source::{Rate, SHAPES, Shape, Source, Table};

const BUDGET: usize = 30;

fn rule() -> Rule {
    Rule::new(0.05, 0.02, Better::Higher).unwrap()
}

/// Adds pairs until decided: the verdict, and the pairs it took.
fn until_decided(
    source: &mut Source,
    shape: Shape,
    looks: &Looks,
    effect: f64,
    noise: f64,
) -> (Verdict, usize) {
    let rule = rule().with_alpha(looks.alpha()).unwrap();
    let mut side = |effect: f64| -> Vec<f64> {
        (0..BUDGET).map(|_| (effect + noise * source.logarithm(shape)).exp()).collect()
    };
    let (one, other) = (side(effect), side(0.0));
    for &n in looks.at() {
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
    let looks = Looks::plan(BUDGET, 0.05).unwrap();
    for shape in SHAPES {
        let mut source = Source::new(&format!("looks {shape:?}"));
        let (mut planned, mut naive) = (Rate::default(), Rate::default());
        for _ in 0..1_500 {
            let noise = if shape == Shape::Bins { 1.0 } else { 0.2 };
            planned.count(is_false(until_decided(&mut source, shape, &looks, 0.0, noise).0));
        }
        for _ in 0..60 {
            let (one, other) = (source.trials(shape, BUDGET), source.trials(shape, BUDGET));
            let mut verdicts = (3..=BUDGET).map(|n| rule().paired(&one[..n], &other[..n]).unwrap().verdict);
            naive.count(verdicts.any(is_false));
        }
        planned.assert_at_most(5.0, &format!("{shape:?}, looks"));
        table.row(&format!("{shape:?}"), [planned.percent(), naive.percent()]);
        if shape == Shape::Normal {
            assert!(naive.percent() > 12.0, "looking at each n is not the trap it is said to be");
        }
    }
}

/// Of effects known to be there: how often the verdict is right, and how many pairs it took on average; beside the
/// pairs of a fixed design that finds the effect in as many cases.
#[test]
fn settled_cells_take_fewer_trials() {
    let mut table = Table::new(
        "+5 %, other noise; noise of a pair in %, right %, pairs, pairs of a fixed design of equal power",
    );
    let looks = Looks::plan(BUDGET, 0.05).unwrap();
    let effect = 1.05_f64.ln();
    for noise in [0.01, 0.02, 0.03, 0.05] {
        let mut source = Source::new(&format!("saving {noise}"));
        let (mut right, mut pairs) = (Rate::default(), 0);
        for _ in 0..1_000 {
            let (verdict, n) = until_decided(&mut source, Shape::Normal, &looks, effect, noise);
            right.count(verdict == Verdict::Better);
            pairs += n;
        }
        let of_pair = noise * 2.0_f64.sqrt();
        let power = (right.percent() / 100.0).min(0.999);
        let fixed = trials_needed(Design::Paired, effect, of_pair, 0.05, power).unwrap();
        let pairs = pairs as f64 / 1_000.0;
        table.row("normal", [100.0 * of_pair, right.percent(), pairs, fixed as f64]);
        assert!(right.percent() > 80.0 && pairs < 0.8 * BUDGET as f64, "noise {noise}: {pairs} pairs");
    }
}

/// Cells without any difference are settled too, once the noise allows it.
#[test]
fn equal_cells_are_settled() {
    let looks = Looks::plan(BUDGET, 0.05).unwrap();
    let mut source = Source::new("equal");
    let (mut same, mut pairs) = (Rate::default(), 0);
    for _ in 0..1_000 {
        let (verdict, n) = until_decided(&mut source, Shape::Normal, &looks, 0.0, 0.01);
        same.count(verdict == Verdict::Same);
        pairs += n;
    }
    println!("\nno effect, 1.4 % of noise: {:.1} % same, {} pairs", same.percent(), pairs as f64 / 1_000.0);
    assert!(same.percent() > 85.0, "{} %", same.percent());
}

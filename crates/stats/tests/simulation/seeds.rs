//! Checks whether the planned number of trials decides.

use disklab_stats::{Analysis, Better, Comparison, Correction, Rule, Verdict, share_of_stage};

use crate::source::{Rate, Shape, Table, TrialSource};

/// Pairs of an effect and a standard deviation of log-ratios. The effects are clear, small, none,
/// within the smallest effect of interest, and half of that.
const CASES: [(f64, f64); 6] =
    [(0.1, 0.1), (0.05, 0.1), (0.03, 0.05), (0.0, 0.02), (0.005, 0.02), (0.01, 0.02)];
const PILOTS: [usize; 4] = [4, 5, 10, 20];
/// Largest number of pairs of a simulated run; larger ones take too long.
const MOST: usize = 300;

fn rule() -> Rule {
    Rule::new(0.05, 0.02, Better::Higher).unwrap()
}

fn compared(log_ratios: &[f64]) -> Comparison {
    let treatment: Vec<f64> = log_ratios.iter().map(|value| value.exp()).collect();
    rule().paired(&treatment, &vec![1.0; log_ratios.len()]).unwrap()
}

fn pairs(source: &mut TrialSource, shape: Shape, (effect, sd): (f64, f64), n: usize) -> Vec<f64> {
    (0..n).map(|_| effect + sd * source.logarithm(shape)).collect()
}

fn planned(cell: Comparison) -> usize {
    let shares = (1.0, share_of_stage(1, 2));
    let needed = rule().trials_to_decide(&[cell], Correction::BenjaminiHochberg, shares).unwrap();
    needed[0].unwrap().trials
}

/// Returns whether a record decides that was first analysed with `pilot` pairs.
fn is_decided_after(pilot: usize, log_ratios: &[f64]) -> bool {
    let treatment: Vec<f64> = log_ratios.iter().map(|value| value.exp()).collect();
    let baseline = vec![1.0; log_ratios.len()];
    let looks = [(pilot, 0), (log_ratios.len(), 1)];
    let looks = looks.map(|(pairs, stage)| Analysis { pairs, share: share_of_stage(stage, 2) });
    let cell = rule().after_analyses(&treatment, &baseline, &looks).unwrap();
    rule().family(&[cell], Correction::BenjaminiHochberg).unwrap()[0] != Verdict::Undecided
}

fn is_decided(cell: &Comparison) -> bool {
    cell.verdict != Verdict::Undecided
}

/// Effect and spread are known, so that only the formula is tested.
#[test]
fn a_run_of_the_planned_size_decides_in_four_of_five_cases() {
    let mut table =
        Table::new("decided in %, planned with the true effect and spread; effect, sd: pairs");
    for case @ (effect, sd) in CASES {
        let mut source = TrialSource::new(&format!("planned {case:?}"));
        // These four values have exactly this mean and standard deviation.
        let exact =
            [-3.0, -1.0, 1.0, 3.0].map(|step: f64| effect + sd * step / (20.0_f64 / 3.0).sqrt());
        let size = planned(compared(&exact));
        let mut rate = Rate::default();
        for _ in 0..2000 {
            let all = pairs(&mut source, Shape::Normal, case, size);
            rate.count(is_decided_after(exact.len(), &all));
        }
        table.row(&format!("{effect}, {sd}: {size}"), [rate.percent()]);
        assert!(
            (72.0..99.5).contains(&rate.percent()),
            "{case:?}: {size} pairs decide in {} %",
            rate.percent()
        );
    }
}

/// The pilots left the cell open, and the plan uses their estimates, as in practice.
#[test]
fn a_run_that_an_open_pilot_planned_decides_in_most_cases() {
    let mut table = Table::new(&format!(
        "decided in %, of open records that pairs were added to as planned; pairs before: \
         {PILOTS:?}"
    ));
    for shape in [Shape::Normal, Shape::ThreeValues, Shape::HeavyTails] {
        let rates = PILOTS.map(|n| {
            let mut source = TrialSource::new(&format!("pilot {shape:?} {n}"));
            let mut rate = Rate::default();
            for case in CASES {
                for _ in 0..300 {
                    let mut all = pairs(&mut source, shape, case, n);
                    let pilot = compared(&all);
                    if is_decided(&pilot) {
                        continue;
                    }
                    let size = planned(pilot);
                    if size <= MOST {
                        all.extend(pairs(&mut source, shape, case, size - n));
                        rate.count(is_decided_after(n, &all));
                    }
                }
            }
            rate.percent()
        });
        table.row(&format!("{shape:?}"), rates);
        let least = rates.into_iter().fold(f64::INFINITY, f64::min);
        // Ranks of three values have many ties, which count against a difference.
        let expected = if shape == Shape::ThreeValues { 45.0 } else { 55.0 };
        assert!(
            least >= expected && rates.iter().all(|rate| rate.is_finite()),
            "{shape:?}: {rates:?}"
        );
    }
}

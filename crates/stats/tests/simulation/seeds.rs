//! Whether as many trials as were planned decide.

use disklab_stats::{Better, Comparison, Correction, Rule, Verdict};

use crate::source::{Rate, Shape, Table, TrialSource};

/// Effects and standard deviations of log-ratios: clear, small, none, within what is of interest,
/// and half of that.
const CASES: [(f64, f64); 6] =
    [(0.1, 0.1), (0.05, 0.1), (0.03, 0.05), (0.0, 0.02), (0.005, 0.02), (0.01, 0.02)];
const PILOTS: [usize; 4] = [4, 5, 10, 20];
/// A run of more is not simulated, for its time.
const MOST: usize = 300;

fn rule() -> Rule {
    Rule::new(0.05, 0.02, Better::Higher).unwrap()
}

fn compared(log_ratios: &[f64]) -> Comparison {
    let treatment: Vec<f64> = log_ratios.iter().map(|value| value.exp()).collect();
    rule().paired(&treatment, &vec![1.0; log_ratios.len()]).unwrap()
}

fn pairs(source: &mut TrialSource, shape: Shape, (effect, sd): (f64, f64), n: usize) -> Comparison {
    compared(&(0..n).map(|_| effect + sd * source.logarithm(shape)).collect::<Vec<_>>())
}

fn planned(cell: Comparison) -> usize {
    rule().trials_to_decide(&[cell], Correction::BenjaminiHochberg, 1).unwrap()[0].unwrap()
}

fn is_decided(cell: &Comparison) -> bool {
    cell.verdict != Verdict::Undecided
}

/// Where effect and spread are known, so that only the formula is tried.
#[test]
fn a_run_of_the_planned_size_decides_in_four_of_five_cases() {
    let mut table =
        Table::new("decided in %, planned with the true effect and spread; effect, sd: pairs");
    for case @ (effect, sd) in CASES {
        let mut source = TrialSource::new(&format!("planned {case:?}"));
        // Four values whose mean and standard deviation are exactly these.
        let exact =
            [-3.0, -1.0, 1.0, 3.0].map(|step: f64| effect + sd * step / (20.0_f64 / 3.0).sqrt());
        let size = planned(compared(&exact));
        let mut rate = Rate::default();
        for _ in 0..2000 {
            rate.count(is_decided(&pairs(&mut source, Shape::Normal, case, size)));
        }
        table.row(&format!("{effect}, {sd}: {size}"), [rate.percent()]);
        assert!(
            (72.0..99.5).contains(&rate.percent()),
            "{case:?}: {size} pairs decide in {} %",
            rate.percent()
        );
    }
}

/// As it is done: of pilots that left it open, and their estimates.
#[test]
fn a_run_that_an_open_pilot_planned_decides_in_most_cases() {
    let mut table = Table::new(&format!(
        "decided in %, of runs that open pilots planned; pairs of a pilot: {PILOTS:?}"
    ));
    for shape in [Shape::Normal, Shape::ThreeValues, Shape::HeavyTails] {
        let rates = PILOTS.map(|n| {
            let mut source = TrialSource::new(&format!("pilot {shape:?} {n}"));
            let mut rate = Rate::default();
            for case in CASES {
                for _ in 0..300 {
                    let pilot = pairs(&mut source, shape, case, n);
                    if is_decided(&pilot) {
                        continue;
                    }
                    let size = planned(pilot);
                    if size <= MOST {
                        rate.count(is_decided(&pairs(&mut source, shape, case, size)));
                    }
                }
            }
            rate.percent()
        });
        table.row(&format!("{shape:?}"), rates);
        let least = rates.into_iter().fold(f64::INFINITY, f64::min);
        assert!(least >= 55.0 && rates.iter().all(|rate| rate.is_finite()), "{shape:?}: {rates:?}");
    }
}

//! Simulates how often trials with one mode are taken for two, and trials with two modes for one.

use disklab_stats::two_modes;

use crate::source::{Rate, SHAPES, Shape, Table, TrialSource};

const TRIALS: [usize; 6] = [4, 5, 6, 8, 10, 30];
const SIMULATIONS: usize = 4_000;

#[test]
fn one_mode_is_seldom_taken_for_two() {
    let mut table = Table::new(&format!("taken for two modes in %; trials of a cell: {TRIALS:?}"));
    for shape in SHAPES {
        let rates = TRIALS.map(|n| {
            let mut source = TrialSource::new(&format!("modes {shape:?} {n}"));
            let mut rate = Rate::default();
            for _ in 0..SIMULATIONS {
                rate.count(two_modes(&source.trials(shape, n), 0.02).unwrap().is_some());
            }
            (n, rate)
        });
        table.row(&format!("{shape:?}"), rates.map(|(_, rate)| rate.percent()));
        for (n, rate) in rates {
            let what = format!("two modes in {n} trials of {shape:?}");
            match shape {
                // Distributions with a few levels, or with a far outlier now and then, have several
                // modes.
                Shape::TwoValues | Shape::TwoModes if n >= 8 => {
                    assert!(rate.percent() > 90.0, "{what}: {} %", rate.percent());
                }
                Shape::TwoValues
                | Shape::TwoModes
                | Shape::ThreeValues
                | Shape::FourValues
                | Shape::Outliers => {}
                _ if n < 8 => rate.assert_at_most(5.0, &what),
                _ => rate.assert_at_most(0.5, &what),
            }
        }
    }
}

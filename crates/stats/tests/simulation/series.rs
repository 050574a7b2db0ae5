//! Simulates the cuts of time series without a change of level, and of some with one.

use disklab_stats::{change_points, penalty};

use crate::source::{Rate, Table, TrialSource};

#[test]
fn constant_series_are_rarely_cut() {
    let mut table =
        Table::new("constant series with normal noise that are cut, in %; samples: 30, 100, 300");
    let mut source = TrialSource::new("series");
    let rates = [30, 100, 300].map(|n| {
        let mut rate = Rate::default();
        for _ in 0..1_000 {
            let series: Vec<f64> = (0..n).map(|_| 500.0 + 9.0 * source.normal()).collect();
            rate.count(!change_points(&series, penalty(&series).unwrap()).unwrap().is_empty());
        }
        rate.percent()
    });
    table.row("white noise", rates);
    assert!(rates.iter().all(|&rate| rate < 8.0), "{rates:?}");
}

#[test]
fn a_step_is_found_at_its_place() {
    let mut source = TrialSource::new("step");
    let mut rate = Rate::default();
    for _ in 0..500 {
        let series: Vec<f64> =
            (0..100).map(|at| if at < 40 { 10.0 } else { 13.0 } + source.normal()).collect();
        let cuts = change_points(&series, penalty(&series).unwrap()).unwrap();
        rate.count(cuts.len() == 1 && cuts[0].abs_diff(40) <= 2);
    }
    println!(
        "\na step of three standard deviations found within two samples: {:.1} %",
        rate.percent()
    );
    assert!(rate.percent() > 90.0, "{} %", rate.percent());
}

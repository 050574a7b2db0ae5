//! Measures virtual seconds per wall second, for each cell of the quick suite: one seed, one guest
//! at a time.

use super::figure::Figure;
use super::guest::BenchSetup;
use super::start::{run_trials, trials};

pub fn run(place: &BenchSetup) -> anyhow::Result<Vec<Figure>> {
    let outcomes = run_trials(place, &trials(place, "read-policy-quick")?, 1, &|_| ())?;
    let figures = outcomes.iter().map(|outcome| {
        let virtual_seconds = outcome.virtual_ns.unwrap_or_default().as_secs_f64();
        let ratio = virtual_seconds / (outcome.wall_ms as f64 / 1e3);
        let value = |axis| outcome.cell.value(axis).unwrap_or_default();
        let (array, workload) = (value("array"), value("workload"));
        let figure = Figure::number(
            format!("virtual s a wall s: {array} {workload} {}", value("policy")),
            ratio,
            1,
        );
        match (array, workload) {
            (hdd, "randread-4k-qd1") if hdd.starts_with("hdd") => {
                figure.at_least(ratio, 50.0, None, "")
            }
            ("hdd-8-mixed", "randread-4k-qd32") => figure.at_least(ratio, 10.0, None, ""),
            _ => figure,
        }
    });
    Ok(figures.collect())
}

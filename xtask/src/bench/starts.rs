//! `bfq-startup` on one hard disk, one seed of five, two guests at a time: virtual against wall
//! time.

use super::figure::Figure;
use super::guest::BenchSetup;
use super::start::{run_trials, trials};
use std::time::Instant;

const ARRAY: &str = "bfq-hdd";
/// Number of seeds of the suite.
const SEEDS: f64 = 5.0;
const JOBS: usize = 2;

pub fn run(place: &BenchSetup) -> anyhow::Result<Vec<Figure>> {
    let mut trials = trials(place, "bfq-startup")?;
    trials.retain(|trial| trial.array.name == ARRAY);
    let begun = Instant::now();
    let outcomes = run_trials(place, &trials, JOBS, &|_| ())?;
    let wall = begun.elapsed().as_secs_f64();
    let seconds: f64 =
        outcomes.iter().map(|outcome| outcome.virtual_ns.unwrap_or_default().as_secs_f64()).sum();
    let minutes = wall * SEEDS / 60.0;
    Ok(vec![
        Figure::number(format!("virtual s a wall s: bfq-startup on {ARRAY}"), seconds / wall, 0),
        Figure::number(format!("bfq-startup on {ARRAY}, {SEEDS} seeds, wall min"), minutes, 1)
            .at_most(minutes, 20.0, None, " min"),
    ])
}

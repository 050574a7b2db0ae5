//! Compares the speed of the fast model with that of guests: the trials of `read-policy-quick` with
//! the policy `pid`, one seed, one at a time.

use super::figure::{Figure, median};
use super::guest::{BenchSetup, STOP};
use super::start::{run_trials, run_with, trials};
use disklab_runner::Model;
use std::time::Instant;

const TURNS: usize = 3;
/// Runs of the model in a turn. A trial takes some milliseconds.
const RUNS: usize = 10;

pub fn run(place: &BenchSetup) -> anyhow::Result<Vec<Figure>> {
    let mut trials = trials(place, "read-policy-quick")?;
    trials.retain(|trial| trial.id.contains("+pid+"));
    let model = Model { jobs: 1, deadline: None, stop: &STOP };
    let mut ratios = Vec::new();
    // The first turn may prepare disks.
    for turn in 0..=TURNS {
        let begun = Instant::now();
        run_trials(place, &trials, 1, &|_| ())?;
        let guests = begun.elapsed();
        let begun = Instant::now();
        for _ in 0..RUNS {
            run_with(&model, &trials, &|_| ())?;
        }
        let model = begun.elapsed() / RUNS as u32;
        if turn > 0 {
            ratios.push(guests.as_secs_f64() / model.as_secs_f64());
        }
    }
    let ratio = median(&ratios);
    let what = "read-policy-quick with pid in guests: times as long as in the fast model";
    Ok(vec![Figure::number(what, ratio, 0).at_least(ratio, 30.0, Some(1000.0), "")])
}

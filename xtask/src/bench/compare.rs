//! Measures the time to compare 1,000 trials on one processor: latencies as histograms of fio's 64
//! bins an octave, p99 and p99.9 merged over the trials of a cell, and the verdict on each cell.
//! One case has many cells of a few trials, the other two cells of many trials.

use std::hint::black_box;
use std::time::Instant;

use disklab_results::Histogram;
use disklab_stats::{Better, Correction, Rule};
use disklab_units::{Random, Seed};

use super::figure::{Figure, median};

const TURNS: usize = 3;
const TRIALS: usize = 1_000;
const REQUESTS: usize = 20_000;

struct Cell {
    trials: Vec<Vec<(u64, u64)>>,
    iops: Vec<f64>,
}

pub fn run() -> Vec<Figure> {
    let timed = |cells: usize| {
        let data = simulated(cells);
        let seconds = (0..TURNS).map(|_| {
            let start = Instant::now();
            compare(&data);
            start.elapsed().as_secs_f64()
        });
        let seconds = median(&seconds.collect::<Vec<_>>());
        let what =
            format!("comparing {TRIALS} trials in {cells} cells, two merged percentiles each, s");
        Figure::number(what, seconds, 2).at_most(seconds, 3.0, None, " s")
    };
    vec![timed(100), timed(2)]
}

/// Computes two merged percentiles of each cell, and its verdict against the first.
fn compare(cells: &[Cell]) {
    let rule = Rule::new(0.05, 0.02, Better::Higher).expect("a sound rule");
    let mut verdicts = Vec::new();
    for cell in cells {
        let merged = Histogram::from_bins(cell.trials.concat()).expect("sound histograms");
        black_box([99.0, 99.9].map(|percent| merged.percentile(percent)));
        verdicts.push(rule.paired(&cell.iops, &cells[0].iops).expect("a comparison"));
    }
    black_box(rule.family(&verdicts, Correction::Holm).expect("verdicts"));
}

fn simulated(cells: usize) -> Vec<Cell> {
    let mut random = Random::new(Seed(1));
    let mut exponential = move || -(1.0 - random.next_f64()).ln();
    (0..cells)
        .map(|_| {
            let speeds: Vec<f64> = (0..TRIALS / cells).map(|_| 1.0 + 0.1 * exponential()).collect();
            let mut trial = |speed: f64| {
                let mut bins: Vec<u64> =
                    (0..REQUESTS).map(|_| to_bin(1e5 + 8e6 * speed * exponential())).collect();
                bins.sort_unstable();
                bins.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect()
            };
            let trials = speeds.iter().map(|&speed| trial(speed)).collect();
            Cell { trials, iops: speeds.iter().map(|speed| 1e4 / speed).collect() }
        })
        .collect()
}

/// Returns the middle of a latency's bin, 64 to an octave.
fn to_bin(ns: f64) -> u64 {
    let width = 2_f64.powi((ns.log2().floor() as i32 - 6).max(0));
    ((ns / width).floor() * width + width / 2.0) as u64
}

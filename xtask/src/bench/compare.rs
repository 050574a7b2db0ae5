//! How long it takes to compare 1,000 trials with 10,000 resamples for each cell: latencies as
//! histograms of fio's 64 bins an octave, p99 and p99.9 merged over the trials of a cell, and the
//! verdict on each cell. For many cells of a few trials, and for two cells of many; on one
//! processor.

use std::hint::black_box;
use std::time::Instant;

use disklab_stats::{Better, Bootstrap, Correction, MergedHistograms, Rule, expanded_alpha};
use disklab_units::{Random, Seed};

use super::{Figure, median};

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
        let seconds = median(seconds.collect());
        let what = format!(
            "comparing {TRIALS} trials in {cells} cells, 10,000 resamples for each percentile, s"
        );
        Figure::new(what, format!("{seconds:.2}")).at_most(seconds, 3.0, None, " s")
    };
    vec![timed(100), timed(2)]
}

/// Each cell against the first: two merged percentiles with intervals, and a verdict.
fn compare(cells: &[Cell]) {
    let merged: Vec<MergedHistograms> = cells
        .iter()
        .map(|cell| cell.trials.iter().map(Vec::as_slice).collect::<Vec<_>>())
        .map(|trials| MergedHistograms::new(&trials).expect("sound histograms"))
        .collect();
    let rule = Rule::new(0.05, 0.02, Better::Higher).expect("a sound rule");
    let mut verdicts = Vec::new();
    for (at, cell) in cells.iter().enumerate().skip(1) {
        let n = cell.trials.len();
        let alpha = expanded_alpha(0.05, n).expect("enough trials");
        let bootstrap = Bootstrap { resamples: 10_000, seed: Seed(1), alpha };
        for percent in [99.0, 99.9] {
            let [one, other] =
                [at, 0].map(|cell| merged[cell].percentile(percent).expect("a percentile"));
            // Pairs by seed: one index means a trial of each.
            black_box(
                bootstrap
                    .interval([n], |[drawn]| (one.of(drawn) as f64 / other.of(drawn) as f64).ln())
                    .expect("an interval"),
            );
        }
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

/// The middle of its bin, 64 to an octave.
fn to_bin(ns: f64) -> u64 {
    let width = 2_f64.powi((ns.log2().floor() as i32 - 6).max(0));
    ((ns / width).floor() * width + width / 2.0) as u64
}

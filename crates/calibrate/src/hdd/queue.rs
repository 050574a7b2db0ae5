//! Finds how the disk chooses among queued commands, from its IOPS and waits at depths 2 to 32. On
//! the model as known so far, it serves the requests that were measured, with many values of the
//! unknown numbers. The number of buffered writes that the disk compares is found in the same way.

use disklab_config::device::{Hdd, Model};
use disklab_disks::build;
use disklab_units::{Bytes, Nanos, Seed};

use crate::bench::TestBench;
use crate::error::Result;
use crate::modelled::Modelled;
use crate::target::{Probe, Target, Timed, ends, latencies};

/// Number of reads at each depth: enough for a rate within 3 % and a 99th percentile.
const READS: [(usize, usize); 5] = [(2, 300), (4, 400), (8, 600), (16, 900), (32, 1_500)];
/// Number of writes beyond those that fill the buffer.
const WRITES: usize = 1_200;
const WINDOWS: [u32; 19] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128];
/// The values of `queue_error` that are tried, in ms.
const ERRORS: [u64; 12] = [0, 1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48];
/// The values of `queue_patience` that are tried, in ms.
const PATIENCES: [u64; 8] = [125, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000];

/// The parameters of the disk's choice among queued reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadChoice {
    pub error: Nanos,
    pub patience: Nanos,
    pub batch: u32,
    /// Relative error of the model's IOPS with this choice, at the depth at which it is greatest.
    pub beside: f64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteWindow {
    pub commands: u32,
    /// Relative error of the model's IOPS with this window.
    pub beside: f64,
}

/// The numbers that are compared at one depth: the time of all requests, and the median and 99th
/// percentile of their latencies, in ns.
struct Pace {
    span: f64,
    median: f64,
    longest: f64,
}

impl Pace {
    fn new(timed: &[Timed]) -> Self {
        let mut waits = latencies(timed);
        waits.sort_unstable_by(f64::total_cmp);
        let percentile = |percent: usize| waits[(waits.len() - 1) * percent / 100];
        Self { span: span(timed), median: percentile(50), longest: percentile(99) }
    }

    /// Returns the distance from the measured numbers. The total time counts most, and the 99th
    /// percentile, which few requests decide, least.
    fn distance(&self, measured: &Self) -> f64 {
        let off = |one: f64, other: f64| (one / other).ln().abs();
        4.0 * off(self.span, measured.span)
            + off(self.median, measured.median)
            + 0.5 * off(self.longest, measured.longest)
    }
}

/// Measures random reads at each depth up to the disk's, and finds the choice that explains them.
pub(crate) fn reads(
    bench: &mut TestBench<'_>,
    model: &Hdd,
    bytes: Bytes,
) -> Result<Option<ReadChoice>> {
    let mut measured = Vec::new();
    let mut batch = 1;
    for (depth, count) in READS {
        if depth > 2 && depth > model.queue_depth as usize {
            break;
        }
        let probes = bench.blocks(count, Probe::read);
        let timed = bench.serve(depth, &probes)?;
        batch = batch_size(&timed, depth);
        measured.push((depth, probes, Pace::new(&timed)));
    }
    best_choice(&measured, batch, model, bytes)
}

/// Completions that are nearer to each other than this, in ns, were reported together: no arm
/// serves two random reads in that time.
const TOGETHER: f64 = 150e3;

/// Returns how many requests the disk usually reports together; 1 if it reports most of them alone.
fn batch_size(timed: &[Timed], depth: usize) -> u32 {
    let mut ends = ends(timed);
    ends.sort_unstable_by(f64::total_cmp);
    // A batch larger than the queue cannot be seen.
    let mut requests = vec![0; depth + 1];
    for batch in ends.chunk_by(|one, next| next - one < TOGETHER) {
        requests[batch.len().min(depth)] += batch.len();
    }
    let usual = (1..=depth).max_by_key(|&size| requests[size]).unwrap_or(1);
    usual as u32
}

/// Returns the choice with which the model comes nearest to the measurements at all depths, or
/// `None` if no choice comes near.
fn best_choice(
    measured: &[(usize, Vec<Probe>, Pace)],
    batch: u32,
    model: &Hdd,
    bytes: Bytes,
) -> Result<Option<ReadChoice>> {
    let mut best: Option<(f64, ReadChoice)> = None;
    for patience in PATIENCES.map(Nanos::from_millis) {
        for error in ERRORS.map(Nanos::from_millis) {
            let numbers = Hdd {
                queue_error: error,
                queue_patience: patience,
                completion_batch: batch,
                ..model.clone()
            };
            let numbers = Model::Hdd(numbers);
            let (mut distance, mut beside) = (0.0, 0.0_f64);
            for (depth, probes, pace) in measured {
                let disk = build(&numbers, bytes, Seed(1));
                let found = Pace::new(&Modelled::new(disk, bytes).serve(*depth, probes)?);
                distance += found.distance(pace);
                beside = beside.max((pace.span / found.span - 1.0).abs());
            }
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, ReadChoice { error, patience, batch, beside }));
            }
        }
    }
    Ok(best.map(|(_, choice)| choice).filter(|choice| choice.beside < NEAR))
}

/// Measures random writes that fill the buffer and continue, and a flush, and finds the window that
/// explains them.
pub(crate) fn writes(
    bench: &mut TestBench<'_>,
    model: &Hdd,
    bytes: Bytes,
) -> Result<Option<WriteWindow>> {
    let count = (model.write_buffer.0 / 4096) as usize + WRITES;
    let mut probes = bench.blocks(count, Probe::write);
    probes.push(Probe::flush());
    let measured = span(&bench.serve(1, &probes)?);
    let with = |window| Hdd { write_window: window, ..model.clone() };
    nearest(measured, (&probes, bytes), with)
}

/// Greatest relative error of the model for a choice or window that is accepted. The tests of a
/// whole calibration require the same accuracy of loads.
const NEAR: f64 = 0.1;

/// Returns the window with which the model's time for the same requests, on a disk of this size,
/// comes nearest to the measured time, or `None` if no window comes near.
fn nearest(
    measured: f64,
    (probes, bytes): (&[Probe], Bytes),
    with: impl Fn(u32) -> Hdd,
) -> Result<Option<WriteWindow>> {
    let mut best: Option<WriteWindow> = None;
    for commands in WINDOWS {
        let disk = build(&Model::Hdd(with(commands)), bytes, Seed(1));
        let predicted = span(&Modelled::new(disk, bytes).serve(1, probes)?);
        let beside = (measured / predicted - 1.0).abs();
        if best.is_none_or(|best| beside < best.beside) {
            best = Some(WriteWindow { commands, beside });
        }
    }
    Ok(best.filter(|best| best.beside < NEAR))
}

/// Returns the time from the first submission to the last completion, in ns.
fn span(timed: &[Timed]) -> f64 {
    let first = timed.iter().map(|timed| timed.submitted.0).min().unwrap_or_default();
    let last = timed.iter().map(|timed| timed.done.0).max().unwrap_or_default();
    last.saturating_sub(first) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BLOCK;

    const BYTES: Bytes = Bytes(1_000_000_000_000);

    fn probes(count: u64, probe: fn(u64, u32) -> Probe) -> Vec<Probe> {
        (0..count).map(|i| probe(i * 7_919_777 % 240_000_000 * 8, BLOCK)).collect()
    }

    fn with_window(window: u32) -> Hdd {
        Hdd { write_window: window, ..crate::hdd::work::usual() }
    }

    #[test]
    fn a_window_is_found_only_where_the_model_comes_near() {
        let mut probes = probes(2_400, Probe::write);
        probes.push(Probe::flush());
        let disk = build(&Model::Hdd(with_window(6)), BYTES, Seed(1));
        let measured = span(&Modelled::new(disk, BYTES).serve(1, &probes).unwrap());
        let found = |measured| nearest(measured, (&probes, BYTES), with_window).unwrap();
        assert_eq!(found(measured).map(|window| window.commands), Some(6));
        assert!(found(measured * 3.0).is_none() && found(measured / 5.0).is_none());
    }

    /// The choice of a disk with other angles and errors than the model is found again from all
    /// depths.
    #[test]
    fn a_choice_is_found_again_from_all_depths() {
        for (error, patience, batch) in
            [(0, 5_000, 1), (20, 2_000, 1), (8, 500, 1), (20, 10_000, 11)]
        {
            let (error, patience) = (Nanos::from_millis(error), Nanos::from_millis(patience));
            let numbers = Hdd {
                queue_error: error,
                queue_patience: patience,
                completion_batch: batch,
                ..crate::hdd::work::usual()
            };
            let measured: Vec<_> = READS
                .into_iter()
                .map(|(depth, count)| {
                    let probes = probes(count as u64, Probe::read);
                    let disk = build(&Model::Hdd(numbers.clone()), BYTES, Seed(7));
                    let timed = Modelled::new(disk, BYTES).serve(depth, &probes).unwrap();
                    (depth, probes, Pace::new(&timed), batch_size(&timed, depth))
                })
                .collect();
            let seen = measured.last().expect("depths").3;
            assert_eq!(seen, batch);
            let measured: Vec<_> = measured
                .into_iter()
                .map(|(depth, probes, pace, _)| (depth, probes, pace))
                .collect();
            let usual = crate::hdd::work::usual();
            let found =
                best_choice(&measured, seen, &usual, BYTES).unwrap().expect("it comes near");
            let near = |found: Nanos, wanted: Nanos| {
                found.0.abs_diff(wanted.0) <= (wanted.0 * 3 / 5).max(4_000_000)
            };
            // A drive that reports in batches chooses among few commands at the end of each batch.
            assert!(batch > 1 || near(found.error, error), "{found:?} for {error}");
            assert!(near(found.patience, patience) || found.patience >= patience, "{found:?}");
            assert!(found.beside < 0.06, "{found:?}");
        }
    }

    #[test]
    fn what_chooses_as_no_model_does_is_not_believed() {
        let probes = probes(400, Probe::read);
        let disk = build(&Model::Hdd(crate::hdd::work::usual()), BYTES, Seed(1));
        let mut pace = Pace::new(&Modelled::new(disk, BYTES).serve(8, &probes).unwrap());
        pace.span *= 3.0;
        let measured = [(8, probes, pace)];
        assert!(best_choice(&measured, 1, &crate::hdd::work::usual(), BYTES).unwrap().is_none());
    }
}

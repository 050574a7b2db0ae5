//! How many queued commands the disk weighs against each other, reads and buffered writes: by how
//! much faster it serves many at once than one at a time. What it would take with each number is
//! tried on the model that is known by now, with the very requests that were measured.

use disklab_config::device::{Hdd, Model};
use disklab_disks::build;
use disklab_units::{Bytes, Seed};

use crate::bench::TestBench;
use crate::error::Result;
use crate::modelled::Modelled;
use crate::target::{Probe, Target, Timed};

const DEPTH: usize = 32;
const READS: usize = 2_000;
/// Beyond the buffer's fill.
const WRITES: usize = 1_200;
const WINDOWS: [u32; 19] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128];

#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueWindow {
    pub commands: u32,
    /// By how much the model with this window is off in requests a second, as a part.
    pub beside: f64,
}

/// Random reads at depth 32.
pub(crate) fn reads(
    bench: &mut TestBench<'_>,
    model: &Hdd,
    bytes: Bytes,
) -> Result<Option<QueueWindow>> {
    let probes = bench.blocks(READS, Probe::read);
    let measured = span(&bench.serve(DEPTH, &probes)?);
    let with = |window| Hdd { queue_window: window, ..model.clone() };
    nearest(DEPTH, model.queue_depth, measured, (&probes, bytes), with)
}

/// Random writes that fill the buffer and go on, and a flush.
pub(crate) fn writes(
    bench: &mut TestBench<'_>,
    model: &Hdd,
    bytes: Bytes,
) -> Result<Option<QueueWindow>> {
    let count = (model.write_buffer.0 / 4096) as usize + WRITES;
    let mut probes = bench.blocks(count, Probe::write);
    probes.push(Probe::flush());
    let measured = span(&bench.serve(1, &probes)?);
    let with = |window| Hdd { write_window: window, ..model.clone() };
    nearest(1, u32::MAX, measured, (&probes, bytes), with)
}

/// A window is believed if the model with it is no further off than this part: loads that the whole
/// of a calibration is held to must be met as nearly.
const NEAR: f64 = 0.1;

/// The window, up to `most`, with which the model takes most nearly as long as was measured for the
/// same requests on a disk of this size; `None` if it comes near with none.
fn nearest(
    depth: usize,
    most: u32,
    measured: f64,
    (probes, bytes): (&[Probe], Bytes),
    with: impl Fn(u32) -> Hdd,
) -> Result<Option<QueueWindow>> {
    let mut best: Option<QueueWindow> = None;
    for commands in WINDOWS.into_iter().filter(|&window| window <= most.max(1)) {
        let disk = build(&Model::Hdd(with(commands)), bytes, Seed(1));
        let predicted = span(&Modelled::new(disk, bytes).serve(depth, probes)?);
        let beside = (measured / predicted - 1.0).abs();
        if best.is_none_or(|best| beside < best.beside) {
            best = Some(QueueWindow { commands, beside });
        }
    }
    Ok(best.filter(|best| best.beside < NEAR))
}

/// From the first request to the last completion, in nanoseconds.
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

    fn with(window: u32) -> Hdd {
        Hdd { queue_window: window, ..crate::hdd::work::usual() }
    }

    #[test]
    fn a_window_is_found_only_where_the_model_comes_near() {
        let probes: Vec<Probe> =
            (0..300_u64).map(|i| Probe::read(i * 7_919_777 % 240_000_000 * 8, BLOCK)).collect();
        let disk = build(&Model::Hdd(with(6)), BYTES, Seed(1));
        let measured = span(&Modelled::new(disk, BYTES).serve(DEPTH, &probes).unwrap());
        let found = |measured| nearest(DEPTH, 32, measured, (&probes, BYTES), with).unwrap();
        assert_eq!(found(measured).map(|window| window.commands), Some(6));
        assert!(found(measured * 3.0).is_none() && found(measured / 5.0).is_none());
    }
}

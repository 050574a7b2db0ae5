//! Estimates, from the first part of a trace, the facts that no file states correctly: whether the
//! drive reads ahead after each read or only in sequence, how far it reads ahead, and by how much
//! its times for commands differ from the files.
//!
//! The rest of the model stays as it is, and the requests of the first part are not scored.

use disklab_disks::{After, DetailedHdd, LookAhead, LookAheadEnd};
use disklab_units::Nanos;
use disklab_units::average::{mean, median};
use serde::Serialize;

use crate::replay::served;
use crate::score::millis;
use crate::{MeasuredRequest, score};

/// Percentage of the requests that serve for estimating.
const FIRST_PART: usize = 15;
/// Most requests for estimating; more do not improve the estimates.
const MOST: usize = 5_000;

/// Returns how many of a trace's `requests` serve for estimating.
pub fn first_part(requests: usize) -> usize {
    (requests * FIRST_PART / 100).min(MOST)
}

#[derive(Debug, Clone)]
pub struct Calibrated {
    pub model: DetailedHdd,
    pub changes: ModelChanges,
}

/// The changes of a model relative to its files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelChanges {
    /// Number of requests from which the changes were estimated.
    pub requests: usize,
    /// Number of sectors that the drive reads ahead, if that differs from the files.
    pub look_ahead: Option<u64>,
    /// Whether the drive reads ahead only behind sequential reads.
    pub only_in_sequence: bool,
    /// Differences of the times for commands from those of the files, in ms.
    pub read_hit: f64,
    pub read_miss: f64,
    pub write: f64,
}

/// Factor by which another way of reading ahead must reduce the distance of the distributions to be
/// accepted.
const BETTER: f64 = 0.9;

/// Estimates the changes from `first`, the first requests of a trace.
pub fn calibrate(model: &DetailedHdd, first: &[MeasuredRequest]) -> Calibrated {
    let measured: Vec<f64> = first.iter().map(|request| millis(request.response)).collect();
    let distance = |model: &DetailedHdd| {
        let predicted = served(model, first, Nanos::ZERO);
        let predicted: Vec<f64> = predicted.iter().map(|served| millis(served.0)).collect();
        score::distance(&measured, &predicted)
    };
    let with = |look_ahead| {
        let mut other = model.clone();
        other.cache.look_ahead = look_ahead;
        shifted(&other, first)
    };
    let said = model.cache.look_ahead;
    let (mut best, mut shift) = with(said);
    let mut nearest = distance(&best) * BETTER;
    let whole = LookAhead { sectors: model.cache.segment, up_to: LookAheadEnd::Anywhere, ..said };
    for look_ahead in
        [LookAhead { in_sequence: true, ..said }, whole, LookAhead { in_sequence: true, ..whole }]
    {
        let (candidate, other_shift) = with(look_ahead);
        let other_distance = distance(&candidate);
        if other_distance < nearest {
            (best, shift, nearest) = (candidate, other_shift, other_distance);
        }
    }
    let found = best.cache.look_ahead;
    let other_end = (found.sectors, found.up_to) != (said.sectors, said.up_to);
    let changes = ModelChanges {
        requests: first.len(),
        look_ahead: other_end.then_some(found.sectors),
        only_in_sequence: found.in_sequence,
        read_hit: shift[0],
        read_miss: shift[1],
        write: shift[2],
    };
    Calibrated { model: best, changes }
}

/// Returns the model with its times for commands increased by the average difference between
/// measured and modelled responses, for read hits, read misses and writes separately. Responses
/// from the cache take nearly constant time, so the median is the better average there. Other
/// responses include a uniformly distributed wait for the platters, so the mean is used, and a mean
/// within its statistical error counts as 0.
fn shifted(model: &DetailedHdd, first: &[MeasuredRequest]) -> (DetailedHdd, [f64; 3]) {
    let mut late = [Vec::new(), Vec::new(), Vec::new()];
    for (request, (response, hit)) in first.iter().zip(served(model, first, Nanos::ZERO)) {
        let kind = if request.write { 2 } else { usize::from(!hit) };
        late[kind].push(millis(request.response) - millis(response));
    }
    let [hits, misses, writes] = late;
    let writes = if model.cache.write_cache { median(&writes) } else { sure_mean(&writes) };
    let shift = [median(&hits), sure_mean(&misses), writes];
    let mut model = model.clone();
    let times = &mut model.times;
    for (time, shift) in
        [&mut times.read_hit, &mut times.read_miss, &mut times.write].into_iter().zip(shift)
    {
        *time = After { read: longer(time.read, shift), write: longer(time.write, shift) };
    }
    (model, shift)
}

/// Returns the mean if it differs from 0 by more than twice its standard error, and 0 otherwise.
fn sure_mean(values: &[f64]) -> f64 {
    let mean = mean(values);
    let error = score::deviation(values, &vec![0.0; values.len()]) / (values.len() as f64).sqrt();
    if mean.abs() > 2.0 * error { mean } else { 0.0 }
}

fn longer(time: Nanos, by_millis: f64) -> Nanos {
    Nanos((time.0 as f64 + by_millis * 1e6).max(0.0).round() as u64)
}

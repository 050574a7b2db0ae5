//! Estimates what no file says right from the first part of a trace: whether the drive reads ahead
//! after each read or only in sequence, and how far; and by how much its times for commands differ
//! from those in the files.
//!
//! Nothing else of the model is touched, and those requests are not scored.

use disklab_disks::{After, DetailedHdd, LookAhead, LookAheadEnd};
use disklab_units::Nanos;
use disklab_units::average::{mean, median};
use serde::Serialize;

use crate::replay::served;
use crate::score::millis;
use crate::{MeasuredRequest, score};

/// The part of the requests, in per cent, that is for estimating.
const FIRST_PART: usize = 15;
/// More teach nothing more.
const MOST: usize = 5_000;

/// How many of so many requests are for estimating.
pub fn first_part(requests: usize) -> usize {
    (requests * FIRST_PART / 100).min(MOST)
}

#[derive(Debug, Clone)]
pub struct Calibrated {
    pub model: DetailedHdd,
    pub changes: ModelChanges,
}

/// Against the files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelChanges {
    /// From so many requests.
    pub requests: usize,
    /// How far it reads ahead, in sectors, where that is not what the files say.
    pub look_ahead: Option<u64>,
    /// Whether the drive reads ahead only behind reads in sequence.
    pub only_in_sequence: bool,
    /// The difference of the times for commands from the files', in milliseconds.
    pub read_hit: f64,
    pub read_miss: f64,
    pub write: f64,
}

/// Another way of reading ahead must bring the distributions nearer by so much to be believed.
const BETTER: f64 = 0.9;

/// From `first`, the first requests of a trace.
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

/// The model with its times for commands longer by what measured responses are longer on average,
/// kind by kind: read hits, read misses, writes. What the cache serves takes nearly always the
/// same, so there the median is the better average; elsewhere the wait for the platters goes up and
/// down evenly, and a mean within the play of chance is none.
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

/// The mean, where it is further from nothing than twice its standard error.
fn sure_mean(values: &[f64]) -> f64 {
    let mean = mean(values);
    let error = score::deviation(values, &vec![0.0; values.len()]) / (values.len() as f64).sqrt();
    if mean.abs() > 2.0 * error { mean } else { 0.0 }
}

fn longer(time: Nanos, by_millis: f64) -> Nanos {
    Nanos((time.0 as f64 + by_millis * 1e6).max(0.0).round() as u64)
}

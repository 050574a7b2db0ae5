//! Compares a drive's model with measurements on the drive.

use disklab_disks::DetailedHdd;
use disklab_units::Nanos;
use disklab_units::average::mean;
use serde::Serialize;

use crate::calibrate::{ModelChanges, calibrate, first_part};
use crate::score::millis;
use crate::tracked::{TrackingEstimate, track};
use crate::{MeasuredRequest, replay, score};

/// The result of a validation. All times are in ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Validation {
    pub requests: usize,
    pub measured_mean: f64,
    /// Scores of a closed replay of all requests, from the files alone.
    pub files: ReplayScore,
    /// Scores of a closed replay with the estimates from the first part, on the remaining requests.
    pub estimated: ReplayScore,
    pub changes: ModelChanges,
    /// Standard deviation of measured minus predicted for the remaining requests, each predicted
    /// from the previous ones.
    pub tracked_deviation: f64,
    pub tracking: TrackingEstimate,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReplayScore {
    pub mean: f64,
    /// Root mean square of the horizontal distance between the distributions of response times.
    pub rms: f64,
    /// `rms` in per cent of the measured mean.
    pub demerit: f64,
    /// Standard deviation of measured minus modelled, request by request. The angle of the platters
    /// is random here.
    pub deviation: f64,
}

/// Replays a trace in all three ways and scores each.
pub fn validate(model: &DetailedHdd, requests: &[MeasuredRequest]) -> Validation {
    let first = first_part(requests.len());
    let measured: Vec<f64> = requests.iter().map(|request| millis(request.response)).collect();
    let closed = |model: &DetailedHdd, from: usize| {
        let modelled: Vec<f64> =
            replay::closed(model, requests, Nanos::ZERO).into_iter().map(millis).collect();
        let (measured, modelled) = (&measured[from..], &modelled[from..]);
        let rms = score::distance(measured, modelled);
        let demerit = 100.0 * rms / mean(measured);
        ReplayScore {
            mean: mean(modelled),
            rms,
            demerit,
            deviation: score::deviation(measured, modelled),
        }
    };
    let calibrated = calibrate(model, &requests[..first]);
    let tracked = track(&calibrated.model, requests, first);
    let predicted: Vec<f64> = tracked.predicted.iter().copied().map(millis).collect();
    Validation {
        requests: requests.len(),
        measured_mean: mean(&measured),
        files: closed(model, 0),
        estimated: closed(&calibrated.model, first),
        changes: calibrated.changes,
        tracked_deviation: score::deviation(&measured[first..], &predicted),
        tracking: tracked.estimate,
    }
}

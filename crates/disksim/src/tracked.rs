//! Predicts each request of a trace from the previous ones.
//!
//! The rotational wait of a request depends on the angle of the platters, which no file says; it
//! must be learnt from the measurements. Sixty-four equal drives, whose platters are at different
//! angles, get the requests at the times at which they were really made. After each request, the
//! probability of an angle rises if its drive was as late as the measured one, give or take whole
//! turns: the time of the arm changes only the number of turns. The prediction is the mean over all
//! angles, weighted by their probabilities. It is sharp if the angle is known; otherwise it is the
//! expected value.
//!
//! Two more facts are estimated from the first part of the trace, by maximum likelihood: how
//! exactly the angle can be followed from one request to the next, and the exact speed. These
//! requests are not scored, and no request is used in its own prediction.

use disklab_disks::DetailedHdd;
use disklab_units::Nanos;
use serde::Serialize;

use crate::MeasuredRequest;
use crate::replay::ModelServer;

const ANGLES: usize = 64;

#[derive(Debug, Clone)]
pub struct Tracked {
    /// The predicted response of each request from number `estimate.requests` on.
    pub predicted: Vec<Nanos>,
    pub estimate: TrackingEstimate,
}

/// The estimates from the first requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TrackingEstimate {
    /// Number of requests from which the estimates were made.
    pub requests: usize,
    /// Relative difference of a turn's time from the file's. It is positive if the drive is slower.
    pub slower: f64,
    /// Standard deviation of the angle's random change from one request to the next, in turns. From
    /// 0.5 on, the next angle is unknown.
    pub wander: f64,
    /// Standard deviation of a single response from the model's beyond whole turns, in turns.
    pub noise: f64,
    /// Fraction of the responses that do not depend on the angle.
    pub stray: f64,
}

impl TrackingEstimate {
    /// Returns whether the angle at one request says anything about the angle at the next.
    pub fn follows(&self) -> bool {
        self.wander < UNKNOWN
    }
}

const UNKNOWN: f64 = 0.5;
const WANDER: [f64; 6] = [0.003, 0.01, 0.03, 0.08, 0.2, UNKNOWN];
const NOISE: [f64; 4] = [0.01, 0.02, 0.04, 0.1];
const STRAY: [f64; 3] = [0.03, 0.15, 0.5];

/// Predicts the requests of a trace, in order, from number `first` on, and estimates from those
/// before.
pub fn track(model: &DetailedHdd, requests: &[MeasuredRequest], first: usize) -> Tracked {
    let first = first.min(requests.len());
    let mut drives = Drives::new(model);
    let mut steps: Vec<TraceStep> =
        requests[..first].iter().map(|request| drives.serve(request)).collect();
    let estimate = estimate(&steps, drives.turn);
    let mut belief = Belief::new(&estimate, drives.turn);
    for step in steps.drain(..) {
        belief.wait(step.since_last);
        belief.learn(&step);
    }
    let predict = |request: &MeasuredRequest| {
        let step = drives.serve(request);
        belief.wait(step.since_last);
        let predicted = belief.mean(&step);
        belief.learn(&step);
        predicted
    };
    Tracked { predicted: requests[first..].iter().map(predict).collect(), estimate }
}

/// The responses of all drives to one request, in ns.
struct TraceStep {
    /// Response time of each drive, in ns.
    responses: [f64; ANGLES],
    measured: f64,
    /// Time from the submission of the previous request, in ns.
    since_last: f64,
    /// Whether the response depends on the angle.
    informs: bool,
}

struct Drives {
    all: Vec<Follower>,
    turn: f64,
    /// Time of the next request by the trace; `last` is that of the previous one.
    now: Nanos,
    last: Nanos,
}

/// A drive whose clock is ahead of the trace's by a whole number of turns. If its response is some
/// turns too long or too short, `ahead` changes by as many turns. The next request then still comes
/// as long after the completion as in the measurement, and at the same angle.
struct Follower {
    server: ModelServer,
    ahead: u64,
    done: Nanos,
}

impl Drives {
    fn new(model: &DetailedHdd) -> Self {
        let turn = model.turn.0.max(1);
        let follower = |angle: usize| {
            let server = ModelServer::new(model, Nanos(turn * angle as u64 / ANGLES as u64));
            // The clock begins a million turns ahead, so that it can also fall behind.
            Follower { server, ahead: turn * 1_000_000, done: Nanos::ZERO }
        };
        let all = (0..ANGLES).map(follower).collect();
        Self { all, turn: turn as f64, now: Nanos::ZERO, last: Nanos::ZERO }
    }

    fn serve(&mut self, request: &MeasuredRequest) -> TraceStep {
        let turn = self.turn as u64;
        let mut responses = [0.0; ANGLES];
        for (follower, response) in self.all.iter_mut().zip(&mut responses) {
            let late = follower.done.saturating_sub(self.now + Nanos(follower.ahead)).0;
            follower.ahead += late.div_ceil(turn) * turn;
            let at = self.now + Nanos(follower.ahead);
            follower.done = follower.server.serve(at, request);
            *response = (follower.done - at).0 as f64;
            let turns = ((request.response.0 as f64 - *response) / self.turn).round() as i64;
            follower.ahead = follower.ahead.saturating_add_signed(-turns * turn.cast_signed());
        }
        let since_last = (self.now - self.last).0 as f64;
        self.last = self.now;
        self.now = self.now + request.response + request.gap;
        let spread = responses.iter().copied().fold(0.0, f64::max)
            - responses.iter().copied().fold(f64::MAX, f64::min);
        TraceStep {
            responses,
            measured: request.response.0 as f64,
            since_last,
            informs: spread > self.turn / 4.0,
        }
    }
}

/// The probability of each angle.
struct Belief {
    weights: [f64; ANGLES],
    turn: f64,
    /// Angles by which the platters fall behind in one ns.
    behind: f64,
    offset: f64,
    kernel: Vec<f64>,
    noise: f64,
    stray: f64,
}

impl Belief {
    fn new(estimate: &TrackingEstimate, turn: f64) -> Self {
        Self {
            weights: [1.0 / ANGLES as f64; ANGLES],
            turn,
            behind: estimate.slower / turn * ANGLES as f64,
            offset: 0.0,
            kernel: kernel(estimate.wander * ANGLES as f64),
            noise: estimate.noise,
            stray: estimate.stray,
        }
    }

    /// Updates the belief for the time until the next request.
    fn wait(&mut self, nanos: f64) {
        self.offset = (self.offset + self.behind * nanos).rem_euclid(ANGLES as f64);
        let Some((middle, sides)) = self.kernel.split_first() else {
            self.weights = [1.0 / ANGLES as f64; ANGLES];
            return;
        };
        let old = self.weights;
        for (at, weight) in self.weights.iter_mut().enumerate() {
            let side = |(distance, part): (usize, &f64)| {
                part * (old[(at + distance + 1) % ANGLES]
                    + old[(at + ANGLES - distance - 1) % ANGLES])
            };
            *weight = middle * old[at] + sides.iter().enumerate().map(side).sum::<f64>();
        }
    }

    /// Returns the response of a drive whose platters are at this angle of the belief. The angles
    /// of the belief drift relative to those of the drives.
    fn response(&self, step: &TraceStep, angle: usize) -> f64 {
        step.responses[(angle + 2 * ANGLES - self.offset.round() as usize) % ANGLES]
    }

    fn mean(&self, step: &TraceStep) -> Nanos {
        let mean =
            (0..ANGLES).map(|angle| self.weights[angle] * self.response(step, angle)).sum::<f64>();
        Nanos(mean.round() as u64)
    }

    /// Updates the belief with the measured response. Returns the likelihood of the response
    /// relative to one that is independent of the angle.
    fn learn(&mut self, step: &TraceStep) -> f64 {
        if !step.informs {
            return 1.0;
        }
        let whole = self.offset.round() - self.offset;
        let mut all = 0.0;
        for angle in 0..ANGLES {
            let late =
                (step.measured - self.response(step, angle)) / self.turn + whole / ANGLES as f64;
            let off = (late - late.round()) / self.noise;
            let near =
                (-0.5 * off * off).exp() / (self.noise * (2.0 * std::f64::consts::PI).sqrt());
            self.weights[angle] *= self.stray + (1.0 - self.stray) * near;
            all += self.weights[angle];
        }
        self.weights.iter_mut().for_each(|weight| *weight /= all);
        all
    }
}

/// Returns one side, from the middle on, of a bell curve of this width. It is empty if the width
/// makes all angles equally likely.
fn kernel(width: f64) -> Vec<f64> {
    if width >= UNKNOWN * ANGLES as f64 {
        return Vec::new();
    }
    let reach = ((3.0 * width).ceil() as usize).min(ANGLES / 2 - 1);
    let part = |distance: usize| (-0.5 * (distance as f64 / width).powi(2)).exp();
    let parts: Vec<f64> = (0..=reach).map(part).collect();
    let all = parts[0] + 2.0 * parts[1..].iter().sum::<f64>();
    parts.iter().map(|part| part / all).collect()
}

fn estimate(steps: &[TraceStep], turn: f64) -> TrackingEstimate {
    let likelihood = |estimate: &TrackingEstimate| {
        let mut belief = Belief::new(estimate, turn);
        let likely = steps.iter().map(|step| {
            belief.wait(step.since_last);
            belief.learn(step).ln()
        });
        likely.sum::<f64>()
    };
    let best = |candidates: Vec<TrackingEstimate>| {
        let judged = candidates.into_iter().map(|candidate| (likelihood(&candidate), candidate));
        judged.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, candidate)| candidate)
    };
    let with_speeds = |from: TrackingEstimate, middle: f64, step: f64| {
        let speeds = (-12..=12).map(|steps| middle + f64::from(steps) * step);
        best(speeds.map(|slower| TrackingEstimate { slower, ..from }).collect()).unwrap_or(from)
    };
    let requests = steps.len();
    let start = TrackingEstimate { requests, slower: 0.0, wander: 0.03, noise: 0.04, stray: 0.15 };
    let coarse = with_speeds(start, 0.0, 1.5e-4);
    let mut forms = Vec::new();
    for wander in WANDER {
        for noise in NOISE {
            forms.extend(STRAY.map(|stray| TrackingEstimate { wander, noise, stray, ..coarse }));
        }
    }
    let shaped = best(forms).unwrap_or(coarse);
    if shaped.follows() {
        with_speeds(shaped, coarse.slower, 2e-5)
    } else {
        TrackingEstimate { slower: 0.0, ..shaped }
    }
}

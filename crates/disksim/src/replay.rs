//! Serves measured requests by the model, one after another.

use disklab_disks::{Completion, DetailedHdd, Disk, Op, Request, build_detailed};
use disklab_units::Nanos;

use crate::MeasuredRequest;

/// Returns the model's response times in a closed replay: each request follows the *modelled*
/// completion of the previous one by the gap that followed the measured completion. `since_angle_0`
/// is the time since angle 0 passed the head, at the beginning.
pub fn closed(
    model: &DetailedHdd,
    requests: &[MeasuredRequest],
    since_angle_0: Nanos,
) -> Vec<Nanos> {
    served(model, requests, since_angle_0).into_iter().map(|(response, _)| response).collect()
}

/// Returns the response times of [`closed`], and whether the cache served each request.
pub(crate) fn served(
    model: &DetailedHdd,
    requests: &[MeasuredRequest],
    since_angle_0: Nanos,
) -> Vec<(Nanos, bool)> {
    let mut server = ModelServer::new(model, since_angle_0);
    let mut now = Nanos::ZERO;
    let mut responses = Vec::with_capacity(requests.len());
    for request in requests {
        let hits = server.disk.counters().cache_hits;
        let done = server.serve(now, request);
        responses.push((done - now, server.disk.counters().cache_hits > hits));
        now = done.saturating_add(request.gap);
    }
    responses
}

/// A model that serves one request at a time.
pub(crate) struct ModelServer {
    disk: Box<dyn Disk>,
    done: Vec<Completion>,
}

impl ModelServer {
    pub fn new(model: &DetailedHdd, since_angle_0: Nanos) -> Self {
        Self { disk: build_detailed(model, since_angle_0), done: Vec::with_capacity(1) }
    }

    /// Serves a request that is submitted at `now`, which must not be before the last one
    /// completed. Returns the time of its completion.
    pub fn serve(&mut self, now: Nanos, request: &MeasuredRequest) -> Nanos {
        let op = if request.write { Op::Write } else { Op::Read };
        let MeasuredRequest { sector, sectors, .. } = *request;
        self.disk.submit(now, Request { id: 0, op, sector, sectors, fua: false });
        while let Some(next) = self.disk.next_event() {
            self.disk.advance(next, &mut self.done);
            if let Some(completion) = self.done.pop() {
                return completion.at;
            }
        }
        // A disk with a request under way always has a next event.
        now
    }
}

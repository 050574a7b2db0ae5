//! Serves measured requests by the model, one after another.

use disklab_disks::{Completion, DetailedHdd, Disk, Op, Request, build_detailed};
use disklab_units::Nanos;

use crate::MeasuredRequest;

/// The model's response times where each request is made so long after the one before *of the
/// model* was done as it was made after the measured one. `since_angle_0`: where the platters are
/// at the beginning.
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

    /// When a request is done that is made at `now`, not before the last one was done.
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
        // A disk that has taken a request always knows when to look again.
        now
    }
}

//! Checks that the host takes its time for each request, and that its processor handles one after
//! another.

use std::collections::BTreeMap;

use disklab_config::host::HostTime;
use disklab_units::Nanos;

use super::law::{Broken, ensure};
use crate::Completion;

/// The checker of the host, which watches the requests of all disks of a machine.
#[derive(Clone)]
pub(crate) struct HostLaw {
    /// The least time of a request: the host's, both ways.
    least: Nanos,
    /// The processor's time for a request, both ways.
    core: Nanos,
    /// Submission time of each request under way, by disk and id.
    under_way: BTreeMap<(usize, u32), Nanos>,
    /// Time at which the processor got its first request.
    first: Option<Nanos>,
    answers: u64,
    violation: Option<(usize, String)>,
}

impl HostLaw {
    pub fn new(time: HostTime) -> Self {
        Self {
            least: time.way_there().saturating_add(time.way_back()),
            core: time.core_time() * 2,
            under_way: BTreeMap::new(),
            first: None,
            answers: 0,
            violation: None,
        }
    }

    pub fn submitted(&mut self, now: Nanos, disk: usize, id: u32) {
        self.first.get_or_insert(now);
        self.under_way.insert((disk, id), now);
    }

    pub fn answered(&mut self, disk: usize, completion: &Completion) {
        if let Err(what) = self.check(disk, completion) {
            self.violation.get_or_insert_with(|| (disk, format!("at {}: {what}", completion.at)));
        }
    }

    fn check(&mut self, disk: usize, &Completion { id, at, .. }: &Completion) -> Broken {
        let Some(submitted) = self.under_way.remove(&(disk, id)) else {
            return Err(format!("request {id} is answered and is not under way"));
        };
        let (took, least) = (at.saturating_sub(submitted), self.least);
        ensure(took >= least, || {
            format!("request {id} takes {took}, and the host alone takes {least}")
        })?;
        self.answers += 1;
        let needed = self.core * self.answers;
        let passed = at.saturating_sub(self.first.unwrap_or_default());
        ensure(passed >= needed, || {
            let answers = self.answers;
            format!("{answers} requests are done in {passed}; the host's processor takes {needed}")
        })
    }

    /// Returns the first violation, with the disk whose request it was.
    pub fn violation(&self) -> Option<(usize, &str)> {
        self.violation.as_ref().map(|(disk, what)| (*disk, what.as_str()))
    }
}

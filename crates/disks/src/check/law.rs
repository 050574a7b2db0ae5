//! What a checker is.

use disklab_units::Nanos;

use crate::Request;
use crate::event_log::DiskEvent;

/// Whether a law was kept, or in words what broke it.
pub(super) type Broken = Result<(), String>;

/// A request that is done.
pub(super) struct Answered {
    pub request: Request,
    pub submitted: Nanos,
    pub started: Nanos,
    pub at: Nanos,
}

/// One law.
pub(super) trait Law: Send {
    fn submitted(&mut self, _now: Nanos, _request: &Request) {}

    fn happened(&mut self, _event: &DiskEvent) -> Broken {
        Ok(())
    }

    fn answered(&mut self, _answered: &Answered) -> Broken {
        Ok(())
    }

    /// Nothing is under way.
    fn idle(&mut self) -> Broken {
        Ok(())
    }
}

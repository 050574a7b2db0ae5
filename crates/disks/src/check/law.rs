//! The interface of a checker.

use disklab_units::Nanos;

use crate::Request;
use crate::event_log::DiskEvent;

/// The result of a check: `Ok` if the law was kept, otherwise a description of the violation.
pub(super) type Broken = Result<(), String>;

/// Returns a violation with this description unless `kept` is true.
pub(super) fn ensure(kept: bool, words: impl FnOnce() -> String) -> Broken {
    if kept { Ok(()) } else { Err(words()) }
}

/// A completed request.
pub(super) struct Answered {
    pub request: Request,
    pub submitted: Nanos,
    pub started: Nanos,
    pub at: Nanos,
}

/// A law that a disk must obey.
pub(super) trait Law: Send {
    fn submitted(&mut self, _now: Nanos, _request: &Request) {}

    fn happened(&mut self, _event: &DiskEvent) -> Broken {
        Ok(())
    }

    fn answered(&mut self, _answered: &Answered) -> Broken {
        Ok(())
    }

    /// Checks what must hold while no request is under way.
    fn idle(&mut self) -> Broken {
        Ok(())
    }
}

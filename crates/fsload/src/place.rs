//! Where the engine runs.

use std::time::Instant;

/// What differs between a guest and a real machine.
pub trait Surroundings: Sync {
    /// A thread of the engine has begun; it calls this first.
    fn thread_begins(&self) {}

    /// Gives an operation its processor time, however long that has to be waited for; when that
    /// time began.
    fn processor(&self) -> Instant {
        Instant::now()
    }

    /// Whether what was fsynced is to be noted.
    fn notes_promises(&self) -> bool {
        false
    }

    /// Notes that all promises up to this number are made or taken back.
    fn promised(&self, _number: u64) -> Result<(), crate::Failure> {
        Ok(())
    }
}

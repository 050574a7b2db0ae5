//! What the host asked for and got, the cable carried.

use disklab_units::{Bytes, Nanos, Sectors};

use super::Check;
use crate::diary::Happening;
use crate::{Op, Request};

/// In bytes.
pub(super) struct Conservation {
    size: u64,
    carried: u64,
    completed: u64,
}

impl Conservation {
    /// `bytes`: the disk's size. What is asked for beyond it is not carried.
    pub fn new(bytes: Bytes) -> Self {
        Self { size: bytes.0, carried: 0, completed: 0 }
    }
}

impl Check for Conservation {
    fn happened(&mut self, happening: &Happening) -> Result<(), String> {
        if let Happening::Link { bytes: Bytes(bytes), .. } = happening {
            self.carried += bytes;
        }
        Ok(())
    }

    fn completed(
        &mut self,
        request: &Request,
        _submitted: Nanos,
        _at: Nanos,
    ) -> Result<(), String> {
        if matches!(request.op, Op::Read | Op::Write) {
            let from = request.sector.saturating_mul(Sectors::SIZE).min(self.size);
            let bytes = Sectors(u64::from(request.sectors)).bytes().0;
            self.completed += bytes.min(self.size - from);
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<(), String> {
        if self.carried < self.completed {
            let (carried, completed) = (Bytes(self.carried), Bytes(self.completed));
            return Err(format!(
                "reads and writes of {completed} are done, and the cable carried {carried}"
            ));
        }
        Ok(())
    }
}

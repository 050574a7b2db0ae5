//! Checks that a card serves one command after another and moves no bytes above its rates.

use std::ops::Range;

use disklab_config::device::Card;
use disklab_units::{Bytes, Nanos, Sectors};

use super::law::{Answered, Broken, Law, ensure};
use crate::{Op, Request};

pub(super) struct Turns {
    model: Card,
    sectors: u64,
    free: Nanos,
}

impl Turns {
    pub fn new(model: &Card, bytes: Bytes) -> Self {
        Self { model: model.clone(), sectors: bytes.sectors().0, free: Nanos::ZERO }
    }

    fn least(&self, request: &Request) -> Nanos {
        let Card { read_access, read_rate, write_access, write_rate, .. } = self.model;
        let Range { start, end } = request.sectors_below(self.sectors);
        let bytes = Sectors(end - start).bytes();
        match request.op {
            Op::Read => read_access + read_rate.time_for(bytes),
            Op::Write | Op::WriteZeroes => write_access + write_rate.time_for(bytes),
            Op::Discard | Op::Flush => write_access,
        }
    }
}

impl Law for Turns {
    fn answered(&mut self, answered: &Answered) -> Broken {
        let &Answered { ref request, started, at, .. } = answered;
        let free = self.free;
        self.free = free.max(at);
        ensure(started >= free, || {
            format!("a command begins at {started}, and the one before ends at {free}")
        })?;
        let (took, least) = (at.saturating_sub(started), self.least(request));
        let op = request.op;
        ensure(took >= least, || {
            format!("{op:?} takes {took}, and could not take less than {least}")
        })
    }
}

//! A die: what it does, and what it was doing when a read came; and the channel that it shares.

use std::collections::VecDeque;

use disklab_units::{Bytes, Nanos};

use super::space::{RowTarget, Space};
use crate::event_log::DieWork;
use crate::shared::Shared;

/// The part of a read that lies in one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageRead {
    /// Its slot among the drive's requests.
    pub request: u32,
    pub bytes: Bytes,
    /// The time of its cells.
    pub sense: Nanos,
}

#[derive(Clone)]
pub(super) struct Die {
    pub state: DieState,
    /// When that began, or goes on since.
    pub since: Nanos,
    /// When the row was taken that is being programmed.
    pub row_taken: Nanos,
    /// The program or erase that reads interrupt.
    pub held: Option<InterruptedChange>,
    pub reads: VecDeque<PageRead>,
    pub channel: u32,
    /// The type of its first page.
    pub first_type: u64,
    pub programmed_last: bool,
    /// The row of the host's that is being programmed.
    pub row: Vec<u32>,
    pub space: Shared<Space>,
}

#[derive(Clone, Copy)]
pub(super) enum DieState {
    Idle,
    /// Reads from the cells, until then.
    Sense(Sensed, Nanos),
    /// Waits for the channel or uses it.
    SendOut(Sensed),
    /// Waits for the channel or uses it, with the row to be programmed.
    TakeIn(ProgrammedRow, RowTarget),
    /// Stops what it does, until then.
    Suspend(Nanos),
    /// Programs or erases, which can be interrupted.
    Long(Long),
}

/// Programs or erases.
#[derive(Clone, Copy)]
pub(super) struct Long {
    pub what: MediumChange,
    /// When it ends if nothing comes in between.
    pub end: Nanos,
    /// The time before which it is not interrupted: it goes on for as long as it stood still.
    pub firm_until: Nanos,
    /// Reads came before that, and are seen to then.
    pub asked: bool,
}

#[derive(Clone, Copy)]
pub(super) enum MediumChange {
    Program(ProgrammedRow, RowTarget),
    Erase,
}

impl DieState {
    /// Reads for the host, from `at` on.
    pub fn sense(read: PageRead, at: Nanos) -> Self {
        Self::Sense(Sensed::Host(read), at.saturating_add(read.sense))
    }
}

impl Long {
    /// From `at` on, and nothing has come in between yet.
    pub fn new(what: MediumChange, at: Nanos, takes: Nanos) -> Self {
        Self { what, end: at.saturating_add(takes), firm_until: at, asked: false }
    }
}

impl MediumChange {
    /// Whether it programs a row of the host's.
    pub fn is_hosts(self) -> bool {
        matches!(self, Self::Program(ProgrammedRow::Host(_), _))
    }
}

impl From<MediumChange> for DieWork {
    fn from(change: MediumChange) -> Self {
        match change {
            MediumChange::Program(..) => Self::Program,
            MediumChange::Erase => Self::Erase,
        }
    }
}

#[derive(Clone)]
pub(super) struct InterruptedChange {
    pub what: MediumChange,
    /// The time that is left of it.
    pub left: Nanos,
    pub since: Nanos,
}

#[derive(Clone, Copy)]
pub(super) enum ProgrammedRow {
    /// The host's, of this number in the log.
    Host(u64),
    Moved,
}

#[derive(Clone, Copy)]
pub(super) enum Sensed {
    Host(PageRead),
    Moved(Bytes),
}

impl Sensed {
    pub fn bytes(self) -> Bytes {
        match self {
            Self::Host(read) => read.bytes,
            Self::Moved(bytes) => bytes,
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct Channel {
    /// The die whose transfer goes on, and until when.
    pub current: Option<(u32, Nanos)>,
    pub waiting: VecDeque<u32>,
}

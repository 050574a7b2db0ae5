//! The state of a die: its work, the work that a read interrupted, and its channel.

use std::collections::VecDeque;

use disklab_units::{Bytes, Nanos};

use super::space::{RowTarget, Space};
use crate::event_log::DieWork;
use crate::shared::Shared;

/// The part of a read that lies in one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageRead {
    /// The slot of the read among the drive's requests.
    pub request: u32,
    pub bytes: Bytes,
    /// The time to sense the cells, which depends on the page.
    pub sense: Nanos,
}

#[derive(Clone)]
pub(super) struct Die {
    pub state: DieState,
    /// Time at which the present state began, or at which its work was resumed.
    pub since: Nanos,
    /// Time at which the die took the row that it programs.
    pub row_taken: Nanos,
    /// The program or erase operation that reads have interrupted.
    pub held: Option<InterruptedChange>,
    pub reads: VecDeque<PageRead>,
    pub channel: u32,
    /// Index of the type of the die's first page, among the model's page types.
    pub first_type: u64,
    pub programmed_last: bool,
    /// The units of the host's row that is being programmed.
    pub row: Vec<u32>,
    pub space: Shared<Space>,
}

#[derive(Clone, Copy)]
pub(super) enum DieState {
    Idle,
    /// Senses a page, until the given time.
    Sense(Sensed, Nanos),
    /// Holds sensed data and waits for the channel, or uses it.
    SendOut(Sensed),
    /// Waits for the channel to bring the row to be programmed, or uses it.
    TakeIn(ProgrammedRow, RowTarget),
    /// Interrupts its work, which takes until the given time.
    Suspend(Nanos),
    /// Programs or erases, which a read can interrupt.
    Long(Long),
}

/// A program or erase operation in progress.
#[derive(Clone, Copy)]
pub(super) struct Long {
    pub what: MediumChange,
    /// Time of its end if no read interrupts it.
    pub end: Nanos,
    /// Time before which it is not interrupted again: after an interruption it runs for as long as
    /// it was stopped.
    pub firm_until: Nanos,
    /// Whether reads came before `firm_until`; they are served at that time.
    pub asked: bool,
}

#[derive(Clone, Copy)]
pub(super) enum MediumChange {
    Program(ProgrammedRow, RowTarget),
    Erase,
}

impl DieState {
    /// Returns the state of a die that senses for the host from `at` on.
    pub fn sense(read: PageRead, at: Nanos) -> Self {
        Self::Sense(Sensed::Host(read), at.saturating_add(read.sense))
    }
}

impl Long {
    /// Returns an operation that begins at `at` and was not interrupted.
    pub fn new(what: MediumChange, at: Nanos, takes: Nanos) -> Self {
        Self { what, end: at.saturating_add(takes), firm_until: at, asked: false }
    }
}

impl MediumChange {
    /// Returns whether the operation programs a row of the host's data.
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
    /// The time that the operation still needs.
    pub left: Nanos,
    pub since: Nanos,
}

#[derive(Clone, Copy)]
pub(super) enum ProgrammedRow {
    /// A row of the host's data, with its number in the log.
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
    /// The die whose transfer is in progress, and the time of its end.
    pub current: Option<(u32, Nanos)>,
    pub waiting: VecDeque<u32>,
}

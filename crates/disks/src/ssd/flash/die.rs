//! One die: what it does, and what it was doing when a read came.

use std::collections::VecDeque;

use disklab_units::{Bytes, Nanos};

use super::PageRead;
use crate::diary::DieWork;
use crate::ssd::space::{Space, Target};

pub(super) struct Die {
    pub(super) work: Work,
    /// When that began, or goes on since.
    pub(super) since: Nanos,
    /// When the row was taken that is being programmed.
    pub(super) row_taken: Nanos,
    /// What is interrupted by reads.
    pub(super) held: Option<Held>,
    pub(super) reads: VecDeque<PageRead>,
    pub(super) channel: u32,
    /// Which of the page types its first page has.
    pub(super) first_type: u64,
    pub(super) programmed_last: bool,
    /// The row of the host's that is being programmed.
    pub(super) row: Vec<u32>,
    pub(super) space: Space,
}

#[derive(Clone, Copy)]
pub(super) enum Work {
    Idle,
    /// Reads from the cells, until then.
    Sense(Sensed, Nanos),
    /// Waits for the channel or uses it.
    SendOut(Sensed),
    /// As well, with its row.
    TakeIn(Row, Target),
    /// Stops what it does, until then.
    Suspend(Nanos),
    /// What can be interrupted.
    Long(Long),
}

/// What a die can begin with. It comes to the rest of [`Work`] from these alone.
pub(super) enum Next {
    Sense(Sensed, Nanos),
    TakeIn(Row, Target),
    Long(Long),
}

/// Programs or erases.
#[derive(Clone, Copy)]
pub(super) struct Long {
    pub(super) what: Change,
    /// When it ends if nothing comes in between.
    pub(super) end: Nanos,
    /// It is not interrupted before: it goes on for as long as it stood still.
    pub(super) firm_until: Nanos,
    /// Reads came before that, and are seen to then.
    pub(super) asked: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Change {
    Program(Row, Target),
    Erase,
}

impl From<Change> for DieWork {
    fn from(change: Change) -> Self {
        match change {
            Change::Program(..) => Self::Program,
            Change::Erase => Self::Erase,
        }
    }
}

pub(super) struct Held {
    pub(super) what: Change,
    /// What is left of it.
    pub(super) left: Nanos,
    pub(super) since: Nanos,
}

#[derive(Clone, Copy)]
pub(super) enum Row {
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
    pub(super) fn bytes(self) -> Bytes {
        match self {
            Self::Host(read) => read.bytes,
            Self::Moved(bytes) => bytes,
        }
    }
}

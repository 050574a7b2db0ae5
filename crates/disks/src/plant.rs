//! Bugs that tests put into the models, to see that the checkers find them.

use std::cell::Cell;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A hard disk comes to a sector half a turn before it comes round.
    SkippedRotation,
    /// The arm is wherever it is wanted.
    InstantSeek,
    /// Every seek takes half of its time.
    ShortSeeks,
    /// A hard disk chooses as if all commands had come at the same time.
    ForgottenWait,
    /// A hard disk errs about ways by more than it may.
    MisjudgedWay,
    /// A hard disk waits with its answers for more than a batch.
    EndlessBatch,
    /// A hard disk keeps its last answers although no other request waits.
    KeptBatch,
    /// A hard disk answers while the data is still under its head.
    EarlyAnswer,
    /// A flush is done while data is in the buffer.
    LostFlush,
    /// A write with FUA is done when it is in the buffer.
    LostFua,
    /// A die senses a page while it goes on to program another.
    DieUsedTwice,
    /// The cable, or a card, carries data in half of its time.
    HalfATransfer,
    /// The host's processor does two things in the time of one.
    TwoRequestsAtOnce,
    /// A page takes a time that is none of its disk's.
    TimeOfNoPage,
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

impl Bug {
    pub fn is_planted(self) -> bool {
        PLANTED.get() == Some(self)
    }

    /// In this thread, as long as `run` runs.
    pub fn plant<T>(self, run: impl FnOnce() -> T) -> T {
        PLANTED.set(Some(self));
        let result = run();
        PLANTED.set(None);
        result
    }
}

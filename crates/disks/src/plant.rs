//! Bugs that tests plant in the models, to prove that the checkers find them.

use std::cell::Cell;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A hard disk reaches a sector half a turn before the sector comes round.
    SkippedRotation,
    /// The arm takes no time to reach its target.
    InstantSeek,
    /// Every seek takes half of its time.
    ShortSeeks,
    /// A hard disk chooses the next command as if all had come at the same time.
    ForgottenWait,
    /// A hard disk misjudges the time to reach a command by more than the model allows.
    MisjudgedWay,
    /// A hard disk holds back more completions than one batch.
    EndlessBatch,
    /// A hard disk holds back its last completions although no other request waits.
    KeptBatch,
    /// A hard disk reports completion while the data is still under its head.
    EarlyAnswer,
    /// A flush completes while data is still in the buffer.
    LostFlush,
    /// A write with FUA completes when its data is only in the buffer.
    LostFua,
    /// A die senses a page while it continues to program another.
    DieUsedTwice,
    /// The cable, or a card, transfers data in half of its time.
    HalfATransfer,
    /// The host's processor handles two requests in the time of one.
    TwoRequestsAtOnce,
    /// A page's read takes a time that is not among the read times of its disk.
    TimeOfNoPage,
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

impl Bug {
    pub fn is_planted(self) -> bool {
        PLANTED.get() == Some(self)
    }

    /// Plants the bug in this thread while `run` runs.
    pub fn plant<T>(self, run: impl FnOnce() -> T) -> T {
        PLANTED.set(Some(self));
        let result = run();
        PLANTED.set(None);
        result
    }
}

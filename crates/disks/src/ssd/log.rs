//! The write buffer as a log: data goes in at its head and is programmed from its tail, a page at a time.

use disklab_units::Bytes;

/// Counts bytes of the log since the disk was made, so that a place in it is one number.
pub(crate) struct Log {
    room: u64,
    page: u64,
    /// Promised to writes whose data is on the link.
    expected: u64,
    /// There.
    written: u64,
    /// Handed over to be programmed, in whole pages.
    handed_over: u64,
    programmed: u64,
}

impl Log {
    pub fn new(room: Bytes, page: Bytes) -> Self {
        Self { room: room.0, page: page.0.max(1), expected: 0, written: 0, handed_over: 0, programmed: 0 }
    }

    /// Whether a write of so many bytes may come. An empty buffer takes any: a write larger than it passes through.
    pub fn fits(&self, bytes: Bytes) -> bool {
        let used = self.expected - self.programmed;
        used == 0 || used + bytes.0 <= self.room
    }

    pub fn expect(&mut self, bytes: Bytes) {
        self.expected += bytes.0;
    }

    /// Data that was expected is there.
    pub fn write(&mut self, bytes: Bytes) {
        self.written += bytes.0;
    }

    /// Fills the last page up with nothing, so that it can be programmed.
    pub fn pad(&mut self) {
        let padded = self.written.next_multiple_of(self.page);
        self.expected += padded - self.written;
        self.written = padded;
    }

    /// Whole pages that are there and were not handed over before.
    pub fn hand_over(&mut self) -> u64 {
        let pages = (self.written - self.handed_over) / self.page;
        self.handed_over += pages * self.page;
        pages
    }

    /// One more page is on the medium.
    pub fn programmed(&mut self) {
        self.programmed += self.page;
    }

    /// The first page behind everything that is there.
    pub fn end_page(&self) -> u64 {
        self.written.div_ceil(self.page)
    }

    /// Nothing moves: no data on the link, no page being programmed. A part of a page may be left.
    pub fn is_still(&self) -> bool {
        self.expected == self.written && self.handed_over == self.programmed
    }
}

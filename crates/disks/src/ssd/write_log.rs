//! The write buffer as a log: data goes in at its head and is programmed from its tail, a row at a
//! time.

use std::collections::VecDeque;

/// The unit that fills a row up where there is no data for it.
pub(crate) const PADDING: u32 = u32::MAX;

/// Counts units (of the map: 4 KiB) since the disk was made, so that a place in the log is one
/// number.
#[derive(Clone, Default)]
pub(crate) struct WriteLog {
    /// In units, as all that follow.
    room: u64,
    row: u64,
    /// Units that were promised a place and have not been taken, in order; those from `there` on
    /// are still on the link.
    units: VecDeque<u32>,
    expected: u64,
    there: u64,
    /// Taken to be programmed.
    taken: u64,
    /// The place before which all is programmed even where it fills no row.
    forced: u64,
    programmed: u64,
    /// Rows taken and not known to be programmed with all before them: where each ends, and whether
    /// it is programmed.
    rows: VecDeque<(u64, bool)>,
    /// Rows that have left `rows`.
    rows_gone: u64,
    /// Everything before this place is on the medium.
    pub safe: u64,
}

impl WriteLog {
    pub fn new(room: u64, row: u32) -> Self {
        Self {
            room,
            row: u64::from(row),
            units: VecDeque::with_capacity(1024),
            rows: VecDeque::with_capacity(64),
            ..Self::default()
        }
    }

    /// Whether a write of so many units may come. An empty buffer takes any: a write larger than it
    /// passes through.
    pub fn fits(&self, units: u64) -> bool {
        let used = self.expected - self.programmed;
        used == 0 || used + units <= self.room
    }

    /// Units that it has room for.
    pub fn free(&self) -> u64 {
        self.room.saturating_sub(self.expected - self.programmed)
    }

    /// Data of `units` is on its way.
    pub fn expect(&mut self, units: std::ops::Range<u32>) {
        self.expected += units.len() as u64;
        self.units.extend(units);
    }

    /// The next so many of those expected are there.
    pub fn arrive(&mut self, units: u64) {
        self.there += units;
    }

    /// All that is there goes to the medium, whether it fills rows or not. Returns the place behind
    /// it.
    pub fn force(&mut self) -> u64 {
        self.forced = self.there;
        self.there
    }

    /// A row is to be programmed.
    pub fn is_ready(&self) -> bool {
        self.there - self.taken >= self.row || self.taken < self.forced
    }

    /// Takes the next row's units, filled up with [`PADDING`]; returns the row's number.
    pub fn take(&mut self, row: &mut Vec<u32>) -> u64 {
        let count = self.row.min(self.there - self.taken);
        row.clear();
        row.extend(self.units.drain(..count as usize));
        row.resize(self.row as usize, PADDING);
        self.taken += count;
        self.rows.push_back((self.taken, false));
        self.rows_gone + self.rows.len() as u64 - 1
    }

    /// The row of this number is on the medium.
    pub fn programmed(&mut self, row: u64) {
        let index = (row - self.rows_gone) as usize;
        let begin = if index == 0 { self.safe } else { self.rows[index - 1].0 };
        self.programmed += self.rows[index].0 - begin;
        self.rows[index].1 = true;
        while let Some(&(end, true)) = self.rows.front() {
            self.rows.pop_front();
            self.rows_gone += 1;
            self.safe = end;
        }
    }

    /// Returns whether nothing moves: no data on the link, no row being programmed. A part of a row
    /// may be left.
    pub fn is_still(&self) -> bool {
        self.expected == self.there && self.taken == self.programmed
    }
}

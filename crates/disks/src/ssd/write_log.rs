//! The write buffer as a log. Data is appended at its head and programmed from its tail, a row at a
//! time.

use std::collections::VecDeque;

/// The unit number that fills a row for which there is not enough data.
pub(crate) const PADDING: u32 = u32::MAX;

/// The log. A place in it is the number of units (4 KiB each) written before it since the disk was
/// made.
#[derive(Clone, Default)]
pub(crate) struct WriteLog {
    /// Size of the buffer in units, like all the following numbers.
    room: u64,
    row: u64,
    /// Units that have a place in the log and were not taken, in order. Those from the place
    /// `there` on are still on the link.
    units: VecDeque<u32>,
    expected: u64,
    there: u64,
    /// Number of units taken to be programmed.
    taken: u64,
    /// The place before which all units are programmed even if they fill no row.
    forced: u64,
    programmed: u64,
    /// Rows that were taken, from the first that is not programmed on: the end of each, and whether
    /// it is programmed.
    rows: VecDeque<(u64, bool)>,
    /// Number of rows that have left `rows`.
    rows_gone: u64,
    /// The place before which everything is on the medium.
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

    /// Returns whether the buffer can take a write of `units` units. An empty buffer takes any: a
    /// write larger than the buffer passes through.
    pub fn fits(&self, units: u64) -> bool {
        let used = self.expected - self.programmed;
        used == 0 || used + units <= self.room
    }

    /// Returns the number of units that the buffer has room for.
    pub fn free(&self) -> u64 {
        self.room.saturating_sub(self.expected - self.programmed)
    }

    /// Notes that data of `units` is on its way.
    pub fn expect(&mut self, units: std::ops::Range<u32>) {
        self.expected += units.len() as u64;
        self.units.extend(units);
    }

    /// Notes that the next `units` of the expected units have arrived.
    pub fn arrive(&mut self, units: u64) {
        self.there += units;
    }

    /// Lets all units that have arrived go to the medium, even if they fill no row. Returns the
    /// place behind them.
    pub fn force(&mut self) -> u64 {
        self.forced = self.there;
        self.there
    }

    /// Returns whether a row is ready to be programmed.
    pub fn is_ready(&self) -> bool {
        self.there - self.taken >= self.row || self.taken < self.forced
    }

    /// Takes the units of the next row, padded with [`PADDING`]. Returns the row's number.
    pub fn take(&mut self, row: &mut Vec<u32>) -> u64 {
        let count = self.row.min(self.there - self.taken);
        row.clear();
        row.extend(self.units.drain(..count as usize));
        row.resize(self.row as usize, PADDING);
        self.taken += count;
        self.rows.push_back((self.taken, false));
        self.rows_gone + self.rows.len() as u64 - 1
    }

    /// Notes that the row of this number is on the medium.
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

    /// Returns whether no data is on the link and no row is being programmed. A part of a row may
    /// be left.
    pub fn is_still(&self) -> bool {
        self.expected == self.there && self.taken == self.programmed
    }
}

//! Turns entries into bytes, in the form `DLT2`.

use crate::WINDOW;
use crate::entry::{MARK, Served, code};

pub(crate) const MAGIC: &[u8; 4] = b"DLT2";

/// The state of the trace when a request arrived at its disk, to which its entry refers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Number of entries that had been written.
    entries: u64,
    /// The end of the last of them, in virtual ns.
    end: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Last {
    /// The sector after the disk's last request.
    sector: u64,
    ended: u64,
}

/// Turns entries into bytes.
#[derive(Debug)]
pub struct TraceWriter {
    bytes: Vec<u8>,
    /// The state of the trace now.
    now: Arrived,
    /// The request before, by disk.
    last: Vec<Last>,
}

impl TraceWriter {
    /// Returns a writer for a guest with `disks` disks.
    pub fn new(disks: usize) -> Self {
        Self { bytes: MAGIC.to_vec(), now: Arrived::default(), last: vec![Last::default(); disks] }
    }

    /// Returns the state to keep with a request that arrives now, for [`TraceWriter::served`].
    pub fn arrived(&self) -> Arrived {
        self.now
    }

    /// Writes a request that has ended. Its disk must be below the number of disks.
    pub fn served(&mut self, s: &Served, arrived: Arrived) {
        let between = self.now.entries - arrived.entries;
        let (between, end) =
            if between < WINDOW as u64 { (between, arrived.end) } else { (0, self.now.end) };
        let last = self.last[s.disk];
        self.number(s.disk as u64 * 8 + code(s.op));
        self.number(between);
        self.difference(s.submitted, end);
        self.difference(s.started, s.submitted.max(last.ended));
        self.number(s.ended - s.started);
        self.difference(s.sector, last.sector);
        self.number(u64::from(s.sectors) * 2 + u64::from(s.fua));
        self.last[s.disk] =
            Last { sector: s.sector.wrapping_add(u64::from(s.sectors)), ended: s.ended };
        self.ends(s.ended);
    }

    pub fn mark(&mut self, at: u64, text: &str) {
        self.number(MARK);
        self.difference(at, self.now.end);
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends(at);
    }

    /// Returns the bytes that have not been taken yet.
    pub fn pending(&self) -> &[u8] {
        &self.bytes
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    fn ends(&mut self, end: u64) {
        self.now = Arrived { entries: self.now.entries + 1, end };
    }

    fn difference(&mut self, value: u64, before: u64) {
        let d = value.wrapping_sub(before).cast_signed();
        self.number(((d << 1) ^ (d >> 63)).cast_unsigned());
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

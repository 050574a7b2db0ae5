//! The trace of a trial: every request of every disk, and the phases, in the order in which they ended.
//!
//! Layout: the 4 bytes `DLT1`, then entries of LEB128 numbers (`z`: zigzag, for differences that may be negative):
//!
//! | entry | numbers |
//! |---|---|
//! | request | disk * 8 + operation (0 read, 1 write, 2 flush, 3 discard, 4 write-zeroes), z submit - submit of the entry before, started - submit, ended - started, z sector - end of the disk's request before, sectors * 2 + FUA |
//! | mark | 7, z time - submit of the entry before, length of the text, the text |
//!
//! Times are virtual ns. A random read takes about 13 bytes, the next one of a sequential run about 9.

use disklab_disks::Op;

const MAGIC: &[u8; 4] = b"DLT1";
const MARK: u64 = 7;
/// A mark's text is a word or two; more than this is not a trace.
const LONGEST_MARK: u64 = 4096;

/// One request, from its arrival at the disk to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    pub disk: usize,
    pub op: Op,
    pub fua: bool,
    /// In units of 512 bytes.
    pub sector: u64,
    pub sectors: u32,
    /// Virtual ns; `submitted <= started <= ended`.
    pub submitted: u64,
    /// When the drive took it out of its queue.
    pub started: u64,
    pub ended: u64,
}

/// An entry of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Served(Served),
    /// What the guest's first process said of the trial's phases, and when.
    Mark {
        at: u64,
        text: String,
    },
}

/// Turns entries into bytes.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    last: u64,
    /// By disk: where the request before ended.
    ends: Vec<u64>,
}

impl Writer {
    pub fn new(disks: usize) -> Self {
        Self { bytes: MAGIC.to_vec(), last: 0, ends: vec![0; disks] }
    }

    pub fn served(&mut self, s: &Served) {
        self.number(s.disk as u64 * 8 + code(s.op));
        self.moment(s.submitted);
        self.number(s.started - s.submitted);
        self.number(s.ended - s.started);
        self.difference(s.sector, self.ends[s.disk]);
        self.number(u64::from(s.sectors) * 2 + u64::from(s.fua));
        self.ends[s.disk] = s.sector + u64::from(s.sectors);
    }

    pub fn mark(&mut self, at: u64, text: &str) {
        self.number(MARK);
        self.moment(at);
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// What has not been taken yet.
    pub fn pending(&self) -> &[u8] {
        &self.bytes
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    fn moment(&mut self, at: u64) {
        self.difference(at, self.last);
        self.last = at;
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

fn code(op: Op) -> u64 {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Flush => 2,
        Op::Discard => 3,
        Op::WriteZeroes => 4,
    }
}

/// Why bytes are not a trace; `at` is the offset of the entry that could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a trace of requests, or a damaged one: {what} at byte {at}")]
pub struct Damaged {
    pub at: usize,
    pub what: &'static str,
}

/// The entries of a trace. After an error there are no more.
#[derive(Debug)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
    last: u64,
    ends: Vec<u64>,
}

/// Reads a trace.
pub fn entries(bytes: &[u8]) -> Result<Entries<'_>, Damaged> {
    if bytes.starts_with(MAGIC) {
        Ok(Entries { bytes, at: MAGIC.len(), last: 0, ends: Vec::new() })
    } else {
        Err(Damaged { at: 0, what: "no `DLT1`" })
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        (start < self.bytes.len()).then(|| {
            self.entry().map_err(|what| {
                self.at = self.bytes.len();
                Damaged { at: start, what }
            })
        })
    }
}

impl Entries<'_> {
    fn entry(&mut self) -> Result<Entry, &'static str> {
        let head = self.number()?;
        let submitted = self.difference(self.last)?;
        self.last = submitted;
        if head == MARK {
            let length = self.number()?;
            if length > LONGEST_MARK {
                return Err("a mark that is too long");
            }
            let text = self.bytes.get(self.at..self.at + length as usize).ok_or("cut off")?;
            self.at += length as usize;
            let text = str::from_utf8(text).map_err(|_| "a mark that is not text")?.to_owned();
            return Ok(Entry::Mark { at: submitted, text });
        }
        let op = match head % 8 {
            0 => Op::Read,
            1 => Op::Write,
            2 => Op::Flush,
            3 => Op::Discard,
            4 => Op::WriteZeroes,
            _ => return Err("an unknown operation"),
        };
        let disk = (head / 8) as usize;
        if disk >= crate::machine::MOST_DISKS {
            return Err("an impossible disk");
        }
        if self.ends.len() <= disk {
            self.ends.resize(disk + 1, 0);
        }
        let started = submitted.checked_add(self.number()?).ok_or("an impossible time")?;
        let ended = started.checked_add(self.number()?).ok_or("an impossible time")?;
        let sector = self.difference(self.ends[disk])?;
        let size = self.number()?;
        let sectors = u32::try_from(size / 2).map_err(|_| "an impossible size")?;
        self.ends[disk] = sector.wrapping_add(u64::from(sectors));
        Ok(Entry::Served(Served { disk, op, fua: size % 2 == 1, sector, sectors, submitted, started, ended }))
    }

    fn difference(&mut self, before: u64) -> Result<u64, &'static str> {
        let z = self.number()?;
        Ok(before.wrapping_add((z >> 1) ^ (z & 1).wrapping_neg()))
    }

    fn number(&mut self) -> Result<u64, &'static str> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or("cut off")?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number that does not end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_entry() -> impl Strategy<Value = Entry> {
        let served = (
            0..8usize,
            0..5u8,
            any::<bool>(),
            0..1u64 << 40,
            0..1u32 << 16,
            0..1u64 << 50,
            0..1u64 << 40,
            0..1u64 << 40,
        )
            .prop_map(|(disk, op, fua, sector, sectors, submitted, wait, service)| {
                let op = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::WriteZeroes][op as usize];
                let (started, ended) = (submitted + wait, submitted + wait + service);
                Entry::Served(Served { disk, op, fua, sector, sectors, submitted, started, ended })
            });
        let mark = (0..1u64 << 50, "[a-z ]{0,20}").prop_map(|(at, text)| Entry::Mark { at, text });
        prop_oneof![9 => served, 1 => mark]
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(all in prop::collection::vec(any_entry(), 0..50)) {
            let mut writer = Writer::new(8);
            for entry in &all {
                match entry {
                    Entry::Served(s) => writer.served(s),
                    Entry::Mark { at, text } => writer.mark(*at, text),
                }
            }
            let bytes = writer.pending();
            let read: Result<Vec<_>, _> = entries(bytes).unwrap().collect();
            prop_assert_eq!(read.unwrap(), all.clone());
            // Cut anywhere, it gives the whole entries before the cut, and at most one error, the last.
            for cut in 4..bytes.len() {
                let part: Vec<_> = entries(&bytes[..cut]).unwrap().collect();
                let good = part.iter().take_while(|e| e.is_ok()).count();
                prop_assert!(part.len() <= good + 1 && good < all.len());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut all = MAGIC.to_vec();
            all.extend(bytes);
            let count = entries(&all).unwrap().count();
            prop_assert!(count <= all.len());
        }
    }
}

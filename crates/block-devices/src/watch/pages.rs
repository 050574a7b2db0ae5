//! Parses the kernel's trace, in pages as the kernel has them in memory, into events.
//!
//! A page has a head, and then events. An event begins with a word that has a length (5 bits) and
//! the time since the event before (27 bits); the data of that length follow. The data begin with
//! the number of the kind of event. Numbers have the byte order of this processor.

use std::io::{self, Read};

use disklab_disks::Op;

use crate::watch::layout::{EventKind, EventLayout, Field, TraceLayout};

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const DELTA_BITS: u32 = 27;
/// Bits of the word that has the used bytes of a page. The other bits are flags, one of which says
/// that the kernel lost events before this page.
const USED: u64 = (1 << DELTA_BITS) - 1;
const MISSED: u64 = 1 << 31;

/// An event of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEvent {
    /// Time of the event, in ns of the kernel's monotonic clock.
    pub at: u64,
    pub kind: EventKind,
    /// The disk's number in the kernel's form: the major number, and the minor number in the lower
    /// 20 bits.
    pub dev: u32,
    /// First sector, on the whole disk; undefined for a flush.
    pub sector: u64,
    pub sectors: u32,
    pub op: Op,
    pub fua: bool,
}

/// A reason why bytes are not pages of the kernel's trace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("page {page} of a CPU's trace is damaged: {what}")]
    Damaged { page: u64, what: &'static str },
    #[error("page {page} of a CPU's trace cannot be read: {source}")]
    Read { page: u64, source: io::Error },
    #[error(
        "the kernel lost events before page {page} of a CPU's trace, since its buffer was full"
    )]
    Missed { page: u64 },
}

/// The events of one CPU in the order of time. No events follow an error.
#[derive(Debug)]
pub struct Pages<'a, R> {
    layout: &'a TraceLayout,
    input: R,
    page: Vec<u8>,
    number: u64,
    /// The end of the parsed bytes of the page, and the end of its used bytes.
    from: usize,
    to: usize,
    now: u64,
    /// Time of the latest event. No later event gets an earlier time.
    latest: u64,
    ended: bool,
}

impl<'a, R: Read> Pages<'a, R> {
    pub fn new(layout: &'a TraceLayout, input: R) -> Self {
        let page = Vec::with_capacity(layout.page);
        Self { layout, input, page, number: 0, from: 0, to: 0, now: 0, latest: 0, ended: false }
    }

    /// Reads the next page. Returns false at the end of the input.
    fn turn(&mut self) -> Result<bool, Error> {
        self.page.clear();
        let most = self.layout.page as u64;
        let read = self.input.by_ref().take(most).read_to_end(&mut self.page);
        read.map_err(|source| Error::Read { page: self.number, source })?;
        if self.page.is_empty() {
            return Ok(false);
        }
        self.number += 1;
        if self.page.len() < self.layout.page {
            return Err(self.damaged("it is cut off"));
        }
        let damaged = || self.damaged("its head is not in it");
        let commit = number(&self.page, self.layout.commit).ok_or_else(damaged)?;
        self.now = number(&self.page, self.layout.timestamp).ok_or_else(damaged)?;
        self.from = self.layout.data;
        self.to = self.from.saturating_add((commit & USED) as usize);
        if self.to > self.page.len() {
            return Err(self.damaged("more of it is used than there is"));
        }
        if commit & MISSED != 0 { Err(Error::Missed { page: self.number }) } else { Ok(true) }
    }

    fn damaged(&self, what: &'static str) -> Error {
        Error::Damaged { page: self.number, what }
    }

    fn event(&mut self) -> Result<Option<BlockEvent>, Error> {
        loop {
            if self.from >= self.to {
                if !self.turn()? {
                    return Ok(None);
                }
                continue;
            }
            let word = self.word()?;
            let (kind, delta) = split(word);
            match kind {
                // Nothing follows in this page.
                PADDING if delta == 0 => self.from = self.to,
                PADDING => {
                    // The kernel took this event back. The time of the next event counts from it.
                    self.now = self.now.saturating_add(delta.into());
                    let length = self.word()?;
                    self.take((length as usize).saturating_sub(4))?;
                }
                TIME_EXTEND => {
                    let more = u64::from(self.word()?) << DELTA_BITS;
                    self.now = self.now.saturating_add(more + u64::from(delta));
                }
                TIME_STAMP => self.now = (u64::from(self.word()?) << DELTA_BITS) + u64::from(delta),
                words => {
                    self.now = self.now.saturating_add(delta.into());
                    let length = match words {
                        // The length includes its own word.
                        0 => (self.word()? as usize)
                            .checked_sub(4)
                            .ok_or_else(|| self.damaged("an event is shorter than its length"))?,
                        words => words as usize * 4,
                    };
                    if let Some(event) = self.data(length)? {
                        return Ok(Some(event));
                    }
                }
            }
        }
    }

    fn word(&mut self) -> Result<u32, Error> {
        let bytes = self.take(4)?;
        let bytes = self.page[bytes].first_chunk().copied().unwrap_or_default();
        Ok(u32::from_ne_bytes(bytes))
    }

    /// Takes the next `length` bytes, and returns their place in the page.
    fn take(&mut self, length: usize) -> Result<std::ops::Range<usize>, Error> {
        // Events begin at multiples of four.
        let room = length.checked_next_multiple_of(4).and_then(|room| self.from.checked_add(room));
        let end = room
            .filter(|end| *end <= self.to)
            .ok_or_else(|| self.damaged("an event is cut off"))?;
        let taken = self.from..self.from + length;
        self.from = end;
        Ok(taken)
    }

    /// Parses the data of an event. Returns None for a kind that is not in the layout.
    fn data(&mut self, length: usize) -> Result<Option<BlockEvent>, Error> {
        let data = self.take(length)?;
        let data = &self.page[data];
        let Some(id) = data.first_chunk().copied().map(u16::from_ne_bytes) else { return Ok(None) };
        let Some(known) = self.layout.events.iter().find(|event| event.id == id) else {
            return Ok(None);
        };
        let read = known.read(data).map_err(|what| self.damaged(what))?;
        // The clock may be corrected by some ns between two events.
        self.latest = self.latest.max(self.now);
        Ok(read.map(|event| BlockEvent { at: self.latest, ..event }))
    }
}

impl<R: Read> Iterator for Pages<'_, R> {
    type Item = Result<BlockEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let event = self.event();
        self.ended = !matches!(event, Ok(Some(_)));
        event.transpose()
    }
}

/// Splits a word into the length and the time since the event before.
fn split(word: u32) -> (u32, u32) {
    if cfg!(target_endian = "little") {
        (word & 31, word >> 5)
    } else {
        (word >> DELTA_BITS, word & ((1 << DELTA_BITS) - 1))
    }
}

/// Returns the number of bytes of a page that hold events.
pub fn used(layout: &TraceLayout, page: &[u8]) -> usize {
    (number(page, layout.commit).unwrap_or(0) & USED) as usize
}

fn number(bytes: &[u8], field: Field) -> Option<u64> {
    let bytes = bytes.get(field.offset..field.offset.checked_add(field.size)?)?;
    match field.size {
        4 => bytes.first_chunk().copied().map(u32::from_ne_bytes).map(u64::from),
        _ => bytes.first_chunk().copied().map(u64::from_ne_bytes),
    }
}

impl EventLayout {
    /// Parses an event without its time. Returns `None` for requests that neither move nor flush
    /// data.
    fn read(&self, data: &[u8]) -> Result<Option<BlockEvent>, &'static str> {
        const SHORT: &str = "an event is shorter than its kind";
        let number = |field| number(data, field).ok_or(SHORT);
        let (dev, sector, sectors) =
            (number(self.dev)? as u32, number(self.sector)?, number(self.sectors)? as u32);
        let end = self.rwbs.offset.saturating_add(self.rwbs.size);
        let rwbs = data.get(self.rwbs.offset..end).ok_or(SHORT)?;
        let known = operation(rwbs, sectors);
        Ok(known.map(|(op, fua)| BlockEvent {
            at: 0,
            kind: self.kind,
            dev,
            sector,
            sectors,
            op,
            fua,
        }))
    }
}

/// Parses the letters of `blk_fill_rwbs()`. `F` before the operation is a flush that comes first, a
/// request of its own; `F` after it is FUA. Among operations without a letter of their own (`N`),
/// only write-zeroes has sectors.
fn operation(rwbs: &[u8], sectors: u32) -> Option<(Op, bool)> {
    let length = rwbs.iter().position(|&letter| letter == 0).unwrap_or(rwbs.len());
    let letters = match &rwbs[..length] {
        [b'F', rest @ ..] if matches!(rest, [b'R' | b'W' | b'D', ..]) => rest,
        [b'F', ..] => return Some((Op::Flush, false)),
        letters => letters,
    };
    let (first, rest) = letters.split_first()?;
    let op = match (first, rest) {
        (b'R', _) => Op::Read,
        (b'W', [b'Z', ..]) => Op::WriteZeroes,
        // Zone appends count as writes.
        (b'W', _) | (b'Z', [b'A', ..]) => Op::Write,
        (b'D', _) => Op::Discard,
        (b'N', _) if sectors > 0 => Op::WriteZeroes,
        _ => return None,
    };
    Some((op, rest.contains(&b'F')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::layout::tests::layout;

    /// Returns a page whose first event counts from `begin`.
    fn page(begin: u64, words: &[u8], flags: u64) -> Vec<u8> {
        let mut page = [begin.to_ne_bytes(), (words.len() as u64 | flags).to_ne_bytes()].concat();
        page.extend_from_slice(words);
        page.resize(4096, 0xaa);
        page
    }

    fn head(length: u32, delta: u32) -> Vec<u8> {
        (delta << 5 | length).to_ne_bytes().to_vec()
    }

    /// Returns the data of an event with the layout of `layout()`: 48 bytes.
    fn data(id: u16, sector: u64, sectors: u32, rwbs: &str) -> Vec<u8> {
        let mut data = vec![0; 48];
        data[..2].copy_from_slice(&id.to_ne_bytes());
        data[8..12].copy_from_slice(&(7_u32 << 20 | 3).to_ne_bytes());
        data[16..24].copy_from_slice(&sector.to_ne_bytes());
        data[24..28].copy_from_slice(&sectors.to_ne_bytes());
        data[34..34 + rwbs.len()].copy_from_slice(rwbs.as_bytes());
        data
    }

    fn event(delta: u32, data: &[u8]) -> Vec<u8> {
        [&head(data.len() as u32 / 4, delta)[..], data].concat()
    }

    fn read(bytes: &[u8]) -> Result<Vec<BlockEvent>, Error> {
        Pages::new(&layout(), bytes).collect()
    }

    #[test]
    fn every_kind_of_entry_is_stepped_over_and_times_add_up() {
        let issue = event(5, &data(1, 800, 8, "RAM"));
        // The length is in a word of its own, as with long events. The 50 bytes are padded with two
        // more to a whole word.
        let long = [&data(2, 800, 8, "R")[..], &[1, 1]].concat();
        let complete = [&head(0, 10)[..], &54_u32.to_ne_bytes(), &long, &[0, 0]].concat();
        let extend = [head(TIME_EXTEND, 3), 2_u32.to_ne_bytes().to_vec()].concat();
        let taken_back = [head(PADDING, 7), 12_u32.to_ne_bytes().to_vec(), vec![9; 8]].concat();
        let unknown = event(1, &data(77, 0, 0, "R"));
        let stamp = [head(TIME_STAMP, 6), 1_u32.to_ne_bytes().to_vec()].concat();
        let rest = [head(PADDING, 0), vec![9; 8]].concat();
        let first =
            [issue, complete, extend, taken_back, unknown, event(1, &data(3, 16, 8, "WFS")), rest]
                .concat();
        let second = [stamp, event(0, &data(1, u64::MAX, 0, "FF"))].concat();
        let events = read(&[page(1000, &first, 0), page(2000, &second, 0)].concat()).unwrap();
        let told: Vec<_> =
            events.iter().map(|e| (e.at, e.kind, e.sector, e.sectors, e.op, e.fua)).collect();
        let third = 1015 + (2 << 27) + 3 + 7 + 1 + 1;
        assert_eq!(
            told,
            [
                (1005, EventKind::Issue, 800, 8, Op::Read, false),
                (1015, EventKind::Complete, 800, 8, Op::Read, false),
                (third, EventKind::Requeue, 16, 8, Op::Write, true),
                // Its time stamp is earlier, but time does not go backwards.
                (third, EventKind::Issue, u64::MAX, 0, Op::Flush, false),
            ]
        );
        assert!(events.iter().all(|event| event.dev == 7 << 20 | 3));
    }

    #[test]
    fn letters_tell_operations() {
        let of = |letters: &str, sectors| operation(letters.as_bytes(), sectors);
        assert_eq!(of("RA\0\0", 8), Some((Op::Read, false)));
        assert_eq!(of("WS", 8), Some((Op::Write, false)));
        assert_eq!(of("WFSM", 8), Some((Op::Write, true)));
        assert_eq!(of("FWFS", 8), Some((Op::Write, true)), "a flush comes first");
        assert_eq!(of("FWS", 8), Some((Op::Write, false)));
        for flush in ["FF", "F", "FN", "FFS"] {
            assert_eq!(of(flush, 0), Some((Op::Flush, false)), "{flush}");
        }
        assert_eq!(
            (of("DS", 8), of("DE", 8)),
            (Some((Op::Discard, false)), Some((Op::Discard, false)))
        );
        assert_eq!(
            (of("NS", 8), of("WZS", 8)),
            (Some((Op::WriteZeroes, false)), Some((Op::WriteZeroes, false)))
        );
        assert_eq!((of("ZA", 8), of("ZR", 0)), (Some((Op::Write, false)), None));
        assert_eq!(
            (of("N", 0), of("", 8), of("\0R", 8)),
            (None, None, None),
            "a command of another kind"
        );
    }

    #[test]
    fn what_is_damaged_cut_off_or_missing_is_told() {
        let whole = page(1, &event(1, &data(1, 0, 8, "R")), 0);
        assert_eq!(read(&whole).unwrap().len(), 1);
        let told = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert_eq!(told(&whole[..4095]), "page 1 of a CPU's trace is damaged: it is cut off");
        assert!(
            told(&page(1, &event(1, &data(1, 0, 8, "R"))[..40], 0))
                .ends_with("an event is cut off")
        );
        assert!(
            told(&page(1, &event(1, &data(1, 0, 8, "R")[..40]), 0))
                .ends_with("an event is shorter than its kind")
        );
        let no_length = [head(0, 1), 3_u32.to_ne_bytes().to_vec()].concat();
        assert!(told(&page(1, &no_length, 0)).ends_with("an event is shorter than its length"));
        let mut long = whole.clone();
        long[8..16].copy_from_slice(&4081_u64.to_ne_bytes());
        assert!(told(&long).ends_with("more of it is used than there is"));
        let lost = [whole.clone(), page(9, &[], MISSED)].concat();
        let why =
            "the kernel lost events before page 2 of a CPU's trace, since its buffer was full";
        assert_eq!(told(&lost), why);
    }
}

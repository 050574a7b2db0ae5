//! Turns bytes into entries, in memory that does not grow with the trace.

use std::io::{self, Read};

use crate::WINDOW;
use crate::entry::{LONGEST_MARK, MARK, MOST_DISKS, Served, TraceEntry, op};
use crate::writer;

const OLD: &[u8; 4] = b"DLT1";
/// Largest number of bytes of an entry: seven numbers of ten bytes, or a mark.
const LONGEST_ENTRY: usize = 70 + LONGEST_MARK as usize;
const BUFFER: usize = 64 << 10;
/// Largest number of marks. A trial sets a mark for each beginning and end of a phase, each
/// snapshot and each power cut.
const MOST_MARKS: u64 = 1 << 24;

/// A reason why bytes are not a trace. `at` is the offset, in the unpacked trace, of the entry that
/// could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("not a trace of requests, or a damaged one: {what} at byte {at}")]
    Damaged { at: u64, what: &'static str },
    #[error("the trace of requests cannot be read beyond byte {at}: {source}")]
    Read { at: u64, source: io::Error },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TraceVersion {
    Dlt1,
    Dlt2,
}

/// The entries of a trace, in the order in which they ended. No entries follow an error.
#[derive(Debug)]
pub struct TraceReader<R> {
    input: R,
    buffer: Box<[u8]>,
    /// The unused part of the buffer begins here, and ends at `to`.
    from: usize,
    to: usize,
    /// Whether nothing follows the buffer, or nothing that can be read.
    ended: bool,
    failed: Option<io::Error>,
    /// Offset of `from` in the trace.
    at: u64,
    decoder: Decoder,
    /// Requests and marks that may still come.
    requests_left: u64,
    marks_left: u64,
}

impl<R: Read> TraceReader<R> {
    /// Reads the beginning of a trace. `input` need not be buffered.
    pub fn new(input: R) -> Result<Self, Error> {
        let decoder = Decoder::new(TraceVersion::Dlt2);
        let buffer = vec![0; BUFFER].into_boxed_slice();
        let mut reader = Self {
            input,
            buffer,
            from: 0,
            to: 0,
            ended: false,
            failed: None,
            at: 0,
            decoder,
            requests_left: u64::MAX,
            marks_left: MOST_MARKS,
        };
        reader.fill();
        reader.decoder.form = match reader.buffer[..reader.to].first_chunk() {
            Some(OLD) => TraceVersion::Dlt1,
            Some(writer::MAGIC) => TraceVersion::Dlt2,
            _ => return Err(reader.error("neither `DLT1` nor `DLT2`")),
        };
        reader.from = OLD.len();
        reader.at = OLD.len() as u64;
        Ok(reader)
    }

    /// Limits the number of requests; more are an error. A few bytes of a packed file can unpack to
    /// any number of requests.
    #[must_use]
    pub fn at_most(self, requests: u64) -> Self {
        Self { requests_left: requests, ..self }
    }

    /// Reads until the buffer has a whole entry, or the rest of the input.
    fn fill(&mut self) {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        while !self.ended && self.to < LONGEST_ENTRY {
            match self.input.read(&mut self.buffer[self.to..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => (self.ended, self.failed) = (true, Some(error)),
            }
        }
    }

    /// Returns the error for an incomplete entry: the error of the input, if reading it failed.
    fn error(&mut self, what: &'static str) -> Error {
        let at = self.at;
        self.failed.take().map_or(Error::Damaged { at, what }, |source| Error::Read { at, source })
    }

    fn entry(&mut self) -> Result<Option<TraceEntry>, Error> {
        if self.to - self.from < LONGEST_ENTRY && !self.ended {
            self.fill();
        }
        if self.from == self.to {
            return if self.failed.is_some() { Err(self.error("cut off")) } else { Ok(None) };
        }
        let mut bytes = EntryBytes { bytes: &self.buffer[self.from..self.to], at: 0 };
        let entry = self.decoder.entry(&mut bytes);
        let used = bytes.at;
        let entry = entry.map_err(|what| self.error(what))?;
        let (left, what) = match entry {
            TraceEntry::Served(_) => (
                &mut self.requests_left,
                "it has more requests than the trial's closing record (disks.json) counts",
            ),
            TraceEntry::Mark { .. } => {
                (&mut self.marks_left, "it has more marks than a trial sets")
            }
        };
        let Some(fewer) = left.checked_sub(1) else { return Err(self.error(what)) };
        *left = fewer;
        self.from += used;
        self.at += used as u64;
        Ok(Some(entry))
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<TraceEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entry();
        if entry.is_err() {
            (self.from, self.to, self.ended) = (0, 0, true);
        }
        entry.transpose()
    }
}

/// The values that entries refer to.
#[derive(Debug)]
struct Decoder {
    form: TraceVersion,
    /// The arrival of the request before, for `Dlt1`.
    submitted: u64,
    /// The ends of the last [`WINDOW`] entries, for `Dlt2`: that of entry `n`, counted from 1, is
    /// at index `n % WINDOW`. Entries before the first have 0.
    ends: Box<[u64]>,
    entries: u64,
    /// The sector after the request before, and the end of that request, by disk.
    last: Vec<(u64, u64)>,
}

impl Decoder {
    fn new(form: TraceVersion) -> Self {
        Self {
            form,
            submitted: 0,
            ends: vec![0; WINDOW].into_boxed_slice(),
            entries: 0,
            last: Vec::new(),
        }
    }

    fn entry(&mut self, bytes: &mut EntryBytes) -> Result<TraceEntry, &'static str> {
        let head = bytes.number()?;
        if head == MARK {
            return self.mark(bytes);
        }
        let op = op(head % 8).ok_or("an unknown operation")?;
        let disk = (head / 8) as usize;
        if disk >= MOST_DISKS {
            return Err("an impossible disk");
        }
        if self.last.len() <= disk {
            self.last.resize(disk + 1, (0, 0));
        }
        let (last_sector, last_end) = self.last[disk];
        let submitted = self.submitted(bytes)?;
        let started = match self.form {
            TraceVersion::Dlt1 => {
                submitted.checked_add(bytes.number()?).ok_or("an impossible time")?
            }
            TraceVersion::Dlt2 => bytes.difference(submitted.max(last_end))?,
        };
        if started < submitted {
            return Err("an impossible time");
        }
        let ended = started.checked_add(bytes.number()?).ok_or("an impossible time")?;
        let sector = bytes.difference(last_sector)?;
        let size = bytes.number()?;
        let sectors = u32::try_from(size / 2).map_err(|_| "an impossible size")?;
        self.last[disk] = (sector.wrapping_add(u64::from(sectors)), ended);
        self.ends(ended);
        Ok(TraceEntry::Served(Served {
            disk,
            op,
            fua: size % 2 == 1,
            sector,
            sectors,
            submitted,
            started,
            ended,
        }))
    }

    fn submitted(&mut self, bytes: &mut EntryBytes) -> Result<u64, &'static str> {
        if self.form == TraceVersion::Dlt1 {
            self.submitted = bytes.difference(self.submitted)?;
            return Ok(self.submitted);
        }
        let between = bytes.number()?;
        if between > self.entries || between >= WINDOW as u64 {
            return Err("a reference to what is not there");
        }
        bytes.difference(self.end(between))
    }

    fn mark(&mut self, bytes: &mut EntryBytes) -> Result<TraceEntry, &'static str> {
        let before = if self.form == TraceVersion::Dlt1 { self.submitted } else { self.end(0) };
        let at = bytes.difference(before)?;
        let length = bytes.number()?;
        if length > LONGEST_MARK {
            return Err("a mark that is too long");
        }
        let text = bytes.take(length as usize)?;
        let text = str::from_utf8(text).map_err(|_| "a mark that is not text")?.to_owned();
        self.submitted = at;
        self.ends(at);
        Ok(TraceEntry::Mark { at, text })
    }

    /// Returns the end of the entry that came before `between` others.
    fn end(&self, between: u64) -> u64 {
        self.ends[(self.entries - between) as usize % WINDOW]
    }

    fn ends(&mut self, end: u64) {
        self.entries += 1;
        self.ends[self.entries as usize % WINDOW] = end;
    }
}

struct EntryBytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> EntryBytes<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let taken = self.bytes.get(self.at..self.at + length).ok_or("cut off")?;
        self.at += length;
        Ok(taken)
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

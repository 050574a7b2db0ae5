//! A hard disk whose parameters were measured on a drive one by one, and which is known in more
//! detail than a data sheet gives.

use disklab_units::Nanos;

use super::layout::SectorLayout;

/// A drive that serves one command at a time, like the drives whose measurements are public. These
/// measurements do not say how a drive chooses among several commands.
#[derive(Debug, Clone, PartialEq)]
pub struct DetailedHdd {
    pub layout: SectorLayout,
    /// The time of a revolution.
    pub turn: Nanos,
    /// Seek times, indexed by the distance in cylinders from 0. A longer distance takes as long as
    /// the last one.
    pub seeks: Vec<Nanos>,
    /// Time to change from one surface to another, without a seek or during one.
    pub head_switch: Nanos,
    /// Time added to the arm's movement before a write, in nanoseconds. It is negative if reads
    /// take longer.
    pub write_settle: i64,
    pub cache: DetailedCache,
    pub times: CommandTimes,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct DetailedCache {
    /// Number of cache segments, each of which can follow one sequential stream. `segment` is the
    /// size of each, in sectors.
    pub segments: u32,
    pub segment: u64,
    pub look_ahead: LookAhead,
    /// Whether a write completes once its data is in the cache.
    pub write_cache: bool,
    /// The fraction of a read, from 0 to 1, that must be in the cache before the drive begins to
    /// send it.
    pub read_watermark: f64,
    /// Number of sectors of a write that must be in the cache before writing to the medium begins.
    /// In addition, no sector is written before it has arrived.
    pub write_least: u64,
    /// Whether written data stays in the cache and serves reads.
    pub keeps_written: bool,
    /// Whether a head that arrives at its track in the middle of the wanted sectors begins to read
    /// right there.
    pub reads_on_arrival: bool,
}

/// The amount that the drive reads ahead after a read, while no other command waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LookAhead {
    /// The most sectors that the drive reads ahead, or 0 for none.
    pub sectors: u64,
    pub up_to: LookAheadEnd,
    /// Whether the drive reads ahead only after a read that begins where the last one ended.
    pub in_sequence: bool,
    /// Whether the drive reads ahead after a read served from the cache too, if the arm is idle.
    pub on_hit: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LookAheadEnd {
    /// Only `sectors` limits how far the drive reads ahead.
    #[default]
    Anywhere,
    Track,
    Cylinder,
    /// The end of the next track if the segment also holds data of the previous track; otherwise
    /// the end of the present track. The drive stays one track ahead of a sequential reader.
    NextTrack,
}

/// The times of a command other than those of the medium.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandTimes {
    /// Time before the drive sends the data of a read that is in the cache, by the kind of the
    /// previous command.
    pub read_hit: After,
    /// Time before the arm moves for a read, by the kind of the previous command.
    pub read_miss: After,
    /// Time before the drive takes a write's data and the arm moves, by the kind of the previous
    /// command.
    pub write: After,
    /// Additional time before data is sent or taken.
    pub preparation: Nanos,
    /// Time after reading or writing, before the drive addresses the host again.
    pub reselection: Nanos,
    /// Time after the last data of a read; `write_completion` is the same for a write.
    pub read_completion: Nanos,
    pub write_completion: Nanos,
    /// Times of a write that does not begin where the last write ended, if the drive treats such
    /// writes differently.
    pub scattered_write: Option<ScatteredWrite>,
    /// Time to send one sector over the cable; `take` is the time to receive one.
    pub send: Nanos,
    pub take: Nanos,
}

/// Write times of a drive that releases the cable after it has received a write command and
/// reconnects for the data. They replace `write`, `preparation` and `reselection`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScatteredWrite {
    /// Time from the arrival of the command until the arm moves.
    pub begins: Nanos,
    /// Time from the arrival of the command until the drive takes data.
    pub takes: Nanos,
    pub reselection: Nanos,
}

/// A time that depends on the kind of the previous command: `read` after a read, `write` after a
/// write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct After {
    pub read: Nanos,
    pub write: Nanos,
}

impl After {
    pub(crate) fn get(self, write: bool) -> Nanos {
        if write { self.write } else { self.read }
    }
}

/// The state of a detailed drive while it works. All times are those of the last command.
#[derive(Debug, Clone, Default)]
pub(crate) struct DriveDetail {
    pub cache: DetailedCache,
    times: CommandTimes,
    last_was_write: bool,
    /// The end of the last read. `in_sequence` is whether the present read begins where the one
    /// before it ended.
    last_end: u64,
    in_sequence: bool,
    last_write_end: u64,
    /// Time at which the arm may begin to move for the last command.
    pub begins: Nanos,
    /// Time at which enough data of the last write has arrived for writing to begin.
    data: Nanos,
    /// Time at which all data of the last command, a write, is in the cache.
    pub taken: Nanos,
    /// The reselection time of the last write.
    reselection: Nanos,
    /// Time from which the drive may send the data of a read that is in the cache.
    hit: Nanos,
    /// Time at which the drive begins to send the data of a read.
    sends: Option<Nanos>,
}

impl DriveDetail {
    pub fn new(model: &DetailedHdd) -> Self {
        Self { cache: model.cache.clone(), times: model.times, ..Self::default() }
    }

    pub fn read_arrives(&mut self, at: Nanos, from: u64, end: u64) {
        self.in_sequence = self.last_end == from;
        self.last_end = end;
        let after_write = std::mem::replace(&mut self.last_was_write, false);
        self.begins = at + self.times.read_miss.get(after_write);
        self.hit = at + self.times.read_hit.get(after_write) + self.times.preparation;
        (self.data, self.sends) = (Nanos::ZERO, None);
    }

    /// Notes the arrival of a write of `sectors` sectors at `from`. `medium` is the time of one
    /// sector under the head.
    pub fn write_arrives(&mut self, at: Nanos, from: u64, sectors: u64, medium: Nanos) {
        let scattered = self.times.scattered_write.filter(|_| self.last_write_end != from);
        self.last_write_end = from + sectors;
        let after_write = std::mem::replace(&mut self.last_was_write, true);
        let taking;
        (self.begins, taking, self.reselection) = if let Some(times) = scattered {
            (at + times.begins, at + times.takes, times.reselection)
        } else {
            let begins = at + self.times.write.get(after_write);
            (begins, begins + self.times.preparation, self.times.reselection)
        };
        let enough = self.cache.write_least.clamp(1, sectors.max(1));
        self.taken = taking + self.times.take * sectors;
        // If the cable is slower than the head, the last sector to arrive decides when writing may
        // begin.
        let last = self.taken.saturating_sub(medium * sectors.saturating_sub(1));
        self.data = last.max(taking + self.times.take * enough);
    }

    /// Returns whether the drive reads ahead after the last command.
    pub fn looks_ahead(&self) -> bool {
        self.cache.look_ahead.sectors > 0
            && (self.in_sequence || !self.cache.look_ahead.in_sequence)
    }

    /// Returns the first time, a whole number of turns after `there`, at which the head is at the
    /// place and data to write has arrived.
    pub fn first_turn_with_data(&self, there: Nanos, turn: u64) -> Nanos {
        there + Nanos(turn * self.data.saturating_sub(there).0.div_ceil(turn))
    }

    /// Notes that the first part of a read is in the cache and can be sent.
    pub fn sends_at_once(&mut self) {
        self.sends = Some(self.hit);
    }

    /// Notes that the read needs the medium from its first sector on. `read` returns the time at
    /// which a given number of its sectors is in the cache.
    pub fn sends_from(&mut self, sectors: u64, read: impl Fn(u64) -> Nanos) {
        let from = read(watermark(self.cache.read_watermark, sectors));
        self.sends.get_or_insert(from + self.times.reselection + self.times.preparation);
    }

    /// Returns the completion time of a read that is wholly in the cache.
    pub fn hit_done(&self, sectors: u64) -> Nanos {
        self.hit + self.times.send * sectors + self.times.read_completion
    }

    /// Returns the completion time of a read whose last sector came into the cache at `end`.
    pub fn read_done(&self, end: Nanos, sectors: u64) -> Nanos {
        let one_after_another = self.sends.unwrap_or(end) + self.times.send * sectors;
        one_after_another.max(end + self.times.send) + self.times.read_completion
    }

    /// Returns the completion time of a write that was wholly in the cache, or on the medium, at
    /// `end`.
    pub fn cached_write_done(&self, end: Nanos) -> Nanos {
        end + self.times.write_completion
    }

    pub fn write_done(&self, end: Nanos) -> Nanos {
        end + self.reselection + self.times.write_completion
    }
}

/// Returns how many of a command's `sectors` must be in the cache before the drive goes on: the
/// fraction `part` of them, and at least one.
fn watermark(part: f64, sectors: u64) -> u64 {
    ((part * sectors as f64) as u64).clamp(1, sectors.max(1))
}

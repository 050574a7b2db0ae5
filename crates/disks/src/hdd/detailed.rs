//! A hard disk of which more is known than its data sheet: its parameters were measured on the
//! drive, one by one.

use disklab_units::Nanos;

use super::layout::SectorLayout;

/// A drive that serves one command at a time, as drives did whose measurements are public: nothing
/// in it says how a drive chooses among several.
#[derive(Debug, Clone, PartialEq)]
pub struct DetailedHdd {
    pub layout: SectorLayout,
    /// The time of a revolution.
    pub turn: Nanos,
    /// The arm's time by distance in cylinders, from 0; over longer ones as over the last.
    pub seeks: Vec<Nanos>,
    /// From one surface to another, at the same place of the arm or together with a seek.
    pub head_switch: Nanos,
    /// Added before a write to what the arm takes, in nanoseconds; below zero where reads take
    /// longer.
    pub write_settle: i64,
    pub cache: DetailedCache,
    pub times: CommandTimes,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct DetailedCache {
    /// Sequential streams that the cache can follow, and sectors that it keeps of each.
    pub segments: u32,
    pub segment: u64,
    pub look_ahead: LookAhead,
    /// Whether writes are done for the host once they are in the cache.
    pub write_cache: bool,
    /// The part of a read that must be in the cache before the drive begins to send it, from 0 to
    /// 1.
    pub read_watermark: f64,
    /// So many sectors of a write must be in the cache before it can go to the medium. Besides, no
    /// sector goes there before it has come.
    pub write_least: u64,
    /// Whether what was written stays in the cache to be read.
    pub keeps_written: bool,
    /// A head that comes to its track in the middle of what it is to read begins right there.
    pub reads_on_arrival: bool,
}

/// How far the drive reads on after a read, while nothing else is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LookAhead {
    /// At most so many sectors.
    pub sectors: u64,
    pub up_to: LookAheadEnd,
    /// Not after every read, but after one that begins where the last one ended.
    pub in_sequence: bool,
    /// Also after a read that is served from the cache, if the arm is idle.
    pub on_hit: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LookAheadEnd {
    /// `sectors` alone.
    #[default]
    Anywhere,
    Track,
    Cylinder,
    /// The end of the track; that of the next one, where the segment holds data of the track before
    /// too: the drive stays a track ahead of a reader in sequence.
    NextTrack,
}

/// The time that a command takes besides that of the medium.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandTimes {
    /// Before the data of a read in the cache is sent, by what came before.
    pub read_hit: After,
    /// Before the arm moves for a read.
    pub read_miss: After,
    /// Before the data of a write is taken and the arm moves.
    pub write: After,
    /// Before data is sent or taken, in addition.
    pub preparation: Nanos,
    /// Before the drive, having read or written, speaks to the host again.
    pub reselection: Nanos,
    /// After all data of a read, or all of a write.
    pub read_completion: Nanos,
    pub write_completion: Nanos,
    /// Some drives treat a write that does not go on where the last one ended in another way.
    pub scattered_write: Option<ScatteredWrite>,
    /// The time of a sector over the cable, from and to the drive.
    pub send: Nanos,
    pub take: Nanos,
}

/// The times of a drive that leaves the cable after it has heard of a write and comes back for the
/// data: in place of `write`, `preparation` and `reselection`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScatteredWrite {
    /// Before the arm moves.
    pub begins: Nanos,
    /// Before data is taken.
    pub takes: Nanos,
    pub reselection: Nanos,
}

/// A time that depends on the command before.
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
    /// The end of the last read, and whether the present one begins there.
    last_end: u64,
    in_sequence: bool,
    last_write_end: u64,
    /// When the arm may begin to move for the last command.
    pub begins: Nanos,
    /// When enough of its data is there to be written.
    data: Nanos,
    /// When all data of the last command, a write, is in the cache.
    pub taken: Nanos,
    /// The reselection time of the last write.
    reselection: Nanos,
    /// When the data of a read may be sent that is in the cache.
    hit: Nanos,
    /// When the data of a read begins to be sent.
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

    /// `medium`: the time of one sector under the head.
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
        // The last sector to come is the one that must not come too late, where the cable is slower
        // than the head.
        let last = self.taken.saturating_sub(medium * sectors.saturating_sub(1));
        self.data = last.max(taking + self.times.take * enough);
    }

    /// Whether to read on after the last command.
    pub fn looks_ahead(&self) -> bool {
        self.cache.look_ahead.sectors > 0
            && (self.in_sequence || !self.cache.look_ahead.in_sequence)
    }

    /// The first moment, whole turns after `there`, when the head is at the place and has data to
    /// write.
    pub fn first_turn_with_data(&self, there: Nanos, turn: u64) -> Nanos {
        there + Nanos(turn * self.data.saturating_sub(there).0.div_ceil(turn))
    }

    /// The first part of a read is in the cache.
    pub fn sends_at_once(&mut self) {
        self.sends = Some(self.hit);
    }

    /// The read needs the medium from its first sector on; `read` says when so many sectors are in
    /// the cache.
    pub fn sends_from(&mut self, sectors: u64, read: impl Fn(u64) -> Nanos) {
        let from = read(watermark(self.cache.read_watermark, sectors));
        self.sends.get_or_insert(from + self.times.reselection + self.times.preparation);
    }

    /// When a read is done of which all is in the cache.
    pub fn hit_done(&self, sectors: u64) -> Nanos {
        self.hit + self.times.send * sectors + self.times.read_completion
    }

    /// When a read is done whose last sector came into the cache at `end`.
    pub fn read_done(&self, end: Nanos, sectors: u64) -> Nanos {
        let one_after_another = self.sends.unwrap_or(end) + self.times.send * sectors;
        one_after_another.max(end + self.times.send) + self.times.read_completion
    }

    /// When a write is done of which all was in the cache, or on the medium, at `end`.
    pub fn cached_write_done(&self, end: Nanos) -> Nanos {
        end + self.times.write_completion
    }

    pub fn write_done(&self, end: Nanos) -> Nanos {
        end + self.reselection + self.times.write_completion
    }
}

/// So many of the sectors of a command must be in the cache before they go on.
fn watermark(part: f64, sectors: u64) -> u64 {
    ((part * sectors as f64) as u64).clamp(1, sectors.max(1))
}

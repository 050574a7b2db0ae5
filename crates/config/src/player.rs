//! The `[player]` of a workload: a program that needs data at certain moments, such as a film or a
//! game.
//!
//! ```toml
//! summary = "a film: 25 frames a second, 1 MB/s, half a second of it in memory"
//! filesize = "256 MiB"
//!
//! [player]
//! frames = 25          # frames per second
//! rate = "1 MB/s"      # of data that frames need
//! # the file from its beginning on; or randread: each frame needs other places of it
//! rw = "read"
//! bs = "64k"           # size of each read, through the page cache
//! # time from reading data to its deadline; may be left out: one frame
//! ahead = "500ms"
//! ```
//!
//! The player begins when the first `ahead` of frames is in memory. From then on frames are due at
//! equal intervals, and a late frame does not move the next. A frame is lost if its successor is
//! already due, as with `mplayer -framedrop`. With `read`, the player reads the whole file all the
//! same; with `randread`, it skips the reads of a lost frame.

use disklab_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::job::{RATES, Rw};
use crate::read::{TomlTable, from_table};

from_table! {
    /// A program that needs data by deadlines.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Player(file_size: Option<Bytes>) {
        /// Frames per second.
        pub frames: u32 = within(FRAMES),
        /// The rate of the data that frames need.
        pub rate: Rate = within(RATES),
        /// Order of the reads: [`Rw::Read`] or [`Rw::Randread`].
        pub rw: Rw = with(read_rw),
        /// Size of each read.
        pub bs: Bytes = with(|table, key| read_bs(table, key, file_size)),
        /// Number of frames that are read before they are due, at least one.
        pub ahead: u32 = with(|table, key| read_ahead(table, key, frames)),
    }
}

const FRAMES: std::ops::RangeInclusive<u32> = 1..=1000;
const AHEAD: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(1)..=Nanos::from_secs(600);

fn read_rw(table: &TomlTable<'_, '_>, key: &str) -> Option<Rw> {
    let rw: Rw = table.required(key)?;
    table.refuse_if(rw.writes(), key, || "a player only reads: read or randread".to_owned());
    Some(rw)
}

fn read_bs(table: &TomlTable<'_, '_>, key: &str, file_size: Option<Bytes>) -> Option<Bytes> {
    let bs = table.within(key, Bytes(512)..=Bytes::mib(64))?;
    if let Some(file_size) = file_size.filter(|file_size| bs > *file_size) {
        table.wrong(key, format!("{bs} is more than filesize, {file_size}"));
    }
    Some(bs)
}

fn read_ahead(table: &TomlTable<'_, '_>, key: &str, frames: Option<u32>) -> Option<u32> {
    let ahead = table.optional_within(key, AHEAD)?.unwrap_or_default();
    let whole = (ahead.0 * u64::from(frames?)).div_ceil(Nanos::from_secs(1).0).max(1);
    u32::try_from(whole).ok()
}

impl Player {
    /// Returns the time for which a frame is shown.
    pub fn frame(&self) -> Nanos {
        Nanos(Nanos::from_secs(1).0 / u64::from(self.frames.max(1)))
    }

    /// Returns the number of frames that are due in this time.
    pub fn due(&self, length: Nanos) -> u64 {
        length.0.div_ceil(self.frame().0.max(1))
    }

    /// Returns the number of reads that all frames before `frame` need.
    pub fn reads(&self, frame: u64) -> u64 {
        let bytes = u128::from(frame) * u128::from(self.rate.0) / u128::from(self.frames.max(1));
        u64::try_from(bytes.div_ceil(u128::from(self.bs.0.max(1)))).unwrap_or(u64::MAX)
    }

    /// Returns the bytes of the file that the player needs to play for this time.
    pub fn bytes(&self, length: Nanos) -> Bytes {
        let frames = self.due(length) + u64::from(self.ahead);
        if self.rw == Rw::Read { self.bs.saturating_mul(self.reads(frames)) } else { self.bs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::TomlReader;
    use crate::workload::{Workload, WorkloadKind};

    const FILM: &str = "summary = \"a film\"\nfilesize = \"64 MiB\"\n[player]\nframes = 25\nrate = \
                        \"1 MB/s\"\n\
                        rw = \"read\"\nbs = \"64k\"\nahead = \"500ms\"\n";

    fn read(text: &str) -> Result<Workload, String> {
        TomlReader::new("w", text)
            .read(|table| Workload::read("w", table))
            .map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn a_film_is_read_as_fast_as_it_is_shown() {
        let play = |text: &str| match read(text).unwrap().kind {
            WorkloadKind::Player { player, .. } => player,
            other => panic!("{other:?}"),
        };
        let player = play(FILM);
        assert_eq!((player.ahead, player.frame()), (13, Nanos::from_millis(40)));
        assert_eq!((player.reads(0), player.reads(1), player.reads(25)), (0, 1, 16));
        assert_eq!(player.due(Nanos::from_secs(20)), 500);
        assert_eq!(player.bytes(Nanos::from_secs(20)), Bytes::kib(64 * 314));
        let game =
            play(&FILM.replace("\"read\"", "\"randread\"").replace("ahead = \"500ms\"\n", ""));
        assert_eq!((game.ahead, game.bytes(Nanos::from_secs(20))), (1, Bytes::kib(64)));
    }

    #[test]
    fn what_cannot_be_played_is_told() {
        let wrong = |from: &str, to: &str| read(&FILM.replace(from, to)).unwrap_err();
        assert!(wrong("\"read\"", "\"randrw\"").contains("rw: a player only reads"));
        assert!(wrong("frames = 25", "frames = 0").contains("frames: 0 is out of range"));
        let small = read(&FILM.replace("64 MiB", "64 KiB").replace("64k", "128k")).unwrap_err();
        assert!(small.contains("bs: 128 KiB is more than filesize, 64 KiB"), "{small}");
        assert!(wrong("ahead = \"500ms\"", "ahead = \"1h\"").contains("ahead"));
        assert!(wrong("[player]", "rw = \"read\"\n[player]").contains("rw"));
    }
}

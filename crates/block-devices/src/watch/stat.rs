//! The kernel's own counters of a disk or a partition: /sys/class/block/NAME/stat.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::machine::with_path;

/// Counters since the disk exists. A sector has 512 bytes. Only requests that have ended count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stat {
    pub reads: u64,
    pub read_sectors: u64,
    /// Writes, including those that carry nothing but a flush.
    pub writes: u64,
    pub write_sectors: u64,
    /// Requests at the disk now.
    pub in_flight: u64,
    /// Time in which at least one request was at the disk, in ms.
    pub busy_ms: u64,
    /// Sum over all requests of their time at the disk, in ms.
    pub queue_ms: u64,
    /// Discards, or 0 before Linux 4.18, which did not count them.
    pub discards: u64,
    /// Flushes, or 0 before Linux 5.5, which did not count them. It is 0 for a partition too,
    /// because a flush concerns the whole disk.
    pub flushes: u64,
}

impl Stat {
    /// Parses the text of the file: 11 numbers, 15 since Linux 4.18, 17 since 5.5.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> =
            text.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let number = |place: usize| numbers.get(place).copied().unwrap_or(0);
        (numbers.len() >= 11).then(|| Self {
            reads: number(0),
            read_sectors: number(2),
            writes: number(4),
            write_sectors: number(6),
            in_flight: number(8),
            busy_ms: number(9),
            queue_ms: number(10),
            discards: number(11),
            flushes: number(15),
        })
    }

    /// Returns the activity since `before`, with `in_flight` as it is now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            reads: self.reads.saturating_sub(before.reads),
            read_sectors: self.read_sectors.saturating_sub(before.read_sectors),
            writes: self.writes.saturating_sub(before.writes),
            write_sectors: self.write_sectors.saturating_sub(before.write_sectors),
            in_flight: self.in_flight,
            busy_ms: self.busy_ms.saturating_sub(before.busy_ms),
            queue_ms: self.queue_ms.saturating_sub(before.queue_ms),
            discards: self.discards.saturating_sub(before.discards),
            flushes: self.flushes.saturating_sub(before.flushes),
        }
    }

    /// Returns the number of all requests that have ended.
    pub fn requests(&self) -> u64 {
        let ended = [self.reads, self.writes, self.discards, self.flushes];
        ended.into_iter().fold(0, u64::saturating_add)
    }

    pub fn bytes(&self) -> u64 {
        self.read_sectors.saturating_add(self.write_sectors).saturating_mul(512)
    }
}

/// The open file of each disk, because a wait for a phase reads it often.
#[derive(Debug)]
pub struct Counters(Vec<(PathBuf, File)>);

impl Counters {
    /// Opens the counters of disks by the kernel's names, in that order.
    pub fn open<'a>(names: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let open = |name: &str| {
            let path = Path::new("/sys/class/block").join(name).join("stat");
            let file = File::open(&path).map_err(with_path(&path))?;
            Ok((path, file))
        };
        names.map(open).collect::<io::Result<_>>().map(Self)
    }

    pub fn read(&self) -> io::Result<Vec<Stat>> {
        let read = |(path, file): &(PathBuf, File)| {
            let mut text = [0; 512];
            let length = file.read_at(&mut text, 0).map_err(with_path(path))?;
            let text = str::from_utf8(&text[..length]).ok();
            text.and_then(Stat::parse)
                .ok_or_else(|| with_path(path)(io::Error::other("no counts of a disk")))
        };
        self.0.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_kernels_are_read() {
        let new = "     106        1     4256       12       20        2     4864      242        \
            3      244      490        5        0     4096        0        7      236\n";
        let stat = Stat::parse(new).unwrap();
        assert_eq!(
            (stat.reads, stat.read_sectors, stat.writes, stat.write_sectors),
            (106, 4256, 20, 4864)
        );
        assert_eq!((stat.in_flight, stat.busy_ms, stat.queue_ms), (3, 244, 490));
        assert_eq!((stat.discards, stat.flushes, stat.requests()), (5, 7, 138));
        let old = Stat::parse("1 0 8 0 2 0 16 0 0 3 4").unwrap();
        assert_eq!((old.requests(), old.bytes(), old.flushes), (3, 24 * 512, 0));
        assert_eq!(Stat::parse("1 0 8 0 2 0 16 0 0 3"), None);
        assert_eq!(Stat::parse("1 0 8 0 2 0 16 0 0 3 x"), None);
    }

    #[test]
    fn what_was_done_since_then_is_a_difference_and_what_is_there_is_not() {
        let before = Stat { reads: 5, busy_ms: 7, in_flight: 9, ..Stat::default() };
        let now = Stat { reads: 8, busy_ms: 9, in_flight: 2, ..before };
        let since = now.since(&before);
        assert_eq!((since.reads, since.busy_ms, since.in_flight, since.writes), (3, 2, 2, 0));
        assert_eq!(before.since(&now).reads, 0, "a disk that was taken away and came back");
    }
}

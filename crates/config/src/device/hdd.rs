use disklab_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::read::{TomlTable, from_table};

from_table! {
    /// A hard disk: an arm, platters that turn, zones of tracks, a command queue and a cache.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Hdd {
        /// Revolutions per minute.
        pub rpm: u32 = within(3_000..=20_000),
        /// Seek time to the next track, for reads, as with all three seek times; "track-to-track"
        /// in data sheets.
        pub seek_track_to_track: Nanos = within(Nanos::from_micros(50)..=Nanos::from_millis(20)),
        /// Average seek time over all pairs of tracks, which is how data sheets define it. (A seek
        /// over the average distance, a third of the stroke, takes a little longer.)
        pub seek_average: Nanos = within(Nanos::from_millis(1)..=Nanos::from_millis(50)),
        /// Seek time from the outermost track to the innermost.
        pub seek_full: Nanos = within(Nanos::from_millis(1)..=Nanos::from_millis(100)),
        /// Time added to the seek before a write, because the head must be nearer to the middle of
        /// the track.
        pub write_settle: Nanos = within(Nanos::ZERO..=Nanos::from_millis(10)),
        /// Time to switch from one surface to another at the same place of the arm.
        pub head_switch: Nanos = within(Nanos::ZERO..=Nanos::from_millis(10)),
        /// Number of data surfaces, with one head each.
        pub surfaces: u32 = within(1..=40),
        /// Rate from the media at the outermost zone, where addresses begin.
        pub rate_outer: Rate = within(RATES),
        /// Rate from the media at the innermost zone.
        pub rate_inner: Rate = within(RATES),
        /// Number of zones: steps of the media's rate between the two.
        pub zones: u32 = within(1..=1_000),
        /// Time of controller and interface for each command.
        pub command_overhead: Nanos = within(Nanos::ZERO..=Nanos::from_millis(10)),
        /// Rate of the interface to the host, after its encoding: about 550 MB/s for SATA at 6
        /// Gb/s.
        pub link: Rate = within(Rate(1_000_000)..=Rate(12_000_000_000)),
        /// Number of requests that the drive takes at once: 32 for SATA with NCQ, 1 for a disk
        /// without a queue.
        pub queue_depth: u32 = within(1..=1_024),
        /// Largest error of the positioning times by which the drive chooses the next queued
        /// request. It takes each time for too long by a random amount, from 0 up to this error.
        /// The error is at most six times the arm's own seek time for that request. With 0, the
        /// drive always takes the nearest request. Enterprise disks err little, and gain 2.2 to 2.5
        /// times at depth 32; desktop disks err by 24 ms, and gain less.
        pub queue_error: Nanos = with(queue_error),
        /// No request is served before one that arrived this much earlier. For smaller differences,
        /// the earlier arrival counts in proportion to the difference.
        pub queue_patience: Nanos = with(queue_patience),
        /// Number of completed requests that the drive reports together. It reports fewer when no
        /// other request waits. With 1 it reports each at once.
        pub completion_batch: u32 = within_or(1..=1_024, 1),
        /// Size of all memory of the drive.
        pub cache: Bytes = within(Bytes::kib(16)..=Bytes::gib(8)),
        /// Number of sequential streams that the cache can follow.
        pub cache_segments: u32 = within(1..=4_096),
        /// Bytes that a segment reads on after a read, while no other request waits.
        pub look_ahead: Bytes = within(Bytes::ZERO..=Bytes::gib(1)),
        /// Whether a write completes once it is in the cache.
        pub write_cache: bool = required(),
        /// Part of the cache that writes may fill.
        pub write_buffer: Bytes = within(Bytes::ZERO..=Bytes::gib(8)),
        /// Number of the oldest buffered writes among which the drive chooses the next one to put
        /// on the media.
        pub write_window: u32 = within(1..=4_096),
        /// Sectors that need several reads. `None`: every sector is read at the first attempt.
        pub retries: Option<Retries> = lenient_table(Retries::from_table),
    }
}

/// Range of media rates: from a disk of 1990 to one with several actuators.
const RATES: std::ops::RangeInclusive<Rate> = Rate(1_000_000)..=Rate(1_000_000_000);

from_table! {
    /// Sectors that are not read at the first attempt: the rare slow reads of a worn disk. Chance
    /// decides which sectors these are.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Retries {
        /// Mean number of reads from the medium for one read that needs retries.
        pub one_in: u64 = within(1..=1_000_000_000_000),
        /// Largest number of additional revolutions of such a read. Each number from 1 to this is
        /// equally likely.
        pub turns: u32 = within(1..=10_000),
    }
}

/// Keys for the queue in older files, which may stand in place of the new keys. The window decides
/// both new values; the limit is only checked.
const WINDOW: &str = "queue_window";
const LIMIT: &str = "age_limit";

/// Smallest window of a drive that chooses as NAS disks do. Drives with a smaller window choose as
/// desktop disks do.
const WELL_CHOOSING: u32 = 16;

/// Returns the error and patience for an older file's window, or None if the window is missing or
/// wrong.
fn of_window(table: &TomlTable<'_, '_>) -> Option<(Nanos, Nanos)> {
    let window = table.within(WINDOW, 1..=1_024_u32)?;
    Some(if window < WELL_CHOOSING {
        (Nanos::from_millis(24), Nanos::from_millis(1_500))
    } else {
        (Nanos::from_millis(4), Nanos::from_secs(5))
    })
}

fn queue_error(table: &TomlTable<'_, '_>, key: &str) -> Option<Nanos> {
    if !table.has(key) && table.has(WINDOW) {
        return of_window(table).map(|(error, _)| error);
    }
    table.refuse_if(table.has(WINDOW), WINDOW, || {
        format!("{key} is given in its place: leave it out")
    });
    table.within(key, Nanos::ZERO..=Nanos::from_secs(1))
}

fn queue_patience(table: &TomlTable<'_, '_>, key: &str) -> Option<Nanos> {
    let range = Nanos::from_millis(1)..=Nanos::from_secs(60);
    if !table.has(key) && table.has(WINDOW) && table.has(LIMIT) {
        table.within(LIMIT, range)?;
        return of_window(table).map(|(_, patience)| patience);
    }
    table.refuse_if(table.has(LIMIT), LIMIT, || format!("write {key} in its place"));
    table.within(key, range)
}

impl Hdd {
    /// Reads the table `[hdd]`; `bytes` is the disk's size, if that could be read.
    pub(super) fn read(table: &TomlTable<'_, '_>, bytes: Option<Bytes>) -> Option<Self> {
        let hdd = Self::from_table(table)?;
        hdd.check(table, bytes?);
        Some(hdd)
    }

    /// Records combinations of numbers that are implausible, though each number alone is plausible.
    fn check(&self, table: &TomlTable<'_, '_>, bytes: Bytes) {
        let Self { rpm, surfaces, zones, seek_track_to_track, seek_average, .. } = *self;
        let Self { seek_full, rate_inner, rate_outer, .. } = *self;
        let Self { cache, cache_segments, look_ahead, write_buffer, .. } = *self;
        table.refuse_if(seek_average < seek_track_to_track, "seek_average", || {
            format!("{seek_average} is shorter than seek_track_to_track, {seek_track_to_track}")
        });
        table.refuse_if(seek_full < seek_average, "seek_full", || {
            format!("{seek_full} is shorter than seek_average, {seek_average}")
        });
        table.refuse_if(rate_inner > rate_outer, "rate_inner", || {
            format!("{rate_inner} is faster than rate_outer, {rate_outer}")
        });
        table.refuse_if(look_ahead * u64::from(cache_segments) > cache, "look_ahead", || {
            let segments = format!("each of {cache_segments} cache_segments");
            format!("{look_ahead} for {segments} is more than the cache, {cache}")
        });
        table.refuse_if(write_buffer > cache, "write_buffer", || {
            format!("{write_buffer} is more than the cache, {cache}")
        });
        if self.write_cache && write_buffer == Bytes::ZERO {
            table
                .wrong("write_buffer", "is 0, and a write_cache needs some; leave write_cache out");
        }
        let smallest = self.outer_track() * u64::from(surfaces) * u64::from(zones);
        table.refuse_if(bytes < smallest, "zones", || {
            let track = format!("at {rate_outer} and {rpm} rpm one track on each of {surfaces}");
            format!("{bytes} are too few for {zones} zones: {track} surfaces in each is {smallest}")
        });
    }

    /// Returns the bytes of the outermost track, which one revolution reads.
    fn outer_track(&self) -> Bytes {
        Bytes(self.rate_outer.0 * 60 / u64::from(self.rpm))
    }
}

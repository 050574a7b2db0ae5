use disklab_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::read::{TomlTable, from_table};

from_table! {
    /// A hard disk: an arm, platters that turn, zones of tracks, a command queue and a cache.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Hdd {
        /// Revolutions a minute.
        pub rpm: u32 = within(3_000..=20_000),
        /// Seek to the next track, for reads, as all three seek times; "track-to-track" in data
        /// sheets.
        pub seek_track_to_track: Nanos = within(Nanos::from_micros(50)..=Nanos::from_millis(20)),
        /// On average over all pairs of tracks, which is how data sheets define it. (The average
        /// distance is a third of the stroke, and takes a little longer.)
        pub seek_average: Nanos = within(Nanos::from_millis(1)..=Nanos::from_millis(50)),
        /// From the outermost track to the innermost.
        pub seek_full: Nanos = within(Nanos::from_millis(1)..=Nanos::from_millis(100)),
        /// Added to the seek before a write: the head must be nearer to the middle of the track.
        pub write_settle: Nanos = within(Nanos::ZERO..=Nanos::from_millis(10)),
        /// From one surface to another at the same place of the arm.
        pub head_switch: Nanos = within(Nanos::ZERO..=Nanos::from_millis(10)),
        /// Data surfaces, one head each.
        pub surfaces: u32 = within(1..=40),
        /// From the media at the outermost zone, where addresses begin.
        pub rate_outer: Rate = within(RATES),
        /// From the media at the innermost zone.
        pub rate_inner: Rate = within(RATES),
        /// Steps of the media's rate between the two.
        pub zones: u32 = within(1..=1_000),
        /// Controller and interface, for each command.
        pub command_overhead: Nanos = within(Nanos::ZERO..=Nanos::from_millis(10)),
        /// Of the interface to the host, after its encoding: about 550 MB/s for SATA at 6 Gb/s.
        pub link: Rate = within(Rate(1_000_000)..=Rate(12_000_000_000)),
        /// 32 for SATA with NCQ; 1 for a disk without a queue.
        pub queue_depth: u32 = within(1..=1_024),
        /// How many of the queued requests, the oldest, it weighs against each other for the next
        /// to serve: the whole queue in enterprise disks, which gain 2.2 to 2.5 times at depth 32;
        /// fewer in desktop disks, which gain less.
        pub queue_window: u32 = within(1..=1_024),
        /// A request that has waited longer than this is served before nearer ones.
        pub age_limit: Nanos = within(Nanos::from_millis(1)..=Nanos::from_secs(60)),
        /// How much too long the drive may take the way to a queued request to be when it chooses
        /// the next one: by any time up to this, or up to six times the arm's way if that is less,
        /// at random.
        pub queue_error: Nanos =
            within_or(Nanos::ZERO..=Nanos::from_secs(1), Nanos::ZERO),
        /// No request is served before one that arrived this much earlier. Until then, the time
        /// by which a request arrived earlier counts in proportion. `None`: only `age_limit`
        /// bounds the wait.
        pub queue_patience: Option<Nanos> =
            optional_within(Nanos::from_millis(1)..=Nanos::from_secs(60)),
        /// The drive reports requests that are done so many at a time, and fewer when no other
        /// waits. 1: each at once.
        pub completion_batch: u32 = within_or(1..=1_024, 1),
        /// All of the disk's memory.
        pub cache: Bytes = within(Bytes::kib(16)..=Bytes::gib(8)),
        /// Sequential streams that the cache can follow.
        pub cache_segments: u32 = within(1..=4_096),
        /// How far a segment reads on after a read, while nothing else is asked.
        pub look_ahead: Bytes = within(Bytes::ZERO..=Bytes::gib(1)),
        /// Whether writes are done for the host once they are in the cache.
        pub write_cache: bool = required(),
        /// How much of the cache writes may fill.
        pub write_buffer: Bytes = within(Bytes::ZERO..=Bytes::gib(8)),
        /// How many of the buffered writes, the oldest, it weighs against each other for the next
        /// to put on the media.
        pub write_window: u32 = within(1..=4_096),
        /// `None`: every sector is read at first sight.
        pub retries: Option<Retries> = lenient_table(Retries::from_table),
    }
}

/// The slowest and fastest media rates that make sense: a disk of 1990, and one of several
/// actuators.
const RATES: std::ops::RangeInclusive<Rate> = Rate(1_000_000)..=Rate(1_000_000_000);

from_table! {
    /// Sectors that are not read at first sight: the rare slow reads of a worn disk. Which they are
    /// is left to chance.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Retries {
        /// One read from the medium in so many, on average.
        pub one_in: u64 = within(1..=1_000_000_000_000),
        /// At most so many turns more; any number up to it is as likely.
        pub turns: u32 = within(1..=10_000),
    }
}

impl Hdd {
    /// `bytes` is the disk's size, where that could be read.
    pub(super) fn read(table: &TomlTable<'_, '_>, bytes: Option<Bytes>) -> Option<Self> {
        let hdd = Self::from_table(table)?;
        hdd.check(table, bytes?);
        Some(hdd)
    }

    /// Records what is plausible number by number and not together.
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
            table.wrong("write_buffer", "a write_cache needs some");
        }
        let smallest = self.outer_track() * u64::from(surfaces) * u64::from(zones);
        table.refuse_if(bytes < smallest, "zones", || {
            let track = format!("at {rate_outer} and {rpm} rpm one track on each of {surfaces}");
            format!("{bytes} are too few for {zones} zones: {track} surfaces in each is {smallest}")
        });
    }

    /// What passes under a head in one revolution at the outer edge.
    fn outer_track(&self) -> Bytes {
        Bytes(self.rate_outer.0 * 60 / u64::from(self.rpm))
    }
}

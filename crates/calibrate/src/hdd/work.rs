//! The facts about a hard disk that are known so far, while its parts are measured.

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Rate};

use crate::bench::TestBench;
use crate::sheet::Sheet;

pub(super) struct HddWork<'a, 'b> {
    pub bench: &'a mut TestBench<'b>,
    pub hdd: Hdd,
    pub sheet: Sheet,
    pub remarks: Vec<String>,
    pub bytes: Bytes,
    /// The time of a turn, in ns.
    pub turn: f64,
    /// A read that takes at most this time, in ns, came from the cache.
    pub hit: f64,
    /// The assumption on which times of reads depend, if the time of a command was not seen.
    pub assumed: Option<&'static str>,
}

impl<'a, 'b> HddWork<'a, 'b> {
    /// Returns the defaults for a disk whose turn takes `turn` ns.
    pub fn new(bench: &'a mut TestBench<'b>, turn: f64) -> Self {
        Self {
            bytes: Bytes(bench.size() * 512),
            bench,
            hdd: usual(),
            sheet: Sheet::default(),
            remarks: Vec::new(),
            turn,
            // This holds until a hit was seen. No cache takes longer, and no arm of a rotating disk
            // moves and settles sooner.
            hit: 0.3e6,
            assumed: None,
        }
    }
}

/// Returns the defaults for numbers that were not seen: those of a 3.5-inch disk with SATA.
pub(super) fn usual() -> Hdd {
    Hdd {
        rpm: 7200,
        seek_track_to_track: Nanos::from_millis(1),
        seek_average: Nanos::from_micros(8_500),
        seek_full: Nanos::from_millis(17),
        write_settle: Nanos::from_millis(1),
        head_switch: Nanos::from_micros(800),
        surfaces: 4,
        rate_outer: Rate(150_000_000),
        rate_inner: Rate(75_000_000),
        zones: 20,
        command_overhead: Nanos::from_micros(200),
        link: Rate(550_000_000),
        queue_depth: 32,
        queue_error: Nanos::from_millis(24),
        queue_patience: Nanos::from_millis(1_500),
        completion_batch: 1,
        cache: Bytes::mib(64),
        cache_segments: 16,
        look_ahead: Bytes::mib(1),
        write_cache: true,
        write_buffer: Bytes::mib(4),
        write_window: 16,
        retries: None,
    }
}

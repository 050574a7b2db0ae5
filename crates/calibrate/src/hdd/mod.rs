//! A hard disk, part by part: each thing that is measured has its file, and later ones build on what earlier ones found.

mod cache;
mod port;
mod queue;
mod reach;
pub(crate) mod rotation;
mod seek;
pub(crate) mod tracks;
mod writes;
mod zones;

use disklab_spec::device::Hdd;
use disklab_units::{Bytes, Nanos, Rate};

use self::port::Port;
use self::rotation::Rotation;
use self::seek::Known;
use self::tracks::Tracks;
use self::zones::Zones;
use crate::Error;
use crate::bench::{BLOCK, Bench};
use crate::device::Hints;
use crate::sheet::{Sheet, percent, plain, rate, size, time};

/// In the order of a device's file.
const KEYS: [&str; 21] = [
    "rpm",
    "seek_track_to_track",
    "seek_average",
    "seek_full",
    "write_settle",
    "head_switch",
    "surfaces",
    "rate_outer",
    "rate_inner",
    "zones",
    "command_overhead",
    "link",
    "queue_depth",
    "queue_window",
    "age_limit",
    "cache",
    "cache_segments",
    "look_ahead",
    "write_cache",
    "write_buffer",
    "write_window",
];

/// How many times [`Bench::step`] is called here.
pub(crate) const STEPS: u32 = 10;

/// What motors are made for, in revolutions a minute.
const SPEEDS: [u32; 8] = [3_600, 4_200, 5_400, 5_700, 5_900, 7_200, 10_000, 15_000];
/// How far a disk may be from what its motor is made for, as a part.
const TOLERANCE: f64 = 0.001_01;

/// A hit is not later than others by more than this part of a turn. As seldom is a read of the medium as quick.
const HIT: f64 = 0.02;

const NO_TIME: &str = "no time was left (--time)";
const READ_ONLY: &str = "it was only read (--write)";

/// What stands where nothing was seen: a 3.5-inch disk with SATA.
fn usual() -> Hdd {
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
        queue_window: 8,
        age_limit: Nanos::from_secs(1),
        cache: Bytes::mib(64),
        cache_segments: 16,
        look_ahead: Bytes::mib(1),
        write_cache: true,
        write_buffer: Bytes::mib(4),
        write_window: 16,
    }
}

struct Work<'a, 'b> {
    bench: &'a mut Bench<'b>,
    hdd: Hdd,
    sheet: Sheet,
    remarks: Vec<String>,
    bytes: Bytes,
    /// In nanoseconds.
    turn: f64,
    /// A read that takes no longer came from the cache, in nanoseconds.
    hit: f64,
}

/// Measures what is known to turn.
pub(crate) fn measure(
    bench: &mut Bench<'_>,
    rotation: &Rotation,
    hints: &Hints,
) -> Result<(Sheet, Vec<String>), Error> {
    let bytes = Bytes(bench.size() * 512);
    let turn = rotation.turn;
    let mut work =
        Work { bench, hdd: usual(), sheet: Sheet::default(), remarks: Vec::new(), bytes, turn, hit: 0.3e6 };
    work.rotation(rotation);
    work.port()?;
    let (tracks, zones) = work.surface()?;
    work.seeks(&tracks, &zones)?;
    work.cache()?;
    work.queue(hints)?;
    work.writes(hints)?;
    let Work { mut sheet, remarks, hdd, .. } = work;
    sheet.not_visible("age_limit", time(hdd.age_limit.0 as f64), "no request was left waiting so long");
    sheet.sort(&KEYS);
    Ok((sheet, remarks))
}

impl Work<'_, '_> {
    fn rotation(&mut self, rotation: &Rotation) {
        let measured = 60e9 / rotation.turn;
        let nominal = SPEEDS.into_iter().find(|&speed| (measured / f64::from(speed) - 1.0).abs() < TOLERANCE);
        self.hdd.rpm = nominal.unwrap_or(measured.round() as u32);
        let how = format!(
            "{measured:.2} by reads of the same sectors; each disk of a model has its own speed, within 0.1 %"
        );
        self.sheet.measured("rpm", self.hdd.rpm.to_string(), rotation.error.max(1e-6), how);
    }

    fn port(&mut self) -> Result<(), Error> {
        self.bench.step("command overhead and link");
        if let Some(Port { overhead, rate: link, beside }) = port::measure(self.bench, self.turn)? {
            self.hdd.command_overhead = Nanos(overhead as u64);
            self.hdd.link = Rate(link as u64);
            self.hit = overhead + 4096e9 / link + HIT * self.turn;
            let how = "reading again what was just read, 4 KiB to 256 KiB";
            self.sheet.measured("command_overhead", time(overhead), beside, how);
            self.sheet.measured("link", rate(link), beside, how);
        } else {
            let why = "what was just read came from the medium again";
            self.sheet.not_visible("command_overhead", time(self.hdd.command_overhead.0 as f64), why);
            self.sheet.not_visible("link", rate(self.hdd.link.0 as f64), why);
        }
        Ok(())
    }

    /// Tracks and zones.
    fn surface(&mut self) -> Result<(Tracks, Zones), Error> {
        self.bench.step("tracks and heads");
        let overhead = self.hdd.command_overhead.0 as f64;
        let (tracks, stream) = tracks::measure(self.bench, self.turn, overhead)?;
        self.bench.step("zones");
        let zones = zones::measure(self.bench, (self.turn, overhead), &tracks, &stream)?;
        let (outer, inner) = (zones.outer(), zones.inner().min(zones.outer()));
        if outer < 1e6 || inner < 1e6 || outer > 1e9 {
            return Err(Error::Unclear(format!(
                "reading in sequence went at {} at the beginning and {} at the end, which no hard disk does; is \
                 something else using it?",
                plain(&rate(outer)),
                plain(&rate(inner))
            )));
        }
        self.hdd.rate_outer = Rate(outer as u64);
        self.hdd.rate_inner = Rate(inner as u64);
        let how = "reads in sequence, changes of track included";
        self.sheet.measured("rate_outer", rate(outer), zones.error, how);
        self.sheet.measured("rate_inner", rate(inner), zones.error, how);
        match zones.count {
            Some(count) => {
                self.hdd.zones = count;
                let how =
                    format!("as many even ones come nearest to the rates of {} places", zones.rates.len());
                self.sheet.measured("zones", count.to_string(), 1.0 / f64::from(count), how);
            }
            None => {
                let why = "the rate's steps are not to be told from chance";
                self.sheet.not_visible("zones", self.hdd.zones.to_string(), why);
            }
        }
        match tracks.cylinder {
            Some(cylinder) => {
                self.hdd.surfaces = cylinder.heads;
                let how = format!("every {} changes of track take longer", cylinder.heads);
                self.sheet.found("surfaces", cylinder.heads.to_string(), how);
            }
            None => {
                let why = "all changes of track take the same";
                self.sheet.not_visible("surfaces", self.hdd.surfaces.to_string(), why);
            }
        }
        Ok((tracks, zones))
    }

    fn seeks(&mut self, tracks: &Tracks, zones: &Zones) -> Result<(), Error> {
        self.bench.step("seeks");
        let overhead = self.hdd.command_overhead.0 as f64;
        let block = f64::from(BLOCK) * 512.0;
        // Within a track data comes faster than the sustained rate, by the part that changes of track take.
        let faster = if tracks.gap > 0.0 { 1.0 + tracks.gap / self.turn } else { 1.0 };
        let besides = |sector| overhead + block * 1e9 / (zones.at(sector) * faster);
        let known =
            Known { turn: self.turn, tracks, heads: self.hdd.surfaces, overhead: &besides, hit: self.hit };
        let seeks = seek::measure(self.bench, &known)?;
        let Some(fit) = seek::fit(&self.hdd, self.bytes, &seeks.moves) else {
            return Err(Error::Unclear(
                "seeks could not be told from waits for the platters; is something else using the disk?"
                    .into(),
            ));
        };
        let millis = Nanos::from_millis;
        let track = fit.track.clamp(Nanos::from_micros(50), millis(20));
        let average = fit.average.clamp(millis(1).max(track), millis(50));
        let full = fit.full.clamp(average, millis(100));
        (self.hdd.seek_track_to_track, self.hdd.seek_average, self.hdd.seek_full) = (track, average, full);
        let how = format!("{} moves of the arm, waits taken away", seeks.moves.len());
        for (key, value) in [("seek_track_to_track", track), ("seek_average", average), ("seek_full", full)] {
            self.sheet.measured(key, time(value.0 as f64), fit.beside, how.clone());
        }
        self.switch_and_settle(tracks, seeks.switch);
        Ok(())
    }

    /// The skew between two tracks is as long as a change of head and settling for a write, or of cylinder.
    fn switch_and_settle(&mut self, tracks: &Tracks, switch: Option<(f64, f64)>) {
        self.hdd.head_switch = self.hdd.head_switch.min(self.hdd.seek_track_to_track);
        match switch.filter(|_| tracks.gap > 0.0) {
            Some((switch, away)) => {
                self.hdd.head_switch = Nanos(switch as u64).min(Nanos::from_millis(10));
                let error = away.max(self.turn / 4096.0) / switch.max(1.0);
                let value = time(self.hdd.head_switch.0 as f64);
                self.sheet.measured("head_switch", value, error, "reads on one track after another");
            }
            None => self.sheet.not_visible(
                "head_switch",
                time(self.hdd.head_switch.0 as f64),
                "where tracks end is not seen",
            ),
        }
        let switch = self.hdd.head_switch.0 as f64;
        let track = self.hdd.seek_track_to_track.0 as f64;
        let settle = match tracks.cylinder {
            Some(cylinder) => (tracks.gap - switch).midpoint(cylinder.gap - track.max(switch)),
            None => tracks.gap - track.max(switch),
        };
        if tracks.gap > 0.0 && settle > -0.05 * self.turn {
            self.hdd.write_settle = Nanos(settle.max(0.0) as u64).min(Nanos::from_millis(10));
            let error = (tracks.spread * tracks.gap + self.turn / 2048.0) / settle.max(1e5);
            let how = "the skew between tracks less the move, taken to be made so that a write can settle";
            self.sheet.measured("write_settle", time(self.hdd.write_settle.0 as f64), error, how);
        } else {
            let why = "no skew between tracks is seen";
            self.sheet.not_visible("write_settle", time(self.hdd.write_settle.0 as f64), why);
        }
    }

    fn cache(&mut self) -> Result<(), Error> {
        let ahead = if self.bench.has_time_for("read-ahead") {
            cache::look_ahead(self.bench, self.hit)?.ok_or("nothing is read ahead, or more than 64 MiB")
        } else {
            Err(NO_TIME)
        };
        let segments = if self.bench.has_time_for("places in the cache") {
            cache::segments(self.bench, self.hit)?.ok_or("nothing is remembered, or more than 512 places")
        } else {
            Err(NO_TIME)
        };
        let behind = ahead.map_or(self.hdd.look_ahead.sectors().0, |bounds| bounds.low);
        let segment = if self.bench.has_time_for("size of the cache") {
            cache::segment(self.bench, self.hit, behind)?
                .ok_or("a long read is not remembered, or all of it is")
        } else {
            Err(NO_TIME)
        };
        self.write_cache_sizes(ahead, segments, segment);
        Ok(())
    }

    fn write_cache_sizes(
        &mut self,
        ahead: Result<cache::Bounds, &'static str>,
        segments: Result<cache::Bounds, &'static str>,
        segment: Result<cache::Bounds, &'static str>,
    ) {
        if let Ok(segments) = segments {
            self.hdd.cache_segments = segments.low as u32;
        }
        let count = u64::from(self.hdd.cache_segments);
        if let Ok(ahead) = ahead {
            self.hdd.look_ahead = Bytes(ahead.round() * 512);
        }
        if let Ok(segment) = segment {
            self.hdd.cache = Bytes((segment.round() * 512 * count).clamp(16 << 10, 8 << 30));
        }
        // A file whose numbers cannot be true together would be refused.
        self.hdd.cache = self.hdd.cache.max(Bytes(self.hdd.look_ahead.0 * count));
        let Hdd { look_ahead, cache, cache_segments, .. } = self.hdd;
        match ahead {
            Ok(bounds) => {
                let how = "reads behind a read, after a pause";
                self.sheet.measured("look_ahead", size(look_ahead.0), bounds.error(), how);
            }
            Err(why) => self.sheet.not_visible("look_ahead", size(look_ahead.0), why),
        }
        match segments {
            Ok(bounds) => {
                let how = "a place is read again after so many others";
                self.sheet.measured("cache_segments", cache_segments.to_string(), bounds.error(), how);
            }
            Err(why) => self.sheet.not_visible("cache_segments", cache_segments.to_string(), why),
        }
        match (segments, segment) {
            (Ok(segments), Ok(segment)) => {
                let how = "places that are remembered, and how much of each";
                self.sheet.measured("cache", size(cache.0), segments.error() + segment.error(), how);
            }
            (Err(why), _) | (_, Err(why)) => self.sheet.not_visible("cache", size(cache.0), why),
        }
    }

    fn queue(&mut self, hints: &Hints) -> Result<(), Error> {
        self.hdd.queue_depth = hints.queue_depth.unwrap_or(self.hdd.queue_depth).clamp(1, 1024);
        let why = match hints.queue_depth {
            Some(_) => "this is what the kernel says",
            None => "nobody says it; that of SATA",
        };
        self.sheet.not_visible("queue_depth", self.hdd.queue_depth.to_string(), why);
        let window = if self.bench.has_time_for("choice among queued reads") {
            queue::reads(self.bench, &self.hdd, self.bytes)?.ok_or("no model comes near")
        } else {
            Err(NO_TIME)
        };
        match window {
            Ok(window) => {
                self.hdd.queue_window = window.commands;
                let how = format!(
                    "as many random reads a second at depth 32 as this model serves, to {} %",
                    percent(window.beside)
                );
                self.sheet.found("queue_window", window.commands.to_string(), how);
            }
            Err(why) => self.sheet.not_visible("queue_window", self.hdd.queue_window.to_string(), why),
        }
        Ok(())
    }

    fn writes(&mut self, hints: &Hints) -> Result<(), Error> {
        self.hdd.write_cache = hints.write_cache.unwrap_or(self.hdd.write_cache);
        self.hdd.write_buffer = self.hdd.write_buffer.min(self.hdd.cache);
        if !self.bench.may_write {
            let why = if hints.write_cache.is_some() { "this is what the kernel says" } else { READ_ONLY };
            self.sheet.not_visible("write_cache", self.hdd.write_cache.to_string(), why);
            self.sheet.not_visible("write_buffer", size(self.hdd.write_buffer.0), READ_ONLY);
            self.sheet.not_visible("write_window", self.hdd.write_window.to_string(), READ_ONLY);
            return Ok(());
        }
        self.bench.step("write cache");
        self.hdd.write_cache = writes::cached(self.bench, self.turn)?;
        let word = self.hdd.write_cache.to_string();
        self.sheet.found("write_cache", word, "whether a write waits for the platters");
        let mut why = if self.hdd.write_cache { NO_TIME } else { "writes go to the medium" };
        if self.hdd.write_cache && self.bench.has_time_for("write buffer") {
            why = "256 MiB of writes found no end of it";
            if let Some(buffer) = writes::buffer(self.bench, self.turn)? {
                let bytes = (buffer.round() * 512).clamp(4096, self.hdd.cache.0.max(4096));
                self.hdd.write_buffer = Bytes(bytes);
                let how = "random writes until one has to wait";
                self.sheet.measured("write_buffer", size(bytes), buffer.error(), how);
                let flush = writes::flush(self.bench)?;
                self.remarks
                    .push(format!("a flush takes {} for each write far from others", plain(&time(flush))));
                why = NO_TIME;
                if self.bench.has_time_for("choice among buffered writes")
                    && let Some(window) = queue::writes(self.bench, &self.hdd, self.bytes)?
                {
                    self.hdd.write_window = window.commands;
                    let how = format!(
                        "as many random writes a second as this model takes, to {} %",
                        percent(window.beside)
                    );
                    self.sheet.found("write_window", window.commands.to_string(), how);
                    return Ok(());
                }
                self.sheet.not_visible("write_window", self.hdd.write_window.to_string(), why);
                return Ok(());
            }
        }
        self.sheet.not_visible("write_buffer", size(self.hdd.write_buffer.0), why);
        self.sheet.not_visible("write_window", self.hdd.write_window.to_string(), why);
        Ok(())
    }
}

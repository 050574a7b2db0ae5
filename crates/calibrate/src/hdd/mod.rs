//! A hard disk, part by part: each thing that is measured has its file, and later ones build on
//! what earlier ones found.

mod cache;
mod electronics;
mod port;
mod queue;
mod reach;
pub(crate) mod rotation;
mod seek;
pub(crate) mod tracks;
mod writes;
mod zones;

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Rate};

use self::port::Port;
use self::rotation::Rotation;
use self::seek::Known;
use self::tracks::Tracks;
use self::zones::Zones;
use crate::Error;
use crate::bench::{BLOCK, Bench};
use crate::device::Hints;
use crate::sheet::{Sheet, plain, rate, time};

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
/// How far a disk may be from what its motor is made for, as a part: each of a model draws its own
/// speed within 0.1 %, and measuring is off by less than the hundredth of that which is beyond.
const TOLERANCE: f64 = 0.001_01;

/// A hit is not later than others by more than this part of a turn, 0.17 ms at 7200 rpm: more than
/// hosts are late by, as a rule. As seldom, once in fifty, is a read of the medium as quick.
const HIT: f64 = 0.02;

const NO_TIME: &str = "no time was left (--time)";

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
        retries: None,
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
    /// What times of reads are right under only, where what a command takes was not seen.
    assumed: Option<&'static str>,
}

/// Measures what is known to turn.
pub(crate) fn measure(
    bench: &mut Bench<'_>,
    rotation: &Rotation,
    hints: &Hints,
) -> Result<(Sheet, Vec<String>), Error> {
    let bytes = Bytes(bench.size() * 512);
    let turn = rotation.turn;
    // Until a hit was seen: no cache answers later than that, and no arm of what turns moves and
    // settles sooner.
    let (hit, assumed) = (0.3e6, None);
    let (hdd, sheet, remarks) = (usual(), Sheet::default(), Vec::new());
    let mut work = Work { bench, hdd, sheet, remarks, bytes, turn, hit, assumed };
    work.rotation(rotation);
    work.port()?;
    let (tracks, zones) = work.surface()?;
    work.seeks(&tracks, &zones)?;
    // What loads hang on most comes first: time may run out.
    work.queue(hints)?;
    work.cache()?;
    work.writes(hints)?;
    let Work { mut sheet, remarks, hdd, .. } = work;
    sheet.not_visible(
        "age_limit",
        time(hdd.age_limit.0 as f64),
        "no request was left waiting so long",
    );
    sheet.sort(&KEYS);
    Ok((sheet, remarks))
}

/// What the motor is made for, if that is near, or else whole revolutions; and how far the disk may
/// be from that, as a part.
fn speed(rotation: &Rotation) -> (u32, f64) {
    let measured = 60e9 / rotation.turn;
    let nominal =
        SPEEDS.into_iter().find(|&speed| (measured / f64::from(speed) - 1.0).abs() < TOLERANCE);
    let speed = nominal.unwrap_or(measured.round() as u32);
    (speed, rotation.error.max((f64::from(speed) / measured - 1.0).abs()))
}

impl Work<'_, '_> {
    fn rotation(&mut self, rotation: &Rotation) {
        let measured = 60e9 / rotation.turn;
        let error;
        (self.hdd.rpm, error) = speed(rotation);
        let how = format!(
            "{measured:.2} by reads of the same sectors; each disk of a model has its own speed, within 0.1 %"
        );
        self.sheet.measured("rpm", self.hdd.rpm.to_string(), error, how);
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
            self.sheet.not_visible(
                "command_overhead",
                time(self.hdd.command_overhead.0 as f64),
                why,
            );
            self.sheet.not_visible("link", rate(self.hdd.link.0 as f64), why);
            self.assumed = Some("a command takes what stands there, which was not seen");
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
        if let Some(count) = zones.count {
            self.hdd.zones = count;
            let how = format!(
                "as many even ones come nearest to the rates of {} places",
                zones.rates.len()
            );
            self.sheet.measured("zones", count.to_string(), 1.0 / f64::from(count), how);
        } else {
            let why = "the rate's steps are not to be told from chance";
            self.sheet.not_visible("zones", self.hdd.zones.to_string(), why);
        }
        if let Some(cylinder) = tracks.cylinder {
            self.hdd.surfaces = cylinder.heads;
            let how = format!("every {} changes of track take longer", cylinder.heads);
            self.sheet.found("surfaces", cylinder.heads.to_string(), how);
        } else {
            let why = "all changes of track take the same";
            self.sheet.not_visible("surfaces", self.hdd.surfaces.to_string(), why);
        }
        let mut said = vec![format!("tracks at the beginning: {:.0} sectors", tracks.sectors)];
        if tracks.gap > 0.0 {
            said.push(format!("{} to the next", plain(&time(tracks.gap))));
        }
        if let Some(cylinder) = tracks.cylinder {
            said.push(format!("{} to the next cylinder", plain(&time(cylinder.gap))));
        }
        self.remarks.push(said.join(", "));
        Ok((tracks, zones))
    }

    fn seeks(&mut self, tracks: &Tracks, zones: &Zones) -> Result<(), Error> {
        self.bench.step("seeks");
        let overhead = self.hdd.command_overhead.0 as f64;
        let block = f64::from(BLOCK) * 512.0;
        // Within a track data comes faster than the sustained rate, by the part that changes of
        // track take.
        let faster = if tracks.gap > 0.0 { 1.0 + tracks.gap / self.turn } else { 1.0 };
        let besides = |sector| overhead + block * 1e9 / (zones.at(sector) * faster);
        let known = Known {
            turn: self.turn,
            tracks,
            heads: self.hdd.surfaces,
            overhead: &besides,
            hit: self.hit,
        };
        let seeks = seek::measure(self.bench, &known)?;
        let Some(fit) = seek::fit(&self.hdd, self.bytes, &seeks.moves) else {
            return Err(Error::Unclear(
                "seeks could not be told from waits for the platters; is something else using the disk?"
                    .into(),
            ));
        };
        let millis = Nanos::from_millis;
        // What a device of the lab can have.
        let track = fit.track.clamp(Nanos::from_micros(50), millis(20));
        let average = fit.average.clamp(millis(1).max(track), millis(50));
        let full = fit.full.clamp(average, millis(100));
        (self.hdd.seek_track_to_track, self.hdd.seek_average, self.hdd.seek_full) =
            (track, average, full);
        let how = seeks.told(&fit);
        for (key, value, found) in [
            ("seek_track_to_track", track, fit.track),
            ("seek_average", average, fit.average),
            ("seek_full", full, fit.full),
        ] {
            let text = time(value.0 as f64);
            if value == found {
                self.sheet.measured_if(self.assumed, key, text, fit.beside, how.clone());
            } else {
                let found = time(found.0 as f64);
                self.sheet.not_visible(
                    key,
                    text,
                    format!("{} came out, which no device has", plain(&found)),
                );
            }
        }
        self.switch_and_settle(tracks, seeks.switch);
        Ok(())
    }

    /// The skew between two tracks is as long as a change of head and settling for a write, or of
    /// cylinder.
    fn switch_and_settle(&mut self, tracks: &Tracks, switch: Option<(f64, f64)>) {
        self.hdd.head_switch = self.hdd.head_switch.min(self.hdd.seek_track_to_track);
        if let Some((switch, away)) = switch.filter(|_| tracks.gap > 0.0) {
            // No device has a longer one, and none was built.
            self.hdd.head_switch = Nanos(switch as u64).min(Nanos::from_millis(10));
            let error = away.max(self.turn / 4096.0) / switch.max(1.0);
            let (value, how) =
                (time(self.hdd.head_switch.0 as f64), "reads on one track after another");
            self.sheet.measured_if(self.assumed, "head_switch", value, error, how);
        } else {
            let why = match tracks.seen {
                None => "where tracks end is not seen",
                Some(_) => "reads on one track after another were in the cache, or late, too often",
            };
            self.sheet.not_visible("head_switch", time(self.hdd.head_switch.0 as f64), why);
        }
        let switch = self.hdd.head_switch.0 as f64;
        let track = self.hdd.seek_track_to_track.0 as f64;
        let settle = match tracks.cylinder {
            Some(cylinder) => (tracks.gap - switch).midpoint(cylinder.gap - track.max(switch)),
            None => tracks.gap - track.max(switch),
        };
        // A skew shorter than the move by more than the move's error (0.4 ms) is made for something
        // else.
        if tracks.gap > 0.0 && settle > -0.05 * self.turn {
            self.hdd.write_settle = Nanos(settle.max(0.0) as u64).min(Nanos::from_millis(10));
            let (value, if_true) =
                (time(self.hdd.write_settle.0 as f64), "the skew is made for a write to settle");
            self.sheet.derived(
                "write_settle",
                value,
                if_true,
                "the skew between tracks less the move",
            );
        } else {
            let why = "no skew between tracks is seen";
            self.sheet.not_visible("write_settle", time(self.hdd.write_settle.0 as f64), why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its error is that of the number in the file, not of the measured one.
    #[test]
    fn a_nominal_speed_is_off_by_what_the_disk_is_off() {
        let at = |rpm: f64, error| speed(&Rotation { turn: 60e9 / rpm, error });
        let (rpm, error) = at(7203.6, 1e-6);
        assert_eq!(rpm, 7200);
        assert!((error - 3.6 / 7203.6).abs() < 1e-9, "{error}");
        let (rpm, error) = at(7203.6, 2e-3);
        assert!(rpm == 7200 && (error - 2e-3).abs() < 1e-9, "{error}");
        let (rpm, error) = at(6000.4, 1e-6);
        assert!(rpm == 6000 && (error - 0.4 / 6000.4).abs() < 1e-9, "{error}");
    }
}

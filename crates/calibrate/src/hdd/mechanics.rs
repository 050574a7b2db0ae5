//! The mechanics of a hard disk: rotation, tracks and zones, seeks; and the port, through which all
//! of them are seen.

use disklab_units::{Nanos, Rate};

use super::port::{self, PortEstimate};
use super::rotation::Rotation;
use super::seek::{self, KnownMechanics};
use super::tracks::{self, Tracks};
use super::work::HddWork;
use super::zones::{self, Zones};
use crate::bench::BLOCK;
use crate::error::{Error, Result};
use crate::sheet::{measured, not_visible, observed, rate, time};

/// The nominal speeds of motors, in revolutions a minute.
const SPEEDS: [u32; 8] = [3_600, 4_200, 5_400, 5_700, 5_900, 7_200, 10_000, 15_000];
/// Greatest relative deviation of a disk from its motor's nominal speed. Each modelled disk draws
/// its own speed within 0.1 %, and the remaining hundredth of that exceeds the error of measuring.
const TOLERANCE: f64 = 0.001_01;

/// The most by which a cache hit is later than others, as a fraction of a turn: 0.17 ms at 7200
/// rpm, more than a host's usual delay. Only one read of the medium in fifty is this quick.
const HIT: f64 = 0.02;

/// Returns the nominal speed of the motor if it is near, or else whole revolutions a minute, and
/// the greatest relative deviation of the disk from that.
fn speed(rotation: &Rotation) -> (u32, f64) {
    let measured = 60e9 / rotation.turn;
    let nominal =
        SPEEDS.into_iter().find(|&speed| (measured / f64::from(speed) - 1.0).abs() < TOLERANCE);
    let speed = nominal.unwrap_or(measured.round() as u32);
    (speed, rotation.error.max((f64::from(speed) / measured - 1.0).abs()))
}

impl HddWork<'_, '_> {
    pub(super) fn rotation(&mut self, rotation: &Rotation) {
        let turns = 60e9 / rotation.turn;
        let (rpm, error) = speed(rotation);
        self.hdd.rpm = rpm;
        let how = format!(
            "{turns:.2} by reads of the same sectors; each disk of a model has its own speed, \
             within 0.1 %"
        );
        self.sheet.number("rpm", rpm, measured(error, how));
    }

    pub(super) fn port(&mut self) -> Result<()> {
        self.bench.step("command overhead and link");
        let found = port::measure(self.bench, self.turn)?;
        let (overhead, link, mark) =
            if let Some(PortEstimate { overhead, rate: link, beside }) = found {
                self.hdd.command_overhead = Nanos(overhead as u64);
                self.hdd.link = Rate(link as u64);
                self.hit = overhead + 4096e9 / link + HIT * self.turn;
                let how = "reading again what was just read, 4 KiB to 256 KiB";
                (overhead, link, measured(beside, how))
            } else {
                self.assumed = Some("the default command overhead is right (it was not measured)");
                let (overhead, link) = (self.hdd.command_overhead.0, self.hdd.link.0);
                let why = "what was just read came from the medium again";
                (overhead as f64, link as f64, not_visible(why))
            };
        self.sheet.quantity("command_overhead", time(overhead), mark.clone());
        self.sheet.quantity("link", rate(link), mark);
        Ok(())
    }

    /// Measures tracks and zones.
    pub(super) fn surface(&mut self) -> Result<(Tracks, Zones)> {
        self.bench.step("tracks and heads");
        let overhead = self.hdd.command_overhead.0 as f64;
        let (tracks, stream) = tracks::measure(self.bench, self.turn, overhead)?;
        self.bench.step("zones");
        let zones = zones::measure(self.bench, (self.turn, overhead), &tracks, &stream)?;
        let (outer, inner) = (zones.outer(), zones.inner().min(zones.outer()));
        if outer < 1e6 || inner < 1e6 || outer > 1e9 {
            return Err(Error::Unclear(format!(
                "reading in sequence went at {} at the beginning and {} at the end, which no hard \
                 disk does; is another program using it?",
                rate(outer),
                rate(inner)
            )));
        }
        self.hdd.rate_outer = Rate(outer as u64);
        self.hdd.rate_inner = Rate(inner as u64);
        for (key, found) in [("rate_outer", outer), ("rate_inner", inner)] {
            let how = "reads in sequence, changes of track included";
            self.sheet.quantity(key, rate(found), measured(zones.error, how));
        }
        let zones_seen = if let Some(count) = zones.count {
            self.hdd.zones = count;
            let places = zones.rates.len();
            let how = format!("as many even ones come nearest to the rates of {places} places");
            measured(1.0 / f64::from(count), how)
        } else {
            not_visible("the rate's steps are not distinguishable from chance")
        };
        self.sheet.number("zones", self.hdd.zones, zones_seen);
        let mut said = vec![format!("tracks at the beginning: {:.0} sectors", tracks.sectors)];
        if tracks.gap > 0.0 {
            said.push(format!("{} to the next", time(tracks.gap)));
        }
        let surfaces_seen = if let Some(cylinder) = tracks.cylinder {
            self.hdd.surfaces = cylinder.heads;
            said.push(format!("{} to the next cylinder", time(cylinder.gap)));
            observed(format!("every {} changes of track take longer", cylinder.heads))
        } else {
            not_visible("all changes of track take the same")
        };
        self.sheet.number("surfaces", self.hdd.surfaces, surfaces_seen);
        self.remarks.push(said.join(", "));
        Ok((tracks, zones))
    }

    pub(super) fn seeks(&mut self, tracks: &Tracks, zones: &Zones) -> Result<()> {
        self.bench.step("seeks");
        let overhead = self.hdd.command_overhead.0 as f64;
        let block = f64::from(BLOCK) * 512.0;
        // Within a track, data comes faster than the sustained rate, by the fraction of time that
        // changes of track take.
        let faster = if tracks.gap > 0.0 { 1.0 + tracks.gap / self.turn } else { 1.0 };
        let besides = |sector| overhead + block * 1e9 / (zones.rate_at(sector) * faster);
        let known = KnownMechanics {
            turn: self.turn,
            tracks,
            heads: self.hdd.surfaces,
            overhead: &besides,
            hit: self.hit,
        };
        let seeks = seek::measure(self.bench, &known)?;
        let Some(fit) = seek::fit(&self.hdd, self.bytes, &seeks.moves) else {
            let why = "seek times could not be separated from rotational waits; is another \
                       program using the disk?";
            return Err(Error::Unclear(why.to_owned()));
        };
        let millis = Nanos::from_millis;
        // These are the ranges that a device of the lab may have.
        let track = fit.track.clamp(Nanos::from_micros(50), millis(20));
        let average = fit.average.clamp(millis(1).max(track), millis(50));
        let full = fit.full.clamp(average, millis(100));
        (self.hdd.seek_track_to_track, self.hdd.seek_average, self.hdd.seek_full) =
            (track, average, full);
        let how = seeks.describe(&fit);
        for (key, value, found) in [
            ("seek_track_to_track", track, fit.track),
            ("seek_average", average, fit.average),
            ("seek_full", full, fit.full),
        ] {
            let mark = if value == found {
                measured(fit.beside, how.clone()).assuming(self.assumed)
            } else {
                let found = time(found.0 as f64);
                not_visible(format!(
                    "measured {found}, outside the range that a device file permits"
                ))
            };
            self.sheet.quantity(key, time(value.0 as f64), mark);
        }
        self.switch_and_settle(tracks, seeks.switch);
        Ok(())
    }

    /// Derives the head switch and the settling time of writes. The skew between two tracks is as
    /// long as a change of head or cylinder and settling for a write.
    fn switch_and_settle(&mut self, tracks: &Tracks, switch: Option<(f64, f64)>) {
        self.hdd.head_switch = self.hdd.head_switch.min(self.hdd.seek_track_to_track);
        let seen = if let Some((switch, away)) = switch.filter(|_| tracks.gap > 0.0) {
            // No device of the lab may have a longer one, and no drive was built with one.
            self.hdd.head_switch = Nanos(switch as u64).min(Nanos::from_millis(10));
            let error = away.max(self.turn / 4096.0) / switch.max(1.0);
            measured(error, "reads on one track after another").assuming(self.assumed)
        } else if tracks.seen.is_none() {
            not_visible("where tracks end is not seen")
        } else {
            not_visible("too many reads of neighbouring tracks were cache hits or late")
        };
        let switch = self.hdd.head_switch.0 as f64;
        self.sheet.quantity("head_switch", time(switch), seen);
        let track = self.hdd.seek_track_to_track.0 as f64;
        let settle = match tracks.cylinder {
            Some(cylinder) => (tracks.gap - switch).midpoint(cylinder.gap - track.max(switch)),
            None => tracks.gap - track.max(switch),
        };
        // If the skew is shorter than the move by more than the move's error (0.4 ms), its purpose
        // is another.
        let seen = if tracks.gap > 0.0 && settle > -0.05 * self.turn {
            self.hdd.write_settle = Nanos(settle.max(0.0) as u64).min(Nanos::from_millis(10));
            observed("the skew between tracks less the move")
                .assuming(Some("the skew is made for a write to settle"))
        } else {
            not_visible("no skew between tracks is seen")
        };
        self.sheet.quantity("write_settle", time(self.hdd.write_settle.0 as f64), seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error is that of the number in the file, not that of the measured number.
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

//! The places of sectors, and the times at which they pass under a head.
//!
//! The surface is represented as one long *tape*: the sequence of everything that passes under the
//! head of a reader that starts at sector 0 and never stops, measured in time. A sector's place on
//! the tape, in nanoseconds, says two things. Modulo one turn it is the angle at which the sector
//! begins. The difference between two places is the duration of a transfer from one to the other,
//! changes of track included. Nothing else in the model needs to know about tracks.
//!
//! Between two tracks the tape has a gap, the skew, as long as the change of head or cylinder
//! takes, so that a sequential transfer finds the next sector just arriving and loses no turn.

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Sectors};

use super::layout::{SectorLayout, SurfaceOrder, ZoneMap};

/// The layout of a disk. Addresses run through the tracks of one cylinder surface by surface, then
/// on to the next cylinder inwards.
pub(crate) struct Geometry {
    surfaces: u64,
    /// The time of a turn, in ns.
    turn: u64,
    order: SurfaceOrder,
    /// The zones, from the outside in.
    zones: Vec<Zone>,
    pub cylinders: u32,
    /// Number of sectors that the disk has.
    pub sectors: u64,
}

/// Cylinders with the same number of sectors on each track.
struct Zone {
    first_sector: u64,
    first_cylinder: u64,
    cylinders: u64,
    /// Place on the tape of the zone's first track.
    start: u64,
    /// Place on the tape of `first_sector`, which may lie further in.
    first_used: u64,
    sectors_per_track: u64,
    /// Distance on the tape from the start of one track to that of the next in the same cylinder.
    track_pitch: u64,
    /// Distance on the tape from the start of one cylinder to that of the next.
    cylinder_pitch: u64,
    /// The zone's sectors without an address, or `None` if all have one.
    map: Option<Box<ZoneMap>>,
}

impl Zone {
    /// Returns the position on the medium of the sector with this address. Both are counted within
    /// the zone.
    #[inline]
    fn on_medium(&self, in_zone: u64) -> u64 {
        self.map.as_ref().map_or(in_zone, |map| map.on_medium(in_zone))
    }

    /// Returns the number of addresses of the zone that come before this sector on the medium.
    fn address(&self, on_medium: u64) -> u64 {
        self.map.as_ref().map_or(on_medium, |map| map.address(on_medium))
    }

    /// Returns a sector's cylinder, its track on that cylinder, and its number on that track.
    #[inline]
    fn split(&self, on_medium: u64, surfaces: u64) -> (u64, u64, u64) {
        let (track, on_track) =
            (on_medium / self.sectors_per_track, on_medium % self.sectors_per_track);
        (track / surfaces, track % surfaces, on_track)
    }

    fn along(&self, sectors: u64, turn: u64) -> u64 {
        sectors * turn / self.sectors_per_track
    }

    /// Returns the place on the tape where a track's sector begins.
    #[inline]
    fn tape(&self, (cylinder, track, on_track): (u64, u64, u64), turn: u64) -> u64 {
        self.start
            + cylinder * self.cylinder_pitch
            + track * self.track_pitch
            + self.along(on_track, turn)
    }
}

/// The cylinder that the arm is at, and the surface whose head is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arm {
    pub cylinder: u32,
    pub surface: u32,
}

/// A point on the surface that a head can be at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TapePlace {
    pub arm: Arm,
    /// Place on the tape, in ns.
    pub tape: u64,
}

/// Time that a sequential reader spends between two tracks, in ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Skew {
    pub surface: u64,
    pub cylinder: u64,
}

impl Geometry {
    /// Cuts `bytes` into zones of equally many cylinders, whose rates fall evenly from `rate_outer`
    /// to `rate_inner`. As in data sheets, these are sustained rates, which include the cost of the
    /// skew, so a track holds somewhat more than rate x turn.
    pub fn new(model: &Hdd, bytes: Bytes, turn: u64, skew: Skew) -> Self {
        let surfaces = u64::from(model.surfaces.max(1));
        let track_pitch = turn + skew.surface;
        let cylinder_pitch = (surfaces - 1) * track_pitch + turn + skew.cylinder;
        let sectors = bytes.sectors().0.max(1);
        let per_track = sectors_per_track(model, cylinder_pitch, surfaces);
        let all_zones: u64 = per_track.iter().sum();
        // This is rounded up, so the innermost cylinders may have a few sectors that no address
        // reaches.
        let zone_cylinders = sectors.div_ceil(surfaces * all_zones);
        let mut zones = Vec::with_capacity(per_track.len());
        let (mut first_sector, mut first_cylinder, mut start) = (0, 0, 0);
        for sectors_per_track in per_track {
            zones.push(Zone {
                first_sector,
                first_cylinder,
                cylinders: zone_cylinders,
                start,
                first_used: start,
                sectors_per_track,
                track_pitch,
                cylinder_pitch,
                map: None,
            });
            first_sector += zone_cylinders * surfaces * sectors_per_track;
            first_cylinder += zone_cylinders;
            start += zone_cylinders * cylinder_pitch;
        }
        let cylinders = u32::try_from(first_cylinder).unwrap_or(u32::MAX);
        Self { surfaces, turn, order: SurfaceOrder::Same, zones, cylinders, sectors }
    }

    /// Builds the geometry of a layout that is known zone by zone. A change of track takes its
    /// skew. If the skew is shorter than `switch`, the time that the arm takes for the change, it
    /// takes whole turns more.
    pub fn detailed(layout: &SectorLayout, turn: u64, switch: Skew) -> Self {
        let surfaces = u64::from(layout.surfaces.max(1));
        let mut zones: Vec<Zone> = Vec::with_capacity(layout.zones.len());
        let (mut first_sector, mut after) = (0, turn);
        for zone in &layout.zones {
            let spt = zone.sectors_per_track.max(1);
            let time = |sectors: f64| (sectors.max(0.0) / spt as f64 * turn as f64).round() as u64;
            let skew = |sectors: f64, least: u64| {
                let skew = time(sectors);
                turn + skew + least.saturating_sub(skew).div_ceil(turn) * turn
            };
            let track_pitch = skew(zone.track_skew, switch.surface);
            let cylinder_pitch =
                (surfaces - 1) * track_pitch + skew(zone.cylinder_skew, switch.cylinder);
            let map = ZoneMap::new(zone, surfaces);
            let mut new = Zone {
                first_sector,
                first_cylinder: u64::from(zone.first_cylinder),
                cylinders: u64::from(zone.cylinders),
                start: 0,
                first_used: 0,
                sectors_per_track: spt,
                track_pitch,
                cylinder_pitch,
                map: (!map.is_plain()).then(|| Box::new(map)),
            };
            // The zone's angle is known. On the tape the zone begins as soon as the arm can be
            // there.
            let tape = |zone: &Zone, on_medium| zone.tape(zone.split(on_medium, surfaces), turn);
            let lead = tape(&new, new.on_medium(0));
            let angle = time(zone.offset) % turn;
            let earliest = after.saturating_sub(lead);
            new.start = earliest + (angle + turn - earliest % turn) % turn;
            new.first_used = new.start + lead;
            let last = new.on_medium(zone.sectors.saturating_sub(1));
            after = tape(&new, last) + turn / spt + switch.cylinder;
            first_sector += zone.sectors;
            zones.push(new);
        }
        let cylinders =
            layout.zones.iter().map(|zone| zone.first_cylinder + zone.cylinders).max().unwrap_or(1);
        let sectors = layout.sectors.min(first_sector);
        Self { surfaces, turn, order: layout.order, zones, cylinders, sectors }
    }

    /// Returns the time for which a sector is under the head.
    pub fn sector_time(&self, sector: u64) -> Nanos {
        Nanos(self.turn / self.zone_of(sector).sectors_per_track)
    }

    /// Returns the first address behind `sector` that is not on its track or, with
    /// `whole_cylinder`, not on its cylinder.
    pub fn end_of_track(&self, sector: u64, whole_cylinder: bool) -> u64 {
        let zone = self.zone_of(sector);
        let size = zone.sectors_per_track * if whole_cylinder { self.surfaces } else { 1 };
        let next = (zone.on_medium(sector.saturating_sub(zone.first_sector)) / size + 1) * size;
        (zone.first_sector + zone.address(next)).min(self.end_of(zone)).min(self.sectors)
    }

    /// Returns the first address behind a zone.
    fn end_of(&self, zone: &Zone) -> u64 {
        let next = self.zones.partition_point(|other| other.first_sector <= zone.first_sector);
        self.zones.get(next).map_or(self.sectors, |next| next.first_sector)
    }

    /// Returns the arm's place for a cylinder of the zone and a track of that cylinder, counted in
    /// the order of addresses.
    #[inline]
    fn arm(&self, zone: &Zone, in_zone: u64, track: u64) -> Arm {
        let cylinder = zone.first_cylinder + in_zone;
        let turned = match self.order {
            SurfaceOrder::Same => false,
            SurfaceOrder::TurnsInZone => in_zone % 2 == 1,
            SurfaceOrder::Turns => cylinder % 2 == 1,
        };
        let surface = if turned { self.surfaces - 1 - track } else { track };
        Arm { cylinder: cylinder as u32, surface: surface as u32 }
    }

    /// Returns the angle of a place as the time from angle 0 to it, less than one turn.
    pub fn angle(&self, tape: u64) -> u64 {
        tape % self.turn
    }

    /// Returns the place at which `sector` begins.
    pub fn place(&self, sector: u64) -> TapePlace {
        self.place_in(self.zone_of(sector), sector).0
    }

    /// Returns the place at which a sector of `zone` begins, and its number on its track.
    fn place_in(&self, zone: &Zone, sector: u64) -> (TapePlace, u64) {
        let on_medium = zone.on_medium(sector.saturating_sub(zone.first_sector));
        let split = zone.split(on_medium, self.surfaces);
        let arm = self.arm(zone, split.0, split.1);
        (TapePlace { arm, tape: zone.tape(split, self.turn) }, split.2)
    }

    /// Returns the place at which the sector before `end` has just passed the head. It is on that
    /// sector's own track, before any skew.
    pub fn end_place(&self, end: u64) -> TapePlace {
        let last = end.saturating_sub(1);
        let zone = self.zone_of(last);
        let along = |sectors: u64| zone.along(sectors, self.turn);
        let (place, on_track) = self.place_in(zone, last);
        TapePlace { tape: place.tape + along(on_track + 1) - along(on_track), ..place }
    }

    /// Returns the place of a sequentially reading head that has come to `tape`, and the first
    /// sector that has not wholly passed it.
    pub fn head_at(&self, tape: u64) -> (TapePlace, u64) {
        let zone = self.zone_by(|zone| zone.first_used <= tape);
        let in_zone = tape - zone.start;
        // The arm counts as on the zone's last cylinder even behind it.
        let cylinder = (in_zone / zone.cylinder_pitch).min(zone.cylinders - 1);
        let in_cylinder = in_zone - cylinder * zone.cylinder_pitch;
        // The head counts as on a track in the gap behind that track.
        let surface = (in_cylinder / zone.track_pitch).min(self.surfaces - 1);
        let along = (in_cylinder - surface * zone.track_pitch).min(self.turn);
        // Sector k of the track has passed at (k + 1) * turn / sectors_per_track, rounded down.
        let passed = ((along + 1) * zone.sectors_per_track - 1) / self.turn;
        let track = cylinder * self.surfaces + surface;
        let on_medium = track * zone.sectors_per_track + passed.min(zone.sectors_per_track);
        let sector = (zone.first_sector + zone.address(on_medium)).min(self.sectors);
        let place = TapePlace { arm: self.arm(zone, cylinder, surface), tape };
        (place, if zone.map.is_none() { sector } else { sector.min(self.end_of(zone)) })
    }

    /// Returns the zone that contains a sector.
    fn zone_of(&self, sector: u64) -> &Zone {
        self.zone_by(|zone| zone.first_sector <= sector)
    }

    /// Returns the last zone for which `starts` holds. It holds for a prefix of the zones.
    fn zone_by(&self, starts: impl Fn(&Zone) -> bool) -> &Zone {
        &self.zones[self.zones.partition_point(starts).saturating_sub(1)]
    }
}

/// Returns the number of sectors on a track for each zone, from the outermost to the innermost.
fn sectors_per_track(model: &Hdd, cylinder_pitch: u64, surfaces: u64) -> Vec<u64> {
    let zones = u64::from(model.zones.max(1));
    let (outer, inner) = (model.rate_outer.0, model.rate_inner.0.min(model.rate_outer.0));
    (0..zones)
        .map(|zone| {
            let rate = outer - (outer - inner) * zone / (zones - 1).max(1);
            // A cylinder has as many sectors as the rate gives in the cylinder's time.
            let cylinder = u128::from(rate) * u128::from(cylinder_pitch)
                / (1_000_000_000 * u128::from(Sectors::SIZE));
            ((cylinder + u128::from(surfaces) / 2) as u64 / surfaces).max(1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use disklab_units::Rate;
    use proptest::prelude::*;

    use super::*;
    use crate::hdd::tests::nas_4tb;

    const TURN: u64 = 8_333_333;
    const SKEW: Skew = Skew { surface: 800_000, cylinder: 1_100_000 };

    fn geometry() -> Geometry {
        Geometry::new(&nas_4tb(), Bytes(4_000_000_000_000), TURN, SKEW)
    }

    #[test]
    fn addresses_fill_the_disk_from_the_outside_in() {
        let geometry = geometry();
        assert_eq!(geometry.place(0), TapePlace { arm: Arm { cylinder: 0, surface: 0 }, tape: 0 });
        let last = geometry.place(geometry.sectors - 1);
        assert!(last.arm.cylinder < geometry.cylinders);
        // Rounding up leaves at most one cylinder of each zone unused.
        assert!(last.arm.cylinder >= geometry.cylinders - nas_4tb().zones, "{last:?}");
    }

    #[test]
    fn a_tape_runs_at_the_rates_of_the_data_sheet() {
        let model = nas_4tb();
        let geometry = geometry();
        let rate_from = |sector: u64| {
            let sectors = 2_000_000;
            let time = geometry.place(sector + sectors).tape - geometry.place(sector).tape;
            Rate(sectors * 512 * 1_000_000_000 / time)
        };
        let near = |rate: Rate, wanted: Rate| rate.0.abs_diff(wanted.0) * 1000 <= wanted.0 * 2;
        assert!(near(rate_from(0), model.rate_outer), "{}", rate_from(0));
        let inner = geometry.sectors - 2_100_000;
        assert!(near(rate_from(inner), model.rate_inner), "{}", rate_from(inner));
    }

    #[test]
    fn a_change_of_track_costs_its_skew_and_no_more() {
        let geometry = geometry();
        let track = geometry.zones[0].sectors_per_track;
        let gap = |sector: u64| geometry.place(sector).tape - geometry.end_place(sector).tape;
        assert_eq!(gap(1), 0);
        assert_eq!(gap(track), SKEW.surface);
        assert_eq!(gap(track * geometry.surfaces), SKEW.cylinder);
        assert_eq!(geometry.place(track).arm.surface, 1);
        assert_eq!(geometry.place(track * geometry.surfaces).arm.cylinder, 1);
        assert_eq!(geometry.end_place(track).arm.surface, 0, "the end of a track is on it");
    }

    proptest! {
        #[test]
        fn the_tape_and_the_sectors_agree(sector in 0..7_812_500_000_u64, later in 0..2_000_u64) {
            let geometry = geometry();
            let (begin, end) = (geometry.place(sector).tape, geometry.end_place(sector + 1).tape);
            prop_assert!(begin < end);
            prop_assert_eq!(geometry.head_at(end).1, sector + 1);
            prop_assert_eq!(geometry.head_at(end - 1).1, sector);
            prop_assert_eq!(geometry.head_at(begin), (geometry.place(sector), sector));
            let next = sector + later;
            prop_assert!(geometry.place(next).tape >= begin, "the tape never runs backwards");
        }
    }
}

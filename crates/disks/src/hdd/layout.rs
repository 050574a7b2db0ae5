//! The layout of a disk's sectors, measured zone by zone.
//!
//! Some sectors on the medium have no address, because they are the drive's own, spare, or bad.
//! [`ZoneMap`] maps addresses to the other sectors.

/// The layout of all of a disk's sectors.
#[derive(Debug, Clone, PartialEq)]
pub struct SectorLayout {
    /// Number of data surfaces, each with one head.
    pub surfaces: u32,
    /// Number of addresses of the whole disk; the zones may have room for more.
    pub sectors: u64,
    pub order: SurfaceOrder,
    /// The zones from the outside in, in the order of addresses.
    pub zones: Vec<ZoneLayout>,
}

/// The order in which addresses run through the surfaces of a cylinder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurfaceOrder {
    /// Each cylinder runs from the first surface to the last.
    Same,
    /// Alternate cylinders of a zone run in opposite directions, so that a change of cylinder needs
    /// no change of head. Each zone begins with the first surface.
    TurnsInZone,
    /// Alternate cylinders run in opposite directions; the cylinder's number on the whole disk
    /// decides.
    Turns,
}

/// Cylinders with the same number of sectors on each track.
#[derive(Debug, Clone, PartialEq)]
pub struct ZoneLayout {
    pub first_cylinder: u32,
    pub cylinders: u32,
    /// Number of sectors on each track, with and without an address.
    pub sectors_per_track: u64,
    /// Number of addresses in the zone.
    pub sectors: u64,
    /// The angle of the zone's first sector on the medium, in sectors.
    pub offset: f64,
    /// Skew between the end of a track and the beginning of the next one, in sectors.
    pub track_skew: f64,
    /// Skew between the end of a track and the beginning of the next one if that is on another
    /// cylinder, in sectors.
    pub cylinder_skew: f64,
    /// Number of sectors at the zone's beginning, spare ones not counted, that have no address.
    pub empty: u64,
    /// Number of sectors on the medium after which the pattern of spare sectors repeats; at least
    /// `used`.
    pub region: u64,
    /// Number of sectors of each `region`, counted from its beginning, that are not spare.
    pub used: u64,
    /// Ascending positions of bad sectors on the medium, counted within the zone. They were found
    /// bad before addresses were assigned and have none; the following sector has the address
    /// instead. Each entry begins a run of `slip_length` sectors.
    pub slips: Vec<u64>,
    /// Length of each run in `slips`, in sectors: 1, or that of a track.
    pub slip_length: u64,
}

/// The mapping between a zone's addresses and its sectors on the medium, in both directions.
#[derive(Debug)]
pub(crate) struct ZoneMap(ZoneLayout);

impl ZoneMap {
    pub fn new(zone: &ZoneLayout, surfaces: u64) -> Self {
        let mut zone = zone.clone();
        let all = u64::from(zone.cylinders) * surfaces * zone.sectors_per_track;
        zone.region = zone.region.max(1);
        zone.used = zone.used.clamp(1, zone.region);
        zone.slips.retain(|&slip| slip < all);
        zone.slip_length = zone.slip_length.max(1);
        Self(zone)
    }

    /// Returns whether every sector has an address.
    pub fn is_plain(&self) -> bool {
        self.0.empty == 0 && self.0.slips.is_empty() && self.0.region == self.0.used
    }

    /// Returns the sector on the medium that has an address.
    pub fn on_medium(&self, in_zone: u64) -> u64 {
        let ZoneLayout { empty, region, used, slips, slip_length, .. } = &self.0;
        let counted = in_zone + empty;
        let start = counted / used * region;
        let mut sector = start + counted % used;
        // A bad sector moves only the sectors behind it in its own region, whose spares make up for
        // it.
        let before = slips.partition_point(|&slip| slip < start);
        for &slip in &slips[before..] {
            if slip > sector {
                break;
            }
            sector += slip_length;
        }
        sector
    }

    /// Returns the number of addresses before a sector on the medium: the inverse of
    /// [`ZoneMap::on_medium`], by bisection. The model asks for it once where reading ahead stops,
    /// not for each request.
    pub fn address(&self, on_medium: u64) -> u64 {
        let (mut low, mut high) = (0, self.0.sectors);
        while low < high {
            let middle = low.midpoint(high);
            if self.on_medium(middle) < on_medium { low = middle + 1 } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn zone() -> ZoneLayout {
        ZoneLayout {
            first_cylinder: 0,
            cylinders: 10,
            sectors_per_track: 20,
            sectors: 380,
            offset: 0.0,
            track_skew: 5.0,
            cylinder_skew: 7.0,
            empty: 0,
            region: 40,
            used: 38,
            slips: vec![3, 4, 50],
            slip_length: 1,
        }
    }

    #[test]
    fn bad_sectors_push_what_follows_up_to_the_spares_of_their_region() {
        let map = ZoneMap::new(&zone(), 2);
        let found: Vec<u64> =
            [0, 2, 3, 37, 38, 47, 48, 49, 75, 76].map(|address| map.on_medium(address)).to_vec();
        assert_eq!(found, [0, 2, 5, 39, 40, 49, 51, 52, 78, 80]);
    }

    #[test]
    fn what_is_empty_comes_first() {
        let map = ZoneMap::new(&ZoneLayout { empty: 40, ..zone() }, 2);
        assert_eq!((map.on_medium(0), map.address(0)), (42, 0));
    }

    #[test]
    fn a_bad_track_moves_all_behind_it() {
        let zone =
            ZoneLayout { slips: vec![20], slip_length: 20, region: 400, used: 400, ..zone() };
        let map = ZoneMap::new(&zone, 2);
        assert_eq!([19, 20, 39].map(|address| map.on_medium(address)), [19, 40, 59]);
    }

    proptest! {
        #[test]
        fn there_and_back(address in 0..370_u64, empty in 0..10_u64) {
            let map = ZoneMap::new(&ZoneLayout { empty, ..zone() }, 2);
            let sector = map.on_medium(address);
            prop_assert_eq!(map.address(sector), address);
            prop_assert_eq!(map.address(sector + 1), address + 1);
            prop_assert!(map.on_medium(address + 1) > sector);
        }
    }
}

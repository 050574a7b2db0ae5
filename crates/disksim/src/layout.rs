//! Reads `dm_layout_g1`, the mapping from addresses to sectors on the medium.

use disklab_disks::{SectorLayout, SurfaceOrder, ZoneLayout};

use crate::Result;
use crate::fields::BlockFields;
use crate::syntax::ParamValue;

/// The largest number of cylinders that is accepted, far beyond any disk's. `TRACK` is that of
/// sectors on a track.
const CYLINDERS: i64 = 1_000_000;
const TRACK: i64 = 100_000;

pub(crate) fn read(
    disk: BlockFields<'_>,
    layout: BlockFields<'_>,
    left_out: &mut Vec<String>,
) -> Result<SectorLayout> {
    let surfaces = disk.integer("Number of data surfaces", 1..=64)?;
    let order = match layout.integer("LBN-to-PBN mapping scheme", 0..=2)? {
        0 => SurfaceOrder::Same,
        1 => SurfaceOrder::TurnsInZone,
        _ => SurfaceOrder::Turns,
    };
    let scheme = layout.integer("Sparing scheme used", 0..=10)?;
    if matches!(scheme, 5 | 6) {
        left_out.push("spare sectors at the front of a cylinder (taken to be at its end)".into());
    }
    let range = layout.integer_or("Rangesize for sparing", 1..=CYLINDERS, 1)?;
    let values = layout.list("Zones")?;
    if values.is_empty() || values.len() > 10_000 {
        return Err(layout.wrong("Zones", "a list of 1 to 10000 blocks"));
    }
    let mut zones: Vec<ZoneLayout> = Vec::with_capacity(values.len());
    for value in values {
        let ParamValue::Block(block) = value else {
            return Err(layout.wrong("Zones", "a list of blocks"));
        };
        let zone = zone(BlockFields(block), Sparing { surfaces, scheme, range }, left_out)?;
        let end = zones.last().map_or(0, |last| last.first_cylinder + last.cylinders);
        if zone.first_cylinder < end {
            return Err(BlockFields(block).wrong("First cylinder number", "beyond the zone before"));
        }
        zones.push(zone);
    }
    let all: u64 = zones.iter().map(|zone| zone.sectors).sum();
    let sectors = disk.integer("Block count", 1..=1 << 40)?;
    if let Some(more) = sectors.checked_sub(all).filter(|&more| more > 0) {
        left_out.push(format!("{more} sectors that `Block count` has and no zone holds"));
    }
    Ok(SectorLayout { surfaces: surfaces as u32, sectors: sectors.min(all), order, zones })
}

/// The placement of the spare sectors that replace bad ones.
#[derive(Clone, Copy)]
struct Sparing {
    surfaces: u64,
    /// DiskSim's number of the scheme.
    scheme: u64,
    range: u64,
}

fn zone(zone: BlockFields<'_>, sparing: Sparing, left_out: &mut Vec<String>) -> Result<ZoneLayout> {
    let first = zone.integer("First cylinder number", 0..=CYLINDERS)?;
    let through = zone.integer("Last cylinder number", first.cast_signed()..=CYLINDERS)?;
    let cylinders = through - first + 1;
    let spt = zone.integer("Blocks per track", 1..=TRACK)?;
    let all = cylinders * sparing.surfaces * spt;
    let empty = zone.integer_or("Empty space at zone front", 0..=all.cast_signed(), 0)?;
    let spares = zone.integer_or("Number of spares", 0..=all.cast_signed(), 0)?;
    let slips = zone.counts("slips")?;
    if !zone.list("defects")?.is_empty() {
        push_once(left_out, "sectors found bad later, whose data is elsewhere (defects)");
    }
    let skew = |key| zone.real_or(key, 0.0..=spt as f64, 0.0);
    let bad = slips.len() as u64;
    // If the spares are at the end of the disk, they replace bad sectors there and take none of the
    // zone's sectors.
    let at_end = if matches!(sparing.scheme, 4 | 6 | 7 | 10) { bad } else { 0 };
    let on_cylinder = sparing.surfaces * spt;
    // These are the interval of the spares, the number of spare sectors in each interval, and the
    // number of sectors that therefore have no address.
    let (region, spare, lost) = match sparing.scheme {
        // There are no spares, or all are at the end of the disk.
        0 | 7 => (all, 0, at_end),
        // The spares are whole tracks at the end of a zone, and bad sectors are named by track.
        1 => (all, 0, spares.saturating_mul(spt)),
        // The spares are at the end of each track.
        3 => (spt, spares, spares.saturating_mul(cylinders * sparing.surfaces)),
        // The spares are at the end of each cylinder.
        2 | 4..=6 => (on_cylinder, spares, spares.saturating_mul(cylinders).saturating_add(at_end)),
        // The spares are at the end of each range of cylinders.
        8 => {
            let ranges = cylinders / sparing.range;
            (on_cylinder * sparing.range, spares, spares.saturating_mul(ranges))
        }
        // The spares are at the end of each zone.
        _ => (all, 0, spares + at_end),
    };
    let slip_length = if sparing.scheme == 1 { spt } else { 1 };
    let sectors = all
        .checked_sub(empty.saturating_add(lost))
        .filter(|&sectors| sectors > 0 && spare < region);
    let sectors =
        sectors.ok_or_else(|| zone.wrong("Number of spares", "fewer than the zone's sectors"))?;
    if bad > 0 && matches!(sparing.scheme, 2..=6) {
        push_once(
            left_out,
            "bad sectors that shift the angle of the tracks behind them (slips with spares per \
             track or cylinder)",
        );
    }
    Ok(ZoneLayout {
        first_cylinder: first as u32,
        cylinders: cylinders as u32,
        sectors_per_track: spt,
        sectors,
        offset: skew("Offset of first block")?.trunc(),
        track_skew: skew("Skew for track switch")?,
        cylinder_skew: skew("Skew for cylinder switch")?,
        empty,
        region,
        used: region - spare,
        slips: slips.iter().map(|slip| slip.saturating_mul(slip_length)).collect(),
        slip_length,
    })
}

pub(crate) fn push_once(left_out: &mut Vec<String>, what: &str) {
    if !left_out.iter().any(|other| other == what) {
        left_out.push(what.to_owned());
    }
}

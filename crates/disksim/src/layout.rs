//! `dm_layout_g1`: which sector on the medium an address is.

use disklab_disks::{Layout, SurfaceOrder, ZoneLayout};

use crate::Error;
use crate::fields::Fields;
use crate::syntax::Value;

/// Where a drive keeps the spare sectors that stand in for bad ones, by DiskSim's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sparing {
    None,
    /// Whole tracks, at the end of a zone; bad ones are named by track.
    Tracks,
    /// Sectors at the end of each track, cylinder, range of cylinders, or zone.
    PerTrack,
    PerCylinder {
        at_end_of_disk: bool,
    },
    PerRange,
    PerZone {
        at_end_of_disk: bool,
    },
    EndOfDisk,
}

/// The largest numbers that make a disk, far beyond any.
const CYLINDERS: i64 = 1_000_000;
const TRACK: i64 = 100_000;

pub(crate) fn read(
    disk: Fields<'_>,
    layout: Fields<'_>,
    left_out: &mut Vec<String>,
) -> Result<Layout, Error> {
    let surfaces = disk.integer("Number of data surfaces", 1..=64)?;
    let order = match layout.integer("LBN-to-PBN mapping scheme", 0..=2)? {
        0 => SurfaceOrder::Same,
        1 => SurfaceOrder::TurnsInZone,
        _ => SurfaceOrder::Turns,
    };
    let sparing = match layout.integer("Sparing scheme used", 0..=10)? {
        0 => Sparing::None,
        1 => Sparing::Tracks,
        3 => Sparing::PerTrack,
        scheme @ (2 | 4..=6) => {
            if scheme > 4 {
                left_out.push(
                    "spare sectors at the front of a cylinder (taken to be at its end)".into(),
                );
            }
            Sparing::PerCylinder { at_end_of_disk: scheme == 4 || scheme == 6 }
        }
        7 => Sparing::EndOfDisk,
        8 => Sparing::PerRange,
        scheme => Sparing::PerZone { at_end_of_disk: scheme == 10 },
    };
    let range = layout.integer_or("Rangesize for sparing", 1..=CYLINDERS, 1)?;
    let values = layout.list("Zones")?;
    if values.is_empty() || values.len() > 10_000 {
        return Err(layout.wrong("Zones", "a list of 1 to 10000 blocks"));
    }
    let mut zones: Vec<ZoneLayout> = Vec::with_capacity(values.len());
    for value in values {
        let Value::Block(block) = value else {
            return Err(layout.wrong("Zones", "a list of blocks"));
        };
        let zone = zone(Fields(block), Medium { surfaces, sparing, range }, left_out)?;
        if zones
            .last()
            .is_some_and(|last| last.first_cylinder + last.cylinders > zone.first_cylinder)
        {
            return Err(Fields(block).wrong("First cylinder number", "beyond the zone before"));
        }
        zones.push(zone);
    }
    let all: u64 = zones.iter().map(|zone| zone.sectors).sum();
    let sectors = disk.integer("Block count", 1..=1 << 40)?;
    if sectors > all {
        left_out
            .push(format!("{} sectors that `Block count` has and no zone holds", sectors - all));
    }
    Ok(Layout { surfaces: surfaces as u32, sectors: sectors.min(all), order, zones })
}

#[derive(Clone, Copy)]
struct Medium {
    surfaces: u64,
    sparing: Sparing,
    range: u64,
}

fn zone(zone: Fields<'_>, medium: Medium, left_out: &mut Vec<String>) -> Result<ZoneLayout, Error> {
    let first = zone.integer("First cylinder number", 0..=CYLINDERS)?;
    let through = zone.integer("Last cylinder number", first.cast_signed()..=CYLINDERS)?;
    let cylinders = through - first + 1;
    let spt = zone.integer("Blocks per track", 1..=TRACK)?;
    let all = cylinders * medium.surfaces * spt;
    let empty = zone.integer_or("Empty space at zone front", 0..=all.cast_signed(), 0)?;
    let spares = zone.integer_or("Number of spares", 0..=all.cast_signed(), 0)?;
    let slips = zone.counts("slips")?;
    if !zone.list("defects")?.is_empty() {
        push_once(left_out, "sectors found bad later, whose data is elsewhere (defects)");
    }
    let skew = |key| zone.real_or(key, 0.0..=spt as f64, 0.0);
    let bad = slips.len() as u64;
    // These have their spares there, and take none of the zone's.
    let at_end = |at_end_of_disk| if at_end_of_disk { bad } else { 0 };
    let on_cylinder = medium.surfaces * spt;
    // How often spares come, how many sectors have addresses, and how many that leaves in the zone.
    let (region, spare, lost, slip_length) = match medium.sparing {
        Sparing::None => (all, 0, 0, 1),
        Sparing::Tracks => (all, 0, spares.saturating_mul(spt), spt),
        Sparing::PerTrack => (spt, spares, spares.saturating_mul(cylinders * medium.surfaces), 1),
        Sparing::PerCylinder { at_end_of_disk } => (
            on_cylinder,
            spares,
            spares.saturating_mul(cylinders).saturating_add(at_end(at_end_of_disk)),
            1,
        ),
        Sparing::PerRange => {
            (on_cylinder * medium.range, spares, spares.saturating_mul(cylinders / medium.range), 1)
        }
        Sparing::PerZone { at_end_of_disk } => (all, 0, spares + at_end(at_end_of_disk), 1),
        Sparing::EndOfDisk => (all, 0, bad, 1),
    };
    let sectors = all
        .checked_sub(empty.saturating_add(lost))
        .filter(|&sectors| sectors > 0 && spare < region);
    let sectors =
        sectors.ok_or_else(|| zone.wrong("Number of spares", "fewer than the zone's sectors"))?;
    if bad > 0 && matches!(medium.sparing, Sparing::PerTrack | Sparing::PerCylinder { .. }) {
        push_once(
            left_out,
            "bad sectors that shift the angle of the tracks behind them (slips with spares per track or cylinder)",
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
        slips: if slip_length > 1 {
            slips.iter().map(|track| track.saturating_mul(slip_length)).collect()
        } else {
            slips
        },
        slip_length,
    })
}

pub(crate) fn push_once(left_out: &mut Vec<String>, what: &str) {
    if !left_out.iter().any(|other| other == what) {
        left_out.push(what.to_owned());
    }
}

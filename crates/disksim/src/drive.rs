//! Reads a drive from its files.

use disklab_disks::{
    After, CommandTimes, DetailedCache, DetailedHdd, LookAhead, LookAheadEnd, ScatteredWrite,
};
use disklab_units::Nanos;
use serde::Serialize;

use crate::fields::BlockFields;
use crate::layout::push_once;
use crate::syntax::{ParamBlock, ParamValue};
use crate::{Error, Files, Result, layout, seek, syntax};

#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    /// The maker's name of the drive, as in the file.
    pub name: String,
    pub model: DetailedHdd,
    /// Parameters of the file that the model leaves out.
    pub left_out: Vec<String>,
    pub summary: DriveSummary,
}

/// The numbers of a drive that a report shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveSummary {
    pub sectors: u64,
    pub rpm: f64,
    pub surfaces: u32,
    pub zones: usize,
}

impl Drive {
    /// Reads the first disk in `file` and in the files that it takes in.
    pub fn read(file: &str, files: &mut Files<'_>) -> Result<Self> {
        let blocks = syntax::parse(file, files)?;
        let disk = blocks.iter().find(|block| block.kind == "disksim_disk");
        let disk = BlockFields(disk.ok_or_else(|| Error::NoDisk { file: file.to_owned() })?);
        let buses: Vec<&ParamBlock> =
            blocks.iter().filter(|block| block.kind == "disksim_bus").collect();
        let mut left_out = Vec::new();
        let medium = disk.block("Model")?;
        let mechanics = medium.block("Mechanical Model")?;
        let rpm = mechanics.real("Rotation speed (in rpms)", 600.0..=100_000.0)?;
        let cylinders = medium.integer("Number of cylinders", 1..=1_000_000)?;
        let layout = layout::read(medium, medium.block("Layout Model")?, &mut left_out)?;
        let seeks = seek::read(mechanics, cylinders, files)?;
        let head_switch = mechanics.millis("Head switch time")?;
        let settle = mechanics.real_or("Add. write settling delay", -1_000.0..=1_000.0, 0.0)?;
        let (sectors, surfaces, zones) = (layout.sectors, layout.surfaces, layout.zones.len());
        let summary = DriveSummary { sectors, rpm, surfaces, zones };
        let model = DetailedHdd {
            layout,
            turn: Nanos((60e9 / rpm).round() as u64),
            seeks,
            head_switch,
            write_settle: (settle * 1e6) as i64,
            cache: cache(disk)?,
            times: times(disk, &buses)?,
        };
        note_left_out(disk, mechanics, &mut left_out)?;
        Ok(Self { name: disk.name(), model, left_out, summary })
    }
}

/// Sectors that drives with a second disconnect before a write have been observed to collect first.
const LEAST_AFTER_DISCONNECT: u64 = 10;
/// A length in sectors that no track exceeds.
const LONGEST_TRACK: u64 = 1 << 20;

fn cache(disk: BlockFields<'_>) -> Result<DetailedCache> {
    let segment = disk.integer("Segment size (in blks)", 1..=1 << 30)?;
    let own_write_segment = disk.flag("Use separate write segment")?;
    let segments = disk.integer("Number of buffer segments", 0..=100_000)?;
    let most = disk.integer_or("Maximum read-ahead (blks)", 0..=1 << 30, 0)?;
    let most = if most == 0 { segment } else { most };
    let (sectors, up_to) = match disk.integer_or("Buffer continuous read", 0..=4, 0)? {
        0 => (0, LookAheadEnd::Anywhere),
        1 => (most, LookAheadEnd::Track),
        2 => (most, LookAheadEnd::Cylinder),
        3 => (most, LookAheadEnd::Anywhere),
        // Only track boundaries count here, whatever their number of sectors.
        _ => (LONGEST_TRACK, LookAheadEnd::NextTrack),
    };
    Ok(DetailedCache {
        segments: (segments.saturating_sub(u64::from(own_write_segment))).max(1) as u32,
        segment,
        look_ahead: LookAhead {
            sectors,
            up_to,
            in_sequence: false,
            on_hit: disk.flag("Read-ahead on idle hit")?,
        },
        write_cache: disk.flag("Fast write level")?,
        read_watermark: disk.real_or("High (read) water mark", 0.0..=1.0, 0.0)?,
        write_least: if disk.flag("Extra write disconnect")? { LEAST_AFTER_DISCONNECT } else { 1 },
        keeps_written: disk.flag("Allow read hits on write data")? && !own_write_segment,
        reads_on_arrival: disk.flag("Immediate buffer read")?,
    })
}

fn times(disk: BlockFields<'_>, buses: &[&ParamBlock]) -> Result<CommandTimes> {
    let scale = disk.real_or("Time scale for overheads", 0.0..=1_000.0, 1.0)?;
    let scaled = |key: &str| {
        disk.millis_or_none(key).map(|time| Nanos((time.0 as f64 * scale).round() as u64))
    };
    let each = scaled("Per-request overhead time")?;
    let after = |kind: &str| -> Result<After> {
        let read = scaled(&format!("{kind} over. after read"))?;
        Ok(After { read: read + each, write: scaled(&format!("{kind} over. after write"))? + each })
    };
    let bulk = disk.millis_or_none("Bulk sector transfer time")?;
    // The slowest bus on the data's path sets the rate.
    let cable = |key: &str| {
        buses
            .iter()
            .try_fold(bulk, |slowest, bus| Ok(slowest.max(BlockFields(bus).millis_or_none(key)?)))
    };
    let scattered_write = if disk.flag("Extra write disconnect")? {
        let command = scaled("Extradisc command overhead")? + each;
        let away = command
            + scaled("Extradisc disconnect overhead")?
            + scaled("Extradisc inter-disconnect delay")?;
        Some(ScatteredWrite {
            begins: command + scaled("Extradisc seek delta")?,
            takes: away + scaled("First reselect overhead")? + scaled("Data preparation overhead")?,
            reselection: scaled("Other reselect overhead")?,
        })
    } else {
        None
    };
    let write = if disk.flag("Fast write level")? { "Write hit" } else { "Write miss" };
    Ok(CommandTimes {
        read_hit: after("Read hit")?,
        read_miss: after("Read miss")?,
        write: after(write)?,
        preparation: scaled("Data preparation overhead")?,
        reselection: scaled("First reselect overhead")?,
        read_completion: scaled("Read completion overhead")?,
        write_completion: scaled("Write completion overhead")?,
        scattered_write,
        send: cable("Read block transfer time")?,
        take: cable("Write block transfer time")?,
    })
}

/// Adds to `left_out` the features that the file asks for and the model lacks, with their keys.
fn note_left_out(
    disk: BlockFields<'_>,
    mechanics: BlockFields<'_>,
    left_out: &mut Vec<String>,
) -> Result<()> {
    let flags = [
        ("Immediate buffer write", "writing on arrival, whatever comes under the head first"),
        ("Read any free blocks", "caching what passes under the head before the data"),
        ("Minimum seek delay", "a least time for the seek of a write"),
        ("Minimum read-ahead (blks)", "a least read-ahead before the next command"),
        ("Preseeking level", "seeking for the next command while data is still on the cable"),
        ("Percent error in rpms", "an error of the rotation speed"),
        ("Allow almost read hits", "almost read hits"),
        ("Allow sneaky full read hits", "read hits while another command is served"),
    ];
    for (key, meaning) in flags {
        let asked = |fields: BlockFields<'_>| match fields.0.get(key) {
            Some(ParamValue::Integer(value)) => *value != 0,
            Some(ParamValue::Real(value)) => *value != 0.0,
            _ => false,
        };
        if asked(disk) || asked(mechanics) {
            push_once(left_out, &format!("{meaning} (`{key}`)"));
        }
    }
    if disk.integer_or("Max queue length", 0..=1 << 20, 1)? > 1 {
        push_once(left_out, "several commands in the drive at a time (`Max queue length`)");
    }
    Ok(())
}

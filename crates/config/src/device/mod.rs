//! `lab/devices/*.toml`: a model of one disk.
//!
//! ```toml
//! summary = "4 TB NAS disk, 7200 rpm"
//! size = "4 TB"
//!
//! [hdd]            # exactly one of [hdd], [ssd], [card] and [constant]
//! rpm = 7200
//! # ...
//!
//! [estimated]      # numbers that no data sheet gave, each with its range
//! queue_patience = ["1 s", "5 s"]
//! ```
//!
//! A table `[host]`, as in an array's file, has the time of the machine in which the drive was
//! measured. With `like = "nas-4tb"`, a file takes the keys that it lacks from that device.

mod card;
mod constant;
mod estimate;
mod hdd;
mod like;
mod range_end;
mod ssd;

pub use card::Card;
pub use constant::Constant;
pub use estimate::Estimate;
pub use hdd::{Hdd, Retries};
pub use like::{Inheritance, LIKE, inherited_keys, with_inherited};
pub use range_end::{AS_IS, RangeEnd};
pub use ssd::{
    CHANNELS_RATE, MOST_BLOCKS, MOST_PAGE_TYPES, Preconditioned, Slc, Ssd, blocks_needed,
};

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::host::HostTime;
use crate::read::TomlTable;

/// A disk of an array or of the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Name of the device's file, without `.toml`.
    pub name: String,
    /// Summary of one line for people.
    pub summary: String,
    /// Size of the whole disk, from which its model is built: a multiple of 4 KiB.
    pub bytes: Bytes,
    /// Size of the part, from the first sector on, that the guest sees as the disk. It is at most
    /// `bytes`, and equal to it unless the array uses a part. The rest of the disk exists (seeks
    /// and zones are those of the whole disk) and stays unused.
    pub used: Bytes,
    pub model: Model,
    /// The estimated numbers, each with its range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimated: Vec<Estimate>,
    /// The device that the file names as `like`, and the keys that were taken from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<Inheritance>,
    /// The time of the machine in which the drive was measured, which is not a part of the model.
    /// Only a comparison with those measurements adds it; a trial has the `[host]` of its array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostTime>,
}

/// The model of a disk: its family, and the numbers of that family.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    Hdd(Hdd),
    Ssd(Ssd),
    Card(Card),
    Constant(Constant),
}

impl Model {
    /// Returns the family's word, as in a device's file.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Hdd(_) => "hdd",
            Self::Ssd(_) => "ssd",
            Self::Card(_) => "card",
            Self::Constant(_) => "constant",
        }
    }

    /// Returns whether a write can complete before it survives a power cut, so that the kernel must
    /// flush.
    pub fn write_cache(&self) -> bool {
        match self {
            Self::Hdd(hdd) => hdd.write_cache,
            Self::Ssd(ssd) => !ssd.power_loss_protection,
            Self::Card(_) | Self::Constant(_) => false,
        }
    }

    /// Returns the largest number of bytes of completed writes that a power cut can lose: those
    /// that the cache holds and the media do not.
    pub fn volatile(&self) -> Bytes {
        match self {
            Self::Hdd(hdd) if hdd.write_cache => hdd.write_buffer,
            Self::Ssd(ssd) if !ssd.power_loss_protection => ssd.write_buffer,
            Self::Hdd(_) | Self::Ssd(_) | Self::Card(_) | Self::Constant(_) => Bytes(0),
        }
    }

    /// Returns the model of this disk behind a machine's port.
    #[must_use]
    pub fn connected_to(&self, host: &HostTime) -> Self {
        let mut model = self.clone();
        match (&mut model, host.link) {
            (Self::Hdd(hdd), Some(link)) => hdd.link = hdd.link.min(link),
            (Self::Ssd(ssd), Some(link)) => ssd.link = ssd.link.min(link),
            _ => {}
        }
        model
    }

    /// Returns whether the disk turns. The guest's kernel gets this flag, and a suite has run times
    /// for both kinds.
    pub fn rotational(&self) -> bool {
        match self {
            Self::Hdd(_) => true,
            Self::Ssd(_) | Self::Card(_) => false,
            Self::Constant(constant) => constant.rotational,
        }
    }

    /// Returns the number of requests that the disk takes at once; the kernel's block layer keeps
    /// the others.
    pub fn queue_depth(&self) -> u32 {
        match self {
            Self::Hdd(hdd) => hdd.queue_depth,
            Self::Ssd(ssd) => ssd.queue_depth,
            Self::Card(_) => 1,
            Self::Constant(constant) => constant.queue_depth,
        }
    }

    /// Returns the number of requests that the disk's driver takes at once, for which the block
    /// layer has tags. Linux's driver for cards takes 64 and does them one by one
    /// (`MMC_QUEUE_DEPTH`); with one tag, chance would decide which request waits for it. A disk
    /// behind AHCI has the port's 32 tags (`AHCI_MAX_CMDS`), whatever its own queue is. With only
    /// one tag, a disk without NCQ would have an I/O scheduler of two requests
    /// (`blk_mq_init_sched`), too few for the scheduler to choose from.
    pub fn tags(&self) -> u32 {
        match self {
            Self::Card(_) => 64,
            Self::Hdd(_) | Self::Ssd(_) => self.queue_depth().max(32),
            Self::Constant(_) => self.queue_depth(),
        }
    }

    /// Returns the largest number of sectors of 512 bytes in one request, and of pieces of memory.
    pub fn largest_request(&self) -> (u32, u32) {
        match self {
            // The limits of sdhci are 512 KiB, and 128 descriptors of ADMA2.
            Self::Card(_) => (1024, 128),
            // Linux's limits for a disk behind AHCI are 65535 sectors in a command, and 168 entries
            // in a scatter list.
            Self::Hdd(_) | Self::Ssd(_) | Self::Constant(_) => (65535, 168),
        }
    }
}

/// Size of a logical block of every disk, in bytes. Sizes of disks are rounded down to whole
/// blocks.
pub(crate) const BLOCK: u64 = 4096;

/// Rounds a size down to whole blocks.
pub(crate) fn whole_blocks(size: Bytes) -> Bytes {
    Bytes(size.0 / BLOCK * BLOCK)
}

const SMALLEST: Bytes = Bytes::mib(1);
const LARGEST: Bytes = Bytes(200_000_000_000_000);

impl Device {
    /// Reads the top table of a device's file; `name` is the file's name.
    pub fn read(name: &str, table: &TomlTable<'_, '_>) -> Option<Self> {
        let summary = table.required("summary");
        let bytes = table.within("size", SMALLEST..=LARGEST);
        let model = read_model(table, bytes);
        let family = FAMILIES.into_iter().find(|family| table.has(family));
        let estimated = estimate::read(table, family.map(keys_of));
        let inherited = like::read(table);
        let host = table.optional_table("host", HostTime::from_table);
        let bytes = bytes.map(whole_blocks)?;
        Some(Self {
            name: name.to_owned(),
            summary: summary?,
            bytes,
            used: bytes,
            model: model?,
            estimated: estimated?,
            inherited: inherited?,
            host: host?,
        })
    }
}

impl Device {
    /// Returns whether this drive can replace another: both turn, or neither does.
    pub fn replaces(&self, other: &Self) -> bool {
        self.model.rotational() == other.model.rotational()
    }

    /// Returns the disks with this drive in place of each that it replaces. The used part stays as
    /// large as it was, or becomes the whole drive if the drive is smaller.
    pub fn in_place_of(&self, disks: &[Self]) -> Vec<Self> {
        let replaced = |disk: &Self| {
            if self.replaces(disk) {
                Self { used: disk.used.min(self.bytes), ..self.clone() }
            } else {
                disk.clone()
            }
        };
        disks.iter().map(replaced).collect()
    }

    /// Returns the words for the kind of disks that this drive replaces.
    pub fn kind(&self) -> &'static str {
        if self.model.rotational() { "hard disk" } else { "solid-state disk" }
    }
}

/// The classes of devices: the names of their tables.
pub const FAMILIES: [&str; 4] = ["hdd", "ssd", "card", "constant"];

/// Returns the keys of a family's table, in the order of the documentation.
fn keys_of(family: &str) -> &'static [&'static str] {
    match family {
        "hdd" => Hdd::KEYS,
        "ssd" => Ssd::KEYS,
        "card" => Card::KEYS,
        _ => Constant::KEYS,
    }
}

fn read_model(table: &TomlTable<'_, '_>, bytes: Option<Bytes>) -> Option<Model> {
    const TABLES: &str = "[hdd], [ssd], [card] and [constant]";
    let given: Vec<_> = FAMILIES.into_iter().filter(|key| table.has(key)).collect();
    if let [first, second, ..] = given[..] {
        table.wrong(second, format!("a device has one of {TABLES}; [{first}] is here too"));
        return None;
    }
    let Some(key) = given.first() else {
        table.wrong("", format!("a device needs one of the tables {TABLES}"));
        return None;
    };
    let model = table.table(key)?;
    match *key {
        "hdd" => Hdd::read(&model, bytes).map(Model::Hdd),
        "ssd" => Ssd::read(&model, bytes).map(Model::Ssd),
        "card" => Card::read(&model).map(Model::Card),
        _ => Constant::read(&model).map(Model::Constant),
    }
}

#[cfg(test)]
mod tests;

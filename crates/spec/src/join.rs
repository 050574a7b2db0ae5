//! How the disks of an array are joined, and what that leaves of their space.

use std::fmt;
use std::str::FromStr;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use crate::read::{FromToml, from_string, unknown};

/// How the disks of an array are joined. Written `single`, `btrfs-raid1` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Join {
    /// One bare disk: no filesystem, fio opens the block device itself.
    Single,
    /// One btrfs over all disks.
    Btrfs(Profile),
}

/// A btrfs profile, for data and metadata both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    Single,
    Raid0,
    Raid1,
    Raid1c3,
    Raid1c4,
    Raid10,
}

/// What btrfs's chunk allocator needs to know of a profile: `btrfs_raid_array` in the kernel's fs/btrfs/volumes.c.
struct Layout {
    copies: u32,
    devices_min: usize,
    /// How many devices a chunk is spread over at most; `None` is as many as have room.
    devices_max: Option<usize>,
}

impl Join {
    pub const ALL: [Self; 7] = [
        Self::Single,
        Self::Btrfs(Profile::Single),
        Self::Btrfs(Profile::Raid0),
        Self::Btrfs(Profile::Raid1),
        Self::Btrfs(Profile::Raid1c3),
        Self::Btrfs(Profile::Raid1c4),
        Self::Btrfs(Profile::Raid10),
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Btrfs(Profile::Single) => "btrfs-single",
            Self::Btrfs(Profile::Raid0) => "btrfs-raid0",
            Self::Btrfs(Profile::Raid1) => "btrfs-raid1",
            Self::Btrfs(Profile::Raid1c3) => "btrfs-raid1c3",
            Self::Btrfs(Profile::Raid1c4) => "btrfs-raid1c4",
            Self::Btrfs(Profile::Raid10) => "btrfs-raid10",
        }
    }

    /// Copies of each block that a read can be served from. With 1, a read policy has no choice.
    pub fn mirrors(self) -> u32 {
        match self {
            Self::Single => 1,
            Self::Btrfs(profile) => profile.layout().copies,
        }
    }

    /// The fewest disks it works with.
    pub fn devices_min(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Btrfs(profile) => profile.layout().devices_min,
        }
    }

    /// What disks of these sizes can hold in data, before metadata.
    ///
    /// For btrfs this is its chunk allocator in small steps: each chunk goes to the disks with most room left.
    pub fn usable(self, disks: &[Bytes]) -> Bytes {
        match self {
            Self::Single => disks.first().copied().unwrap_or_default(),
            Self::Btrfs(profile) => profile.usable(disks),
        }
    }
}

impl Profile {
    /// As mkfs.btrfs spells it after `-d` and `-m`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid1c3 => "raid1c3",
            Self::Raid1c4 => "raid1c4",
            Self::Raid10 => "raid10",
        }
    }

    const fn layout(self) -> Layout {
        let (copies, devices_min, devices_max) = match self {
            Self::Single => (1, 1, Some(1)),
            Self::Raid0 => (1, 1, None),
            Self::Raid1 => (2, 2, Some(2)),
            Self::Raid1c3 => (3, 3, Some(3)),
            Self::Raid1c4 => (4, 4, Some(4)),
            Self::Raid10 => (2, 2, None),
        };
        Layout { copies, devices_min, devices_max }
    }

    fn usable(self, disks: &[Bytes]) -> Bytes {
        /// Steps in which all space is given out: fine enough to be within a part in a thousand of the limit.
        const STEPS: u64 = 16_384;
        let Layout { copies, devices_min, devices_max } = self.layout();
        let mut room: Vec<u64> = disks.iter().map(|disk| disk.0).collect();
        let step = (room.iter().sum::<u64>() / STEPS).max(1);
        let mut usable = 0;
        loop {
            room.sort_unstable_by(|one, other| other.cmp(one));
            let with_room = room.iter().filter(|&&left| left > 0).count();
            // Copies come in whole sets: of five disks, RAID10 uses four for a chunk.
            let wide = with_room.min(devices_max.unwrap_or(usize::MAX)) / copies as usize * copies as usize;
            if wide < devices_min {
                return Bytes(usable);
            }
            let stripe = step.min(room[wide - 1]);
            room[..wide].iter_mut().for_each(|left| *left -= stripe);
            usable += stripe * (wide as u64 / u64::from(copies));
        }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Join {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|join| join.as_str() == text);
        found.ok_or_else(|| unknown("join", text, Self::ALL.map(Self::as_str)))
    }
}

impl FromToml for Join {
    const EXPECTED: &'static str = "the name of a join in quotes, such as \"btrfs-raid1\"";

    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        from_string(value)
    }
}

impl From<Join> for String {
    fn from(join: Join) -> Self {
        join.as_str().to_owned()
    }
}

impl TryFrom<String> for Join {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn usable(join: &str, gigabytes: &[u64]) -> f64 {
        let disks: Vec<_> = gigabytes.iter().map(|&size| Bytes(size * 1_000_000_000)).collect();
        join.parse::<Join>().unwrap().usable(&disks).0 as f64 / 1e9
    }

    fn near(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= expected / 1000.0, "{actual}, not {expected}");
    }

    #[test]
    fn equal_disks_give_their_share() {
        near(usable("single", &[10]), 10.0);
        near(usable("btrfs-single", &[10, 10]), 20.0);
        near(usable("btrfs-raid0", &[10, 10]), 20.0);
        near(usable("btrfs-raid1", &[10, 10, 10]), 15.0);
        near(usable("btrfs-raid1c3", &[10, 10, 10, 10]), 40.0 / 3.0);
        near(usable("btrfs-raid1c4", &[10, 10, 10, 10]), 10.0);
        near(usable("btrfs-raid10", &[10, 10, 10, 10]), 20.0);
    }

    #[test]
    fn unequal_disks_as_btrfs_does() {
        near(usable("btrfs-raid1", &[10, 1]), 1.0);
        near(usable("btrfs-raid1", &[12, 4, 8]), 12.0);
        near(usable("btrfs-raid1", &[30, 4, 8]), 12.0);
        near(usable("btrfs-single", &[12, 4]), 16.0);
        near(usable("btrfs-raid0", &[12, 4]), 16.0);
        // Four disks until the small ones are full, and then there are no two left.
        near(usable("btrfs-raid10", &[10, 1, 1, 1]), 2.0);
        near(usable("btrfs-raid1", &[10]), 0.0);
        near(usable("btrfs-raid1", &[]), 0.0);
    }

    proptest! {
        /// What two copies can reach at most, which the allocator for pairs does reach.
        #[test]
        fn raid1_reaches_its_bound(sizes in prop::collection::vec(1..20_000u64, 2..12)) {
            let (sum, largest) = (sizes.iter().sum::<u64>(), *sizes.iter().max().unwrap());
            let bound = (sum as f64 / 2.0).min((sum - largest) as f64);
            let usable = usable("btrfs-raid1", &sizes);
            prop_assert!(usable <= bound + 1e-9 && usable >= bound - sum as f64 / 1000.0, "{usable} of {bound}");
        }

        #[test]
        fn words_come_back(join in prop::sample::select(Join::ALL.to_vec())) {
            prop_assert_eq!(join.to_string().parse(), Ok(join));
            let json = serde_json::to_string(&join).unwrap();
            prop_assert_eq!(serde_json::from_str::<Join>(&json).unwrap(), join);
        }
    }
}

//! How the disks of an array are joined, and what that leaves of their space.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::read::{TomlTable, choices, text_form, unknown};

/// How the disks of an array are joined, and with which filesystem. Written `btrfs-raid1`,
/// `btrfs-raid0-metadata-raid1`, `zfs-mirrors`, `xfs-on-md-raid10`, `ext4`, `md-raid1`, `single`
/// and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Layout {
    /// One btrfs over all disks, which joins them itself.
    Btrfs(Profiles),
    /// One pool of OpenZFS over mirrors of two disks each, in their order.
    ZfsMirrors,
    /// A filesystem, or none (fio opens the block device), on md over all disks, or on the one
    /// disk.
    On { filesystem: Option<Filesystem>, raid: Option<Md> },
}

choices! {
    /// What is mounted, as mount(8) spells it after `-t`.
    pub enum Filesystem: "filesystem" {
        Btrfs = "btrfs",
        Ext4 = "ext4",
        Xfs = "xfs",
        Zfs = "zfs",
    }
}

choices! {
    /// A level of Linux's software RAID, as mdadm makes it by default: pieces of 512 KiB, RAID10
    /// with two near copies.
    pub enum Md: "RAID level" {
        Raid0 = "raid0",
        Raid1 = "raid1",
        Raid10 = "raid10",
    }
}

/// How one btrfs has its data and its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Profiles {
    pub data: Profile,
    pub metadata: Profile,
}

choices! {
    /// A btrfs profile, as mkfs.btrfs spells it after `-d` and `-m`.
    pub enum Profile: "profile" {
        Single = "single",
        Raid0 = "raid0",
        Raid1 = "raid1",
        Raid1c3 = "raid1c3",
        Raid1c4 = "raid1c4",
        Raid10 = "raid10",
    }
}

/// What btrfs's chunk allocator needs to know of a profile: `btrfs_raid_array` in the kernel's
/// fs/btrfs/volumes.c.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ProfileShape {
    copies: u32,
    devices_min: usize,
    /// How many devices a chunk is spread over at most; `None` is as many as have room.
    devices_max: Option<usize>,
}

/// Superblocks and bitmaps of an md array.
const MD_KEEPS: Bytes = Bytes::mib(300);

impl Layout {
    /// One bare disk, for tests.
    pub const SINGLE: Self = Self::On { filesystem: None, raid: None };

    /// The kernel option of OpenZFS, which no kernel has that is built from a package's source: a
    /// user puts it into a tree of his own (`docs/FORMAT.md`, `join`).
    pub const ZFS: &str = "ZFS";

    /// All that there are. A btrfs on one disk is `btrfs-single`.
    pub fn all() -> impl Iterator<Item = Self> {
        let under = |raid| {
            let filesystems = [None].into_iter().chain(Filesystem::ON_ONE_DEVICE.map(Some));
            filesystems.map(move |filesystem| Self::On { filesystem, raid })
        };
        let raids = [None].into_iter().chain(Md::ALL.iter().copied().map(Some));
        let single_btrfs = Self::On { filesystem: Some(Filesystem::Btrfs), raid: None };
        let on = raids.flat_map(under).filter(move |layout| *layout != single_btrfs);
        let alike = Profile::ALL.iter().copied().map(Self::btrfs);
        alike.chain(Profiles::apart().map(Self::Btrfs)).chain([Self::ZfsMirrors]).chain(on)
    }

    /// One btrfs with this profile for data and metadata both.
    pub const fn btrfs(profile: Profile) -> Self {
        Self::Btrfs(Profiles { data: profile, metadata: profile })
    }

    /// The filesystem that is mounted; none where fio opens a block device.
    pub fn filesystem(self) -> Option<Filesystem> {
        match self {
            Self::Btrfs(_) => Some(Filesystem::Btrfs),
            Self::ZfsMirrors => Some(Filesystem::Zfs),
            Self::On { filesystem, .. } => filesystem,
        }
    }

    /// The software RAID below it.
    pub fn raid(self) -> Option<Md> {
        if let Self::On { raid, .. } = self { raid } else { None }
    }

    /// Copies of each block of data, on `disks` disks.
    pub fn copies(self, disks: usize) -> u32 {
        match self {
            Self::Btrfs(Profiles { data, .. }) => data.shape().copies,
            Self::On { raid: Some(Md::Raid1), .. } => disks.try_into().unwrap_or(u32::MAX),
            Self::ZfsMirrors | Self::On { raid: Some(Md::Raid10), .. } => 2,
            Self::On { .. } => 1,
        }
    }

    /// Whether btrfs chooses which copy a read of data is served from: whether a read policy has
    /// anything to do.
    pub fn has_read_policy(self) -> bool {
        matches!(self, Self::Btrfs(Profiles { data, .. }) if data.shape().copies > 1)
    }

    /// The kernel options it needs, without `CONFIG_`. btrfs every guest has; ZFS none, but for one
    /// of the user's own ([`Self::ZFS`]).
    pub fn needs(self) -> impl Iterator<Item = &'static str> {
        let filesystem = match self.filesystem() {
            Some(Filesystem::Ext4) => Some("EXT4_FS"),
            Some(Filesystem::Xfs) => Some("XFS_FS"),
            Some(Filesystem::Btrfs | Filesystem::Zfs) | None => None,
        };
        let raid = self.raid().map(|raid| match raid {
            Md::Raid0 => "MD_RAID0",
            Md::Raid1 => "MD_RAID1",
            Md::Raid10 => "MD_RAID10",
        });
        filesystem.into_iter().chain(raid)
    }

    /// The fewest disks it works with.
    pub fn devices_min(self) -> usize {
        match self {
            Self::Btrfs(Profiles { data, metadata }) => {
                data.shape().devices_min.max(metadata.shape().devices_min)
            }
            Self::ZfsMirrors | Self::On { raid: Some(_), .. } => 2,
            Self::On { raid: None, .. } => 1,
        }
    }

    /// Records a mistake unless the layout takes so many devices.
    pub(crate) fn check_count(self, table: &TomlTable<'_, '_>, devices: usize) {
        if let Some(message) = self.wrong_count(devices) {
            table.wrong("devices", message);
        }
    }

    /// Why the layout does not take so many devices; None for no devices, which are missing.
    pub(crate) fn wrong_count(self, devices: usize) -> Option<String> {
        let (min, step) = (self.devices_min(), if self == Self::ZfsMirrors { 2 } else { 1 });
        let what = match devices {
            0 => return None,
            _ if devices < min => format!("needs at least {min} devices, here are {devices}"),
            _ if !devices.is_multiple_of(step) => {
                format!("takes {step} devices at a time, here are {devices}")
            }
            2.. if matches!(self, Self::On { raid: None, .. }) => {
                let others = "for several there are btrfs-single and md-raid0";
                format!("takes one device, here are {devices}; {others}")
            }
            _ => return None,
        };
        Some(format!("{self} {what}"))
    }

    /// The largest file that fits, beside its metadata, into disks that hold so much data.
    pub(crate) fn largest_file(self, usable: Bytes) -> Bytes {
        let kept = match self.filesystem() {
            None if self.raid().is_some() => return usable.saturating_sub(MD_KEEPS),
            None => return usable,
            // A first metadata chunk and system chunk, and about 0.2 % for checksums and extents;
            // twice that is left.
            Some(Filesystem::Btrfs) => Bytes::mib(300) + usable / 250,
            // Inodes take a 64th, a journal of 1 GiB at most, and what is kept back for root is
            // kept back from nobody.
            Some(Filesystem::Ext4 | Filesystem::Xfs) => Bytes::mib(64),
            // Of each disk labels and what is no whole metaslab; a 32nd of all, or 128 MiB, which
            // it lets nobody write to.
            Some(Filesystem::Zfs) => Bytes::mib(64).max(usable / 32) + Bytes::mib(128),
        };
        usable.saturating_sub(kept).min(usable / 10 * 9)
    }

    /// Returns how much data the used parts of disks can hold, before metadata.
    pub(crate) fn usable_of(self, disks: &[Device]) -> Bytes {
        self.usable(&disks.iter().map(|disk| disk.used).collect::<Vec<_>>())
    }

    /// What disks of these sizes can hold in data, before metadata.
    ///
    /// For btrfs this is its chunk allocator in small steps: each chunk goes to the disks with most
    /// room left.
    pub fn usable(self, disks: &[Bytes]) -> Bytes {
        let smallest = disks.iter().copied().min().unwrap_or_default();
        match self {
            Self::Btrfs(Profiles { data, .. }) => data.usable(disks),
            Self::ZfsMirrors => disks.chunks_exact(2).map(|pair| pair[0].min(pair[1])).sum(),
            Self::On { raid: None, .. } => disks.first().copied().unwrap_or_default(),
            // Where the smaller disks end, md goes on with stripes over the larger ones.
            Self::On { raid: Some(Md::Raid0), .. } => disks.iter().copied().sum(),
            Self::On { raid: Some(Md::Raid1), .. } => smallest,
            Self::On { raid: Some(Md::Raid10), .. } => Bytes(smallest.0 * disks.len() as u64 / 2),
        }
    }
}

impl Filesystem {
    /// Those that can be on md.
    pub const ON_ONE_DEVICE: [Self; 3] = [Self::Btrfs, Self::Ext4, Self::Xfs];

    /// The smallest disk that its mkfs takes, or a little more.
    pub const fn smallest(self) -> Bytes {
        match self {
            // btrfs's own limit is 109 MiB or more, by profile; ZFS's 64 MiB, of which half is kept
            // for itself.
            Self::Btrfs | Self::Zfs => Bytes::mib(128),
            Self::Ext4 => Bytes::mib(64),
            Self::Xfs => Bytes::mib(320),
        }
    }
}

impl Profiles {
    /// Those that differ: metadata in copies, as many as of data at least. Of others nobody would
    /// have any use.
    fn apart() -> impl Iterator<Item = Self> {
        let all = || Profile::ALL.iter().copied();
        let pairs = all().flat_map(move |data| all().map(move |metadata| Self { data, metadata }));
        pairs.filter(|Self { data, metadata }| {
            let (own, others) = (metadata.shape().copies, data.shape().copies);
            metadata != data && own > 1 && own >= others
        })
    }
}

impl Profile {
    const fn shape(self) -> ProfileShape {
        let (copies, devices_min, devices_max) = match self {
            Self::Single => (1, 1, Some(1)),
            Self::Raid0 => (1, 1, None),
            Self::Raid1 => (2, 2, Some(2)),
            Self::Raid1c3 => (3, 3, Some(3)),
            Self::Raid1c4 => (4, 4, Some(4)),
            Self::Raid10 => (2, 2, None),
        };
        ProfileShape { copies, devices_min, devices_max }
    }

    /// Returns what disks of these sizes hold. Trials of a suite ask this for the same few sets of
    /// disks again and again, so that each answer is kept.
    fn usable(self, disks: &[Bytes]) -> Bytes {
        type Answers = BTreeMap<(ProfileShape, Vec<Bytes>), Bytes>;
        static KNOWN: Mutex<Answers> = Mutex::new(BTreeMap::new());
        let asked = (self.shape(), disks.to_vec());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&answer) = known().get(&asked) {
            return answer;
        }
        let answer = self.allocated(disks);
        known().insert(asked, answer);
        answer
    }

    /// Gives out all space of the disks in small steps.
    fn allocated(self, disks: &[Bytes]) -> Bytes {
        /// Steps in which all space is given out: fine enough to be within a part in a thousand of
        /// the limit.
        const STEPS: u64 = 16_384;
        let ProfileShape { copies, devices_min, devices_max } = self.shape();
        let mut room: Vec<u64> = disks.iter().map(|disk| disk.0).collect();
        let step = (room.iter().sum::<u64>() / STEPS).max(1);
        let mut usable = 0;
        loop {
            room.sort_unstable_by(|one, other| other.cmp(one));
            let with_room = room.iter().filter(|&&left| left > 0).count();
            // Copies come in whole sets: of five disks, RAID10 uses four for a chunk.
            let wide = with_room.min(devices_max.unwrap_or(usize::MAX)) / copies as usize
                * copies as usize;
            if wide < devices_min {
                return Bytes(usable);
            }
            let stripe = step.min(room[wide - 1]);
            room[..wide].iter_mut().for_each(|left| *left -= stripe);
            usable += stripe * (wide as u64 / u64::from(copies));
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self {
            Self::Btrfs(Profiles { data, metadata }) if data == metadata => format!("btrfs-{data}"),
            Self::Btrfs(Profiles { data, metadata }) => format!("btrfs-{data}-metadata-{metadata}"),
            Self::ZfsMirrors => "zfs-mirrors".to_owned(),
            Self::On { filesystem: None, raid: None } => "single".to_owned(),
            Self::On { filesystem: None, raid: Some(raid) } => format!("md-{raid}"),
            Self::On { filesystem: Some(filesystem), raid: None } => filesystem.to_string(),
            Self::On { filesystem: Some(filesystem), raid: Some(raid) } => {
                format!("{filesystem}-on-md-{raid}")
            }
        })
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<(String, Self)> =
            Self::all().map(|layout| (layout.to_string(), layout)).collect();
        let found = names.iter().find(|(name, _)| name == text).map(|(_, layout)| *layout);
        found.ok_or_else(|| unknown("join", text, names.iter().map(|(name, _)| name.as_str())))
    }
}

text_form!(Layout: "the name of a join in quotes, such as \"btrfs-raid1\"");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn usable(layout: &str, gigabytes: &[u64]) -> f64 {
        let disks: Vec<_> = gigabytes.iter().map(|&size| Bytes(size * 1_000_000_000)).collect();
        layout.parse::<Layout>().unwrap().usable(&disks).0 as f64 / 1e9
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
        near(usable("ext4", &[10]), 10.0);
        near(usable("md-raid0", &[10, 10, 10]), 30.0);
        near(usable("xfs-on-md-raid1", &[10, 10, 10]), 10.0);
        near(usable("ext4-on-md-raid10", &[10, 10, 10, 10]), 20.0);
        near(usable("zfs-mirrors", &[10, 10, 10, 10]), 20.0);
    }

    #[test]
    fn who_chooses_the_copy() {
        let layout = |text: &str| text.parse::<Layout>().unwrap();
        assert!(layout("btrfs-raid1").has_read_policy());
        assert!(!layout("btrfs-on-md-raid1").has_read_policy(), "md does");
        assert!(!layout("btrfs-raid0").has_read_policy(), "there is one");
        assert_eq!(layout("btrfs-on-md-raid1").copies(3), 3);
        assert!(!layout("zfs-mirrors").has_read_policy(), "ZFS does");
        assert_eq!(layout("zfs-mirrors").copies(8), 2);
        assert_eq!(Layout::all().count(), 37);
    }

    #[test]
    fn metadata_may_have_a_profile_of_its_own() {
        let layout: Layout = "btrfs-raid0-metadata-raid1".parse().unwrap();
        assert_eq!(
            layout,
            Layout::Btrfs(Profiles { data: Profile::Raid0, metadata: Profile::Raid1 })
        );
        near(usable("btrfs-raid0-metadata-raid1", &[10, 10]), 20.0);
        assert_eq!(
            (layout.copies(4), layout.devices_min(), layout.has_read_policy()),
            (1, 2, false)
        );
        assert_eq!("btrfs-single-metadata-raid1c3".parse::<Layout>().unwrap().devices_min(), 3);
        for word in [
            "btrfs-raid1-metadata-raid1",
            "btrfs-raid1c3-metadata-raid1",
            "btrfs-raid1-metadata-single",
        ] {
            assert!(word.parse::<Layout>().is_err(), "{word}");
        }
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
        near(usable("md-raid0", &[12, 4]), 16.0);
        near(usable("md-raid1", &[12, 4]), 4.0);
        near(usable("md-raid10", &[12, 4, 4]), 6.0);
        // Pairs in the order in which they are named.
        near(usable("zfs-mirrors", &[12, 4, 4, 12]), 8.0);
        near(usable("zfs-mirrors", &[12, 12, 4, 4]), 16.0);
    }

    proptest! {
        /// What two copies can reach at most, which the allocator for pairs does reach.
        #[test]
        fn raid1_reaches_its_bound(sizes in prop::collection::vec(1..20_000u64, 2..12)) {
            let (sum, largest) = (sizes.iter().sum::<u64>(), *sizes.iter().max().unwrap());
            let bound = (sum as f64 / 2.0).min((sum - largest) as f64);
            let usable = usable("btrfs-raid1", &sizes);
            let nearly = bound - sum as f64 / 1000.0;
            prop_assert!(usable <= bound + 1e-9 && usable >= nearly, "{usable} of {bound}");
        }

        #[test]
        fn words_come_back(layout in prop::sample::select(Layout::all().collect::<Vec<_>>())) {
            prop_assert_eq!(layout.to_string().parse(), Ok(layout));
            let json = serde_json::to_string(&layout).unwrap();
            prop_assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
        }
    }
}

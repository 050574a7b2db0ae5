//! Layouts: how the disks of an array are joined, and how much space that leaves for data.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::read::{TomlTable, choices, text_form, unknown};

/// The way in which the disks of an array are joined, and their filesystem. Files spell it
/// `btrfs-raid1`, `btrfs-raid0-metadata-raid1`, `zfs-mirrors`, `xfs-on-md-raid10`, `ext4`,
/// `md-raid1`, `single` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Layout {
    /// A single btrfs over all disks; btrfs itself joins the disks.
    Btrfs(Profiles),
    /// A single pool of OpenZFS over mirrors of two disks each, in their order.
    ZfsMirrors,
    /// A filesystem on md over all disks, or on a single disk. Without a filesystem, fio opens the
    /// block device.
    On { filesystem: Option<Filesystem>, raid: Option<Md> },
}

choices! {
    /// The mounted filesystem, as mount(8) spells it after `-t`.
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

/// The profiles of a btrfs for its data and its metadata.
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

/// The properties of a profile that btrfs's chunk allocator uses: `btrfs_raid_array` in the
/// kernel's fs/btrfs/volumes.c.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ProfileShape {
    copies: u32,
    devices_min: usize,
    /// Largest number of devices over which a chunk is spread; `None` means all devices with room.
    devices_max: Option<usize>,
}

/// Space that superblocks and bitmaps of an md array take.
const MD_KEEPS: Bytes = Bytes::mib(300);

impl Layout {
    /// A single bare disk, for tests.
    pub const SINGLE: Self = Self::On { filesystem: None, raid: None };

    /// The kernel option of OpenZFS. No kernel that is built from a package's source has it: users
    /// put OpenZFS into trees of their own (`docs/FORMAT.md`, `join`).
    pub const ZFS: &str = "ZFS";

    /// Returns all layouts. A btrfs on one disk is `btrfs-single`.
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

    /// Returns a single btrfs with the same profile for data and metadata.
    pub const fn btrfs(profile: Profile) -> Self {
        Self::Btrfs(Profiles { data: profile, metadata: profile })
    }

    /// Returns the mounted filesystem, or None if fio opens a block device.
    pub fn filesystem(self) -> Option<Filesystem> {
        match self {
            Self::Btrfs(_) => Some(Filesystem::Btrfs),
            Self::ZfsMirrors => Some(Filesystem::Zfs),
            Self::On { filesystem, .. } => filesystem,
        }
    }

    /// Returns the software RAID below the filesystem or block device.
    pub fn raid(self) -> Option<Md> {
        if let Self::On { raid, .. } = self { raid } else { None }
    }

    /// Returns the number of copies of each block of data on `disks` disks.
    pub fn copies(self, disks: usize) -> u32 {
        match self {
            Self::Btrfs(Profiles { data, .. }) => data.shape().copies,
            Self::On { raid: Some(Md::Raid1), .. } => disks.try_into().unwrap_or(u32::MAX),
            Self::ZfsMirrors | Self::On { raid: Some(Md::Raid10), .. } => 2,
            Self::On { .. } => 1,
        }
    }

    /// Returns whether btrfs chooses which copy serves a read of data, so that a read policy has an
    /// effect.
    pub fn has_read_policy(self) -> bool {
        matches!(self, Self::Btrfs(Profiles { data, .. }) if data.shape().copies > 1)
    }

    /// Returns the kernel options that the layout needs, without `CONFIG_`. btrfs needs none,
    /// because every guest has it. ZFS needs an option of the user's own tree ([`Self::ZFS`]).
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

    /// Returns the smallest number of disks with which the layout works.
    pub fn devices_min(self) -> usize {
        match self {
            Self::Btrfs(Profiles { data, metadata }) => {
                data.shape().devices_min.max(metadata.shape().devices_min)
            }
            Self::ZfsMirrors | Self::On { raid: Some(_), .. } => 2,
            Self::On { raid: None, .. } => 1,
        }
    }

    /// Records a mistake unless the layout takes this number of devices.
    pub(crate) fn check_count(self, table: &TomlTable<'_, '_>, devices: usize) {
        if let Some(message) = self.wrong_count(devices) {
            table.wrong("devices", message);
        }
    }

    /// Returns the reason why the layout does not take this number of devices, or None if it does.
    /// For 0 devices it returns None too, because another message says that they are missing.
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

    /// Returns the largest file that fits, beside its metadata, into disks that hold `usable` bytes
    /// of data.
    pub(crate) fn largest_file(self, usable: Bytes) -> Bytes {
        let kept = match self.filesystem() {
            None if self.raid().is_some() => return usable.saturating_sub(MD_KEEPS),
            None => return usable,
            // Space is needed for the first metadata chunk and the system chunk, and about 0.2 %
            // for checksums and extents. The estimate reserves twice that.
            Some(Filesystem::Btrfs) => Bytes::mib(300) + usable / 250,
            // Inodes take a 64th, the journal 1 GiB at most. The blocks reserved for root count as
            // free, because fio runs as root.
            Some(Filesystem::Ext4 | Filesystem::Xfs) => Bytes::mib(64),
            // Each disk loses its labels and the space that is not a whole metaslab. Of the pool,
            // ZFS keeps a 32nd, or at least 128 MiB, that nobody may write to.
            Some(Filesystem::Zfs) => Bytes::mib(64).max(usable / 32) + Bytes::mib(128),
        };
        usable.saturating_sub(kept).min(usable / 10 * 9)
    }

    /// Returns the bytes of data that the used parts of disks can hold, before metadata.
    pub(crate) fn usable_of(self, disks: &[Device]) -> Bytes {
        self.usable(&disks.iter().map(|disk| disk.used).collect::<Vec<_>>())
    }

    /// Returns the bytes of data that disks of these sizes can hold, before metadata.
    ///
    /// For btrfs, this simulates the chunk allocator in small steps: each chunk goes to the disks
    /// with most room left.
    pub fn usable(self, disks: &[Bytes]) -> Bytes {
        let smallest = disks.iter().copied().min().unwrap_or_default();
        match self {
            Self::Btrfs(Profiles { data, .. }) => data.usable(disks),
            Self::ZfsMirrors => disks.chunks_exact(2).map(|pair| pair[0].min(pair[1])).sum(),
            Self::On { raid: None, .. } => disks.first().copied().unwrap_or_default(),
            // Beyond the end of the smaller disks, md goes on with stripes over the larger ones.
            Self::On { raid: Some(Md::Raid0), .. } => disks.iter().copied().sum(),
            Self::On { raid: Some(Md::Raid1), .. } => smallest,
            Self::On { raid: Some(Md::Raid10), .. } => Bytes(smallest.0 * disks.len() as u64 / 2),
        }
    }
}

impl Filesystem {
    /// The filesystems that can be on md.
    pub const ON_ONE_DEVICE: [Self; 3] = [Self::Btrfs, Self::Ext4, Self::Xfs];

    /// Returns the smallest disk that the filesystem's mkfs takes, or a little more.
    pub const fn smallest(self) -> Bytes {
        match self {
            // btrfs's own limit is 109 MiB or more, by profile; ZFS's is 64 MiB, half of which ZFS
            // keeps for itself.
            Self::Btrfs | Self::Zfs => Bytes::mib(128),
            Self::Ext4 => Bytes::mib(64),
            Self::Xfs => Bytes::mib(320),
        }
    }
}

impl Profiles {
    /// Returns the pairs of different profiles for data and metadata. The metadata has two copies
    /// at least, and as many as the data at least; other pairs have no use.
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

    /// Returns the bytes of data that disks of these sizes can hold. Trials of a suite ask for the
    /// same few sets of disks again and again, so each answer is kept.
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
        /// Number of steps that give out all space: enough to come within a thousandth of the
        /// limit.
        const STEPS: u64 = 16_384;
        let ProfileShape { copies, devices_min, devices_max } = self.shape();
        let mut room: Vec<u64> = disks.iter().map(|disk| disk.0).collect();
        let step = (room.iter().sum::<u64>() / STEPS).max(1);
        let mut usable = 0;
        loop {
            room.sort_unstable_by(|one, other| other.cmp(one));
            let with_room = room.iter().filter(|&&left| left > 0).count();
            // Copies come in whole sets: with five disks, RAID10 uses four for a chunk.
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
        if text.contains("raid5") || text.contains("raid6") {
            return Err(format!(
                "`{text}`: disklab does not support RAID 5 and 6; raid1, btrfs's raid1c3 and \
                 raid10 also keep all data if a disk dies"
            ));
        }
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
        // Chunks take four disks until the small ones are full. Then only one disk has room.
        near(usable("btrfs-raid10", &[10, 1, 1, 1]), 2.0);
        near(usable("btrfs-raid1", &[10]), 0.0);
        near(usable("btrfs-raid1", &[]), 0.0);
        near(usable("md-raid0", &[12, 4]), 16.0);
        near(usable("md-raid1", &[12, 4]), 4.0);
        near(usable("md-raid10", &[12, 4, 4]), 6.0);
        // Pairs are formed in the order in which the disks are named.
        near(usable("zfs-mirrors", &[12, 4, 4, 12]), 8.0);
        near(usable("zfs-mirrors", &[12, 12, 4, 4]), 16.0);
    }

    proptest! {
        /// Tests the allocator for pairs against the upper bound of two copies, which it does
        /// reach.
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

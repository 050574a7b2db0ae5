//! Snapshots at regular intervals, and the commands of btrfs and ZFS that take, send and delete
//! them.

use crate::places::{POOL, REPLICA, Side};
use serde::{Deserialize, Serialize};

/// A schedule of snapshots of [`POOL`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotSchedule {
    pub tool: Tool,
    /// Interval between snapshots, in virtual ns.
    pub every_ns: u64,
    /// Number of snapshots that are kept.
    pub keep: u32,
    /// Interval in virtual ns at which everything that [`REPLICA`] lacks is sent there.
    pub replicate_every_ns: Option<u64>,
}

/// The folder of btrfs's snapshots of [`POOL`].
pub const FOLDER: &str = "/mnt/pool/.snapshots";

/// The tool that makes snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Tool {
    /// Subvolumes in [`FOLDER`].
    Btrfs,
    /// Snapshots of the dataset `data` of [`POOL`]. `copy` is the dataset of the replica.
    Zfs { data: String, copy: String },
}

impl Tool {
    /// Makes a place for snapshots, if the tool needs one.
    pub fn make_place(&self) -> Option<Vec<String>> {
        (*self == Self::Btrfs).then(|| command("btrfs subvolume create", FOLDER))
    }

    pub fn take(&self, number: u64) -> Vec<String> {
        let name = self.name(Side::Pool, number);
        match self {
            Self::Btrfs => command(&format!("btrfs subvolume snapshot -r {POOL}"), &name),
            Self::Zfs { .. } => command("zfs snapshot", &name),
        }
    }

    pub fn delete(&self, side: Side, number: u64) -> Vec<String> {
        let words = if *self == Self::Btrfs { "btrfs subvolume delete" } else { "zfs destroy" };
        command(words, &self.name(side, number))
    }

    /// Sends a snapshot, as the difference to its parent if it has one.
    pub fn send(&self, parent: Option<u64>, number: u64) -> Vec<String> {
        let name = self.name(Side::Pool, number);
        let (start, base) = match self {
            Self::Btrfs => ("btrfs send -q", "-p"),
            Self::Zfs { .. } => ("zfs send", "-i"),
        };
        let Some(parent) = parent else { return command(start, &name) };
        let mut words = command(&format!("{start} {base}"), &self.name(Side::Pool, parent));
        words.push(name);
        words
    }

    pub fn receive(&self) -> Vec<String> {
        match self {
            Self::Btrfs => command("btrfs receive -q", REPLICA),
            // Without a mount, nobody looks at the copy while it changes.
            Self::Zfs { copy, .. } => command("zfs receive -u", copy),
        }
    }

    /// Lists deleted snapshots whose space is not free yet.
    pub fn uncleaned(&self, side: Side) -> Vec<String> {
        match self {
            Self::Btrfs => command("btrfs subvolume list -d", side.folder()),
            Self::Zfs { .. } => {
                let dataset = self.place(side);
                let pool = dataset.split_once('/').map_or(dataset, |(pool, _)| pool);
                command("zpool list -H -p -o freeing", pool)
            }
        }
    }

    /// Counts the snapshots in the output of [`Self::uncleaned`]. ZFS prints bytes instead of
    /// snapshots: any number of them counts as one.
    pub fn count(&self, said: &str) -> u64 {
        match self {
            Self::Btrfs => said.lines().count() as u64,
            Self::Zfs { .. } => u64::from(!matches!(said.trim(), "" | "-" | "0")),
        }
    }

    /// Lists ZFS's snapshots. btrfs needs no command: the names in [`Self::place`] are its
    /// snapshots.
    pub fn list(&self, side: Side) -> Option<Vec<String>> {
        (*self != Self::Btrfs)
            .then(|| command("zfs list -H -o name -t snapshot -d 1", self.place(side)))
    }

    /// Returns the folder of btrfs, or the dataset of ZFS, that has the snapshots of a side.
    pub fn place(&self, side: Side) -> &str {
        match (self, side) {
            (Self::Btrfs, Side::Pool) => FOLDER,
            (Self::Btrfs, Side::Replica) => REPLICA,
            (Self::Zfs { data, .. }, Side::Pool) => data,
            (Self::Zfs { copy, .. }, Side::Replica) => copy,
        }
    }

    fn name(&self, side: Side, number: u64) -> String {
        let between = if *self == Self::Btrfs { '/' } else { '@' };
        format!("{}{between}{number}", self.place(side))
    }
}

/// Returns a command of these words and one more, which may have spaces.
fn command(words: &str, last: &str) -> Vec<String> {
    words.split(' ').chain([last]).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[String]) -> String {
        words.join(" ")
    }

    fn zfs() -> Tool {
        Tool::Zfs { data: "disklab/data".to_owned(), copy: "disklab-replica/data/copy".to_owned() }
    }

    #[test]
    fn zfs_has_datasets() {
        let tool = zfs();
        assert_eq!(tool.make_place(), None);
        assert_eq!(said(&tool.take(3)), "zfs snapshot disklab/data@3");
        assert_eq!(said(&tool.send(None, 0)), "zfs send disklab/data@0");
        assert_eq!(said(&tool.send(Some(2), 3)), "zfs send -i disklab/data@2 disklab/data@3");
        assert_eq!(said(&tool.receive()), "zfs receive -u disklab-replica/data/copy");
        assert_eq!(said(&tool.delete(Side::Pool, 3)), "zfs destroy disklab/data@3");
        assert_eq!(said(&tool.delete(Side::Replica, 3)), "zfs destroy disklab-replica/data/copy@3");
        assert_eq!(
            said(&tool.uncleaned(Side::Replica)),
            "zpool list -H -p -o freeing disklab-replica"
        );
        assert_eq!([tool.count("0\n"), tool.count("-\n"), tool.count("4096\n")], [0, 0, 1]);
    }

    #[test]
    fn btrfs_has_subvolumes() {
        let tool = Tool::Btrfs;
        assert_eq!(
            tool.make_place().map(|words| said(&words)).unwrap(),
            "btrfs subvolume create /mnt/pool/.snapshots"
        );
        assert_eq!(
            said(&tool.take(3)),
            "btrfs subvolume snapshot -r /mnt/pool /mnt/pool/.snapshots/3"
        );
        assert_eq!(
            said(&tool.send(Some(2), 3)),
            "btrfs send -q -p /mnt/pool/.snapshots/2 /mnt/pool/.snapshots/3"
        );
        assert_eq!(said(&tool.delete(Side::Replica, 3)), "btrfs subvolume delete /mnt/replica/3");
        assert_eq!(tool.count("one\ntwo\n"), 2);
        assert_eq!(tool.list(Side::Pool), None);
    }
}

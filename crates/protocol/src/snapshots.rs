//! Snapshots again and again, and the commands of btrfs and ZFS that take, send and delete them.

use crate::action::Side;
use crate::places::{POOL, REPLICA};
use serde::{Deserialize, Serialize};

/// Snapshots of [`POOL`], again and again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotSchedule {
    pub tool: Tool,
    /// Interval between snapshots.
    pub every_ns: u64,
    /// So many stay.
    pub keep: u32,
    /// Interval at which all that [`REPLICA`] does not have is sent there.
    pub replicate_every_ns: Option<u64>,
}

/// Where btrfs has those of [`POOL`].
pub const FOLDER: &str = "/mnt/pool/.snapshots";

/// By what they are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Tool {
    Btrfs,
    /// With the dataset of [`POOL`], and what is made of what is sent.
    Zfs {
        data: String,
        copy: String,
    },
}

impl Tool {
    /// Makes a place for them, where they need one.
    pub fn make_place(&self) -> Option<Vec<String>> {
        (*self == Self::Btrfs).then(|| words(&["btrfs", "subvolume", "create", FOLDER]))
    }

    pub fn take(&self, number: u64) -> Vec<String> {
        match self {
            Self::Btrfs => words(&[
                "btrfs",
                "subvolume",
                "snapshot",
                "-r",
                POOL,
                &self.name(Side::Pool, number),
            ]),
            Self::Zfs { .. } => words(&["zfs", "snapshot", &self.name(Side::Pool, number)]),
        }
    }

    pub fn delete(&self, side: Side, number: u64) -> Vec<String> {
        let name = self.name(side, number);
        match self {
            Self::Btrfs => words(&["btrfs", "subvolume", "delete", &name]),
            Self::Zfs { .. } => words(&["zfs", "destroy", &name]),
        }
    }

    /// Sends one, as the difference to its parent where there is one.
    pub fn send(&self, parent: Option<u64>, number: u64) -> Vec<String> {
        let name = |number| self.name(Side::Pool, number);
        let (start, base): (&[&str], _) = match self {
            Self::Btrfs => (&["btrfs", "send", "-q"], "-p"),
            Self::Zfs { .. } => (&["zfs", "send"], "-i"),
        };
        let parent = parent.into_iter().flat_map(|parent| [base.to_owned(), name(parent)]);
        words(start).into_iter().chain(parent).chain([name(number)]).collect()
    }

    pub fn receive(&self) -> Vec<String> {
        match self {
            Self::Btrfs => words(&["btrfs", "receive", "-q", REPLICA]),
            // Nothing is to look at it while it changes.
            Self::Zfs { copy, .. } => words(&["zfs", "receive", "-u", copy]),
        }
    }

    /// Lists what was deleted and has space that was not given back yet.
    pub fn uncleaned(&self, side: Side) -> Vec<String> {
        match self {
            Self::Btrfs => words(&["btrfs", "subvolume", "list", "-d", side.folder()]),
            Self::Zfs { .. } => {
                words(&["zpool", "list", "-H", "-p", "-o", "freeing", self.pool(side)])
            }
        }
    }

    /// How many those are, by what that says. ZFS tells bytes, not snapshots: all of them count for
    /// one.
    pub fn count(&self, said: &str) -> u64 {
        match self {
            Self::Btrfs => said.lines().count() as u64,
            Self::Zfs { .. } => u64::from(!matches!(said.trim(), "" | "-" | "0")),
        }
    }

    /// Lists ZFS's; those of btrfs are the names in [`Self::folder`].
    pub fn list(&self, side: Side) -> Option<Vec<String>> {
        let list = ["zfs", "list", "-H", "-o", "name", "-t", "snapshot", "-d", "1"];
        (*self != Self::Btrfs)
            .then(|| words(&list).into_iter().chain([self.place(side).to_owned()]).collect())
    }

    /// Where they are: a folder of btrfs, a dataset of ZFS.
    pub fn place(&self, side: Side) -> &str {
        match (self, side) {
            (Self::Btrfs, Side::Pool) => FOLDER,
            (Self::Btrfs, Side::Replica) => REPLICA,
            (Self::Zfs { data, .. }, Side::Pool) => data,
            (Self::Zfs { copy, .. }, Side::Replica) => copy,
        }
    }

    fn pool(&self, side: Side) -> &str {
        let place = self.place(side);
        place.split_once('/').map_or(place, |(pool, _)| pool)
    }

    fn name(&self, side: Side, number: u64) -> String {
        let between = if *self == Self::Btrfs { '/' } else { '@' };
        format!("{}{between}{number}", self.place(side))
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
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
    fn of_zfs() {
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
    fn of_btrfs() {
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

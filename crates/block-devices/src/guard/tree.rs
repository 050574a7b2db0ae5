//! Finds block devices of this machine that share a disk: partitions with their disk, and md,
//! device mapper, bcache and loop devices with the devices that they are made of.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::uses::number_of;
use crate::machine::{self, Machine};
use crate::refusal::Why;
use crate::sysfs;

#[derive(Debug, Default)]
pub(super) struct DeviceTree {
    nodes: BTreeMap<String, DeviceNode>,
}

#[derive(Debug, Default)]
struct DeviceNode {
    number: (u32, u32),
    parts: Vec<String>,
    /// Devices that are made of this one.
    holders: Vec<String>,
    loops: Vec<String>,
    /// Neighbours in both directions: its disk, its partitions, its holders, and the devices it is
    /// made of.
    touches: BTreeSet<String>,
    /// The backing file of a loop device.
    file: Option<Backing>,
}

/// The file behind a loop device.
#[derive(Debug, PartialEq, Eq)]
enum Backing {
    /// The numbers of its filesystem and its inode.
    File(u64, u64),
    /// The former name of a file that no longer exists.
    Gone(String),
}

impl DeviceTree {
    pub(super) fn read(machine: &Machine) -> Result<Self, Why> {
        let mut tree = Self::default();
        let mut loops = Vec::new();
        let top = machine.path("/sys/block");
        for name in names(&top, |_| true)? {
            let folder = top.join(&name);
            // The disk may have been unplugged meanwhile.
            let is_part = |entry: &Path| entry.join("partition").exists();
            let Some(parts) = names_if_there(&folder, is_part)? else { continue };
            tree.add(&name, &folder)?;
            for part in parts {
                tree.add(&part, &folder.join(&part))?;
                tree.join(&name, &part);
                tree.node(&name).parts.push(part);
            }
            let slaves = names_if_there(&folder.join("slaves"), |_| true)?;
            for slave in slaves.unwrap_or_default() {
                tree.join(&name, &slave);
            }
            match machine::text(&folder.join("loop/backing_file")) {
                Ok(path) => loops.push((name, path.strip_suffix('\n').unwrap_or(&path).to_owned())),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(unread(&folder.join("loop/backing_file"), &error)),
            }
        }
        for (name, path) in loops {
            tree.put_loop(machine, &name, &path);
        }
        Ok(tree)
    }

    pub(super) fn number(&self, name: &str) -> Option<(u32, u32)> {
        self.nodes.get(name).map(|node| node.number)
    }

    /// Lists all other devices that share a disk with this one, directly or through others.
    pub(super) fn relatives(&self, name: &str) -> Result<BTreeSet<&str>, Why> {
        let Some((name, node)) = self.nodes.get_key_value(name) else { return Err(absent(name)) };
        let mut found = BTreeSet::from([name.as_str()]);
        let mut open: Vec<&str> = node.touches.iter().map(String::as_str).collect();
        while let Some(next) = open.pop() {
            if found.insert(next) {
                let nodes = self.nodes.get(next).into_iter();
                open.extend(nodes.flat_map(|node| node.touches.iter().map(String::as_str)));
            }
        }
        found.remove(name.as_str());
        Ok(found)
    }

    /// Checks that no device is made of this one, and that a loop device has its file for itself.
    pub(super) fn is_last(&self, name: &str) -> Result<(), Why> {
        let node = self.nodes.get(name).ok_or_else(|| absent(name))?;
        if !node.parts.is_empty() {
            return Err(Why::Partitions(node.parts.clone()));
        }
        if !node.holders.is_empty() {
            return Err(Why::Held(node.holders.clone()));
        }
        if let Some(first) = node.loops.first() {
            return Err(Why::Loop(first.clone()));
        }
        let same = |(other, found): &(&String, &DeviceNode)| {
            *other != name && found.file.is_some() && found.file == node.file
        };
        match self.nodes.iter().find(same) {
            Some((other, _)) => Err(Why::SameFile { other: other.clone() }),
            None => Ok(()),
        }
    }

    /// Returns the name of the first device that `wanted` accepts.
    fn find(&self, wanted: impl Fn(&DeviceNode) -> bool) -> Option<String> {
        self.nodes.iter().find(|(_, node)| wanted(node)).map(|(name, _)| name.clone())
    }

    fn node(&mut self, name: &str) -> &mut DeviceNode {
        self.nodes.entry(name.to_owned()).or_default()
    }

    fn join(&mut self, one: &str, other: &str) {
        self.node(one).touches.insert(other.to_owned());
        self.node(other).touches.insert(one.to_owned());
    }

    fn add(&mut self, name: &str, folder: &Path) -> Result<(), Why> {
        let number = match machine::text(&folder.join("dev")) {
            Ok(text) => sysfs::number(&text),
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) => return Err(unread(&folder.join("dev"), &error)),
        };
        let mut holders = names_if_there(&folder.join("holders"), |_| true)?.unwrap_or_default();
        for holder in &holders {
            self.join(name, holder);
        }
        // A bcache cache holds its disk before it is the cache of anything.
        if folder.join("bcache").exists() && holders.is_empty() {
            holders.push("bcache".to_owned());
        }
        let node = self.node(name);
        node.number = number.ok_or_else(|| {
            Why::Unknown(format!(
                "{}/dev is not a number of a device; what {name} is is not known",
                folder.display()
            ))
        })?;
        node.holders = holders;
        Ok(())
    }

    fn put_loop(&mut self, machine: &Machine, name: &str, path: &str) {
        let device = number_of(machine, Path::new(path));
        if let Some(below) = self.find(|node| Some(node.number) == device) {
            self.join(name, &below);
            self.node(&below).loops.push(name.to_owned());
            return;
        }
        let file = match machine.path(path).metadata() {
            Ok(metadata) => Backing::File(metadata.dev(), metadata.ino()),
            Err(_) => Backing::Gone(path.to_owned()),
        };
        if let Some(other) = self.find(|node| node.file.as_ref() == Some(&file)) {
            self.join(name, &other);
        }
        self.node(name).file = Some(file);
    }
}

fn absent(name: &str) -> Why {
    Why::Changed(format!("/sys/block has no {name}"))
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}

/// Lists like [`names`], and returns `None` if the folder does not exist or no longer does.
fn names_if_there(
    folder: &Path,
    wanted: impl Fn(&Path) -> bool,
) -> Result<Option<Vec<String>>, Why> {
    match names(folder, wanted) {
        Err(_) if !folder.exists() => Ok(None),
        other => other.map(Some),
    }
}

fn unread(path: &Path, error: &io::Error) -> Why {
    Why::Unknown(format!("cannot find out who uses it: cannot read {}: {error}", path.display()))
}

/// Lists the names of a folder's entries, in order.
pub(super) fn names(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<String>, Why> {
    let mut names = machine::names(folder).map_err(|error| unread(folder, &error))?;
    names.retain(|name| wanted(&folder.join(name)));
    names.sort();
    Ok(names)
}

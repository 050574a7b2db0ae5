//! Describes disks of this machine as devices of the lab, and arrays made of them.

use disklab_block_devices::Disk;
use disklab_config::device::Constant;
use disklab_config::{Device, Lab, Model};
use disklab_runner::host::HostPlace;
use disklab_units::{Bytes, Nanos};

use crate::question::Overrides;

/// The question of a run on this machine, and its disks or folder.
pub struct HostQuestion {
    pub place: HostPlace,
    pub lab: Lab,
    /// Overrides for the question, in place of those of the command line.
    pub overrides: Overrides,
}

/// Returns the lab with arrays made of these disks.
pub fn on_disks(lab: &Lab, arrays: &[String], disks: &[Disk]) -> Lab {
    let mut lab = lab.clone();
    let names: Vec<String> = disks.iter().map(name_of).collect();
    lab.devices.extend(disks.iter().map(|disk| (name_of(disk), device(disk, disk.bytes))));
    made_of(&lab, arrays, &names)
}

/// Returns the lab with arrays whose disks have these names, in the order of a trial's disks.
pub fn made_of(lab: &Lab, arrays: &[String], names: &[String]) -> Lab {
    let mut lab = lab.clone();
    for name in arrays {
        let Some(array) = lab.arrays.get_mut(name) else { continue };
        let mut names = names.iter().cloned();
        let mut next = |count: usize| names.by_ref().take(count).collect::<Vec<_>>();
        array.devices = next(array.devices.len());
        if let Some(cache) = &mut array.cache {
            cache.device = next(1).pop().unwrap_or_default();
            cache.partition_size = None;
        }
        array.spares = next(array.spares.len());
        if let Some(replica) = &mut array.replica {
            replica.devices = next(replica.devices.len());
            replica.partition_size = None;
        }
        array.partition_size = None;
        array.controller = None;
        array.host = None;
    }
    lab
}

/// Returns a record's name for a disk of this machine.
pub fn name_of(disk: &Disk) -> String {
    disk.named.display().to_string()
}

/// Describes a real disk as a device of the lab. Only its size and its rotation matter.
pub fn device(disk: &Disk, bytes: Bytes) -> Device {
    let model = Model::Constant(Constant {
        latency: Nanos::from_micros(if disk.rotational { 10_000 } else { 100 }),
        servers: 1,
        rotational: disk.rotational,
        queue_depth: 32,
    });
    let summary = disk.model.clone().unwrap_or_else(|| "a disk of this machine".to_owned());
    Device {
        name: name_of(disk),
        summary,
        bytes,
        used: bytes,
        model,
        estimated: Vec::new(),
        inherited: None,
        host: None,
    }
}

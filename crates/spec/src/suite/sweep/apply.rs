//! What the parameters of a cell make of what it names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use disklab_units::Bytes;

use super::device::{device, workload};
use super::parameter::Parameter;
use crate::array::Array;
use crate::device::Device;
use crate::lab::Lab;
use crate::policy::{Policy, PolicyChoice, Wanted};
use crate::scheduler::SchedulerChoice;
use crate::suite::MEMORY;
use crate::workload::Workload;

/// What a cell names.
pub struct Base<'a> {
    pub array: &'a Array,
    pub devices: &'a [Device],
    pub workload: &'a Workload,
    /// The value in the suite and the policy that it is of; none where the suite has none.
    pub policy: Option<(&'a str, &'a Policy, &'a PolicyChoice)>,
    /// The value in the suite.
    pub scheduler: &'a str,
    pub memory: Bytes,
    pub having: &'a Having<'a>,
}

/// Parameters that a policy or a scheduler of the suite has: to those without, an axis over one of them is nothing.
#[derive(Default)]
pub struct Having<'a> {
    pub policies: BTreeSet<&'a str>,
    pub schedulers: BTreeSet<&'static str>,
}

/// The same with the cell's values.
pub struct Applied {
    pub array: Array,
    pub devices: Vec<Device>,
    pub workload: Workload,
    pub policy: Option<PolicyChoice>,
    pub scheduler: SchedulerChoice,
    pub memory: Bytes,
}

/// Files that were read again with other values, by name and those: cells have the same again and again.
#[derive(Default)]
pub struct Known {
    devices: RefCell<BTreeMap<String, Result<Device, String>>>,
    workloads: RefCell<BTreeMap<String, Result<Workload, String>>>,
}

/// The error is the mistake, and which of the parameters it is of.
pub fn apply(
    base: &Base<'_>,
    values: &[(&Parameter, &str)],
    lab: &Lab,
    known: &Known,
) -> Result<Applied, (usize, String)> {
    let scheduler = base.scheduler.parse::<SchedulerChoice>().map_err(|message| (0, message))?;
    let mut applied = Applied {
        array: base.array.clone(),
        devices: base.devices.to_vec(),
        workload: base.workload.clone(),
        policy: base.policy.map(|(_, _, choice)| choice.clone()),
        scheduler,
        memory: base.memory,
    };
    // The disks first: the others may speak of one.
    for (at, (_, value)) in values.iter().enumerate().filter(|(_, (it, _))| **it == Parameter::Disks) {
        applied.set_disks(value, lab).map_err(|message| (at, message))?;
    }
    applied.set_devices(values, lab, known)?;
    applied.set_workload(values, lab, known)?;
    applied.set_policy(base, values)?;
    for (at, (parameter, value)) in values.iter().enumerate() {
        let set = match parameter {
            Parameter::Scheduler(key) => applied.set_scheduler(key, value, base.having),
            Parameter::Memory => applied.set_memory(value),
            _ => Ok(()),
        };
        set.map_err(|message| (at, message))?;
    }
    Ok(applied)
}

impl Applied {
    fn set_disks(&mut self, value: &str, lab: &Lab) -> Result<(), String> {
        let disks = value.parse::<usize>().map_err(|_| format!("`{value}` is no number of disks"))?;
        self.array = self.array.with_disks(disks)?;
        self.devices = lab.devices_of(&self.array);
        Ok(())
    }

    fn set_devices(
        &mut self,
        values: &[(&Parameter, &str)],
        lab: &Lab,
        known: &Known,
    ) -> Result<(), (usize, String)> {
        let own = self.array.devices.len();
        let mut changes: BTreeMap<usize, Vec<(&str, &str)>> = BTreeMap::new();
        let mut last = 0;
        for (at, (parameter, value)) in values.iter().enumerate() {
            let Parameter::Device { disk, key } = parameter else { continue };
            last = at;
            let disks = match disk.map(|disk| disk as usize) {
                None => 0..own,
                Some(disk) if disk <= own => disk - 1..disk,
                Some(disk) => {
                    let message = format!("array `{}` has no disk {disk}: it has {own}", self.array.name);
                    return Err((at, message));
                }
            };
            for disk in disks {
                changes.entry(disk).or_default().push((key.as_str(), *value));
            }
        }
        for (disk, changes) in changes {
            let Some(base) = self.devices.get_mut(disk) else { continue };
            let mut devices = known.devices.borrow_mut();
            let name = format!("{} {} {changes:?}", base.name, base.used.0);
            let device =
                devices.entry(name).or_insert_with(|| self::device(base, &lab.texts.devices, &changes));
            *base = device.clone().map_err(|message| (last, message))?;
        }
        Ok(())
    }

    fn set_workload(
        &mut self,
        values: &[(&Parameter, &str)],
        lab: &Lab,
        known: &Known,
    ) -> Result<(), (usize, String)> {
        let of = |(at, (parameter, value)): (usize, &(&Parameter, &str))| match parameter {
            Parameter::Workload(key) => Some((at, (key.clone(), (*value).to_owned()))),
            _ => None,
        };
        let changes: Vec<(usize, (String, String))> = values.iter().enumerate().filter_map(of).collect();
        let Some((last, _)) = changes.last() else { return Ok(()) };
        if self.workload.startup.is_some() || self.workload.fsload.is_some() {
            let what = "a start-up's or a load's of many files, which have no keys that go over numbers";
            return Err((*last, format!("workload `{}` is {what}", self.workload.name)));
        }
        let changes: Vec<(&str, &str)> =
            changes.iter().map(|(_, (key, value))| (key.as_str(), value.as_str())).collect();
        let mut workloads = known.workloads.borrow_mut();
        let name = format!("{} {changes:?}", self.workload.name);
        let base = &self.workload;
        let made = workloads.entry(name).or_insert_with(|| workload(base, &lab.texts.workloads, &changes));
        self.workload = made.clone().map_err(|message| (*last, message))?;
        Ok(())
    }

    fn set_policy(&mut self, base: &Base<'_>, values: &[(&Parameter, &str)]) -> Result<(), (usize, String)> {
        let mut changed = None;
        for (at, (parameter, value)) in values.iter().enumerate() {
            let Parameter::Policy(key) = parameter else { continue };
            let Some((spelled, policy, _)) = base.policy else {
                return Err((at, "the suite has no read policy that it could be of".to_owned()));
            };
            let has = |policy: &Policy| policy.parameters.iter().any(|parameter| parameter.key == *key);
            if !has(policy) && base.having.policies.contains(key.as_str()) {
                continue;
            }
            let wanted = match changed.take() {
                Some((_, wanted, _)) => Ok(wanted),
                None => spelled.parse::<Wanted>(),
            };
            changed = Some((at, wanted.map_err(|message| (at, message))?.with(key, value), policy));
        }
        if let Some((at, wanted, policy)) = changed {
            let choice = wanted.settle(policy, self.array.devices.len()).map_err(|message| (at, message))?;
            self.policy = Some(choice);
        }
        Ok(())
    }

    fn set_scheduler(&mut self, key: &str, value: &str, having: &Having<'_>) -> Result<(), String> {
        if !self.scheduler.scheduler.has(key) && having.schedulers.contains(key) {
            return Ok(());
        }
        let between = if self.scheduler.tunables.is_empty() { ":" } else { "," };
        self.scheduler = format!("{}{between}{key}={value}", self.scheduler).parse()?;
        Ok(())
    }

    fn set_memory(&mut self, value: &str) -> Result<(), String> {
        let memory: Bytes = value.parse().map_err(|error| format!("{error}"))?;
        if !MEMORY.contains(&memory) {
            return Err(format!("{memory} is not sensible: from {} to {} is", MEMORY.start(), MEMORY.end()));
        }
        self.memory = memory;
        Ok(())
    }
}

//! What the parameters of a cell make of what it names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use std::ops::RangeInclusive;

use disklab_units::{Bytes, Nanos};

use super::device::{device, workload};
use super::parameter::{SEEK, SweptParameter};
use crate::array::Array;
use crate::background::Background;
use crate::device::Device;
use crate::lab::Lab;
use crate::policy::{Policy, PolicyChoice, WantedPolicy};
use crate::scheduler::SchedulerChoice;
use crate::suite::{DiskTimes, MEMORY, RUNTIME, TIMES_BEFORE};
use crate::workload::{Workload, WorkloadKind};

/// What a cell names.
pub struct Base<'a> {
    pub array: &'a Array,
    pub devices: &'a [Device],
    pub workload: &'a Workload,
    pub background: Option<&'a Background>,
    /// The value in the suite and the policy that it is of; none where the suite has none.
    pub policy: Option<(&'a str, &'a Policy, &'a PolicyChoice)>,
    /// The value in the suite.
    pub scheduler: &'a str,
    pub memory: Bytes,
    pub having: &'a Having<'a>,
}

/// Parameters that a policy, a scheduler, a workload or a background of the suite has: to those
/// without, an axis over one of them is nothing.
#[derive(Default)]
pub struct Having<'a> {
    pub policies: BTreeSet<&'a str>,
    pub schedulers: BTreeSet<&'static str>,
    /// Whether a workload takes as long as it is given.
    pub runtime: bool,
    /// Whether a background is a workload.
    pub load: bool,
}

/// The same with the cell's values.
pub struct Applied {
    pub array: Array,
    pub devices: Vec<Device>,
    pub workload: Workload,
    pub policy: Option<PolicyChoice>,
    pub scheduler: SchedulerChoice,
    pub memory: Bytes,
    pub background: Option<Background>,
    /// The suite's own where there is none.
    pub runtime: Option<Nanos>,
    pub ramp: Option<Nanos>,
}

/// Files that were read again with other values, by name and those: cells have the same again and
/// again.
#[derive(Default)]
pub struct Known {
    devices: RefCell<BTreeMap<String, Result<Device, String>>>,
    workloads: RefCell<BTreeMap<String, Result<Workload, String>>>,
}

/// The error is the mistake, and which of the parameters it is of.
pub fn apply(
    base: &Base<'_>,
    values: &[(&SweptParameter, &str)],
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
        background: base.background.cloned(),
        runtime: None,
        ramp: None,
    };
    // The disks first: the others may speak of one.
    for (at, (_, value)) in
        values.iter().enumerate().filter(|(_, (it, _))| **it == SweptParameter::Disks)
    {
        applied.set_disks(value, lab).map_err(|message| (at, message))?;
    }
    applied.set_devices(values, lab, known)?;
    applied.set_workload(values, lab, known)?;
    applied.set_background(values, lab, known, base.having)?;
    applied.set_policy(base, values)?;
    for (at, (parameter, value)) in values.iter().enumerate() {
        let set = match parameter {
            SweptParameter::Scheduler(key) => applied.set_scheduler(key, value, base.having),
            SweptParameter::Memory => applied.set_memory(value),
            SweptParameter::Runtime => applied.set_runtime(value, base.having),
            SweptParameter::Ramp => applied.set_ramp(value, lab),
            _ => Ok(()),
        };
        set.map_err(|message| (at, message))?;
    }
    Ok(applied)
}

impl Applied {
    fn set_disks(&mut self, value: &str, lab: &Lab) -> Result<(), String> {
        let disks =
            value.parse::<usize>().map_err(|_| format!("`{value}` is no number of disks"))?;
        self.array = self.array.with_disks(disks)?;
        self.devices = lab.devices_of(&self.array);
        Ok(())
    }

    fn set_devices(
        &mut self,
        values: &[(&SweptParameter, &str)],
        lab: &Lab,
        known: &Known,
    ) -> Result<(), (usize, String)> {
        let own = self.array.devices.len();
        let mut changes: BTreeMap<usize, Vec<(&str, &str)>> = BTreeMap::new();
        let mut twice = None;
        let mut last = 0;
        for (at, (parameter, value)) in values.iter().enumerate() {
            let SweptParameter::Device { disk, key } = parameter else { continue };
            last = at;
            let disks = match disk.map(|disk| disk as usize) {
                None => 0..own,
                Some(disk) if disk <= own => disk - 1..disk,
                Some(disk) => {
                    let message =
                        format!("array `{}` has no disk {disk}: it has {own}", self.array.name);
                    return Err((at, message));
                }
            };
            for disk in disks {
                let changes = changes.entry(disk).or_default();
                if changes.iter().any(|(known, _)| known == key) {
                    twice.get_or_insert((at, disk + 1, key));
                }
                changes.push((key.as_str(), *value));
            }
        }
        if let Some((at, disk, key)) = twice {
            return Err((
                at,
                format!(
                    "disk {disk} has two values of `{key}`, by device.{key} and disk.{disk}.{key}: leave one"
                ),
            ));
        }
        for (disk, mut changes) in changes {
            // A factor is one to what the others set, in whatever order they are written.
            changes.sort_by_key(|(key, _)| *key == SEEK);
            let Some(base) = self.devices.get_mut(disk) else { continue };
            let mut devices = known.devices.borrow_mut();
            let name = format!("{} {} {changes:?}", base.name, base.used.0);
            let device = devices
                .entry(name)
                .or_insert_with(|| self::device(base, &lab.texts.devices, &changes));
            *base = device.clone().map_err(|message| (last, message))?;
        }
        Ok(())
    }

    fn set_workload(
        &mut self,
        values: &[(&SweptParameter, &str)],
        lab: &Lab,
        known: &Known,
    ) -> Result<(), (usize, String)> {
        let of = |parameter: &SweptParameter| match parameter {
            SweptParameter::Workload(key) => Some(key.clone()),
            _ => None,
        };
        let (last, changes) = changes(values, of);
        if !changes.is_empty() {
            self.workload =
                changed(&self.workload, &changes, lab, known).map_err(|message| (last, message))?;
        }
        Ok(())
    }

    fn set_background(
        &mut self,
        values: &[(&SweptParameter, &str)],
        lab: &Lab,
        known: &Known,
        having: &Having<'_>,
    ) -> Result<(), (usize, String)> {
        let of = |parameter: &SweptParameter| match parameter {
            SweptParameter::Background(key) => Some(key.clone()),
            _ => None,
        };
        let (last, changes) = changes(values, of);
        let load = self.background.as_ref().and_then(|background| background.workload.as_ref());
        match load {
            _ if changes.is_empty() => {}
            Some(load) => {
                let load =
                    changed(load, &changes, lab, known).map_err(|message| (last, message))?;
                if let Some(background) = &mut self.background {
                    if !lab.backgrounds.contains_key(&background.name) {
                        background.priority = load.priority;
                    }
                    background.workload = Some(load);
                }
            }
            None if having.load => {}
            None => {
                return Err((
                    last,
                    "no background of the suite is a workload, which has keys".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn set_runtime(&mut self, value: &str, having: &Having<'_>) -> Result<(), String> {
        let runtime = time(value, &RUNTIME)?;
        if !having.runtime {
            return Err(format!("workload `{}` takes as long as it takes", self.workload.name));
        }
        self.runtime = Some(runtime);
        Ok(())
    }

    /// A workload in the background begins with it.
    fn set_ramp(&mut self, value: &str, lab: &Lab) -> Result<(), String> {
        let ramp = time(value, &TIMES_BEFORE)?;
        if let Some(background) = &mut self.background
            && !lab.backgrounds.contains_key(&background.name)
        {
            background.lead = DiskTimes { rotational: ramp, solid_state: ramp };
        }
        self.ramp = Some(ramp);
        Ok(())
    }

    fn set_policy(
        &mut self,
        base: &Base<'_>,
        values: &[(&SweptParameter, &str)],
    ) -> Result<(), (usize, String)> {
        let mut changed = None;
        for (at, (parameter, value)) in values.iter().enumerate() {
            let SweptParameter::Policy(key) = parameter else { continue };
            let Some((spelled, policy, _)) = base.policy else {
                return Err((at, "the suite has no read policy that it could be of".to_owned()));
            };
            let has =
                |policy: &Policy| policy.parameters.iter().any(|parameter| parameter.key == *key);
            if !has(policy) && base.having.policies.contains(key.as_str()) {
                continue;
            }
            let wanted = match changed.take() {
                Some((_, wanted, _)) => Ok(wanted),
                None => spelled.parse::<WantedPolicy>(),
            };
            changed = Some((at, wanted.map_err(|message| (at, message))?.with(key, value), policy));
        }
        if let Some((at, wanted, policy)) = changed {
            let choice =
                wanted.settle(policy, self.array.devices.len()).map_err(|message| (at, message))?;
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
            return Err(format!(
                "{memory} is not sensible: from {} to {} is",
                MEMORY.start(),
                MEMORY.end()
            ));
        }
        self.memory = memory;
        Ok(())
    }
}

/// The keys of one file that are changed, each with its value; and the last of them among all
/// parameters.
fn changes(
    values: &[(&SweptParameter, &str)],
    of: impl Fn(&SweptParameter) -> Option<String>,
) -> (usize, Vec<(String, String)>) {
    let (mut last, mut changes) = (0, Vec::new());
    for (at, (parameter, value)) in values.iter().enumerate() {
        if let Some(key) = of(parameter) {
            last = at;
            changes.push((key, (*value).to_owned()));
        }
    }
    (last, changes)
}

fn changed(
    base: &Workload,
    changes: &[(String, String)],
    lab: &Lab,
    known: &Known,
) -> Result<Workload, String> {
    if matches!(base.kind, WorkloadKind::Startup(_) | WorkloadKind::FileLoad(_)) {
        let what =
            "a start-up's or a load's of many files, which have no keys that go over numbers";
        return Err(format!("workload `{}` is {what}", base.name));
    }
    let changes: Vec<(&str, &str)> =
        changes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let mut workloads = known.workloads.borrow_mut();
    let name = format!("{} {changes:?}", base.name);
    workloads.entry(name).or_insert_with(|| workload(base, &lab.texts.workloads, &changes)).clone()
}

fn time(value: &str, sensible: &RangeInclusive<Nanos>) -> Result<Nanos, String> {
    let time: Nanos = value.parse().map_err(|error| format!("{error}"))?;
    if !sensible.contains(&time) {
        return Err(format!(
            "{time} is not sensible: from {} to {} is",
            sensible.start(),
            sensible.end()
        ));
    }
    Ok(time)
}

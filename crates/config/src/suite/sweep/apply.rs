//! Applies the parameters of a cell to the things that it names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use disklab_units::{Bytes, Nanos};

use super::device::{device, workload};
use super::parameter::{KeyOwner, MEMORY, RUNTIME, SEEK, SweptParameter};
use crate::array::Array;
use crate::background::Background;
use crate::device::{Device, RangeEnd};
use crate::disk_times::{DiskTimes, TIMES_BEFORE};
use crate::lab::Lab;
use crate::policy::{Policy, PolicyChoice, WantedPolicy};
use crate::read::{Diagnostic, SourcePlace, in_range};
use crate::scheduler::SchedulerChoice;
use crate::suite::Metadata;
use crate::workload::{Workload, WorkloadKind};

/// The things that a cell names.
pub struct Base<'a> {
    pub array: &'a Array,
    pub devices: &'a [Device],
    /// The drive that replaces the disks of its kind.
    pub drive: Option<&'a Device>,
    pub workload: &'a Workload,
    pub background: Option<&'a Background>,
    /// The policy's value in the suite, the policy, and its choice, or None if the suite has no
    /// policy.
    pub policy: Option<(&'a str, &'a Policy, &'a PolicyChoice)>,
    pub scheduler: SchedulerChoice,
    pub memory: Bytes,
    pub having: &'a Having<'a>,
}

/// Parameters of the policies, schedulers, workloads and backgrounds of the suite. An axis over one
/// of them has no effect on those that lack it.
#[derive(Default)]
pub struct Having<'a> {
    pub policies: BTreeSet<&'a str>,
    pub schedulers: BTreeSet<&'static str>,
    /// Whether some workload does not end by itself, so that it needs a run time.
    pub runtime: bool,
    /// Whether some background is a workload.
    pub load: bool,
}

/// The things that a cell names, with the cell's values applied.
pub struct Applied {
    pub array: Array,
    pub devices: Vec<Device>,
    pub workload: Workload,
    pub policy: Option<PolicyChoice>,
    pub scheduler: SchedulerChoice,
    pub memory: Bytes,
    pub background: Option<Background>,
    /// The cell's own run time; None means the suite's.
    pub runtime: Option<Nanos>,
    pub ramp: Option<Nanos>,
    pub metadata: Option<Metadata>,
}

/// Files that were read again with other values, by name and values. Many cells have the same ones.
#[derive(Default)]
pub struct RereadFiles {
    devices: RefCell<BTreeMap<String, Result<Device, String>>>,
    workloads: RefCell<BTreeMap<String, Result<Workload, String>>>,
}

/// A value of a cell on an axis over a parameter, and its place.
pub struct SweptValue<'a> {
    pub parameter: &'a SweptParameter,
    pub value: &'a str,
    pub place: &'a SourcePlace,
}

impl SweptValue<'_> {
    fn wrong(&self, message: impl Display) -> Diagnostic {
        let (parameter, value, message) = (self.parameter, self.value, message.to_string());
        let is_named = self.place.key.ends_with(&parameter.to_string());
        self.place.diagnostic(if !is_named {
            format!("{parameter} = {value}: {message}")
        } else if message.contains(value) {
            message
        } else {
            format!("{value}: {message}")
        })
    }
}

/// Applies the cell's values to the things that it names.
pub fn apply(
    base: &Base<'_>,
    values: &[SweptValue<'_>],
    lab: &Lab,
    known: &RereadFiles,
) -> Result<Applied, Diagnostic> {
    let mut applied = Applied {
        array: base.array.clone(),
        devices: base.devices.to_vec(),
        workload: base.workload.clone(),
        policy: base.policy.map(|(_, _, choice)| choice.clone()),
        scheduler: base.scheduler.clone(),
        memory: base.memory,
        background: base.background.cloned(),
        runtime: None,
        ramp: None,
        metadata: None,
    };
    // The number of disks comes first, because other values may name one of the disks.
    for swept in values.iter().filter(|swept| *swept.parameter == SweptParameter::Disks) {
        applied.set_disks(swept.value, lab).map_err(|message| swept.wrong(message))?;
    }
    if let Some(drive) = base.drive {
        applied.array = applied.array.with_drive(&applied.devices, drive);
        applied.devices = drive.in_place_of(&applied.devices);
    }
    applied.set_devices(values, lab, known)?;
    if let Some((last, changes)) = changes(values, KeyOwner::Workload) {
        let workload = changed(&applied.workload, &changes, lab, known);
        applied.workload = workload.map_err(|message| last.wrong(message))?;
    }
    if let Some((last, changes)) = changes(values, KeyOwner::Background) {
        let set = applied.set_background(&changes, lab, known, base.having);
        set.map_err(|message| last.wrong(message))?;
    }
    applied.set_policy(base, values)?;
    for swept in values {
        let value = swept.value;
        let set = match swept.parameter {
            SweptParameter::Key(KeyOwner::Scheduler, key) => {
                applied.set_scheduler(key, value, base.having)
            }
            SweptParameter::Memory => {
                number_within(value, &MEMORY).map(|memory| applied.memory = memory)
            }
            SweptParameter::Runtime => applied.set_runtime(value, base.having),
            SweptParameter::Ramp => applied.set_ramp(value, lab),
            SweptParameter::Metadata => {
                value.parse().map(|metadata| applied.metadata = Some(metadata))
            }
            _ => Ok(()),
        };
        set.map_err(|message| swept.wrong(message))?;
    }
    Ok(applied)
}

impl Applied {
    fn set_disks(&mut self, value: &str, lab: &Lab) -> Result<(), String> {
        let disks = value.parse().map_err(|_| format!("`{value}` is not a number of disks"))?;
        self.array = self.array.with_disks(disks)?;
        self.devices = lab.devices_of(&self.array);
        Ok(())
    }

    fn set_devices(
        &mut self,
        values: &[SweptValue<'_>],
        lab: &Lab,
        known: &RereadFiles,
    ) -> Result<(), Diagnostic> {
        let own = self.array.devices.len();
        let estimates = self.devices.clone();
        let mut changes: BTreeMap<usize, Vec<(&str, &str)>> = BTreeMap::new();
        let (mut twice, mut last) = (None, None);
        for swept in values {
            let SweptParameter::Device { disk, key } = swept.parameter else { continue };
            last = Some(swept);
            let disks = match disk.map(|disk| disk as usize) {
                None => 0..own,
                Some(disk) if disk <= own => disk - 1..disk,
                Some(disk) => {
                    let array = &self.array.name;
                    let message = format!("array `{array}` has no disk {disk}: it has {own}");
                    return Err(swept.wrong(message));
                }
            };
            for disk in disks {
                let changes = changes.entry(disk).or_default();
                if changes.iter().any(|(known, _)| known == key) {
                    twice.get_or_insert((swept, disk + 1, key));
                }
                changes.push((key.as_str(), swept.value));
            }
        }
        if let Some((swept, disk, key)) = twice {
            let names = format!("device.{key} and disk.{disk}.{key}: leave one out");
            return Err(swept.wrong(format!("disk {disk} has two values of `{key}`, by {names}")));
        }
        for swept in values.iter().filter(|swept| *swept.parameter == SweptParameter::Estimated) {
            let Some(end) = RangeEnd::parse(swept.value).map_err(|error| swept.wrong(error))?
            else {
                continue;
            };
            last = Some(swept);
            for (disk, device) in estimates.iter().enumerate() {
                let Some(value) = end.value_of(device) else { continue };
                let changes = changes.entry(disk).or_default();
                // A value that the suite sets is no longer an estimate.
                if changes.iter().all(|(known, _)| *known != end.key) {
                    changes.push((end.key, value));
                }
            }
        }
        let Some(last) = last else { return Ok(()) };
        for (disk, mut changes) in changes {
            // The factor to seek times applies after the other keys, in whatever order they are
            // written.
            changes.sort_by_key(|(key, _)| *key == SEEK);
            let Some(base) = self.devices.get_mut(disk) else { continue };
            let mut devices = known.devices.borrow_mut();
            let name = format!("{} {} {changes:?}", base.name, base.used.0);
            let device = devices
                .entry(name)
                .or_insert_with(|| self::device(base, &lab.texts.devices, &changes));
            *base = device.clone().map_err(|message| last.wrong(message))?;
        }
        Ok(())
    }

    fn set_background(
        &mut self,
        changes: &[(&str, &str)],
        lab: &Lab,
        known: &RereadFiles,
        having: &Having<'_>,
    ) -> Result<(), String> {
        let background = self.background.as_mut();
        let with_load =
            background.and_then(|beside| beside.workload.clone().map(|load| (beside, load)));
        let Some((background, load)) = with_load else {
            let message = "no background of the suite is a workload; leave it out";
            return if having.load { Ok(()) } else { Err(message.to_owned()) };
        };
        let load = changed(&load, changes, lab, known)?;
        if !lab.backgrounds.contains_key(&background.name) {
            background.priority = load.priority;
        }
        background.workload = Some(load);
        Ok(())
    }

    fn set_runtime(&mut self, value: &str, having: &Having<'_>) -> Result<(), String> {
        let runtime = number_within(value, &RUNTIME)?;
        if !having.runtime {
            return Err(format!(
                "workload `{}` ends by itself, so that it has no run time; leave `runtime` out",
                self.workload.name
            ));
        }
        self.runtime = Some(runtime);
        Ok(())
    }

    /// Sets the ramp. A workload in the background begins at the beginning of the ramp.
    fn set_ramp(&mut self, value: &str, lab: &Lab) -> Result<(), String> {
        let ramp = number_within(value, &TIMES_BEFORE)?;
        if let Some(background) = &mut self.background
            && !lab.backgrounds.contains_key(&background.name)
        {
            background.lead = DiskTimes { rotational: ramp, solid_state: ramp };
        }
        self.ramp = Some(ramp);
        Ok(())
    }

    fn set_policy(&mut self, base: &Base<'_>, values: &[SweptValue<'_>]) -> Result<(), Diagnostic> {
        let mut changed = None;
        for swept in values {
            let SweptParameter::Key(KeyOwner::Policy, key) = swept.parameter else { continue };
            let Some((spelled, policy, _)) = base.policy else {
                return Err(swept.wrong(
                    "the suite has no read policy; leave it out, or add the axis `policy`",
                ));
            };
            let is_own = policy.parameters.iter().any(|parameter| parameter.key == *key);
            if !is_own && base.having.policies.contains(key.as_str()) {
                continue;
            }
            let wanted = match changed.take() {
                Some((_, wanted, _)) => wanted,
                None => spelled.parse::<WantedPolicy>().map_err(|message| swept.wrong(message))?,
            };
            changed = Some((swept, wanted.with(key, swept.value), policy));
        }
        if let Some((swept, wanted, policy)) = changed {
            let choice = wanted.settle(policy, self.array.devices.len());
            self.policy = Some(choice.map_err(|message| swept.wrong(message))?);
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
}

/// Returns the changed keys of one file, each with its value, and the last of them, or None if none
/// is changed.
fn changes<'v, 'a>(
    values: &'v [SweptValue<'a>],
    owner: KeyOwner,
) -> Option<(&'v SweptValue<'a>, Vec<(&'a str, &'a str)>)> {
    let own = values.iter().filter_map(|swept| match swept.parameter {
        SweptParameter::Key(of, key) if *of == owner => Some((swept, (key.as_str(), swept.value))),
        _ => None,
    });
    let (swept, changes): (Vec<_>, Vec<_>) = own.unzip();
    swept.last().map(|last| (*last, changes))
}

fn changed(
    base: &Workload,
    changes: &[(&str, &str)],
    lab: &Lab,
    known: &RereadFiles,
) -> Result<Workload, String> {
    if matches!(base.kind, WorkloadKind::Startup(_) | WorkloadKind::FileLoad(_)) {
        return Err(format!(
            "workload `{}` has no keys with numbers: it is a start-up or a load on many files; \
             leave it out",
            base.name
        ));
    }
    if !base.sections().is_empty() {
        let advice = "change the job file, or give each value a file of its own";
        return Err(format!("workload `{}` is fio's own job file: {advice}", base.name));
    }
    let mut workloads = known.workloads.borrow_mut();
    let name = format!("{} {changes:?}", base.name);
    workloads.entry(name).or_insert_with(|| workload(base, &lab.texts.workloads, changes)).clone()
}

fn number_within<T>(value: &str, range: &RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr<Err: Display> + PartialOrd + Display,
{
    let number: T = value.parse().map_err(|error: T::Err| error.to_string())?;
    in_range(&number, range).map(|()| number)
}

//! The things of a lab that the values of a suite's axes name.

use crate::array::Array;
use crate::background::{Background, NONE};
use crate::device::{Device, RangeEnd};
use crate::disk_times::DiskTimes;
use crate::kernel::{self, NEWEST};
use crate::lab::{JOB_FILE, Lab};
use crate::layout::Filesystem;
use crate::policy::{Policy, PolicyChoice, WantedPolicy};
use crate::read::{Diagnostic, Located, lookup, unknown};
use crate::scheduler::SchedulerChoice;
use crate::suite::cell::Cell;
use crate::suite::sweep::{Base, Having, SweptParameter};
use crate::suite::{Axis, AxisValues, Suite, SuiteAxis};
use crate::workload::Workload;

/// Suffix of the name of a workload of many files that selects all of its files.
const FULL: &str = "full";

/// The things that the values of the axes name. The list is empty for an axis that the suite lacks.
#[derive(Default)]
pub(super) struct Resolved<'a> {
    pub arrays: Vec<Named<'a, (&'a Array, Vec<Device>)>>,
    pub workloads: Vec<Named<'a, Workload>>,
    /// The backgrounds, without `none`.
    pub backgrounds: Vec<Named<'a, Background>>,
    pub drives: Vec<Named<'a, &'a Device>>,
    pub policies: Vec<Named<'a, (PolicyChoice, &'a Policy)>>,
}

/// A value in the suite, and the thing that it names.
pub(super) struct Named<'a, T> {
    pub name: &'a Located<String>,
    pub thing: T,
}

impl<T> Named<'_, T> {
    /// Returns the thing that a cell's value names.
    fn find<'n>(all: &'n [Self], value: Option<&str>) -> Option<&'n T> {
        all.iter().find(|named| Some(named.value()) == value).map(|named| &named.thing)
    }

    pub fn value(&self) -> &str {
        &self.name.value
    }

    /// Returns a mistake at the place of the value.
    pub fn wrong(&self, message: impl Into<String>) -> Diagnostic {
        self.name.place.diagnostic(message)
    }
}

impl<'a> Resolved<'a> {
    /// Resolves the values of the axes. `ramp` is the suite's: the time that a background that is a
    /// workload runs before the measured workload.
    pub fn new(
        axes: &'a [AxisValues],
        ramp: DiskTimes,
        lab: &'a Lab,
        mistakes: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut resolved = Self::default();
        // Arrays come first: a policy may name a device, and the arrays limit its number.
        let (arrays, others): (Vec<&AxisValues>, Vec<&AxisValues>) =
            axes.iter().partition(|values| values.axis == Axis::Array);
        for AxisValues { axis, values, .. } in arrays.into_iter().chain(others) {
            for name in values {
                let added = match axis {
                    SuiteAxis::Named(named) => resolved.add(*named, name, ramp, lab),
                    SuiteAxis::Parameter(SweptParameter::Drive) => resolved.add_drive(name, lab),
                    SuiteAxis::Parameter(_) => Ok(()),
                };
                if let Err(message) = added {
                    mistakes.push(name.place.diagnostic(message));
                }
            }
        }
        resolved
    }

    /// Returns the things that a cell names, or `None` if the cell has no array or workload.
    pub fn base<'b>(
        &'b self,
        cell: &Cell<'b>,
        suite: &Suite,
        having: &'b Having<'b>,
    ) -> Option<Base<'b>> {
        let (array, devices) = self.array(cell)?;
        let policy = self.policy(cell).zip(cell.value(Axis::Policy));
        let scheduler = cell.value(Axis::Scheduler).and_then(|value| value.parse().ok());
        Some(Base {
            array,
            devices,
            drive: self.drive(cell),
            workload: Named::find(&self.workloads, cell.value(Axis::Workload))?,
            background: self.background(cell),
            policy: policy.map(|((choice, policy), spelled)| (spelled, policy, choice)),
            scheduler: scheduler.unwrap_or_default(),
            memory: suite.memory,
            having,
        })
    }

    /// Returns the array of a cell, with its disks.
    pub fn array(&self, cell: &Cell<'_>) -> Option<&(&'a Array, Vec<Device>)> {
        Named::find(&self.arrays, cell.value(Axis::Array))
    }

    /// Returns the drive of a cell.
    pub fn drive(&self, cell: &Cell<'_>) -> Option<&'a Device> {
        let mut parameters = cell.parameters().into_iter();
        let drive = parameters.find(|swept| *swept.parameter == SweptParameter::Drive)?;
        Named::find(&self.drives, Some(drive.value)).copied()
    }

    /// Returns the disks of each array, and those with each drive of the suite in their place.
    pub fn all_devices(&self) -> Vec<Device> {
        let arrays = || self.arrays.iter().map(|array| &array.thing.1);
        if self.drives.is_empty() {
            return arrays().flatten().cloned().collect();
        }
        let with = |drive: &Named<'_, &Device>| {
            arrays().flat_map(|own| drive.thing.in_place_of(own)).collect::<Vec<_>>()
        };
        self.drives.iter().flat_map(with).collect()
    }

    pub fn background(&self, cell: &Cell<'_>) -> Option<&Background> {
        Named::find(&self.backgrounds, cell.value(Axis::Background))
    }

    pub fn policy(&self, cell: &Cell<'_>) -> Option<(&PolicyChoice, &'a Policy)> {
        let (choice, policy) = Named::find(&self.policies, cell.value(Axis::Policy))?;
        Some((choice, *policy))
    }

    /// Returns whether a cell is at an end of an estimate's range that no disk of its array has.
    /// Such a cell equals the one with all estimates as they are.
    pub fn is_no_estimate(&self, cell: &Cell<'_>) -> bool {
        let mut swept = cell.parameters().into_iter();
        let value = swept.rfind(|swept| *swept.parameter == SweptParameter::Estimated);
        let end = value.and_then(|swept| RangeEnd::parse(swept.value).ok().flatten());
        let devices = self.array(cell).map(|(_, devices)| match self.drive(cell) {
            Some(drive) => drive.in_place_of(devices),
            None => devices.clone(),
        });
        end.zip(devices)
            .is_some_and(|(end, devices)| devices.iter().all(|own| end.value_of(own).is_none()))
    }

    /// Returns the reason why a cell has no trials: its array lacks something that its drive or
    /// background needs.
    pub fn why_left_out(&self, cell: &Cell<'_>) -> Option<String> {
        let (array, devices) = self.array(cell)?;
        if let Some(drive) = self.drive(cell)
            && !devices.iter().any(|disk| drive.replaces(disk))
        {
            let (name, kind) = (&array.name, drive.kind());
            return Some(format!(
                "array {name} is left out for drives that replace {kind}s: it has none"
            ));
        }
        let background = self.background(cell)?;
        let snapshots = background.snapshots?;
        let can_replicate = snapshots.replicate_every.is_none() || array.replica.is_some();
        let why = match array.layout.filesystem()? {
            Filesystem::Btrfs | Filesystem::Zfs if can_replicate => return None,
            Filesystem::Btrfs | Filesystem::Zfs => "its array has no [replica]".to_owned(),
            other => format!("{other} has no snapshots"),
        };
        Some(format!("{} on {} is left out: {why}", background.name, array.name))
    }

    fn add_drive(&mut self, name: &'a Located<String>, lab: &'a Lab) -> Result<(), String> {
        let thing = lookup("device", &lab.devices, &name.value)?;
        self.drives.push(Named { name, thing });
        Ok(())
    }

    fn add(
        &mut self,
        axis: Axis,
        name: &'a Located<String>,
        ramp: DiskTimes,
        lab: &'a Lab,
    ) -> Result<(), String> {
        let value = name.value.as_str();
        match axis {
            Axis::Array => {
                let array = lookup("array", &lab.arrays, value)?;
                self.arrays.push(Named { name, thing: (array, lab.devices_of(array)) });
            }
            Axis::Workload if value.ends_with(JOB_FILE) => {
                self.workloads.push(Named { name, thing: Lab::job_file(value)? });
            }
            Axis::Workload => {
                let (base, way) =
                    value.split_once(':').map_or((value, None), |(base, way)| (base, Some(way)));
                let workload = lookup("workload", &lab.workloads, base)?;
                let workload = match way {
                    Some(FULL) => workload.full().ok_or_else(|| {
                        let advice = format!("leave `:{FULL}` out");
                        format!(
                            "workload `{base}` has no files that it could have more of: {advice}"
                        )
                    })?,
                    Some(way) => workload.started(way.parse()?).ok_or_else(|| {
                        format!(
                            "workload `{base}` is not a program that starts: leave `:{way}` out"
                        )
                    })?,
                    None => workload.clone(),
                };
                self.workloads.push(Named { name, thing: workload });
            }
            Axis::Background if value == NONE => {}
            Axis::Background => {
                let loads = || lab.workloads.values().filter(|workload| workload.is_endless());
                let known = || {
                    let loads = loads().map(|workload| workload.name.as_str());
                    lab.backgrounds.keys().map(String::as_str).chain(loads).chain([NONE])
                };
                let load = || loads().find(|workload| workload.name == value);
                let own = lab.backgrounds.get(value).cloned();
                let background = own.or_else(|| Some(Background::of_workload(load()?, ramp)));
                let thing = background.ok_or_else(|| unknown("background", value, known()))?;
                self.backgrounds.push(Named { name, thing });
            }
            Axis::Policy => {
                let wanted: WantedPolicy = value.parse()?;
                let policy = lookup("policy", &lab.policies, &wanted.policy)?;
                // The device must exist in every array that the policy meets.
                let devices = self.arrays.iter().map(|array| array.thing.0.devices.len());
                let choice = wanted.settle(policy, devices.min().unwrap_or(usize::MAX))?;
                if self.policies.iter().any(|known| known.thing.0 == choice) {
                    return Err(format!("`{choice}` is given twice"));
                }
                self.policies.push(Named { name, thing: (choice, policy) });
            }
            // The value was checked when it was read.
            Axis::Jobs => {}
            Axis::Scheduler => {
                value.parse::<SchedulerChoice>()?;
            }
            Axis::Kernel => {
                let known =
                    || lab.kernels.iter().map(|kernel| kernel.series.as_str()).chain([NEWEST]);
                let version_of =
                    |series| value.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'));
                // A path is a kernel that the user built, or its source; the lab does not know
                // whether it exists.
                if value.contains('/') {
                    kernel::check_path(value)?;
                } else if !known().any(|known| known == value || version_of(known)) {
                    return Err(unknown("kernel", value, known()));
                }
            }
        }
        Ok(())
    }
}

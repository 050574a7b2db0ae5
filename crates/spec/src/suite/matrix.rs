//! From a suite and a lab to trials.

use disklab_units::{Nanos, Seed};

use super::{Axis, Span, Suite, Values};
use crate::array::Array;
use crate::background::{Background, NONE};
use crate::cache::Cache;
use crate::device::Device;
use crate::join::Join;
use crate::kernel::NEWEST;
use crate::lab::Lab;
use crate::policy::{Policy, PolicyChoice, Wanted};
use crate::power_cut;
use crate::read::{Located, Mistake, Mistakes, unknown};
use crate::scheduler::SchedulerChoice;
use crate::trial::Trial;
use crate::workload::Workload;

/// What the values of the axes stand for. Empty where the suite does not have an axis.
#[derive(Default)]
struct Resolved<'a> {
    arrays: Vec<Named<'a, (&'a Array, Vec<Device>)>>,
    workloads: Vec<Named<'a, Workload>>,
    /// Without `none`.
    backgrounds: Vec<Named<'a, Background>>,
    policies: Vec<Named<'a, (PolicyChoice, &'a Policy)>>,
}

/// A value as the suite has it, and what it stands for.
struct Named<'a, T> {
    name: &'a Located<String>,
    thing: T,
}

impl Suite {
    /// All trials, always in the same order: the cells once with the first seed, then once with the second, so that
    /// what is done of an interrupted run covers the matrix.
    ///
    /// The error holds all mistakes that can be found before anything runs.
    pub fn trials(&self, lab: &Lab) -> Result<Vec<Trial>, Mistakes> {
        let mut mistakes = Vec::new();
        let resolved = Resolved::new(&self.axes, self.ramp, lab, &mut mistakes);
        resolved.check_sizes(&mut mistakes);
        resolved.check_times(self, &mut mistakes);
        resolved.check_raw(&mut mistakes);
        resolved.check_jobs(&self.axes, &mut mistakes);
        resolved.check_backgrounds(&mut mistakes);
        resolved.check_mirrors(&mut mistakes);
        if self.power_cut.is_some() {
            resolved.check_power_cut(&mut mistakes);
        }
        if !mistakes.is_empty() {
            return Err(Mistakes(mistakes));
        }
        let (cells, resolved) = (cells(&self.axes), &resolved);
        let with_seed = |seed| cells.iter().filter_map(move |cell| self.trial(resolved, cell, seed));
        Ok(self.seeds.numbers().flat_map(with_seed).collect())
    }

    /// `None` where the cell has no array or workload, which no suite that was read lacks.
    fn trial(&self, resolved: &Resolved<'_>, cell: &[(Axis, String)], seed_index: u32) -> Option<Trial> {
        let value = |axis| cell.iter().find(|(known, _)| *known == axis).map(|(_, value)| value.as_str());
        let (array, devices) =
            resolved.arrays.iter().find(|it| Some(it.value()) == value(Axis::Array)).map(|it| &it.thing)?;
        let workload = resolved.workloads.iter().find(|it| Some(it.value()) == value(Axis::Workload))?;
        let workload = &workload.thing;
        let jobs = value(Axis::Jobs).and_then(|jobs| jobs.parse().ok());
        let workload = jobs.map_or_else(|| workload.clone(), |jobs| workload.with_numjobs(jobs));
        let background = resolved
            .backgrounds
            .iter()
            .find(|it| Some(it.value()) == value(Axis::Background))
            .map(|it| it.thing.clone());
        let named = resolved.policies.iter().find(|it| Some(it.value()) == value(Axis::Policy));
        // Where a read has no choice, there is nothing to set and nothing to read back.
        let policy = named.filter(|_| array.join.has_read_policy()).map(|it| &it.thing);
        let scheduler: SchedulerChoice =
            value(Axis::Scheduler).and_then(|word| word.parse().ok()).unwrap_or_default();
        let mut needs: Vec<_> = policy.map(|(_, policy)| policy.needs.clone()).unwrap_or_default();
        needs.extend(scheduler.scheduler.needs().map(str::to_owned));
        needs.extend(array.join.needs().map(str::to_owned));
        needs.extend(array.cache.as_ref().map(|_| Cache::NEEDS.to_owned()));
        needs.sort();
        needs.dedup();
        let cell = self.visible(cell, named.map(|it| &it.thing.0));
        let limit = workload.startup.as_ref().map(|startup| startup.limit);
        // What is not fio's has nothing to settle: what is to be settled runs beside it.
        let settles = workload.is_fio();
        let rotational = devices.iter().any(|device| device.model.rotational());
        Some(Trial {
            id: id(&cell, seed_index),
            cell,
            seed_index,
            seed: seed(seed_index),
            array: (*array).clone(),
            devices: devices.clone(),
            workload,
            background,
            policy: policy.map(|(choice, _)| choice.clone()),
            scheduler,
            kernel: value(Axis::Kernel).unwrap_or(NEWEST).to_owned(),
            needs,
            runtime: limit.or_else(|| Some(self.runtime?.of(rotational))).unwrap_or_default(),
            ramp: if settles { self.ramp.of(rotational) } else { Nanos::ZERO },
            memory: self.memory,
            mount_options: self.mount_options.clone(),
            metadata: self.metadata,
            power_cut: self.power_cut,
        })
    }

    /// The part of a cell that is not fixed, with the policy in its one spelling.
    fn visible(&self, cell: &[(Axis, String)], policy: Option<&PolicyChoice>) -> Vec<(Axis, String)> {
        let fixed = |axis| self.axes.iter().any(|known| known.axis == axis && known.fixed);
        let visible = cell.iter().filter(|(axis, _)| !fixed(*axis));
        let spelled = |(axis, value): &(Axis, String)| match policy {
            Some(policy) if *axis == Axis::Policy => (*axis, policy.to_string()),
            _ => (*axis, value.clone()),
        };
        visible.map(spelled).collect()
    }
}

/// Every combination of values, the last axis varying fastest.
fn cells(axes: &[Values]) -> Vec<Vec<(Axis, String)>> {
    axes.iter().fold(vec![Vec::new()], |cells, Values { axis, values, .. }| {
        let extend = |cell: &Vec<(Axis, String)>, value: &Located<String>| {
            let mut cell = cell.clone();
            cell.push((*axis, value.value.clone()));
            cell
        };
        cells.iter().flat_map(|cell| values.iter().map(move |value| extend(cell, value))).collect()
    })
}

fn id(cell: &[(Axis, String)], seed_index: u32) -> String {
    let mut id = String::new();
    for (_, value) in cell {
        // Names have neither `=`, `,` nor `+`, so that ids stay unique. A `:` is a drive or a host to some tools.
        id.push_str(&value.replace(':', "=").replace('/', "%"));
        id.push('+');
    }
    id + "s" + &seed_index.to_string()
}

fn seed(index: u32) -> Seed {
    Seed(u64::from(index)).derive("trial")
}

impl<T> Named<'_, T> {
    fn value(&self) -> &str {
        &self.name.value
    }
}

impl<'a> Resolved<'a> {
    /// `ramp` is the suite's: how long a background that is a workload runs before the measured one.
    fn new(axes: &'a [Values], ramp: Span, lab: &'a Lab, mistakes: &mut Vec<Mistake>) -> Self {
        let mut resolved = Self::default();
        // A policy may name a device, of which arrays have more or fewer.
        let (arrays, others): (Vec<&Values>, Vec<&Values>) =
            axes.iter().partition(|values| values.axis == Axis::Array);
        for Values { axis, values, .. } in arrays.into_iter().chain(others) {
            for name in values {
                if let Err(message) = resolved.add(*axis, name, ramp, lab) {
                    mistakes.push(name.place.mistake(message));
                }
            }
        }
        resolved
    }

    fn add(&mut self, axis: Axis, name: &'a Located<String>, ramp: Span, lab: &'a Lab) -> Result<(), String> {
        let value = name.value.as_str();
        match axis {
            Axis::Array => {
                let array =
                    lab.arrays.get(value).ok_or_else(|| unknown("array", value, names(&lab.arrays)))?;
                self.arrays.push(Named { name, thing: (array, lab.devices_of(array)) });
            }
            Axis::Workload => {
                let (base, way) =
                    value.split_once(':').map_or((value, None), |(base, way)| (base, Some(way)));
                let workload = lab
                    .workloads
                    .get(base)
                    .ok_or_else(|| unknown("workload", base, names(&lab.workloads)))?;
                let workload = match way {
                    Some(way) => workload.started(way.parse()?).ok_or_else(|| {
                        format!("workload `{base}` is no program that starts: leave `:{way}` out")
                    })?,
                    None => workload.clone(),
                };
                self.workloads.push(Named { name, thing: workload });
            }
            Axis::Background if value == NONE => {}
            Axis::Background => {
                let loads = || lab.workloads.values().filter(|workload| workload.is_fio());
                let known = || {
                    let loads = loads().map(|workload| workload.name.as_str());
                    names(&lab.backgrounds).chain(loads).chain([NONE])
                };
                let load = || loads().find(|workload| workload.name == value);
                let background = lab.backgrounds.get(value).cloned();
                let background = background.or_else(|| Some(Background::of_workload(load()?, ramp)));
                let background = background.ok_or_else(|| unknown("background", value, known()))?;
                self.backgrounds.push(Named { name, thing: background });
            }
            Axis::Policy => {
                let wanted: Wanted = value.parse()?;
                let policy = lab
                    .policies
                    .get(&wanted.policy)
                    .ok_or_else(|| unknown("policy", &wanted.policy, names(&lab.policies)))?;
                // A device must be there in every array that the policy meets.
                let fewest =
                    self.arrays.iter().map(|it| it.thing.0.devices.len()).min().unwrap_or(usize::MAX);
                let choice = wanted.settle(policy, fewest)?;
                if self.policies.iter().any(|known| known.thing.0 == choice) {
                    return Err(format!("`{choice}` is there twice"));
                }
                self.policies.push(Named { name, thing: (choice, policy) });
            }
            // Checked when it was read.
            Axis::Jobs => {}
            Axis::Scheduler => {
                value.parse::<SchedulerChoice>()?;
            }
            Axis::Kernel => {
                let known = || lab.kernels.iter().map(|kernel| kernel.series.as_str()).chain([NEWEST]);
                let version_of =
                    |series: &str| value.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'));
                // A path is a kernel that the user built; whether there is one is not for the lab to know.
                if !value.contains('/') && !known().any(|known| known == value || version_of(known)) {
                    return Err(unknown("kernel", value, known()));
                }
            }
        }
        Ok(())
    }

    /// The number of jobs is that of one definition.
    fn check_jobs(&self, axes: &[Values], mistakes: &mut Vec<Mistake>) {
        let Some(jobs) = axes.iter().find(|values| values.axis == Axis::Jobs) else { return };
        let several = self.workloads.iter().filter(|it| it.thing.jobs.len() > 1);
        for (workload, jobs) in several.zip(jobs.values.first()) {
            let message = format!(
                "workload `{}` has several [[job]]s, each with its own numjobs: leave `jobs` out",
                workload.value()
            );
            mistakes.push(jobs.place.mistake(message));
        }
    }

    /// A workload's file must fit into each array.
    fn check_sizes(&self, mistakes: &mut Vec<Mistake>) {
        for Named { name, thing: workload } in &self.workloads {
            for Named { thing: (array, devices), .. } in &self.arrays {
                let largest = array.largest_file(devices);
                if workload.bytes() > largest {
                    let what = if workload.own_files || workload.startup.is_some() {
                        format!("its files of {} together are", workload.bytes())
                    } else {
                        format!("its file of {} is", workload.bytes())
                    };
                    let message =
                        format!("{what} larger than array `{}` holds: {largest} at most", array.name);
                    mistakes.push(name.place.mistake(message));
                }
            }
        }
    }

    /// What takes as long as it is given needs a time, and a film that lasts.
    fn check_times(&self, suite: &Suite, mistakes: &mut Vec<Mistake>) {
        for Named { name, thing: workload } in self.workloads.iter().filter(|it| it.thing.startup.is_none()) {
            let Some(runtime) = suite.runtime else {
                let what = "the suite has no `runtime`; only programs that start need none";
                mistakes.push(name.place.mistake(format!("workload `{}`: {what}", name.value)));
                continue;
            };
            let longest = runtime.rotational.max(runtime.solid_state);
            let needed = workload.player.map(|player| player.bytes(longest)).unwrap_or_default();
            if needed > workload.file_size {
                let message = format!(
                    "a film of {longest} has {needed}, more than its filesize, {}; a part that is read twice would be in \
                     memory",
                    workload.file_size
                );
                mistakes.push(name.place.mistake(message));
            }
        }
    }

    /// What reads a device past its filesystem needs one, and one device only.
    fn check_raw(&self, mistakes: &mut Vec<Mistake>) {
        let workloads = self.workloads.iter().map(|it| (it.name, &it.thing));
        let beside = self.backgrounds.iter().filter_map(|it| Some((it.name, it.thing.workload.as_ref()?)));
        for (name, workload) in workloads.chain(beside).filter(|(_, workload)| workload.raw) {
            for Named { thing: (array, devices), .. } in &self.arrays {
                let needed = workload.file_size.saturating_mul(u64::from(workload.files()));
                let largest = array.largest_file(devices);
                let message = if matches!(array.join, Join::Btrfs(_)) {
                    format!(
                        "`raw` reads one device, and array `{}` has several below its filesystem",
                        array.name
                    )
                } else if needed > largest {
                    format!(
                        "its parts of {needed} together are larger than array `{}`: {largest}",
                        array.name
                    )
                } else {
                    continue;
                };
                mistakes.push(name.place.mistake(message));
            }
        }
    }

    /// A background runs on a mounted filesystem, which its trees must fit into, beside the workload's file and once
    /// more: what a program moves is copied before it is freed.
    fn check_backgrounds(&self, mistakes: &mut Vec<Mistake>) {
        let file = self.workloads.iter().map(|it| it.thing.bytes()).max().unwrap_or_default();
        for Named { name, thing: background } in &self.backgrounds {
            for Named { thing: (array, devices), .. } in &self.arrays {
                if array.join.filesystem().is_none() {
                    let message = format!("needs a filesystem; array `{}` is a bare device", array.name);
                    mistakes.push(name.place.mistake(message));
                    continue;
                }
                let own = background.bytes();
                let (needed, largest) = (file + own, array.largest_file(devices));
                if needed > largest {
                    let message = format!(
                        "its files, {own} with room to move them, and those of {file} are more than array `{}` holds: \
                         {largest}",
                        array.name
                    );
                    mistakes.push(name.place.mistake(message));
                }
            }
        }
    }

    /// What survives a power cut is asked of a filesystem, which its witness has to fit into.
    fn check_power_cut(&self, mistakes: &mut Vec<Mistake>) {
        let file = self.workloads.iter().map(|it| it.thing.bytes()).max().unwrap_or_default();
        for array in &self.arrays {
            let (known, devices) = &array.thing;
            let largest = known.largest_file(devices);
            let message = if known.join.filesystem().is_none() {
                format!(
                    "a power cut needs a filesystem to come back; array `{}` is a bare device",
                    known.name
                )
            } else if known.cache.is_some() {
                format!(
                    "a power cut is not modelled with a cache in front of the disks, which `{}` has",
                    known.name
                )
            } else if file + power_cut::WITNESS > largest {
                format!(
                    "the {} that tell what survived a power cut, and a file of {file}, are more than array `{}` holds: \
                     {largest}",
                    power_cut::WITNESS,
                    known.name
                )
            } else {
                continue;
            };
            mistakes.push(array.name.place.mistake(message));
        }
    }

    /// Policies are compared only where there is something to choose; a single one may meet arrays without mirrors,
    /// and is then not set there.
    fn check_mirrors(&self, mistakes: &mut Vec<Mistake>) {
        let Some(first) = self.policies.first() else { return };
        let without: Vec<_> = self.arrays.iter().filter(|it| !it.thing.0.join.has_read_policy()).collect();
        if without.is_empty() {
            return;
        }
        if without.len() == self.arrays.len() {
            let message =
                "nothing uses this axis: none of the arrays has mirrors that a policy could choose from";
            mistakes.push(first.name.place.mistake(message));
        } else if self.policies.len() > 1 {
            for array in without {
                let message = format!(
                    "array `{}` ({}) has no mirrors: its results would be the same for each policy; leave it out, or \
                     fix one policy",
                    array.value(),
                    array.thing.0.join
                );
                mistakes.push(array.name.place.mistake(message));
            }
        }
    }
}

fn names<T>(things: &std::collections::BTreeMap<String, T>) -> impl Iterator<Item = &str> {
    things.keys().map(String::as_str)
}

//! From a suite and a lab to trials.

use disklab_units::{Nanos, Seed};

use super::{Axis, SET, Span, Suite, Values, fit, metric};
use crate::array::Array;
use crate::background::{Background, NONE};
use crate::cache::Cache;
use crate::device::Device;
use crate::join::{Filesystem, Join};
use crate::kernel::{self, NEWEST};
use crate::lab::Lab;
use crate::phases::JOBS_WORD;
use crate::places::Places;
use crate::policy::{Policy, PolicyChoice, Wanted};
use crate::power_cut;
use crate::read::{Located, Mistake, Mistakes, unknown};
use crate::scheduler::SchedulerChoice;
use crate::trial::Trial;
use crate::workload::Workload;

/// After the name of a workload of many files: with all of them.
const FULL: &str = "full";

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
        resolved.check_files(&mut mistakes);
        resolved.check_jobs(&self.axes, &mut mistakes);
        resolved.check_backgrounds(&mut mistakes);
        resolved.check_mirrors(&mut mistakes);
        resolved.check_metrics(self, lab, &mut mistakes);
        if self.power_cut.is_some() {
            resolved.check_power_cut(&mut mistakes);
        }
        if !mistakes.is_empty() {
            return Err(Mistakes(mistakes));
        }
        let (cells, resolved) = (cells(&self.axes), &resolved);
        let (left_out, cells): (Vec<_>, Vec<_>) =
            cells.into_iter().partition(|cell| resolved.why_left_out(cell).is_some());
        if let Some((first, background)) = left_out.first().zip(resolved.backgrounds.first())
            && cells.is_empty()
        {
            let why = resolved.why_left_out(first).unwrap_or_default();
            return Err(background.name.place.mistake(format!("no trial is left: {why}")).into());
        }
        let with_seed = |seed| cells.iter().filter_map(move |cell| self.trial(resolved, cell, seed));
        Ok(self.seeds.numbers().flat_map(with_seed).collect())
    }

    /// What of the matrix makes no sense and is left out, and why: a sentence for each array and background that do not go
    /// together. Of a suite with mistakes, nothing.
    pub fn left_out(&self, lab: &Lab) -> Vec<String> {
        let resolved = Resolved::new(&self.axes, self.ramp, lab, &mut Vec::new());
        let mut reasons: Vec<String> =
            cells(&self.axes).iter().filter_map(|cell| resolved.why_left_out(cell)).collect();
        let mut seen = std::collections::BTreeSet::new();
        reasons.retain(|reason| seen.insert(reason.clone()));
        reasons
    }

    /// `None` where the cell has no array or workload, which no suite that was read lacks.
    fn trial(&self, resolved: &Resolved<'_>, cell: &[(Axis, String)], seed_index: u32) -> Option<Trial> {
        let value = |axis| value_of(cell, axis);
        let (array, devices) = resolved.array(cell)?;
        let workload = resolved.workloads.iter().find(|it| Some(it.value()) == value(Axis::Workload))?;
        let workload = &workload.thing;
        let jobs = value(Axis::Jobs).and_then(|jobs| jobs.parse().ok());
        let workload = jobs.map_or_else(|| workload.clone(), |jobs| workload.with_numjobs(jobs));
        let background = resolved.background(cell).cloned();
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
        let limit = limit.or_else(|| Some(workload.phases.as_ref()?.limit()));
        let unfit = fit::of_workload(&workload, array, devices).or_else(|| {
            let background = background.as_ref()?;
            let reason = fit::of_background(background, workload.bytes(), array, devices)?;
            Some(format!("background `{}`: {reason}", background.name))
        });
        // What is not fio's has nothing to settle: what is to be settled runs beside it.
        let settles = workload.is_endless();
        let rotational = devices.iter().any(|device| device.model.rotational());
        Some(Trial {
            id: id(&cell, seed_index),
            cell,
            seed_index,
            seed: seed(seed_index),
            array: (*array).clone(),
            places: Places::in_a_guest(devices.len()),
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
            unfit,
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

fn value_of(cell: &[(Axis, String)], axis: Axis) -> Option<&str> {
    cell.iter().find(|(known, _)| *known == axis).map(|(_, value)| value.as_str())
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

    /// The array of a cell, with its disks.
    fn array(&self, cell: &[(Axis, String)]) -> Option<&(&'a Array, Vec<Device>)> {
        let value = value_of(cell, Axis::Array);
        self.arrays.iter().find(|it| Some(it.value()) == value).map(|it| &it.thing)
    }

    fn background(&self, cell: &[(Axis, String)]) -> Option<&Background> {
        let value = value_of(cell, Axis::Background);
        self.backgrounds.iter().find(|it| Some(it.value()) == value).map(|it| &it.thing)
    }

    /// Why a cell has no trials: its background asks of its array what that cannot do.
    fn why_left_out(&self, cell: &[(Axis, String)]) -> Option<String> {
        let (array, background) = (self.array(cell)?.0, self.background(cell)?);
        let snapshots = background.snapshots?;
        let why = match array.join.filesystem()? {
            Filesystem::Btrfs | Filesystem::Zfs
                if snapshots.replicate_every.is_none() || array.replica.is_some() =>
            {
                return None;
            }
            Filesystem::Btrfs | Filesystem::Zfs => "its array has no [replica]".to_owned(),
            other => format!("{other} has no snapshots", other = other.as_str()),
        };
        Some(format!("{} on {} is left out: {why}", background.name, array.name))
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
                    Some(FULL) => workload.full().ok_or_else(|| {
                        format!(
                            "workload `{base}` has no files that it could have more of: leave `:{FULL}` out"
                        )
                    })?,
                    Some(way) => workload.started(way.parse()?).ok_or_else(|| {
                        format!("workload `{base}` is no program that starts: leave `:{way}` out")
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
                // A path is a kernel that the user built, or what one is built from; whether there is one is not for the
                // lab to know.
                if value.contains('/') {
                    kernel::check_path(value)?;
                } else if !known().any(|known| known == value || version_of(known)) {
                    return Err(unknown("kernel", value, known()));
                }
            }
        }
        Ok(())
    }

    /// The number of jobs is that of one definition.
    fn check_jobs(&self, axes: &[Values], mistakes: &mut Vec<Mistake>) {
        let Some(jobs) = axes.iter().find(|values| values.axis == Axis::Jobs) else { return };
        let several = self.workloads.iter().filter(|it| it.thing.definitions() > 1);
        for (workload, jobs) in several.zip(jobs.values.first()) {
            let what = if workload.thing.is_fio() {
                "[[job]]s, each with its own numjobs"
            } else {
                "kinds of threads, each with its own count"
            };
            let message = format!("workload `{}` has several {what}: leave `jobs` out", workload.value());
            mistakes.push(jobs.place.mistake(message));
        }
        let is_used =
            |it: &&Named<'_, Workload>| it.thing.phases.as_ref().is_none_or(|it| it.uses(JOBS_WORD));
        let unused = self.workloads.iter().filter(|it| !is_used(it));
        for (workload, jobs) in unused.zip(jobs.values.get(1)) {
            let message = format!(
                "no command of workload `{}` has `{JOBS_WORD}`: its results would be the same",
                workload.value()
            );
            mistakes.push(jobs.place.mistake(message));
        }
    }

    /// A workload's files must fit into an array: its trials on others are told of, and not run.
    fn check_sizes(&self, mistakes: &mut Vec<Mistake>) {
        for Named { name, thing: workload } in &self.workloads {
            let reason =
                |it: &Named<'_, (&Array, Vec<Device>)>| fit::of_workload(workload, it.thing.0, &it.thing.1);
            let reasons: Vec<String> = self.arrays.iter().filter_map(reason).collect();
            if reasons.len() == self.arrays.len() {
                mistakes.extend(reasons.into_iter().map(|reason| name.place.mistake(reason)));
            }
        }
    }

    /// What is compared must be what something of the suite measures.
    fn check_metrics(&self, suite: &Suite, lab: &Lab, mistakes: &mut Vec<Mistake>) {
        let workloads = self.workloads.iter().map(|it| &it.thing);
        let beside = self.backgrounds.iter().filter_map(|it| it.thing.fio());
        let snapshots = self.backgrounds.iter().any(|it| it.thing.snapshots.is_some());
        let known = metric::of_workloads(workloads.chain(beside), suite.power_cut.is_some(), snapshots);
        let all = metric::of_workloads(lab.workloads.values(), true, true);
        let typed = suite.axes.iter().flat_map(|axis| &axis.values).any(|value| &*value.place.file == SET);
        let wanted = suite.metrics.iter().cloned().zip(suite.metric_places.iter().cloned());
        mistakes.extend(metric::check(wanted, &known, &all, typed));
    }

    /// Many files are a filesystem's.
    fn check_files(&self, mistakes: &mut Vec<Mistake>) {
        for Named { name, .. } in self.workloads.iter().filter(|it| it.thing.fsload.is_some()) {
            let bare = self.arrays.iter().filter(|it| it.thing.0.join.filesystem().is_none());
            for array in bare {
                let message = format!("needs a filesystem; array `{}` is a bare device", array.value());
                mistakes.push(name.place.mistake(message));
            }
        }
    }

    /// What takes as long as it is given needs a time, and a film that lasts.
    fn check_times(&self, suite: &Suite, mistakes: &mut Vec<Mistake>) {
        for Named { name, thing: workload } in self.workloads.iter().filter(|it| !it.thing.ends()) {
            let Some(runtime) = suite.runtime else {
                let what = "the suite has no `runtime`; only programs that start and phases need none";
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
                let message = if matches!(array.join, Join::Btrfs(_) | Join::ZfsMirrors) {
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

    /// A background runs on a mounted filesystem, which its trees must fit into, beside a workload's file: trials where they do
    /// not are told of, and not run.
    fn check_backgrounds(&self, mistakes: &mut Vec<Mistake>) {
        let files = || self.workloads.iter().map(|it| it.thing.bytes());
        let (least, most) = (files().min().unwrap_or_default(), files().max().unwrap_or_default());
        for Named { name, thing: background } in &self.backgrounds {
            let reason = |file| {
                let on = move |it: &Named<'_, (&Array, Vec<Device>)>| {
                    fit::of_background(background, file, it.thing.0, &it.thing.1)
                };
                self.arrays.iter().filter_map(on).collect::<Vec<_>>()
            };
            if reason(least).len() == self.arrays.len() {
                mistakes.extend(reason(most).into_iter().map(|reason| name.place.mistake(reason)));
            }
            for Named { thing: (array, devices), .. } in &self.arrays {
                self.check_replica(name, background, (array, devices), mistakes);
            }
            self.check_fsload(name, background, mistakes);
        }
    }

    /// Of many files there is one account, and their threads are the first process's own.
    fn check_fsload(&self, name: &Located<String>, background: &Background, mistakes: &mut Vec<Mistake>) {
        let Some(_) = background.fsload() else { return };
        if let Some(other) = self.workloads.iter().find(|it| it.thing.fsload.is_some()) {
            let message = format!(
                "works on many files, as workload `{}` does: one of a trial's loads can",
                other.value()
            );
            mistakes.push(name.place.mistake(message));
        }
        if background.priority.weight.is_some()
            || self.workloads.iter().any(|it| it.thing.priority.weight.is_some())
        {
            mistakes
                .push(name.place.mistake(
                    "works on many files, in no program of its own: a `weight` has no meaning here",
                ));
        }
    }

    /// What is replicated has to fit there, once at least.
    fn check_replica(
        &self,
        name: &Located<String>,
        background: &Background,
        (array, devices): (&Array, &[Device]),
        mistakes: &mut Vec<Mistake>,
    ) {
        let replicates = background.snapshots.is_some_and(|snapshots| snapshots.replicate_every.is_some());
        let Some(replica) = array.replica.as_ref().filter(|_| replicates) else { return };
        let file = self.workloads.iter().map(|it| it.thing.bytes()).max().unwrap_or_default();
        let largest = replica.largest_file(devices.get(array.replica_disks()).unwrap_or_default());
        if file > largest {
            let message = format!(
                "files of {file} are more than the replica of array `{}` holds: {largest}",
                array.name
            );
            mistakes.push(name.place.mistake(message));
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

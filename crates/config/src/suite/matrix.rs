//! From a suite and a lab to trials.

mod checks;

use disklab_units::{Nanos, Seed};

use super::axis::SuiteAxis;
use super::cell::{Cell, cells, sampled};
use super::sweep::{Applied, Base, Having, RereadFiles, apply};
use super::{Axis, AxisValues, DiskTimes, Suite, fit};
use crate::array::Array;
use crate::background::{Background, NONE};
use crate::cache::Cache;
use crate::device::Device;
use crate::kernel::{self, NEWEST};
use crate::lab::Lab;
use crate::layout::Filesystem;
use crate::places::Places;
use crate::policy::{Policy, PolicyChoice, WantedPolicy};
use crate::read::{Diagnostic, Diagnostics, Located, unknown};
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
    /// All trials, always in the same order: the cells once with the first seed, then once with the
    /// second, so that what is done of an interrupted run covers the matrix.
    ///
    /// The error holds all mistakes that can be found before anything runs.
    pub fn trials(&self, lab: &Lab) -> Result<Vec<Trial>, Diagnostics> {
        let mut mistakes = Vec::new();
        let resolved = Resolved::new(&self.axes, self.ramp, lab, &mut mistakes);
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
        self.check_count(&mut mistakes);
        if !mistakes.is_empty() {
            return Err(Diagnostics(mistakes));
        }
        let (left_out, cells): (Vec<_>, Vec<_>) =
            cells(&self.axes).into_iter().partition(|cell| resolved.why_left_out(cell).is_some());
        if let Some((first, background)) = left_out.first().zip(resolved.backgrounds.first())
            && cells.is_empty()
        {
            let why = resolved.why_left_out(first).unwrap_or_default();
            return Err(background
                .name
                .place
                .diagnostic(format!("no trial is left: {why}"))
                .into());
        }
        let resolved = &resolved;
        let cells = self.applied(resolved, cells, lab)?;
        let mistakes = resolved.check_sizes(&cells);
        if !mistakes.is_empty() {
            return Err(Diagnostics(mistakes));
        }
        let with_seed = |seed| {
            cells.iter().map(move |(cell, applied)| self.trial(resolved, cell, applied, seed))
        };
        let mut trials = Vec::with_capacity(cells.len() * self.seeds.count() as usize);
        for seed in self.seeds.numbers() {
            trials.extend(with_seed(seed));
        }
        Ok(trials)
    }

    /// The cells with what their numbers make of what they name. The error has each mistake once,
    /// whatever number of cells has it.
    fn applied<'a>(
        &'a self,
        resolved: &Resolved<'_>,
        cells: Vec<Cell<'a>>,
        lab: &Lab,
    ) -> Result<Vec<(Cell<'a>, Applied)>, Diagnostics> {
        let (known, having) = (RereadFiles::default(), self.having(resolved));
        let (mut applied, mut mistakes): (Vec<_>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
        for cell in cells {
            let Some(base) = resolved.base(&cell, self, &having) else { continue };
            let parameters = cell.parameters();
            let values: Vec<_> =
                parameters.iter().map(|(parameter, value, _)| (*parameter, *value)).collect();
            match apply(&base, &values, lab, &known) {
                Ok(done) => applied.push((cell, done)),
                Err((at, message)) => {
                    let mistake = parameters.get(at).map(|(parameter, value, place)| {
                        place.diagnostic(format!("{parameter} = {value}: {message}"))
                    });
                    mistakes.extend(mistake.filter(|mistake| !mistakes.contains(mistake)));
                }
            }
        }
        if mistakes.is_empty() { Ok(applied) } else { Err(Diagnostics(mistakes)) }
    }

    fn having<'a>(&self, resolved: &'a Resolved<'_>) -> Having<'a> {
        let parameters = resolved.policies.iter().flat_map(|it| &it.thing.1.parameters);
        let schedulers = self.axes.iter().filter(|axis| axis.axis == Axis::Scheduler);
        let schedulers =
            schedulers.flat_map(|axis| &axis.values).filter_map(|it| it.value.parse().ok());
        Having {
            policies: parameters.map(|parameter| parameter.key.as_str()).collect(),
            schedulers: schedulers
                .flat_map(|choice: SchedulerChoice| choice.scheduler.tunables().iter().copied())
                .collect(),
            runtime: resolved.workloads.iter().any(|it| !it.thing.ends()),
            load: resolved.backgrounds.iter().any(|it| it.thing.workload.is_some()),
        }
    }

    /// What of the matrix makes no sense and is left out, and why: a sentence for each array and
    /// background that do not go together, and for samples that became equal. Of a suite with
    /// mistakes, nothing.
    pub fn left_out(&self, lab: &Lab) -> Vec<String> {
        let resolved = Resolved::new(&self.axes, self.ramp, lab, &mut Vec::new());
        let mut reasons: Vec<String> =
            cells(&self.axes).iter().filter_map(|cell| resolved.why_left_out(cell)).collect();
        let mut seen = std::collections::BTreeSet::new();
        reasons.retain(|reason| seen.insert(reason.clone()));
        let rounded = sampled(&self.axes).into_iter().filter(|it| it.differing < it.samples).map(|it| {
            format!(
                "{} samples of the hypercube are {} different ones: over {}, the others are equal to one of them once their values are \
                 rounded",
                it.samples,
                it.differing,
                it.names.join(" and ")
            )
        });
        reasons.extend(rounded);
        reasons
    }

    fn trial(
        &self,
        resolved: &Resolved<'_>,
        cell: &Cell<'_>,
        applied: &Applied,
        seed_index: u32,
    ) -> Trial {
        let Applied { array, devices, workload, scheduler, memory, background, .. } = applied;
        let jobs = cell.value(Axis::Jobs).and_then(|jobs| jobs.parse().ok());
        let workload = jobs.map_or_else(|| workload.clone(), |jobs| workload.with_numjobs(jobs));
        let named = resolved.policy(cell);
        // Where a read has no choice, there is nothing to set and nothing to read back.
        let policy = named.filter(|_| array.layout.has_read_policy()).map(|(_, policy)| policy);
        let mut needs: Vec<_> = policy.map(|policy| policy.needs.clone()).unwrap_or_default();
        needs.extend(scheduler.scheduler.needs().map(str::to_owned));
        needs.extend(array.layout.needs().map(str::to_owned));
        needs.extend(array.cache.as_ref().map(|_| Cache::NEEDS.to_owned()));
        needs.sort();
        needs.dedup();
        let visible = self.visible(cell, named.map(|(choice, _)| choice));
        let limit = workload.startup().map(|startup| startup.limit);
        let limit = limit.or_else(|| Some(workload.phases()?.limit()));
        let unfit = fit::of_workload(&workload, array, devices).or_else(|| {
            let background = background.as_ref()?;
            let reason = fit::of_background(background, workload.bytes(), array, devices)?;
            Some(format!("background `{}`: {reason}", background.name))
        });
        // What is not fio's has nothing to settle: what is to be settled runs beside it.
        let settles = workload.is_endless();
        let rotational = devices.iter().any(|device| device.model.rotational());
        Trial {
            id: id(&visible, seed_index),
            cell: visible,
            seed_index,
            seed: seed(seed_index),
            array: array.clone(),
            places: Places::in_a_guest(devices.len()),
            devices: devices.clone(),
            workload,
            background: background.clone(),
            policy: policy.and(applied.policy.clone()),
            scheduler: scheduler.clone(),
            kernel: cell.value(Axis::Kernel).unwrap_or(NEWEST).to_owned(),
            needs,
            runtime: limit
                .or(applied.runtime)
                .or_else(|| Some(self.runtime?.for_disks(rotational)))
                .unwrap_or_default(),
            ramp: if settles {
                applied.ramp.unwrap_or_else(|| self.ramp.for_disks(rotational))
            } else {
                Nanos::ZERO
            },
            memory: *memory,
            mount_options: self.mount_options.clone(),
            metadata: self.metadata,
            power_cut: self.power_cut,
            unfit,
        }
    }

    /// The part of a cell that is not fixed, with the policy in its one spelling.
    fn visible(&self, cell: &Cell<'_>, policy: Option<&PolicyChoice>) -> Vec<(String, String)> {
        let fixed =
            |axis: &SuiteAxis| self.axes.iter().any(|known| known.axis == *axis && known.fixed);
        let visible = cell.0.iter().filter(|(axis, ..)| !fixed(axis));
        let spelled = |(axis, value, _): &(&SuiteAxis, &str, _)| match policy {
            Some(policy) if **axis == Axis::Policy => (axis.to_string(), policy.to_string()),
            _ => (axis.to_string(), (*value).to_owned()),
        };
        visible.map(spelled).collect()
    }
}

fn id(cell: &[(String, String)], seed_index: u32) -> String {
    let mut id = String::new();
    for (_, value) in cell {
        // Names have neither `=`, `,` nor `+`, so that ids stay unique. A `:` is a drive or a host
        // to some tools.
        id.push_str(&value.replace(':', "=").replace('/', "%").replace(' ', "_"));
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
    /// `ramp` is the suite's: how long a background that is a workload runs before the measured
    /// one.
    fn new(
        axes: &'a [AxisValues],
        ramp: DiskTimes,
        lab: &'a Lab,
        mistakes: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut resolved = Self::default();
        // A policy may name a device, of which arrays have more or fewer.
        let (arrays, others): (Vec<&AxisValues>, Vec<&AxisValues>) =
            axes.iter().partition(|values| values.axis == Axis::Array);
        for AxisValues { axis, values, .. } in arrays.into_iter().chain(others) {
            let SuiteAxis::Named(named) = axis else { continue };
            for name in values {
                if let Err(message) = resolved.add(*named, name, ramp, lab) {
                    mistakes.push(name.place.diagnostic(message));
                }
            }
        }
        resolved
    }

    /// What a cell names. `None` where it has no array or workload.
    fn base<'b>(
        &'b self,
        cell: &Cell<'b>,
        suite: &Suite,
        having: &'b Having<'b>,
    ) -> Option<Base<'b>> {
        let (array, devices) = self.array(cell)?;
        let value = cell.value(Axis::Workload);
        let workload = self.workloads.iter().find(|it| Some(it.value()) == value)?;
        let policy = self.policy(cell).zip(cell.value(Axis::Policy));
        Some(Base {
            array,
            devices,
            workload: &workload.thing,
            background: self.background(cell),
            policy: policy.map(|((choice, policy), spelled)| (spelled, policy, choice)),
            scheduler: cell.value(Axis::Scheduler).unwrap_or(SchedulerChoice::KERNELS_OWN),
            memory: suite.memory,
            having,
        })
    }

    /// The array of a cell, with its disks.
    fn array(&self, cell: &Cell<'_>) -> Option<&(&'a Array, Vec<Device>)> {
        let value = cell.value(Axis::Array);
        self.arrays.iter().find(|it| Some(it.value()) == value).map(|it| &it.thing)
    }

    fn background(&self, cell: &Cell<'_>) -> Option<&Background> {
        let value = cell.value(Axis::Background);
        self.backgrounds.iter().find(|it| Some(it.value()) == value).map(|it| &it.thing)
    }

    fn policy(&self, cell: &Cell<'_>) -> Option<(&PolicyChoice, &'a Policy)> {
        let value = cell.value(Axis::Policy);
        let named = self.policies.iter().find(|it| Some(it.value()) == value)?;
        Some((&named.thing.0, named.thing.1))
    }

    /// Why a cell has no trials: its background asks of its array what that cannot do.
    fn why_left_out(&self, cell: &Cell<'_>) -> Option<String> {
        let (array, background) = (self.array(cell)?.0, self.background(cell)?);
        let snapshots = background.snapshots?;
        let why = match array.layout.filesystem()? {
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
                let array = lab
                    .arrays
                    .get(value)
                    .ok_or_else(|| unknown("array", value, names(&lab.arrays)))?;
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
                let background =
                    background.or_else(|| Some(Background::of_workload(load()?, ramp)));
                let background = background.ok_or_else(|| unknown("background", value, known()))?;
                self.backgrounds.push(Named { name, thing: background });
            }
            Axis::Policy => {
                let wanted: WantedPolicy = value.parse()?;
                let policy = lab
                    .policies
                    .get(&wanted.policy)
                    .ok_or_else(|| unknown("policy", &wanted.policy, names(&lab.policies)))?;
                // A device must be there in every array that the policy meets.
                let fewest = self
                    .arrays
                    .iter()
                    .map(|it| it.thing.0.devices.len())
                    .min()
                    .unwrap_or(usize::MAX);
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
                let known =
                    || lab.kernels.iter().map(|kernel| kernel.series.as_str()).chain([NEWEST]);
                let version_of = |series: &str| {
                    value.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'))
                };
                // A path is a kernel that the user built, or what one is built from; whether there
                // is one is not for the lab to know.
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

fn names<T>(things: &std::collections::BTreeMap<String, T>) -> impl Iterator<Item = &str> {
    things.keys().map(String::as_str)
}

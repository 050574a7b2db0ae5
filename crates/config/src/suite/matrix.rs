//! Expands a suite and a lab into trials.

mod checks;
mod resolved;

use disklab_units::{Nanos, Seed};

use super::axis::SuiteAxis;
use super::cell::{Cell, cells, sampled};
use super::sweep::{Applied, Having, RereadFiles, apply};
use super::{Axis, Suite, fit};
use crate::cache::Cache;
use crate::kernel::NEWEST;
use crate::lab::Lab;
use crate::places::Places;
use crate::policy::PolicyChoice;
use crate::read::{Diagnostic, Diagnostics};
use crate::scheduler::SchedulerChoice;
use crate::trial::Trial;
use resolved::Resolved;

impl Suite {
    /// Returns all trials, always in the same order: all cells with the first seed, then all with
    /// the second. So the completed trials of an interrupted run cover the matrix.
    ///
    /// The error holds all mistakes that can be found before anything runs.
    pub fn trials(&self, lab: &Lab) -> Result<Vec<Trial>, Diagnostics> {
        let mut mistakes = Vec::new();
        let resolved = Resolved::new(&self.axes, self.ramp, lab, &mut mistakes);
        mistakes.extend(resolved.check(self, lab));
        if !mistakes.is_empty() {
            return Err(Diagnostics(mistakes));
        }
        let (left_out, cells): (Vec<_>, Vec<_>) =
            cells(&self.axes).into_iter().partition(|cell| resolved.why_left_out(cell).is_some());
        let background = resolved.backgrounds.first().map(|background| background.name);
        let asked = background.or_else(|| resolved.drives.first().map(|drive| drive.name));
        if let Some((first, asked)) = left_out.first().zip(asked)
            && cells.is_empty()
        {
            let why = resolved.why_left_out(first).unwrap_or_default();
            return Err(asked.place.diagnostic(format!("no trial is left: {why}")).into());
        }
        let resolved = &resolved;
        let cells: Vec<_> =
            cells.into_iter().filter(|cell| !resolved.is_no_estimate(cell)).collect();
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

    /// Returns the cells with their numbers applied to the things that they name. The error has
    /// each mistake once, however many cells have it.
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
            match apply(&base, &cell.parameters(), lab, &known) {
                Ok(done) => applied.push((cell, done)),
                Err(mistake) if mistakes.contains(&mistake) => {}
                Err(mistake) => mistakes.push(mistake),
            }
        }
        if mistakes.is_empty() { Ok(applied) } else { Err(Diagnostics(mistakes)) }
    }

    fn having<'a>(&self, resolved: &'a Resolved<'_>) -> Having<'a> {
        let parameters = resolved.policies.iter().flat_map(|policy| &policy.thing.1.parameters);
        let schedulers = self.axes.iter().filter(|axis| axis.axis == Axis::Scheduler);
        let schedulers =
            schedulers.flat_map(|axis| &axis.values).filter_map(|named| named.value.parse().ok());
        let tunables =
            schedulers.flat_map(|choice: SchedulerChoice| choice.scheduler.tunables().iter());
        Having {
            policies: parameters.map(|parameter| parameter.key.as_str()).collect(),
            schedulers: tunables.copied().collect(),
            runtime: resolved.workloads.iter().any(|workload| !workload.thing.ends()),
            load: resolved.backgrounds.iter().any(|beside| beside.thing.workload.is_some()),
        }
    }

    /// Returns the reasons why parts of the matrix are left out. There is a sentence for each array
    /// and background that do not go together, and for samples that became equal. For a suite with
    /// mistakes, it returns nothing.
    pub fn left_out(&self, lab: &Lab) -> Vec<String> {
        let resolved = Resolved::new(&self.axes, self.ramp, lab, &mut Vec::new());
        let mut reasons: Vec<String> =
            cells(&self.axes).iter().filter_map(|cell| resolved.why_left_out(cell)).collect();
        let mut seen = std::collections::BTreeSet::new();
        reasons.retain(|reason| seen.insert(reason.clone()));
        let groups = sampled(&self.axes).into_iter();
        let rounded = groups.filter(|group| group.differing < group.samples).map(|group| {
            format!(
                "{} samples of the hypercube are {} different ones: over {}, the others are equal \
                 to one of them once their values are rounded",
                group.samples,
                group.differing,
                group.names.join(" and ")
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
        // If reads have only one copy, there is no policy to set and to read back.
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
        // Other workloads end by themselves and have no ramp; only their background needs to
        // settle.
        let settles = workload.is_endless() || workload.fio().is_some();
        let rotational = devices.iter().any(|device| device.model.rotational());
        let own_runtime = self.runtime.map(|runtime| runtime.for_disks(rotational));
        let own_ramp = self.ramp.for_disks(rotational);
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
            runtime: limit.or(applied.runtime).or(own_runtime).unwrap_or_default(),
            ramp: if settles { applied.ramp.unwrap_or(own_ramp) } else { Nanos::ZERO },
            memory: *memory,
            mount_options: self.mount_options.clone(),
            metadata: applied.metadata.unwrap_or(self.metadata),
            power_cut: self.power_cut,
            unfit,
        }
    }

    /// Returns the part of a cell that is not fixed, with the policy in its canonical spelling.
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
        // Names have neither `=`, `,` nor `+`, so ids stay unique. Some tools read a `:` as the end
        // of a drive or a host.
        id.push_str(&value.replace(':', "=").replace('/', "%").replace(' ', "_"));
        id.push('+');
    }
    id + "s" + &seed_index.to_string()
}

fn seed(index: u32) -> Seed {
    Seed(u64::from(index)).derive("trial")
}

//! What does not go together in a suite, whatever its cells.

use std::collections::BTreeSet;

use disklab_units::Nanos;

use super::resolved::{Named, Resolved};
use crate::array::Array;
use crate::background::Background;
use crate::command::JOBS_WORD;
use crate::device::Device;
use crate::lab::Lab;
use crate::layout::Layout;
use crate::power_cut;
use crate::read::{Diagnostic, Located};
use crate::suite::cell::Cell;
use crate::suite::sweep::{Applied, SweptParameter};
use crate::suite::{Axis, AxisValues, SET, Suite, SuiteAxis, cell, fit, metric};
use crate::workload::{Workload, WorkloadKind};

/// So many trials take months, and a list of them all the memory there is.
const MOST_TRIALS: u128 = 100_000;

impl Suite {
    /// Before they are made.
    pub(super) fn check_count(&self, mistakes: &mut Vec<Diagnostic>) {
        let axes = cell::sizes(&self.axes);
        let seeds = u128::from(self.seeds.count());
        let trials =
            axes.iter().fold(seeds, |trials, (_, size)| trials.saturating_mul(*size as u128));
        if trials <= MOST_TRIALS {
            return;
        }
        let factors: Vec<String> =
            axes.iter().map(|(name, size)| format!("{size} of {name}")).collect();
        let largest = self.axes.iter().max_by_key(|axis| axis.values.len());
        let place = largest.and_then(|axis| axis.values.first()).map(|value| &value.place);
        let message = format!(
            "the suite has {trials} trials ({}, {} seeds), and {MOST_TRIALS} at most are taken: \
             leave values or axes out, or sample \
             them ([hypercube])",
            factors.join(" x "),
            self.seeds.count()
        );
        mistakes.extend(place.map(|place| place.diagnostic(message)));
    }

    /// The longest that is measured, if the suite says.
    fn longest_runtime(&self) -> Option<Nanos> {
        let swept = self
            .axes
            .iter()
            .find(|axis| axis.axis == SuiteAxis::Parameter(SweptParameter::Runtime));
        // What is no time is said where it is applied.
        let swept = swept.map(|axis| {
            axis.values.iter().filter_map(|it| it.value.parse().ok()).max().unwrap_or_default()
        });
        swept.or_else(|| self.runtime.map(|runtime| runtime.rotational.max(runtime.solid_state)))
    }
}

impl Resolved<'_> {
    /// The number of jobs is that of one definition.
    pub(super) fn check_jobs(&self, axes: &[AxisValues], mistakes: &mut Vec<Diagnostic>) {
        let Some(jobs) = axes.iter().find(|values| values.axis == Axis::Jobs) else { return };
        let numjobs = SuiteAxis::Parameter(SweptParameter::Workload("numjobs".to_owned()));
        if let (Some(_), Some(place)) = (
            axes.iter().find(|values| values.axis == numjobs),
            jobs.values.first().map(|it| &it.place),
        ) {
            let message =
                "`jobs` and `workload.numjobs` are the same number: leave one of them out";
            mistakes.push(place.diagnostic(message.to_owned()));
        }
        let several = self.workloads.iter().filter(|it| it.thing.definitions() > 1);
        for (workload, jobs) in several.zip(jobs.values.first()) {
            let what = if workload.thing.fio().is_some() {
                "[[job]]s, each with its own numjobs"
            } else {
                "kinds of threads, each with its own count"
            };
            let message =
                format!("workload `{}` has several {what}: leave `jobs` out", workload.value());
            mistakes.push(jobs.place.diagnostic(message));
        }
        let is_used = |workload: &&Named<'_, Workload>| {
            workload.thing.phases().is_none_or(|phases| phases.uses(JOBS_WORD))
        };
        let unused = self.workloads.iter().filter(|it| !is_used(it));
        for (workload, jobs) in unused.zip(jobs.values.get(1)) {
            let message = format!(
                "no command of workload `{}` has `{JOBS_WORD}`: its results would be the same",
                workload.value()
            );
            mistakes.push(jobs.place.diagnostic(message));
        }
    }

    /// A workload's files must fit into an array, as the numbers of some cell make both: its trials
    /// on others are told of, and not run.
    pub(super) fn check_sizes(&self, cells: &[(Cell<'_>, Applied)]) -> Vec<Diagnostic> {
        let mut mistakes = Vec::new();
        for Named { name, thing: workload } in &self.workloads {
            let own = cells
                .iter()
                .filter(|(cell, _)| cell.value(Axis::Workload) == Some(name.value.as_str()));
            let reasons: Option<BTreeSet<String>> =
                own.map(|(_, it)| fit::of_workload(&it.workload, &it.array, &it.devices)).collect();
            let advice = if workload.fio().is_some() {
                "; smaller: --set workload.filesize=SIZE"
            } else {
                ""
            };
            let told = |reason| name.place.diagnostic(format!("{reason}{advice}"));
            mistakes.extend(reasons.into_iter().flatten().map(told));
        }
        mistakes
    }

    /// What is compared must be what something of the suite measures.
    pub(super) fn check_metrics(&self, suite: &Suite, lab: &Lab, mistakes: &mut Vec<Diagnostic>) {
        let workloads = self.workloads.iter().map(|it| &it.thing);
        let beside = self.backgrounds.iter().filter_map(|named| named.thing.fio_workload());
        let snapshots = self.backgrounds.iter().any(|it| it.thing.snapshots.is_some());
        let known =
            metric::of_workloads(workloads.chain(beside), suite.power_cut.is_some(), snapshots);
        let all = metric::of_workloads(lab.workloads.values(), true, true);
        let typed =
            suite.axes.iter().flat_map(|axis| &axis.values).any(|value| &*value.place.file == SET);
        let wanted = suite.metrics.iter().cloned().zip(suite.metric_places.iter().cloned());
        mistakes.extend(metric::check(wanted, &known, &all, typed));
    }

    /// Many files are a filesystem's.
    pub(super) fn check_files(&self, mistakes: &mut Vec<Diagnostic>) {
        for Named { name, .. } in self.workloads.iter().filter(|it| it.thing.file_load().is_some())
        {
            let bare = self.arrays.iter().filter(|it| it.thing.0.layout.filesystem().is_none());
            for array in bare {
                let message =
                    format!("needs a filesystem; array `{}` is a bare device", array.value());
                mistakes.push(name.place.diagnostic(message));
            }
        }
    }

    /// What takes as long as it is given needs a time, and a film that lasts.
    pub(super) fn check_times(&self, suite: &Suite, mistakes: &mut Vec<Diagnostic>) {
        for Named { name, thing: workload } in self.workloads.iter().filter(|it| !it.thing.ends()) {
            let Some(longest) = suite.longest_runtime() else {
                let what =
                    "the suite has no `runtime`; only programs that start and phases need none";
                mistakes.push(name.place.diagnostic(format!("workload `{}`: {what}", name.value)));
                continue;
            };
            let WorkloadKind::Player { file_size, player } = &workload.kind else { continue };
            let needed = player.bytes(longest);
            if needed > *file_size {
                let message = format!(
                    "a film of {longest} has {needed}, more than its filesize, {file_size}; a part \
                     that is read twice would \
                     be in memory"
                );
                mistakes.push(name.place.diagnostic(message));
            }
        }
    }

    /// What reads a device past its filesystem needs one, and one device only.
    pub(super) fn check_raw(&self, mistakes: &mut Vec<Diagnostic>) {
        let workloads = self.workloads.iter().map(|it| (it.name, &it.thing));
        let beside =
            self.backgrounds.iter().filter_map(|it| Some((it.name, it.thing.workload.as_ref()?)));
        let loads = workloads.chain(beside).filter_map(|(name, it)| Some((name, it.fio()?)));
        for (name, fio) in loads.filter(|(_, fio)| fio.raw) {
            for Named { thing: (array, devices), .. } in &self.arrays {
                let needed = fio.all_files();
                let largest = array.largest_file(devices);
                let message = if matches!(array.layout, Layout::Btrfs(_) | Layout::ZfsMirrors) {
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
                mistakes.push(name.place.diagnostic(message));
            }
        }
    }

    /// A background runs on a mounted filesystem, which its trees must fit into, beside a
    /// workload's file: trials where they do not are told of, and not run.
    pub(super) fn check_backgrounds(&self, mistakes: &mut Vec<Diagnostic>) {
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
                mistakes
                    .extend(reason(most).into_iter().map(|reason| name.place.diagnostic(reason)));
            }
            for Named { thing: (array, devices), .. } in &self.arrays {
                self.check_replica(name, background, (array, devices), mistakes);
            }
            self.check_fsload(name, background, mistakes);
        }
    }

    /// Of many files there is one account, and their threads are the first process's own.
    pub(super) fn check_fsload(
        &self,
        name: &Located<String>,
        background: &Background,
        mistakes: &mut Vec<Diagnostic>,
    ) {
        let Some(_) = background.fsload() else { return };
        if let Some(other) = self.workloads.iter().find(|it| it.thing.file_load().is_some()) {
            let message = format!(
                "works on many files, as workload `{}` does: one of a trial's loads can",
                other.value()
            );
            mistakes.push(name.place.diagnostic(message));
        }
        if background.priority.weight.is_some()
            || self.workloads.iter().any(|it| it.thing.priority.weight.is_some())
        {
            mistakes.push(name.place.diagnostic(
                "works on many files, in no program of its own: a `weight` has no meaning here",
            ));
        }
    }

    /// What is replicated has to fit there, once at least.
    pub(super) fn check_replica(
        &self,
        name: &Located<String>,
        background: &Background,
        (array, devices): (&Array, &[Device]),
        mistakes: &mut Vec<Diagnostic>,
    ) {
        let replicates =
            background.snapshots.is_some_and(|snapshots| snapshots.replicate_every.is_some());
        let Some(replica) = array.replica.as_ref().filter(|_| replicates) else { return };
        let file = self.workloads.iter().map(|it| it.thing.bytes()).max().unwrap_or_default();
        let largest = replica.largest_file(devices.get(array.replica_disks()).unwrap_or_default());
        if file > largest {
            let message = format!(
                "files of {file} are more than the replica of array `{}` holds: {largest}",
                array.name
            );
            mistakes.push(name.place.diagnostic(message));
        }
    }

    /// What survives a power cut is asked of a filesystem, which its witness has to fit into.
    pub(super) fn check_power_cut(&self, mistakes: &mut Vec<Diagnostic>) {
        let file = self.workloads.iter().map(|it| it.thing.bytes()).max().unwrap_or_default();
        for array in &self.arrays {
            let (known, devices) = &array.thing;
            let largest = known.largest_file(devices);
            let message = if known.layout.filesystem().is_none() {
                format!(
                    "a power cut needs a filesystem to come back; array `{}` is a bare device",
                    known.name
                )
            } else if known.cache.is_some() {
                format!(
                    "a power cut is not modelled with a cache in front of the disks, which `{}` \
                     has",
                    known.name
                )
            } else if file + power_cut::WITNESS > largest {
                format!(
                    "the {} that tell what survived a power cut, and a file of {file}, are more \
                     than array `{}` holds: \
                     {largest}",
                    power_cut::WITNESS,
                    known.name
                )
            } else {
                continue;
            };
            mistakes.push(array.name.place.diagnostic(message));
        }
    }

    /// Policies are compared only where there is something to choose; a single one may meet arrays
    /// without mirrors, and is then not set there.
    pub(super) fn check_mirrors(&self, mistakes: &mut Vec<Diagnostic>) {
        let Some(first) = self.policies.first() else { return };
        let without: Vec<_> =
            self.arrays.iter().filter(|it| !it.thing.0.layout.has_read_policy()).collect();
        if without.is_empty() {
            return;
        }
        if without.len() == self.arrays.len() {
            let message = "nothing uses this axis: none of the arrays has mirrors that a policy \
                           could choose from";
            mistakes.push(first.name.place.diagnostic(message));
        } else if self.policies.len() > 1 {
            for array in without {
                let message = format!(
                    "array `{}` ({}) has no mirrors: its results would be the same for each \
                     policy; leave it out, or \
                     fix one policy",
                    array.value(),
                    array.thing.0.layout
                );
                mistakes.push(array.name.place.diagnostic(message));
            }
        }
    }
}

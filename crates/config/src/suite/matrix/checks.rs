//! Checks whether the parts of a suite go together, before its cells are made.

use std::collections::BTreeSet;

use disklab_units::{Bytes, Nanos};

use super::resolved::{Named, Resolved};
use crate::background::Background;
use crate::command::JOBS_WORD;
use crate::device::RangeEnd;
use crate::lab::Lab;
use crate::layout::Layout;
use crate::power_cut;
use crate::read::{Diagnostic, Located, unknown};
use crate::suite::cell::Cell;
use crate::suite::sweep::{Applied, SweptParameter};
use crate::suite::{Axis, SET, Suite, SuiteAxis, cell, fit, metric};
use crate::workload::{Workload, WorkloadKind};

/// Largest number of trials. More would take months to run, and a list of them would take all
/// memory.
const MOST_TRIALS: u128 = 100_000;

impl Suite {
    /// Refuses too many trials before they are made.
    fn check_count(&self) -> Option<Diagnostic> {
        let axes = cell::sizes(&self.axes);
        let seeds = self.seeds.count();
        let trials = axes
            .iter()
            .fold(u128::from(seeds), |trials, (_, size)| trials.saturating_mul(*size as u128));
        if trials <= MOST_TRIALS {
            return None;
        }
        let factors: Vec<String> =
            axes.iter().map(|(name, size)| format!("{size} of {name}")).collect();
        let message = format!(
            "the suite has {trials} trials ({}, {seeds} seeds), and {MOST_TRIALS} at most are \
             taken: leave values or axes out, or sample them ([hypercube])",
            factors.join(" x ")
        );
        let largest = self.axes.iter().max_by_key(|axis| axis.values.len())?;
        Some(largest.values.first()?.place.diagnostic(message))
    }

    /// Returns the longest run time, if the suite has any.
    fn longest_runtime(&self) -> Option<Nanos> {
        let runtime = SuiteAxis::Parameter(SweptParameter::Runtime);
        let swept = self.axes.iter().find(|axis| axis.axis == runtime);
        // A value that is not a time is reported when it is applied.
        let swept = swept.map(|axis| {
            let times = axis.values.iter().filter_map(|time| time.value.parse().ok());
            times.max().unwrap_or_default()
        });
        swept.or_else(|| self.runtime.map(|runtime| runtime.rotational.max(runtime.solid_state)))
    }
}

impl Resolved<'_> {
    /// Finds the mistakes of a suite before its cells are made.
    pub(super) fn check(&self, suite: &Suite, lab: &Lab) -> Vec<Diagnostic> {
        let cuts = suite.power_cut.is_some();
        let found = [
            self.check_times(suite),
            self.check_raw(),
            self.check_files(),
            self.check_jobs(suite),
            self.check_backgrounds(),
            self.check_mirrors(),
            self.check_metrics(suite, lab),
            self.check_drives(),
            self.check_estimates(suite),
            if cuts { self.check_power_cut() } else { Vec::new() },
        ];
        found.into_iter().flatten().chain(suite.check_count()).collect()
    }

    /// Returns the size of the largest workload's files.
    fn most_bytes(&self) -> Bytes {
        self.workloads.iter().map(|workload| workload.thing.bytes()).max().unwrap_or_default()
    }

    /// Checks that each drive replaces a disk of some array. If several drives of one
    /// kind replace none, it reports the first.
    fn check_drives(&self) -> Vec<Diagnostic> {
        let (mut mistakes, mut kinds) = (Vec::new(), BTreeSet::new());
        for drive in &self.drives {
            let mut disks = self.arrays.iter().flat_map(|array| &array.thing.1);
            if self.arrays.is_empty() || disks.any(|disk| drive.thing.replaces(disk)) {
                continue;
            }
            let kind = drive.thing.kind();
            if kinds.insert(kind) {
                let arrays: Vec<&str> = self.arrays.iter().map(Named::value).collect();
                mistakes.push(drive.wrong(format!(
                    "`{}` replaces {kind}s, and no array of the suite has any: {}",
                    drive.value(),
                    arrays.join(", ")
                )));
            }
        }
        mistakes
    }

    /// Checks that the ends of ranges on the axis are those of estimates that some array's disks
    /// have.
    fn check_estimates(&self, suite: &Suite) -> Vec<Diagnostic> {
        let axis = SuiteAxis::Parameter(SweptParameter::Estimated);
        let values = suite.axes.iter().filter(|known| known.axis == axis);
        let devices = self.all_devices();
        let known = RangeEnd::axis_values(&devices);
        let check = |value: &Located<String>| {
            if known.contains(&value.value) {
                return None;
            }
            let known = known.iter().map(String::as_str);
            let message = unknown("end of an estimate", &value.value, known);
            Some(value.place.diagnostic(message))
        };
        values.flat_map(|axis| &axis.values).filter_map(check).collect()
    }

    /// Checks that a number of jobs meets only workloads of one definition of jobs.
    fn check_jobs(&self, suite: &Suite) -> Vec<Diagnostic> {
        let Some(jobs) = suite.axes.iter().find(|values| values.axis == Axis::Jobs) else {
            return Vec::new();
        };
        let wrong =
            |number: usize, message| Some(jobs.values.get(number)?.place.diagnostic(message));
        let numjobs = "workload.numjobs";
        let is_swept = suite.axes.iter().any(|values| values.axis.to_string() == numjobs);
        let twice = is_swept
            .then(|| format!("`jobs` and `{numjobs}` are the same number: leave one of them out"));
        let several = self.workloads.iter().filter(|workload| {
            workload.thing.definitions() > 1 || !workload.thing.sections().is_empty()
        });
        let several = several.map(|workload| {
            if !workload.thing.sections().is_empty() {
                let name = workload.value();
                return format!(
                    "workload `{name}` is fio's own job file, which has `numjobs`: \
                                leave `jobs` out"
                );
            }
            let what = if workload.thing.fio().is_some() {
                "[[job]]s, each with its own numjobs"
            } else {
                "kinds of threads, each with its own count"
            };
            format!("workload `{}` has several {what}: leave `jobs` out", workload.value())
        });
        let is_used = |workload: &Named<'_, Workload>| {
            workload.thing.phases().is_none_or(|phases| phases.uses(JOBS_WORD))
        };
        let unused = self.workloads.iter().filter(|workload| !is_used(workload)).map(|workload| {
            let name = workload.value();
            format!(
                "no command of workload `{name}` has `{JOBS_WORD}`: its results would be the same"
            )
        });
        let of_one = twice.into_iter().chain(several).filter_map(|message| wrong(0, message));
        of_one.chain(unused.filter_map(|message| wrong(1, message))).collect()
    }

    /// Checks that a workload's files fit into an array in some cell, with the cell's numbers
    /// applied. Trials of the workload on other arrays are reported and not run.
    pub(super) fn check_sizes(&self, cells: &[(Cell<'_>, Applied)]) -> Vec<Diagnostic> {
        let misfits = |workload: &Named<'_, Workload>| {
            let of_workload =
                |cell: &Cell<'_>| cell.value(Axis::Workload) == Some(workload.value());
            let own =
                cells.iter().filter(|(cell, _)| of_workload(cell)).map(|(_, applied)| applied);
            let reasons: Option<BTreeSet<String>> = own
                .map(|applied| {
                    fit::of_workload(&applied.workload, &applied.array, &applied.devices)
                })
                .collect();
            let is_fio = workload.thing.fio().is_some() && workload.thing.sections().is_empty();
            let advice = if is_fio { "; smaller: --set workload.filesize=SIZE" } else { "" };
            let reasons = reasons.into_iter().flatten();
            reasons.map(|reason| workload.wrong(format!("{reason}{advice}"))).collect::<Vec<_>>()
        };
        self.workloads.iter().flat_map(misfits).collect()
    }

    /// Checks that something in the suite measures each metric.
    fn check_metrics(&self, suite: &Suite, lab: &Lab) -> Vec<Diagnostic> {
        let workloads = self.workloads.iter().map(|workload| &workload.thing);
        let beside = self.backgrounds.iter().filter_map(|beside| beside.thing.fio_workload());
        let snapshots = self.backgrounds.iter().any(|beside| beside.thing.snapshots.is_some());
        let known =
            metric::of_workloads(workloads.chain(beside), suite.power_cut.is_some(), snapshots);
        let all = metric::of_workloads(lab.workloads.values(), true, true);
        let typed =
            suite.axes.iter().flat_map(|axis| &axis.values).any(|value| &*value.place.file == SET);
        let wanted = suite.metrics.iter().cloned().zip(suite.metric_places.iter().cloned());
        metric::check(wanted, &known, &all, typed)
    }

    /// Checks that workloads of many files have a filesystem.
    fn check_files(&self) -> Vec<Diagnostic> {
        let bare = self.arrays.iter().filter(|array| array.thing.0.layout.filesystem().is_none());
        let needs = bare
            .map(|array| format!("needs a filesystem; array `{}` is a bare device", array.value()));
        let needs: Vec<String> = needs.collect();
        let files = self.workloads.iter().filter(|workload| workload.thing.file_load().is_some());
        files.flat_map(|workload| needs.iter().map(|message| workload.wrong(message))).collect()
    }

    /// Checks that workloads that do not end by themselves have a run time, and that films are long
    /// enough.
    fn check_times(&self, suite: &Suite) -> Vec<Diagnostic> {
        let longest = suite.longest_runtime();
        let why = |workload: &Named<'_, Workload>| {
            let Some(longest) = longest else {
                let what =
                    "the suite has no `runtime`; only programs that start and phases need none";
                return Some(workload.wrong(format!("workload `{}`: {what}", workload.value())));
            };
            let WorkloadKind::Player { file_size, player } = &workload.thing.kind else {
                return None;
            };
            let needed = player.bytes(longest);
            let message = format!(
                "a film of {longest} has {needed}, more than its filesize, {file_size}; a part \
                 that is read twice would be in memory"
            );
            (needed > *file_size).then(|| workload.wrong(message))
        };
        self.workloads.iter().filter(|workload| !workload.thing.ends()).filter_map(why).collect()
    }

    /// Checks that raw reads meet arrays with one device below the filesystem, large enough for
    /// their ranges.
    fn check_raw(&self) -> Vec<Diagnostic> {
        let workloads = self.workloads.iter().map(|workload| (workload.name, &workload.thing));
        let beside = self.backgrounds.iter();
        let beside =
            beside.filter_map(|beside| Some((beside.name, beside.thing.workload.as_ref()?)));
        let loads = workloads.chain(beside).filter_map(|(name, load)| Some((name, load.fio()?)));
        let mut mistakes = Vec::new();
        for (name, fio) in loads.filter(|(_, fio)| fio.raw) {
            for Named { thing: (array, devices), .. } in &self.arrays {
                let (needed, largest) = (fio.all_files(), array.largest_file(devices));
                let array_name = &array.name;
                let message = if matches!(array.layout, Layout::Btrfs(_) | Layout::ZfsMirrors) {
                    let below = "has several below its filesystem";
                    format!("`raw` reads one device, and array `{array_name}` {below}")
                } else if needed > largest {
                    let parts = format!("its parts of {needed} together");
                    format!("{parts} are larger than array `{array_name}`: {largest}")
                } else {
                    continue;
                };
                mistakes.push(name.place.diagnostic(message));
            }
        }
        mistakes
    }

    /// Checks that a background has a mounted filesystem with room for its trees beside a
    /// workload's file. Trials without the room are reported and not run.
    fn check_backgrounds(&self) -> Vec<Diagnostic> {
        let least = self.workloads.iter().map(|workload| workload.thing.bytes()).min();
        let mut mistakes = Vec::new();
        for background in &self.backgrounds {
            let reasons = |file| {
                let on =
                    |(array, devices)| fit::of_background(&background.thing, file, array, devices);
                let arrays = self.arrays.iter().map(|array| (array.thing.0, &array.thing.1[..]));
                arrays.filter_map(on).collect::<Vec<_>>()
            };
            if reasons(least.unwrap_or_default()).len() == self.arrays.len() {
                let reasons = reasons(self.most_bytes()).into_iter();
                mistakes.extend(reasons.map(|reason| background.wrong(reason)));
            }
            self.check_replicas(background, &mut mistakes);
            self.check_fsload(background, &mut mistakes);
        }
        mistakes
    }

    /// Checks a background of many files. A trial can have one such load only, because a guest has
    /// one list of files. Its threads belong to the first process, so they have no weight of their
    /// own.
    fn check_fsload(&self, background: &Named<'_, Background>, mistakes: &mut Vec<Diagnostic>) {
        if background.thing.fsload().is_none() {
            return;
        }
        let mut others = self.workloads.iter();
        if let Some(other) = others.find(|workload| workload.thing.file_load().is_some()) {
            let other = other.value();
            mistakes.push(background.wrong(format!(
                "works on many files, as workload `{other}` does: one of a trial's loads can"
            )));
        }
        let weighs = |workload: &Named<'_, Workload>| workload.thing.priority.weight.is_some();
        if background.thing.priority.weight.is_some() || self.workloads.iter().any(weighs) {
            mistakes.push(background.wrong(
                "works on many files, in no program of its own: a `weight` has no meaning here",
            ));
        }
    }

    /// Checks that the replica has room for the replicated files, once at least.
    fn check_replicas(&self, background: &Named<'_, Background>, mistakes: &mut Vec<Diagnostic>) {
        let snapshots = background.thing.snapshots;
        if snapshots.is_none_or(|snapshots| snapshots.replicate_every.is_none()) {
            return;
        }
        let file = self.most_bytes();
        for Named { thing: (array, devices), .. } in &self.arrays {
            let Some(replica) = &array.replica else { continue };
            let disks = devices.get(array.replica_disks()).unwrap_or_default();
            let largest = replica.largest_file(disks);
            if file > largest {
                let holds = format!("the replica of array `{}` holds: {largest}", array.name);
                mistakes.push(background.wrong(format!("files of {file} are more than {holds}")));
            }
        }
    }

    /// Checks power cuts: they need a filesystem, with room for the witness's files.
    fn check_power_cut(&self) -> Vec<Diagnostic> {
        let (file, witness) = (self.most_bytes(), power_cut::WITNESS);
        let why = |named: &Named<'_, _>| {
            let (array, devices): &(&crate::Array, Vec<_>) = &named.thing;
            let (name, largest) = (&array.name, array.largest_file(devices));
            let message = if array.layout.filesystem().is_none() {
                let needs = "a power cut needs a filesystem to come back";
                format!("{needs}; array `{name}` is a bare device")
            } else if array.cache.is_some() {
                let what = "a power cut is not modelled with a cache in front of the disks";
                format!("{what}, which `{name}` has")
            } else if file + witness > largest {
                let files = format!("the {witness} that tell what survived a power cut");
                format!(
                    "{files}, and a file of {file}, are more than array `{name}` holds: {largest}"
                )
            } else {
                return None;
            };
            Some(named.wrong(message))
        };
        self.arrays.iter().filter_map(why).collect()
    }

    /// Checks that several policies are compared only on arrays with mirrors. A single policy may
    /// meet arrays without mirrors, and is not set there.
    fn check_mirrors(&self) -> Vec<Diagnostic> {
        let Some(first) = self.policies.first() else { return Vec::new() };
        let arrays = self.arrays.iter();
        let without: Vec<_> =
            arrays.filter(|array| !array.thing.0.layout.has_read_policy()).collect();
        if !without.is_empty() && without.len() == self.arrays.len() {
            let message = "nothing uses this axis: none of the arrays has mirrors that a policy \
                           could choose from";
            return vec![first.wrong(message)];
        }
        let wrong = |array: &Named<'_, (&crate::Array, _)>| {
            array.wrong(format!(
                "array `{}` ({}) has no mirrors: its results would be the same for each policy; \
                 leave it out, or fix one policy",
                array.value(),
                array.thing.0.layout
            ))
        };
        if self.policies.len() > 1 { without.into_iter().map(wrong).collect() } else { Vec::new() }
    }
}

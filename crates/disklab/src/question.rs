//! A suite with the changes of the command line, and its trials.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use disklab_compare::Metric;
use disklab_config::device::{AS_IS, Device, Estimate, FAMILIES, RangeEnd};
use disklab_config::read::unknown;
use disklab_config::suite::metric::{self, FIRST_FRAME, OPS, STARTUP};
use disklab_config::suite::sweep::{DRIVE, ESTIMATED};
use disklab_config::suite::{Metadata, SEEDS_SETTING, Seeds, SuiteAxis};
use disklab_config::{Background, Lab, Suite, Trial};
use disklab_record::record::{name_of, suite_file};
use disklab_record::{Manifest, Part};
use disklab_units::prose::listed;

use crate::exit::{Failure, mistaken};
use crate::screen::Screen;
use crate::{limits, words};

/// Options that change a suite.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct Overrides {
    /// Replace the values of an axis, or a number of the suite. Can be repeated.
    ///
    /// The axes are array, workload, background, jobs, policy, scheduler and kernel. The numbers
    /// are memory, disks, device, runtime, ramp, metadata, device.KEY, disk.2.KEY, policy.KEY,
    /// scheduler.KEY, workload.KEY and background.KEY.
    #[arg(long, value_name = "AXIS=VALUE,...")]
    set: Vec<Setting>,

    /// The kernels to run, as with --set kernel=.
    ///
    /// A kernel is a series, a version, the path of a built kernel, a kernel tree, or a git
    /// revision of a tree (TREE@REV); `disklab run` builds trees first. A path contains a `/`
    /// (./linux@v7.4). The btrfs of a tree stays as it is and runs its own read policies;
    /// ./linux:disklab adds disklab's read policies beside them, under names that begin with
    /// disklab-, such as disklab-queue.
    #[arg(long, value_name = "KERNEL,...")]
    kernel: Option<String>,

    /// The seeds of each cell: 5 means the first five seeds, 6-10 the next five.
    ///
    /// Each trial of a cell has its own seed. [default: the number that the suite says]
    #[arg(long, value_name = "N")]
    seeds: Option<Seeds>,

    /// Also run all cells at both ends of the range of each estimated parameter of the disks.
    ///
    /// The file of a disk lists its estimated parameters and their ranges in [estimated]. The
    /// output says which verdicts depend on an estimate. For a single parameter, use --set
    /// estimated=as-is,queue_patience-low,queue_patience-high.
    #[arg(long)]
    sensitivity: bool,

    /// Run all cells on each drive of a class that the lab has.
    ///
    /// Each drive replaces the disks of its kind (rotating or not) in the suite's arrays. The
    /// output says on which drives each verdict is given. For some drives only, use --set
    /// device=NAME,....
    #[arg(long, value_name = "CLASS", value_parser = PossibleValuesParser::new(FAMILIES))]
    drives: Option<String>,
}

#[derive(Debug, Clone)]
struct Setting {
    axis: String,
    values: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (axis, values) =
            text.split_once('=').ok_or("write it as axis=value,..., such as policy=pid,devid")?;
        let is_axis = |value: &&str| {
            let name = value.split_once('=').map_or("", |(name, _)| name.trim());
            name.parse::<SuiteAxis>().is_ok()
        };
        if let Some(other) = values.split(',').find(is_axis) {
            return Err(format!("one axis at a time: --set {axis}=... --set {other}"));
        }
        Ok(Self { axis: axis.trim().to_owned(), values: values.to_owned() })
    }
}

impl Overrides {
    /// Builds overrides from settings in the form of [`Self::listed`], with these seeds.
    pub fn from_settings(
        settings: impl IntoIterator<Item = String>,
        seeds: Seeds,
    ) -> Result<Self, Failure> {
        let set = settings.into_iter().map(|setting| setting.parse().map_err(Failure::mistaken));
        let set = set.collect::<Result<_, _>>()?;
        Ok(Self { set, seeds: Some(seeds), ..Self::default() })
    }

    /// Returns the overrides with these values of an axis, in place of the suite's or the command
    /// line's.
    pub fn with(&self, axis: &str, values: &str) -> Result<Self, Failure> {
        let setting: Setting = format!("{axis}={values}").parse().map_err(Failure::mistaken)?;
        let others = self.set.iter().filter(|setting| setting.axis != axis).cloned();
        Ok(Self { set: others.chain([setting]).collect(), ..self.clone() })
    }

    /// Returns the seeds of the command line.
    pub const fn seeds(&self) -> Option<Seeds> {
        self.seeds
    }

    /// Refuses settings that only modelled disks have, for runs on this machine's disks.
    pub fn refuse_models(&self) -> Result<(), Failure> {
        let sets_drives = || self.set.iter().any(|setting| setting.axis == DRIVE);
        if self.drives.is_some() || sets_drives() {
            return Err(mistaken!(
                "{}: this machine's disks cannot be replaced by models; leave --on host out",
                if self.drives.is_some() { "--drives" } else { "--set device=" }
            ));
        }
        if self.sensitivity {
            return Err(mistaken!(
                "--sensitivity: disks of this machine have no estimated parameters; leave --on \
                 host out, or compare with models of them (`disklab predict`)"
            ));
        }
        Ok(())
    }

    /// Returns the overrides with these seeds, unless the command line gives seeds.
    pub fn with_seeds(&self, seeds: Option<Seeds>) -> Self {
        Self { seeds: self.seeds.or(seeds), ..self.clone() }
    }

    /// Returns the overrides with these seeds in the place of others.
    pub fn at_seeds(&self, seeds: Seeds) -> Self {
        Self { seeds: Some(seeds), ..self.clone() }
    }

    /// Returns the settings in the form that a record keeps.
    fn listed(&self) -> Vec<String> {
        let set = self.set.iter().map(|Setting { axis, values }| format!("{axis}={values}"));
        let kernel = self.kernel.as_ref().map(|kernels| format!("kernel={kernels}"));
        set.chain(kernel)
            .chain(self.seeds.map(|seeds| format!("{SEEDS_SETTING}={seeds}")))
            .collect()
    }
}

#[derive(Debug)]
pub struct Question {
    pub suite: Suite,
    /// Text of the suite's file.
    pub text: String,
    /// Changes to the suite, each as `policy=pid,devid`.
    pub set: Vec<String>,
    pub trials: Vec<Trial>,
    /// The position of the trials among all trials of the suite, if they are not all.
    pub part: Option<Part>,
    /// Combinations of the matrix that make no sense, with the reasons.
    pub left_out: Vec<String>,
}

impl Question {
    /// Reads a suite by its name in the lab or by its path.
    pub fn ask(lab: &Lab, name_or_path: &str, overrides: &Overrides) -> Result<Self, Failure> {
        // The file is read twice, since only the lab can find suites and explain a missing one.
        let name = lab.suite(name_or_path)?.name;
        let path =
            lab.suites.get(name_or_path).cloned().unwrap_or_else(|| PathBuf::from(name_or_path));
        let text = disklab_files::read_text(&path, &disklab_files::LAB)
            .map_err(|error| mistaken!("{}: cannot be read: {error}", path.display()))?;
        let mut set = overrides.listed();
        let file = path.display().to_string();
        if let Some(class) = &overrides.drives {
            let as_it_is = Self::of_text(lab, &name, &file, text.clone(), set.clone())?;
            set.push(format!("{DRIVE}={}", as_it_is.drives_of(class, lab)?.join(",")));
        }
        if overrides.sensitivity {
            let as_it_is = Self::of_text(lab, &name, &file, text.clone(), set.clone())?;
            set.push(format!("{ESTIMATED}={}", as_it_is.ends_of_estimates()?.join(",")));
        }
        Self::of_text(lab, &name, &file, text, set)
    }

    /// Returns the values of the drive axis: the drives of a class.
    fn drives_of(&self, class: &str, lab: &Lab) -> Result<Vec<String>, Failure> {
        if self.suite.axes().iter().any(|axis| axis.axis.to_string() == DRIVE) {
            return Err(mistaken!(
                "--drives: the suite has the axis `{DRIVE}` already; leave one of them out"
            ));
        }
        let is_of_it = |drive: &&Device| drive.model.family() == class;
        let drives = lab.devices.values().filter(is_of_it);
        let names: Vec<String> = drives.map(|drive| drive.name.clone()).collect();
        if names.is_empty() {
            let folder = lab.folder.join("devices");
            return Err(mistaken!(
                "--drives {class}: {} has no device of this class; name another class",
                folder.display()
            ));
        }
        Ok(names)
    }

    /// Names the drives of the suite that are smaller than the used part of the disks they replace.
    fn smaller_drives(&self) -> Option<String> {
        let is_smaller = |trial: &&Trial| {
            let part = trial.array.partition_size;
            let drive = |device: &&Device| trial.value(DRIVE) == Some(&*device.name);
            let mut drives = trial.devices.iter().filter(drive);
            part.is_some_and(|part| drives.any(|drive| drive.bytes < part))
        };
        let smaller = self.trials.iter().filter(is_smaller);
        let names: BTreeSet<&str> = smaller.filter_map(|trial| trial.value(DRIVE)).collect();
        (!names.is_empty()).then(|| {
            let names = listed(&Vec::from_iter(names));
            format!(
                "these drives are smaller than the part of a disk that an array uses, and are \
                     used whole: {names}"
            )
        })
    }

    /// Returns the values of the axis over the estimates of the suite's disks.
    fn ends_of_estimates(&self) -> Result<Vec<String>, Failure> {
        let axes: Vec<String> =
            self.suite.axes().iter().map(|axis| axis.axis.to_string()).collect();
        if axes.iter().any(|axis| axis == ESTIMATED) {
            return Err(mistaken!(
                "--sensitivity: the suite has the axis `{ESTIMATED}` already; leave one of them out"
            ));
        }
        let devices = self.trials.iter().flat_map(|trial| &trial.devices);
        let mut ends = RangeEnd::axis_values(devices);
        // A value that the suite sets on all disks is not an estimate.
        ends.retain(|end| match RangeEnd::parse(end) {
            Ok(Some(end)) => !axes.contains(&format!("device.{}", end.key)),
            _ => true,
        });
        if ends.len() == 1 {
            let names = self.trials.iter().flat_map(|trial| &trial.devices);
            let names: BTreeSet<&str> = names.map(|device| device.name.as_str()).collect();
            return Err(mistaken!(
                "--sensitivity: no disk of the suite has an estimate in its file ([estimated]): {}",
                Vec::from_iter(names).join(", ")
            ));
        }
        Ok(ends)
    }

    /// Says in a sentence which trials `--sensitivity` adds to the suite.
    fn estimates(&self) -> Option<String> {
        let is_end = |trial: &&Trial| trial.value(ESTIMATED).is_some_and(|value| value != AS_IS);
        let trials = self.trials.iter().filter(is_end).count();
        let all = self.trials.iter().flat_map(|trial| &trial.devices);
        let ends =
            self.trials.iter().filter_map(|trial| RangeEnd::parse(trial.value(ESTIMATED)?).ok());
        let keys: BTreeSet<&str> = ends.flatten().map(|end| end.key).collect();
        let mut ranges: BTreeSet<String> = BTreeSet::new();
        for Estimate { key, low, high } in all.flat_map(|device| &device.estimated) {
            if keys.contains(key.as_str()) {
                ranges.insert(format!("{key} ({low} to {high})"));
            }
        }
        (trials > 0).then(|| {
            format!(
                "{} of {} are at an end of an estimate's range: {}",
                trials,
                words::count(self.trials.len(), "trial"),
                Vec::from_iter(ranges).join(", ")
            )
        })
    }

    /// Returns the question with which a record was begun.
    pub fn recorded(lab: &Lab, folder: &Path, manifest: &Manifest) -> Result<Self, Failure> {
        if manifest.imported.is_some() {
            return Err(mistaken!(
                "{} has imported results, which disklab cannot run; import more results into a new \
                 record",
                name_of(folder)
            ));
        }
        let (file, suite) = (suite_file(folder), &manifest.suite);
        let all =
            Self::of_text(lab, &suite.name, &file, suite.text().to_owned(), suite.set.clone())?;
        Ok(match &manifest.part {
            Some(part) => all.only(&part.at.iter().map(|&at| at as usize).collect::<Vec<_>>()),
            None => all,
        })
    }

    /// Returns the question with which a record was begun, with these seeds in place of its own.
    /// They must begin with its own seeds.
    pub fn with_seeds(
        lab: &Lab,
        folder: &Path,
        manifest: &Manifest,
        seeds: Seeds,
    ) -> Result<Self, Failure> {
        let recorded = Self::recorded(lab, folder, manifest)?;
        let (had, name) = (recorded.suite.seeds(), name_of(folder));
        if seeds == had {
            return Ok(recorded);
        }
        let has = if had.count() == 1 {
            format!("seed {}", had.first())
        } else {
            format!("seeds {} to {}", had.first(), had.last())
        };
        if seeds.first() != had.first() {
            let suggestion = had.upto(had.last().max(seeds.last()));
            return Err(mistaken!(
                "--seeds {seeds}: {name} has {has}, and new seeds must follow them: --seeds \
                 {suggestion}. Other seeds need a record of their own (`disklab run {} --seeds \
                 {seeds}`), which `disklab merge` merges with this one",
                manifest.suite.name
            ));
        }
        if seeds.last() < had.last() {
            return Err(mistaken!(
                "--seeds {seeds}: {name} has {has}, and seeds can only be added; name more, or \
                 leave --seeds out"
            ));
        }
        if recorded.part.is_some() {
            let rest = Seeds::first_ones(seeds.last()).after(had.last());
            return Err(mistaken!(
                "--seeds {seeds}: {name} has only some of the suite's trials, and seeds are added \
                 to all of them. First merge the parts (`disklab merge`), or run the new seeds as \
                 parts too (`disklab run {} --seeds {rest} --shard K/N`)",
                manifest.suite.name
            ));
        }
        let others = |setting: &&String| {
            setting.split_once('=').is_none_or(|(axis, _)| axis != SEEDS_SETTING)
        };
        let set = manifest.suite.set.iter().filter(others).cloned();
        let set = set.chain([format!("{SEEDS_SETTING}={seeds}")]).collect();
        let suite = &manifest.suite;
        Self::of_text(lab, &suite.name, &suite_file(folder), suite.text().to_owned(), set)
    }

    /// Returns the question of a record, with these values of an axis in the place of its own.
    pub fn with_values(
        lab: &Lab,
        folder: &Path,
        manifest: &Manifest,
        axis: &str,
        values: &str,
    ) -> Result<Self, Failure> {
        let suite = &manifest.suite;
        let of_axis = |setting: &&String| setting.split('=').next() == Some(axis);
        let set = suite.set.iter().filter(|setting| !of_axis(setting)).cloned();
        let set = set.chain([format!("{axis}={values}")]).collect();
        Self::of_text(lab, &suite.name, &suite_file(folder), suite.text().to_owned(), set)
    }

    /// Returns the question without trials that the fast model cannot run. Prints a remark for each
    /// reason.
    pub fn that_model_runs(self, verb: &str, screen: &Screen) -> Result<Self, Failure> {
        let obstacles: Vec<Option<String>> =
            self.trials.iter().map(disklab_model::obstacle).collect();
        let mut left_out: BTreeMap<&str, usize> = BTreeMap::new();
        for reason in obstacles.iter().flatten() {
            *left_out.entry(reason).or_default() += 1;
        }
        for (reason, count) in left_out {
            screen.remark(&format!("{} left out: {reason}", words::count(count, "trial")));
        }
        let known: Vec<usize> =
            (0..obstacles.len()).filter(|&index| obstacles[index].is_none()).collect();
        if known.is_empty() {
            return Err(mistaken!(
                "{verb}: the model can run none of the suite's trials, for the reasons above"
            ));
        }
        Ok(self.only(&known))
    }

    /// Returns the question with only the trials at these indices, which rise. Indices without a
    /// trial are ignored.
    #[must_use]
    pub fn only(self, at: &[usize]) -> Self {
        let of = self.trials.len() as u32;
        let at: Vec<usize> = at.iter().copied().filter(|&at| at < self.trials.len()).collect();
        let trials = at.iter().map(|&at| self.trials[at].clone()).collect();
        let part = Part { of, at: at.iter().map(|&at| at as u32).collect() };
        // A part with all trials is the whole.
        let part = Some(part).filter(|part| part.at.len() < of as usize);
        Self { trials, part, ..self }
    }

    fn of_text(
        lab: &Lab,
        name: &str,
        file: &str,
        text: String,
        set: Vec<String>,
    ) -> Result<Self, Failure> {
        let suite = Suite::of_text(name, file, &text, &set)?;
        let trials = suite.trials(lab)?;
        limits::check_memory(
            file,
            trials.iter().map(|trial| trial.memory).max().unwrap_or_default(),
        )?;
        let left_out = suite.left_out(lab);
        Ok(Self { suite, text, set, trials, part: None, left_out })
    }

    /// Returns the metric of a single number. It is `wanted`, or else the first metric of the suite
    /// that the workloads have, or else their usual metric. An error lists the metrics that they
    /// have.
    pub fn metric(&self, wanted: Option<&str>) -> Result<Metric, Failure> {
        let beside = self.trials.iter().filter_map(|trial| trial.background.as_ref());
        let snapshots = beside.clone().any(|background| background.snapshots.is_some());
        let workloads = self.trials.iter().map(|trial| &trial.workload);
        let all = workloads.clone().chain(beside.filter_map(Background::fio_workload));
        let known = metric::of_workloads(all, self.suite.power_cut.is_some(), snapshots);
        if let Some(wanted) = wanted {
            if known.contains(wanted) {
                return Ok(Metric::of_name(wanted));
            }
            let what = unknown("metric", wanted, known.iter().map(String::as_str));
            return Err(mistaken!("--metric: {what}"));
        }
        let first = self.suite.metrics.iter().find(|name| known.contains(*name)).cloned();
        let own = || workloads.clone().find_map(|workload| workload.phases()?.metrics().next());
        let usual = || [OPS, STARTUP, FIRST_FRAME].into_iter().find(|name| known.contains(*name));
        let name = first.or_else(own).or_else(|| usual().map(str::to_owned));
        Ok(name.map_or(Metric::Iops, |name| Metric::of_name(&name)))
    }

    /// Returns remarks about trials that cannot do everything that the suite asks. These trials run
    /// without it, are skipped with the reason that `obstacle` gives, or do not exist.
    pub fn remarks(&self, obstacle: impl Fn(&Trial) -> Option<String>) -> Vec<String> {
        let bare = |trial: &&Trial| {
            trial.metadata == Metadata::Warm && trial.array.layout.filesystem().is_none()
        };
        let bare: BTreeSet<&str> =
            self.trials.iter().filter(bare).map(|trial| trial.array.name.as_str()).collect();
        let remark = |array| {
            format!(
                "metadata = \"warm\" does nothing on {array}: a bare device has no filesystem and \
                 no metadata"
            )
        };
        let left_out = self.trials.iter().filter_map(|trial| Some((trial, obstacle(trial)?)));
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (trial, reason) in left_out {
            reasons.entry(reason).or_default().push(&trial.id);
        }
        let skipped = |(reason, ids): (String, Vec<&str>)| {
            let first = ids.first().copied().unwrap_or_default();
            format!("skipped: {}, {first} first: {reason}", words::count(ids.len(), "trial"))
        };
        let remarks = self
            .estimates()
            .into_iter()
            .chain(self.smaller_drives())
            .chain(bare.into_iter().map(remark))
            .chain(reasons.into_iter().map(skipped));
        remarks.chain(self.left_out.iter().cloned()).collect()
    }
}

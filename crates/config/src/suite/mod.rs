//! `lab/suites/*.toml`: a question, as a matrix of trials.
//!
//! ```toml
//! question = "Which btrfs read policy serves which disks?"
//! seeds = 3                          # trials of each cell
//! memory = "512 MiB"                 # of the guest
//! # measured time, in virtual time; not for workloads that end by themselves
//! runtime = { rotational = "20s", solid_state = "300ms" }
//! # time before the measurement, not measured; may be left out: none
//! ramp = { rotational = "1s", solid_state = "10ms" }
//! mount_options = ["noatime"]        # may be left out
//! metadata = "warm"                  # or "cold", as after a mount: may be left out
//! power_cut = { cuts = 3 }           # see power_cut.rs; may be left out: no power cuts
//! # metrics to compare, the most important first; may be left out: the usual
//! metrics = ["iops", "read p99"]
//! kernel = "newest"                  # a fixed value: the same for all trials
//! # the value that others of its axis are compared with; may be left out
//! baseline = { policy = "pid" }
//!
//! [axes]                             # crossed with one another
//! array = ["hdd-raid1", "ssd-raid10"]
//! workload = ["randread-4k-qd1"]
//! policy = ["pid", "round-robin:4k"]
//! ```
//!
//! Axes can be over numbers too, as lists and ranges: see sweep.
//!
//! The axes that name things are `array`, `workload`, `jobs`, `background`, `policy`, `scheduler`
//! and `kernel`. Each is either a list in `[axes]` or one fixed value at the top; `array` and
//! `workload` must be there. The defaults: `jobs` is the workload's `numjobs`, `background` is
//! `none`, and `policy` is the kernel's default. `scheduler` is mq-deadline, the kernel's own
//! choice for disks with one queue, and `kernel` is `newest`, the most preferred available kernel.
//! An array with any disk that turns is measured for the rotational run time.
//!
//! btrfs looks up the checksums of a direct read while it submits the read, and waits for the disks
//! if the checksums are not in memory. For the first minutes after a mount most are not, so a depth
//! of 32 is hardly more than a depth of 1. `metadata = "warm"` reads the checksums before the
//! measurement.

mod axis;
mod cell;
mod fit;
mod matrix;
pub mod metric;
mod seeds;
pub mod sweep;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

pub use axis::{Axis, AxisValues, SuiteAxis};
pub use seeds::Seeds;

use crate::disk_times::{DiskTimes, TIMES_BEFORE};
use crate::power_cut::{MOST_STATES, PowerCut};
use crate::read::{
    Diagnostics, Located, SourcePlace, TomlReader, TomlTable, choices, unknown, values,
};
use sweep::{MEMORY, RUNTIME};

/// A question and the trials that answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Name of the suite's file, without `.toml`.
    pub name: String,
    /// The question in one line for people.
    pub question: String,
    /// The axes, crossed in this order, the last varying fastest. Fixed axes come last.
    axes: Vec<AxisValues>,
    /// The seeds of each cell.
    seeds: Seeds,
    baseline: Option<Baseline>,
    /// Metrics to compare, the most important first. Empty means the usual ones.
    pub metrics: Vec<String>,
    /// Places of the metrics in the file.
    metric_places: Vec<SourcePlace>,
    /// The guest's memory.
    pub memory: Bytes,
    /// The measured time, in virtual time. It is None if all workloads end by themselves.
    pub runtime: Option<DiskTimes>,
    /// The time before the measurement, which is not measured.
    pub ramp: DiskTimes,
    /// The options for `mount -o`, one per element.
    pub mount_options: Vec<String>,
    /// The filesystem metadata that is in memory when the measurement begins.
    pub metadata: Metadata,
    /// The simulated power cuts, if there are any.
    pub power_cut: Option<PowerCut>,
}

choices! {
    /// Whether a filesystem's metadata (for btrfs: its checksums) is in memory when the measurement
    /// begins.
    #[derive(Default)]
    pub enum Metadata: "state of metadata" {
        /// The metadata is not in memory, as after a mount.
        #[default]
        Cold = "cold",
        /// The metadata is in memory, as after some time of use.
        Warm = "warm",
    }
}

/// The value with which the others of its axis are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    pub axis: Axis,
    pub value: String,
}

/// Options that mount(8) converts to flags and that no filesystem knows.
const MOUNT_FLAGS: [&str; 12] = [
    "defaults",
    "ro",
    "rw",
    "relatime",
    "strictatime",
    "nodiratime",
    "lazytime",
    "sync",
    "dirsync",
    "nosuid",
    "nodev",
    "noexec",
];
/// The name of the file in places of values that come from the command line.
const SET: &str = "--set";
/// The name of the number of seeds among settings. No axis has this name.
pub const SEEDS_SETTING: &str = "seeds";

impl Suite {
    /// Reads the top table of a suite's file; `name` is the file's name. [`Suite::trials`] checks
    /// that the things that it names exist.
    pub fn read(name: &str, table: &TomlTable<'_, '_>) -> Option<Self> {
        let question = table.required("question");
        let seeds = table.within("seeds", seeds::SEEDS);
        let memory = read_memory(table);
        let times =
            |key, range| table.optional_table(key, |times| DiskTimes::from_table(times, range));
        let runtime = times("runtime", &RUNTIME);
        let ramp = times("ramp", &TIMES_BEFORE);
        let mount_options = read_mount_options(table);
        let metadata = table.or("metadata", Metadata::default());
        // The last sentences of a run are about the first metric.
        let metrics = table.list::<String>("metrics");
        let power_cut = table.optional_table("power_cut", PowerCut::from_table);
        if let Some(Some(PowerCut { cuts, states, .. })) = power_cut {
            table.refuse_if(cuts * states > MOST_STATES, "power_cut", || {
                format!("{cuts} cuts of {states} states are more than {MOST_STATES} in all")
            });
        }
        let axes = read_axes(table);
        let baseline = table.table("baseline").map(|baseline| read_baseline(&baseline, &axes));
        Some(Self {
            name: name.to_owned(),
            question: question?,
            axes,
            seeds: Seeds::first_ones(seeds?),
            baseline: baseline.flatten(),
            metric_places: metrics.iter().map(|metric| metric.place.clone()).collect(),
            metrics: values(metrics),
            memory: memory?,
            runtime: runtime?,
            ramp: ramp?.unwrap_or_default(),
            mount_options,
            metadata,
            power_cut: power_cut?,
        })
    }

    /// Reads a suite's text and applies settings: each is `axis=value,...`, `seeds=3` or
    /// `seeds=4-6`, as on a command line and in records. A lab need not have the things that they
    /// name. `file` is for messages.
    pub fn of_text(
        name: &str,
        file: &str,
        text: &str,
        settings: &[String],
    ) -> Result<Self, Diagnostics> {
        let mut suite = TomlReader::new(file, text).read(|table| Self::read(name, table))?;
        for setting in settings {
            let (axis, values) = setting.split_once('=').unwrap_or((setting, ""));
            if axis == SEEDS_SETTING {
                let wrong = |message| SourcePlace::of_file("--seeds").diagnostic(message);
                suite.set_seeds(values.parse().map_err(wrong)?);
            } else {
                suite.set(axis, values)?;
            }
        }
        Ok(suite)
    }

    /// Returns the axes in order, the last varying fastest; fixed axes come last.
    pub fn axes(&self) -> &[AxisValues] {
        &self.axes
    }

    pub fn seeds(&self) -> Seeds {
        self.seeds
    }

    /// Returns the value with which the other values of its axis are compared.
    pub fn baseline(&self) -> Option<&Baseline> {
        self.baseline.as_ref()
    }

    /// Replaces the seeds, as `--seeds` does.
    pub fn set_seeds(&mut self, seeds: Seeds) {
        self.seeds = seeds;
    }

    /// Replaces the values of an axis, as `--set axis=value,...` does. If the suite lacks the axis,
    /// it is added.
    ///
    /// The ids of trials that remain do not change. A baseline that is not among the new values is
    /// dropped.
    pub fn set(&mut self, axis: &str, values: &str) -> Result<(), Diagnostics> {
        let place = SourcePlace { key: axis.to_owned(), ..SourcePlace::of_file(SET) };
        let axis = axis.parse::<SuiteAxis>().map_err(|message| place.diagnostic(message))?;
        if self.is_sampled(&axis) {
            let message = "is sampled together with others, by [hypercube] in the suite's file: \
                           change it there";
            return Err(place.diagnostic(message).into());
        }
        let values = split(&axis, values);
        if values.contains(&"") {
            let message = "a value is empty; write values with commas between them";
            return Err(place.diagnostic(message).into());
        }
        let located = |value: &str| Located { value: value.to_owned(), place: place.clone() };
        let (values, mistakes) = axis.values(values.into_iter().map(located).collect());
        if !mistakes.is_empty() {
            return Err(Diagnostics(mistakes));
        }
        let stays = |base: &Baseline| {
            axis != base.axis || values.iter().any(|value| value.value == base.value)
        };
        self.baseline = self.baseline.take().filter(stays);
        let single = values.len() == 1;
        match self.axes.iter_mut().find(|known| known.axis == axis) {
            Some(known) => {
                let fixed = known.fixed && single;
                *known = AxisValues { axis, values, fixed, along: false };
            }
            None => self.axes.push(AxisValues { axis, values, fixed: single, along: false }),
        }
        // An axis that has become fixed, or no longer is, moves to its kind; the sort is stable.
        self.axes.sort_by_key(|axis| axis.fixed);
        Ok(())
    }

    /// Returns whether an axis varies together with another one.
    fn is_sampled(&self, axis: &SuiteAxis) -> bool {
        let mut groups = self.axes.chunk_by(|_, next| next.along);
        groups.any(|group| group.len() > 1 && group.iter().any(|known| known.axis == *axis))
    }
}

/// Splits at the commas between values. `latency-rr:120,burst=100` is one value of a policy,
/// `bfq:slice_idle=0,low_latency=0` of a scheduler.
fn split<'a>(axis: &SuiteAxis, values: &'a str) -> Vec<&'a str> {
    let mut split = Vec::new();
    let mut start = 0;
    for (comma, _) in values.match_indices(',').chain([(values.len(), "")]) {
        let next = values[comma..].trim_start_matches(',').split(',').next().unwrap_or_default();
        let has_values = *axis == Axis::Policy || *axis == Axis::Scheduler;
        let begun = has_values && values[start..comma].contains(':');
        if begun && next.contains('=') && !next.contains(':') {
            continue;
        }
        split.push(values[start..comma].trim());
        start = comma + 1;
    }
    split
}

/// Reads the memory of each guest; the smallest possible one if an axis over memory replaces it.
fn read_memory(table: &TomlTable<'_, '_>) -> Option<Bytes> {
    let is_axis = ["axes", "hypercube"].iter().any(|place| table.has_within(place, "memory"));
    // The axis has the memory of each trial; its values are checked when they are applied.
    if !table.has("memory") && is_axis {
        return Some(*MEMORY.start());
    }
    table.within("memory", MEMORY)
}

/// Reads `[axes]` in the order of the file, then the samples of `[hypercube]`, then the fixed
/// values.
fn read_axes(table: &TomlTable<'_, '_>) -> Vec<AxisValues> {
    let mut axes: Vec<AxisValues> = Vec::new();
    let crossed = table.table("axes");
    let is_crossed =
        |axis: Axis| crossed.as_ref().is_some_and(|crossed| crossed.has(axis.as_str()));
    let named = |axis: Axis, values, fixed| {
        let own = SuiteAxis::Named(axis);
        let (values, mistakes) = own.values(values);
        table.record(mistakes);
        AxisValues { axis: own, values, fixed, along: false }
    };
    if let Some(crossed) = &crossed {
        let given = Axis::ALL.iter().filter(|&&axis| is_crossed(axis));
        axes.extend(given.map(|&axis| named(axis, axis.list(crossed), false)));
        let swept = sweep::read_axes(crossed).into_iter();
        axes.extend(swept.map(|(axis, values)| AxisValues::swept(axis, values, false)));
        let order = crossed.keys();
        axes.sort_by_key(|values| {
            order
                .iter()
                .position(|key| key.parse::<SuiteAxis>().is_ok_and(|axis| axis == values.axis))
        });
    }
    if let Some(hypercube) = table.table("hypercube") {
        // The other axes go along with the first.
        let sampled = sweep::read_hypercube(&hypercube).into_iter().enumerate();
        let sampled = sampled.map(|(at, (axis, values))| AxisValues::swept(axis, values, at > 0));
        let sampled: Vec<_> = sampled.collect();
        let is_crossed = |own: &&AxisValues| axes.iter().any(|known| known.axis == own.axis);
        if let Some(twice) = sampled.iter().find(is_crossed) {
            hypercube.wrong(&twice.axis.to_string(), "is in [axes] too: leave one of the two");
        }
        axes.extend(sampled);
    }
    for &axis in Axis::ALL {
        match axis.single(table) {
            Some(_) if is_crossed(axis) => {
                table.wrong(axis.as_str(), "is in [axes] too: leave one of the two");
            }
            Some(value) => axes.push(named(axis, vec![value], true)),
            None => {}
        }
    }
    for axis in [Axis::Array, Axis::Workload] {
        let is_missing = !table.has(axis.as_str()) && !is_crossed(axis);
        table.refuse_if(is_missing, axis.as_str(), || {
            "is missing: a list in [axes], or one fixed value at the top".to_owned()
        });
    }
    axes
}

fn read_baseline(table: &TomlTable<'_, '_>, crossed: &[AxisValues]) -> Option<Baseline> {
    let given: Vec<_> =
        Axis::ALL.iter().filter_map(|&axis| Some((axis, axis.single(table)?))).collect();
    let [(axis, Located { value, place })] = given.as_slice() else {
        if given.len() != 1 {
            table.wrong("", "expected one axis and its value, such as { policy = \"pid\" }");
        }
        return None;
    };
    let read = || {
        let known = crossed.iter().find(|known| known.axis == *axis);
        let known = known.ok_or_else(|| format!("the suite has no axis `{axis}`"))?;
        let value = axis.canonical(value)?;
        if !known.values.iter().any(|known| known.value == value) {
            let values = known.values.iter().map(|known| known.value.as_str());
            return Err(unknown("value", &value, values));
        }
        Ok(Baseline { axis: *axis, value })
    };
    read().map_err(|message| table.wrong_at(place, message)).ok()
}

fn read_mount_options(table: &TomlTable<'_, '_>) -> Vec<String> {
    let options = table.list::<String>("mount_options");
    for Located { value, place } in &options {
        let separates = |c: char| c == ',' || c.is_whitespace() || c.is_control();
        if value.is_empty() || value.contains(separates) {
            table.wrong_at(place, format!("`{}` is not one mount option", value.escape_debug()));
        } else if MOUNT_FLAGS.contains(&value.as_str()) {
            let taken = "of the general options only noatime is taken";
            table.wrong_at(place, format!("`{value}` is not for measuring; {taken}"));
        }
    }
    values(options)
}

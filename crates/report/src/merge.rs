//! A record's trials merged over their seeds: cells, in the suite's order, grouped by array and
//! workload.

use std::collections::{BTreeMap, BTreeSet};

use disklab_compare::index::{IndexedTrial, grouped};
use disklab_compare::metric::both_directions;
use disklab_compare::{CellIndex, DecisionRule, MetricUse, default_metrics};
use disklab_record::manifest::{Fact, Kernel};
use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record, Status};
use disklab_results::sample::DirectionSample;
use disklab_results::{Remark, Sample, Spread};
use disklab_units::Nanos;
use serde::Serialize;

use crate::limits;
use crate::measures;
use crate::tally::Tally;

/// The validity of imported results: only their files are known.
const IMPORTED: &str = "Imported results: disklab does not know how they were measured. `disklab \
    audit` lists those that are doubtful.";

/// The validity of results of real disks.
const ON_HOST: &str = "Disks of a machine, in its own time: other work of the machine and the \
    state of the disks are in the numbers, and the same run again gives other numbers. Each \
    trial's environment.json has what was seen of them.";

/// The validity of results of the fast model.
const OF_MODEL: &str = "Numbers of a fast model of the stack, without a kernel: for \
    searches, not for verdicts. `disklab predict --on model` shows how far the model is from the \
    kernel.";

/// Returns the limits of a record's numbers.
pub fn validity(record: &Record) -> &'static str {
    let manifest = record.manifest();
    if manifest.is_of_model() {
        return OF_MODEL;
    }
    match (&manifest.imported, &manifest.on_host) {
        (Some(_), _) => IMPORTED,
        (None, Some(_)) => ON_HOST,
        (None, None) => limits::together(),
    }
}

/// Returns the kernels and the fio of a record.
pub fn made_with(report: &MergedRecord) -> Vec<String> {
    let kernels = report.kernels.iter().map(|kernel| format!("Linux {}", kernel.version));
    // A tool's version comes first in its fact.
    let fio = report.tools.get("fio").and_then(|fio| fio.split(',').next());
    kernels.chain(fio.map(str::to_owned)).collect()
}

/// Axes in a group's head. The other axes are in its rows.
const HEAD: [&str; 2] = ["array", "workload"];

#[derive(Debug, Serialize)]
pub struct MergedRecord<'a> {
    /// The name by which a later command finds the record.
    pub record: String,
    pub suite: String,
    pub question: Option<String>,
    /// The keys that the command line changed in the suite.
    pub set: Vec<String>,
    pub created: String,
    pub kernels: Vec<KernelUsed>,
    pub tools: BTreeMap<String, String>,
    pub trials: Tally,
    /// Whether a process runs it now.
    #[serde(skip)]
    pub goes_on: bool,
    /// The limits of the numbers.
    pub validity: &'static str,
    /// The noise of the machine, and changes of its level, as sentences without their full stops.
    /// The list is empty unless the disks are real.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<String>,
    pub groups: Vec<CellGroup<'a>>,
}

#[derive(Debug, Serialize)]
pub struct KernelUsed {
    pub name: String,
    pub version: String,
}

/// Cells that are compared with one another.
#[derive(Debug, Serialize)]
pub struct CellGroup<'a> {
    /// Axes and values of the head.
    pub head: Cell,
    /// Axes of the rows.
    pub axes: Vec<String>,
    pub cells: Vec<CellRow<'a>>,
}

impl CellGroup<'_> {
    /// Returns true if the group has no numbers of fio.
    pub fn is_foreign(&self) -> bool {
        self.cells.iter().all(|cell| cell.measured.is_none())
    }
}

#[derive(Debug, Serialize)]
pub struct CellRow<'a> {
    /// Value of each of the group's axes.
    pub values: Vec<String>,
    /// The numbers of trials that are ok, or `None` if no trial is.
    pub measured: Option<CellNumbers>,
    /// Other numbers, of imported results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<measures::NamedNumbers>,
    /// The trials in the order of their seeds.
    pub trials: Vec<TrialRow<'a>>,
    /// The outcomes of trials that have run.
    #[serde(skip)]
    pub outcomes: Vec<&'a Outcome>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct TrialRow<'a> {
    pub trial: &'a str,
    pub seed_index: Option<u32>,
    /// Status of the trial, or `None` if it has not run.
    pub status: Option<Status>,
    pub reason: Option<&'a str>,
    pub remarks: &'a [Remark],
}

/// Numbers that the trials of a cell measured. Latencies are in ns.
#[derive(Debug, Serialize)]
pub struct CellNumbers {
    pub seeds: usize,
    /// The numbers of reads and writes together.
    #[serde(flatten)]
    pub all: FioNumbers,
    /// The numbers of the reads alone.
    pub read: Option<FioNumbers>,
    /// The numbers of the writes alone.
    pub write: Option<FioNumbers>,
    pub disks: Vec<DiskNumbers>,
    /// Each disk's share of the reads, by [`disklab_compare::separation::read_shares`].
    #[serde(skip)]
    pub read_shares: Vec<Option<f64>>,
}

#[derive(Debug, Serialize)]
pub struct FioNumbers {
    pub iops: Spread,
    /// Bandwidth in bytes per second.
    pub bw_bytes: Spread,
    pub lat_mean_ns: Spread,
    pub p50_ns: Option<Spread>,
    pub p99_ns: Option<Spread>,
    pub p99_9_ns: Option<Spread>,
}

#[derive(Debug, Serialize)]
pub struct DiskNumbers {
    /// Name of the disk in the guest's kernel.
    pub name: String,
    /// The lab's name for its model.
    pub device: Option<String>,
    /// The share of all disks' reads, 0 to 1.
    pub read_share: Option<Spread>,
    /// Share of the time, 0 to 1, in which the disk had a request.
    pub utilisation: Spread,
}

impl<'a> MergedRecord<'a> {
    pub fn new(index: &CellIndex<'a>) -> Self {
        let record = index.record;
        let manifest = record.manifest();
        let usual = default_metrics(std::slice::from_ref(index), MetricUse::Verdicts);
        let kernel = |kernel: &Kernel| KernelUsed {
            name: kernel.name.clone(),
            version: kernel.version.clone(),
        };
        let tool = |tool: &Fact| (tool.name.clone(), tool.value.clone());
        Self {
            record: index.name(),
            suite: manifest.suite.name.clone(),
            question: index.suite.as_ref().ok().map(|suite| suite.question.clone()),
            set: manifest.suite.set.clone(),
            created: manifest.created.clone(),
            kernels: manifest.kernels.iter().map(kernel).collect(),
            tools: manifest.tools.iter().map(tool).collect(),
            trials: Tally::new(record),
            // If this cannot be determined, the run counts as ended.
            goes_on: disklab_record::is_written(record.folder()).unwrap_or(false),
            validity: validity(record),
            machine: disklab_compare::machine::sentences(record, &usual, DecisionRule::DEFAULT),
            groups: groups(index),
        }
    }
}

fn groups<'a>(index: &CellIndex<'a>) -> Vec<CellGroup<'a>> {
    let (mut head_axes, mut row_axes): (Vec<_>, Vec<_>) =
        index.axes.iter().cloned().partition(|axis| HEAD.contains(&axis.as_str()));
    if row_axes.is_empty() {
        // If only arrays and workloads vary, the last of them is the compared axis.
        row_axes.extend(head_axes.pop());
    }
    if index.record.manifest().imported.is_some() {
        // An imported result has every setting of its file as an axis.
        let varies = |axis: &String| {
            index.trials.iter().map(|trial| trial.cell.value(axis)).collect::<BTreeSet<_>>().len()
                > 1
        };
        let (varying, constant): (Vec<_>, Vec<_>) = row_axes.into_iter().partition(varies);
        row_axes = if varying.is_empty() { constant } else { varying };
    }
    let values = |trial: &IndexedTrial, axes: &[String]| -> Vec<String> {
        let value = |axis: &String| trial.cell.value(axis).unwrap_or_default().to_owned();
        axes.iter().map(value).collect()
    };
    let keyed = |trial| {
        let head = head_axes.iter().cloned().zip(values(trial, &head_axes)).collect();
        (Cell(head), values(trial, &row_axes), trial)
    };
    let groups = grouped(index.trials.iter().map(keyed)).into_iter().map(|(head, rows)| {
        let cells = rows.into_iter().map(|(values, trials)| CellRow::new(values, &trials));
        CellGroup { head, axes: row_axes.clone(), cells: cells.collect() }
    });
    groups.collect()
}

impl<'a> CellRow<'a> {
    fn new(values: Vec<String>, trials: &[&IndexedTrial<'a>]) -> Self {
        let outcomes: Vec<&Outcome> = trials.iter().filter_map(|trial| trial.outcome).collect();
        let ok = outcomes.iter().filter(|outcome| outcome.status == Status::Ok);
        let samples: Vec<&Sample> = ok.filter_map(|outcome| outcome.sample.as_ref()).collect();
        Self {
            values,
            measured: CellNumbers::new(&samples),
            measures: measures::over(&outcomes),
            trials: trials.iter().copied().map(TrialRow::new).collect(),
            outcomes,
        }
    }
}

impl<'a> TrialRow<'a> {
    pub fn new(trial: &IndexedTrial<'a>) -> Self {
        let &IndexedTrial { id, seed_index, outcome, .. } = trial;
        Self {
            trial: id,
            seed_index,
            status: outcome.map(|outcome| outcome.status),
            reason: outcome.and_then(|outcome| outcome.reason.as_deref()),
            remarks: outcome.map_or(&[], |outcome| &outcome.remarks),
        }
    }
}

impl CellNumbers {
    fn new(samples: &[&Sample]) -> Option<Self> {
        let alone = |pick: fn(&Sample) -> Option<&DirectionSample>| {
            // If one seed lacks a direction, the median would be that of the other seeds.
            let parts: Option<Vec<&DirectionSample>> =
                samples.iter().map(|sample| pick(sample)).collect();
            FioNumbers::new(&parts?)
        };
        let all: Vec<DirectionSample> =
            samples.iter().map(|sample| both_directions(sample)).collect();
        Some(Self {
            seeds: samples.len(),
            all: FioNumbers::new(&all.iter().collect::<Vec<_>>())?,
            read: alone(|sample| sample.read.as_ref()),
            write: alone(|sample| sample.write.as_ref()),
            disks: disks(samples),
            read_shares: disklab_compare::separation::read_shares(samples).0,
        })
    }

    /// Returns true if the trials both read and wrote.
    pub fn mixed(&self) -> bool {
        self.read.is_some() && self.write.is_some()
    }
}

impl FioNumbers {
    fn new(samples: &[&DirectionSample]) -> Option<Self> {
        let over = |value: fn(&DirectionSample) -> f64| {
            Spread::over(samples.iter().map(|sample| value(sample)))
        };
        // If one seed lacks a percentile, the median would be that of the other seeds.
        let percentile = |value: fn(&DirectionSample) -> Option<Nanos>| {
            let values: Option<Vec<f64>> =
                samples.iter().map(|sample| Some(value(sample)?.0 as f64)).collect();
            values.and_then(Spread::over)
        };
        Some(Self {
            iops: over(|sample| sample.iops)?,
            bw_bytes: over(|sample| sample.bw_bytes as f64)?,
            lat_mean_ns: over(|sample| sample.lat_mean_ns)?,
            p50_ns: percentile(|sample| sample.p50_ns),
            p99_ns: percentile(|sample| sample.p99_ns),
            p99_9_ns: percentile(|sample| sample.p99_9_ns),
        })
    }
}

/// Returns the disks of the first sample. All trials of a cell have the same disks.
fn disks(samples: &[&Sample]) -> Vec<DiskNumbers> {
    let Some(first) = samples.first() else { return Vec::new() };
    let disk = |(index, disk): (usize, &disklab_results::sample::DeviceSample)| {
        let all = || samples.iter().filter_map(|sample| sample.devices.get(index));
        Some(DiskNumbers {
            name: disk.name.clone(),
            device: disk.device.clone(),
            read_share: Spread::over(all().filter_map(|disk| disk.read_share)),
            utilisation: Spread::over(all().map(|disk| disk.utilisation))?,
        })
    };
    first.devices.iter().enumerate().filter_map(disk).collect()
}

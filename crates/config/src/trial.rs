use disklab_units::{Bytes, Nanos, Seed};
use serde::{Deserialize, Serialize};

use crate::array::Array;
use crate::background::Background;
use crate::device::Device;
use crate::places::Places;
use crate::policy::PolicyChoice;
use crate::power_cut::PowerCut;
use crate::scheduler::SchedulerChoice;
use crate::suite::Metadata;
use crate::workload::Workload;

/// A point of a suite's matrix with one seed: all that is needed to run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Unique in its suite and safe as a file name: the values of its cell joined by `+`, then `+s`
    /// and the seed's index. The `:` of a policy with values is a `=` here.
    pub id: String,
    /// The value of each axis by its name, in the suite's order. Trials that differ by seed only
    /// have the same cell.
    pub cell: Vec<(String, String)>,
    /// From 1.
    pub seed_index: u32,
    /// Depends on the index only, so that cells can be paired by seed.
    pub seed: Seed,
    pub array: Array,
    /// The array's disks in its order, then its cache, its spares and the disks of its replica, if
    /// it has them. `Device::used` is cut to the part that is used, `Device::bytes` is the whole
    /// disk.
    pub devices: Vec<Device>,
    pub places: Places,
    /// Its `numjobs` is the suite's, where the suite says any.
    pub workload: Workload,
    /// What runs beside it.
    pub background: Option<Background>,
    /// None: the kernel's default, or an array without mirrors.
    pub policy: Option<PolicyChoice>,
    pub scheduler: SchedulerChoice,
    /// A series, or `newest`.
    pub kernel: String,
    /// Kernel options that policy and scheduler need, without `CONFIG_`, sorted.
    pub needs: Vec<String>,
    /// Measured for so long in virtual time; what ends by itself is given up then.
    pub runtime: Nanos,
    /// Runs for so long before anything is measured: fio's `ramp_time`.
    pub ramp: Nanos,
    /// The guest's memory.
    pub memory: Bytes,
    /// For `mount -o`.
    pub mount_options: Vec<String>,
    /// What of the filesystem is in memory when measuring begins.
    pub metadata: Metadata,
    /// Whether the power goes while it is measured, and how often.
    pub power_cut: Option<PowerCut>,
    /// Why it cannot be: its files find no place on its array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<String>,
}

impl Trial {
    /// The value of an axis in the trial's cell.
    pub fn value(&self, axis: &str) -> Option<&str> {
        self.cell.iter().find(|(known, _)| known == axis).map(|(_, value)| value.as_str())
    }

    /// How long its background runs before the workload starts.
    pub fn lead(&self) -> Nanos {
        self.background
            .as_ref()
            .map(|background| background.lead.for_disks(self.rotational()))
            .unwrap_or_default()
    }

    /// Whether any of its disks turns; decides which of a suite's run times applies.
    pub fn rotational(&self) -> bool {
        self.devices.iter().any(|device| device.model.rotational())
    }
}

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

/// A point of a suite's matrix with one seed: everything that is needed to run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Id of the trial, unique in its suite and safe as a file name: the values of its cell joined
    /// by `+`, then `+s` and the seed's index. The `:` of a policy with values becomes a `=`.
    pub id: String,
    /// The value of each axis by its name, in the suite's order. Trials that differ by seed only
    /// have the same cell.
    pub cell: Vec<(String, String)>,
    /// Index of the seed, from 1.
    pub seed_index: u32,
    /// The seed, which depends on the index only, so that cells can be paired by seed.
    pub seed: Seed,
    pub array: Array,
    /// The array's disks in its order, then its cache, its spares and the disks of its replica, if
    /// the array has them. `Device::used` is the size of the used part, `Device::bytes` of the
    /// whole disk.
    pub devices: Vec<Device>,
    pub places: Places,
    /// The measured workload. A number of jobs from the suite replaces its `numjobs`.
    pub workload: Workload,
    /// The load that runs beside the workload.
    pub background: Option<Background>,
    /// The read policy. None means the kernel's default, or an array without mirrors.
    pub policy: Option<PolicyChoice>,
    pub scheduler: SchedulerChoice,
    /// The kernel: a series, or `newest`.
    pub kernel: String,
    /// Kernel options that policy and scheduler need, without `CONFIG_`, sorted.
    pub needs: Vec<String>,
    /// Virtual time for which the workload is measured. A workload that ends by itself is timed out
    /// after it.
    pub runtime: Nanos,
    /// Virtual time for which the workload runs before anything is measured: fio's `ramp_time`.
    pub ramp: Nanos,
    /// The guest's memory.
    pub memory: Bytes,
    /// The options for `mount -o`.
    pub mount_options: Vec<String>,
    /// The filesystem metadata that is in memory when the measurement begins.
    pub metadata: Metadata,
    /// The simulated power cuts of the trial, if it has any.
    pub power_cut: Option<PowerCut>,
    /// The reason why the trial cannot run: its files do not fit on its array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<String>,
}

impl Trial {
    /// Returns the value of an axis in the trial's cell.
    pub fn value(&self, axis: &str) -> Option<&str> {
        self.cell.iter().find(|(known, _)| known == axis).map(|(_, value)| value.as_str())
    }

    /// Returns the time for which the background runs before the workload starts.
    pub fn lead(&self) -> Nanos {
        self.background
            .as_ref()
            .map(|background| background.lead.for_disks(self.rotational()))
            .unwrap_or_default()
    }

    /// Returns whether any of the trial's disks turns. This decides which of a suite's run times
    /// applies.
    pub fn rotational(&self) -> bool {
        self.devices.iter().any(|device| device.model.rotational())
    }
}

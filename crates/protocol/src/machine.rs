//! The description of a guest's disks, [`names::MACHINE`](crate::names::MACHINE). The program
//! writes it, and the disk library reads it when the kernel starts.
//!
//! The file is the JSON of [`GuestMachine`]. Times are in ns, sizes in bytes, rates in bytes a
//! second.

use disklab_config::controller::Controller;
use disklab_config::device::Model;
use disklab_config::host::HostTime;
use disklab_units::{Bytes, Seed};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A guest's disks and its seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestMachine {
    /// The build (`disklab_guest::BUILD`) of the program that wrote this.
    pub build: String,
    /// All randomness of the guest comes from here: the kernel's random numbers, the disks'
    /// starting angles.
    pub seed: Seed,
    /// In the order of `/dev/vda`, `/dev/vdb`, ...
    pub disks: Vec<MachineDisk>,
    /// The controller of the first disks, and their number.
    pub controller: Option<(Controller, usize)>,
    /// The time of the machine around them. The models' links are already limited by its link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostTime>,
    /// Write every request to [`names::REQUESTS`](crate::names::REQUESTS).
    pub trace: bool,
    /// Save what the disks would hold after power cuts.
    pub power_cuts: Option<PowerCutPlan>,
}

/// A disk of a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineDisk {
    /// The device's name in the lab, for the records.
    pub device: String,
    /// The size that the guest sees, a whole number of 4096-byte blocks.
    pub bytes: Bytes,
    /// The whole disk, of which that is the beginning: seeks go by it.
    pub size: Bytes,
    pub model: Model,
    /// The file with its data, relative to the trial's folder or absolute.
    pub image: String,
}

/// The power cuts of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerCutPlan {
    pub cuts: u32,
    /// Their moments are drawn from so many ns, which begin with the first phase, after its ramp.
    pub length_ns: u64,
    /// The disks answer flushes and do nothing.
    pub ignore_flushes: bool,
    /// The folder of all cuts' disks ([`cut_images`]), relative to the trial's folder or absolute.
    pub folder: PathBuf,
}

/// The folder of the disks of cut `number`, counted from 0.
pub fn cut_images(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("cut-{}", number + 1))
}

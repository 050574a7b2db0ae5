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
    /// The seed of all randomness of the guest: the kernel's random numbers, the disks' starting
    /// angles.
    pub seed: Seed,
    /// The disks, in the order of `/dev/vda`, `/dev/vdb`, ...
    pub disks: Vec<MachineDisk>,
    /// The controller of the first disks, and the number of these disks.
    pub controller: Option<(Controller, usize)>,
    /// Time that the host and its link add to requests. The models' links are already limited by
    /// its link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostTime>,
    /// Whether every request is written to [`names::REQUESTS`](crate::names::REQUESTS).
    pub trace: bool,
    /// The power cuts after which the contents of the disks are saved.
    pub power_cuts: Option<PowerCutPlan>,
}

/// A disk of a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineDisk {
    /// The device's name in the lab, for the records.
    pub device: String,
    /// Size of the disk that the guest sees, a whole number of 4096-byte blocks.
    pub bytes: Bytes,
    /// Size of the whole disk, of which the guest sees the beginning: seek times depend on it.
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
    /// Number of states that the disks could be in after each cut.
    pub states: u32,
    /// Length in ns of the window from which the cuts' moments are drawn. It begins with the first
    /// phase, after its ramp.
    pub length_ns: u64,
    /// Whether the disks answer flushes without writing anything.
    pub ignore_flushes: bool,
    /// The folder of the disks' contents after all cuts ([`cut_images`]), relative to the trial's
    /// folder or absolute.
    pub folder: PathBuf,
}

/// Returns the folder of the disks in state `number` of all cuts' states, counted from 0.
pub fn cut_images(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("cut-{}", number + 1))
}

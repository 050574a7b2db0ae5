//! The description of a guest's disks: what the one who starts the guest tells the library.

use crate::power_cut;
use disklab_config::controller::Controller;
use disklab_config::device::Model;
use disklab_units::{Bytes, Seed};
use serde::{Deserialize, Serialize};

/// A guest's disks and its seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// [`crate::BUILD`] of the program that wrote this.
    pub build: String,
    /// All randomness of the guest comes from here: the kernel's random numbers, the disks'
    /// starting angles.
    pub seed: Seed,
    /// In the order of `/dev/vda`, `/dev/vdb`, ...
    pub disks: Vec<MachineDisk>,
    /// What the first disks are behind, and how many.
    pub controller: Option<(Controller, usize)>,
    /// Write every request to [`disklab_protocol::names::REQUESTS`].
    pub trace: bool,
    /// What would be left if the power went.
    pub power_cuts: Option<power_cut::Wanted>,
}

/// One disk of a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineDisk {
    /// The device's name in the lab, for the records.
    pub device: String,
    /// What the guest sees of it, a whole number of 4096-byte blocks.
    pub bytes: Bytes,
    /// The whole disk, of which that is the beginning: seeks go by it.
    pub size: Bytes,
    pub model: Model,
    /// The file with its data, relative to the trial's folder or absolute.
    pub image: String,
}

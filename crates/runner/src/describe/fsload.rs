//! Threads that work on many files: the contents of their disks, and their work.

use disklab_config::Trial;
use disklab_config::fsload::Fsload;
use disklab_protocol::action::{BackgroundFsload, LayOutFsload};
use disklab_protocol::measure::Measured;
use disklab_units::{Bytes, Seed};

/// Returns the files to lay out. They are the same for every load.
pub fn laid_out(trial: &Trial) -> Option<LayOutFsload> {
    load(trial).map(|load| LayOutFsload { load: load.files_only() })
}

/// Returns the room that the files take on the host, which stores their contents.
pub fn room(trial: &Trial) -> Bytes {
    load(trial).map(Fsload::bytes).unwrap_or_default()
}

/// Returns the measured load, or the one beside the measured load. No trial has both.
pub fn load(trial: &Trial) -> Option<&Fsload> {
    trial.workload.file_load().or_else(|| trial.background.as_ref()?.fsload())
}

/// Returns the load that runs beside the measured one.
pub fn beside(trial: &Trial) -> Option<BackgroundFsload> {
    let load = trial.background.as_ref()?.fsload()?.clone();
    Some(BackgroundFsload { load, seed: trial.seed.derive("background fsload") })
}

pub fn measured(trial: &Trial, load: &Fsload) -> Measured {
    Measured::Fsload {
        load: load.clone(),
        seed: seed(trial),
        ramp: trial.ramp,
        length: trial.runtime,
        notes: trial.power_cut.is_some(),
    }
}

pub fn seed(trial: &Trial) -> Seed {
    trial.seed.derive("fsload")
}

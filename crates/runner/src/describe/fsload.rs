//! Threads that work on many files: what their disks hold, and what they do.

use disklab_config::Trial;
use disklab_config::fsload::Fsload;
use disklab_protocol::action::{BackgroundFsload, LayOutFsload};
use disklab_protocol::measure::Measured;
use disklab_units::{Bytes, Seed};

/// Files that are laid out: the same whatever works on them.
pub fn laid_out(trial: &Trial) -> Option<LayOutFsload> {
    load(trial).map(|load| LayOutFsload { load: load.files_only() })
}

/// Room that its files take on the host, which keeps their contents.
pub fn room(trial: &Trial) -> Bytes {
    load(trial).map(Fsload::bytes).unwrap_or_default()
}

/// The measured one, or the one beside it: no trial has both.
pub fn load(trial: &Trial) -> Option<&Fsload> {
    trial.workload.file_load().or_else(|| trial.background.as_ref()?.fsload())
}

/// The one that runs beside what is measured.
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

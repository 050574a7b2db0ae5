//! The machine of a trial: its disks, seed and power cuts.

use disklab_config::Trial;
use disklab_config::device::{Constant, Model};
use disklab_config::power_cut::Flushes;
use disklab_protocol::machine::{GuestMachine, MachineDisk, PowerCutPlan};
use disklab_units::{Bytes, Nanos, Seed};

/// Folder of the disks' data, in the folder of a trial.
pub const DISKS: &str = "disks";

/// Returns the machine of a trial, whose disks have their data in [`DISKS`]. Requests are traced if
/// `trace`.
pub fn machine(trial: &Trial, trace: bool) -> GuestMachine {
    let host = trial.array.host;
    let disks = trial.devices.iter().enumerate();
    let disks = disks.map(|(i, d)| MachineDisk {
        device: d.name.clone(),
        bytes: whole_blocks(d.used),
        size: d.bytes,
        model: host.map_or_else(|| d.model.clone(), |host| d.model.connected_to(&host)),
        image: format!("{DISKS}/{i}.img"),
    });
    GuestMachine {
        build: disklab_guest::BUILD.to_owned(),
        seed: trial.seed,
        disks: disks.collect(),
        controller: trial
            .array
            .controller
            .map(|controller| (controller, trial.array.devices.len())),
        host,
        trace,
        power_cuts: trial.power_cut.map(|cut| PowerCutPlan {
            cuts: cut.cuts,
            states: cut.states,
            length_ns: trial.runtime.0,
            ignore_flushes: cut.flushes == Flushes::Ignored,
            folder: DISKS.into(),
        }),
    }
}

/// Returns the machine with the fastest disks. Preparing takes the kernel's work, and almost no
/// virtual time.
pub fn preparing_machine(trial: &Trial) -> GuestMachine {
    let mut machine = machine(trial, false);
    machine.seed = Seed(0).derive("prepare");
    machine.controller = None;
    machine.host = None;
    machine.power_cuts = None;
    for disk in &mut machine.disks {
        disk.model = Model::Constant(Constant {
            latency: Nanos(1000),
            servers: 32,
            rotational: disk.model.rotational(),
            queue_depth: 32,
        });
    }
    machine
}

fn whole_blocks(bytes: Bytes) -> Bytes {
    Bytes(bytes.0 / 4096 * 4096)
}

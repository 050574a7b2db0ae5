//! Largest memory of the machine that a trial takes.

use disklab_config::workload::FioLoad;
use disklab_config::{Model, Trial};
use disklab_units::Bytes;

/// The guest kernel's process beside the guest's memory, with the disk library, and the processes
/// of the guest's programs.
const BESIDE: Bytes = Bytes::mib(96);
/// Size of the pieces of an SSD's map (crates/disks/src/ssd/map.rs), and the bytes that the map
/// uses for each written piece.
const PIECE: u64 = 4096;
const OF_A_PIECE: u64 = 5;

/// Returns the used memory of the guest, and of the processes beside it.
pub fn memory(trial: &Trial) -> Bytes {
    let map = |used: Bytes| Bytes(used.0 / PIECE * OF_A_PIECE);
    let ssds = trial.devices.iter().filter(|device| matches!(device.model, Model::Ssd(_)));
    let maps: Bytes =
        if writes(trial) { ssds.map(|device| map(device.used)).sum() } else { Bytes::ZERO };
    trial.memory.saturating_add(BESIDE).saturating_add(maps)
}

/// Returns true if anything but the filesystem itself may write.
fn writes(trial: &Trial) -> bool {
    let only_reads = trial.workload.fio().is_some_and(FioLoad::only_reads);
    !only_reads || trial.background.is_some() || trial.power_cut.is_some()
}

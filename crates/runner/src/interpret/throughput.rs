//! Throughput of the disks over one window for all jobs, for jobs with files of their own or with a
//! background. iostat reports this for the BFQ suite "S".

use crate::describe::fio::has_one_window;
use disklab_config::Trial;
use disklab_config::suite::metric::{READ, WRITTEN};
use disklab_protocol::closing::{Closing, DeviceCounts};
use disklab_protocol::mark::MEASURED_PHASE;
use disklab_results::measure::{Measure, Measures};

/// Returns the bytes per second that all disks together read and wrote in the measured phase. The
/// result is empty for other loads, whose fio reports it.
pub fn measures(trial: &Trial, closing: &Closing) -> Measures {
    let beside = trial.background.as_ref().and_then(|background| background.workload.as_ref());
    let is_told = beside.is_some() || has_one_window(trial);
    let Some(phase) = closing.phase(MEASURED_PHASE).filter(|_| is_told) else {
        return Measures::new();
    };
    let seconds = phase.length().as_secs_f64();
    let moved = |of: fn(&DeviceCounts) -> u64| {
        let bytes: u64 = phase.devices.iter().map(of).sum();
        Measure::rate(bytes as f64 / seconds, "bytes/s")
    };
    let jobs =
        || trial.workload.jobs().iter().chain(beside.iter().flat_map(|workload| workload.jobs()));
    let mut measures = Measures::new();
    if seconds > 0.0 && jobs().any(|job| job.rw.reads()) {
        measures.insert(READ.to_owned(), moved(|device| device.read_bytes));
    }
    if seconds > 0.0 && jobs().any(|job| job.rw.writes()) {
        measures.insert(WRITTEN.to_owned(), moved(|device| device.write_bytes));
    }
    measures
}

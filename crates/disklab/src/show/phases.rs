//! Prints a trial's phases: their times, and each disk's share.

use disklab_compare::answer;
use disklab_config::suite::metric::BANDWIDTH;
use disklab_protocol::closing::{Closing, DeviceCounts};
use disklab_protocol::step::{PhaseEnd, Step};
use disklab_record::Outcome;
use disklab_units::Nanos;
use itertools::Itertools;

use crate::table::TextTable;
use crate::words::or_dash;

/// Returns a row for each phase that began, or none if the workload has no phases. Shares are in
/// per cent, for all disks in their order.
pub fn table(
    steps: &[Step],
    outcome: &Outcome,
    closing: Option<&Closing>,
    color: bool,
) -> TextTable {
    let heads = "phase|>time|>bandwidth|reads of each disk, %|writes of each disk, %|>seeks";
    let mut table = TextTable::with_heads(heads, color);
    for step in steps {
        let Step::Phase { went: PhaseEnd { phase, took_ns, timed_out }, .. } = step else {
            continue;
        };
        let bandwidth = outcome.measures.get(&format!("{phase} {BANDWIDTH}"));
        let disks = closing
            .and_then(|closing| closing.phase(phase))
            .map_or(&[][..], |phase| &phase.devices);
        let seeks: u64 = disks.iter().filter_map(|disk| disk.apart).fold(0, u64::saturating_add);
        let more = if *timed_out { "> " } else { "" };
        table.row([
            phase.clone(),
            format!("{more}{}", Nanos(*took_ns)),
            or_dash(bandwidth.map(|measure| answer::value(measure.value, &measure.unit))),
            shares(disks, |disk| disk.read_bytes),
            shares(disks, |disk| disk.write_bytes),
            // No numbers exist for disks without a request.
            or_dash((!disks.is_empty()).then_some(seeks)),
        ]);
    }
    table
}

/// Formats each disk's share in per cent, as in `50 0 50 0`.
fn shares(disks: &[DeviceCounts], of: fn(&DeviceCounts) -> u64) -> String {
    let all: u64 = disks.iter().map(of).fold(0, u64::saturating_add);
    if all == 0 {
        return "-".to_owned();
    }
    let share = |disk: &DeviceCounts| format!("{:.0}", of(disk) as f64 * 100.0 / all as f64);
    disks.iter().map(share).join(" ")
}

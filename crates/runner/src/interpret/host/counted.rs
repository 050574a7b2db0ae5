//! Computes phases from the kernel's own counts of each disk, if there is no trace. Numbers that
//! the counts lack are left out.

use disklab_block_devices::watch::WatchAccount;
use disklab_block_devices::watch::mark::ObservedMark;
use disklab_block_devices::watch::place::WatchedDisk;
use disklab_block_devices::watch::stat::Stat;
use disklab_protocol::Mark;
use disklab_protocol::closing::{DeviceCounts, PhaseCounts};
use disklab_units::Nanos;

const MS: u64 = 1_000_000;

/// Returns the phases that began and ended. Requests that carry only a flush count as writes too.
pub fn phases(watched: &WatchAccount, marks: &[ObservedMark]) -> Vec<PhaseCounts> {
    spans(marks).into_iter().map(|(name, begun, end)| phase(watched, name, begun, end)).collect()
}

/// Returns the names of phases, and the marks of their begin and end.
pub fn spans(marks: &[ObservedMark]) -> Vec<(&str, &ObservedMark, &ObservedMark)> {
    let (mut spans, mut name, mut begun) = (Vec::new(), None, None);
    for observed in marks {
        match &observed.mark {
            Mark::Begin { phase, .. } => (name, begun) = (Some(phase.as_str()), None),
            Mark::Begun => begun = Some(observed),
            Mark::End => {
                let span = name.take().zip(begun.take());
                spans.extend(span.map(|(name, begun)| (name, begun, observed)));
            }
            Mark::Fsynced(_) | Mark::Promised(_) | Mark::Note(_) => {}
        }
    }
    spans
}

fn phase(
    watched: &WatchAccount,
    name: &str,
    begun: &ObservedMark,
    end: &ObservedMark,
) -> PhaseCounts {
    // The phase begins with the first request and the ramp after it, and ends at its mark.
    let [from, end_at] =
        [begun, end].map(|mark| Nanos(mark.at_ns.saturating_sub(watched.began_ns)));
    let counts = end.disks.iter().zip(&begun.disks).map(|(end, begun)| end.since(begun));
    let device = |(disk, counts): (&WatchedDisk, Stat)| {
        let queue = Nanos(counts.queue_ms.saturating_mul(MS));
        // The kernel counts busy time in ticks of its timer.
        let busy = counts.busy_ms.saturating_mul(MS).min(end_at.0.saturating_sub(from.0));
        DeviceCounts {
            name: disk.name.clone(),
            reads: counts.reads,
            writes: counts.writes,
            flushes: counts.flushes,
            discards: counts.discards,
            read_bytes: counts.read_sectors.saturating_mul(512),
            write_bytes: counts.write_sectors.saturating_mul(512),
            busy: Nanos(busy),
            wait: queue,
            depth: Some(queue),
            ..DeviceCounts::default()
        }
    };
    PhaseCounts {
        name: name.to_owned(),
        begin: from,
        end: end_at,
        devices: watched.disks.iter().zip(counts).map(device).collect(),
        ..PhaseCounts::default()
    }
}

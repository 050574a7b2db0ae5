//! Phases from the kernel's own counts of each disk, where there is no trace: what they do not tell
//! is left out.

use disklab_block_devices::watch::Account;
use disklab_block_devices::watch::mark::{BEGUN, Mark};
use disklab_block_devices::watch::place::Watched;
use disklab_block_devices::watch::stat::Stat;
use serde::Serialize;

const MS: u64 = 1_000_000;

#[derive(Debug, Serialize)]
pub struct Phase<'a> {
    name: &'a str,
    /// When the first request was seen, and the ramp after it; the end is when it was said.
    begin_ns: u64,
    end_ns: u64,
    devices: Vec<Device<'a>>,
}

/// As [`disklab_guest::meter::DeviceCounts`], of which it has what the kernel counts. Requests that
/// carry nothing but a flush are writes, too.
#[derive(Debug, Serialize)]
struct Device<'a> {
    name: &'a str,
    reads: u64,
    writes: u64,
    flushes: u64,
    discards: u64,
    read_bytes: u64,
    write_bytes: u64,
    busy_ns: u64,
    wait_ns: u64,
    depth_ns: u64,
}

/// Those that began and ended.
pub fn phases<'a>(watched: &'a Account, marks: &'a [Mark]) -> Vec<Phase<'a>> {
    spans(marks).into_iter().map(|(name, begun, end)| phase(watched, name, begun, end)).collect()
}

/// Their names, and the marks of their begin and their end.
pub fn spans(marks: &[Mark]) -> Vec<(&str, &Mark, &Mark)> {
    let (mut spans, mut name, mut begun) = (Vec::new(), None, None);
    for mark in marks {
        match mark.text.split_whitespace().collect::<Vec<_>>()[..] {
            ["begin", announced, _] => (name, begun) = (Some(announced), None),
            [BEGUN] => begun = Some(mark),
            ["end"] => {
                spans.extend(name.take().zip(begun.take()).map(|(name, begun)| (name, begun, mark)))
            }
            _ => {}
        }
    }
    spans
}

fn phase<'a>(watched: &'a Account, name: &'a str, begun: &Mark, end: &Mark) -> Phase<'a> {
    let [begin_ns, end_ns] = [begun, end].map(|mark| mark.at_ns.saturating_sub(watched.began_ns));
    let counts = end.disks.iter().zip(&begun.disks).map(|(end, begun)| end.since(begun));
    let device = |(disk, counts): (&'a Watched, Stat)| {
        let queue_ns = counts.queue_ms.saturating_mul(MS);
        Device {
            name: &disk.name,
            reads: counts.reads,
            writes: counts.writes,
            flushes: counts.flushes,
            discards: counts.discards,
            read_bytes: counts.read_sectors.saturating_mul(512),
            write_bytes: counts.write_sectors.saturating_mul(512),
            // It is counted in ticks of the kernel's timer.
            busy_ns: counts.busy_ms.saturating_mul(MS).min(end_ns.saturating_sub(begin_ns)),
            wait_ns: queue_ns,
            depth_ns: queue_ns,
        }
    };
    Phase {
        name,
        begin_ns,
        end_ns,
        devices: watched.disks.iter().zip(counts).map(device).collect(),
    }
}

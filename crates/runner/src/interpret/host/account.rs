//! Writes the account of this machine's disks in a trial, in the form of a guest's: the closing
//! record and, if requests were traced, the trace.

use super::{counted, disturbance, traced};
use disklab_block_devices::watch::mark::{self, ObservedMark};
use disklab_block_devices::watch::stat::Stat;
use disklab_block_devices::watch::{WatchAccount, WatchTrace, file_name};
use disklab_protocol::closing::PhaseCounts;
use disklab_protocol::{Closing, names};
use disklab_results::Remark;
use disklab_units::Nanos;
use std::fs;
use std::path::Path;

/// Number of requests by which a trace and the kernel's counts of a disk may differ: requests that
/// ended while the watch began or ended.
const BETWEEN: u64 = 16;
/// Share by which they may also differ, as 1/PART: the counts of several processors are not read at
/// the same moment.
const PART: u64 = 100;

/// Writes the account of a trial whose watch has ended
/// ([`disklab_block_devices::watch::Watch::end`]): [`names::CLOSING`] and, if all requests were
/// traced, [`names::REQUESTS`]. `devices` are the lab's names of the disks. The remarks say why a
/// requested trace is missing, and whether others used the same disks. The error says why there is
/// no account at all.
///
/// If `only_reads`, all writes in the trial's phases come from others. If `reads_itself`, all its
/// reads come from its own programs, and none from kernel threads.
pub fn write(
    folder: &Path,
    devices: &[&str],
    only_reads: bool,
    reads_itself: bool,
) -> Result<Vec<Remark>, String> {
    let watched = WatchAccount::read(folder).map_err(|error| error.to_string())?;
    let marks = mark::read(folder).map_err(|error| error.to_string())?;
    let mut remarks = disturbance::beside(&watched);
    if only_reads {
        remarks.extend(disturbance::wrote(&watched, &marks));
    }
    if reads_itself {
        remarks.extend(disturbance::read(&marks));
    }
    match requests(folder, &watched, &marks) {
        Ok(Some(traced)) => {
            let traced::Traced { phases, requests, sha256, .. } = traced;
            close(folder, &watched, devices, phases, requests, Some(sha256))?;
            return Ok(remarks);
        }
        Ok(None) => {}
        Err(remark) => remarks.push(remark),
    }
    let phases = counted::phases(&watched, &marks);
    let requests = done(&watched).map(|stat| stat.requests()).sum();
    close(folder, &watched, devices, phases, requests, None)?;
    Ok(remarks)
}

/// Writes the trace, if requests were traced and all of them are in it.
fn requests(
    folder: &Path,
    watched: &WatchAccount,
    marks: &[ObservedMark],
) -> Result<Option<traced::Traced>, Remark> {
    let (layout, cpus, lost) = match &watched.trace {
        WatchTrace::None => return Ok(None),
        WatchTrace::Failed(why) => return Err(Remark::NoTrace { why: why.clone() }),
        WatchTrace::Files { layout, cpus, lost } => (layout, cpus, *lost),
    };
    let read = traced::read(folder, watched, marks, layout, cpus);
    let wrong = match &read {
        Err(why) => Some(Remark::NoTrace { why: why.clone() }),
        Ok(_) if lost > 0 => Some(Remark::TraceLost { events: lost }),
        Ok(traced) => unlike(watched, &traced.ended),
    };
    if read.is_ok() {
        // The pages are large, and everything useful in them is in the trace. Unreadable pages are
        // kept.
        for cpu in cpus {
            let _ = fs::remove_file(folder.join(file_name(*cpu)));
        }
    }
    if let Some(remark) = wrong {
        let _ = fs::remove_file(folder.join(names::REQUESTS));
        return Err(remark);
    }
    Ok(read.ok())
}

/// Returns the kernel's counts of each disk while it was watched.
fn done(watched: &WatchAccount) -> impl Iterator<Item = Stat> {
    watched.after.iter().zip(&watched.before).map(|(after, before)| after.since(before))
}

/// Returns a remark on a disk whose counts differ from its trace. The requests of some disks cannot
/// be traced, such as those of device-mapper.
fn unlike(watched: &WatchAccount, ended: &[Stat]) -> Option<Remark> {
    let stats = watched.disks.iter().zip(done(watched)).zip(ended);
    let mut unlike = stats.filter_map(|((disk, counted), traced)| {
        let under_way = BETWEEN + counted.in_flight;
        let each = counted.write_sectors.checked_div(counted.writes).unwrap_or(0);
        let differ = |one: u64, other: u64, least: u64| one.abs_diff(other) > least + one / PART;
        // The kernel's count of writes includes writes without data.
        let is_unlike = differ(counted.reads, traced.reads, under_way)
            || differ(counted.write_sectors, traced.write_sectors, under_way.saturating_mul(each));
        is_unlike.then(|| Remark::TraceUnlike {
            device: disk.name.clone(),
            traced_bytes: traced.bytes(),
            counted_bytes: counted.bytes(),
        })
    });
    unlike.next()
}

fn close(
    folder: &Path,
    watched: &WatchAccount,
    devices: &[&str],
    phases: Vec<PhaseCounts>,
    requests: u64,
    trace_sha256: Option<String>,
) -> Result<(), String> {
    let record = Closing {
        virtual_ns: Nanos(watched.ended_ns.saturating_sub(watched.began_ns)),
        requests,
        devices: devices.iter().map(|&device| device.to_owned()).collect(),
        phases,
        trace_sha256,
        power_cuts: Vec::new(),
    };
    record.write(folder, None).map_err(|error| {
        let path = folder.join(names::CLOSING);
        format!("cannot write the disks' closing record, {}: {error}", path.display())
    })
}

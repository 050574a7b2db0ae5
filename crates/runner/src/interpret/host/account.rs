//! The account of what this machine's disks did in a trial, in the form in which a guest's disks
//! leave theirs: the closing record and, where requests were traced, the trace.

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

/// A trace and the kernel's own counts of a disk may differ by so many requests: those that ended
/// while the watch began or ended.
const BETWEEN: u64 = 16;
/// And by one part in so many: counts of several processors are not read at one moment.
const PART: u64 = 100;

/// Of a trial whose watch has ended ([`disklab_block_devices::watch::Watch::end`]): writes
/// [`names::CLOSING`] and, where the requests were traced and none is missing, [`names::REQUESTS`].
/// `devices` are the lab's names of the disks. The remarks say why there is no trace that was asked
/// for, and whether others used the same disks; the error, why there is no account at all.
///
/// `only_reads`: whatever is written in its phases, others wrote. `reads_itself`: what is read for
/// it, its programs read, and no thread of the kernel's.
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

/// The trace, if requests were traced and all of them are in it.
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
        // They are large, and all that is in them is in the trace or of no use. Those that cannot
        // be read are kept.
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

/// Counts of each disk while it was watched, as the kernel has them.
fn done(watched: &WatchAccount) -> impl Iterator<Item = Stat> {
    watched.after.iter().zip(&watched.before).map(|(after, before)| after.since(before))
}

/// A disk of which the kernel counted other requests than were traced: some disks have no requests
/// that can be traced, such as those of device-mapper.
fn unlike(watched: &WatchAccount, ended: &[Stat]) -> Option<Remark> {
    let stats = watched.disks.iter().zip(done(watched)).zip(ended);
    let mut unlike = stats.filter_map(|((disk, counted), traced)| {
        let under_way = BETWEEN + counted.in_flight;
        let each = counted.write_sectors.checked_div(counted.writes).unwrap_or(0);
        let differ = |one: u64, other: u64, least: u64| one.abs_diff(other) > least + one / PART;
        // Of writes the kernel counts those without data, too.
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
    record
        .write(folder, None)
        .map_err(|error| format!("{}: {error}", folder.join(names::CLOSING).display()))
}

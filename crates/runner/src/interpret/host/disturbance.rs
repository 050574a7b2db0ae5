//! Detects that others used the disks of a trial.

use super::counted;
use disklab_block_devices::environment::Activity;
use disklab_block_devices::watch::WatchAccount;
use disklab_block_devices::watch::mark::ObservedMark;
use disklab_block_devices::watch::stat::Stat;
use disklab_results::Remark;
use disklab_results::remark::Others;
use disklab_units::Nanos;

/// Returns remarks on requests in the idle time before a trial.
pub fn at_rest(activity: &[Activity]) -> Vec<Remark> {
    let disturbing = activity.iter().filter(|activity| activity.disturbs());
    disturbing.map(|activity| disturbed(activity, Others::Before)).collect()
}

fn disturbed(activity: &Activity, others: Others) -> Remark {
    Remark::Disturbed {
        device: activity.name.clone(),
        requests: activity.requests,
        bytes: activity.bytes,
        within: activity.within,
        others,
    }
}

/// Returns remarks on requests to other partitions of the same disk during the trial.
pub fn beside(watched: &WatchAccount) -> Vec<Remark> {
    let within = Nanos(watched.ended_ns.saturating_sub(watched.began_ns));
    let each = watched.disks.iter().zip(&watched.beside).filter(|(disk, _)| disk.is_part());
    at_rest(&each.map(|(disk, done)| Activity::new(&disk.disk, within, done)).collect::<Vec<_>>())
}

/// Share of the disks' reads, as a divisor, that may belong to no process; and bytes that may in
/// any case.
const NOBODYS_PART: u64 = 10;
const NOBODYS: u64 = 16 << 20;

/// Returns remarks on reads by others while a trial was measured: reads beyond those of its own
/// processes. Kernel threads read a little for the trial. If the kernel itself works beside the
/// trial, there are no remarks.
pub fn read(marks: &[ObservedMark]) -> Vec<Remark> {
    let in_phase = |(_, begun, end): (&str, &ObservedMark, &ObservedMark)| {
        let own = end.own_read?.saturating_sub(begun.own_read?);
        let done: Vec<Stat> =
            end.disks.iter().zip(&begun.disks).map(|(end, begun)| end.since(begun)).collect();
        let bytes = |pick: fn(&Stat) -> u64| done.iter().map(pick).sum::<u64>().saturating_mul(512);
        let (read, written) = (bytes(|stat| stat.read_sectors), bytes(|stat| stat.write_sectors));
        // For a write, the kernel reads too: trees that change, and pages that are written in part.
        let known = own.saturating_add((own.max(written) / NOBODYS_PART).max(NOBODYS));
        (read > known.saturating_add(written))
            .then_some(Remark::OthersRead { own_bytes: own, disks_bytes: read })
    };
    counted::spans(marks).into_iter().filter_map(in_phase).collect()
}

/// A mounted filesystem writes a line of its journal now and then.
const FEW: u64 = 16;

/// Returns remarks on writes by others, for a trial that does not write, to disks of a filesystem
/// that others use too.
pub fn wrote(watched: &WatchAccount, marks: &[ObservedMark]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (_, begun, end) in counted::spans(marks) {
        let within = Nanos(end.at_ns.saturating_sub(begun.at_ns));
        for (disk, (end, begun)) in watched.disks.iter().zip(end.disks.iter().zip(&begun.disks)) {
            let Stat { writes, write_sectors, .. } = end.since(begun);
            let done = Stat { writes, write_sectors, ..Stat::default() };
            let activity = Activity::new(&disk.name, within, &done);
            if activity.disturbs() && activity.requests > FEW {
                remarks.push(disturbed(&activity, Others::Wrote));
            }
        }
    }
    remarks
}

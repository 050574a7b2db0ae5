//! Others on the disks of a trial.

use super::counted;
use disklab_collect::Remark;
use disklab_collect::remark::Others;
use disklab_host::environment::Activity;
use disklab_host::watch::Account;
use disklab_host::watch::mark::Mark;
use disklab_host::watch::stat::Stat;
use disklab_units::Nanos;

/// What a time of rest before a trial says of it.
pub fn at_rest(activity: &[Activity]) -> Vec<Remark> {
    let disturbing = activity.iter().filter(|activity| activity.disturbs());
    disturbing
        .map(|activity| Remark::Disturbed {
            device: activity.name.clone(),
            requests: activity.requests,
            bytes: activity.bytes,
            within: activity.within,
            others: Others::Before,
        })
        .collect()
}

/// What happened during it beside a partition, on the same disk.
pub fn beside(watched: &Account) -> Vec<Remark> {
    let within = Nanos(watched.ended_ns.saturating_sub(watched.began_ns));
    let each = watched.disks.iter().zip(&watched.beside).filter(|(disk, _)| disk.is_part());
    at_rest(&each.map(|(disk, done)| Activity::new(&disk.disk, within, done)).collect::<Vec<_>>())
}

/// A filesystem that is there writes a line of its journal now and then.
const FEW: u64 = 16;

/// What others wrote to disks of a filesystem that they use, too, while a trial was measured that does not write.
pub fn wrote(watched: &Account, marks: &[Mark]) -> Vec<Remark> {
    let of_phase = |(begun, end): (&Mark, &Mark)| {
        let within = Nanos(end.at_ns.saturating_sub(begun.at_ns));
        let each = watched.disks.iter().zip(end.disks.iter().zip(&begun.disks));
        let wrote = each.filter_map(|(disk, (end, begun))| {
            let done = end.since(begun);
            let writes = Stat { writes: done.writes, write_sectors: done.write_sectors, ..Stat::default() };
            let activity = Activity::new(&disk.name, within, &writes);
            (activity.disturbs() && activity.requests > FEW).then(|| Remark::Disturbed {
                device: disk.name.clone(),
                requests: activity.requests,
                bytes: activity.bytes,
                within,
                others: Others::Wrote,
            })
        });
        wrote.collect::<Vec<_>>()
    };
    counted::spans(marks).into_iter().map(|(_, begun, end)| (begun, end)).flat_map(of_phase).collect()
}

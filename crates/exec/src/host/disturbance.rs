//! Others on the disks of a trial.

use disklab_collect::Remark;
use disklab_host::environment::Activity;
use disklab_host::watch::Account;
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
        })
        .collect()
}

/// What happened during it beside a partition, on the same disk.
pub fn beside(watched: &Account) -> Vec<Remark> {
    let within = Nanos(watched.ended_ns.saturating_sub(watched.began_ns));
    let each = watched.disks.iter().zip(&watched.beside).filter(|(disk, _)| disk.is_part());
    at_rest(&each.map(|(disk, done)| Activity::new(&disk.disk, within, done)).collect::<Vec<_>>())
}

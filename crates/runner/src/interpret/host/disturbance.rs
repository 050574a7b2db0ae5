//! Others on the disks of a trial.

use super::counted;
use disklab_block_devices::environment::Activity;
use disklab_block_devices::watch::WatchAccount;
use disklab_block_devices::watch::mark::ObservedMark;
use disklab_block_devices::watch::stat::Stat;
use disklab_results::Remark;
use disklab_results::remark::Others;
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
pub fn beside(watched: &WatchAccount) -> Vec<Remark> {
    let within = Nanos(watched.ended_ns.saturating_sub(watched.began_ns));
    let each = watched.disks.iter().zip(&watched.beside).filter(|(disk, _)| disk.is_part());
    at_rest(&each.map(|(disk, done)| Activity::new(&disk.disk, within, done)).collect::<Vec<_>>())
}

/// Of what the disks read, one part in so many may be nobody's; and so many bytes in any case.
const NOBODYS_PART: u64 = 10;
const NOBODYS: u64 = 16 << 20;

/// What others read while a trial was measured: more than its own processes have. Kernel threads
/// read a little for them; so that where the kernel itself is at work beside it, this tells
/// nothing.
pub fn read(marks: &[ObservedMark]) -> Vec<Remark> {
    let of_phase = |(begun, end): (&ObservedMark, &ObservedMark)| {
        let own = end.own_read?.saturating_sub(begun.own_read?);
        let done: Vec<Stat> =
            end.disks.iter().zip(&begun.disks).map(|(end, begun)| end.since(begun)).collect();
        let bytes = |pick: fn(&Stat) -> u64| done.iter().map(pick).sum::<u64>().saturating_mul(512);
        let (read, written) = (bytes(|stat| stat.read_sectors), bytes(|stat| stat.write_sectors));
        // Who writes has the kernel read, too: trees that change, pages that are written in part.
        let known = own.saturating_add((own.max(written) / NOBODYS_PART).max(NOBODYS));
        (read > known.saturating_add(written))
            .then_some(Remark::OthersRead { own_bytes: own, disks_bytes: read })
    };
    counted::spans(marks).into_iter().filter_map(|(_, begun, end)| of_phase((begun, end))).collect()
}

/// A filesystem that is there writes a line of its journal now and then.
const FEW: u64 = 16;

/// What others wrote to disks of a filesystem that they use, too, while a trial was measured that
/// does not write.
pub fn wrote(watched: &WatchAccount, marks: &[ObservedMark]) -> Vec<Remark> {
    let of_phase = |(begun, end): (&ObservedMark, &ObservedMark)| {
        let within = Nanos(end.at_ns.saturating_sub(begun.at_ns));
        let each = watched.disks.iter().zip(end.disks.iter().zip(&begun.disks));
        let wrote = each.filter_map(|(disk, (end, begun))| {
            let done = end.since(begun);
            let writes =
                Stat { writes: done.writes, write_sectors: done.write_sectors, ..Stat::default() };
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
    counted::spans(marks)
        .into_iter()
        .map(|(_, begun, end)| (begun, end))
        .flat_map(of_phase)
        .collect()
}

//! Checks if the I/O scheduler and the read policy had any choice in a trial, by the counts of its
//! disks. If that is unknown, there is no remark.

use disklab_config::workload::FioLoad;
use disklab_config::{Layout, Scheduler, Trial};
use disklab_protocol::closing::{Closing, PhaseCounts};
use disklab_protocol::mark::MEASURED_PHASE;
use disklab_results::Remark;
use disklab_results::remark::NoMirrors;
use disklab_units::Bytes;

/// Largest direct reads that the kernel does not split.
const WHOLE: Bytes = Bytes::kib(128);

/// Returns remarks on schedulers and policies that had no choice while the trial measured.
pub fn remarks(trial: &Trial, closing: &Closing) -> Vec<Remark> {
    let Some(phase) = closing.phase(MEASURED_PHASE) else { return Vec::new() };
    scheduler(trial, phase).into_iter().chain(policy(trial, phase)).collect()
}

/// Checks the scheduler of a load of direct reads with nothing beside it.
///
/// A load with one request in flight gives a scheduler no choice, if its requests are not split.
/// With more, `none` and `mq-deadline` pass each request on as long as the disk accepts more. `bfq`
/// and `kyber` may hold requests back from an idle disk, which its counts do not show.
fn scheduler(trial: &Trial, phase: &PhaseCounts) -> Option<Remark> {
    let load = trial.workload.fio().filter(|load| only_reads_directly(load))?;
    if !load.sections.is_empty() {
        return None;
    }
    if trial.background.is_some() || trial.array.cache.is_some() || trial.power_cut.is_some() {
        return None;
    }
    let counted: Option<Vec<u32>> = phase.devices.iter().map(|device| device.most).collect();
    let most = counted?.into_iter().max().filter(|most| *most > 0)?;
    let tags = trial.devices.iter().map(|device| device.model.queue_depth()).min()?;
    let one_by_one = load.depth() == 1 && most == 1;
    let passes_on = matches!(trial.scheduler.scheduler, Scheduler::None | Scheduler::MqDeadline)
        && load.jobs.iter().all(|job| job.bs <= WHOLE)
        && most < tags;
    (one_by_one || passes_on).then_some(Remark::NothingToSchedule { most, tags })
}

fn only_reads_directly(load: &FioLoad) -> bool {
    load.is_direct() && load.jobs.iter().all(|job| job.rw.reads() && !job.rw.writes())
}

/// Checks the read policy of a btrfs.
fn policy(trial: &Trial, phase: &PhaseCounts) -> Option<Remark> {
    let Layout::Btrfs(profiles) = trial.array.layout else { return None };
    let copies = |profile| Layout::btrfs(profile).copies(trial.array.devices.len());
    let reads: u64 = phase.devices.iter().map(|device| device.reads).sum();
    let why = if copies(profiles.data).max(copies(profiles.metadata)) == 1 {
        NoMirrors::OneCopy
    } else if reads == 0 && !phase.devices.is_empty() {
        NoMirrors::NoReads
    } else {
        return None;
    };
    Some(Remark::NoMirrorToChoose { why })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use disklab_config::Lab;
    use disklab_protocol::closing::DeviceCounts;
    use disklab_units::Nanos;

    use super::*;

    /// Returns the remarks on the first trial of read-policy-quick with these settings, whose disks
    /// had at most this many requests at once.
    fn found(settings: &[(&str, &str)], most: Option<u32>, reads: u64) -> Vec<Remark> {
        found_in(None, settings, most, reads)
    }

    /// Returns the same remarks for the layout of another array.
    fn found_in(
        layout: Option<&str>,
        settings: &[(&str, &str)],
        most: Option<u32>,
        reads: u64,
    ) -> Vec<Remark> {
        let lab = Lab::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab"))).unwrap();
        let mut suite = lab.suite("read-policy-quick").unwrap();
        for (axis, values) in settings {
            suite.set(axis, values).unwrap();
        }
        let mut trial = suite.trials(&lab).unwrap().swap_remove(0);
        if let Some(name) = layout {
            trial.array.layout = lab.arrays[name].layout;
        }
        let device = DeviceCounts { most, reads, ..DeviceCounts::default() };
        let devices = trial.devices.iter().map(|_| device.clone()).collect();
        let name = MEASURED_PHASE.to_owned();
        let closing = Closing {
            virtual_ns: Nanos(1),
            requests: reads,
            devices: Vec::new(),
            phases: vec![PhaseCounts { name, devices, ..PhaseCounts::default() }],
            trace_sha256: None,
            power_cuts: Vec::new(),
        };
        remarks(&trial, &closing)
    }

    const ONE: (&str, &str) = ("workload", "randread-4k-qd1");
    const DEEP: (&str, &str) = ("workload", "randread-4k-qd32");
    const LARGE: (&str, &str) = ("workload", "seqread-1m-qd16");
    const DISKS: (&str, &str) = ("array", "hdd-raid1");

    #[test]
    fn a_scheduler_had_no_choice_where_no_request_waited_for_a_place() {
        let nothing = |most| vec![Remark::NothingToSchedule { most, tags: 32 }];
        for scheduler in ["none", "mq-deadline", "bfq", "kyber"] {
            let set = [DISKS, ONE, ("scheduler", scheduler)];
            assert_eq!(found(&set, Some(1), 9), nothing(1), "{scheduler}");
        }
        assert_eq!(found(&[DISKS, DEEP, ("scheduler", "none")], Some(24), 9), nothing(24));
        for (why, set, most) in [
            ("the disk was full", &[DISKS, DEEP][..], Some(32)),
            (
                "a disk without a queue was full",
                &[DISKS, DEEP, ("device.queue_depth", "1")],
                Some(1),
            ),
            ("a scheduler may hold back", &[DISKS, DEEP, ("scheduler", "bfq")], Some(1)),
            ("requests are split", &[DISKS, LARGE], Some(16)),
            ("not counted", &[DISKS, ONE], None),
            ("nothing came to the disks", &[DISKS, ONE], Some(0)),
            ("something beside it", &[DISKS, ONE, ("background", "scrub")], Some(1)),
            ("it writes", &[DISKS, ("workload", "randrw-4k-qd1-70-30")], Some(1)),
            ("one request of fio's is several", &[DISKS, ONE, ("scheduler", "bfq")], Some(2)),
        ] {
            assert_eq!(found(set, most, 9), [], "{why}");
        }
    }

    #[test]
    fn a_policy_had_no_choice_where_there_is_one_copy_or_no_read() {
        let no_mirror = |why| vec![Remark::NoMirrorToChoose { why }];
        // A suite with policies refuses arrays without mirrors.
        let policy = |layout, reads| found_in(Some(layout), &[DISKS, DEEP], Some(32), reads);
        assert_eq!(policy("sata-4-raid0", 9), no_mirror(NoMirrors::OneCopy));
        assert_eq!(policy("hdd-raid1", 0), no_mirror(NoMirrors::NoReads));
        assert_eq!(policy("hdd-raid1", 9), []);
        // The metadata have two copies.
        assert_eq!(policy("sas-4-raid0-metadata-raid1", 9), []);
    }
}

//! Tests the observation of real disks: loop devices that the tests make, as root, and real fio.
//! Elsewhere they print `skipped`.

mod place;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use disklab_block_devices::environment::{Environment, rest};
use disklab_block_devices::watch::{self, Error, Watch, WatchTrace, file_name, remove_instance};
use disklab_disks::Op;
use disklab_protocol::closing::{self, Closing, DeviceCounts};
use disklab_protocol::{Mark, names};
use disklab_results::Remark;
use disklab_runner::{account, disturbance};
use disklab_trace::{Served, TraceEntry, find, open, pack};
use place::{Mounted, TestDisk, fio, has, instance, loops};

/// Watches `disks` while `load` runs in a phase `measure`, and returns the account.
fn watched(
    disks: &[TestDisk],
    traced: bool,
    folder: &Path,
    load: impl FnOnce(),
) -> (Closing, Vec<Remark>) {
    let name = instance();
    let all: Vec<_> = disks.iter().map(|disk| disk.disk.clone()).collect();
    let watch = Watch::start(folder, &all, traced.then_some(name.as_str())).unwrap();
    watch.mark(Mark::begin("measure", 0)).unwrap();
    load();
    watch.mark(Mark::End).unwrap();
    watch.end().unwrap();
    account_of(disks, folder)
}

fn account_of(disks: &[TestDisk], folder: &Path) -> (Closing, Vec<Remark>) {
    let devices: Vec<String> = (0..disks.len()).map(|i| format!("disk-{i}")).collect();
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let remarks = account::write(folder, &devices, false, false).unwrap();
    let closing = closing::parse(&fs::read(folder.join("disks.json")).unwrap()).unwrap();
    assert_eq!(closing.devices, devices);
    (closing, remarks)
}

fn measured(closing: &Closing) -> &[DeviceCounts] {
    &closing.phase("measure").expect("the phase").devices
}

/// Returns the requests of a trace in order, and asserts that no time in it goes backwards.
fn requests(folder: &Path) -> Vec<Served> {
    pack(folder).unwrap();
    let mut last = 0;
    let entries = open(&find(folder).expect("a trace")).unwrap().map(Result::unwrap);
    let served = entries.filter_map(|entry| match entry {
        TraceEntry::Mark { at, .. } => {
            assert!(at >= last);
            last = at;
            None
        }
        TraceEntry::Served(served) => {
            assert!(served.submitted <= served.started && served.started <= served.ended);
            assert!(served.ended >= last, "{} after {last}", served.ended);
            last = served.ended;
            Some(served)
        }
    });
    served.collect()
}

#[test]
fn random_reads_are_as_many_as_fio_and_the_kernel_count() {
    let Some(disks) = loops(1, 64) else { return };
    let folder = tempfile::tempdir().unwrap();
    let before = disks[0].stat();
    let mut report = serde_json::Value::Null;
    let (closing, remarks) = watched(&disks, true, folder.path(), || {
        report =
            fio(&disks[0].path, &["--rw=randread", "--bs=4k", "--iodepth=8", "--number_ios=2000"]);
    });
    assert_eq!(remarks, []);
    let [device] = measured(&closing) else { panic!("one disk") };
    let counted = disks[0].stat().since(&before);
    assert_eq!(report["jobs"][0]["read"]["total_ios"], 2000);
    assert_eq!((device.reads, device.read_bytes, device.writes), (2000, 2000 * 4096, 0));
    assert_eq!((counted.reads, counted.read_sectors), (2000, 2000 * 8));
    assert_eq!((device.name.as_str(), closing.requests), (disks[0].disk.name.as_str(), 2000));
    assert!(
        device.service.is_some()
            && device.followers >= Some(1999)
            && device.not_sequential() > Some(0.9)
    );
    let phase = closing.phase("measure").unwrap();
    let depth = device.mean_depth(phase).unwrap();
    assert!(depth > 0.5 && depth <= 8.0, "{depth}");
    assert!(device.busy > disklab_units::Nanos(0) && device.busy <= phase.length());
    let requests = requests(folder.path());
    assert_eq!(requests.len(), 2000);
    assert!(requests.iter().all(|request| request.op == Op::Read
        && request.sectors == 8
        && request.sector < 64 << 11));
    let places: std::collections::BTreeSet<u64> =
        requests.iter().map(|request| request.sector).collect();
    assert!(places.len() > 1500, "fio reads each block once: {}", places.len());
    assert!(!folder.path().join(file_name(0)).exists(), "the kernel's pages are of no more use");
}

#[test]
fn sequential_writes_and_their_flushes() {
    let Some(disks) = loops(1, 64) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut report = serde_json::Value::Null;
    let (closing, remarks) = watched(&disks, true, folder.path(), || {
        report = fio(
            &disks[0].path,
            &["--rw=write", "--bs=64k", "--size=16m", "--fsync=16", "--ioengine=psync"],
        );
    });
    assert_eq!(remarks, []);
    let [device] = measured(&closing) else { panic!("one disk") };
    assert_eq!((device.writes, device.write_bytes), (256, 16 << 20), "a flush alone is no write");
    let syncs = report["jobs"][0]["sync"]["total_ios"].as_u64().unwrap();
    assert!(syncs >= 15 && device.flushes == syncs, "{} flushes, {syncs} syncs", device.flushes);
    assert_eq!(device.not_sequential(), Some(0.0));
    let flushes = requests(folder.path())
        .iter()
        .filter(|request| request.op == Op::Flush && request.sectors == 0)
        .count();
    assert_eq!(flushes as u64, syncs);
}

#[test]
fn discards_and_write_zeroes_are_told_apart() {
    let Some(disks) = loops(1, 64) else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = |flags: &[&str]| {
        let mut discard = Command::new("blkdiscard");
        discard.args(flags).args(["-f", "-o", "1M", "-l", "2M", &disks[0].path]);
        assert!(discard.status().unwrap().success());
    };
    let (closing, _) = watched(&disks, true, folder.path(), || {
        run(&[]);
        run(&["-z"]);
    });
    let [device] = measured(&closing) else { panic!("one disk") };
    assert_eq!((device.discards, device.writes, device.write_bytes), (1, 1, 2 << 20));
    let is = |request: &&Served| {
        matches!(request.op, Op::Discard | Op::WriteZeroes)
            && (request.sector, request.sectors) == (2048, 4096)
    };
    assert_eq!(requests(folder.path()).iter().filter(is).count(), 2);
}

#[test]
fn disks_are_told_apart_and_those_that_are_not_watched_are_left_out() {
    let Some(disks) = loops(3, 32) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (closing, remarks) = watched(&disks[..2], true, folder.path(), || {
        for (disk, count) in disks.iter().zip([100, 300, 500]) {
            fio(&disk.path, &["--rw=randread", "--bs=4k", &format!("--number_ios={count}")]);
        }
    });
    assert_eq!(remarks, []);
    assert_eq!(measured(&closing).iter().map(|disk| disk.reads).collect::<Vec<_>>(), [100, 300]);
    let phase = closing.phase("measure").unwrap();
    assert_eq!((phase.read_followers, phase.read_switches), (Some(399), Some(1)));
    assert_eq!(requests(folder.path()).iter().filter(|request| request.disk == 1).count(), 300);
}

#[test]
fn a_partition_has_places_of_its_own() {
    let Some(disks) = loops(1, 64) else { return };
    let Some(part) = disks[0].partition(8192, 65536) else { return };
    let folder = tempfile::tempdir().unwrap();
    let whole = &disks[0].path;
    let part = [part];
    let (closing, remarks) = watched(&part, true, folder.path(), || {
        fio(&part[0].path, &["--rw=read", "--bs=64k", "--size=8m"]);
        fio(whole, &["--rw=read", "--bs=64k", "--offset=40m", "--size=8m"]);
    });
    let [Remark::Disturbed { device, requests: 128, bytes, .. }] = &remarks[..] else {
        panic!("{remarks:?}")
    };
    assert_eq!((device, *bytes), (&disks[0].disk.name, 8 << 20));
    let [device] = measured(&closing) else { panic!("one disk") };
    assert_eq!(device.read_bytes, 8 << 20, "what was read behind it is not its own");
    let requests = requests(folder.path());
    assert_eq!(requests.iter().map(|request| request.sector).min(), Some(0));
}

#[test]
fn a_ramp_is_left_out_and_a_phase_without_requests_is_none() {
    let Some(disks) = loops(1, 32) else { return };
    for traced in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let name = instance();
        let one = [disks[0].disk.clone()];
        let watch = Watch::start(folder.path(), &one, traced.then_some(name.as_str())).unwrap();
        watch.mark(Mark::begin("early", 0)).unwrap();
        let error = watch.mark(Mark::End).unwrap_err();
        assert!(error.contains(&disks[0].disk.name), "{error}");
        watch.mark(Mark::begin("measure", 500_000_000)).unwrap();
        let rate = ["--rw=randread", "--bs=4k", "--rate_iops=100", "--time_based=1", "--runtime=2"];
        fio(&disks[0].path, &rate);
        watch.mark(Mark::End).unwrap();
        watch.mark(Mark::begin("short", 60_000_000_000)).unwrap();
        fio(&disks[0].path, &["--rw=randread", "--bs=4k", "--number_ios=10"]);
        watch.mark(Mark::End).unwrap_err();
        watch.mark(Mark::Note("well".to_owned())).unwrap();
        watch.mark(Mark::Fsynced(1)).unwrap_err();
        watch.end().unwrap();
        let (closing, _) = account_of(&disks, folder.path());
        let names: Vec<&str> = closing.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["measure"], "traced: {traced}");
        let reads = measured(&closing)[0].reads;
        assert!(
            (100..=180).contains(&reads),
            "traced: {traced}: {reads} of 200, of which a quarter is the ramp"
        );
    }
}

#[test]
fn without_a_trace_there_is_what_the_kernel_counts_and_nothing_else() {
    let Some(disks) = loops(1, 64) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (closing, remarks) = watched(&disks, false, folder.path(), || {
        fio(&disks[0].path, &["--rw=randread", "--bs=4k", "--number_ios=500"]);
    });
    assert_eq!((remarks, find(folder.path()), closing.trace_sha256.clone()), (vec![], None, None));
    let [device] = measured(&closing) else { panic!("one disk") };
    assert_eq!((device.reads, device.read_bytes), (500, 500 * 4096));
    assert_eq!(
        (device.service, device.mean_service(), device.not_sequential()),
        (None, None, None)
    );
    assert!(device.depth.is_some() && closing.phases[0].switched().is_none());
}

#[test]
fn a_trace_with_lost_events_or_other_counts_than_the_kernels_is_none() {
    let Some(disks) = loops(1, 64) else { return };
    let folder = tempfile::tempdir().unwrap();
    let load = || drop(fio(&disks[0].path, &["--rw=randread", "--bs=4k", "--number_ios=500"]));
    let name = instance();
    let watch = Watch::start(folder.path(), &[disks[0].disk.clone()], Some(&name)).unwrap();
    watch.mark(Mark::begin("measure", 0)).unwrap();
    load();
    watch.mark(Mark::End).unwrap();
    let whole = watch.end().unwrap();
    let WatchTrace::Files { layout, cpus, lost: 0 } = whole.trace.clone() else {
        panic!("{:?}", whole.trace)
    };
    let pages: Vec<Vec<u8>> =
        cpus.iter().map(|cpu| fs::read(folder.path().join(file_name(*cpu))).unwrap()).collect();
    let again = |account: &watch::WatchAccount, pages: &[Vec<u8>]| {
        fs::write(folder.path().join(names::WATCHED), serde_json::to_vec(account).unwrap())
            .unwrap();
        for (cpu, pages) in cpus.iter().zip(pages) {
            fs::write(folder.path().join(file_name(*cpu)), pages).unwrap();
        }
        let (closing, remarks) = account_of(&disks, folder.path());
        assert_eq!(measured(&closing)[0].reads, 500);
        (find(folder.path()).is_some(), remarks)
    };
    assert_eq!(again(&whole, &pages), (true, vec![]));
    let mut lossy = whole.clone();
    lossy.trace = WatchTrace::Files { layout: layout.clone(), cpus: cpus.clone(), lost: 3 };
    assert_eq!(again(&lossy, &pages), (false, vec![Remark::TraceLost { events: 3 }]));
    let none = vec![Vec::new(); pages.len()];
    let (found, remarks) = again(&whole, &none);
    assert!(!found && matches!(remarks[..], [Remark::TraceUnlike { .. }]), "{remarks:?}");
    let mut damaged = pages.clone();
    let page = damaged.iter_mut().max_by_key(|pages| pages.len()).unwrap();
    page.truncate(page.len() - 1);
    let (found, remarks) = again(&whole, &damaged);
    assert!(
        !found && matches!(&remarks[..], [Remark::NoTrace { why }] if why.ends_with("cut off")),
        "{remarks:?}"
    );
}

#[test]
fn disks_whose_requests_the_kernel_does_not_trace_are_counted() {
    let Some(disk) = place::zram(64) else { return };
    let disk = [disk];
    let folder = tempfile::tempdir().unwrap();
    let (closing, remarks) = watched(&disk, true, folder.path(), || {
        fio(&disk[0].path, &["--rw=randread", "--bs=4k", "--number_ios=500"]);
    });
    assert!(matches!(remarks[..], [Remark::TraceUnlike { .. }]), "{remarks:?}");
    assert_eq!((measured(&closing)[0].reads, find(folder.path())), (500, None));
}

#[test]
fn the_mirrors_shares_of_reads_are_seen_on_any_kernel() {
    if !has("mkfs.btrfs") {
        return;
    }
    let Some(disks) = loops(2, 256) else { return };
    let mounted = Mounted::btrfs_raid1(&disks);
    let file = mounted.path().join("file");
    let file = file.to_str().unwrap();
    let read = |reads: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let common =
            ["--rw=randread", "--bs=4k", "--size=64m", "--ioengine=psync", "--number_ios=1000"];
        let (closing, remarks) = watched(&disks, true, folder.path(), || {
            fio(file, &[&common[..], reads].concat());
        });
        assert_eq!(remarks, []);
        measured(&closing).iter().map(|disk| disk.reads).collect::<Vec<_>>()
    };
    fio(file, &["--rw=write", "--bs=1m", "--size=64m", "--end_fsync=1"]);
    // Checksums come into memory, so that later reads do not read them.
    read(&[]);
    // The default policy chooses by the process id.
    let one = read(&[]);
    assert!(one.iter().sum::<u64>() >= 1000 && one.iter().min() < Some(&100), "{one:?}");
    let four = read(&["--numjobs=4"]);
    assert!(four.iter().all(|reads| *reads >= 900), "{four:?}: processes follow each other");
}

#[test]
fn others_are_seen_before_a_trial_and_the_machine_is_looked_at() {
    let Some(disks) = loops(2, 256) else { return };
    let both = [disks[0].disk.clone(), disks[1].disk.clone()];
    let stop = AtomicBool::new(false);
    let at_rest =
        |time| disturbance::at_rest(&rest(&both, Duration::from_millis(time), &stop).unwrap());
    assert_eq!(at_rest(300), []);
    let other = disks[1].path.clone();
    let reads = ["--rw=randread", "--bs=4k", "--rate_iops=200", "--time_based=1", "--runtime=3"];
    let other = std::thread::spawn(move || drop(fio(&other, &reads)));
    let remarks = at_rest(3000);
    other.join().unwrap();
    let [remark @ Remark::Disturbed { device, .. }] = &remarks[..] else { panic!("{remarks:?}") };
    assert!(device == &both[1].name && remark.doubts());
    let machine = Environment::look(&both);
    assert!(machine.memory.is_some() && machine.load.is_some() && machine.processor.online > 0);
    for (state, disk) in machine.disks.iter().zip(&both) {
        assert!(state.name == disk.name && state.queue["scheduler"].contains('['), "{state:?}");
        assert!(state.mounts.is_empty(), "{state:?}");
    }
    if has("mkfs.btrfs") {
        let mounted = Mounted::btrfs_raid1(&disks);
        let machine = Environment::look(&both[..1]);
        assert_eq!(machine.disks[0].mounts, [mounted.path().to_str().unwrap()]);
    }
}

#[test]
fn an_instance_is_nobody_elses_and_can_be_removed() {
    let Some(disks) = loops(1, 32) else { return };
    let folder = tempfile::tempdir().unwrap();
    let name = instance();
    let start = || Watch::start(folder.path(), &[disks[0].disk.clone()], Some(&name));
    let watch = start().unwrap();
    assert!(matches!(start(), Err(Error::Exists { .. })), "another one's is not touched");
    assert!(matches!(watch.end().unwrap().trace, WatchTrace::Files { .. }));
    drop(start().unwrap());
    assert!(!remove_instance(&name).unwrap(), "neither its end nor its loss leaves one");
    let status = place::leave_instance(&name, &disks[0]);
    assert!(!status.success() && matches!(start(), Err(Error::Exists { .. })));
    assert!(remove_instance(&name).unwrap() && start().is_ok());
}

/// Runs in the process that `an_instance_is_nobody_elses_and_can_be_removed` starts and kills. It
/// is not a test of its own.
#[test]
#[ignore = "a child of another test"]
fn child_that_is_killed() {
    let Some((name, disk)) = place::left_by_child() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _watch = Watch::start(folder.path(), &[disk], Some(&name)).unwrap();
    std::process::abort();
}

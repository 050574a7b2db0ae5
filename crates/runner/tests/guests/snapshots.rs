//! Tests snapshots beside the measured load: the reported numbers agree with the disks, and the
//! replica holds the pool's data.

use crate::place::{self, TestGuest, constant};
use crate::repeatable::{run_on, trials_of};
use disklab_config::read::{TomlReader, TomlTable};
use disklab_config::suite::metric;
use disklab_config::{Array, Lab};
use disklab_kernels::Kernel;
use disklab_protocol::action::{Action, FirstSnapshot, Program, StartBackground, Unmount};
use disklab_protocol::machine::MachineDisk;
use disklab_protocol::places::{POOL, REPLICA, Side};
use disklab_protocol::setup::Mount;
use disklab_protocol::snapshots::{SnapshotSchedule, Tool};
use disklab_protocol::step::{Snapshot, SnapshotSummary, Step};
use disklab_record::{Record, compare};
use disklab_runner::Installation;
use disklab_testkit::skipped;
use disklab_trace::TraceEntry;
use disklab_units::Bytes;
use libtest_mimic::Trial as Test;
use std::collections::BTreeMap;
use std::path::Path;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("what_is_told_of_snapshots_is_on_the_disks", what_is_told_is_on_the_disks),
        crate::test("a_replica_that_is_full", a_replica_that_is_full),
        crate::test("snapshots_are_taken_twice_alike", || twice_alike(ARRAY, &place::kernel())),
        crate::test("snapshots_of_zfs_are_taken_twice_alike", of_zfs_twice_alike),
    ]
}

/// Rewrites 64 KiB of a file every 40 ms for three seconds with incompressible data.
const WRITER: &str = "i=0; while [ $i -lt 75 ]; do dd if=/dev/urandom of=/mnt/pool/test bs=64k \
    count=1 seek=$((i * 7 % 32)) conv=notrunc,fsync status=none; sleep 0.04; i=$((i + 1)); done";
const EVERY: u64 = 200_000_000;
const KEEP: usize = 4;

fn mount(on: Side) -> Action {
    let source = format!("/dev/{}", if on == Side::Pool { "vda" } else { "vdb" });
    Action::Mount(Mount {
        on,
        data: format!("device={source}"),
        source,
        filesystem: "btrfs".to_owned(),
        noatime: true,
    })
}

fn mkfs(disk: &str) -> Action {
    let words = ["mkfs.btrfs", "-q", "-f", "-d", "single", "-m", "single"].map(str::to_owned);
    let command = words.into_iter().chain([format!("/dev/{disk}")]).collect();
    Action::Run(Program { step: "mkfs".to_owned(), command })
}

/// Makes a guest with two pools on a disk each, with a replica of this size, and snapshots that are
/// replicated beside `script`.
fn replicated(script: &str, size: Bytes) -> TestGuest {
    let mut place = TestGuest::shell(script);
    let replica = MachineDisk { image: "1.img".to_owned(), ..constant(size, 50) };
    place.machine.disks = vec![constant(Bytes::gib(1), 50), replica];
    let first = FirstSnapshot { tool: Tool::Btrfs, replicated: true };
    place.before = vec![
        mkfs("vda"),
        mount(Side::Pool),
        mkfs("vdb"),
        mount(Side::Replica),
        Action::FirstSnapshot(first),
    ];
    place.background = Some(StartBackground {
        snapshots: Some(SnapshotSchedule {
            tool: Tool::Btrfs,
            every_ns: EVERY,
            keep: KEEP as u32,
            replicate_every_ns: Some(2 * EVERY + EVERY / 2),
        }),
        ..StartBackground::default()
    });
    place.after.push(Action::Unmount(Unmount { all: vec![Side::Pool, Side::Replica] }));
    place
}

fn seen(place: &TestGuest) -> (SnapshotSummary, Vec<Snapshot>) {
    let (mut all, mut each) = (None, Vec::new());
    for step in place.steps() {
        match step {
            Step::Snapshot { seen } => each.push(seen),
            Step::Snapshots { seen } => all = Some(seen),
            _ => {}
        }
    }
    (all.expect("nothing is said of snapshots"), each)
}

fn what_is_told_is_on_the_disks() {
    let mut place = replicated(WRITER, Bytes::gib(1));
    place.run().unwrap();
    let (seen, all) = seen(&place);
    // 75 times 40 ms and the time of fsync: 15 intervals and a little.
    assert!((15..=17).contains(&seen.due), "{seen:?}");
    assert_eq!(seen.taken, seen.due, "{seen:?}");
    assert_eq!(all.len() as u64, seen.taken + 1, "and the one that was there to begin with");
    let replication = seen.replication.as_ref().unwrap();
    assert_eq!(replication.done, replication.due, "{seen:?}");
    assert!(replication.replicated > seen.taken - 4 && replication.lost == 0, "{seen:?}");
    assert!(seen.mean_delay_ns > 0 && seen.longest_delay_ns < EVERY, "{seen:?}");
    assert!(
        replication.longest_lag_ns > EVERY && replication.longest_lag_ns < 4 * EVERY,
        "{seen:?}"
    );
    // The trace shows the times of the snapshots.
    let marks = place::entries(place.folder.path()).into_iter().filter_map(|entry| match entry {
        TraceEntry::Mark { text, .. } => Some(text),
        TraceEntry::Served(_) => None,
    });
    let taken = marks.filter(|text| text.starts_with("note snapshot ")).count();
    assert_eq!(taken as u64, seen.taken);

    // Another guest, without any of these actions, lists the snapshots.
    let there: Vec<u64> = all
        .iter()
        .filter(|snapshot| snapshot.deleted_ns.is_none())
        .map(|snapshot| snapshot.number)
        .collect();
    assert!(there.len() >= KEEP, "{there:?}");
    let newest = all
        .iter()
        .filter(|snapshot| snapshot.replicated_ns.is_some())
        .map(|snapshot| snapshot.number)
        .max()
        .unwrap();
    let same = format!(
        "cd {POOL}/.snapshots; echo $(ls | sort -n); diff -r -x .snapshots {newest} \
         {REPLICA}/{newest} && echo same; cd {REPLICA}; echo $(ls | sort -n); for one in *; do \
         sum=$(cksum < $one/test); echo $one $sum; done"
    );
    let mut looking = TestGuest::shell(&same);
    looking.machine.disks.clone_from(&place.machine.disks);
    looking.before = vec![mount(Side::Pool), mount(Side::Replica)];
    for image in ["0.img", "1.img"] {
        // A copy without holes is more than a guest may write.
        let mut cp = std::process::Command::new("cp");
        cp.arg("--sparse=always").args([place.path(image), looking.path(image)]);
        assert!(cp.status().unwrap().success(), "{cp:?}");
    }
    looking.run().unwrap();
    let said = looking.said();
    let lines: Vec<&str> = said.lines().collect();
    let words = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(lines[..2], [words(&there).as_str(), "same"], "{said}");
    let received: Vec<&str> = lines[2].split(' ').collect();
    assert_eq!(
        (received.len(), received.last()),
        (KEEP, Some(&newest.to_string().as_str())),
        "{said}"
    );
    // The contents of the replica differ each time.
    let sums: BTreeMap<&str, &str> =
        lines[3..].iter().filter_map(|line| line.split_once(' ')).collect();
    let distinct: std::collections::BTreeSet<&&str> = sums.values().collect();
    assert_eq!((sums.len(), distinct.len()), (KEEP, KEEP), "{said}");
    // A wrong bookkeeping is detected: a second pass finds snapshots that it does not know.
    place.before = vec![mount(Side::Pool), mount(Side::Replica)];
    let reason = place.run().expect_err("these snapshots are there already");
    assert!(
        reason.contains("`btrfs subvolume snapshot -r /mnt/pool /mnt/pool/.snapshots/"),
        "{reason}"
    );
}

fn a_replica_that_is_full() {
    let script = "dd if=/dev/urandom of=/mnt/pool/large bs=1M count=300 status=none; sleep 3";
    let reason = replicated(script, Bytes::mib(256)).run().expect_err("300 MiB do not fit there");
    assert!(reason.starts_with("snapshots: `btrfs receive -q /mnt/replica` failed"), "{reason}");
    assert!(
        reason.contains("No space left on device") && reason.contains("`btrfs send -q -p "),
        "{reason}"
    );
}

const ARRAY: &str = "\
summary = \"two pools\"
join = \"btrfs-raid1\"
part = \"1 GiB\"
devices = [\"constant-50us\", \"constant-50us\"]
[replica]
join = \"btrfs-single\"
part = \"1 GiB\"
devices = [\"constant-50us\"]
";
const ARRAY_OF_ZFS: &str = "\
summary = \"two pools of ZFS\"
join = \"zfs-mirrors\"
part = \"1 GiB\"
devices = [\"constant-50us\", \"constant-50us\"]
[replica]
join = \"zfs-mirrors\"
part = \"1 GiB\"
devices = [\"constant-50us\", \"constant-50us\"]
";
const BACKGROUND: &str = "\
summary = \"snapshots\"
lead = { rotational = \"100ms\", solid_state = \"100ms\" }
[snapshots]
every = \"100ms\"
keep = 3
replicate_every = \"300ms\"
";
const WORKLOAD: &str = "\
summary = \"reads and writes\"
filesize = \"64 MiB\"
[[job]]
rw = \"randread\"
bs = \"64k\"
iodepth = 4
ioengine = \"libaio\"
rate = \"8 MiB/s\"
direct = true
norandommap = true
[[job]]
rw = \"randwrite\"
bs = \"64k\"
iodepth = 4
ioengine = \"libaio\"
rate = \"23 MiB/s\"
direct = true
norandommap = true
zero_buffers = true
";
const SUITE: &str = "\
question = \"Is it the same again?\"
seeds = 1
memory = \"256 MiB\"
runtime = { rotational = \"2s\", solid_state = \"2s\" }
kernel = \"newest\"
array = \"two-pools\"
workload = \"both\"
[axes]
background = [\"none\", \"replicated\"]
";

fn of_zfs_twice_alike() {
    match place::kernel_with_zfs() {
        Ok(kernel) => twice_alike(ARRAY_OF_ZFS, &kernel),
        Err(reason) => skipped(reason),
    }
}

fn twice_alike(text: &str, kernel: &Kernel) {
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    let devices =
        lab.devices.iter().map(|(name, device)| (name.clone(), Some(device.clone()))).collect();
    let array = |table: &TomlTable<'_, '_>| Array::read("two-pools", table, &devices);
    lab.arrays.insert("two-pools".to_owned(), TomlReader::new("array", text).read(array).unwrap());
    let background = |table: &TomlTable<'_, '_>| {
        disklab_config::Background::read("replicated", table, &BTreeMap::new())
    };
    let background = TomlReader::new("background", BACKGROUND).read(background).unwrap();
    lab.backgrounds.insert("replicated".to_owned(), background);
    let workload = |table: &TomlTable<'_, '_>| disklab_config::Workload::read("both", table);
    lab.workloads
        .insert("both".to_owned(), TomlReader::new("workload", WORKLOAD).read(workload).unwrap());
    let trials = trials_of(SUITE, &lab);
    let places = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (installation, cache) = (Installation::find().unwrap(), place::cache());
    let run =
        |place: &Path, jobs| run_on(kernel.clone(), &installation, &cache, &trials, place, jobs);
    let (first, second) = (run(places[0].path(), 1), run(places[1].path(), 2));
    let differences: Vec<String> =
        compare(&first, &second).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(differences, Vec::<String>::new());
    let record = Record::open(&first).unwrap();
    let [without, with] = record.lines() else { panic!("two trials") };
    let names: Vec<&str> = with.measures.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            metric::LONGEST_REPLICATION_LAG,
            metric::LONGEST_SNAPSHOT_DELAY,
            metric::POOL_GROWTH,
            metric::REPLICA_GROWTH,
            metric::REPLICATION_LAG,
            metric::REPLICATIONS_DONE,
            metric::SNAPSHOT_DELAY,
            metric::SNAPSHOTS_REPLICATED,
            metric::SNAPSHOTS_TAKEN,
        ]
    );
    assert!(with.measures[metric::SNAPSHOTS_TAKEN].value > 99.9);
    assert!(with.measures[metric::SNAPSHOTS_REPLICATED].value > 50.0);
    let names: Vec<&str> = without.measures.keys().map(String::as_str).collect();
    assert_eq!(names, [metric::POOL_GROWTH, metric::REPLICA_GROWTH]);
    assert!(
        without.measures[metric::REPLICA_GROWTH].value < 1.0,
        "nothing is written to an idle replica"
    );
}

//! Trials of the lab's suites in the model.

use std::path::Path;

use disklab_config::{Lab, Trial};
use disklab_disks::{Bank, Completion, Op, Request};
use disklab_model::{EndedRead, Observer};
use disklab_units::{Nanos, Random};

fn trials(suite: &str, set: &[(&str, &str)]) -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
    let lab = Lab::load(&folder).unwrap();
    let mut suite = lab.suite(suite).unwrap();
    for (axis, values) in set {
        suite.set(axis, values).unwrap();
    }
    suite.trials(&lab).unwrap()
}

fn trial(array: &str, workload: &str, policy: &str) -> Trial {
    let set = [("array", array), ("workload", workload), ("policy", policy)];
    let mut trial = trials("read-policy-quick", &set).remove(0);
    trial.runtime = Nanos::from_secs(2);
    trial
}

/// The requests that went to each disk, in order.
#[derive(Default)]
struct Arrivals(Vec<(usize, u64, u32)>);

impl Observer for Arrivals {
    fn arrived(&mut self, _: Nanos, disk: usize, request: &Request, _: &Bank) {
        self.0.push((disk, request.sector, request.sectors));
    }

    fn ended(&mut self, _: usize, _: &Request, _: Nanos, _: &Completion, _: &Bank) {}
}

/// The time when fio began, its reads, and the requests of the disks.
fn run(trial: &Trial) -> (Nanos, Vec<EndedRead>, Vec<(usize, u64, u32)>) {
    let (mut start, mut reads) = (Nanos::ZERO, Vec::new());
    let begin = |now, _: &Bank| {
        start = now;
        Arrivals::default()
    };
    let (_, _, seen) = disklab_model::run(trial, begin, |read| reads.push(read)).unwrap();
    (start, reads, seen.0)
}

/// The same places on the disk alone, each read once the one before it has ended. A read whose
/// checksums are in no memory waits for a leaf of 16 KiB first.
#[test]
fn a_closed_loop_on_one_disk_is_the_disks_own() {
    let mut trial = trial("hdd-raid1", "randread-4k-qd1", "devid");
    trial.metadata = disklab_config::suite::Metadata::Cold;
    let (start, reads, arrivals) = run(&trial);
    assert!(reads.len() > 100, "{}", reads.len());
    let device = &trial.devices[0];
    let mut disk = disklab_disks::build(&device.model, device.bytes, trial.seed.derive("disk 0"));
    let mut random = Random::new(trial.seed.derive("fio").derive("job 0"));
    // The mount has read its trees by then, from the other disk.
    let (mut now, mut done) = (start, Vec::new());
    let mut ends = reads.iter().map(|read| read.ended);
    let mut leaves = 0;
    for (on, sector, sectors) in arrivals {
        disk.submit(now, Request { id: 0, op: Op::Read, sector, sectors, fua: false });
        while done.is_empty() {
            now = disk.next_event().unwrap();
            disk.advance(now, &mut done);
        }
        done.clear();
        if sectors == 32 {
            leaves += 1;
            continue;
        }
        let block = random.below((50 << 30) / 4096);
        // mkfs begins the first chunk of data at 1053 MiB of the first disk, and the kernel goes
        // on at 2077 MiB: without a gap.
        assert_eq!((on, sector, sectors), (0, (1053 << 11) + block * 8, 8));
        assert_eq!(ends.next(), Some(now));
    }
    assert_eq!(ends.next(), None);
    assert!((50..reads.len()).contains(&leaves), "{leaves} leaves for {} reads", reads.len());
}

#[test]
fn the_same_seed_gives_the_same_reads() {
    for policy in ["pid", "queue", "latency-rr", "round-robin", "oracle", "oracle:all"] {
        let trial = trial("hdd-8-mixed", "randread-4k-qd32", policy);
        assert_eq!(run(&trial), run(&trial));
        let other = Trial { seed: trial.seed.derive("another"), ..trial.clone() };
        assert_ne!(run(&other).1, run(&trial).1);
    }
}

/// Traces of guests show that 1 MiB is a request of 168 pages and one of the rest on RAID1, and on
/// RAID10 half of it on each of two disks, put together in the plug.
#[test]
fn reads_are_split_and_merged_as_in_a_guest() {
    let sizes = |array| {
        let (_, _, arrivals) = run(&trial(array, "seqread-1m-qd16", "devid"));
        let mut sizes: Vec<u32> = arrivals.iter().map(|(_, _, sectors)| *sectors).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    assert_eq!(sizes("hdd-raid1"), [704, 1344]);
    assert_eq!(sizes("ssd-raid10"), [1024]);
}

/// With two idle, equal disks `queue` takes the first, and with one busy the other.
#[test]
fn queue_sees_what_is_in_flight() {
    let share = |workload| {
        let (_, _, arrivals) = run(&trial("hdd-raid1", workload, "queue"));
        let first = arrivals.iter().filter(|(disk, ..)| *disk == 0).count();
        first as f64 / arrivals.len() as f64
    };
    let alone = share("randread-4k-qd1");
    assert!(
        (alone - 0.02).abs() < 0.02,
        "the first of 49 chunks of 50 is the second disk: {alone}"
    );
    let deep = share("randread-4k-qd32");
    assert!((deep - 0.5).abs() < 0.1, "{deep}");
}

/// A lone random read has two idle heads to choose from, of which the oracle knows the nearer one
/// and when the platter will be below it.
#[test]
fn the_oracle_chooses_the_nearer_head() {
    let reads = |policy| run(&trial("hdd-raid1", "randread-4k-qd1", policy)).1.len();
    let [queue, oracle, all] = ["queue", "oracle", "oracle:all"].map(reads);
    let ratio = oracle as f64 / queue as f64;
    assert!((1.2..1.4).contains(&ratio), "{oracle} reads, {queue} with queue");
    assert_eq!(oracle, all, "there is no other read");
}

#[test]
fn what_the_model_lacks_is_refused_with_a_reason() {
    let refused = |suite: &str, set: &[(&str, &str)], word: &str| {
        let trials = trials(suite, set);
        let reason = disklab_model::obstacle(&trials[0]).unwrap_or_default();
        assert!(reason.contains(word), "{suite}: {reason:?}");
    };
    refused("read-policy", &[("background", "defrag")], "background workloads such as defrag");
    refused("read-policy-mixed", &[("background", "none")], "writes");
    refused("read-policy-bcache", &[], "bcache");
    refused("bfq-startup", &[("background", "none")], "only btrfs's mirrors");
    refused("read-policy-quick", &[("scheduler", "bfq")], "scheduler bfq");
    assert_eq!(disklab_model::obstacle(&trials("seek-ratio", &[])[0]), None);
}

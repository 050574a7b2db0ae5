//! Tests four disks behind a controller, on the arrays of the page "Multi-device Benchmarks", and a
//! disk in a machine that adds time.

use crate::repeatable;
use disklab_config::host::HostTime;
use disklab_record::Record;
use disklab_units::Nanos;
use libtest_mimic::Trial as Test;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test(
            "what_a_controller_moves_is_all_that_four_disks_give",
            a_controller_limits_four_disks,
        ),
        crate::test("fio_sees_what_the_machine_takes", fio_sees_the_host),
    ]
}

const READS: &str = r#"
question = "What does the machine take of each read?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "3s", solid_state = "50ms" }
kernel = "newest"
array = "ssd-xfs"
[axes]
workload = ["randread-4k-qd1", "randread-4k-qd32"]
"#;

fn fio_sees_the_host() {
    let place = tempfile::tempdir().unwrap();
    let mut trials = repeatable::trials(READS);
    let iops = |trials: &[_], name: &str| {
        let record = Record::open(&repeatable::run(trials, &place.path().join(name), 2)).unwrap();
        let sample = |depth: &str| {
            let line = record.lines().iter().find(|line| line.trial.contains(depth)).unwrap();
            line.sample.as_ref().unwrap().iops
        };
        [sample("qd1+"), sample("qd32+")]
    };
    let alone = iops(&trials, "alone");
    let [submit, complete] = [8, 12].map(Nanos::from_micros);
    let host = HostTime { submit, complete, requests_per_second: Some(50_000), link: None };
    for trial in &mut trials {
        trial.array.host = Some(host);
    }
    let behind = iops(&trials, "behind");
    // Each direction takes at least half of 20 us.
    let longer = 1e6 / behind[0] - 1e6 / alone[0];
    assert!((longer - 22.0).abs() < 0.5, "a read takes {longer} us longer");
    assert!((49_000.0..=50_100.0).contains(&behind[1]), "{behind:?}, without host {alone:?}");
}

const SUITE: &str = r#"
question = "What do four disks give together?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "3s", solid_state = "10ms" }
kernel = "newest"
workload = "seqread-1m-qd16"
[axes]
array = ["sata-4-raid0", "sata-4-raid1"]
"#;

fn a_controller_limits_four_disks() {
    let place = tempfile::tempdir().unwrap();
    let trials = repeatable::trials(SUITE);
    let record = Record::open(&repeatable::run(&trials, place.path(), 2)).unwrap();
    let rate = |array: &str| {
        let line = record.lines().iter().find(|line| line.trial.contains(array)).unwrap();
        line.sample.as_ref().unwrap().bw_bytes as f64 / 1e6
    };
    // The rate is in MB/s. The disks' own links would give 320; the page reports 200.
    let striped = rate("sata-4-raid0");
    assert!((185.0..=200.0).contains(&striped), "raid0 reads {striped} MB/s");
    // One disk at a time serves one reader, and a disk gives 80, so that the controller is not a
    // limit.
    let mirrored = rate("sata-4-raid1");
    assert!((50.0..=85.0).contains(&mirrored), "raid1 reads {mirrored} MB/s");
}

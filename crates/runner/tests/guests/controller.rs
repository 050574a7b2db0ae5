//! Four disks behind a controller, as the page that the lab's arrays are from has them.

use crate::repeatable;
use disklab_record::Record;
use libtest_mimic::Trial as Test;

pub fn tests() -> Vec<Test> {
    vec![crate::test(
        "what_a_controller_moves_is_all_that_four_disks_give",
        a_controller_limits_four_disks,
    )]
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
    // MB/s. 320 by their own links; the page tells 200.
    let striped = rate("sata-4-raid0");
    assert!((185.0..=200.0).contains(&striped), "raid0 reads {striped} MB/s");
    // One reader is served by one disk at a time, and a disk gives 80: the controller is in
    // nobody's way.
    let mirrored = rate("sata-4-raid1");
    assert!((50.0..=85.0).contains(&mirrored), "raid1 reads {mirrored} MB/s");
}

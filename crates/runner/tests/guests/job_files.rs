//! Tests fio's own job files: groups run in turn, at their rates, and repeats are equal; a failed
//! verify fails the trial.

use crate::place;
use crate::startup::{lab_trials, measure, outcomes};
use disklab_config::{Lab, Trial, Workload};
use disklab_record::Status;
use libtest_mimic::Trial as Test;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("groups_of_a_job_file_run_in_turn_and_the_same_again", groups_run_in_turn),
        crate::test("what_verify_finds_fails_the_trial", what_verify_finds),
    ]
}

const GROUPS: &str = "
[global]
ioengine=libaio
direct=1
[readers]
rw=randread
random_distribution=zipf:1.2
bssplit=4k/50:64k/50
iodepth=8
numjobs=2
size=64m
time_based
[writer]
rw=randwrite
bs=16k
rate_iops=400
offset=64m
size=16m
time_based
[verified]
stonewall
rw=randwrite
bs=64k
offset=80m
size=4m
verify=crc32c
";

/// The test file is zeroes, which have no checksum.
const DAMAGED: &str = "[damaged]\nrw=read\nbs=64k\nsize=4m\nverify=crc32c\n";

fn trials(text: &str, arrays: &str) -> Vec<Trial> {
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    lab.workloads.insert("own".to_owned(), Workload::of_job_file("own", text).unwrap());
    lab_trials(&lab, &format!("array = [{arrays}]\nworkload = [\"own\"]"))
}

fn groups_run_in_turn() {
    let all = trials(GROUPS, "\"ssd-raid1\", \"constant-ext4\", \"single-constant\"");
    let (first, second) = (outcomes(&all), outcomes(&all));
    for ((one, _), (other, _)) in first.iter().zip(&second) {
        assert_eq!((one.status, &one.reason), (Status::Ok, &None), "{}", one.trial);
        assert_eq!(one.files, other.files, "{}", one.trial);
        assert_eq!(one.measures, other.measures, "{}", one.trial);
        let writes = measure(one, "[writer] iops");
        assert!((380.0..=420.0).contains(&writes), "{}: {writes} IOPS of 400", one.trial);
        // Blocks of two sizes are equally frequent.
        let mean = measure(one, "[readers] bandwidth") / measure(one, "[readers] iops");
        assert!((30e3..40e3).contains(&mean), "{}: {mean} bytes a read", one.trial);
        assert!(measure(one, "[readers] iops") > 2.0 * writes, "{}", one.trial);
        assert!(measure(one, "[verified] mean") > 0.0, "{}", one.trial);
        // The written data was read again. The readers' blocks differ.
        let sample = one.sample.as_ref().expect("fio's numbers");
        let written = sample.write.as_ref().expect("writes").requests;
        let of_writer = (writes * all[0].runtime.as_secs_f64()).round() as u64;
        assert!(written.abs_diff(of_writer + 64) <= 2, "{}: {written}", one.trial);
    }
}

fn what_verify_finds() {
    let (outcome, _) = outcomes(&trials(DAMAGED, "\"constant-ext4\"")).remove(0);
    assert_eq!(outcome.status, Status::Failed);
    let reason = outcome.reason.expect("a reason");
    assert!(reason.contains("verify") && reason.contains("fio"), "{reason}");
}

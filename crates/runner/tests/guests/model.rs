//! Compares the fast model with the kernel, in cells that do not depend on random draws.

use crate::place;
use crate::startup::{lab_trials, outcomes};
use disklab_config::Lab;
use disklab_record::manifest::{Manifest, Suite};
use disklab_record::{Record, Status};
use disklab_runner::{Executor, Model};
use libtest_mimic::Trial as Test;
use std::sync::atomic::AtomicBool;

pub fn tests() -> Vec<Test> {
    vec![crate::test("the_fast_model_is_near_the_kernel", near_the_kernel)]
}

static STOP: AtomicBool = AtomicBool::new(false);

/// Several sequential jobs agree only if the model has btrfs's range locks, the block layer's wait
/// queues, and the page cache for each job's first reads.
fn near_the_kernel() {
    let lab = Lab::load(&place::share().lab()).unwrap();
    let trials = lab_trials(
        &lab,
        "array = [\"hdd-raid1\", \"ssd-raid10\"]\n\
         workload = [\"randread-4k-qd32\", \"seqread-1m-qd16\"]\n\
         metadata = [\"warm\"]\njobs = [1, 4]\npolicy = [\"pid\", \"queue\"]",
    );
    let folder = tempfile::tempdir().unwrap();
    let ids = trials.iter().map(|trial| trial.id.clone()).collect();
    let suite = Suite::new("model", "", Vec::new());
    let manifest = Manifest::new("model", "1970-01-01T00:00:00Z", suite, ids);
    let writer = Record::create(folder.path(), "model", &manifest).unwrap();
    Model { jobs: 2, deadline: None, stop: &STOP }.run_trials(&trials, &writer, &|_| ()).unwrap();
    let record = Record::open(writer.folder()).unwrap();
    let mut errors = Vec::new();
    for (kernel, _) in outcomes(&trials) {
        let model = record.lines().iter().find(|line| line.trial == kernel.trial).expect("a line");
        assert_eq!((kernel.status, model.status), (Status::Ok, Status::Ok), "{}", kernel.trial);
        let [there, here] = [&kernel, model].map(|one| one.sample.as_ref().expect("a sample").iops);
        errors.push((((here - there) / there).abs(), kernel.trial));
    }
    errors.sort_by(|one, other| one.0.total_cmp(&other.0));
    // With some hundred requests in a trial, the draw of positions alone makes such a difference.
    let (middle, worst) = (errors[errors.len() / 2].0, errors[errors.len() - 1].0);
    assert!(middle < 0.06 && worst < 0.25, "{errors:?}");
}

//! Tests remarks on kernels with equal numbers whose disks were used differently.

use disklab_compare::{
    CellIndex, DecisionRule, MatchedTrials, Metric, Trust, compare, match_trials,
};
use disklab_record::Outcome;
use disklab_record::manifest::Suite;
use disklab_record::outcome::Cell;
use disklab_results::Sample;
use disklab_results::sample::DeviceSample;
use disklab_stats::Verdict;
use disklab_units::Nanos;

/// Makes a suite over two values of an axis. It names its kernel unless that is the axis.
fn suite([axis, first, other]: [&str; 3]) -> String {
    let kernel = if axis == "kernel" { "" } else { "kernel = \"7.3\"\n" };
    format!(
        r#"
question = "Which?"
seeds = 8
memory = "256 MiB"
runtime = {{ rotational = "20s", solid_state = "300ms" }}
{kernel}baseline = {{ {axis} = "{first}" }}

[axes]
array = ["one"]
workload = ["randread-4k-qd1"]
{axis} = ["{first}", "{other}"]
"#
    )
}

/// Returns the remarks on the verdict of a record whose two values of an axis have these shares of
/// two disks, and these shares of reads that went to the other disk.
fn remarks(axis: [&str; 3], shares: [[f64; 2]; 2], switches: [f64; 2]) -> Vec<String> {
    let suite = suite(axis);
    let [axis, first, other] = axis;
    let mut outcomes = Vec::new();
    for seed in 1..=8_u32 {
        for (number, value) in [first, other].into_iter().enumerate() {
            let disk = |at: usize| DeviceSample {
                read_share: Some(shares[number][at]),
                ..DeviceSample::default()
            };
            let sample = Sample {
                iops: 100.0 + f64::from(seed) * 0.01,
                read_switches: Some(switches[number]),
                devices: vec![disk(0), disk(1)],
                ..Sample::default()
            };
            let cell = [("array", "one"), ("workload", "randread-4k-qd1"), (axis, value)];
            let id = format!("one+randread-4k-qd1+{value}+s{seed}");
            let own = disklab_testkit::outcome(id, &cell, seed);
            outcomes.push(Outcome { sample: Some(sample), ..own });
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let ids: Vec<String> = outcomes.iter().map(|outcome| outcome.trial.clone()).collect();
    let manifest = disklab_testkit::manifest(Suite::new("which", &suite, Vec::new()), ids);
    let record = disklab_testkit::record(&folder.path().join("run"), &manifest, outcomes);
    let (_, matched) = match_trials(&[CellIndex::new(&record)], None, Trust::Sound).expect("cells");
    let compared = compare(&matched, &[Metric::Iops], DecisionRule::DEFAULT, None).expect("values");
    assert_eq!(compared.len(), 1);
    assert_eq!(compared[0].verdict, Verdict::Same);
    compared[0].remarks.clone()
}

#[test]
fn other_disks_are_told_of_kernels_and_not_of_policies() {
    let kernels = ["kernel", "7.2", "7.3"];
    assert_eq!(
        remarks(kernels, [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]),
        ["other disks served the reads in 8 of 8 seeds; seed 1: 0 % and 100 % by disk, \
          compared with 100 % and 0 %"]
    );
    assert_eq!(
        remarks(kernels, [[0.5, 0.5], [0.5, 0.5]], [0.99, 0.25]),
        ["other disks served the reads in 8 of 8 seeds; seed 1: 25 % of them went to another \
             disk than the previous read, compared with 99 %"]
    );
    assert!(remarks(kernels, [[0.5, 0.5], [0.52, 0.48]], [0.5, 0.52]).is_empty());
    assert!(remarks(["policy", "pid", "devid"], [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]).is_empty());
}

/// Compares two kernels whose trials have these digests of their traces, by seed. Returns the
/// verdict as text, and the remarks.
fn of_traces(ours: &[&str], theirs: &[&str]) -> (String, Vec<String>) {
    let side = |kernel: &str, traces: &[&str]| -> Vec<Outcome> {
        let outcome = |(seed, trace): (u32, &&str)| {
            let id = format!("one+w+{kernel}+s{seed}");
            let files = [("requests.trace.gz".to_owned(), (*trace).to_owned())].into();
            let iops = 100.0 + f64::from(seed) * 0.01;
            let own = disklab_testkit::outcome(id, &[("kernel", kernel)], seed);
            let sample = Some(Sample { iops, ..Sample::default() });
            Outcome { files, sample, virtual_ns: Some(Nanos(1)), ..own }
        };
        (1..).zip(traces).map(outcome).collect()
    };
    let (ours, theirs) = (side("7.3", ours), side("7.2", theirs));
    let matched = MatchedTrials {
        cell: Cell(Vec::new()),
        treatment: "7.3".to_owned(),
        baseline: "7.2".to_owned(),
        paired: true,
        treatments: ours.iter().collect(),
        baselines: theirs.iter().collect(),
        left_out: Vec::new(),
        repeated: Vec::new(),
    };
    let compared = compare(&[matched], &[Metric::Iops], DecisionRule::DEFAULT, None);
    let own = compared.expect("values").swap_remove(0);
    (own.verdict_in_words(), own.remarks)
}

#[test]
fn traces_say_whether_a_same_is_one_of_the_very_same_requests() {
    let (verdict, remarks) = of_traces(&["a", "b", "c", "d"], &["a", "b", "c", "d"]);
    assert_eq!(verdict, "same (no choice)");
    assert_eq!(remarks, ["the same: the disks had the same requests at the same times"]);
    let (verdict, remarks) = of_traces(&["a", "b", "c", "d"], &["a", "b", "x", "y"]);
    assert_eq!(verdict, "same");
    let said = "in 2 of 4 seeds, the requests at the disks differ from the baseline's; each \
                disk's share of the reads is about the same";
    assert_eq!(remarks, [said]);
}

//! Tests `run --on model`: records of the fast model.

use crate::fixture::record;
use crate::run;

const SUITE: [&str; 10] = [
    "run",
    "read-policy",
    "--on",
    "model",
    "--seeds",
    "2",
    "--set",
    "array=hdd-raid1",
    "--set",
    "workload=randread-4k-qd32",
];

#[test]
fn the_model_makes_an_ordinary_record_that_is_marked() {
    let here = tempfile::tempdir().expect("a folder");
    run(here.path(), &[&SUITE[..], &["--out", "m", "--jobs", "1"]].concat());
    let manifest = std::fs::read_to_string(here.path().join("m/manifest.toml")).expect("it");
    assert!(manifest.contains("executor = \"model\""), "{manifest}");
    let shown = run(here.path(), &["show", "m"]);
    assert_eq!(shown.status, Some(0), "{}", shown.err);
    // Cells with a defragmentation beside them are left out.
    let reason = "the fast model cannot run background workloads such as defrag";
    assert!(shown.out.replace("\n    ", " ").contains(reason), "{}", shown.out);
    assert!(shown.out.contains("for searches, not for verdicts"), "{}", shown.out);
    let audit = run(here.path(), &["audit", "m"]);
    assert_eq!(audit.status, Some(0), "{}{}", audit.out, audit.err);

    run(here.path(), &[&SUITE[..], &["--out", "again", "--jobs", "2"]].concat());
    let lines = |name: &str| {
        let text = std::fs::read_to_string(here.path().join(name).join("trials.jsonl"));
        let mut samples: Vec<String> = text
            .expect("it")
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
            .map(|line| format!("{} {}", line["trial"], line["sample"]))
            .collect();
        samples.sort();
        samples
    };
    assert_eq!(lines("m"), lines("again"));

    let guests = record(here.path());
    let refused = run(here.path(), &["compare", "m", guests.to_str().expect("a path")]);
    assert_eq!(refused.status, Some(2), "{}", refused.out);
    assert!(refused.err.contains("the model serves searches"), "{}", refused.err);
}

/// Tests a record of the model in which policies are compared with the oracle, and the refusal of a
/// prediction without `--on model`.
#[test]
fn a_policy_is_held_against_the_oracle() {
    let here = tempfile::tempdir().expect("a folder");
    let suite = [&SUITE[..], &["--set", "background=none", "--set", "jobs=1"]].concat();
    let policies = ["--set", "policy=queue,oracle,oracle:all", "--out", "all"];
    run(here.path(), &[&suite[..], &policies].concat());
    let compared = run(here.path(), &["compare", "all", "--baseline", "policy=oracle", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&compared.out).expect("JSON");
    assert!(document.to_string().contains("oracle:all"), "{document}");

    let refused = run(here.path(), &["predict", "all", "--oracle", "--devices", "nas-4tb"]);
    assert_eq!(refused.status, Some(2), "{}", refused.out);
    assert!(refused.err.contains("add --on model"), "{}", refused.err);
}

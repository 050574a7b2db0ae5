//! Tests `list` and `plan` on the real lab.

use crate::{json, run};

#[test]
fn the_lab_is_listed() {
    let here = tempfile::tempdir().expect("a folder");
    let all = run(here.path(), &["list"]);
    assert_eq!(all.status, Some(0), "{}", all.err);
    for name in
        ["read-policy-quick", "hdd-8-mixed", "nas-4tb", "randread-4k-qd32", "round-robin", "7.3"]
    {
        assert!(all.out.contains(name), "{name} is not in {}", all.out);
    }
    let suites = json(here.path(), &["list", "suites", "--json"]);
    let quick = suites["suites"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|suite| suite["name"] == "read-policy-quick");
    assert_eq!(quick.expect("the suite")["trials"], 180);
    let devices = json(here.path(), &["list", "devices", "--json"]);
    assert!(devices["devices"].as_array().is_some_and(|all| all.len() > 3), "{devices}");
    assert_eq!(json(here.path(), &["list", "runs", "--json"])["runs"], serde_json::json!([]));
}

#[test]
fn a_plan_needs_no_kernel_and_changes_nothing() {
    let here = tempfile::tempdir().expect("a folder");
    let plan = run(here.path(), &["plan", "read-policy-quick", "--jobs", "2"]);
    assert_eq!(plan.status, Some(0), "{}", plan.err);
    assert!(
        plan.out.contains("180 trials (36 combinations, 5 seeds each), 40 min"),
        "{}",
        plan.out
    );
    assert!(plan.out.contains("disklab kernel build"), "{}", plan.out);
    assert!(!here.path().join("records").exists());
}

#[test]
fn what_is_set_shows_in_the_plan() {
    let here = tempfile::tempdir().expect("a folder");
    let plan = json(
        here.path(),
        &["plan", "smoke", "--json", "--set", "policy=round-robin:4k,devid:2", "--seeds", "1"],
    );
    let ids: Vec<&str> = plan["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|trial| trial["id"].as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "constant-raid1+smoke-randread+round-robin=4096+s1",
            "constant-raid1+smoke-randread+devid=2+s1"
        ]
    );
    assert_eq!(plan["set"], serde_json::json!(["policy=round-robin:4k,devid:2", "seeds=1"]));
    let jobs = |jobs: &str| json(here.path(), &["plan", "smoke", "--json", "--jobs", jobs]);
    let (one, four) = (jobs("1"), jobs("4"));
    assert_eq!(one["virtual_ns"], four["virtual_ns"]);
    assert!(one["wall_ms"].as_u64() > four["wall_ms"].as_u64(), "more at a time take less");
}

/// Arrays of the same name with different disks are prepared separately.
#[test]
fn each_set_of_disks_counts() {
    let here = tempfile::tempdir().expect("a folder");
    let prepared = |set: &str| {
        let plan = json(here.path(), &["plan", "smoke", "--json", "--seeds", "1", "--set", set]);
        plan["prepared"].as_u64().expect("bytes")
    };
    let alone: u64 = ["disks=2", "disks=4", "disks=8"].map(prepared).iter().sum();
    assert_eq!(prepared("disks=2,4,8"), alone);
    assert_eq!(prepared("memory=256 MiB,512 MiB"), prepared("disks=2"), "the same disks for both");
}

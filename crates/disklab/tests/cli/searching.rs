//! Tests `search`: candidates in the fast model.

use serde_json::Value;

use crate::run;

const SEARCH: [&str; 13] = [
    "search",
    "read-policy-quick",
    "--set",
    "array=hdd-raid1",
    "--set",
    "workload=seqread-1m-qd16",
    "--policy",
    "streams",
    "--candidates",
    "4",
    "--seeds",
    "2",
    "--json",
];
const OVER: [&str; 2] = ["--over", "piece=1MiB..64MiB,margin=100..400"];

#[test]
fn a_search_is_the_same_whoever_runs_it_and_goes_on() {
    let here = tempfile::tempdir().expect("a folder");
    let search = |out: &str, jobs: &str| -> Value {
        let options = ["--out", out, "--jobs", jobs];
        let ran = run(here.path(), &[&SEARCH[..], &OVER, &options].concat());
        assert_eq!(ran.status, Some(0), "{}", ran.err);
        serde_json::from_str(&ran.out).expect("JSON")
    };
    let rounds = |document: &Value| {
        let rounds = document["rounds"].as_array().expect("rounds").clone();
        rounds.into_iter().map(|round| round["candidates"].clone()).collect::<Vec<_>>()
    };
    let (one, two) = (search("one", "1"), search("two", "2"));
    assert_eq!(rounds(&one), rounds(&two));
    let counts: Vec<usize> =
        rounds(&one).iter().map(|all| all.as_array().map_or(0, Vec::len)).collect();
    assert!(matches!(counts[..], [5, 3 | 4]), "the better half, and the defaults: {counts:?}");
    let first = &one["rounds"][1]["candidates"][0];
    assert!(first["is_on_front"] == true && first["of_oracle"].is_number(), "{first}");

    // The search is continued as if it had been killed after its first round.
    let lines = || std::fs::read(here.path().join("one-1/trials.jsonl")).expect("it");
    let before = lines();
    std::fs::remove_dir_all(here.path().join("one-2")).expect("removed");
    assert_eq!(rounds(&search("one", "2")), rounds(&one));
    assert_eq!(lines(), before, "no trial ran again");

    let other = [&SEARCH[..], &["--over", "piece=2MiB..64MiB", "--out", "one"]].concat();
    let refused = run(here.path(), &other);
    assert_eq!(refused.status, Some(2), "{}", refused.out);
    assert!(refused.err.contains("another search") && refused.err.contains("--out"));
}

#[test]
fn mistakes_of_a_search_are_told() {
    let here = tempfile::tempdir().expect("a folder");
    let refused = |suite: &str, policy: &str, over: &str, more: &[&str], words: &str| {
        let search = ["search", suite, "--policy", policy, "--over", over];
        let refused = run(here.path(), &[&search[..], more].concat());
        assert_eq!(refused.status, Some(2), "{over}: {}", refused.out);
        let said = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words), "{over}: {said}");
    };
    let quick = "read-policy-quick";
    refused(quick, "streams", "pice=1MiB..2MiB", &[], "did you mean `piece`?");
    refused(quick, "streams", "piece=2MiB..2MiB", &[], "is not above the other end");
    refused(quick, "streams", "piece=2MiB", &[], "write LOW..HIGH");
    refused(quick, "strems", "piece=1MiB..2MiB", &[], "did you mean `streams`?");
    refused(quick, "queue", "ties=1..2", &[], "is not a number");
    let own = ["--set", "policy=streams"];
    refused(quick, "streams", "piece=1MiB..2MiB", &own, "no other read policy");
    refused("bfq-startup", "streams", "piece=1MiB..2MiB", &[], "suite of read policies");
    let writes = ["--set", "background=none"];
    refused("read-policy-mixed", "streams", "piece=1MiB..2MiB", &writes, "can run none");
    assert!(std::fs::read_dir(here.path()).expect("it").next().is_none(), "nothing was begun");
}

//! Tests `compare` on records made here.

use std::fs;

use crate::input::refused;
use crate::{fixture, json, run};

#[test]
fn cells_against_the_baseline() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "eight", 8, 1.0);
    let compare = run(here.path(), &["compare", "eight", "--metric", "iops,mean"]);
    assert_eq!((compare.status, compare.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(compare.out);
    let mmtests = run(here.path(), &["compare", "eight", "--format", "mmtests"]);
    assert!(
        mmtests.out.starts_with("IOPS, 1/s\n") && mmtests.out.contains("*    5.33%*"),
        "{}",
        mmtests.out
    );
    let csv = run(here.path(), &["compare", "eight", "--format", "csv"]);
    assert_eq!(csv.out.lines().count(), 5, "{}", csv.out);
    assert!(csv.out.starts_with(
        "cell,metric,of,against,trials,estimate,baseline,\"change, %\",\"low, %\",\"high, %\",\
         verdict\n"
    ));
    let mut rows = csv::Reader::from_reader(csv.out.as_bytes());
    for row in rows.records().map(|row| row.expect("as many fields as heads")) {
        let [change, low, high] = [7, 8, 9].map(|field| row[field].parse::<f64>().expect("number"));
        assert!(low <= change && change <= high, "{row:?}");
    }
    assert!(
        csv.out
            .lines()
            .nth(1)
            .is_some_and(|row| row.starts_with("\"hdd-raid1, randread-4k-qd1\",IOPS,"))
    );
}

/// Printed command lines are valid in a shell, for any name of a record.
#[test]
fn printed_commands_are_quoted() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "plain", 1, 1.0);
    let folder = here.path().join("records");
    fs::rename(folder.join("plain"), folder.join("a b")).expect("a folder");
    let said = run(here.path(), &["compare", "a b", "--metric", "iops"]).out;
    assert!(said.contains("disklab run --resume 'a b' --seeds "), "{said}");
    let said = run(here.path(), &["show", "a b"]).out;
    assert!(said.contains("One trial: disklab show 'a b' hdd-raid1+"), "{said}");
    assert_eq!(run(here.path(), &["show", "a b/"]).status, Some(0));
}

/// A run that is 10 % slower in every trial is worse by 10 %, to the digit.
#[test]
fn a_run_against_a_run() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "before", 5, 1.0);
    fixture::seeds_record(here.path(), "after", 5, 1.1);
    let report = json(here.path(), &["compare", "before", "after", "--json"]);
    let cells = report["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 6);
    for cell in cells {
        assert_eq!(
            (&cell["verdict"], &cell["trials"]),
            (&"worse".into(), &serde_json::json!([5, 5])),
            "{cell}"
        );
        let percent = cell["change"]["percent"].as_f64().expect("a number");
        assert!((percent - 100.0 * (1.0 / 1.1 - 1.0)).abs() < 1e-9, "{cell}");
    }
    let same = json(here.path(), &["compare", "before", "before", "--json"]);
    assert!(
        same["cells"].as_array().expect("cells").iter().all(|cell| cell["verdict"] == "same"),
        "{same}"
    );
}

/// Round-robin and devid are equally good on hard disks, and nothing differs from them on the
/// others.
#[test]
fn a_value_is_recommended_with_its_cost() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "eight", 8, 1.0);
    let said = json(here.path(), &["compare", "eight", "--metric", "iops", "--json"]);
    let found = &said["recommendation"];
    assert_eq!((&found["choice"], &found["judged"]), (&"round-robin:4096".into(), &2.into()));
    assert_eq!(found["regrets"][0]["certainly_good"], 2, "{found}");
    assert_eq!(found["regrets"][2]["candidate"], "pid", "{found}");
    assert_eq!(found["regrets"][2]["worst"]["cell"]["array"], "ssd-raid10", "{found}");
    assert_eq!(found["parts"].as_array().expect("parts").len(), 2, "{found}");
    assert!(found["rule"].as_str().is_some_and(|rule| rule.contains("mean regret")), "{found}");
    // Every format begins with the answer, except CSV, which has rows only, and the format of
    // MMTests.
    let answer = "Recommended for these disks and loads: round-robin:4096. It is best or \
                  equal to the best in all 2 comparisons";
    let text = |format: &str| run(here.path(), &["compare", "eight", "--format", format]).out;
    assert!(text("table").starts_with(answer), "{}", text("table"));
    assert!(text("markdown").starts_with(&format!("**{answer}")), "{}", text("markdown"));
    assert!(text("mmtests").contains(answer) && !text("csv").contains(answer));
    let weighed = ["compare", "eight", "--weight", "array=ssd-raid10=0", "--json"];
    assert_eq!(json(here.path(), &weighed)["recommendation"]["judged"], 1);
    for (option, value, message) in [
        ("--weight", "array=ssd-raid=2", "array=ssd-raid10"),
        ("--weight", "array=ssd-raid10=-1", "out of range (0 or more)"),
        ("--weight", "ssd-raid10", "AXIS=VALUE,...=NUMBER"),
        ("--ignore", "arrays", "the axes are array, policy, workload"),
        ("--ignore", "array", "have the same cell and the same seed"),
    ] {
        let said = refused(run(here.path(), &["compare", "eight", option, value]));
        assert!(said.contains(message), "{option} {value}: {said}");
    }
    // One seed decides nothing, and the output says how many would.
    fixture::seeds_record(here.path(), "one", 1, 1.0);
    let one = json(here.path(), &["compare", "one", "--json"]);
    let headline = one["recommendation"]["headline"].as_str().expect("words");
    assert!(headline.contains("(a guess from 1 seed)"), "{headline}");
    let command = one["recommendation"]["to_settle"][0].as_str().expect("a command");
    assert!(command.starts_with("disklab run --resume one --seeds "), "{command}");
}

#[test]
fn too_few_seeds_are_said_to_be() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let compare = run(here.path(), &["compare", fixture::NAME]);
    assert_eq!(compare.status, Some(0));
    assert!(compare.out.contains("too few seeds (at least"), "{}", compare.out);
    let said = compare.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = format!("disklab run --resume {} --seeds 11", fixture::NAME);
    let report = json(here.path(), &["compare", fixture::NAME, "--json"]);
    // Only one command is there to be copied: the recommendation's, which runs more seeds.
    let settling = report["recommendation"]["to_settle"][0].as_str().expect("a command");
    assert!(said.contains(settling), "{settling}: {said}");
    assert_eq!(said.matches("disklab run --resume").count(), 1, "{said}");
    assert_eq!(report["more_seeds"]["commands"], serde_json::json!([command]), "{report}");
    let why = "seed 1 of devid, left out: the guest kernel panicked";
    assert!(compare.out.contains(why), "{}", compare.out);
    for (arguments, message) in [
        (&["compare", "no-such"][..], "no-such"),
        (&["compare", fixture::NAME, "--alpha", "2"], "out of range (more than 0, less than 1)"),
        (&["compare", fixture::NAME, "--smallest-effect", "x"], "per cent"),
        (&["compare", fixture::NAME, "--metric", "speed"], "speed"),
    ] {
        let said = refused(run(here.path(), arguments));
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}

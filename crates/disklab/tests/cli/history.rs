//! Tests `history` on records made here.

use std::fs;
use std::path::Path;

use crate::input::refused;
use crate::{fixture, json, run};

/// Makes six nightly records that are 10 % slower from the fourth on.
fn nights(here: &Path) -> Vec<String> {
    let nights = (1..=6).map(|night| {
        let name = format!("night-{night}");
        let factor = if night < 4 { 1.0 } else { 1.1 };
        let folder = fixture::seeds_record(here, &name, 5, factor);
        let manifest = folder.join("manifest.toml");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        let text = text
            .replace("2026-11-21T21:00:00Z", &format!("2026-11-2{night}T21:00:00Z"))
            .replace("\"7.3.4\"", &format!("\"7.{}.1\"", 12 - night));
        fs::write(&manifest, text).expect("room");
        disklab_testkit::reseal(&folder);
        name
    });
    nights.collect()
}

#[test]
fn a_level_that_begins_is_found_and_judged() {
    let here = tempfile::tempdir().expect("a folder");
    let nights = nights(here.path());
    let document = json(here.path(), &["history", "quick", "--metric", "iops", "--json"]);
    let names: Vec<&str> = document["records"]
        .as_array()
        .expect("records")
        .iter()
        .filter_map(|record| record["name"].as_str())
        .collect();
    assert_eq!(names, nights);
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 6);
    // The order is that of the suite, not that in which trials ended.
    let policies: Vec<_> = cells.iter().map(|cell| cell["cell"]["policy"].clone()).collect();
    assert_eq!(policies[..3], ["pid", "round-robin:4096", "devid"], "{document}");
    for cell in cells {
        let points = cell["points"].as_array().expect("points");
        let of = |key: &str| points.iter().map(|point| point[key].clone()).collect::<Vec<_>>();
        let marks: Vec<bool> =
            of("change_point").iter().filter_map(serde_json::Value::as_bool).collect();
        assert_eq!(marks, [false, false, false, true, false, false], "{cell}");
        assert!(points[0]["verdict"].is_null());
        assert_eq!(
            (&points[2]["verdict"], &points[5]["verdict"]),
            (&"same".into(), &"worse".into())
        );
    }
    let previous = json(
        here.path(),
        &["history", "quick", "--metric", "iops", "--against", "previous", "--json"],
    );
    let points = &previous["cells"][0]["points"];
    assert_eq!((&points[3]["verdict"], &points[4]["verdict"]), (&"worse".into(), &"same".into()));
    let against = json(
        here.path(),
        &["history", "quick", "--metric", "iops", "--against", "night-6", "--json"],
    );
    assert_eq!(against["cells"][0]["points"][0]["verdict"], "better");
}

#[test]
fn tables_and_pictures() {
    let here = tempfile::tempdir().expect("a folder");
    nights(here.path());
    let table = run(here.path(), &["history", "quick", "--metric", "iops"]);
    assert_eq!((table.status, table.err.as_str()), (Some(0), ""));
    for part in ["IOPS of quick in 6 records", "worse", "a new level begins with night-4"] {
        assert!(table.out.contains(part), "{part}: {}", table.out);
    }
    // The level falls at the fourth night.
    assert!(
        table.out.contains("\u{2588}\u{2588}\u{2588}\u{2581}\u{2581}\u{2581}"),
        "{}",
        table.out
    );
    // The first record has the newest kernel.
    let by_kernel = run(here.path(), &["history", "quick", "--metric", "iops", "--by", "kernel"]);
    let head = by_kernel.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(head.contains("from night-6 (7.6.1) to night-1 (7.11.1)"), "{head}");
    let csv = run(here.path(), &["history", "quick", "--metric", "iops", "--format", "csv"]);
    let mut rows = csv::Reader::from_reader(csv.out.as_bytes());
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 36);
    let [change, low, high] = [8, 9, 10].map(|at| rows[5][at].parse::<f64>().expect("a number"));
    assert!(low <= change && change <= high && high < 0.0, "{:?}", rows[5]);
    let svg = run(here.path(), &["history", "quick", "-o", "history.svg"]);
    assert_eq!(svg.status, Some(0), "{}", svg.err);
    let drawn = fs::read_to_string(here.path().join("history.svg")).expect("a picture");
    assert!(drawn.contains("<svg") && drawn.matches("<circle").count() == 36);
    // The next run replaces the picture, and keeps a file that another program wrote.
    assert_eq!(run(here.path(), &["history", "quick", "-o", "history.svg"]).status, Some(0));
    fs::write(here.path().join("mine.svg"), "<svg/>").expect("a file");
    let refused = run(here.path(), &["history", "quick", "-o", "mine.svg"]);
    assert_eq!(refused.status, Some(2), "{}", refused.out);
    assert_eq!(fs::read_to_string(here.path().join("mine.svg")).expect("a file"), "<svg/>");
}

/// A row has the numbers of its comparison, as `compare` does.
#[test]
fn the_numbers_are_those_of_the_change_and_few_seeds_are_said_to_be() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "first", 6, 1.0);
    fixture::seeds_record(here.path(), "second", 6, 0.9);
    let history = ["history", "first", "second", "--metric", "iops", "--json"];
    let history = json(here.path(), &history);
    let compared = json(here.path(), &["compare", "first", "second", "--metric", "iops", "--json"]);
    for (cell, other) in history["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .zip(compared["cells"].as_array().expect("cells"))
    {
        let last = &cell["points"][1];
        assert_eq!(last["compared_with"].is_null(), other["change"].is_null(), "{last} {other}");
        if let (Some(own), Some(base), Some(percent)) = (
            last["estimate"].as_f64(),
            last["compared_with"].as_f64(),
            last["change"]["percent"].as_f64(),
        ) {
            assert!((100.0 * (own / base - 1.0) - percent).abs() < 1e-6, "{last}");
        }
    }
    fixture::seeds_record(here.path(), "few", 1, 0.5);
    let few = run(here.path(), &["history", "first", "few", "--metric", "iops"]);
    assert!(few.out.contains("too few seeds"), "{}", few.out);
    assert!(few.out.contains("disklab run --resume few --seeds "), "{}", few.out);
}

#[test]
fn wrong_input_is_named() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "only", 2, 1.0);
    assert!(
        refused(run(here.path(), &["history", "quick"])).contains("found one record only, only")
    );
    let unknown = refused(run(here.path(), &["history", "qwick"]));
    assert!(unknown.contains("no record is of a suite `"), "{unknown}");
    fixture::seeds_record(here.path(), "second", 2, 1.0);
    let metric = refused(run(here.path(), &["history", "quick", "--metric", "speed"]));
    assert!(metric.contains("none of 2 records has the number speed"), "{metric}");
    let ending = refused(run(here.path(), &["history", "quick", "-o", "x.gif"]));
    assert!(ending.contains("`.gif`"), "{ending}");
    // An unreadable record is left out, and the others are shown.
    fixture::small_record(here.path(), "broken", 0);
    fs::write(here.path().join("records/broken/manifest.toml"), "?").expect("room");
    let done = run(here.path(), &["history", "quick", "--metric", "iops"]);
    assert_eq!(done.status, Some(0));
    assert!(done.err.contains("broken is left out"), "{}", done.err);
}

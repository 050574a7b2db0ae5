//! Tests `report`: pages, texts and pictures of records made here.

use std::fs;

use crate::input::refused;
use crate::{fixture, json, run};

#[test]
fn a_page_beside_the_records() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let report = run(here.path(), &["report", fixture::NAME]);
    let file = format!("{}.html", fixture::NAME);
    assert_eq!(
        (report.status, report.out.trim(), report.err.as_str()),
        (Some(0), file.as_str(), "")
    );
    let page = fs::read_to_string(here.path().join(&file)).expect("a page");
    assert!(page.starts_with("<!-- disklab report -->\n<!DOCTYPE html>"), "{}", &page[..80]);
    assert!(page.contains("the guest kernel panicked: sysrq triggered crash"));
    let link =
        format!("href=\"./records/{}/raw/hdd-raid1+randread-4k-qd1+pid+s1/\"", fixture::NAME);
    assert!(page.contains(&link), "no {link}");
    // The second report replaces the first.
    let again = json(here.path(), &["report", fixture::NAME, "--json"]);
    assert_eq!(again["file"], file.as_str());
    assert_eq!(again["lost"], serde_json::json!([]));
    let left = fs::read_dir(here.path()).expect("a folder").count();
    assert_eq!(left, 2, "the records and the page");
}

#[test]
fn what_is_no_report_stays() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let file = here.path().join("letter.html");
    fs::write(&file, "dear all").expect("a file");
    let said = refused(run(here.path(), &["report", fixture::NAME, "-o", "letter.html"]));
    assert!(said.contains("letter.html exists and is not a report"), "{said}");
    assert_eq!(fs::read_to_string(&file).expect("a file"), "dear all");
}

#[test]
fn two_trials_stand_beside_each_other_and_no_third() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let trial = "hdd-raid1+randread-4k-qd1+pid+s1";
    let with = |times: usize| {
        let trials = ["--trial", trial].repeat(times);
        run(here.path(), &[&["report", fixture::NAME, "-o", "-"][..], &trials].concat())
    };
    assert_eq!(with(2).status, Some(0));
    let said = refused(with(3));
    assert!(said.contains("--trial: the page shows at most two trials"), "{said}");
}

#[test]
fn a_text_and_a_picture() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "eight", 8, 1.0);
    let text = run(here.path(), &["report", "eight", "--format", "markdown", "-o", "-"]);
    assert_eq!((text.status, text.err.as_str()), (Some(0), ""));
    assert!(
        text.out.contains("round-robin:4096 compared with pid: better in 2 of 2 comparisons"),
        "{}",
        text.out
    );
    let arguments = [
        "report",
        "eight",
        "--format",
        "svg",
        "--panel",
        "bars/iops",
        "--cell",
        "array=ssd-raid10",
        "-o",
        "-",
    ];
    let picture = run(here.path(), &arguments);
    assert_eq!((picture.status, picture.err.as_str()), (Some(0), ""));
    let unsaid = run(here.path(), &[&arguments[..6], &["-o", "-"]].concat());
    let said = "randread-4k-qd1, one of 2 cells; --cell array=...,workload=... chooses another\n";
    assert!(unsaid.err.ends_with(said) && unsaid.err.lines().count() == 1, "{}", unsaid.err);
    assert!(picture.out.contains(">IOPS: ssd-raid10, randread-4k-qd1</title>"), "{}", picture.out);
    assert!(picture.out.trim_end().ends_with("</svg>"), "{}", picture.out);
}

/// Each file is replaced by one of its format, as any report is.
#[test]
fn the_ending_of_the_file_chooses_the_format() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "eight", 8, 1.0);
    for (file, begin) in [
        ("x.html", &b"<!-- disklab report -->\n<!DOCTYPE html>"[..]),
        ("x.md", b"<!-- disklab report -->\n## "),
        ("x.svg", b"<!-- disklab report -->\n<svg "),
        ("x.PNG", b"\x89PNG\r\n\x1a\n"),
        ("x.csv", b"metric,unit,choice,shown,"),
        ("plain", b"<!-- disklab report -->\n<!DOCTYPE html>"),
    ] {
        let first = run(here.path(), &["report", "eight", "-o", file]);
        assert_eq!(first.status, Some(0), "{file}: {}", first.err);
        let written = fs::read(here.path().join(file)).expect("a file");
        assert!(written.starts_with(begin), "{file}");
        let again = run(here.path(), &["report", "eight", "-o", file]);
        assert_eq!(again.status, Some(0), "{file}: {}", again.err);
        assert!(written == fs::read(here.path().join(file)).expect("a file"), "{file}");
    }
    let text = run(here.path(), &["report", "eight", "--format", "md", "-o", "notes.txt"]);
    assert_eq!(text.status, Some(0), "{}", text.err);
    let titled = ["report", "eight", "--title", "<Mine>", "--format", "md", "-o", "-"];
    assert!(run(here.path(), &titled).out.contains("## \\<Mine\\>\n"));
    fs::write(here.path().join("photo.png"), b"\x89PNG\r\n\x1a\nof somebody").expect("a file");
    let said = refused(run(here.path(), &["report", "eight", "-o", "photo.png"]));
    assert!(said.contains("exists and is not a report"), "{said}");
}

#[test]
fn runs_against_a_run() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "before", 5, 1.0);
    fixture::seeds_record(here.path(), "after", 5, 1.1);
    let text = run(here.path(), &["report", "before", "after", "--format", "markdown", "-o", "-"]);
    assert!(
        text.out.contains("IOPS of after compared with before: worse in 6 of 6 comparisons"),
        "{}",
        text.out
    );
    assert!(text.out.contains("| | before | after |"), "{}", text.out);
}

#[test]
fn the_help_names_panels_and_metrics() {
    let here = tempfile::tempdir().expect("a folder");
    let help = run(here.path(), &["report", "--help"]).out;
    for word in ["p99.9", "question", "over-time", "range, tail"] {
        assert!(help.contains(word), "no {word}: {help}");
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    for (arguments, message) in [
        (&["report", "no-such"][..], "no-such"),
        (&["report", fixture::NAME, "--metric", "speed"], "speed"),
        (&["report", fixture::NAME, "--baseline", "policy=none"], "policy none"),
        (&["report", fixture::NAME, "--trial", "x+s1"], "x+s1"),
        (&["report", fixture::NAME, "-o", "x.pdf"], "known ones are .html, .md, .svg, .png, .csv"),
        (
            &["report", fixture::NAME, "-o", "x.svg", "--format", "html"],
            "its ending says svg, and --format says html",
        ),
        (&["report", fixture::NAME, "--format", "svg", "--panel", "x"], "bars, sweep-lines"),
        (&["report", fixture::NAME, "--format", "svg", "--panel", "bars/x"], "iops"),
        (
            &[
                "report",
                fixture::NAME,
                "--format",
                "svg",
                "--panel",
                "bars",
                "--cell",
                "array=nope",
            ],
            "the values are ssd-raid10, hdd-raid1",
        ),
        (
            &["report", fixture::NAME, "--format", "svg", "--panel", "bars", "--cell", "foo=nope"],
            "array",
        ),
        (&["report", fixture::NAME, fixture::NAME], "is named twice"),
        (&["report", fixture::NAME, "records/quick-20261121-210000/"], "is named twice"),
        (&["report", fixture::NAME, "--panel", "bars"], "--format svg or png"),
        (&["report", fixture::NAME, "--panel", "bars", "-o", "x.csv"], "--format svg or png"),
    ] {
        let said = refused(run(here.path(), arguments));
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}

//! Tests a large record, with as many trials as the whole read-policy suite.

use super::synthetic::write_record;
use super::{between, html};

/// Axes with as many cells as the suite read-policy.
const READ_POLICY: [(&str, &[&str]); 5] = [
    ("array", &["hdd-raid1", "hdd-8-mixed", "ssd-raid10"]),
    ("background", &["none", "defrag"]),
    ("workload", &["randread-4k-qd1", "randread-4k-qd32", "seqread-1m-qd16"]),
    ("jobs", &["1", "4"]),
    ("policy", &["pid", "round-robin", "latency", "latency-rr", "queue"]),
];

#[test]
fn the_whole_suite_is_small_enough_to_be_sent_around() {
    let place = tempfile::tempdir().expect("a folder");
    write_record(place.path(), &READ_POLICY, 4, 4).expect("a record");
    let page = html(place.path());
    let figures = page.matches("<figure").count();
    assert!(figures >= 36 * 7, "{figures} pictures");
    assert!(page.len() < 3_200_000, "{} bytes", page.len());
}

/// A single write at 256 GiB is named and marked, and does not flatten the reads below 64 GiB.
#[test]
fn addresses_go_where_the_requests_are() {
    let place = tempfile::tempdir().expect("a folder");
    let axes: [(&str, &[&str]); 3] =
        [("array", &["nine"]), ("workload", &["randread-4k-qd1"]), ("policy", &["pid", "queue"])];
    write_record(place.path(), &axes, 2, 9).expect("a record");
    let page = html(place.path());
    let picture = between(&page, "id=\"over-time-pair-a-addresses\"", "</figure>");
    assert!(
        picture.contains("beyond their edges (▲ ▼): vd")
            && picture.contains(" 1 write at 256 GiB."),
        "{picture}"
    );
    assert_eq!(picture.matches(">64</text>").count(), 9, "{picture}");
    assert!(picture.contains(">▲ 1</text>"), "{picture}");
    // Nine disks can be distinguished without colours.
    let shares = between(&page, "data-chart=\"shares\"", "</svg>");
    assert!((1..9).all(|hatch| shares.contains(&format!("url(#hatch-{hatch})"))), "{shares}");
}

#[test]
fn all_that_certainly_differ_are_explained_the_best_one_first() {
    let place = tempfile::tempdir().expect("a folder");
    let policies: &[&str] = &["pid", "round-robin", "latency", "latency-rr", "queue"];
    let axes = [
        ("array", &["hdd-raid1"][..]),
        ("workload", &["randread-4k-qd1"][..]),
        ("policy", policies),
    ];
    write_record(place.path(), &axes, 4, 2).expect("a record");
    let page = html(place.path());
    let why = between(&page, "data-panel=\"why\"", "</section>");
    let worse = "compared with pid: <span class=\"verdict-worse\">worse</span>";
    assert!(why.contains(&format!("<p>IOPS of latency {worse}.</p>")), "{why}");
    for further in ["latency-rr", "queue"] {
        let summary = format!("<details><summary>IOPS of {further} {worse}</summary>");
        assert!(why.contains(&summary), "{why}");
    }
    assert!(
        why.contains("The verdict against pid is neither better nor worse for round-robin."),
        "{why}"
    );
    let heads = ["", "pid", "latency", "latency-rr", "queue"]
        .map(|name| format!("<th scope=\"col\">{name}</th>"));
    assert!(why.contains(&heads.concat()), "{why}");
}

//! A large record: as many trials as the whole read-policy suite.

use super::html;
use super::synthetic::write_record;

#[test]
fn the_whole_suite_is_small_enough_to_be_sent_around() {
    let place = tempfile::tempdir().expect("a folder");
    let axes: [(&str, &[&str]); 5] = [
        ("array", &["hdd-raid1", "hdd-8-mixed", "ssd-raid10"]),
        ("background", &["none", "defrag"]),
        ("workload", &["randread-4k-qd1", "randread-4k-qd32", "seqread-1m-qd16"]),
        ("jobs", &["1", "4"]),
        ("policy", &["pid", "round-robin", "latency", "latency-rr", "queue"]),
    ];
    write_record(place.path(), &axes, 4).expect("a record");
    let page = html(place.path());
    let figures = page.matches("<figure").count();
    assert!(figures >= 36 * 7, "{figures} pictures");
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

//! Tests damaged records: the readable part is shown, and the rest is reported as missing.

use std::fs;
use std::path::Path;

use super::synthetic::write_record;
use super::{between, copy, html, markdown};

const TRIAL: &str = "raw/hdd-raid1+none+randread-4k-qd1+1+pid+s1";

fn lost(page: &str) -> &str {
    between(page, "id=\"lost\"", "</section>")
}

fn latency(page: &str) -> &str {
    between(page, "id=\"latency\"", "</section>")
}

fn change(path: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).expect("text");
    fs::write(path, change(text)).expect("written");
}

#[test]
fn a_line_that_was_cut_off() {
    let record = copy();
    change(&record.path().join("trials.jsonl"), |text| text[..text.len() - 300].to_owned());
    let page = html(record.path());
    assert!(lost(&page).contains("the last line of trials.jsonl is incomplete"), "{}", lost(&page));
    assert!(page.contains("15 of 18 trials ok, 1 failed, 2 not run"));
    // Each reason appears once.
    let matrix = between(&page, "id=\"matrix\"", "</section>");
    assert!(matrix.contains(": not run</div>") && !matrix.contains("has not run"), "{matrix}");
}

#[test]
fn a_line_in_the_middle() {
    let record = copy();
    change(&record.path().join("trials.jsonl"), |text| {
        text.replacen("\"schema\":1", "\"schema\":?", 3)
    });
    let page = html(record.path());
    assert_eq!(lost(&page).matches("<li>").count(), 3, "{}", lost(&page));
    assert!(lost(&page).contains("line 2: not the outcome of a trial"), "{}", lost(&page));
    assert!(page.contains("13 of 18 trials ok, 1 failed, 4 not run"));
    assert!(markdown(record.path()).contains("**What could not be read**"));
}

#[test]
fn noise_is_told_in_a_few_lines() {
    let record = copy();
    change(&record.path().join("trials.jsonl"), |text| text + &"noise\n".repeat(400));
    let page = html(record.path());
    assert_eq!(lost(&page).matches("<li>").count(), 21, "{}", lost(&page));
    assert!(lost(&page).contains("380 more lines like these"), "{}", lost(&page));
    assert!(page.contains("16 of 18 trials ok, 1 failed, 1 not run"));
}

#[test]
fn outcomes_that_no_manifest_lists() {
    let record = copy();
    change(&record.path().join("trials.jsonl"), |text| text.replacen("+pid+s1\"", "+pid+s9\"", 1));
    let page = html(record.path());
    assert!(
        lost(&page).contains("+pid+s9, which trials.jsonl has an outcome of"),
        "{}",
        lost(&page)
    );
}

#[test]
fn no_manifest() {
    let record = copy();
    fs::remove_file(record.path().join("manifest.toml")).expect("removed");
    let page = html(record.path());
    assert!(lost(&page).contains("manifest.toml"), "{}", lost(&page));
    assert!(page.contains("16 of 17 trials ok, 1 failed"));
    assert!(latency(&page).contains("<figure"));
    assert!(page.contains("No verdicts: "));
}

#[test]
fn a_report_of_fios_that_cannot_be_read_and_one_that_is_gone() {
    let record = copy();
    change(&record.path().join(TRIAL).join("fio.json"), |text| text[..text.len() / 2].to_owned());
    let gone = record.path().join(TRIAL.replace("s1", "s2"));
    fs::remove_dir_all(gone).expect("removed");
    let page = html(record.path());
    let said = latency(&page);
    assert!(
        said.contains("pid, seed 1: cannot read ") && said.contains("the report is cut short"),
        "{said}"
    );
    assert!(said.contains("pid, seed 2: cannot read ") && said.contains("No such file"), "{said}");
    assert_eq!(said.matches("<figure").count(), 4);
}

/// The curves show the few percentiles of the lines, and the page says so.
#[test]
fn no_raw_output_at_all() {
    let record = copy();
    fs::remove_dir_all(record.path().join("raw")).expect("removed");
    let page = html(record.path());
    let said = latency(&page);
    assert!(said.contains("pid: no histograms; the marks are medians over the seeds"), "{said}");
    assert_eq!(said.matches("<figure").count(), 4);
}

#[test]
fn no_line_yet() {
    let record = copy();
    fs::write(record.path().join("trials.jsonl"), "").expect("written");
    let page = html(record.path());
    assert!(page.contains("0 of 18 trials ok, 18 not run"));
    assert!(latency(&page).contains("No trial has latencies"));
    markdown(record.path());
}

/// A trial that has not run yet is not a failure, and the page says that more trials will come.
#[test]
fn a_run_that_goes_on() {
    let record = copy();
    let lines = record.path().join("trials.jsonl");
    change(&lines, |text| text.lines().take(5).fold(String::new(), |all, line| all + line + "\n"));
    let left = html(record.path());
    assert!(left.contains("unfinished: 5 of 18 trials have ended. It was not running"), "{left}");
    assert!(left.contains("disklab run --resume "));
    assert!(between(&left, "id=\"matrix\"", "</section>").contains(">not run</span>"));
    let lock = fs::File::create(record.path().join("lock")).expect("a file");
    lock.lock().expect("nobody has it");
    let (page, text) = (html(record.path()), markdown(record.path()));
    for made in [&page, &text] {
        assert!(
            made.contains("unfinished: 5 of 18 trials have ended. It was still running"),
            "{made}"
        );
    }
    let matrix = between(&page, "id=\"matrix\"", "</section>");
    assert!(matrix.contains(">not yet</span>") && !matrix.contains("✕"), "{matrix}");
    assert!(!between(&page, "id=\"bars\"", "</section>").contains("✕ </span>"));
    assert!(text.contains("not yet") && !text.contains("✕"), "{text}");
    let open = between(&page, "class=\"group\" id=\"bars-", "\"");
    assert!(
        page.contains(&format!("id=\"bars-{open}\" open")),
        "the first group is open, as it has results"
    );
}

/// A truncated trace is drawn as far as it goes, beside a complete one, and the page says so.
#[test]
fn a_trace_that_was_cut_off() {
    let record = copy();
    let path = record.path().join(TRIAL).join("requests.trace");
    let bytes = fs::read(&path).expect("the fixture has this trace");
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
    let page = html(record.path());
    let said = between(&page, "id=\"over-time\"", "</section>");
    assert!(said.contains("+pid+s1: its trace is drawn as far as it goes, "), "{said}");
    assert_eq!(
        said.matches(">not in the trace</text>").count(),
        5,
        "one in each picture of that trial"
    );
    let captions = said
        .split("<figcaption>")
        .skip(1)
        .filter_map(|caption| caption.split("</figcaption>").next());
    assert_eq!(
        captions
            .filter(|caption| caption.contains("pid+s1, cut off: its trace ends after "))
            .count(),
        5
    );
    // The trace lacks even its beginning.
    fs::write(&path, &bytes[..40]).expect("written");
    let page = html(record.path());
    let said = between(&page, "id=\"over-time\"", "</section>");
    assert!(said.contains("its trace is cut off before the measured phase: "), "{said}");
}

/// Two damaged traces do not affect the others. Each is named once, and missing traces are reported
/// separately.
#[test]
fn traces_that_cannot_be_read_are_replaced_by_others() {
    let place = tempfile::tempdir().expect("a folder");
    let axes: [(&str, &[&str]); 3] =
        [("array", &["one"]), ("workload", &["randread-4k-qd1"]), ("policy", &["pid", "queue"])];
    write_record(place.path(), &axes, 3, 2).expect("a record");
    let trace = |trial: &str| place.path().join("raw").join(trial).join("requests.trace");
    let bytes = fs::read(trace("one+randread-4k-qd1+pid+s1")).expect("a trace");
    fs::write(trace("one+randread-4k-qd1+pid+s1"), &bytes[..8]).expect("written");
    fs::write(trace("one+randread-4k-qd1+queue+s1"), [0x5a; 4000]).expect("written");
    fs::remove_file(trace("one+randread-4k-qd1+queue+s2")).expect("removed");
    let page = html(place.path());
    let said = between(&page, "id=\"over-time\"", "</section>");
    assert!(
        said.contains(
            "data-a=\"one+randread-4k-qd1+pid+s2\" data-b=\"one+randread-4k-qd1+queue+s3\""
        ),
        "{said}"
    );
    assert!(said.contains("3 trials cannot be shown"), "{said}");
    for trial in [
        "one+randread-4k-qd1+pid+s1",
        "one+randread-4k-qd1+queue+s1",
        "one+randread-4k-qd1+queue+s2",
    ] {
        assert_eq!(said.matches(trial).count(), 1, "{trial}: {said}");
    }
    assert!(said.contains("one+randread-4k-qd1+queue+s2: no trace of it was recorded"), "{said}");
    // The closing record says that there was a trace.
    let begin = r#"{"schema":1,"complete":true,"virtual_ns":9,"requests":2,"phases":[]"#;
    let json = format!("{begin},\"trace_sha256\":\"00\"}}");
    let closing =
        format!("{json}\nsha256 {}\n", disklab_protocol::digest::sha256_hex(json.as_bytes()));
    fs::write(trace("one+randread-4k-qd1+queue+s2").with_file_name("disks.json"), closing)
        .expect("written");
    let page = html(place.path());
    assert!(
        page.contains("one+randread-4k-qd1+queue+s2: its trace is gone from its raw output"),
        "{page}"
    );
}

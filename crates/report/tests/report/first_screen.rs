//! Tests the first screen: the title, the forest plot, the table of numbers, and the same as CSV.

use disklab_report::chart::Provenance;
use disklab_report::{Records, ReportOptions, ReportSource, markdown, numbers, page, pictures};
use disklab_testkit::format::{FormatRow, rows};

use super::synthetic::write_record;
use super::{between, html, with_source};

const POLICIES: (&str, &[&str]) = ("policy", &["pid", "round-robin", "latency", "latency-rr"]);
const WORKLOADS: (&str, &[&str]) = ("workload", &["randread-4k-qd1", "seqread-1m-qd16"]);

fn written(axes: &[(&str, &[&str])], seeds: u32) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a folder");
    write_record(place.path(), axes, seeds, 2).expect("a record");
    place
}

/// Writes into the manifest that the command line set this.
fn set(place: &tempfile::TempDir, setting: &str) {
    let path = place.path().join("manifest.toml");
    let manifest = std::fs::read_to_string(&path).expect("text");
    let changed = manifest.replace("set = []", &format!("set = [{setting:?}]"));
    assert_ne!(changed, manifest, "no place for settings");
    std::fs::write(&path, changed).expect("written");
    disklab_testkit::reseal(place.path());
}

#[test]
fn every_cell_and_choice_has_a_labelled_row() {
    let place = written(&[("array", &["hdd-raid1", "ssd-raid10"]), WORKLOADS, POLICIES], 4);
    let page = html(place.path());
    let forest = between(&page, "data-chart=\"forest\"", "</svg>");
    assert_eq!(forest.matches("<g class=\"tt\">").count(), 4 * 3);
    for text in ["hdd-raid1,</text>", "randread-4k-qd1</text>", "ssd-raid10,</text>"] {
        assert_eq!(forest.matches(text).count(), 2, "{text}: {forest}");
    }
    // Each row has its text; these verdicts are certain.
    assert_eq!(forest.matches(" % worse</text>").count(), 8, "{forest}");
    assert!(forest.contains("IOPS: change against pid") && forest.contains("more is better"));
    // The answer is first, then the plot, then the table, then the conditions.
    let places = [
        "class=\"first\"",
        "data-chart=\"forest\"",
        "class=\"scroll numbers-of-cells\"",
        ">Conditions<",
    ];
    let main = &page[page.find("<main").expect("a main part")..];
    let places = places.map(|part| main.find(part).unwrap_or_else(|| panic!("no {part}")));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn many_rows_are_folded_by_array_and_none_is_lost() {
    let arrays: Vec<String> = (0..25).map(|number| format!("array-{number}")).collect();
    let arrays: Vec<&str> = arrays.iter().map(String::as_str).collect();
    let place = written(&[("array", &arrays), WORKLOADS, POLICIES], 3);
    let page = html(place.path());
    let question = between(&page, "id=\"question\"", "</section>");
    assert_eq!(question.matches("data-chart=\"forest\"").count(), 25);
    assert_eq!(question.matches("<details class=\"group\"").count(), 25);
    let rows = question.matches("<g class=\"tt\">").count();
    assert_eq!(rows, 25 * 2 * 3);
    with_source(place.path(), |source| {
        let cell = [("array".to_owned(), "array-7".to_owned())];
        let found = pictures::find(source, "question", Some("forest"), &cell).expect("a picture");
        assert_eq!((found.chart.table.rows.len(), found.others.len()), (6, 0));
    });
}

/// Cells are numbered along the axes, and each next one is 2 % worse. If the policies come first,
/// the second policy is worse by as many steps as there are arrays.
#[test]
fn the_best_of_a_row_is_marked_as_surely_as_it_is_known() {
    let arrays: Vec<String> = (0..10).map(|number| format!("array-{number}")).collect();
    let arrays: Vec<&str> = arrays.iter().map(String::as_str).collect();
    let two: (&str, &[&str]) = ("policy", &["pid", "queue"]);
    let axes = [two, ("array", &arrays), ("workload", &["randread-4k-qd1"])];
    let place = written(&axes, 8);
    let page = html(place.path());
    let table = between(&page, "class=\"scroll numbers-of-cells\"", "</table>");
    assert_eq!(table.matches("<td data-standing=\"best\"><b>").count(), 10, "{table}");
    assert_eq!(table.matches("data-standing=").count(), 10, "{table}");
    let text = super::markdown(place.path());
    assert!(text.contains("Bold: the verdicts say"), "{text}");
    assert!(text.contains("| array-3, randread-4k-qd1 | **"), "{text}");
    let one = written(&axes, 1);
    let page = html(one.path());
    let table = between(&page, "class=\"scroll numbers-of-cells\"", "</table>");
    assert_eq!(table.matches("data-standing=\"leads\"").count(), 10, "{table}");
    assert!(!table.contains("<b>"), "{table}");
}

#[test]
fn numbers_are_a_file_of_their_own() {
    let place = written(&[("array", &["a,b"]), WORKLOADS, POLICIES], 4);
    let csv = with_source(place.path(), numbers::csv);
    assert!(csv.starts_with(&numbers::csv_begin()));
    let rows = rows("### A report's table");
    let documented: Vec<&str> = rows.iter().flat_map(FormatRow::keys).collect();
    assert_eq!(documented.join(","), numbers::csv_begin(), "docs/FORMAT.md");
    let lines: Vec<&str> = csv.lines().collect();
    let metrics = 5;
    assert_eq!(lines.len(), 1 + metrics * 2 * 4);
    assert!(lines[0].ends_with(",verdict,standing,array,workload"), "{}", lines[0]);
    assert!(lines[1].starts_with("IOPS,1/s,pid,"), "{}", lines[1]);
    assert!(lines[1].ends_with(",\"a,b\",randread-4k-qd1"), "{}", lines[1]);
    let fields: Vec<&str> = lines[3].split(',').collect();
    assert_eq!((fields[2], fields[7], fields[8], fields[12]), ("latency", "4", "pid", "worse"));
    let [change, low, high] = [9, 10, 11].map(|at| fields[at].parse::<f64>().expect("a number"));
    assert!(low < change && change < high && high < 0.0, "{low} {change} {high}");
}

/// The times of an axis count, and not those that the suite has for other trials.
#[test]
fn the_time_that_was_measured_is_the_trials_own() {
    let times = ("runtime", &["10ms", "5s"][..]);
    let place = written(&[("array", &["a"]), WORKLOADS, times, POLICIES], 1);
    let page = html(place.path());
    assert!(page.contains("for 10ms and 5s; in virtual time"), "{page}");
    assert!(!page.contains("on hard disks"));
}

#[test]
fn the_title_is_of_the_axes_that_were_set() {
    let place = written(&[("array", &["my-nas"]), WORKLOADS, POLICIES], 1);
    assert!(html(place.path()).contains("<h1>Which?</h1>"));
    set(&place, "seeds=3");
    assert!(html(place.path()).contains("<h1>Which?</h1>"));
    let place = written(&[("array", &["my-nas"]), WORKLOADS, POLICIES], 1);
    set(&place, "array=my-nas");
    let made = "Which policy is best for randread-4k-qd1 and seqread-1m-qd16 on my-nas: pid, \
                round-robin, latency or latency-rr?";
    assert!(html(place.path()).contains(&format!("<h1>{made}</h1>")));
    assert!(super::markdown(place.path()).contains(&format!("## {made}\n")));
    let records = Records::open(&[place.path().to_owned()]).expect("a record");
    let title = Some("<b>Mine</b> & *yours*".to_owned());
    let wanted = ReportOptions { title, ..super::wanted() };
    let source = ReportSource::new(&records, &wanted).expect("a report");
    let page = page::html(&source);
    assert!(page.contains("<h1>&lt;b&gt;Mine&lt;/b&gt; &amp; *yours*</h1>"));
    assert!(page.contains("<title>&lt;b&gt;Mine&lt;/b&gt; &amp; *yours* – disklab</title>"));
    let text = markdown::markdown(&source);
    assert!(text.contains("## \\<b\\>Mine\\</b\\> &amp; \\*yours\\*\n"), "{text}");
}

#[test]
fn disks_have_their_models_in_every_picture() {
    let place = written(&[("array", &["hdd-raid1"]), POLICIES], 2);
    let page = html(place.path());
    for (panel, times) in [("over-time", 8), ("served", 2)] {
        let id = format!("<section class=\"panel\" id=\"{panel}\"");
        let body = between(&page, &id, "</section>");
        let named = body.matches(">vdb nas-4tb").count();
        assert!(named >= times, "{panel}: {named}");
        assert!(!body.contains(">vdb</text>"), "{panel}");
    }
    let text = super::markdown(place.path());
    assert!(text.contains("hdd-raid1: vda nas-4tb, vdb nas-4tb"), "{text}");
}

#[test]
fn a_picture_is_the_same_in_pixels() {
    let place = written(&[("array", &["hdd-raid1"]), WORKLOADS, POLICIES], 4);
    let png = with_source(place.path(), |source| {
        let chart = pictures::find(source, "question", None, &[]).expect("a picture").chart;
        let svg = chart.standalone(&Provenance {
            records: "r".to_owned(),
            command: "disklab report r".to_owned(),
            disklab: "0.1.0".to_owned(),
        });
        disklab_report::chart::rendered::png(&svg, "disklab report r").expect("pixels")
    });
    assert!(disklab_report::chart::rendered::is_report(&png));
    let [width, height] =
        [16, 20].map(|at| u32::from_be_bytes(png[at..at + 4].try_into().expect("4")));
    assert!(width > 900 && height > 200, "{width} by {height}");
}

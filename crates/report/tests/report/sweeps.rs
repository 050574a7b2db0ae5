//! Tests records with numeric axes.

use disklab_report::{Piece, Records, ReportOptions, ReportSource, panels, pictures};

use super::synthetic::write_record;
use super::{between, html, old, wanted, with_source};

const POLICIES: (&str, &[&str]) = ("policy", &["pid", "queue"]);
const RATIOS: (&str, &[&str]) = ("disk.2.seek", &["4", "1", "2"]);

fn page(axes: &[(&str, &[&str])], seeds: u32) -> String {
    let place = tempfile::tempdir().expect("a folder");
    write_record(place.path(), axes, seeds, 2).expect("a record");
    html(place.path())
}

#[test]
fn a_range_has_lines_and_a_sentence_on_its_winner() {
    let page = page(&[RATIOS, POLICIES], 1);
    let lines = between(&page, "data-panel=\"sweep-lines\"", "</section>");
    // The range begins at the least value, for any order of the suite.
    let first = "over disk.2.seek: pid is first everywhere, from 1 to 4 (one seed each: another \
                 seed may give another result).";
    for metric in ["IOPS", "p99"] {
        assert!(lines.contains(&format!("{metric} {first}")), "{lines}");
    }
    let rows: Vec<&str> =
        lines.split("<th scope=\"row\">").skip(1).take(3).map(|row| &row[..1]).collect();
    assert_eq!(rows, ["1", "2", "4"]);
    let front = between(&page, "data-panel=\"sweep-front\"", "</section>");
    // The first cell has the most IOPS and the least latency of all.
    assert!(front.contains("on the front pid, disk.2.seek 4"), "{front}");
    let why = "Only disk.2.seek is numeric, and two such axes are needed.";
    assert!(!page.contains("sweep-map") && !page.contains(why));
    let place = tempfile::tempdir().expect("a folder");
    write_record(place.path(), &[RATIOS, POLICIES], 1, 2).expect("a record");
    with_source(place.path(), |source| {
        assert_eq!(pictures::find(source, "sweep-map", None, &[]).err().as_deref(), Some(why));
    });
}

#[test]
fn seeds_that_overlap_leave_the_winner_open() {
    let page = page(&[RATIOS, POLICIES], 3);
    let lines = between(&page, "data-panel=\"sweep-lines\"", "</section>");
    assert!(lines.contains("no choice is first in all of its seeds anywhere"), "{lines}");
}

#[test]
fn two_ranges_are_a_map_for_each_choice() {
    let page = page(&[RATIOS, ("workload.iodepth", &["1", "8", "32"]), POLICIES], 1);
    let map = between(&page, "data-panel=\"sweep-map\"", "</section>");
    assert_eq!(map.matches("<details class=\"group\"").count(), 2, "{map}");
    assert_eq!(map.matches("<rect").count(), 2 * 2 * 9, "each choice, IOPS and another number");
    assert!(map.contains("<title>disk.2.seek 4, workload.iodepth 1: 9524</title>"), "{map}");
}

/// Each panel draws the pictures that it declares.
#[test]
fn the_pictures_of_sweeps_are_named() {
    fn kinds(pieces: &[Piece], found: &mut Vec<String>) {
        for piece in pieces {
            match piece {
                Piece::Words(_) => {}
                Piece::Chart(chart) => found.push(chart.kind.clone()),
                Piece::Section(section) => kinds(&section.pieces, found),
            }
        }
    }
    let place = tempfile::tempdir().expect("a folder");
    let axes = [RATIOS, ("workload.iodepth", &["1", "8", "32"][..]), POLICIES];
    write_record(place.path(), &axes, 1, 2).expect("a record");
    with_source(place.path(), |source| {
        for panel in panels::in_order().into_iter().filter(|panel| panel.name.starts_with("sweep-"))
        {
            let mut found = Vec::new();
            kinds(&(panel.draw)(source).expect("something to show"), &mut found);
            assert!(!found.is_empty(), "{}", panel.name);
            assert!(
                found.iter().all(|kind| panel.pictures.contains(kind.as_str())),
                "{}: {found:?}",
                panel.name
            );
        }
    });
}

#[test]
fn without_numbers_there_is_no_sweep() {
    assert!(!html(&old()).contains("sweep-"));
    with_source(&old(), |source| {
        for panel in ["sweep-lines", "sweep-map", "sweep-front"] {
            let why = pictures::find(source, panel, None, &[]).err();
            assert_eq!(why.as_deref(), Some("No axis of these cells is numeric."), "{panel}");
        }
    });
}

/// No two cells differ in one number only.
#[test]
fn samples_are_marks_with_a_sentence_on_their_winner() {
    let place = tempfile::tempdir().expect("a folder");
    write_record(
        place.path(),
        &[RATIOS, ("memory", &["256MiB", "1GiB", "512MiB"]), POLICIES],
        1,
        2,
    )
    .expect("a record");
    // The samples are three cells of the grid.
    let samples = ["4+1GiB+", "1+512MiB+", "2+256MiB+"];
    for (name, mark) in [("manifest.toml", "\""), ("trials.jsonl", "{\"schema\":1,\"trial\":\"")] {
        let file = place.path().join(name);
        let text = std::fs::read_to_string(&file).expect("a file");
        let is_other = |line: &&str| {
            line.trim_start().strip_prefix(mark).is_some_and(|rest| {
                rest.contains("+s1\"") && !samples.iter().any(|sample| rest.starts_with(sample))
            })
        };
        let kept: Vec<&str> = text.lines().filter(|line| !is_other(line)).collect();
        assert_eq!(text.lines().count() - kept.len(), 12, "{name}: {text}");
        std::fs::write(&file, kept.join("\n") + "\n").expect("a file");
    }
    disklab_testkit::reseal(place.path());
    let page = html(place.path());
    let panel = between(&page, "data-panel=\"sweep-lines\"", "</section>");
    assert!(
        panel.contains(
            "IOPS over disk.2.seek: pid is first in 3 of 3 samples, from 1 to 4 (one seed each"
        ),
        "{panel}"
    );
    assert!(
        panel.contains(
            "IOPS over memory: pid is first in 3 of 3 samples, from 256MiB to 1GiB (one seed each"
        ),
        "{panel}"
    );
    assert!(panel.contains("one kind of mark for each policy"), "{panel}");
    let rows: Vec<&str> =
        panel.split("<th scope=\"row\">").skip(1).take(3).map(|row| &row[..1]).collect();
    assert_eq!(rows, ["1", "2", "4"]);
}

/// For any order of the axes, a line shows a choice along a range.
#[test]
fn ranges_are_not_what_is_compared_where_something_else_is() {
    let place = tempfile::tempdir().expect("a folder");
    write_record(place.path(), &[("scheduler", &["none", "bfq"]), RATIOS], 1, 2).expect("a record");
    without_baseline(place.path());
    let page = html(place.path());
    let lines = between(&page, "data-panel=\"sweep-lines\"", "</section>");
    assert!(lines.contains("one line for each scheduler"), "{lines}");
}

/// The verdicts on all pairs, which the page also has, are no verdicts against the baseline.
#[test]
fn a_baseline_that_is_not_the_first_choice_has_no_verdict() {
    let place = tempfile::tempdir().expect("a folder");
    let axes: [(&str, &[&str]); 3] = [("array", &["two"]), ("workload", &["read"]), POLICIES];
    write_record(place.path(), &axes, 3, 2).expect("a record");
    let records = Records::open(&[place.path().to_owned()]).expect("a record");
    let baseline = Some(("policy".to_owned(), "queue".to_owned()));
    let options = ReportOptions { baseline, ..wanted() };
    let source = ReportSource::new(&records, &options).expect("a report");
    let [group] = source.groups.as_slice() else { panic!("one array") };
    let judged = |choice| source.comparison(group, choice, &source.metrics[0]).is_some();
    assert_eq!((judged("pid"), judged("queue")), (true, false));
}

fn without_baseline(record: &std::path::Path) {
    let file = record.join("manifest.toml");
    let text = std::fs::read_to_string(&file).expect("a manifest");
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("baseline")).collect();
    assert_eq!(kept.len() + 1, text.lines().count(), "{text}");
    std::fs::write(&file, kept.join("\n") + "\n").expect("a file");
}

#[test]
fn a_gist_has_the_sentences_too() {
    let place = tempfile::tempdir().expect("a folder");
    write_record(place.path(), &[("array", &["two"]), RATIOS, POLICIES], 1, 2).expect("a record");
    with_source(place.path(), |source| {
        let text = disklab_report::markdown::markdown(source);
        assert!(
            text.contains(
                "### Over a range\n\n- IOPS over disk.2.seek (two): pid is first everywhere"
            ),
            "{text}"
        );
    });
    with_source(&old(), |source| {
        assert!(!disklab_report::markdown::markdown(source).contains("Over a range"));
    });
}

//! Tests the old record: it has all panels and all pictures, and loads nothing from the network.

use disklab_report::chart::{Provenance, ink};
use disklab_report::{Piece, panels, pictures};

use super::{between, copy, html, markdown, old, with_source};

#[test]
fn an_old_record_has_every_panel() {
    let page = html(&old());
    // None of its axes is numeric: see sweeps.rs.
    for panel in panels::in_order().into_iter().filter(|panel| !panel.name.starts_with("sweep-")) {
        let id = format!("<section class=\"panel\" id=\"{}\"", panel.name);
        let body = between(&page, &id, "</section>");
        assert!(body.len() > 300, "{} has next to nothing:\n{body}", panel.name);
    }
    let matrix = between(&page, "<table id=\"matrix-table\"", "</table>");
    assert_eq!(matrix.matches("<tr id=\"matrix-").count(), 6);
    assert!(matrix.contains("seed 2: failed: no request ended for 60 s"), "{matrix}");
    assert!(matrix.contains("seed 3: not run"), "{matrix}");
    assert_eq!(between(&page, "<main", "</main>").matches("id=\"lost\"").count(), 0);
    // Each of five numbers in two groups has a picture; each group has two views of latency.
    for (panel, pictures) in [("bars", 10), ("latency", 4)] {
        let body =
            between(&page, &format!("<section class=\"panel\" id=\"{panel}\""), "</section>");
        assert_eq!(body.matches("<figure").count(), pictures, "{panel}");
        assert_eq!(body.matches("<details class=\"numbers\">").count(), pictures, "{panel}");
    }
}

#[test]
fn the_page_asks_nobody_for_anything() {
    // A tile of the page itself causes no request.
    let page = html(&old()).replace("url(#", "(#");
    let foreign = [
        "=\"http", "=\"//", " src=", "<link", "@import", "url(", "<iframe", "<object", "<embed",
        "fetch(", "import(",
    ];
    for word in foreign {
        assert!(!page.contains(word), "{word} in the page");
    }
    for href in page.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        // A picture within the page causes no request.
        let within = href.starts_with("data:image/png;base64,");
        assert!(within || href.starts_with('#') || href.starts_with("./"), "a link to {href}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn every_id_is_there_once_and_every_link_leads_to_one() {
    let page = html(&old());
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is there twice");
    for target in page.split(" href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.binary_search(&target).is_ok(), "nothing has the id {target}");
    }
}

#[test]
fn the_text_says_the_same() {
    let folder = old();
    let folder = folder.to_str().expect("text");
    insta::assert_snapshot!(
        markdown(&old()).replace(&folder.replace('_', "\\_"), "old").replace(folder, "old")
    );
}

/// The tail's table agrees with fio's own rule: the whole range, from the least to the greatest.
#[test]
fn latencies_are_those_of_the_histograms() {
    let tail = with_source(&old(), |source| {
        let cell = [("array".to_owned(), "hdd-raid1".to_owned())];
        pictures::find(source, "latency", Some("tail"), &cell).expect("a picture").chart
    });
    let records = disklab_report::Records::open(&[old()]).expect("a record");
    let mut all: Vec<(u64, u64)> = Vec::new();
    let is_pid = |outcome: &&disklab_record::Outcome| {
        outcome.cell.value("policy") == Some("pid")
            && outcome.cell.value("array") == Some("hdd-raid1")
    };
    for outcome in records.all[0].lines().iter().filter(is_pid) {
        let raw = records.all[0].raw(outcome).expect("raw output");
        let fio =
            disklab_results::fio::parse(&std::fs::read(raw.join("fio.json")).expect("a report"))
                .expect("fio's");
        all.extend(fio.jobs[0].read.lat.histogram.as_ref().expect("a histogram").bins());
    }
    let all = disklab_results::Histogram::from_bins(all).expect("small counts");
    assert_eq!(tail.table.head[1], "pid");
    for row in &tail.table.rows {
        let percent: f64 = row[0].parse().expect("a percentile");
        let expected = disklab_units::Nanos(all.percentile(percent).expect("requests")).to_string();
        assert!(
            row[1].starts_with(&format!("{expected} (")),
            "p{percent}: {} and {expected}",
            row[1]
        );
    }
    assert_eq!(tail.table.rows.len(), 9);
}

#[test]
fn a_picture_stands_alone() {
    let svg = with_source(&old(), |source| {
        let cell = [("array".to_owned(), "ssd-raid10".to_owned())];
        let chart = pictures::find(source, "bars", Some("iops"), &cell).expect("a picture").chart;
        let missing =
            pictures::find(source, "bars", Some("speed"), &cell).expect_err("no such picture");
        assert!(missing.contains("iops, bandwidth, mean-latency, p50, p99"), "{missing}");
        chart.standalone(&Provenance {
            records: "old".to_owned(),
            command: "disklab report".to_owned(),
            disklab: "0.1.0".to_owned(),
        })
    });
    assert!(
        svg.starts_with("<!-- disklab report -->\n<svg xmlns=\"http://www.w3.org/2000/svg\""),
        "{svg}"
    );
    assert!(
        svg.contains("<metadata>disklab 0.1.0; record: old; made by: disklab report</metadata>"),
        "{svg}"
    );
    assert!(
        svg.contains(">IOPS: ssd-raid10, background none, randread-4k-qd1, jobs 1</title>"),
        "{svg}"
    );
    // A failure is an X with its reason; a trial that has not run is not a failure.
    assert!(svg.contains("no request ended for 60 s") && !svg.contains("not run"), "{svg}");
}

/// Each panel draws the pictures that it declares.
#[test]
fn the_pictures_of_each_panel_are_named() {
    fn kinds(pieces: &[Piece], found: &mut Vec<String>) {
        for piece in pieces {
            match piece {
                Piece::Words(_) => {}
                Piece::Chart(chart) => found.push(chart.kind.clone()),
                Piece::Section(section) => kinds(&section.pieces, found),
            }
        }
    }
    with_source(&old(), |source| {
        for panel in
            panels::in_order().into_iter().filter(|panel| !panel.name.starts_with("sweep-"))
        {
            let mut found = Vec::new();
            kinds(&(panel.draw)(source).expect("something to show"), &mut found);
            assert_eq!(found.is_empty(), panel.pictures.is_empty(), "{}", panel.name);
            found.retain(|kind| !kind.starts_with("b-"));
            assert!(
                found.iter().all(|kind| panel.pictures.contains(kind.as_str())),
                "{}: {found:?}",
                panel.name
            );
        }
    });
}

/// The commit is named, and no path of the program that was run.
#[test]
fn how_to_repeat_it_names_the_commit_where_it_is_known() {
    let record = copy();
    let path = record.path().join("manifest.toml");
    let manifest = std::fs::read_to_string(&path).expect("text");
    assert!(
        between(&html(record.path()), "id=\"repeat\"", "</section>").contains("<dd>0.1.0</dd>")
    );
    let known = manifest + "\n[[host]]\nname = \"commit\"\nvalue = \"ed03123abcde\"\n";
    std::fs::write(&path, known).expect("written");
    let said = html(record.path());
    let said = between(&said, "id=\"repeat\"", "</section>");
    assert!(
        said.contains("<dd>0.1.0, commit ed03123abcde</dd>") && !said.contains("host: commit"),
        "{said}"
    );
}

/// Without a dark ink, a picture on a dark background would have bright areas or invisible letters.
#[test]
fn every_ink_that_is_drawn_with_has_a_dark_one() {
    let page = html(&old());
    let (sheets, body) = page.split_once("</style>").expect("a style sheet");
    let paper = include_str!("../../src/chart/standalone.css");
    for colour in [ink::TEXT, ink::LINE, ink::GRID] {
        for attribute in ["fill", "stroke"].map(|attribute| format!("{attribute}=\"{colour}\"")) {
            // No record here has a truncated trace, which is drawn in the grid's colour.
            if body.contains(&attribute) || colour == ink::GRID {
                assert!(sheets.contains(&format!("[{attribute}]")), "no {attribute} on the page");
                assert!(
                    paper.contains(&format!("[{attribute}]")),
                    "no {attribute} where a picture stands alone"
                );
            }
        }
    }
}

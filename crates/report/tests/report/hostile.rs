//! Tests that hostile text shows as text.

use std::fs;

use disklab_record::Record;
use disklab_report::{Panel, Piece, panels};

use super::{copy, html, markdown, old, with_source};

const MARKUP: &str = "</script></style><img onerror=alert(1)>\"'&$x^2$";
const ESCAPE: &str = "\u{1b}[2J\u{9b}31m\u{202e}";

/// Makes the old record with such text in reasons, names, values and commands.
fn hostile() -> tempfile::TempDir {
    let place = copy();
    let record = Record::open(&old()).expect("a record");
    let (mut lines, mut chain) = (String::new(), record.manifest().chain());
    for outcome in record.lines() {
        let mut outcome = outcome.clone();
        if outcome.reason.is_some() {
            outcome.reason = Some(format!("{MARKUP}{ESCAPE}"));
        }
        for (axis, value) in &mut outcome.cell.0 {
            if axis == "policy" && value == "queue" {
                *value = format!("a$x^2$b{MARKUP}{ESCAPE}");
            }
            if axis == "array" {
                value.push_str(MARKUP);
            }
        }
        if let Some(sample) = &mut outcome.sample {
            sample.devices[0].name = MARKUP.into();
        }
        lines += &outcome.to_line(&mut chain).expect("plain data");
    }
    fs::write(place.path().join("trials.jsonl"), lines).expect("written");
    let mut manifest = record.manifest().clone();
    manifest.command = vec!["disklab".to_owned(), format!("{MARKUP}{ESCAPE}")];
    manifest.created = MARKUP.into();
    manifest.kernels[0].version = format!("{MARKUP}{ESCAPE}");
    manifest.tools[0].value = MARKUP.into();
    fs::write(place.path().join("manifest.toml"), manifest.to_toml().expect("plain data"))
        .expect("written");
    place
}

fn is_plain(text: &str) {
    let odd = text
        .chars()
        .find(|letter| (letter.is_control() && *letter != '\n') || *letter == '\u{202e}');
    assert_eq!(odd, None);
}

#[test]
fn it_is_text_on_the_page() {
    let (page, sound) = (html(hostile().path()), html(&old()));
    is_plain(&page);
    for tag in ["<img", "</script", "</style", "onerror=alert(1)>\""] {
        assert_eq!(page.matches(tag).count(), sound.matches(tag).count(), "{tag}");
    }
    assert!(page.contains("\\u{1b}[2J") && page.contains("&lt;img onerror=alert(1)&gt;"));
}

#[test]
fn it_is_text_in_markdown() {
    let text = markdown(hostile().path());
    is_plain(&text);
    assert!(!text.replace("\\<", "").contains("<img"), "{text}");
    assert!(text.contains("\\<img onerror=alert(1)\\>"), "{text}");
}

/// The chart library takes dollars for mathematics, and must not process escaped text.
#[test]
fn it_is_text_in_pictures() {
    fn charts(pieces: &[Piece], look: &mut dyn FnMut(String)) {
        for piece in pieces {
            match piece {
                Piece::Words(_) => {}
                Piece::Chart(chart) => look(chart.figure("id").into_string()),
                Piece::Section(section) => charts(&section.pieces, look),
            }
        }
    }
    let place = hostile();
    let mut seen = 0;
    with_source(place.path(), |source| {
        let drawn =
            panels::in_order().into_iter().filter_map(|Panel { draw, .. }| draw(source).ok());
        for pieces in drawn {
            charts(&pieces, &mut |figure| {
                seen += 1;
                assert!(!figure.contains("<img"), "{figure}");
            });
        }
    });
    assert!(seen >= 10, "{seen} pictures");
    let page = html(place.path());
    // The text is drawn, and is a title.
    for text in [">a$x^2$b&lt;/script&gt;", "<title>a$x^2$b&lt;/script&gt;"] {
        assert!(page.contains(text), "no {text}");
    }
}

//! Tests that docs/FORMAT.md has the fields of a record's files, and no field that the files do not
//! have.

use std::collections::BTreeSet;

use disklab_protocol::closing::{Closing, DeviceCounts, PhaseCounts, PowerCut};
use disklab_record::Part;
use disklab_record::manifest::{
    Extension, Fact, HostDisk, Imported, Kernel, Manifest, OnHost, Origin, Suite, UntilDecided,
};
use disklab_record::outcome::{FoundAt, Outcome};
use disklab_results::measure::Measure;
use disklab_results::sample::{DeviceSample, DirectionSample, ReadStatsChange};
use disklab_results::{Remark, Sample};
use disklab_testkit::format::{FormatRow, fields, quoted, rows, text};

/// Returns the rows of the tables below a heading whose first column has this head.
fn table(heading: &str, head: &str) -> Vec<FormatRow> {
    let all: Vec<FormatRow> = rows(heading).into_iter().filter(|row| row.head == head).collect();
    assert!(!all.is_empty(), "docs/FORMAT.md lacks the table `{head}` below {heading}");
    all
}

/// Returns a name without the brackets of tables and lists.
fn bare(name: &str) -> &str {
    name.trim_matches(['[', ']'])
}

/// Checks that the first column has these names and no other. `own` are names outside of a struct.
fn assert_same(rows: &[FormatRow], own: &[&str], fields: &[&str]) {
    let documented: BTreeSet<&str> = rows.iter().flat_map(FormatRow::keys).map(bare).collect();
    let read: BTreeSet<&str> = own.iter().chain(fields).copied().collect();
    let lacking: Vec<_> = read.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&read).collect();
    assert!(lacking.is_empty(), "docs/FORMAT.md lacks {lacking:?} beside {documented:?}");
    assert!(unknown.is_empty(), "no reader knows {unknown:?}, which docs/FORMAT.md has");
}

/// Checks that the words in backticks contain these fields of a part of the file, by the last part
/// of a name such as `[[on_host.disk]]`.
fn assert_named(part: &str, words: impl IntoIterator<Item = &'static str>, fields: &[&str]) {
    let words: BTreeSet<&str> =
        words.into_iter().filter_map(|word| bare(word).rsplit('.').next()).collect();
    assert!(!fields.is_empty(), "{part} has fields");
    for field in fields {
        assert!(words.contains(field), "docs/FORMAT.md lacks `{field}` of {part}: {words:?}");
    }
}

#[test]
fn the_manifest_is_in_format() {
    let rows = table("### `manifest.toml`", "key");
    assert_same(&rows, &["digest"], fields::<Manifest>());
    for (key, fields) in [
        ("[part]", fields::<Part>()),
        ("[[merged]]", fields::<Origin>()),
        ("[suite]", fields::<Suite>()),
        ("[until_decided]", fields::<UntilDecided>()),
        ("[on_host]", fields::<OnHost>()),
        ("[on_host]", fields::<HostDisk>()),
        ("[[extended]]", fields::<Extension>()),
        ("[imported]", fields::<Imported>()),
        ("[[kernel]]", fields::<Kernel>()),
        ("[[tool]]", fields::<Fact>()),
    ] {
        let row = rows.iter().find(|row| row.keys().any(|name| name == key)).expect("its row");
        assert_named(key, row.words(), fields);
    }
}

#[test]
fn the_lines_of_trials_are_in_format() {
    let heading = "### `trials.jsonl`";
    let outcome = table(heading, "field");
    // The first table is of a line, the second of its sample.
    let (line, sample): (Vec<FormatRow>, Vec<FormatRow>) =
        outcome.into_iter().partition(|row| row.table == 0);
    assert_same(&line, &["schema", "chain"], fields::<Outcome>());
    for (key, fields) in [("measures", fields::<Measure>()), ("found", fields::<FoundAt>())] {
        let row = line.iter().find(|row| row.keys().any(|name| name == key)).expect("its row");
        assert_named(key, row.words(), fields);
    }
    assert_same(&sample, &[], fields::<Sample>());
    assert_named(
        "a direction",
        sample.iter().flat_map(FormatRow::words),
        fields::<DirectionSample>(),
    );
    let device = table(heading, "of a device");
    assert_same(&device, &[], fields::<DeviceSample>());
    assert_named(
        "read_stats",
        device.iter().flat_map(FormatRow::words),
        fields::<ReadStatsChange>(),
    );
    let unknown = serde_json::from_str::<Remark>(r#"{"kind":"nothing"}"#).unwrap_err().to_string();
    let kinds: Vec<&str> = quoted(&unknown).filter(|kind| *kind != "nothing").collect();
    assert_named("remarks", quoted(text(heading)), &kinds);
}

#[test]
fn the_closing_record_is_in_format() {
    let heading = "### `disks.json`";
    let own = ["schema", "complete", "fault"];
    assert_same(&table(heading, "field"), &own, fields::<Closing>());
    for (part, fields) in [
        ("a phase", fields::<PhaseCounts>()),
        ("a device", fields::<DeviceCounts>()),
        ("a power cut", fields::<PowerCut>()),
    ] {
        assert_named(part, quoted(text(heading)), fields);
    }
}

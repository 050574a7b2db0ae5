//! Tests reports of real, old, damaged, hostile and large records.

mod damaged;
mod first_screen;
mod hostile;
mod large;
mod old;
mod sweeps;
mod synthetic;
mod without_fio;

use std::path::{Path, PathBuf};

use disklab_report::{Records, ReportOptions, ReportSource, markdown, page};

/// Returns a record by the first versions (schema 1): 18 trials, one failed, one never begun,
/// traces of two.
fn old() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/old")
}

fn wanted() -> ReportOptions {
    ReportOptions {
        command: "disklab report old".to_owned(),
        links: vec!["records/old".to_owned()],
        version: "0.1.0".to_owned(),
        ..ReportOptions::default()
    }
}

/// Calls `make` with the source of `folder`, and returns its result.
fn with_source<T>(folder: &Path, make: impl FnOnce(&ReportSource) -> T) -> T {
    let records = Records::open(&[folder.to_owned()]).expect("something to show");
    let wanted = wanted();
    make(&ReportSource::new(&records, &wanted).expect("a report"))
}

fn html(folder: &Path) -> String {
    with_source(folder, page::html)
}

fn markdown(folder: &Path) -> String {
    with_source(folder, markdown::markdown)
}

/// Copies the old record, so that the copy may be changed.
fn copy() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a folder");
    copy_folder(&old(), place.path());
    place
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&to).expect("a folder");
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).expect("a copy");
        }
    }
}

/// Returns the text between the first occurrences of `from` and `to`.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0
}

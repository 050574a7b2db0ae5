//! Pages of results, made from records: `cargo xtask results read-policy RECORD...` writes
//! `docs/results/read-policy.md`.
//!
//! The same records make the same bytes.

mod agreement;
mod answer;
mod arrays;
mod audit;
mod axes;
mod causes;
mod disks;
mod facts;
mod head;
mod kind;
mod limits;
mod merged;
mod notes;
mod orders;
mod published;
mod sensitivity;
mod tables;
#[cfg(test)]
mod tests;
mod until_decided;
mod words;
mod wrapped;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use disklab_config::Lab;
use disklab_record::Record;
use disklab_units::prose::listed;
use itertools::Itertools;

use axes::CellPlace;
use kind::{KINDS, Kind};
use merged::{Merged, Trial};
use published::Published;
use wrapped::wrapped;

/// Folder of the pages, relative to the repository.
const FOLDER: &str = "docs/results";

/// Makes the page with this name from these records.
pub fn run(page_name: Option<&str>, folders: &[PathBuf]) -> anyhow::Result<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask is not in a repository; run it in disklab's tree")?;
    let write = |name: &str, page: &str| -> anyhow::Result<()> {
        let path = repository.join(FOLDER).join(format!("{name}.md"));
        fs::write(&path, wrapped(page))
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
        Ok(())
    };
    if page_name == Some(audit::NAME) {
        return write(audit::NAME, &audit::page()?);
    }
    if page_name == Some(until_decided::NAME) {
        let [decided, fixed] = folders else {
            anyhow::bail!("usage: cargo xtask results {} DECIDED FIXED", until_decided::NAME)
        };
        let page = until_decided::page(&Record::open(decided)?, &Record::open(fixed)?)?;
        return write(until_decided::NAME, &page);
    }
    let names = KINDS.map(|kind| kind.name).into_iter().chain([audit::NAME, until_decided::NAME]);
    let kind =
        KINDS.into_iter().find(|kind| Some(kind.name) == page_name).with_context(
            || match page_name {
                Some(name) => {
                    format!("results: unknown page `{name}`; known: {}", names.format(", "))
                }
                None => format!("results: name a page: {}", names.format(", ")),
            },
        )?;
    anyhow::ensure!(!folders.is_empty(), "usage: cargo xtask results {} RECORD...", kind.name);
    let records =
        folders.iter().map(|folder| Record::open(folder)).collect::<Result<Vec<_>, _>>()?;
    let lab = Lab::load(&repository.join("lab"))?;
    write(kind.name, &page(kind, &lab, &records)?)
}

fn page(kind: &Kind, lab: &Lab, records: &[Record]) -> anyhow::Result<String> {
    for record in records {
        check_suite(kind, record)?;
    }
    let merged = Merged::new(records)?;
    check_lab(lab, &merged)?;
    let published = Published::read(kind, &merged.arrays)?;
    let agreement = agreement::section(lab, &merged, &published);
    let mut page = format!("# {}\n\n{}", kind.title, answer::section(&merged, agreement.published));
    let mut section = |title: &str, text: &str| {
        let _ = write!(page, "## {title}\n\n{text}");
    };
    section("Commands and conditions", &head::conditions(kind, records, &merged));
    section("The question", &head::asked(kind));
    section("The arrays here and the published ones", &arrays::section(&merged, lab)?);
    section("Published rows that contradict themselves", &head::broken(&published));
    let tables = grouped(&merged, |places| {
        let table = tables::table(kind, &merged, &published, places);
        table + &notes::not_ok(&merged, places, &merged.plain_policies())
    });
    section("Results", &tables);
    section("Orders and their causes", &format!("{}{}", agreed(), agreement.text));
    section("Work of the disks", &disks_saw(lab, &merged));
    section("Sensitivity to parameters", &sensitivity::section(&merged));
    section("Remarks", &format!("{}\n", notes::remarks(&merged)));
    section("Limits", &limits::section(kind, lab, records, &merged));
    Ok(page)
}

/// Checks the lab, since a record does not say whether a disk rotates and whether an array has a
/// cache.
fn check_lab(lab: &Lab, merged: &Merged) -> anyhow::Result<()> {
    for array in &merged.arrays {
        anyhow::ensure!(
            lab.arrays.contains_key(array),
            "the lab has no array `{array}`, which a record names; add its file to lab/arrays"
        );
    }
    let devices = merged.all().filter_map(Trial::sample).flat_map(|sample| &sample.devices);
    for device in devices.filter_map(|device| device.device.as_ref()) {
        anyhow::ensure!(
            lab.devices.contains_key(device),
            "the lab has no device `{device}`, which a record names; add its file to lab/devices"
        );
    }
    Ok(())
}

fn check_suite(kind: &Kind, record: &Record) -> anyhow::Result<()> {
    let name = &record.manifest().suite.name;
    let suites: Vec<_> = kind.suites.iter().map(|suite| format!("`{suite}`")).collect();
    anyhow::ensure!(
        kind.suites.contains(&name.as_str()),
        "{}: it is a record of the suite `{name}`, and the page {} needs records of {}",
        record.folder().display(),
        kind.name,
        listed(&suites)
    );
    Ok(())
}

/// Returns a heading for each group of cells, with a text about the group.
fn grouped(merged: &Merged, text: impl Fn(&[CellPlace]) -> String) -> String {
    let section = |places: &Vec<CellPlace>| {
        let first = places.first()?;
        Some(format!("### {}\n\n{}", agreement::heading(first), text(places)))
    };
    merged.groups().iter().filter_map(section).collect()
}

fn agreed() -> String {
    format!(
        "The table counts pairs of policies, compared by IOPS (reads and writes together). Two \
         policies tie if their IOPS differ by less than {} % of the greater. Here they also tie if \
         the ranges of their seeds overlap. A published number is one run.\n\nIn the lists below \
         the table, `>` means more IOPS, and `=` means a tie between neighbours. The first and the \
         last policy of a row of ties may differ.\n\n{}\n",
        100.0 * orders::TIE,
        causes::rules()
    )
}

fn disks_saw(lab: &Lab, merged: &Merged) -> String {
    let mut text = String::from(
        "These numbers are those of the trial with the median IOPS. They include the requests of \
         the background and of the filesystem.\n\n- *Disks at work* is the sum of the disks' \
         utilisations.\n- *Distance* is the mean distance from the end of a request to the \
         beginning of the next one at the same disk.\n- *Checkpoints* is how many times a policy \
         tried a disk again that it had passed over for a long time.\n- *Reads of each disk* are \
         in the order of the disks.",
    );
    if merged.arrays.iter().any(|array| arrays::cached(lab, array)) {
        text.push_str(" A cache is the last disk of its array.");
    }
    text.push_str("\n\n");
    text + &grouped(merged, |places| disks::table(merged, places))
}

//! The instructions to repeat a record: the command, the programs, and the place of each trial's
//! raw output.

use std::fmt::Write as _;
use std::path::Path;

use disklab_compare::Metric;
use disklab_record::outcome::Outcome;
use disklab_record::record::name_of;
use disklab_record::{Record, manifest::Fact};
use disklab_units::prose::{count, in_shell};
use itertools::Itertools;
use maud::{Markup, html};

use crate::panel::{Nothing, Panel, Piece, facts};
use crate::source::{ReportSource, families};

pub const PANEL: Panel =
    Panel { place: 80, name: "repeat", title: "How to repeat it", pictures: "", draw };

/// Name of the commit that the record's disklab was built from. A resume does not compare this
/// fact.
pub const COMMIT: &str = "commit";

#[expect(clippy::unnecessary_wraps, reason = "all panels are drawn by a function of this form")]
fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let links = source.wanted.links.iter().map(Some).chain(std::iter::repeat(None));
    Ok(source
        .records
        .iter()
        .zip(links)
        .map(|(record, link)| {
            Piece::Words(html! {
                @if source.records.len() > 1 { h3 { (name_of(record.folder())) } }
                (of_record(record, link.map(String::as_str)))
            })
        })
        .chain([verdicts(source)])
        .collect())
}

/// Draws the command that prints the same verdicts.
fn verdicts(source: &ReportSource) -> Piece {
    let families = families(&source.metrics, source.until);
    let typed = |family: &[Metric]| family.iter().cloned().map(String::from).join(",");
    let baseline = source.wanted.baseline.as_ref();
    let baseline =
        baseline.map_or_else(String::new, |(axis, value)| format!(" --baseline {axis}={value}"));
    Piece::Words(html! {
        h3 { "The verdicts and this page" }
        pre {
            @for family in families {
                "disklab compare " (source.names().join(" ")) " --metric " (typed(family))
                    (baseline) "\n"
            }
            (source.wanted.command)
        }
    })
}

fn of_record(record: &Record, link: Option<&str>) -> Markup {
    let manifest = record.manifest();
    let words = words(&manifest.command);
    html! {
        @if words.is_empty() { p.missing { "The record does not say by which command it was \
            made." } } @else { pre { (words) } }
        (facts(made_with(record)))
        @if !manifest.suite.text().is_empty() {
            details { summary { "The suite " (manifest.suite.name) ", SHA-256 "
                (manifest.suite.sha256()) } pre { (manifest.suite.text()) } }
        }
        @if !manifest.inputs.is_empty() {
            details {
                summary { (count(manifest.inputs.len(), "file"))
                    " of the lab that it used, with SHA-256" }
                (facts(manifest.inputs.iter().map(|Fact { name, value }| (name, value))))
            }
        }
        (raw(record, link))
    }
}

/// Returns the programs, the kernels and the machine that a record was made with.
fn made_with(record: &Record) -> Vec<(String, String)> {
    let manifest = record.manifest();
    let version = (!manifest.disklab.is_empty()).then(|| disklab(record));
    let mut all: Vec<(String, String)> =
        version.map(|version| ("disklab".to_owned(), version)).into_iter().collect();
    all.push(("seeds".to_owned(), seeds(record)));
    for kernel in &manifest.kernels {
        all.push((format!("kernel {}", kernel.name), kernel.system()));
        let named =
            [("its configuration, SHA-256", &kernel.config_sha256), ("its key", &kernel.key)];
        let known = [("its source", &kernel.source), ("its compiler", &kernel.compiler)];
        let known = known.into_iter().filter(|(_, value)| !value.is_empty());
        let named = named.into_iter().chain(known);
        all.extend(named.map(|(name, value)| (name.to_owned(), value.clone())));
    }
    all.extend(manifest.tools.iter().map(|tool| (tool.name.clone(), tool.value.clone())));
    let host = manifest.host.iter().filter(|fact| fact.name != COMMIT);
    all.extend(host.map(|fact| (format!("host: {}", fact.name), fact.value.clone())));
    all
}

/// Returns the version of disklab, and its commit if that is known.
fn disklab(record: &Record) -> String {
    let manifest = record.manifest();
    let commit = manifest.host.iter().find(|fact| fact.name == COMMIT);
    commit.map_or_else(
        || manifest.disklab.clone(),
        |commit| format!("{}, commit {}", manifest.disklab, commit.value),
    )
}

/// Returns the command with the program's name in place of its path.
fn words(command: &[String]) -> String {
    let name = |(at, word): (usize, &String)| {
        let file = Path::new(word).file_name().filter(|_| at == 0);
        in_shell(&file.map_or_else(|| word.clone(), |file| file.to_string_lossy().into_owned()))
    };
    command.iter().enumerate().map(name).join(" ")
}

fn seeds(record: &Record) -> String {
    let mut seeds: Vec<u32> = record.lines().iter().map(|outcome| outcome.seed_index).collect();
    seeds.sort_unstable();
    seeds.dedup();
    match seeds.as_slice() {
        [] => "none yet".to_owned(),
        [only] => only.to_string(),
        [first, .., last] if (last - first) as usize + 1 == seeds.len() => {
            format!("{first} to {last}")
        }
        _ => seeds.iter().map(u32::to_string).join(", "),
    }
}

/// Draws a link to the raw output of each trial. It is valid as long as page and record stay in
/// place.
fn raw(record: &Record, link: Option<&str>) -> Markup {
    let with_raw: Vec<(&str, &Outcome)> =
        record.outcomes().into_iter().filter_map(|(id, outcome)| Some((id, outcome?))).collect();
    html! {
        @if let Some(link) = link {
            details {
                summary { "Raw output of " (count(with_raw.len(), "trial"))
                    "; the links work while page and record stay where they are" }
                ul.raw {
                    @for (id, outcome) in &with_raw {
                        li {
                            @if let Some(raw) = &outcome.raw { a
                                href=(href(&format!("{link}/{raw}/"))) { (id) } } @else { (id)
                                    ": none" }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a path as a link, which never leads to another scheme or host.
fn href(path: &str) -> String {
    let mut href = if path.starts_with('/') { String::from("file://") } else { String::from("./") };
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~+".contains(&byte) {
            href.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(href, "%{byte:02X}");
        }
    }
    href
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_and_not_its_path() {
        let typed = ["/home/a b/disklab", "run", "lab/x y.toml"].map(str::to_owned);
        assert_eq!(words(&typed), "disklab run 'lab/x y.toml'");
        assert_eq!(words(&[]), "");
    }

    #[test]
    fn a_link_leads_to_files_only() {
        assert_eq!(href("javascript:a//b\"c"), "./javascript%3Aa//b%22c");
        assert_eq!(href("//host/x"), "file:////host/x");
        assert_eq!(href("records/a b/raw/x+s1/"), "./records/a%20b/raw/x+s1/");
    }
}

//! `disklab same`: compares two records byte for byte, and shows the first difference.

use std::path::{Path, PathBuf};

use disklab_config::places::disk_name;
use disklab_record::{Difference, Record, Status, compare, fingerprint};
use disklab_trace::{Error, TraceEntry};
use serde_json::json;

use crate::exit::{Exit, Failure, mistaken};
use crate::screen::{Paint, Screen};
use crate::{derived, records, trace, words};

/// Check that two records are the same, byte for byte.
///
/// The same suite, seeds and kernel must give the same bytes. If the bytes differ, the first
/// difference is shown; in a trace of requests, that is the first request that differs. The numbers
/// of both records are derived again from their raw files, and each number that differs is named.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, by its name in ./records or by its path.
    first: String,

    /// The record to compare it with, by its name or by its path.
    second: String,
}

/// Number of further differences that are named.
const NAMED: usize = 20;
/// Number of bytes of a line that are shown on each side of a difference.
const AROUND: usize = 60;

pub fn same(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let both = [records::open(&args.first, screen)?, records::open(&args.second, screen)?];
    let [first, second] = &both;
    let differences = compare(first.folder(), second.folder())?;
    let fingerprint = fingerprint(first.folder())?;
    // Settings that explain a difference, or should have caused one.
    let settings: Vec<_> = first
        .manifest()
        .mismatches(second.manifest())
        .into_iter()
        .map(|mismatch| {
            format!("{}: first {}, second {}", mismatch.what, mismatch.recorded, mismatch.now)
        })
        .collect();
    let mut changed = Vec::new();
    for (which, record) in [("first", first), ("second", second)] {
        let files = records::changed_files(record)?;
        changed.extend(files.into_iter().map(|file| format!("{which}: {file}")));
    }
    let mut differ = derived::differences(first, screen)?;
    if first.folder() != second.folder() {
        differ.extend(derived::differences(second, screen)?);
    }
    let compared = first.lines().iter().filter(|line| line.status == Status::Ok).count();
    if compared == 0 && differences.is_empty() {
        screen.remark("no trial of either record is ok: there is nothing to compare");
        return Ok(Exit::Failed);
    }
    let is_same = differences.is_empty() && changed.is_empty() && differ.is_empty();
    let exit = if is_same { Exit::Ok } else { Exit::Failed };
    let told: Vec<_> = differences.iter().map(ToString::to_string).collect();
    let document = json!({
        "same": exit == Exit::Ok,
        "fingerprint": (exit == Exit::Ok).then_some(&fingerprint),
        "differences": told,
        "made_differently": settings,
        "changed_since_recorded": changed,
        "not_derived": differ,
    });
    screen.present(&document, |out| {
        if exit == Exit::Ok {
            let trials = words::count(first.manifest().trials.len(), "trial");
            let same = screen.paint("the same", Paint::Good);
            writeln!(out, "{same}: {trials}, fingerprint {fingerprint}")?;
        } else if differences.is_empty() {
            let what = "equal now, but changed after they were recorded";
            writeln!(out, "{}", screen.paint(what, Paint::Bad))?;
        } else {
            let count = words::count(differences.len(), "difference");
            writeln!(out, "{}", screen.paint(&count, Paint::Bad))?;
            told.iter().take(NAMED).try_for_each(|difference| writeln!(out, "  {difference}"))?;
            if differences.len() > NAMED {
                writeln!(out, "  and {} more", differences.len() - NAMED)?;
            }
            if let Some(Difference::Bytes { trial, file, offset }) =
                differences.iter().find(|difference| matches!(difference, Difference::Bytes { .. }))
            {
                writeln!(out, "\n{trial}/{file}, byte {offset}:")?;
                for line in first_difference(&both, trial, file, *offset)? {
                    writeln!(out, "  {line}")?;
                }
            }
        }
        if !settings.is_empty() {
            writeln!(out, "\nthe records were made differently:")?;
            settings.iter().try_for_each(|setting| writeln!(out, "  {setting}"))?;
        }
        records::print_damage(&changed, &differ, out)
    })?;
    Ok(exit)
}

/// Describes the difference, in the terms of the file's format.
fn first_difference(
    records: &[Record; 2],
    trial: &str,
    file: &str,
    offset: u64,
) -> Result<[String; 2], Failure> {
    let path = |record: &Record| -> Result<PathBuf, Failure> {
        let outcome = record.outcome(trial).ok_or_else(|| {
            mistaken!(
                "{} no longer has the trial {trial}: it changed meanwhile; run `disklab same` \
                 again",
                record.folder().display()
            )
        })?;
        Ok(trace::raw(record, outcome)?.join(file))
    };
    let paths = [path(&records[0])?, path(&records[1])?];
    let [first, second] = if [disklab_trace::PLAIN, disklab_trace::PACKED].contains(&file) {
        first_request(trace::open(&paths[0])?, trace::open(&paths[1])?)
    } else {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        [text_at(&read(&paths[0])?, at), text_at(&read(&paths[1])?, at)]
    };
    Ok([format!("first:  {first}"), format!("second: {second}")])
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    disklab_files::read(path, &disklab_files::RAW)
        .map_err(|error| mistaken!("cannot read {}: {error}", path.display()))
}

fn first_request(
    mut first: impl Iterator<Item = Result<TraceEntry, Error>>,
    mut second: impl Iterator<Item = Result<TraceEntry, Error>>,
) -> [String; 2] {
    let told = |number: usize, entry: Option<Result<TraceEntry, Error>>| match entry {
        Some(Ok(entry)) => format!("entry {number}: {}", trace::csv::row(&entry, &disk_name)),
        Some(Err(damaged)) => format!("entry {number}: {damaged}"),
        None => format!("ends after {} entries", number - 1),
    };
    for number in 1.. {
        match (first.next(), second.next()) {
            (Some(Ok(one)), Some(Ok(other))) if one == other => {}
            (one, other) => return [told(number, one), told(number, other)],
        }
    }
    Default::default()
}

/// Returns the text around a byte, up to the ends of its line.
fn text_at(bytes: &[u8], at: usize) -> String {
    let at = at.min(bytes.len());
    let begin =
        bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let end = bytes[at..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(bytes.len(), |length| at + length);
    let line = bytes[..begin].split(|&byte| byte == b'\n').count();
    let shown = &bytes[begin.max(at.saturating_sub(AROUND))..end.min(at.saturating_add(AROUND))];
    format!("line {line}: {}", String::from_utf8_lossy(shown).trim().escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_around_a_byte_is_shown() {
        assert_eq!(text_at(b"one\ntwo three\nfour", 8), "line 2: two three");
        assert_eq!(text_at(b"one\n", 4), "line 2: ");
        assert_eq!(text_at(b"one", 99), "line 1: one");
        let long = [b'a'; 300];
        assert_eq!(text_at(&long, 150).len(), "line 1: ".len() + 2 * AROUND);
    }
}

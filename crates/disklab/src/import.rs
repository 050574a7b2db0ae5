//! `disklab import`: makes a record of other programs' results, so that disklab can show, compare
//! and gate them.

mod pattern;
pub mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use disklab_compare::answer;
use disklab_foreign::FORMATS;
use disklab_foreign::ResultRow;
use disklab_record::import::{Source, source_name};
use disklab_record::manifest::{Fact, Imported, Suite};
use disklab_record::outcome::{Cell, FoundAt};
use disklab_record::{Manifest, Outcome, Record, Status};
use disklab_units::Seed;
use disklab_units::prose::{count, listed};
use indexmap::IndexSet;
use serde_json::json;

use crate::exit::{Exit, Failure, mistaken};
use crate::home::from_here;
use crate::records;
use crate::screen::Screen;
use pattern::Pattern;
use walk::{FoundFiles, ReadFile, look};

/// Make a record of results that other programs wrote.
///
/// disklab recognizes each file by its contents; docs/FORMAT.md says which of its numbers are read.
/// Rows whose numbers cannot all be true, or are implausible, are kept, marked, and left out of
/// verdicts.
#[derive(Debug, clap::Args)]
#[command(after_help = formats())]
pub struct ImportArgs {
    /// Files, or folders with such files.
    #[arg(required = true)]
    paths: Vec<PathBuf>,

    /// A pattern that derives the cell of a file from its path.
    ///
    /// The path begins at the folder that is named. Example: '{scheduler}/{workload}-{seed}.json'.
    /// Each name becomes an axis; {seed} or {repeat} numbers the repeats of a cell. Without a
    /// pattern, each file is a cell of its own.
    #[arg(long, value_name = "PATTERN")]
    cell: Option<Pattern>,

    /// The folder of the record. It must be new.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Name of the suite in imported records.
const NAME: &str = "imported";
/// Names of the repeat in a pattern.
const REPEATS: [&str; 2] = ["seed", "repeat"];

fn formats() -> String {
    format!("Formats: {}", FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", "))
}

pub fn import(args: &ImportArgs, screen: &Screen) -> Result<Exit, Failure> {
    let looked = look(&args.paths)?;
    let passed_over = looked.passed_over();
    // The error below gives the reason of the only file.
    if !(looked.read.is_empty() && passed_over.len() == 1) {
        for passed_over in &passed_over {
            screen.remark(&format!("skipped: {passed_over}"));
        }
    }
    let (outcomes, renumbered) = outcomes(&looked.read, args.cell.as_ref())?;
    if renumbered > 0 {
        screen.remark(&format!(
            "{} had the repeat number of another row of the same cell, and got the next free one; \
             check that these rows are repeats",
            count(renumbered, "row")
        ));
    }
    if outcomes.is_empty() {
        return Err(nothing(&looked, &args.paths));
    }
    for (axis, values) in measured_perhaps(&outcomes) {
        screen.remark(&format!(
            "the column {axis} has no known name, and its {values} values are taken as an axis. If \
             it was measured, rename it as docs/FORMAT.md says"
        ));
    }
    let folder = match &args.out {
        Some(out) if out.exists() => {
            return Err(mistaken!("--out: {} exists already; name a new folder", out.display()));
        }
        Some(out) => out.clone(),
        None => records::new_folder(NAME),
    };
    let sources: Vec<Source> = looked
        .read
        .iter()
        .enumerate()
        .map(|(index, ReadFile { path, .. })| Source {
            name: source_name(index, path),
            path: path.clone(),
        })
        .collect();
    Record::import(&folder, &manifest(&looked, &outcomes), &outcomes, &sources)?;
    let is_ok = |outcome: &&Outcome| outcome.status == Status::Ok;
    let ok = outcomes.iter().filter(is_ok);
    let failed = outcomes.len() - ok.clone().count();
    let doubtful = ok.filter(|outcome| !outcome.is_sound()).count();
    let file = |ReadFile { path, format, rows, .. }: &ReadFile| {
        let (format, rows) = (format.name, rows.len());
        json!({ "path": path, "format": format, "rows": rows })
    };
    let document = json!({
        "record": folder,
        "rows": outcomes.len(),
        "doubtful": doubtful,
        "without_result": failed,
        "files": looked.read.iter().map(file).collect::<Vec<_>>(),
        "passed_over": passed_over,
        "unknown": looked.unknown,
    });
    screen.present(&document, |out| {
        writeln!(out, "{} of {}", count(outcomes.len(), "row"), count(looked.read.len(), "file"))?;
        let list =
            |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { listed(&names) };
        let (varying, constant): (Vec<&str>, Vec<&str>) =
            axes(&outcomes).into_iter().partition(|axis| values(&outcomes, axis).len() > 1);
        writeln!(out, "axes of the cells: {}", list(varying))?;
        if !constant.is_empty() {
            let value = |axis: &&str| {
                let value = values(&outcomes, axis).into_iter().next().flatten();
                answer::named(axis, value.unwrap_or_default())
            };
            let constant: Vec<String> = constant.iter().map(value).collect();
            writeln!(out, "the same in all cells: {}", listed(&constant))?;
        }
        writeln!(out, "numbers: {}", list(numbers(&outcomes)))?;
        if doubtful + failed > 0 {
            writeln!(
                out,
                "{} doubtful, {failed} without a result: `disklab audit {}` says which and why",
                count(doubtful, "row"),
                records::name_of(&folder)
            )?;
        }
        if !looked.unknown.is_empty() {
            let some = looked.unknown.iter().take(3).map(|path| path.display().to_string());
            let more = if looked.unknown.len() > 3 { ", ..." } else { "" };
            let (files, some) =
                (count(looked.unknown.len(), "file"), some.collect::<Vec<_>>().join(", "));
            writeln!(out, "{files} of unknown format: {some}{more}")?;
        }
        Ok(writeln!(out, "record: {}", from_here(&folder).display())?)
    })?;
    Ok(Exit::Ok)
}

fn nothing(looked: &FoundFiles, paths: &[PathBuf]) -> Failure {
    let named = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    let formats = "`disklab import --help` lists the known formats";
    match looked.passed_over().as_slice() {
        [] => mistaken!(
            "no results in {named}: {} of unknown format; {formats}",
            count(looked.unknown.len(), "file")
        ),
        [only] => mistaken!("no results in {only}"),
        [..] => mistaken!("no results in {named}: all files were skipped; {formats}"),
    }
}

fn manifest(looked: &FoundFiles, outcomes: &[Outcome]) -> Manifest {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let trials = outcomes.iter().map(|outcome| outcome.trial.clone()).collect();
    let mut manifest =
        Manifest::new(env!("CARGO_PKG_VERSION"), &now, Suite::new(NAME, "", Vec::new()), trials);
    manifest.command = std::env::args().collect();
    let axes = axes(outcomes).into_iter().map(str::to_owned).collect();
    manifest.imported = Some(Imported { axes, passed_over: looked.passed_over() });
    let input = |(index, read): (usize, &ReadFile)| {
        Fact::new(
            source_name(index, &read.path),
            format!("{}, {}, SHA-256 {}", read.path.display(), read.format.name, read.sha256),
        )
    };
    manifest.inputs = looked.read.iter().enumerate().map(input).collect();
    manifest
}

/// Returns the values of an axis; `None` stands for outcomes without the axis.
fn values<'o>(outcomes: &'o [Outcome], axis: &str) -> BTreeSet<Option<&'o str>> {
    outcomes.iter().map(|outcome| outcome.cell.value(axis)).collect()
}

/// Returns the axes in order of appearance.
fn axes(outcomes: &[Outcome]) -> Vec<&str> {
    let values = outcomes.iter().flat_map(|outcome| &outcome.cell.0);
    let axes: IndexSet<&str> = values.map(|(axis, _)| axis.as_str()).collect();
    axes.into_iter().collect()
}

fn numbers(outcomes: &[Outcome]) -> Vec<&str> {
    let of_fio =
        outcomes.iter().any(|outcome| outcome.sample.is_some()).then_some("all that fio says");
    let names: BTreeSet<&str> =
        outcomes.iter().flat_map(|outcome| outcome.measures.keys().map(String::as_str)).collect();
    of_fio.into_iter().chain(names).collect()
}

/// Returns axes whose values look like measurements (fractions, and few equal), with their numbers
/// of values.
fn measured_perhaps(outcomes: &[Outcome]) -> Vec<(&str, usize)> {
    let measured = |axis: &&str| {
        let values: Vec<&str> =
            outcomes.iter().filter_map(|outcome| outcome.cell.value(axis)).collect();
        let distinct = values.iter().collect::<BTreeSet<_>>().len();
        let are_broken = values
            .iter()
            .all(|value| value.parse::<f64>().is_ok_and(|number| number.fract() != 0.0));
        (are_broken && distinct > values.len() / 2).then_some(distinct)
    };
    axes(outcomes).into_iter().filter_map(|axis| Some((axis, measured(&axis)?))).collect()
}

/// Returns the outcomes, and the number of rows whose repeat number could not be kept.
fn outcomes(
    read: &[ReadFile],
    pattern: Option<&Pattern>,
) -> Result<(Vec<Outcome>, usize), Failure> {
    let mut renumbered = 0;
    let mut outcomes = Vec::new();
    let mut ids = Ids::default();
    // Repeats of each cell: their count, and the numbers in use.
    let mut repeats: BTreeMap<Vec<(String, String)>, Repeats> = BTreeMap::new();
    for (index, file) in read.iter().enumerate() {
        let (axes, seed) = of_path(file, pattern)?;
        for row in &file.rows {
            let mut cell = axes.clone();
            let is_new =
                |(axis, _): &&(String, String)| axes.iter().all(|(known, _)| known != axis);
            cell.extend(row.cell.iter().filter(is_new).cloned());
            let wanted = seed.or(row.repeat);
            let repeat = repeats.entry(cell.clone()).or_default().next(wanted);
            renumbered += usize::from(wanted.is_some_and(|wanted| wanted != repeat));
            let cell = Cell(cell);
            let trial = id(&cell, repeat, &mut ids);
            outcomes.push(outcome(trial, cell, repeat, row, (file, index)));
        }
    }
    Ok((outcomes, renumbered))
}

/// The numbers of a cell's repeats.
#[derive(Default)]
struct Repeats {
    taken: BTreeSet<u32>,
    /// No number below this one is free.
    free: u32,
}

impl Repeats {
    /// Returns the wanted number if it is free, or else the first free one.
    fn next(&mut self, wanted: Option<u32>) -> u32 {
        let repeat = wanted.filter(|repeat| !self.taken.contains(repeat)).unwrap_or_else(|| {
            self.free = (self.free.max(1)..=u32::MAX)
                .find(|number| !self.taken.contains(number))
                .unwrap_or(u32::MAX);
            self.free
        });
        self.taken.insert(repeat);
        repeat
    }
}

/// Axes and repeat that the path of a file gives.
type OfPath = (Vec<(String, String)>, Option<u32>);

fn of_path(file: &ReadFile, pattern: Option<&Pattern>) -> Result<OfPath, Failure> {
    let Some(pattern) = pattern else {
        let stem = file.short.rsplit_once('.').map_or(file.short.as_str(), |(stem, _)| stem);
        let own = (!file.format.tells_cells).then(|| ("file".to_owned(), stem.to_owned()));
        return Ok((own.into_iter().collect(), None));
    };
    let found = pattern.read(&file.short).ok_or_else(|| {
        mistaken!(
            "--cell: the pattern does not match {}; name the folder or files that it matches",
            file.short
        )
    })?;
    let mut repeat = None;
    let mut axes = Vec::new();
    for (name, value) in found {
        if REPEATS.contains(&name.as_str()) {
            let digits = value.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            repeat = Some(digits.parse().map_err(|_| {
                mistaken!(
                    "--cell: {}: expected the number of a repeat, found `{value}`",
                    file.short
                )
            })?);
        } else {
            axes.push((name, value));
        }
    }
    Ok((axes, repeat))
}

/// Names of the rows so far. For each name that several rows would have, `next` holds the number
/// that the next row may get.
#[derive(Default)]
struct Ids {
    taken: BTreeSet<String>,
    next: BTreeMap<String, u32>,
}

/// Builds a unique name from values and repeat that is valid as the name of a folder.
fn id(cell: &Cell, repeat: u32, Ids { taken, next }: &mut Ids) -> String {
    let fit = |letter: char| {
        if disklab_record::is_fit_letter(letter) && letter != '+' { letter } else { '_' }
    };
    let value = |(_, value): &(String, String)| value.chars().map(fit).take(60).collect::<String>();
    let values: String =
        cell.0.iter().map(value).collect::<Vec<_>>().join("+").chars().take(150).collect();
    let values = values.trim_start_matches('.');
    let first = format!("{values}+s{repeat}");
    if taken.insert(first.clone()) {
        return first;
    }
    let number = next.entry(first).or_insert(2);
    loop {
        let id = format!("{values}.{number}+s{repeat}");
        *number = number.saturating_add(1);
        if taken.insert(id.clone()) || *number == u32::MAX {
            return id;
        }
    }
}

fn outcome(
    trial: String,
    cell: Cell,
    repeat: u32,
    row: &ResultRow,
    (file, index): (&ReadFile, usize),
) -> Outcome {
    let void = row.remarks.iter().find(|remark| remark.voids());
    let status = if void.is_some() { Status::Failed } else { Status::Ok };
    let kept = format!("found/{}", source_name(index, &file.path));
    Outcome {
        reason: void.map(ToString::to_string),
        sample: row.sample.clone(),
        remarks: row.remarks.clone(),
        files: BTreeMap::from([(kept.clone(), file.sha256.clone())]),
        measures: row.measures.clone(),
        found: Some(FoundAt { file: kept, place: row.place.clone() }),
        ..Outcome::new(trial, cell, repeat, Seed(0), status)
    }
}

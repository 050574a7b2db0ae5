//! `disklab audit`: finds contradictions in results, of any source.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use disklab_record::{Record, Status};
use disklab_results::Remark;
use disklab_units::prose::count;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::json;

use crate::exit::{Exit, Failure, mistaken};
use crate::import::walk::look;
use crate::screen::{Paint, Screen};
use crate::{derived, records};

/// Say which results cannot be true or are implausible, and why.
///
/// audit reads records and the files that `import` reads, and checks each row. The number of
/// requests in flight is rate times latency (Little's law). Bandwidth is IOPS times request size.
/// Percentiles rise, and agree with the mean. Units have plausible sizes. The run time is the time
/// that was asked for. A number beyond a bound, such as a p99 far below the mean, is implausible:
/// it could be true.
///
/// The numbers of a record are also derived again from the raw files of its trials. audit names
/// each number that differs, with both values, and each raw file that was changed or removed.
///
/// Exit status: 1 if a row cannot be true or is implausible, or a number or raw file differs from
/// the record.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, folders, or records.
    #[arg(required = true)]
    paths: Vec<PathBuf>,

    /// Count the rows by the values of this axis too.
    ///
    /// [default: the first axis with a few values]
    #[arg(long, value_name = "AXIS")]
    by: Option<String>,
}

/// A row of results from a file or a record.
#[derive(Debug, Serialize)]
struct Audited {
    file: String,
    place: String,
    cell: BTreeMap<String, String>,
    #[serde(skip)]
    values: Vec<(String, String)>,
    /// The reason why the row has no result at all. A missing result is not a contradiction.
    without_result: Option<String>,
    doubts: Vec<Doubt>,
}

#[derive(Debug, Serialize)]
struct Doubt {
    #[serde(flatten)]
    remark: Remark,
    said: String,
}

pub fn audit(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let mut rows = Vec::new();
    let mut unreadable: Vec<(PathBuf, String)> = Vec::new();
    let (mut paths, mut unknown) = (Vec::new(), 0);
    let (mut changed, mut differ) = (Vec::new(), Vec::new());
    for path in &args.paths {
        match record_at(path) {
            Some(folder) => {
                let record = records::open_at(&folder, screen)?;
                remark_on_unnamed(&record, screen)?;
                changed.extend(records::changed_files(&record)?);
                differ.extend(derived::differences(&record, screen)?);
                rows.extend(of_record(&record));
            }
            None => paths.push(path.clone()),
        }
    }
    if !paths.is_empty() {
        let looked = look(&paths)?;
        for (path, of) in &looked.copies {
            screen.remark(&format!(
                "skipped: {} has the same bytes as {}",
                path.display(),
                of.display()
            ));
        }
        unreadable = looked.unreadable;
        unknown = looked.unknown.len();
        for read in looked.read {
            let file = || read.path.display().to_string();
            let found = read.rows.into_iter();
            rows.extend(found.map(|row| audited(file(), row.place, row.cell, None, &row.remarks)));
        }
    }
    if let ([(path, reason)], true, 0) = (unreadable.as_slice(), rows.is_empty(), unknown) {
        return Err(mistaken!("no results to audit in {}: {reason}", path.display()));
    }
    for (path, reason) in &unreadable {
        screen.remark(&format!("cannot read {}: {reason}", path.display()));
    }
    if rows.is_empty() {
        return Err(mistaken!(
            "no results to audit: {} of unknown format, {} that cannot be read; `disklab import \
             --help` lists the known formats",
            count(unknown, "file"),
            unreadable.len()
        ));
    }
    let axes: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.cell.keys().map(String::as_str)).collect();
    if let Some(axis) = args.by.as_deref().filter(|axis| !axes.contains(axis)) {
        let axes = axes.into_iter().collect::<Vec<_>>().join(", ");
        return Err(mistaken!("--by: no row has the axis `{axis}`; the axes are {axes}"));
    }
    let wrong = rows.iter().any(|row| !row.doubts.is_empty())
        || !(unreadable.is_empty() && changed.is_empty() && differ.is_empty());
    let exit = if wrong { Exit::Failed } else { Exit::Ok };
    let all = Tally::count(&rows);
    let by = by(&rows, args.by.as_deref());
    let groups = by.as_ref().map(|(axis, groups)| json!({ "axis": axis, "groups": groups }));
    let document = json!({
        "rows": all.rows, "cannot_be_true": all.cannot_be_true, "implausible": all.implausible,
        "by": groups, "audited": rows,
        "unreadable": unreadable, "changed_since_recorded": changed, "not_derived": differ,
    });
    screen.present(&document, |out| {
        print(&rows, screen, out)?;
        records::print_damage(&changed, &differ, out)?;
        if let Some((axis, groups)) = by {
            writeln!(out, "{}", screen.paint(&format!("by {axis}"), Paint::Strong))?;
            groups.iter().try_for_each(|(value, tally)| writeln!(out, "  {value}: {tally}"))?;
        }
        Ok(writeln!(out, "{}", screen.paint(&all.to_string(), Paint::Strong))?)
    })?;
    Ok(exit)
}

/// Returns the folder of the record with this path or name.
fn record_at(path: &Path) -> Option<PathBuf> {
    if records::is_record_or_damaged(path) {
        return Some(path.to_owned());
    }
    if path.exists() {
        return None;
    }
    records::find(path.to_str()?).ok().filter(|folder| records::is_record_or_damaged(folder))
}

/// Says how many results have no line. A run that is writing the record has such results for a
/// moment.
fn remark_on_unnamed(record: &Record, screen: &Screen) -> Result<(), Failure> {
    let unnamed = record.unnamed_results()?;
    if unnamed == 0 || disklab_record::is_written(record.folder())? {
        return Ok(());
    }
    let (folders, hold) = (count(unnamed, "folder"), if unnamed == 1 { "holds" } else { "hold" });
    screen.remark(&format!(
        "{}: {folders} under raw/ {hold} results for which the record has no line; `disklab repair \
         {}` makes lines of those whose numbers can be derived",
        record.folder().display(),
        records::name_in_shell(record.folder())
    ));
    Ok(())
}

fn of_record(record: &Record) -> Vec<Audited> {
    let folder = record.folder().display().to_string();
    let row = |(_, outcome): (&str, Option<&disklab_record::Outcome>)| {
        let outcome = outcome?;
        let (file, place) = match &outcome.found {
            Some(found) => (format!("{folder}/{}", found.file), found.place.clone()),
            None => (folder.clone(), outcome.trial.clone()),
        };
        let reason = (outcome.status != Status::Ok)
            .then(|| outcome.reason.clone().unwrap_or_else(|| outcome.status.to_string()));
        Some(audited(file, place, outcome.cell.0.clone(), reason, &outcome.remarks))
    };
    record.outcomes().into_iter().filter_map(row).collect()
}

fn audited(
    file: String,
    place: String,
    cell: Vec<(String, String)>,
    reason: Option<String>,
    remarks: &[Remark],
) -> Audited {
    let void = remarks.iter().find(|remark| remark.voids()).map(ToString::to_string);
    let doubts = remarks.iter().filter(|remark| remark.doubts());
    Audited {
        file,
        place,
        cell: cell.iter().cloned().collect(),
        values: cell,
        without_result: reason.or(void),
        doubts: doubts
            .map(|remark| Doubt { remark: remark.clone(), said: remark.to_string() })
            .collect(),
    }
}

/// Counts of a group of rows: all, those that cannot be true, those that could be true but are
/// implausible, and those without a result.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct Tally {
    rows: usize,
    cannot_be_true: usize,
    implausible: usize,
    without_result: usize,
}

impl Tally {
    fn count<'a>(rows: impl IntoIterator<Item = &'a Audited>) -> Self {
        let mut tally = Self::default();
        rows.into_iter().for_each(|row| tally.add(row));
        tally
    }

    fn add(&mut self, row: &Audited) {
        self.rows += 1;
        let (implausible, impossible): (Vec<&Doubt>, Vec<&Doubt>) =
            row.doubts.iter().partition(|doubt| doubt.remark.is_implausible());
        self.cannot_be_true += usize::from(!impossible.is_empty());
        self.implausible += usize::from(impossible.is_empty() && !implausible.is_empty());
        self.without_result += usize::from(row.without_result.is_some());
    }
}

/// Writes the counts as in `120 rows: 87 impossible, 1 implausible, 2 without a result`.
impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} impossible", count(self.rows, "row"), self.cannot_be_true)?;
        if self.implausible > 0 {
            write!(f, ", {} implausible", self.implausible)?;
        }
        if self.without_result > 0 {
            write!(f, ", {} without a result", self.without_result)?;
        }
        Ok(())
    }
}

/// Largest number of groups that a summary shows.
const MOST_GROUPS: usize = 12;

/// Groups rows by the values of an axis, in order of appearance.
fn by(rows: &[Audited], wanted: Option<&str>) -> Option<(String, Vec<(String, Tally)>)> {
    let groups = |axis: &str| {
        let mut groups: IndexMap<String, Tally> = IndexMap::new();
        for row in rows {
            if let Some(value) = row.cell.get(axis) {
                groups.entry(value.clone()).or_default().add(row);
            }
        }
        groups
    };
    let few = |(axis, _): &&(String, String)| (2..=MOST_GROUPS).contains(&groups(axis).len());
    let first = || rows.first()?.values.iter().find(few).map(|(axis, _)| axis.clone());
    let chosen = wanted.map(str::to_owned).or_else(first)?;
    let groups = groups(&chosen).into_iter().collect();
    Some((chosen, groups))
}

fn print(rows: &[Audited], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let mut file = "";
    for row in rows.iter().filter(|row| !row.doubts.is_empty() || row.without_result.is_some()) {
        if row.file != file {
            file = &row.file;
            writeln!(out, "{}", screen.paint(file, Paint::Strong))?;
        }
        let values: Vec<&str> = row.values.iter().map(|(_, value)| value.as_str()).collect();
        writeln!(out, "  {}: {}", row.place, values.join(", "))?;
        if let Some(reason) = &row.without_result {
            writeln!(out, "    no result: {reason}")?;
        }
        for doubt in &row.doubts {
            writeln!(out, "    {}", doubt.said)?;
        }
    }
    Ok(())
}

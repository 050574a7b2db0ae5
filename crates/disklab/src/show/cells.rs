//! Prints a record's cells as tables: one for each array and workload, with a row for each compared
//! value.

mod layout;

use std::io::Write;

use disklab_record::Status;
use disklab_report::failures::{TrialFailure, failures};
use disklab_report::merge::{CellGroup, CellNumbers, CellRow, MergedRecord, TrialRow, made_with};
use disklab_report::notes::Notes;
use disklab_units::prose::{count, in_shell};
use itertools::Itertools;

use super::measures;
use crate::exit::Failure;
use crate::screen::{Paint, Screen};
use layout::{Layout, Row};

const MEDIANS: &str = "Each number is the median over its row's seeds; below it is their range, \
                       where they differ (percents: by more than one).";

pub fn print(report: &MergedRecord, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    head(report, screen, out)?;
    let mut notes = Notes::default();
    let rows = |group| rows(group, report.goes_on, &mut notes);
    let groups: Vec<_> = report.groups.iter().zip(report.groups.iter().map(rows)).collect();
    for (group, rows) in &groups {
        writeln!(out)?;
        let title = group.head.0.iter().map(|(_, value)| value).join(", ");
        if !title.is_empty() {
            writeln!(out, "{}", screen.paint(&title, Paint::Strong))?;
        }
        let disks = disks(group);
        if !disks.is_empty() {
            screen.prose(&format!("disks: {disks}"), "  ", out)?;
        }
        if !group.is_foreign() {
            Layout::fitting(group, rows, screen).print(rows, screen, out)?;
        }
        if group.is_foreign() || group.cells.iter().any(|cell| !cell.measures.is_empty()) {
            let labels: Vec<String> = rows.iter().map(|row| row.label.clone()).collect();
            measures::print(group, &labels, None, screen, out)?;
        }
        for row in rows.iter().filter(|_| group.is_foreign()) {
            for (text, paint) in &row.below {
                screen.prose(
                    &format!("{}: {}", row.label, screen.paint(text, *paint)),
                    "  ",
                    out,
                )?;
            }
        }
    }
    writeln!(out)?;
    if report.groups.iter().any(|group| best(group).is_some()) {
        screen.prose("* more IOPS in its worst seed than any other row in its best", "", out)?;
    }
    for (at, sentence) in notes.sentences().iter().enumerate() {
        screen.prose(&format!("[{}] {sentence}", at + 1), "", out)?;
    }
    let cells = || report.groups.iter().flat_map(|group| &group.cells);
    report
        .machine
        .iter()
        .try_for_each(|sentence| screen.prose(&format!("{sentence}."), "", out))?;
    if cells().any(several_seeds) {
        screen.prose(MEDIANS, "", out)?;
    }
    screen.prose(report.validity, "", out)?;
    let trials = || cells().flat_map(|cell| &cell.trials);
    let failed = trials().find(|trial| trial.status == Some(Status::Failed));
    if let Some(trial) = failed.or_else(|| trials().next()) {
        writeln!(
            out,
            "One trial: disklab show {} {}",
            in_shell(&report.record),
            in_shell(trial.trial)
        )?;
    }
    Ok(())
}

fn head(report: &MergedRecord, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let question =
        report.question.as_ref().map_or_else(String::new, |question| format!(": {question}"));
    screen.prose(&format!("{}{question}", report.suite), "", out)?;
    let mut facts = made_with(report);
    facts.push(report.trials.to_string());
    if !report.set.is_empty() {
        facts.push(format!("with {}", report.set.join(" ")));
    }
    screen.prose(&format!("{}; begun {}", facts.join(", "), report.created), "", out)
}

/// Names the disks of a group, as in `vda-vdb nas-4tb, vdc laptop-1tb`, if all rows have the same
/// disks.
fn disks(group: &CellGroup) -> String {
    let of = |cell: &CellRow| -> Vec<(String, String)> {
        let disks = cell.measured.iter().flat_map(|measured| &measured.disks);
        disks.filter_map(|disk| Some((disk.name.clone(), disk.device.clone()?))).collect()
    };
    let mut all = group.cells.iter().filter(|cell| cell.measured.is_some()).map(of);
    let Some(disks) = all.next() else { return String::new() };
    if all.any(|others| others != disks) {
        return String::new();
    }
    let same: Vec<_> = disks.chunk_by(|(_, one), (_, other)| one == other).collect();
    let mut told = same.iter().map(|same| match same {
        [(first, device), .., (last, _)] => format!("{first}-{last} {device}"),
        [(only, device)] => format!("{only} {device}"),
        [] => String::new(),
    });
    told.join(", ")
}

fn rows<'a>(group: &CellGroup<'a>, goes_on: bool, notes: &mut Notes<'a>) -> Vec<Row> {
    let best = best(group);
    let mut rows = Vec::new();
    for (index, cell) in group.cells.iter().enumerate() {
        let mut label = cell.values.join(", ");
        if best == Some(index) {
            label.push_str(" *");
        }
        for trial in cell.trials.iter().filter(|trial| trial.status == Some(Status::Ok)) {
            for number in notes.numbers(trial.remarks, trial.trial) {
                let mark = format!(" [{number}]");
                if !label.contains(&mark) {
                    label.push_str(&mark);
                }
            }
        }
        rows.push(Row { label, below: not_ok(&cell.trials, goes_on) });
    }
    rows
}

fn several_seeds(cell: &CellRow) -> bool {
    cell.measured.as_ref().is_some_and(|measured| measured.seeds > 1)
}

/// Returns the row whose worst seed is better than the best seed of every other row. It needs
/// several seeds.
fn best(group: &CellGroup) -> Option<usize> {
    let cells = group.cells.iter().enumerate();
    let measured: Vec<(usize, &CellNumbers)> =
        cells.filter_map(|(at, cell)| Some((at, cell.measured.as_ref()?))).collect();
    if measured.len() < 2 || measured.iter().any(|(_, numbers)| numbers.seeds < 2) {
        return None;
    }
    let is_clear = |(at, candidate): &&(usize, &CellNumbers)| {
        let mut others = measured.iter().filter(|(other, _)| other != at);
        others.all(|(_, other)| other.all.iops.max < candidate.all.iops.min)
    };
    measured.iter().find(is_clear).map(|(at, _)| *at)
}

/// Describes the trials that have no result.
fn not_ok(trials: &[TrialRow], goes_on: bool) -> Vec<(String, Paint)> {
    let painted =
        |TrialFailure { text, failed }| (text, if failed { Paint::Bad } else { Paint::Faint });
    let not_needed = trials.iter().filter(|trial| trial.status == Some(Status::NotNeeded)).count();
    let not_needed = (not_needed > 0)
        .then(|| (format!("{} not needed", count(not_needed, "seed")), Paint::Faint));
    failures(trials.iter().copied(), goes_on).into_iter().map(painted).chain(not_needed).collect()
}

//! The matrix of a record as lines of text: a row for each cell, and a mark for each of its trials.

use std::collections::BTreeSet;
use std::io;

use disklab_compare::CellIndex;
use disklab_record::{Record, Status};
use disklab_report::Tally;
use disklab_report::merge::{CellGroup, CellRow, MergedRecord, TrialRow};
use disklab_units::prose::digits;
use itertools::Itertools;
use rustix::termios::tcgetwinsize;

use crate::screen::{Paint, Screen};

/// Height of a terminal that does not report it.
const USUAL_HEIGHT: usize = 24;

/// Returns as many lines as the terminal of standard error has room for, besides `others`.
pub fn lines(record: &Record, screen: &Screen, others: usize) -> Vec<String> {
    let height = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_row));
    let room = if height == 0 { USUAL_HEIGHT } else { height.saturating_sub(1 + others) };
    let running = record.under_way();
    let mut lines = vec![screen.paint(&Tally::new(record).to_string(), Paint::Strong)];
    let groups = MergedRecord::new(&CellIndex::new(record)).groups;
    lines.extend(fitting(&groups, &running, room.saturating_sub(lines.len()), screen));
    lines
}

/// Folds groups into a line each, the least informative ones first: complete groups, then groups
/// that have not begun, then all.
fn fitting(
    groups: &[CellGroup],
    running: &BTreeSet<String>,
    room: usize,
    screen: &Screen,
) -> Vec<String> {
    let folds: [fn(&CellGroup) -> bool; 4] =
        [|_| false, is_done, |group| is_done(group) || is_to_come(group), |_| true];
    let lines = |folded: fn(&CellGroup) -> bool| -> Vec<String> {
        let lines = |group| {
            if folded(group) {
                vec![folded_row(group, running, screen)]
            } else {
                rows(group, running, screen)
            }
        };
        groups.iter().flat_map(lines).collect()
    };
    let mut lines = folds
        .into_iter()
        .map(lines)
        .find(|lines| lines.len() <= room)
        .unwrap_or_else(|| lines(|_| true));
    if lines.len() > room {
        let hidden = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        lines.push(format!("and {hidden} more"));
    }
    let cut = |line: String| {
        console::truncate_str(&screen.shown(&line), screen.width, "\u{2026}").into_owned()
    };
    lines.into_iter().map(cut).collect()
}

fn trials<'a>(group: &'a CellGroup) -> impl Iterator<Item = &'a TrialRow<'a>> {
    group.cells.iter().flat_map(|cell| &cell.trials)
}

fn is_done(group: &CellGroup) -> bool {
    trials(group).all(|trial| trial.status.is_some_and(|status| status != Status::Interrupted))
}

fn is_to_come(group: &CellGroup) -> bool {
    trials(group).all(|trial| trial.status.is_none())
}

/// Formats the head of a group: `hdd-raid1, randread-4k-qd1: 12 of 80`.
fn head(group: &CellGroup) -> String {
    let values = group.head.0.iter().map(|(_, value)| value).join(", ");
    let ended = trials(group).filter(|trial| trial.status.is_some()).count();
    let tally = format!("{ended} of {}", trials(group).count());
    if group.head.0.is_empty() { tally } else { format!("{values}: {tally}") }
}

/// Formats a folded group: its head, with a mark for each cell.
fn folded_row(group: &CellGroup, running: &BTreeSet<String>, screen: &Screen) -> String {
    let mark = |cell: &CellRow| {
        let states: Vec<TrialMark> =
            cell.trials.iter().map(|trial| TrialMark::new(trial, running)).collect();
        let of_cell = if states.contains(&TrialMark::Failed) {
            TrialMark::Failed
        } else if states.iter().all(|state| *state == states[0]) {
            states[0]
        } else {
            TrialMark::Running
        };
        of_cell.mark(screen)
    };
    format!("{}  {}", group.cells.iter().map(mark).collect::<String>(), head(group))
}

fn rows(group: &CellGroup, running: &BTreeSet<String>, screen: &Screen) -> Vec<String> {
    let labels: Vec<String> = group.cells.iter().map(|cell| cell.values.join(", ")).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let row = |(cell, label): (&CellRow, &String)| {
        let marks: String =
            cell.trials.iter().map(|trial| TrialMark::new(trial, running).mark(screen)).collect();
        let median = cell.measured.as_ref().map_or_else(String::new, |measured| {
            format!("  {} IOPS", digits(measured.all.iops.median))
        });
        format!("  {label:width$}  {marks}{median}")
    };
    std::iter::once(screen.paint(&head(group), Paint::Strong))
        .chain(group.cells.iter().zip(&labels).map(row))
        .collect()
}

/// Progress of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrialMark {
    Ok,
    Failed,
    NotNeeded,
    Running,
    ToCome,
}

impl TrialMark {
    fn new(trial: &TrialRow, running: &BTreeSet<String>) -> Self {
        match trial.status {
            Some(Status::Ok) => Self::Ok,
            Some(Status::Failed | Status::Skipped) => Self::Failed,
            Some(Status::NotNeeded) => Self::NotNeeded,
            _ if running.contains(trial.trial) => Self::Running,
            Some(Status::Interrupted) | None => Self::ToCome,
        }
    }

    fn mark(self, screen: &Screen) -> String {
        match self {
            Self::Ok => screen.paint("\u{25cf}", Paint::Good),
            Self::Failed => screen.paint("\u{2717}", Paint::Bad),
            Self::NotNeeded => screen.paint("-", Paint::Faint),
            Self::Running => "\u{25d0}".to_owned(),
            Self::ToCome => screen.paint("\u{b7}", Paint::Faint),
        }
    }
}

#[cfg(test)]
mod tests {
    use disklab_record::manifest::Suite;

    use disklab_record::Outcome;

    use super::*;
    use crate::screen::When;

    /// Three cells with three seeds each: done, running with a failure, and not begun.
    fn record(folder: &std::path::Path) -> Record {
        let ids: Vec<String> = ["pid", "queue", "devid"]
            .iter()
            .flat_map(|policy| (1..=3).map(move |seed| format!("{policy}+s{seed}")))
            .collect();
        let text = "question = \"?\"\n[axes]\npolicy = [\"pid\"]\n";
        let suite = Suite::new("quick", text, Vec::new());
        let manifest = disklab_testkit::manifest(suite, ids.clone());
        let outcome = |id: &String, status| {
            let (policy, seed) = id.split_once("+s").expect("an id");
            let seed = seed.parse().expect("a seed");
            Outcome { status, ..disklab_testkit::outcome(id, &[("policy", policy)], seed) }
        };
        let done = ids[..3].iter().map(|id| outcome(id, Status::Ok));
        let outcomes = done.chain([outcome(&ids[3], Status::Failed)]);
        disklab_testkit::record(&folder.join("run"), &manifest, outcomes)
    }

    #[test]
    fn every_trial_has_its_mark_and_groups_fold_where_there_is_no_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = record(folder.path());
        let screen = Screen::new(false, When::Never);
        let running = BTreeSet::from(["queue+s2".to_owned()]);
        let report = MergedRecord::new(&CellIndex::new(&record));
        let lines = fitting(&report.groups, &running, 10, &screen);
        let rows = [
            "4 of 9",
            "  pid    \u{25cf}\u{25cf}\u{25cf}",
            "  queue  \u{2717}\u{25d0}\u{b7}",
            "  devid  \u{b7}\u{b7}\u{b7}",
        ];
        assert_eq!(lines, rows);
        assert_eq!(
            fitting(&report.groups, &running, 2, &screen),
            ["\u{25cf}\u{2717}\u{b7}  4 of 9"]
        );
    }
}

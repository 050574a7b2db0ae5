//! What a run ends with: a line for each cell, and the verdicts in words.

use std::io::Write;

use disklab_compare::{CellIndex, MetricUse, Recommendation, answer, default_metrics, sensitivity};
use disklab_record::{Record, Status};
use disklab_report::merge::{CellGroup, CellNumbers, CellRow, DiskNumbers, MergedRecord};
use disklab_report::notes::Notes;
use disklab_report::source::{CellChoice, Records, ReportOptions, ReportSource};
use disklab_report::survival;
use disklab_results::Spread;
use disklab_units::prose::digits;
use itertools::Itertools;

use crate::compare::print_recommendation;
use crate::exit::Failure;
use crate::screen::{Paint, Screen};
use crate::show::measures;
use crate::sparkline::sparkline;
use crate::table::{Align, TextTable, left, right};
use crate::words::or_dash;

const MIB: f64 = 1024.0 * 1024.0;

pub fn print(record: &Record, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let records = Records { all: vec![record.clone()], lost: Vec::new() };
    let index = CellIndex::new(record);
    let wanted = options(&index);
    // Without a baseline there is nothing to judge, and the numbers are told all the same.
    let source = ReportSource::new(&records, &wanted).ok();
    // The ends of estimates are told in sentences.
    let mut as_they_are = CellIndex::new(record);
    as_they_are.trials.retain(|trial| !sensitivity::is_at_end(&trial.cell));
    let report = MergedRecord::new(&as_they_are);
    let mut has_bars = false;
    for group in &report.groups {
        if !group.head.0.is_empty() {
            let head = group.head.0.iter().map(|(_, value)| value).join(", ");
            writeln!(out, "{}", screen.paint(&head, Paint::Strong))?;
        }
        let labels: Vec<String> = group.cells.iter().map(|cell| cell.values.join(", ")).collect();
        if group.is_foreign() {
            let judged = judged(source.as_ref()).map(|(source, head)| {
                let verdict = |cell: &CellRow| verdict(cell, source, screen);
                (head, group.cells.iter().map(verdict).collect::<Vec<_>>())
            });
            let last = judged.as_ref().map(|(head, verdicts)| (head.as_str(), verdicts.as_slice()));
            measures::print(group, &labels, last, screen, out)?;
        } else {
            let (table, with_bars) = rows(group, source.as_ref(), screen);
            has_bars |= with_bars;
            table.print(screen, "  ", out)?;
            if group.cells.iter().any(|cell| !cell.measures.is_empty()) {
                writeln!(out)?;
                measures::print(group, &labels, None, screen, out)?;
            }
        }
        writeln!(out)?;
    }
    if let Some(recommendation) = source.as_ref().and_then(|one| one.recommendation.as_ref()) {
        print_recommendation(recommendation, screen, out)?;
        writeln!(out)?;
    }
    let said = |source: &ReportSource| {
        let sentences = source.sentences().into_iter().chain(source.sensitivity());
        sentences.chain(source.seeds_to_decide())
    };
    let verdicts = source.iter().flat_map(said).map(|sentence| format!("{sentence}."));
    let bars = if has_bars {
        "; the bars are disks, reads of the busiest reader and busy of all the time"
    } else {
        ""
    };
    let medians = format!("Numbers are medians over seeds{bars}.");
    let doubted = in_doubt(record);
    let survived = survival::sentence(record).map(|sentence| format!("{sentence}."));
    let machine = report.machine.iter().map(|sentence| format!("{sentence}."));
    for text in verdicts
        .chain(doubted)
        .chain(machine)
        .chain(survived)
        .chain([medians, report.validity.to_owned()])
    {
        screen.prose(&text, "", out)?;
    }
    Ok(())
}

/// The recommendation of a record, as its summary has it.
pub fn recommendation(record: &Record) -> Option<Recommendation> {
    let records = Records { all: vec![record.clone()], lost: Vec::new() };
    let wanted = options(&CellIndex::new(record));
    ReportSource::new(&records, &wanted).ok()?.recommendation
}

/// The metrics of verdicts. The first is that of the table.
fn options(index: &CellIndex) -> ReportOptions {
    let metrics = default_metrics(std::slice::from_ref(index), MetricUse::Verdicts);
    ReportOptions { metrics, ..ReportOptions::default() }
}

/// What makes numbers above doubtful: a sentence for each kind.
fn in_doubt(record: &Record) -> Vec<String> {
    let mut notes = Notes::default();
    for (_, outcome) in record.outcomes() {
        for outcome in outcome.into_iter().filter(|outcome| outcome.status == Status::Ok) {
            for remark in outcome.remarks.iter().filter(|remark| remark.doubts()) {
                notes.number(remark, &outcome.trial);
            }
        }
    }
    let sentences = notes.sentences().into_iter();
    sentences.map(|sentence| format!("In doubt, and in no verdict: {sentence}.")).collect()
}

/// On a narrow screen without the numbers that say least; and whether bars are among the others.
fn rows(group: &CellGroup, source: Option<&ReportSource>, screen: &Screen) -> (TextTable, bool) {
    let all = columns();
    let judged = judged(source);
    let table = |columns: &[&SummaryColumn]| {
        let axes = group.axes.join(", ");
        let mut heads = vec![(axes.as_str(), Align::Left)];
        heads.extend(columns.iter().map(|column| (column.head, column.side)));
        heads.extend(judged.iter().map(|(_, head)| (head.as_str(), Align::Left)));
        let mut table = TextTable::new(&heads, screen.color);
        for cell in &group.cells {
            let mut fields = vec![cell.values.join(", ")];
            let text = |column: &&SummaryColumn| or_dash(cell.measured.as_ref().map(column.text));
            fields.extend(columns.iter().map(text));
            fields.extend(judged.iter().map(|(source, _)| verdict(cell, source, screen)));
            table.row(fields);
        }
        table
    };
    let most = all.iter().map(|column| column.importance).max().unwrap_or(0);
    let kept = |least: u8| {
        let columns: Vec<&SummaryColumn> =
            all.iter().filter(|column| column.importance >= least).collect();
        (table(&columns), columns.iter().any(|column| column.side == Align::Left))
    };
    let fits = |(table, _): &(TextTable, bool)| table.width() + 2 <= screen.width;
    (0..most).map(kept).find(fits).unwrap_or_else(|| kept(most))
}

/// With the head of a column of verdicts, where there are any.
fn judged<'s, 'r>(source: Option<&'s ReportSource<'r>>) -> Option<(&'s ReportSource<'r>, String)> {
    let source = source.filter(|source| !source.comparisons.is_empty())?;
    Some((source, format!("{} against baseline", source.metrics.first()?.name())))
}

struct SummaryColumn {
    head: &'static str,
    /// Bars are at the left.
    side: Align,
    /// Where there is no room for all, the least go first.
    importance: u8,
    text: fn(&CellNumbers) -> String,
}

fn columns() -> [SummaryColumn; 8] {
    type Shown = fn(&CellNumbers) -> String;
    let columns: [(_, _, Shown); 8] = [
        (right("IOPS"), 4, |cell| digits(cell.all.iops.median)),
        (right("MiB/s"), 1, |cell| digits(cell.all.bw_bytes.median / MIB)),
        (right("mean"), 2, |cell| time(Some(cell.all.lat_mean_ns))),
        (right("p50"), 0, |cell| time(cell.all.p50_ns)),
        (right("p99"), 3, |cell| time(cell.all.p99_ns)),
        (right("p99.9"), 0, |cell| time(cell.all.p99_9_ns)),
        (left("reads"), 3, |cell| {
            let shares = &cell.read_shares;
            sparkline(shares, shares.iter().flatten().copied().fold(0.0, f64::max))
        }),
        (left("busy"), 2, |cell| sparkline(&medians(cell, |disk| Some(disk.utilisation)), 1.0)),
    ];
    columns.map(|((head, side), importance, text)| SummaryColumn { head, side, importance, text })
}

fn medians(measured: &CellNumbers, of: fn(&DiskNumbers) -> Option<Spread>) -> Vec<Option<f64>> {
    measured.disks.iter().map(|disk| of(disk).map(|spread| spread.median)).collect()
}

fn time(spread: Option<Spread>) -> String {
    or_dash(spread.map(|spread| answer::value(spread.median, "ns")))
}

/// `+12 % better`, `baseline`.
fn verdict(cell: &CellRow, source: &ReportSource, screen: &Screen) -> String {
    let is_its = |choice: &&CellChoice| {
        let mut trials = choice.trials.iter();
        trials.any(|trial| cell.trials.first().is_some_and(|first| first.trial == trial.id))
    };
    let place = source
        .groups
        .iter()
        .find_map(|group| Some((group, group.choices.iter().find(is_its)?.value.as_str())));
    let Some(((group, choice), metric)) = place.zip(source.metrics.first()) else {
        return String::new();
    };
    let Some(comparison) = source.comparison(group, choice, metric) else {
        let is_baseline = source.baseline.as_deref() == Some(choice);
        return if is_baseline { "baseline".to_owned() } else { String::new() };
    };
    screen.paint(
        &answer::change_and_verdict(comparison.change, comparison.verdict),
        comparison.verdict.into(),
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::screen::When;

    fn printed(width: usize) -> String {
        let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/records/old");
        let record = Record::open_damaged(&old).expect("the fixture").0;
        let mut screen = Screen::new(false, When::Never);
        screen.width = width;
        let mut out = Vec::new();
        print(&record, &screen, &mut out).expect("a string takes all");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn the_least_important_numbers_go_first_where_there_is_no_room() {
        let heads = |width| {
            let text = printed(width);
            let head =
                text.lines().find(|line| line.contains("IOPS against")).expect("a head").to_owned();
            let told = text.contains("the bars are disks");
            assert_eq!(
                told,
                head.contains(" reads ") || head.contains(" busy "),
                "{width}:\n{text}"
            );
            ["p99.9", "MiB/s", "busy", "reads", "IOPS"]
                .map(|word| head.split_whitespace().any(|other| other == word))
        };
        assert_eq!(heads(200), [true; 5]);
        assert_eq!(heads(60), [false, false, false, false, true]);
        let shown = |width| heads(width).into_iter().filter(|is_there| *is_there).count();
        assert!((60..200).map(shown).is_sorted());
        for width in 60..200 {
            let text = printed(width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        }
    }

    #[test]
    fn verdicts_are_told_with_what_they_are_valid_for() {
        let text = printed(120);
        let expected =
            ["IOPS against baseline", "baseline", "IOPS: ", "The cost of CPU", "\u{2588}"];
        for expected in expected {
            assert!(text.contains(expected), "no {expected}:\n{text}");
        }
    }
}

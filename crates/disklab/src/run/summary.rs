//! What a run ends with: a line for each cell, and the verdicts in words.

use std::io::Write;

use disklab_compare::{
    CellIndex, Metric, MetricUse, Recommendation, answer, default_metrics, sensitivity,
};
use disklab_record::{Record, Status};
use disklab_report::merge::{CellGroup, CellNumbers, CellRow, DiskNumbers, MergedRecord};
use disklab_report::notes::Notes;
use disklab_report::source::{CellChoice, Group, Records, ReportOptions, ReportSource};
use disklab_report::survival;
use disklab_results::Spread;
use disklab_units::prose::digits;
use itertools::Itertools;

use crate::compare::{print_more_seeds, print_recommendation};
use crate::exit::Failure;
use crate::screen::{Paint, Screen};
use crate::show::measures::{self, JudgedCells};
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
            let judged = source.as_ref().and_then(|source| judged_cells(group, source, screen));
            measures::print(group, &labels, judged.as_ref(), screen, out)?;
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
    let said = |source: &ReportSource| source.sentences().into_iter().chain(source.sensitivity());
    for sentence in source.iter().flat_map(said) {
        screen.prose(&format!("{sentence}."), "", out)?;
    }
    let more = source.as_ref().and_then(ReportSource::more_seeds);
    print_more_seeds(more.as_ref(), screen, out)?;
    let modes = source.as_ref().and_then(ReportSource::two_modes);
    let modes = modes.map(|sentence| format!("{sentence}."));
    let bars = if has_bars {
        "; the bars are disks, reads of the busiest reader and busy of all the time"
    } else {
        ""
    };
    let judged = source.as_ref().filter(|source| !source.comparisons.is_empty());
    let numbers = match judged.and_then(|source| source.metrics.first()) {
        Some(metric) => format!(
            "{} is the estimate that its verdict rests on; other numbers are medians over \
             seeds{bars}.",
            metric.name()
        ),
        None => format!("Numbers are medians over seeds{bars}."),
    };
    let doubted = in_doubt(record);
    let survived = survival::sentence(record).map(|sentence| format!("{sentence}."));
    let machine = report.machine.iter().map(|sentence| format!("{sentence}."));
    for text in modes
        .into_iter()
        .chain(doubted)
        .chain(machine)
        .chain(survived)
        .chain([numbers, report.validity.to_owned()])
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
            let compared = judged.iter().find_map(|(source, _)| number(cell, source));
            let text = |column: &&SummaryColumn| {
                let shown = compared.as_ref().filter(|(metric, _)| column.metric == Some(metric));
                let own = || cell.measured.as_ref().map(column.text);
                or_dash(shown.map(|(_, number)| number.clone()).or_else(own))
            };
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
    /// The metric that it shows.
    metric: Option<&'static Metric>,
    /// Bars are at the left.
    side: Align,
    /// Where there is no room for all, the least go first.
    importance: u8,
    text: fn(&CellNumbers) -> String,
}

fn columns() -> [SummaryColumn; 8] {
    type Shown = fn(&CellNumbers) -> String;
    let columns: [(_, Option<&'static Metric>, _, Shown); 8] = [
        (right("IOPS"), Some(&Metric::Iops), 4, |cell| digits(cell.all.iops.median)),
        (right("MiB/s"), None, 1, |cell| digits(cell.all.bw_bytes.median / MIB)),
        (right("mean"), Some(&Metric::Mean), 2, |cell| time(Some(cell.all.lat_mean_ns))),
        (right("p50"), Some(&Metric::P50), 0, |cell| time(cell.all.p50_ns)),
        (right("p99"), Some(&Metric::P99), 3, |cell| time(cell.all.p99_ns)),
        (right("p99.9"), Some(&Metric::P999), 0, |cell| time(cell.all.p99_9_ns)),
        (left("reads"), None, 3, |cell| {
            let shares = &cell.read_shares;
            sparkline(shares, shares.iter().flatten().copied().fold(0.0, f64::max))
        }),
        (left("busy"), None, 2, |cell| {
            sparkline(&medians(cell, |disk| Some(disk.utilisation)), 1.0)
        }),
    ];
    columns.map(|((head, side), metric, importance, text)| SummaryColumn {
        head,
        metric,
        side,
        importance,
        text,
    })
}

fn medians(measured: &CellNumbers, of: fn(&DiskNumbers) -> Option<Spread>) -> Vec<Option<f64>> {
    measured.disks.iter().map(|disk| of(disk).map(|spread| spread.median)).collect()
}

fn time(spread: Option<Spread>) -> String {
    or_dash(spread.map(|spread| answer::value(spread.median, "ns")))
}

/// `+12 % better`, `baseline`.
fn verdict(cell: &CellRow, source: &ReportSource, screen: &Screen) -> String {
    let Some(((group, choice), metric)) = place(cell, source).zip(source.metrics.first()) else {
        return String::new();
    };
    let Some(comparison) = source.comparison(group, &choice.value, metric) else {
        let is_baseline = source.baseline.as_deref() == Some(&choice.value);
        return if is_baseline { "baseline".to_owned() } else { String::new() };
    };
    screen.paint(&comparison.change_and_verdict(), comparison.verdict.into())
}

/// The group and the choice of a report that a row shows.
fn place<'s, 'r>(
    cell: &CellRow,
    source: &'s ReportSource<'r>,
) -> Option<(&'s Group<'r>, &'s CellChoice<'r>)> {
    let is_its = |choice: &&CellChoice| {
        let mut trials = choice.trials.iter();
        trials.any(|trial| cell.trials.first().is_some_and(|first| first.trial == trial.id))
    };
    source.groups.iter().find_map(|group| Some((group, group.choices.iter().find(is_its)?)))
}

/// The metric that is judged, and the number of a cell that its change is from or to.
fn number<'s>(cell: &CellRow, source: &'s ReportSource) -> Option<(&'s Metric, String)> {
    let (group, choice) = place(cell, source)?;
    let metric = source.metrics.first()?;
    Some((metric, source.number_in_words(group, choice, metric)?))
}

/// The verdicts on a group whose numbers are not fio's.
fn judged_cells(group: &CellGroup, source: &ReportSource, screen: &Screen) -> Option<JudgedCells> {
    let (source, head) = judged(Some(source))?;
    let cells = || group.cells.iter();
    Some(JudgedCells {
        head,
        metric: source.metrics.first()?.name().to_owned(),
        numbers: cells().map(|cell| Some(number(cell, source)?.1)).collect(),
        verdicts: cells().map(|cell| verdict(cell, source, screen)).collect(),
    })
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
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let told = words.contains("the bars are disks");
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
            // Commands are there to be copied.
            let is_copied =
                |line: &&str| line.contains("disklab run ") || line.contains("records/old");
            let mut lines = text.lines().filter(|line| !is_copied(line));
            assert!(lines.all(|line| line.chars().count() <= width), "{width}:\n{text}");
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

//! The summary at the end of a run: a line for each cell, and the verdicts in sentences.

use std::io::Write;

use disklab_compare::{
    CellIndex, Metric, MetricUse, Recommendation, answer, conclusion, default_metrics, sensitivity,
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
use crate::table::{Align, TextTable};
use crate::words::or_dash;

const MIB: f64 = 1024.0 * 1024.0;

pub fn print(record: &Record, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let records = Records { all: vec![record.clone()], lost: Vec::new() };
    let index = CellIndex::new(record);
    let wanted = options(&index);
    // Without a baseline there are no verdicts, and the numbers are printed alone.
    let source = ReportSource::new(&records, &wanted).ok();
    // All columns of a row use one estimator, whichever metric has the verdict.
    let of_columns: Vec<Metric> = columns().iter().filter_map(SummaryColumn::metric).collect();
    let of_columns = ReportOptions { metrics: of_columns, ..ReportOptions::default() };
    let numbers = ReportSource::new(&records, &of_columns).ok();
    let sources = source.as_ref().zip(numbers.as_ref().or(source.as_ref()));
    // Sentences, and no rows, give the results at the ends of estimates.
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
            let (table, with_bars) = rows(group, sources, screen);
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
    // Estimates are computed for every number, since most of them show in latencies only.
    let on_other_disks = sources.map(|(_, numbers)| numbers.on_other_disks()).unwrap_or_default();
    let sentences = source.iter().flat_map(ReportSource::sentences).chain(on_other_disks);
    for sentence in sentences {
        screen.prose(&format!("{sentence}."), "", out)?;
    }
    let more = source.as_ref().and_then(ReportSource::more_seeds);
    print_more_seeds(more.as_ref(), screen, out)?;
    let modes = source.as_ref().and_then(ReportSource::two_modes);
    let other_axes = source
        .as_ref()
        .and_then(|source| conclusion::other_axes(std::slice::from_ref(&index), &source.compared));
    let modes = modes.into_iter().chain(other_axes).map(|sentence| format!("{sentence}."));
    let bars = if has_bars {
        " Each bar is a disk: `reads` relative to the disk with most reads, `busy` relative to the \
         whole time."
    } else {
        ""
    };
    let is_judged = source.as_ref().is_some_and(|source| !source.comparisons.is_empty());
    let numbers = if is_judged {
        format!(
            "Numbers are the estimates that the verdicts use, or medians over seeds where nothing \
             is compared.{bars}"
        )
    } else {
        format!("Numbers are medians over seeds.{bars}")
    };
    let doubted = in_doubt(record);
    let survived = survival::sentence(record).map(|sentence| format!("{sentence}."));
    let machine = report.machine.iter().map(|sentence| format!("{sentence}."));
    for text in modes
        .chain(doubted)
        .chain(machine)
        .chain(survived)
        .chain([numbers, report.validity.to_owned()])
    {
        screen.prose(&text, "", out)?;
    }
    Ok(())
}

/// Returns the recommendation of a record, as its summary shows it.
pub fn recommendation(record: &Record) -> Option<Recommendation> {
    let records = Records { all: vec![record.clone()], lost: Vec::new() };
    let wanted = options(&CellIndex::new(record));
    ReportSource::new(&records, &wanted).ok()?.recommendation
}

/// Returns the metrics of verdicts. The first is that of the table.
fn options(index: &CellIndex) -> ReportOptions {
    let metrics = default_metrics(std::slice::from_ref(index), MetricUse::Verdicts);
    ReportOptions { metrics, ..ReportOptions::default() }
}

/// Lists reasons to doubt the numbers above, a sentence for each kind.
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

/// Sources of the verdicts of a record, and of the numbers of all columns.
type Sources<'s, 'r> = (&'s ReportSource<'r>, &'s ReportSource<'r>);

/// Builds the rows, without the least important numbers on a narrow screen. Also returns whether
/// bars are among the columns.
fn rows(group: &CellGroup, sources: Option<Sources<'_, '_>>, screen: &Screen) -> (TextTable, bool) {
    let all = columns();
    let judged = judged(sources.map(|(source, _)| source));
    let numbers = sources.map(|(_, numbers)| numbers);
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
                let measured = cell.measured.as_ref();
                let text = match &column.shown {
                    Shown::Number { metric, own, in_words } => {
                        let judged = compared.as_ref().filter(|(known, _)| *known == metric);
                        let number = || {
                            let (group, choice) = place(cell, numbers?)?;
                            numbers?.number(group, choice, metric)
                        };
                        let number = || number().or_else(|| own(measured?)).map(in_words);
                        // The number is `> 60 s`, for example, or comes from other seeds.
                        judged.map(|(_, number)| number.clone()).or_else(number)
                    }
                    Shown::Bars(bars) => measured.map(bars),
                };
                or_dash(text)
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

/// Returns the source with the head of the verdict column, if there are verdicts.
fn judged<'s, 'r>(source: Option<&'s ReportSource<'r>>) -> Option<(&'s ReportSource<'r>, String)> {
    let source = source.filter(|source| !source.comparisons.is_empty())?;
    Some((source, format!("{} against baseline", source.metrics.first()?.name())))
}

struct SummaryColumn {
    head: &'static str,
    /// Side of the column. Bars are at the left.
    side: Align,
    /// Importance of the column: the least important ones are left out on a narrow screen.
    importance: u8,
    shown: Shown,
}

enum Shown {
    /// A metric: the estimate of a comparison, or else the median over the cell's seeds.
    Number { metric: Metric, own: fn(&CellNumbers) -> Option<f64>, in_words: fn(f64) -> String },
    /// A bar for each disk of the cell.
    Bars(fn(&CellNumbers) -> String),
}

impl SummaryColumn {
    fn metric(&self) -> Option<Metric> {
        match &self.shown {
            Shown::Number { metric, .. } => Some(metric.clone()),
            Shown::Bars(_) => None,
        }
    }
}

fn columns() -> [SummaryColumn; 8] {
    type Own = fn(&CellNumbers) -> Option<f64>;
    let number = |head, importance, metric, own: Own, in_words| {
        let shown = Shown::Number { metric, own, in_words };
        SummaryColumn { head, side: Align::Right, importance, shown }
    };
    let bars = |head, importance, bars| SummaryColumn {
        head,
        side: Align::Left,
        importance,
        shown: Shown::Bars(bars),
    };
    let time = |ns: f64| answer::value(ns, "ns");
    let mebibytes = |bytes: f64| digits(bytes / MIB);
    [
        number("IOPS", 4, Metric::Iops, |cell| Some(cell.all.iops.median), digits),
        number("MiB/s", 1, Metric::Bandwidth, |cell| Some(cell.all.bw_bytes.median), mebibytes),
        number("mean", 2, Metric::Mean, |cell| Some(cell.all.lat_mean_ns.median), time),
        number("p50", 0, Metric::P50, |cell| Some(cell.all.p50_ns?.median), time),
        number("p99", 3, Metric::P99, |cell| Some(cell.all.p99_ns?.median), time),
        number("p99.9", 0, Metric::P999, |cell| Some(cell.all.p99_9_ns?.median), time),
        bars("reads", 3, |cell| {
            let shares = &cell.read_shares;
            sparkline(shares, shares.iter().flatten().copied().fold(0.0, f64::max))
        }),
        bars("busy", 2, |cell| sparkline(&medians(cell, |disk| Some(disk.utilisation)), 1.0)),
    ]
}

fn medians(measured: &CellNumbers, of: fn(&DiskNumbers) -> Option<Spread>) -> Vec<Option<f64>> {
    measured.disks.iter().map(|disk| of(disk).map(|spread| spread.median)).collect()
}

/// Formats a verdict: `+12 % better`, or `baseline`.
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

/// Returns the group and the choice of a report that a row shows.
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

/// Returns the metric with the verdict, and the cell's number in the comparison.
fn number<'s>(cell: &CellRow, source: &'s ReportSource) -> Option<(&'s Metric, String)> {
    let (group, choice) = place(cell, source)?;
    let metric = source.metrics.first()?;
    Some((metric, source.number_in_words(group, choice, metric)?))
}

/// Returns the verdicts of a group whose numbers are not fio's.
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
            let told = words.contains("Each bar is a disk");
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
            // Commands are on lines of their own, to be copied.
            let is_copied =
                |line: &&str| line.contains("disklab run ") || line.contains("records/old");
            let mut lines = text.lines().filter(|line| !is_copied(line));
            assert!(lines.all(|line| line.chars().count() <= width), "{width}:\n{text}");
        }
    }

    /// All numbers of a row use one estimator, whichever metric has the verdict.
    #[test]
    fn all_numbers_of_a_row_are_estimates() {
        let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/records/old");
        let record = Record::open_damaged(&old).expect("the fixture").0;
        let records = Records { all: vec![record.clone()], lost: Vec::new() };
        let wanted = ReportOptions { metrics: vec![Metric::Mean], ..ReportOptions::default() };
        let source = ReportSource::new(&records, &wanted).expect("cells");
        let text = printed(200);
        let mut differing = 0;
        for group in &source.groups {
            for choice in &group.choices {
                let Some(number) = source.number(group, choice, &Metric::Mean) else { continue };
                let shown = answer::value(number, "ns");
                assert!(text.contains(&shown), "{} {shown}:\n{text}", choice.value);
                let median = choice.spread(&Metric::Mean).map(|spread| spread.median);
                differing += usize::from(median.map(|ns| answer::value(ns, "ns")) != Some(shown));
            }
        }
        assert!(differing > 0, "medians would do:\n{text}");
    }

    #[test]
    fn verdicts_are_told_with_what_they_are_valid_for() {
        let text = printed(120);
        let expected = [
            "IOPS against baseline",
            "baseline",
            "IOPS of ",
            "on which code takes no time",
            "\u{2588}",
        ];
        for expected in expected {
            assert!(text.contains(expected), "no {expected}:\n{text}");
        }
    }
}

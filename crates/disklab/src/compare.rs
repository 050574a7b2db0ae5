//! `disklab compare`: better, worse, the same or undecided, with the chance of being wrong.

mod mmtests;

use std::io::Write;

use disklab_compare::conclusion::MoreSeeds;
use disklab_compare::recommendation::too_many;
use disklab_compare::{
    CellIndex, Comparison, DecisionRule, ErrorControl, Metric, MetricUse, Recommendation,
    RecommendationRule, RelativeChange, SequentialDesign, Trust, Weight, answer, check_measured,
    conclusion, default_metrics, drives, index_records, machine, match_trials, recommend,
    sensitivity,
};
use disklab_record::Record;
use disklab_record::record::name_in_shell;
use indexmap::{IndexMap, IndexSet};
use serde_json::json;

use crate::exit::{Exit, Failure, mistaken};
use crate::records;
use crate::screen::{Paint, Screen};
use crate::table::{Align, TextTable, left, right};
use crate::words;

/// Compare cells with the baseline, or several records.
///
/// With one record, every cell is compared with the cell of the suite's baseline. With several
/// records, the others are compared with the first. Trials are paired by seed: a seed gives the
/// same phase of the disks and the same sequence of requests. If two cells have no seed in common,
/// or if results were imported, all trials of one are compared with all trials of the other.
///
/// A verdict is "better" or "worse" if the whole interval of the change is on one side. It is "the
/// same" if the interval is within the smallest effect of interest. Otherwise it is "undecided", or
/// there are too few seeds for any verdict. compare then prints what would decide, and the command
/// that adds the seeds.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, by its name in ./records or by its path.
    run: String,

    /// Records to compare with the first one. They must have the same cells.
    others: Vec<String>,

    #[command(flatten)]
    of: Of,

    /// The least change that matters, in per cent.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = share)]
    smallest_effect: f64,

    /// The error rate that alpha limits: the share of wrong verdicts, or the chance of any.
    #[arg(long, value_enum, default_value_t = LimitChoice::Share)]
    limit: LimitChoice,

    /// The value to compare with, in place of the suite's baseline.
    #[arg(long, value_name = "AXIS=VALUE", conflicts_with = "others", value_parser = axis_value)]
    baseline: Option<(String, String)>,

    /// The weight of some cells in the recommendation. Can be repeated.
    ///
    /// The weight is for the cells with one value (array=hdd-raid1=3), for cells with several
    /// values (array=hdd-raid1,workload=seqread-1m-qd16=3), or for a metric (metric=p99=2). The
    /// default is 1, and 0 leaves cells out. If several weights fit a cell, they are multiplied.
    #[arg(long, value_name = "AXIS=VALUE,...=NUMBER")]
    weight: Vec<Weight>,

    /// The format of the output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Metrics and error rate of a comparison, shared by `compare` and `gate`.
#[derive(Debug, clap::Args)]
pub struct Of {
    /// The metrics to compare: iops, bandwidth, mean, p50, p99 or p99.9.
    ///
    /// A metric of latency can be limited to one direction ("read p99"). Other numbers have the
    /// names that the record has for them. [default: the metrics that the suite names, or else
    /// iops, or the times of the phases]
    #[arg(long, value_delimiter = ',')]
    pub metric: Vec<Metric>,

    /// The share of wrong verdicts that is accepted (false discovery rate).
    ///
    /// With `--limit any`, and in `gate`, it is the chance that any verdict is wrong.
    #[arg(long, default_value_t = 0.05, value_parser = chance)]
    pub alpha: f64,

    /// Include trials whose numbers contradict each other or are implausible.
    ///
    /// Trials that others disturbed are included too. `disklab audit` lists these trials, each with
    /// the reason.
    #[arg(long)]
    pub with_doubtful: bool,

    /// Compare as if the cells had no such axis. Can be repeated.
    ///
    /// Cells that differ in this axis only become one cell. Repeats of imported results are pooled.
    /// Trials of a run are pooled unless they share a seed.
    #[arg(long, value_name = "AXIS", value_delimiter = ',')]
    pub ignore: Vec<String>,
}

impl Of {
    /// Returns the metrics to compare in these records.
    pub fn metrics(&self, records: &[CellIndex]) -> Vec<Metric> {
        if self.metric.is_empty() {
            default_metrics(records, MetricUse::Verdicts)
        } else {
            self.metric.clone()
        }
    }

    pub const fn trust(&self) -> Trust {
        if self.with_doubtful { Trust::All } else { Trust::Sound }
    }
}

/// Error rate that alpha limits in a comparison of many cells, as typed on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LimitChoice {
    /// The share of wrong verdicts among "better" and "worse", on average (Benjamini and Hochberg).
    Share,
    /// The chance that any verdict is wrong (Holm). Needs more seeds.
    Any,
}

impl From<LimitChoice> for ErrorControl {
    fn from(choice: LimitChoice) -> Self {
        match choice {
            LimitChoice::Share => Self::Fdr,
            LimitChoice::Any => Self::Fwer,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
    Markdown,
    /// The tables of MMTests: gains in per cent, between stars if the verdict is better or worse at
    /// the error rate --alpha, and a row for each number of jobs.
    Mmtests,
}

pub fn chance(text: &str) -> Result<f64, String> {
    let (number, scale) =
        text.strip_suffix('%').map_or((text, 1.0), |percent| (percent.trim(), 0.01));
    let value: f64 =
        number.parse().map_err(|_| "expected a number such as 0.05 or 5%".to_owned())?;
    let value = value * scale;
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err("out of range (more than 0, less than 1)".to_owned())
    }
}

pub fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent: f64 = number.parse().map_err(|_| "expected per cent, such as 2%".to_owned())?;
    if percent > 0.0 && percent <= 100.0 {
        Ok(percent / 100.0)
    } else {
        Err("out of range (more than 0, at most 100 per cent)".to_owned())
    }
}

pub fn axis_value(text: &str) -> Result<(String, String), String> {
    let (axis, value) = text.split_once('=').ok_or("expected AXIS=VALUE, such as policy=pid")?;
    Ok((axis.trim().to_owned(), value.trim().to_owned()))
}

/// Refuses to compare a record of the fast model with a record of a kernel. The fast model serves
/// searches: a difference between the two says nothing about either.
pub fn refuse_mixed(records: &[Record]) -> Result<(), Failure> {
    let is_of_model = |record: &&Record| record.manifest().is_of_model();
    let of_model = records.iter().find(is_of_model);
    let other = records.iter().find(|record| !is_of_model(record));
    match of_model.zip(other) {
        None => Ok(()),
        Some((model, other)) => Err(mistaken!(
            "compare: {} is a record of the fast model, and {} is not: the model serves searches \
             and gives no verdicts; `disklab predict --on model` compares it with the kernel",
            records::name_of(model.folder()),
            records::name_of(other.folder())
        )),
    }
}

pub fn compare(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let runs = std::iter::once(&args.run).chain(&args.others);
    let records = runs.map(|run| records::open(run, screen)).collect::<Result<Vec<_>, _>>()?;
    refuse_mixed(&records)?;
    let wanted = args.baseline.as_ref().map(|(axis, _)| axis.as_str());
    let indexes = index_records(&records, wanted, &args.of.ignore)?;
    let (compared, matched) = match_trials(&indexes, args.baseline.clone(), args.of.trust())?;
    let metrics = args.of.metrics(&indexes);
    check_measured(&matched, &metrics)?;
    let rule = DecisionRule {
        alpha: args.of.alpha,
        smallest_effect: args.smallest_effect,
        error_control: args.limit.into(),
    };
    remark_on_other_seeds(&records, screen);
    let design = SequentialDesign::among(&records);
    let comparisons = disklab_compare::compare(&matched, &metrics, rule, design.as_ref())
        .map_err(Failure::mistaken)?;
    let by_rule = RecommendationRule {
        decision: rule,
        interim: design.as_ref(),
        trust: args.of.trust(),
        weights: &args.weight,
    };
    let baseline = matched.first().map(|first| first.baseline.as_str());
    let recommendation = recommend(&indexes, &compared, baseline, &metrics, &by_rule)?;
    if recommendation.is_none() {
        remark_on_too_many(&indexes, &compared, &metrics, args.of.trust(), screen);
    }
    let sentences = conclusion::sentences(&comparisons);
    let more_seeds = conclusion::more_seeds(&comparisons, &indexes);
    let of_machine: Vec<String> =
        records.iter().flat_map(|record| machine::sentences(record, &metrics, rule)).collect();
    let format = if screen.json { Format::Json } else { args.format };
    let mut out = screen.out();
    match format {
        Format::Json => {
            let mut document = json!({
                "terms": rule, "answer": sentences, "cells": comparisons,
                "recommendation": recommendation,
            });
            if comparisons.iter().any(|own| sensitivity::is_at_end(&own.cell)) {
                document["sensitivity"] = json!(sensitivity::sensitivities(&comparisons));
            }
            let over_drives = Some(drives::over_drives(&comparisons));
            let rest = [
                ("drives", over_drives.filter(|all| !all.is_empty()).map(|all| json!(all))),
                ("sequential", design.map(|design| json!(design))),
                ("machine", Some(json!(of_machine)).filter(|_| !of_machine.is_empty())),
                ("more_seeds", more_seeds.map(|more| json!(more))),
            ];
            for (key, value) in rest.into_iter().filter_map(|(key, value)| Some((key, value?))) {
                document[key] = value;
            }
            screen.json(&document)?;
            return Ok(Exit::Ok);
        }
        Format::Csv => out.write_all(&csv_table(&comparisons)?)?,
        Format::Markdown => print_markdown(&comparisons, recommendation.as_ref(), &mut out)?,
        Format::Table => {
            if let Some(recommendation) = &recommendation {
                print_recommendation(recommendation, screen, &mut out)?;
                writeln!(out)?;
            }
            print(&comparisons, screen, &mut out)?;
        }
        Format::Mmtests => {
            let in_virtual_time = records[0].manifest().imported.is_none();
            mmtests::print(&comparisons, in_virtual_time, &mut out)?;
        }
    }
    if format != Format::Csv {
        let settled = recommendation.as_ref().and_then(Recommendation::seeds_added);
        let more_seeds = more_seeds.map(|more| more.beside(settled));
        writeln!(out)?;
        // The tables of MMTests show the metric before the recommendation.
        let recommendation = recommendation.filter(|_| format == Format::Mmtests);
        for sentence in recommendation.iter().flat_map(Recommendation::sentences) {
            writeln!(out, "{sentence}.")?;
        }
        let turned = sensitivity::sentences(&comparisons);
        let turned = turned.into_iter().chain(drives::sentences(&comparisons));
        let modes = conclusion::two_modes(&comparisons);
        let rest =
            of_machine.into_iter().chain([conclusion::basis(rule, &matched, design.as_ref())]);
        if format == Format::Table {
            print_sentences(sentences, screen, &mut out)?;
            print_sentences(turned, screen, &mut out)?;
            print_more_seeds(more_seeds.as_ref(), screen, &mut out)?;
            let others = conclusion::other_axes(&indexes, &compared);
            print_sentences(modes.into_iter().chain(others).chain(rest), screen, &mut out)?;
        } else {
            // These formats are pasted elsewhere, so that their lines are not wrapped.
            let more = more_seeds.map(|more| more.to_string());
            for sentence in sentences.into_iter().chain(turned).chain(more).chain(modes).chain(rest)
            {
                writeln!(out, "{sentence}.")?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}

/// Says why there is no recommendation, if there are too many values.
fn remark_on_too_many(
    indexes: &[CellIndex],
    compared: &str,
    metrics: &[Metric],
    trust: Trust,
    screen: &Screen,
) {
    if let Some(why) = too_many(indexes, compared, metrics, trust) {
        screen.remark(&format!("no recommendation: {why}"));
    }
}

/// Explains how to pool records of one suite that have different seeds.
fn remark_on_other_seeds(records: &[Record], screen: &Screen) {
    let mut others = records[1..].iter();
    if let Some(other) =
        others.find(|other| records[0].manifest().has_other_seeds(other.manifest()))
    {
        let [first, other] = [&records[0], other].map(|record| name_in_shell(record.folder()));
        screen.remark(&format!(
            "{first} and {other} are of the same suite with different seeds; to pool them: disklab \
             merge {first} {other}"
        ));
    }
}

fn print_markdown(
    comparisons: &[Comparison],
    recommendation: Option<&Recommendation>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if let Some(Recommendation { headline, details, to_settle, .. }) = recommendation {
        writeln!(out, "**{}.**\n", escaped(headline))?;
        for detail in details {
            writeln!(out, "- {}.", escaped(detail))?;
        }
        to_settle.iter().try_for_each(|command| writeln!(out, "- `{command}`"))?;
        writeln!(out)?;
    }
    let rule = HEAD.map(|(_, side)| if side == Align::Right { "---:" } else { "---" });
    let names = HEAD.map(|(name, _)| name).join(" | ");
    writeln!(out, "| {names} |\n| {} |", rule.join(" | "))?;
    for row in comparisons.iter().map(row) {
        writeln!(out, "| {} |", row.map(|field| escaped(&field)).join(" | "))?;
    }
    Ok(())
}

/// Prints the answer, followed by the other remarks.
pub fn print_recommendation(
    recommendation: &Recommendation,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // Each line is painted by itself, since a line break ends no colour.
    let headline = format!("{}.", recommendation.headline);
    for line in words::filled(headline.split_whitespace(), screen.width, "", "  ") {
        writeln!(out, "{}", screen.paint(&line, Paint::Strong))?;
    }
    for detail in &recommendation.details {
        screen.prose(&format!("{detail}."), "  ", out)?;
    }
    // The command stays on one line, to be copied.
    recommendation.to_settle.iter().try_for_each(|command| Ok(writeln!(out, "    {command}")?))
}

/// Returns text as a field of a Markdown table, or as a line of one.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

fn print_sentences(
    sentences: impl IntoIterator<Item = String>,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    sentences.into_iter().try_for_each(|sentence| screen.prose(&format!("{sentence}."), "", out))
}

/// Prints how many seeds would decide the undecided cells. Each command that adds seeds has a line
/// of its own, to be copied.
pub fn print_more_seeds(
    more: Option<&MoreSeeds>,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Some(more) = more else { return Ok(()) };
    let end = if more.commands.is_empty() { "." } else { ". To run those that are missing:" };
    screen.prose(&format!("{}{end}", more.sentence()), "", out)?;
    more.commands.iter().try_for_each(|command| Ok(writeln!(out, "  {command}")?))
}

const HEAD: [(&str, Align); 10] = [
    left("cell"),
    left("metric"),
    left("of"),
    left("against"),
    right("trials"),
    right("estimate"),
    right("baseline"),
    right("change, %"),
    right("interval, %"),
    left("verdict"),
];

/// Index of the interval in [`HEAD`].
const INTERVAL: usize = 8;

/// Columns of the CSV table. Numbers are IOPS, bytes per second or ns.
fn row(comparison: &Comparison) -> [String; 10] {
    let number = |value: Option<f64>| words::or_dash(value.map(|value| format!("{value:.6}")));
    let change = comparison.change;
    let (treatment, baseline) = comparison.numbers();
    let interval = change.map(|change| format!("{:.6} to {:.6}", change.low, change.high));
    [
        answer::values(&comparison.cell),
        comparison.metric.name().to_owned(),
        comparison.treatment.clone(),
        comparison.baseline.clone(),
        comparison.trials_in_words(),
        number(treatment),
        number(baseline),
        number(change.map(|change| change.percent)),
        words::or_dash(interval),
        comparison.verdict_in_words(),
    ]
}

/// Returns a verdict with its number of seeds: `undecided (about 14 seeds)` means that 14 seeds
/// would decide it.
fn verdict(comparison: &Comparison) -> String {
    let verdict = comparison.verdict_in_words();
    match comparison.seeds_in_words() {
        Some(seeds) => format!("{verdict} ({seeds})"),
        None => verdict,
    }
}

fn csv_table(comparisons: &[Comparison]) -> Result<Vec<u8>, Failure> {
    let mut table = csv::Writer::from_writer(Vec::new());
    // The interval takes two columns here.
    let mut write = || -> csv::Result<()> {
        let heads = HEAD.map(|(name, _)| name);
        let ends = ["low, %", "high, %"];
        table.write_record([&heads[..INTERVAL], &ends, &heads[INTERVAL + 1..]].concat())?;
        comparisons.iter().try_for_each(|comparison| {
            let fields = row(comparison);
            let end = |end: fn(&RelativeChange) -> f64| {
                let end = comparison.change.as_ref().map(|change| format!("{:.6}", end(change)));
                words::or_dash(end)
            };
            let ends = [end(|change| change.low), end(|change| change.high)];
            table.write_record([&fields[..INTERVAL], &ends, &fields[INTERVAL + 1..]].concat())
        })
    };
    write().map_err(Failure::cannot)?;
    table.into_inner().map_err(Failure::cannot)
}

fn print(comparisons: &[Comparison], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let mut groups: IndexMap<String, Vec<&Comparison>> = IndexMap::new();
    for comparison in comparisons.iter().filter(|own| !sensitivity::is_at_end(&own.cell)) {
        let (cell, metric) = (answer::values(&comparison.cell), comparison.metric.name());
        let head = if cell.is_empty() { metric.to_owned() } else { format!("{cell}: {metric}") };
        groups.entry(head).or_default().push(comparison);
    }
    for (index, (head, own)) in groups.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", screen.paint(head, Paint::Strong))?;
        let heads = "|>trials|>estimate|>change|>interval|verdict";
        let mut table = TextTable::with_heads(heads, screen.color);
        // A treatment without results has no baseline number beside it.
        let shown = own.iter().find(|comparison| comparison.change.is_some()).unwrap_or(&own[0]);
        let (baseline, (_, number)) = (shown.baseline.as_str(), shown.numbers_in_words());
        table.row([baseline, "", &number, "", "", "baseline"]);
        for comparison in own {
            let (change, interval) = comparison.change_and_interval();
            // If seeds are missing, the number of the baseline comes from other seeds.
            let (own, theirs) = comparison.numbers_in_words();
            let is_same = theirs == number || comparison.change.is_none();
            let of_others = if is_same { String::new() } else { format!(" (of {theirs})") };
            table.row([
                comparison.treatment.clone(),
                comparison.trials_in_words(),
                own + &of_others,
                change,
                interval,
                screen.paint(&verdict(comparison), comparison.verdict.into()),
            ]);
        }
        table.print(screen, "  ", out)?;
        for comparison in own {
            for remark in &comparison.remarks {
                writeln!(out, "    {}: {remark}", comparison.treatment)?;
            }
        }
        let modes = own.iter().flat_map(|comparison| comparison.modes_in_words());
        for (choice, values) in modes.collect::<IndexSet<_>>() {
            writeln!(out, "    {choice}: {values}, depending on the seed")?;
        }
    }
    Ok(())
}

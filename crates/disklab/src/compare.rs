//! `disklab compare`: better, worse, the same or undecided, with the chance of being wrong.

mod answer;
mod judgement;
mod metric;
mod pairs;

use std::io::Write;

use disklab_spec::Suite;
use disklab_stats::Verdict;
use disklab_store::Record;
use disklab_units::prose::digits;

use crate::exit::{Exit, Failure};
use crate::records;
use crate::screen::{Paint, Screen};
use crate::table::{Side, Table};
use judgement::{Judgement, Limit, Terms, judge};
use metric::Metric;
use pairs::{Contest, between, within};

/// Hold a run's cells against its suite's baseline, or runs against a first one.
///
/// Trials are paired by seed: one seed is the same phase of the disks and the same sequence of requests. A verdict is
/// better or worse where the whole interval of the change is on one side, the same where it is within the smallest effect
/// of interest, else undecided.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, by its name in ./records or by its path.
    run: String,

    /// Records to hold against it, of the same cells.
    others: Vec<String>,

    /// What is compared.
    #[arg(long, value_delimiter = ',', default_value = "iops")]
    metric: Vec<Metric>,

    /// What of all verdicts may be wrong; see --limit.
    #[arg(long, default_value_t = 0.05, value_parser = chance)]
    alpha: f64,

    /// The least change that matters.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = share)]
    smallest_effect: f64,

    /// Whether alpha is the share of verdicts that may be wrong, or the chance that any is.
    #[arg(long, value_enum, default_value_t = Limit::Share)]
    limit: Limit,

    /// How the cells are printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
    Markdown,
}

fn chance(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number such as 0.05".to_owned())?;
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err("expected a number between 0 and 1".to_owned()) }
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent: f64 = number.parse().map_err(|_| "expected per cent, such as 2%".to_owned())?;
    if percent > 0.0 && percent <= 100.0 {
        Ok(percent / 100.0)
    } else {
        Err("expected more than 0 and at most 100 per cent".to_owned())
    }
}

pub fn compare(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let open = |run: &String| Ok::<_, Failure>(Record::open(&records::find(run)?)?);
    let first = open(&args.run)?;
    let others = args.others.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let contests = contests(&first, &others)?;
    let terms = Terms { alpha: args.alpha, smallest_effect: args.smallest_effect, limit: args.limit };
    let judgements = judge(&contests, &args.metric, terms).map_err(Failure::mistaken)?;
    let sentences = answer::sentences(&judgements);
    let format = if screen.json { Format::Json } else { args.format };
    let mut out = screen.out();
    match format {
        Format::Json => {
            screen.json(&serde_json::json!({ "terms": terms, "answer": sentences, "cells": judgements }))?;
            return Ok(Exit::Ok);
        }
        Format::Csv => {
            writeln!(out, "{}", HEAD.map(|(name, _)| name).join(","))?;
            for row in judgements.iter().map(row) {
                writeln!(out, "{}", row.map(|field| csv(&field)).join(","))?;
            }
        }
        Format::Markdown => {
            let rule = HEAD.map(|(_, side)| if side == Side::Right { "---:" } else { "---" });
            writeln!(out, "| {} |\n| {} |", HEAD.map(|(name, _)| name).join(" | "), rule.join(" | "))?;
            for row in judgements.iter().map(row) {
                writeln!(out, "| {} |", row.map(|field| field.replace('|', "\\|")).join(" | "))?;
            }
        }
        Format::Table => print(&judgements, screen, &mut out)?,
    }
    if matches!(format, Format::Table | Format::Markdown) {
        writeln!(out)?;
        for sentence in sentences.into_iter().chain([terms.in_words()]) {
            writeln!(out, "{sentence}.")?;
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn contests<'a>(first: &'a Record, others: &'a [Record]) -> Result<Vec<Contest<'a>>, Failure> {
    let recorded = &first.manifest().suite;
    let suite = Suite::of_text(&recorded.name, "", recorded.text(), &recorded.set)?;
    let axes: Vec<String> =
        suite.axes().iter().filter(|axis| !axis.fixed).map(|axis| axis.axis.to_string()).collect();
    let name = |record: &Record| records::name_of(record.folder());
    if others.is_empty() {
        let baseline = suite.baseline().ok_or_else(|| {
            Failure::mistaken(format!(
                "the suite of {} has no baseline to compare with; name a second record, or give the suite a `baseline`",
                name(first)
            ))
        })?;
        let contests = within(first, &axes, baseline);
        if contests.is_empty() {
            return Err(Failure::mistaken(format!(
                "nothing in {} can be held against its baseline, {} {}: no other value of that axis has run",
                name(first),
                baseline.axis,
                baseline.value
            )));
        }
        return Ok(contests);
    }
    let mut all = Vec::new();
    for other in others {
        let contests = between((&name(first), first), (&name(other), other), &axes);
        if contests.is_empty() {
            return Err(Failure::mistaken(format!(
                "{} and {} have no cell in common; `disklab show` lists the cells of each",
                name(first),
                name(other)
            )));
        }
        all.extend(contests);
    }
    Ok(all)
}

const HEAD: [(&str, Side); 10] = [
    ("cell", Side::Left),
    ("metric", Side::Left),
    ("of", Side::Left),
    ("against", Side::Left),
    ("pairs", Side::Right),
    ("median", Side::Right),
    ("baseline", Side::Right),
    ("change, %", Side::Right),
    ("interval, %", Side::Right),
    ("verdict", Side::Left),
];

/// Medians are IOPS, bytes a second or ns.
fn row(judgement: &Judgement) -> [String; 10] {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.6}"));
    let change = judgement.change;
    [
        answer::values(&judgement.cell),
        judgement.metric.name().to_owned(),
        judgement.treatment.clone(),
        judgement.baseline.clone(),
        judgement.pairs.to_string(),
        number(judgement.treatment_median),
        number(judgement.baseline_median),
        number(change.map(|change| change.percent)),
        change.map_or_else(|| "-".to_owned(), |change| format!("{:.6} to {:.6}", change.low, change.high)),
        judgement.verdict.to_string(),
    ]
}

fn csv(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn print(judgements: &[Judgement], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let mut heads: Vec<(String, &Judgement)> = Vec::new();
    for judgement in judgements {
        let parts = [answer::values(&judgement.cell), judgement.metric.name().to_owned()];
        let head = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(": ");
        if heads.iter().all(|(known, _)| *known != head) {
            heads.push((head, judgement));
        }
    }
    for (index, (head, first)) in heads.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", screen.paint(head, Paint::Strong))?;
        let columns = [
            ("", Side::Left),
            ("pairs", Side::Right),
            ("median", Side::Right),
            ("change", Side::Right),
            ("interval", Side::Right),
            ("verdict", Side::Left),
        ];
        let mut table = Table::new(&columns, screen.color);
        let same = |it: &&Judgement| it.cell == first.cell && it.metric == first.metric;
        let own: Vec<&Judgement> = judgements.iter().filter(same).collect();
        let median =
            |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| first.metric.told(value));
        table.row([
            first.baseline.clone(),
            String::new(),
            median(first.baseline_median),
            String::new(),
            String::new(),
            "baseline".to_owned(),
        ]);
        for it in &own {
            let change = it.change.map_or_else(|| "-".to_owned(), |it| answer::change(it.percent));
            let interval = it.change.map_or_else(
                || "-".to_owned(),
                |it| format!("{} to {}", answer::change(it.low), answer::change(it.high)),
            );
            // The arrows are for those who cannot tell the colours apart.
            let (arrow, paint) = match it.verdict {
                Verdict::Better => ("▲", Paint::Good),
                Verdict::Worse => ("▼", Paint::Bad),
                Verdict::Same => ("=", Paint::Strong),
                Verdict::Undecided => ("?", Paint::Strong),
            };
            let verdict = format!("{arrow} {}", it.verdict);
            table.row([
                it.treatment.clone(),
                it.pairs.to_string(),
                median(it.treatment_median),
                change,
                interval,
                screen.paint(&verdict, paint),
            ]);
        }
        table.print(screen, "  ", out)?;
        for remark in own.iter().flat_map(|it| it.remarks.iter().map(move |remark| (it, remark))) {
            writeln!(out, "    {}: {}", remark.0.treatment, remark.1)?;
        }
    }
    Ok(())
}

impl Metric {
    fn told(self, value: f64) -> String {
        match self {
            Self::Iops => digits(value),
            Self::Bandwidth => format!("{} MiB/s", digits(value / f64::from(1 << 20))),
            Self::Mean | Self::P50 | Self::P99 | Self::P999 => {
                disklab_units::Nanos(value.round() as u64).to_string()
            }
        }
    }
}

impl Terms {
    fn in_words(self) -> String {
        let percent = digits(self.alpha * 100.0);
        let limit = match self.limit {
            Limit::Share => {
                format!("of all verdicts better and worse, {percent} % are wrong on average at most")
            }
            Limit::Any => {
                format!("the chance that any verdict better or worse is wrong is {percent} % at most")
            }
        };
        format!(
            "Seeds are paired; intervals hold each for itself with {} % confidence; {limit}; less than {} % is the same",
            digits(100.0 - self.alpha * 100.0),
            digits(self.smallest_effect * 100.0)
        )
    }
}

//! `disklab gate`: whether a run got worse than another by more than is allowed. For CI.

use std::io::Write;

use disklab_compare::contest::{Contest, Values};
use disklab_compare::judgement::trials_in_words;
use disklab_compare::{Change, Metric, against_first, answer, looked_at, measured};
use disklab_stats::{Crossing, Error, Finding, Gate, Passage};
use disklab_store::outcome::Cell;
use disklab_units::prose::{count, listed};
use serde::{Serialize, Serializer};

use crate::compare::{Of, open, share};
use crate::exit::{Exit, Failure};
use crate::screen::{Paint, Screen};
use crate::table::{Side, Table};

/// Fail where a run got worse than another by more than is allowed.
///
/// A cell passes where it is certain that it did not get worse by as much, and is a regression where it is certain that it
/// got worse by more. If any cell did get worse by as much, the chance that all pass is alpha at most; so is the chance that
/// any cell is wrongly called a regression. Exit status: 0 all pass, 3 a regression, 4 undecided: more seeds may tell.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, by its name in ./records or by its path.
    run: String,

    /// The record that it is held against.
    #[arg(long, value_name = "RUN")]
    against: String,

    /// So much worse is too much.
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = share)]
    max_regression: f64,

    #[command(flatten)]
    of: Of,
}

/// A cell in one metric, at the gate.
#[derive(Debug, Serialize)]
struct Crossed {
    cell: Cell,
    metric: Metric,
    paired: bool,
    trials: (usize, usize),
    /// At 1 - 2 alpha: one side of it is certain to 1 - alpha.
    change: Option<Change>,
    #[serde(serialize_with = "in_a_word")]
    passage: Passage,
    remarks: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn in_a_word<S: Serializer>(passage: &Passage, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(word(*passage))
}

const fn word(passage: Passage) -> &'static str {
    match passage {
        Passage::Passed => "passed",
        Passage::Regressed => "regression",
        Passage::Undecided => "undecided",
    }
}

pub fn gate(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let (run, against) = (open(&args.run)?, open(&args.against)?);
    let runs = [run];
    let contests = against_first(&against, &runs, args.of.trust())?;
    let metrics = args.of.metrics(&against);
    measured(&contests, &metrics)?;
    // Seeds that were added by what was seen: each look has its part of alpha.
    let looks = looked_at(runs.iter().chain([&against])).map_or(1, |until| until.looks.len());
    let crossed =
        cross(&contests, &metrics, args, args.of.alpha / looks as f64).map_err(Failure::mistaken)?;
    let exit = if crossed.iter().any(|it| it.passage == Passage::Regressed) {
        Exit::Regression
    } else if crossed.iter().any(|it| it.passage == Passage::Undecided) {
        Exit::Undecided
    } else {
        Exit::Ok
    };
    let answer = answer_in_words(&crossed, args);
    if screen.json {
        screen.json(&serde_json::json!({
            "alpha": args.of.alpha,
            "max_regression": args.max_regression,
            "answer": answer,
            "cells": crossed,
        }))?;
        return Ok(exit);
    }
    let mut out = screen.out();
    print(&crossed, screen, &mut out)?;
    writeln!(out, "\n{answer}.")?;
    out.flush()?;
    Ok(exit)
}

fn cross(contests: &[Contest], metrics: &[Metric], args: &Args, alpha: f64) -> Result<Vec<Crossed>, Error> {
    let cells = contests.len() * metrics.len();
    let mut crossed = Vec::new();
    let mut found: Vec<(usize, Gate, Crossing)> = Vec::new();
    for contest in contests {
        for metric in metrics {
            let gate = Gate::new(alpha, args.max_regression, metric.better(contest.outcomes()))?;
            let Values { treatment, baseline, mut remarks, .. } = contest.values(metric);
            let finding = if contest.paired { Finding::paired } else { Finding::unpaired };
            let crossing =
                finding(&treatment, &baseline, gate.least_alpha(cells)).and_then(|it| gate.cross(&it));
            let change = crossing.as_ref().ok().map(|crossing| Change::of(crossing.log_ratio));
            match crossing {
                Ok(crossing) => found.push((crossed.len(), gate, crossing)),
                Err(error) => remarks.push(error.to_string()),
            }
            crossed.push(Crossed {
                cell: contest.cell.clone(),
                metric: metric.clone(),
                paired: contest.paired,
                trials: (treatment.len(), baseline.len()),
                change,
                passage: Passage::Undecided,
                remarks,
            });
        }
    }
    // Which way is good does not matter to the family: it is in each cell's p-values already.
    if let Some((_, gate, _)) = found.first() {
        let crossings: Vec<Crossing> = found.iter().map(|(.., crossing)| *crossing).collect();
        for ((at, ..), passage) in found.iter().zip(gate.family(&crossings)?) {
            crossed[*at].passage = passage;
        }
    }
    Ok(crossed)
}

fn print(crossed: &[Crossed], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let columns = [
        ("cell", Side::Left),
        ("metric", Side::Left),
        ("trials", Side::Right),
        ("change", Side::Right),
        ("interval", Side::Right),
        ("", Side::Left),
    ];
    let mut table = Table::new(&columns, screen.color);
    for it in crossed {
        let (mark, paint) = match it.passage {
            Passage::Passed => ("\u{2713}", Paint::Good),
            Passage::Regressed => ("\u{25bc}", Paint::Bad),
            Passage::Undecided => ("?", Paint::Strong),
        };
        let (change, interval) = answer::change_and_interval(it.change);
        table.row([
            answer::values(&it.cell),
            it.metric.name().to_owned(),
            trials_in_words(it.paired, it.trials),
            change,
            interval,
            screen.paint(&format!("{mark} {}", word(it.passage)), paint),
        ]);
    }
    table.print(screen, "", out)?;
    for it in crossed {
        for remark in &it.remarks {
            writeln!(out, "  {}: {remark}", answer::values(&it.cell))?;
        }
    }
    Ok(())
}

/// As somebody types it.
fn plain(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

fn answer_in_words(crossed: &[Crossed], args: &Args) -> String {
    let number = |passage: Passage| crossed.iter().filter(|it| it.passage == passage).count();
    let counts = [
        (Passage::Passed, "passed in"),
        (Passage::Regressed, "regression in"),
        (Passage::Undecided, "undecided in"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .map(|(passage, told)| (number(*passage), told))
        .filter(|(number, _)| *number > 0)
        .map(|(number, told)| format!("{told} {number}"))
        .collect();
    format!(
        "{} of {}; {} % worse is too much, at {} % certainty",
        listed(&counts),
        count(crossed.len(), "cell"),
        plain(args.max_regression * 100.0),
        plain(100.0 - args.of.alpha * 100.0)
    )
}

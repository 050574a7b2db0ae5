//! `disklab gate`: whether a run got worse than another by more than is allowed. For CI.

use std::io::Write;

use disklab_compare::comparison::trials_in_words;
use disklab_compare::matching::MatchedValues;
use disklab_compare::{
    DecisionRule, ErrorControl, MatchedTrials, Metric, Noise, RelativeChange, SequentialDesign,
    answer, check_measured, index_records, match_trials,
};
use disklab_record::outcome::Cell;
use disklab_stats::{Error, Finding, Gate, GateTest, GateVerdict};
use disklab_units::prose::{count, listed};
use serde::{Serialize, Serializer};

use crate::compare::{Of, share};
use crate::exit::{Exit, Failure};
use crate::records;
use crate::screen::{Paint, Screen};
use crate::table::TextTable;

/// Fail where a run got worse than another by more than is allowed.
///
/// A cell passes where it is certain that it did not get worse by as much, and is a regression
/// where it is certain that it got worse by more. If any cell did get worse by as much, the chance
/// that all pass is alpha at most; so is the chance that any cell is wrongly called a regression.
/// Exit status: 0 all pass, 3 a regression, 4 undecided: more seeds may tell.
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
    change: Option<RelativeChange>,
    /// What the same differs by from itself, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<Noise>,
    #[serde(serialize_with = "in_a_word")]
    passage: GateVerdict,
    remarks: Vec<String>,
}

impl Crossed {
    /// No more is certain of a cell than what its machine's noise leaves.
    fn heed_noise(&mut self, gate: &Gate, crossing: &GateTest) {
        let Some(noise) = self.noise else { return };
        let passage = gate.allow_for_noise(self.passage, crossing, answer::size(noise.percent));
        if passage != self.passage {
            let (was, noise) = (word(self.passage), noise.in_words());
            self.remarks.push(format!(
                "{was}, but within this machine's noise: the same, measured twice, may differ by \
                 {noise}"
            ));
            self.passage = passage;
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn in_a_word<S: Serializer>(passage: &GateVerdict, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(word(*passage))
}

const fn word(passage: GateVerdict) -> &'static str {
    match passage {
        GateVerdict::Passed => "passed",
        GateVerdict::Regressed => "regression",
        GateVerdict::Undecided => "undecided",
    }
}

pub fn gate(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let records = [records::open(&args.against)?, records::open(&args.run)?];
    let indexes = index_records(&records, None, &args.of.ignore)?;
    let (_, matched) = match_trials(&indexes, None, args.of.trust())?;
    let metrics = args.of.metrics(&indexes);
    check_measured(&matched, &metrics)?;
    // Seeds that were added by what was seen: each interim analysis has its part of alpha.
    let share = SequentialDesign::among(&records).map_or(1.0, |design| design.last_share());
    let crossed =
        cross(&matched, &metrics, args, args.of.alpha * share).map_err(Failure::mistaken)?;
    let exit = if crossed.iter().any(|cell| cell.passage == GateVerdict::Regressed) {
        Exit::Regression
    } else if crossed.iter().any(|cell| cell.passage == GateVerdict::Undecided) {
        Exit::Undecided
    } else {
        Exit::Ok
    };
    let answer = answer_in_words(&crossed, args);
    let document = serde_json::json!({
        "alpha": args.of.alpha, "max_regression": args.max_regression, "answer": answer,
        "cells": crossed,
    });
    screen.present(&document, |out| {
        print(&crossed, screen, out)?;
        Ok(writeln!(out, "\n{answer}.")?)
    })?;
    Ok(exit)
}

fn cross(
    matched: &[MatchedTrials],
    metrics: &[Metric],
    args: &Args,
    alpha: f64,
) -> Result<Vec<Crossed>, Error> {
    let cells = matched.len() * metrics.len();
    let (smallest_effect, error_control) = (args.max_regression, ErrorControl::Fwer);
    let rule = DecisionRule { alpha, smallest_effect, error_control };
    let mut crossed = Vec::new();
    let mut found: Vec<(usize, Gate, GateTest)> = Vec::new();
    for matched in matched {
        for metric in metrics {
            let gate = Gate::new(alpha, args.max_regression, metric.better(matched.outcomes()))?;
            let MatchedValues { treatment, baseline, mut remarks, .. } = matched.values(metric);
            let finding = if matched.paired { Finding::paired } else { Finding::unpaired };
            let crossing = finding(&treatment, &baseline, gate.least_alpha(cells))
                .and_then(|finding| gate.test(&finding));
            let mut change = None;
            match crossing {
                Ok(crossing) => {
                    change = Some(RelativeChange::from_log_ratio(crossing.log_ratio));
                    found.push((crossed.len(), gate, crossing));
                }
                Err(error) => remarks.push(error.to_string()),
            }
            crossed.push(Crossed {
                cell: matched.cell.clone(),
                metric: metric.clone(),
                paired: matched.paired,
                trials: (treatment.len(), baseline.len()),
                change,
                noise: Noise::measured(&matched.repeated, metric, rule),
                passage: GateVerdict::Undecided,
                remarks,
            });
        }
    }
    // Which way is good does not matter to the family: it is in each cell's p-values already.
    if let Some((_, gate, _)) = found.first() {
        let crossings: Vec<GateTest> = found.iter().map(|(.., crossing)| *crossing).collect();
        for ((at, ..), passage) in found.iter().zip(gate.family(&crossings)?) {
            crossed[*at].passage = passage;
        }
        for (at, gate, crossing) in &found {
            crossed[*at].heed_noise(gate, crossing);
        }
    }
    Ok(crossed)
}

fn print(crossed: &[Crossed], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = TextTable::with_heads("cell|metric|>trials|>change|>interval|", screen.color);
    for cell in crossed {
        let (mark, paint) = match cell.passage {
            GateVerdict::Passed => ("\u{2713}", Paint::Good),
            GateVerdict::Regressed => ("\u{25bc}", Paint::Bad),
            GateVerdict::Undecided => ("?", Paint::Strong),
        };
        let (change, interval) = answer::change_and_interval(cell.change);
        table.row([
            answer::values(&cell.cell),
            cell.metric.name().to_owned(),
            trials_in_words(cell.paired, cell.trials),
            change,
            interval,
            screen.paint(&format!("{mark} {}", word(cell.passage)), paint),
        ]);
    }
    table.print(screen, "", out)?;
    for cell in crossed {
        for remark in &cell.remarks {
            writeln!(out, "  {}: {remark}", answer::values(&cell.cell))?;
        }
    }
    Ok(())
}

/// Rounds per cent to the digits that somebody types.
fn plain(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

fn answer_in_words(crossed: &[Crossed], args: &Args) -> String {
    let verdicts = [GateVerdict::Passed, GateVerdict::Regressed, GateVerdict::Undecided];
    let counts = verdicts.map(|passage| {
        let number = crossed.iter().filter(|cell| cell.passage == passage).count();
        (number > 0).then(|| format!("{} in {number}", word(passage)))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    format!(
        "{} of {}; {} % worse is too much, at {} % certainty",
        listed(&counts),
        count(crossed.len(), "cell"),
        plain(args.max_regression * 100.0),
        plain(100.0 - args.of.alpha * 100.0)
    )
}

#[cfg(test)]
mod tests {
    use disklab_record::Outcome;
    use disklab_results::measure::Measure;

    use super::*;

    fn outcomes(values: &[f64]) -> Vec<Outcome> {
        let outcome = |(seed, value): (u32, &f64)| Outcome {
            measures: [("ops".to_owned(), Measure::rate(*value, "1/s"))].into(),
            ..disklab_testkit::outcome(format!("x+s{seed}"), &[], seed)
        };
        (1..).zip(values).map(outcome).collect()
    }

    /// Crosses a cell that changed by nearly nothing, and whose second measurements of the same are
    /// off the first by these factors.
    fn crossed(noise: &[f64]) -> Crossed {
        let baselines = outcomes(&[1000.0, 1001.0, 999.0, 1000.0, 1002.0, 1000.0]);
        let treatments = outcomes(&[1001.0, 1000.0, 1000.0, 999.0, 1002.0, 1001.0]);
        let seconds = outcomes(&noise.iter().map(|by| 1000.0 * by).collect::<Vec<_>>());
        let matched = MatchedTrials {
            cell: Cell(Vec::new()),
            treatment: "now".to_owned(),
            baseline: "before".to_owned(),
            paired: true,
            treatments: treatments.iter().collect(),
            baselines: baselines.iter().collect(),
            left_out: Vec::new(),
            repeated: baselines.iter().zip(&seconds).collect(),
        };
        let of = Of { metric: Vec::new(), alpha: 0.05, with_doubtful: false, ignore: Vec::new() };
        let args = Args { run: String::new(), against: String::new(), max_regression: 0.03, of };
        cross(&[matched], &[Metric::of_name("ops")], &args, 0.05).expect("a gate").swap_remove(0)
    }

    #[test]
    fn what_the_same_differs_by_keeps_a_cell_from_passing() {
        assert_eq!(crossed(&[]).passage, GateVerdict::Passed);
        let quiet = crossed(&[1.001, 0.999, 1.0, 1.002, 0.998, 1.0]);
        assert_eq!((quiet.passage, quiet.remarks.len()), (GateVerdict::Passed, 0));
        let loud = crossed(&[1.06, 0.95, 1.04, 0.97, 1.05, 0.96]);
        assert_eq!(loud.passage, GateVerdict::Undecided);
        assert!(
            loud.remarks[0].starts_with("passed, but within this machine's noise"),
            "{:?}",
            loud.remarks
        );
    }
}

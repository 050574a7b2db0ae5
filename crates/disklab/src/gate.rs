//! `disklab gate`: fails if a record is worse than another by more than is allowed. It is for CI.

use std::io::Write;

use disklab_compare::comparison::trials_in_words;
use disklab_compare::conclusion::MoreSeeds;
use disklab_compare::matching::MatchedValues;
use disklab_compare::{
    CellIndex, DecisionRule, ErrorControl, MatchedTrials, Metric, Noise, RelativeChange,
    SequentialDesign, answer, check_measured, index_records, match_trials,
};
use disklab_record::outcome::Cell;
use disklab_record::{Difference, Outcome, Record};
use disklab_stats::{Error, Estimate, Finding, Gate, GateTest, GateVerdict, TrialsNeeded};
use disklab_units::prose::{count, listed};
use serde::{Serialize, Serializer};

use crate::compare::{Of, print_more_seeds, refuse_mixed, share};
use crate::exit::{Exit, Failure, mistaken};
use crate::records;
use crate::screen::{Paint, Screen};
use crate::table::TextTable;
use crate::words::or_dash;

/// Fail if a record is worse than another one (for CI).
///
/// Two tests decide each cell, both at the error rate alpha. A cell passes if the first one shows
/// that it did not get worse by the allowed amount. It is a regression if the second one shows that
/// it got worse by more. Otherwise it is undecided. If some cell did get worse by the allowed
/// amount, the chance that all cells pass is at most alpha. The chance that any cell is wrongly
/// called a regression is at most alpha too. A cell whose trials have the same bytes in both
/// records passes with any number of seeds.
///
/// Exit status: 0 all cells pass, 3 a regression, 4 undecided (more seeds may decide).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, by its name in ./records or by its path.
    run: String,

    /// The record to compare with.
    #[arg(long, value_name = "RUN")]
    against: String,

    /// The largest regression that is allowed, in per cent.
    ///
    /// One number is for all metrics (3%). With a number for each metric (iops=3%,p99=10%), only
    /// these metrics are compared. The two can be combined (3%,p99=10%).
    #[arg(
        long,
        value_name = "[METRIC=]PERCENT,...",
        default_value = "3%",
        value_delimiter = ',',
        value_parser = bound
    )]
    max_regression: Vec<Bound>,

    #[command(flatten)]
    of: Of,
}

/// Largest allowed regression of a metric, as a share; without a metric, of all other metrics.
#[derive(Debug, Clone, PartialEq)]
struct Bound {
    metric: Option<Metric>,
    worst: f64,
}

fn bound(text: &str) -> Result<Bound, String> {
    match text.rsplit_once('=') {
        Some((metric, _)) if metric.trim().is_empty() => {
            Err("expected METRIC=PERCENT, such as p99=10%".to_owned())
        }
        Some((metric, percent)) => Ok(Bound {
            metric: Some(Metric::of_name(metric.trim())),
            worst: share(percent.trim())?,
        }),
        None => Ok(Bound { metric: None, worst: share(text)? }),
    }
}

/// Returns the metrics of the gate, each with its largest allowed regression.
fn bounds(args: &Args, records: &[CellIndex]) -> Result<Vec<(Metric, f64)>, Failure> {
    let mut plain = None;
    let mut named: Vec<(Metric, f64)> = Vec::new();
    for Bound { metric, worst } in &args.max_regression {
        match metric {
            None if plain.is_some() => {
                return Err(mistaken!(
                    "--max-regression: two bounds without a metric; name the metric of one, such \
                     as p99=10%"
                ));
            }
            None => plain = Some(*worst),
            Some(metric) if named.iter().any(|(known, _)| known == metric) => {
                return Err(mistaken!(
                    "--max-regression: two bounds for {}; give one",
                    metric.name()
                ));
            }
            Some(metric) => named.push((metric.clone(), *worst)),
        }
    }
    let asked = if args.of.metric.is_empty() && plain.is_none() {
        Vec::new()
    } else {
        args.of.metrics(records)
    };
    let mut all: Vec<(Metric, f64)> = Vec::new();
    for metric in asked {
        let own = named.iter().find(|(known, _)| *known == metric).map(|(_, worst)| *worst);
        let Some(worst) = own.or(plain) else {
            let name = String::from(metric);
            return Err(mistaken!(
                "--max-regression: no bound for {name}; add {name}=PERCENT, or a plain PERCENT \
                 for all metrics that are not named"
            ));
        };
        all.push((metric, worst));
    }
    let unasked =
        named.into_iter().filter(|(metric, _)| all.iter().all(|(known, _)| known != metric));
    let unasked: Vec<_> = unasked.collect();
    all.extend(unasked);
    Ok(all)
}

/// Verdict of the gate on a cell in one metric.
#[derive(Debug, Serialize)]
struct Crossed {
    cell: Cell,
    metric: Metric,
    paired: bool,
    trials: (usize, usize),
    /// Largest allowed regression, as a share.
    max_regression: f64,
    #[serde(skip)]
    unit: String,
    /// The two numbers from which the change is computed.
    baseline_estimate: Option<f64>,
    treatment_estimate: Option<f64>,
    /// The change with its interval at 1 - 2 alpha, so that one side is certain to 1 - alpha.
    change: Option<RelativeChange>,
    /// Whether every trial is the same in both records: to the byte, or in all numbers without raw
    /// output.
    identical: bool,
    /// Number of seeds that would decide an undecided cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds_to_decide: Option<usize>,
    #[serde(skip)]
    needed: Option<TrialsNeeded>,
    /// Noise of this machine: the difference between two measurements of a trial, if that was
    /// measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<Noise>,
    #[serde(serialize_with = "in_a_word")]
    passage: GateVerdict,
    remarks: Vec<String>,
}

impl Crossed {
    /// Weakens the verdict on a cell if the change is within the noise of its machine.
    fn heed_noise(&mut self, gate: &Gate, crossing: &GateTest) {
        let Some(noise) = self.noise else { return };
        let passage = gate.allow_for_noise(self.passage, crossing, answer::size(noise.percent));
        if passage != self.passage {
            let (was, noise) = (word(self.passage), noise.in_words());
            self.remarks.push(format!(
                "{was}, but within this machine's noise: two measurements of the same trial may \
                 differ by {noise}"
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
    let records = [records::open(&args.against, screen)?, records::open(&args.run, screen)?];
    refuse_mixed(&records)?;
    let indexes = index_records(&records, None, &args.of.ignore)?;
    let (_, matched) = match_trials(&indexes, None, args.of.trust())?;
    let bounds = bounds(args, &indexes)?;
    let metrics: Vec<Metric> = bounds.iter().map(|(metric, _)| metric.clone()).collect();
    check_measured(&matched, &metrics)?;
    // Seeds may have been added after interim analyses. Each analysis has its part of alpha.
    let design = SequentialDesign::among(&records);
    let share = design.as_ref().map_or(1.0, SequentialDesign::last_share);
    let next = SequentialDesign::next_share(design.as_ref());
    let mut crossed =
        cross(&matched, &bounds, args.of.alpha * share, next / share).map_err(Failure::mistaken)?;
    pass_identical(&mut crossed, &matched, &records)?;
    let open = crossed.iter().filter(|cell| cell.passage == GateVerdict::Undecided);
    let needed: Vec<_> =
        open.map(|cell| cell.needed.map(|needed| (needed.trials, needed.at_least))).collect();
    let more = MoreSeeds::new(&needed, metrics.iter().map(Metric::name), &indexes);
    let exit = if crossed.iter().any(|cell| cell.passage == GateVerdict::Regressed) {
        Exit::Regression
    } else if crossed.iter().any(|cell| cell.passage == GateVerdict::Undecided) {
        Exit::Undecided
    } else {
        Exit::Ok
    };
    let answer = answer_in_words(&crossed, &bounds, args.of.alpha);
    let plain = args.max_regression.iter().find(|bound| bound.metric.is_none());
    let mut document = serde_json::json!({
        "alpha": args.of.alpha, "max_regression": plain.map(|bound| bound.worst),
        "answer": answer, "cells": crossed,
    });
    if let Some(more) = &more {
        document["more_seeds"] = serde_json::json!(more);
    }
    screen.present(&document, |out| {
        print(&crossed, screen, out)?;
        writeln!(out)?;
        screen.prose(&format!("{answer}."), "", out)?;
        print_more_seeds(more.as_ref(), screen, out)
    })?;
    Ok(exit)
}

fn cross(
    matched: &[MatchedTrials],
    bounds: &[(Metric, f64)],
    alpha: f64,
    next: f64,
) -> Result<Vec<Crossed>, Error> {
    let cells = matched.len() * bounds.len();
    let mut crossed = Vec::new();
    let mut found: Vec<(usize, Gate, GateTest)> = Vec::new();
    for matched in matched {
        for (metric, worst) in bounds {
            let rule =
                DecisionRule { alpha, smallest_effect: *worst, error_control: ErrorControl::Fwer };
            let gate = Gate::new(alpha, *worst, metric.better(matched.outcomes()))?;
            let MatchedValues { treatment, baseline, remarks, .. } = matched.values(metric);
            let mut cell = Crossed {
                cell: matched.cell.clone(),
                metric: metric.clone(),
                paired: matched.paired,
                trials: (treatment.len(), baseline.len()),
                max_regression: *worst,
                unit: metric.unit(matched.outcomes()),
                baseline_estimate: None,
                treatment_estimate: None,
                change: None,
                identical: false,
                seeds_to_decide: None,
                needed: None,
                noise: Noise::measured(&matched.repeated, metric, rule),
                passage: GateVerdict::Undecided,
                remarks,
            };
            if treatment.is_empty() || baseline.is_empty() {
                let sides = [
                    (&matched.treatments, &matched.treatment),
                    (&matched.baselines, &matched.baseline),
                ];
                let has = |outcome: &&Outcome| metric.value_in(outcome).is_some();
                let lacks: Vec<&str> = sides
                    .into_iter()
                    .filter(|(outcomes, _)| !outcomes.iter().any(has))
                    .map(|(_, side)| side.as_str())
                    .collect();
                cell.remarks.push(match lacks[..] {
                    [] => "no seed has a result on both sides".to_owned(),
                    _ => format!("no result in {}", listed(&lacks)),
                });
                crossed.push(cell);
                continue;
            }
            let finding = if matched.paired { Finding::paired } else { Finding::unpaired };
            let finding = finding(&treatment, &baseline, gate.least_alpha(cells));
            match finding.and_then(|finding| Ok((gate.test(&finding)?, finding))) {
                Ok((crossing, finding)) => {
                    let Estimate { value, .. } = crossing.log_ratio;
                    cell.change = Some(RelativeChange::from_log_ratio(crossing.log_ratio));
                    cell.baseline_estimate = Some(finding.baseline().exp());
                    cell.treatment_estimate = Some((finding.baseline() + value).exp());
                    cell.needed = gate.trials_to_decide(&crossing, &finding, cells, next)?;
                    found.push((crossed.len(), gate, crossing));
                }
                Err(error) => cell.remarks.push(error.to_string()),
            }
            crossed.push(cell);
        }
    }
    // The good direction does not matter to the family: each cell's p-values account for it.
    if let Some((_, gate, _)) = found.first() {
        let crossings: Vec<GateTest> = found.iter().map(|(.., crossing)| *crossing).collect();
        for ((at, ..), passage) in found.iter().zip(gate.family(&crossings)?) {
            crossed[*at].passage = passage;
        }
        for (at, gate, crossing) in &found {
            let cell = &mut crossed[*at];
            let alone = gate.family(std::slice::from_ref(crossing))?;
            if cell.passage == GateVerdict::Undecided && alone != [GateVerdict::Undecided] {
                cell.remarks.push(format!(
                    "{} seeds are too few for {cells} cells; the interval is for this cell alone",
                    cell.trials.0.min(cell.trials.1)
                ));
            }
            cell.heed_noise(gate, crossing);
        }
    }
    for cell in &mut crossed {
        cell.needed = cell.needed.filter(|_| cell.passage == GateVerdict::Undecided);
        cell.seeds_to_decide = cell.needed.map(|needed| needed.trials);
        if cell.needed.is_some_and(|needed| needed.too_few) {
            let seeds = count(cell.trials.0.min(cell.trials.1), "seed");
            cell.remarks.push(format!("{seeds} cannot decide this"));
        }
    }
    Ok(crossed)
}

/// Lets cells pass whose trials all have the same bytes, for any number of seeds.
fn pass_identical(
    crossed: &mut [Crossed],
    matched: &[MatchedTrials],
    records: &[Record; 2],
) -> Result<(), Failure> {
    let has_same_numbers = |matched: &MatchedTrials| {
        let mut pairs = matched.treatments.iter().zip(&matched.baselines);
        matched.treatments.len() == matched.baselines.len()
            && !matched.treatments.is_empty()
            && matched.left_out.is_empty()
            && pairs.all(|(ours, theirs)| {
                ours.trial == theirs.trial
                    && ours.sample == theirs.sample
                    && ours.measures == theirs.measures
            })
    };
    let same: Vec<&MatchedTrials> =
        matched.iter().filter(|matched| has_same_numbers(matched)).collect();
    if same.is_empty() {
        return Ok(());
    }
    let [against, run] = records;
    let differences = disklab_record::compare(against.folder(), run.folder())?;
    for matched in same {
        let is_its_own = |difference: &&Difference| {
            matched.outcomes().any(|outcome| outcome.trial == difference.trial())
        };
        let mut own = differences.iter().filter(is_its_own);
        if let Some(first) = own.next() {
            // Different raw files rarely give equal numbers; usually one of the files was damaged.
            let more = match own.count() {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            for cell in crossed.iter_mut().filter(|cell| cell.cell == matched.cell) {
                cell.remarks.push(format!(
                    "the numbers are the same in both runs, but raw output differs \
                     ({first}{more}); `disklab audit` shows whether it was changed after the run"
                ));
            }
            continue;
        }
        let has_raw = matched.treatments.iter().all(|outcome| run.raw(outcome).is_some());
        let trials = count(matched.treatments.len(), "trial");
        let same = if has_raw {
            "with the same bytes in both runs"
        } else {
            "with the same numbers in both runs, which have no raw output"
        };
        for cell in crossed.iter_mut().filter(|cell| cell.cell == matched.cell) {
            cell.passage = GateVerdict::Passed;
            cell.identical = true;
            (cell.seeds_to_decide, cell.needed) = (None, None);
            cell.remarks = vec![format!("{trials} {same}")];
        }
    }
    Ok(())
}

fn print(crossed: &[Crossed], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table =
        TextTable::with_heads("cell|metric|>trials|>before|>now|>change|>interval|", screen.color)
            .with_keys(2);
    for cell in crossed {
        let (mark, paint) = match cell.passage {
            GateVerdict::Passed => ("\u{2713}", Paint::Good),
            GateVerdict::Regressed => ("\u{25bc}", Paint::Bad),
            GateVerdict::Undecided => ("?", Paint::Strong),
        };
        let (change, interval) = answer::change_and_interval(cell.change);
        let number =
            |value: Option<f64>| or_dash(value.map(|value| answer::value(value, &cell.unit)));
        table.row([
            answer::values(&cell.cell),
            cell.metric.name().to_owned(),
            trials_in_words(cell.paired, cell.trials),
            number(cell.baseline_estimate),
            number(cell.treatment_estimate),
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

/// Rounds a percentage to the digits that a user types.
fn plain(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

fn answer_in_words(crossed: &[Crossed], bounds: &[(Metric, f64)], alpha: f64) -> String {
    let verdicts = [GateVerdict::Passed, GateVerdict::Regressed, GateVerdict::Undecided];
    let counts = verdicts.map(|passage| {
        let number = crossed.iter().filter(|cell| cell.passage == passage).count();
        (number > 0).then(|| format!("{} in {number}", word(passage)))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let percent = |worst: &f64| format!("{} %", plain(worst * 100.0));
    let first = bounds.first().map(|(_, worst)| worst);
    let worst = if bounds.iter().all(|(_, worst)| Some(worst) == first) {
        first.map(percent).unwrap_or_default()
    } else {
        let each =
            |(metric, worst): &(Metric, f64)| format!("{} {}", metric.name(), percent(worst));
        bounds.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    format!(
        "{} of {}; the largest allowed regression is {worst}, at {} % confidence",
        listed(&counts),
        count(crossed.len(), "cell"),
        plain(100.0 - alpha * 100.0)
    )
}

#[cfg(test)]
mod tests {
    use disklab_results::measure::Measure;

    use super::*;

    fn outcomes(values: &[f64]) -> Vec<Outcome> {
        let outcome = |(seed, value): (u32, &f64)| Outcome {
            measures: [("ops".to_owned(), Measure::rate(*value, "1/s"))].into(),
            ..disklab_testkit::outcome(format!("x+s{seed}"), &[], seed)
        };
        (1..).zip(values).map(outcome).collect()
    }

    /// Pairs a cell's trials in two records.
    fn matched<'a>(
        baselines: &'a [Outcome],
        treatments: &'a [Outcome],
        seconds: &'a [Outcome],
    ) -> MatchedTrials<'a> {
        MatchedTrials {
            cell: Cell(Vec::new()),
            treatment: "now".to_owned(),
            baseline: "before".to_owned(),
            paired: true,
            treatments: treatments.iter().collect(),
            baselines: baselines.iter().collect(),
            left_out: Vec::new(),
            repeated: baselines.iter().zip(seconds).collect(),
        }
    }

    /// Returns the verdict on a cell with almost no change, whose second measurements differ from
    /// the first by these factors.
    fn crossed(noise: &[f64]) -> Crossed {
        let baselines = outcomes(&[1000.0, 1001.0, 999.0, 1000.0, 1002.0, 1000.0]);
        let treatments = outcomes(&[1001.0, 1000.0, 1000.0, 999.0, 1002.0, 1001.0]);
        let seconds = outcomes(&noise.iter().map(|by| 1000.0 * by).collect::<Vec<_>>());
        let matched = matched(&baselines, &treatments, &seconds);
        cross(&[matched], &[(Metric::of_name("ops"), 0.03)], 0.05, 0.25)
            .expect("a gate")
            .swap_remove(0)
    }

    /// A cell that would be decided alone is undecided among many, and says why.
    #[test]
    fn a_cell_alone_is_more_certain_than_among_many() {
        let baselines = outcomes(&[1000.0; 6]);
        let treatments = outcomes(&[955.0, 968.0, 951.0, 962.0, 958.0, 949.0]);
        let crossed = |number: usize| {
            let all: Vec<MatchedTrials> =
                (0..number).map(|_| matched(&baselines, &treatments, &[])).collect();
            let bounds = [(Metric::of_name("ops"), 0.03)];
            cross(&all, &bounds, 0.05, 0.25).expect("a gate").swap_remove(0)
        };
        assert_eq!((crossed(1).passage, crossed(1).remarks.len()), (GateVerdict::Regressed, 0));
        let among = crossed(30);
        assert_eq!(among.passage, GateVerdict::Undecided, "{among:?}");
        let why = "6 seeds are too few for 30 cells; the interval is for this cell alone";
        assert_eq!(among.remarks[0], why, "{among:?}");
        let nothing = matched(&baselines, &[], &[]);
        let lacking = cross(&[nothing], &[(Metric::of_name("ops"), 0.03)], 0.05, 0.25);
        assert_eq!(lacking.expect("a gate")[0].remarks, ["no result in now"]);
    }

    fn resolved(regression: &[&str], metrics: &[&str]) -> Result<Vec<(String, f64)>, String> {
        let max_regression =
            regression.iter().map(|text| bound(text)).collect::<Result<Vec<_>, _>>()?;
        let metric = metrics.iter().map(|name| Metric::of_name(name)).collect();
        let of = Of { metric, alpha: 0.05, with_doubtful: false, ignore: Vec::new() };
        let args = Args { run: String::new(), against: String::new(), max_regression, of };
        let all = bounds(&args, &[]).map_err(|failure| failure.to_string())?;
        Ok(all.into_iter().map(|(metric, worst)| (String::from(metric), worst)).collect())
    }

    #[test]
    fn each_metric_has_its_own_bound_or_the_plain_one() {
        let found = |all: &[(&str, f64)]| -> Result<Vec<(String, f64)>, String> {
            Ok(all.iter().map(|(name, worst)| ((*name).to_owned(), *worst)).collect())
        };
        assert_eq!(resolved(&["3%"], &[]), found(&[("iops", 0.03)]));
        assert_eq!(resolved(&["3%"], &["p99", "mean"]), found(&[("p99", 0.03), ("mean", 0.03)]));
        let both = found(&[("iops", 0.03), ("p99", 0.1)]);
        assert_eq!(resolved(&["iops=3%", "p99=10%"], &[]), both);
        assert_eq!(resolved(&["iops=3", "p99=10"], &["iops", "p99"]), both);
        assert_eq!(resolved(&["3%", "p99=10%"], &[]), both);
        assert_eq!(
            resolved(&["read p99=5%"], &[]),
            found(&[("read p99", 0.05)]),
            "a metric of one direction"
        );
        for (regression, metrics, said) in [
            (&["iops=3%"][..], &["mean"][..], "no bound for mean; add mean=PERCENT"),
            (&["3%", "4%"], &[], "two bounds without a metric"),
            (&["iops=3%", "iops=4%"], &[], "two bounds for IOPS"),
            (&["=3%"], &[], "METRIC=PERCENT"),
            (&["iops=x"], &[], "per cent"),
            (&["iops=0"], &[], "more than 0"),
        ] {
            let error = resolved(regression, metrics).expect_err("a mistake");
            assert!(error.contains(said), "{regression:?}: {error}");
        }
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

//! Adds seeds to cells whose verdict is undecided.
//!
//! Interim analyses are made at planned numbers of seeds only ([`InterimAnalyses`]). Each has its
//! part of alpha, so that an early analysis costs no certainty (crates/stats/src/interim.rs). A
//! trial runs if any comparison of its cell is undecided.

use std::path::Path;
use std::time::Duration;

use disklab_compare::index::{default_baseline, uncombined};
use disklab_compare::{
    Comparison, DecisionRule, ErrorControl, Metric, SequentialDesign, Trust, answer, compare,
    index_records, match_trials,
};
use disklab_config::suite::Seeds;
use disklab_config::{Suite, Trial};
use disklab_record::manifest::UntilDecided;
use disklab_record::outcome::{Cell, Outcome};
use disklab_record::record::name_in_shell;
use disklab_record::{Record, Status, Writer};
use disklab_runner::Event;
use disklab_runner::{Executor, not_run};
use disklab_stats::{InterimAnalyses, Verdict};
use disklab_units::Nanos;
use disklab_units::prose::count;
use itertools::iproduct;

use crate::compare::{LimitChoice, chance, share};
use crate::exit::{Failure, mistaken};
use crate::question::Question;
use crate::screen::Screen;
use crate::words;

/// Seeds of a cell whose verdict stays undecided, unless `--seeds` gives a number.
pub const MOST_SEEDS: Seeds = Seeds::first_ones(30);

/// Options for --until-decided: the metrics to decide, and the error rate.
#[derive(Debug, clap::Args)]
pub struct VerdictArgs {
    /// The metrics to decide: iops, bandwidth, mean, p50, p99 or p99.9.
    ///
    /// [default: the metrics that the suite names, or else iops]
    #[arg(long, value_delimiter = ',', requires = "until_decided")]
    metric: Vec<Metric>,

    /// The share of wrong verdicts that is accepted (false discovery rate).
    #[arg(long, default_value_t = 0.05, value_parser = chance, requires = "until_decided")]
    alpha: f64,

    /// The least change that matters, in per cent.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "2%",
        value_parser = share,
        requires = "until_decided"
    )]
    smallest_effect: f64,

    /// The error rate that alpha limits: the share of wrong verdicts, or the chance of any.
    #[arg(long, value_enum, default_value_t = LimitChoice::Share, requires = "until_decided")]
    limit: LimitChoice,
}

impl VerdictArgs {
    fn metrics(&self, suite: &Suite) -> Vec<String> {
        if !self.metric.is_empty() {
            return self.metric.iter().cloned().map(String::from).collect();
        }
        if suite.metrics.is_empty() { vec![Metric::Iops.into()] } else { suite.metrics.clone() }
    }

    pub fn plan(&self, question: &Question) -> Result<UntilDecided, Failure> {
        let Some((axes, values)) = default_baseline(&question.suite) else {
            return Err(mistaken!(
                "--until-decided: no axis of the suite has values to compare: name two policies, \
                 schedulers, kernels or arrays with --set"
            ));
        };
        let is_other = |trial: &Trial| {
            let mut baseline = axes.iter().zip(&values);
            baseline.any(|(axis, baseline)| trial.value(axis).is_some_and(|own| own != baseline))
        };
        if !question.trials.iter().any(is_other) {
            return Err(mistaken!(
                "--until-decided: only the baseline would run; add values to its axis with --set"
            ));
        }
        if let Some(other) = self.metric.iter().find(|metric| matches!(metric, Metric::Other(_))) {
            let known = Metric::known();
            return Err(mistaken!(
                "--metric: unknown metric `{}`; the known ones are {known}",
                other.name()
            ));
        }
        let seeds = question.suite.seeds();
        let budget = seeds.count() as usize;
        let analyses = InterimAnalyses::plan(budget, self.alpha)
            .map_err(|error| mistaken!("--until-decided with {budget} seeds: {error}"))?;
        Ok(UntilDecided {
            metrics: self.metrics(&question.suite),
            alpha: self.alpha,
            smallest_effect: self.smallest_effect,
            limit: ErrorControl::from(self.limit).name().to_owned(),
            analyses: analyses
                .trials()
                .iter()
                .map(|&trials| seeds.first() - 1 + trials as u32)
                .collect(),
        })
    }
}

/// Runs the trials that each interim analysis needs, and records the others as not needed. If the
/// budget ends first, returns the undecided verdicts.
pub fn run(
    run: &dyn Executor,
    trials: &[Trial],
    writer: &Writer,
    until: &UntilDecided,
    events: &(dyn Fn(Event<'_>) + Sync),
    screen: &Screen,
) -> Result<Vec<String>, Failure> {
    // A skipped cell is skipped for every seed. Then the seeds of the other side would decide
    // nothing.
    let first = trials.iter().map(|trial| trial.seed_index).min();
    let of_first: Vec<Trial> =
        trials.iter().filter(|trial| Some(trial.seed_index) == first).cloned().collect();
    let before = writer.remaining().len();
    run.run_trials(&of_first, writer, events)?;
    let possible = possible(&Record::open(writer.folder())?)?;
    // Before the first analysis, every verdict is undecided.
    let mut open: Option<Vec<OpenVerdict>> = None;
    for &upto in &until.analyses {
        let is_needed = |trial: &&Trial| {
            trial.seed_index <= upto
                && match &open {
                    Some(open) => open.iter().any(|verdict| verdict.sides.concern(trial)),
                    None => possible.iter().any(|sides| sides.concern(trial)),
                }
        };
        let now: Vec<Trial> = trials.iter().filter(is_needed).cloned().collect();
        // Each call begins its first trial even after the deadline, which only the first trial of
        // the whole run may.
        let has_begun = writer.remaining().len() < before;
        if !(has_begun && run.is_past_deadline()) {
            run.run_trials(&now, writer, events)?;
        }
        if run.stop().load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        if run.is_past_deadline() && is_missing(&now, writer) {
            // Before the first analysis, every verdict is undecided.
            let first = || undecided(&Record::open(writer.folder())?, until, upto);
            let known = open.map_or_else(first, Ok)?;
            return Ok(known.iter().map(ToString::to_string).collect());
        }
        let mut still = undecided(&Record::open(writer.folder())?, until, upto)?;
        // If one side has no result at all, more seeds would not give one.
        still.retain(|open| open.has_both);
        screen.remark(&format!("{} undecided after seed {upto}", count(still.len(), "verdict")));
        if still.is_empty() {
            break;
        }
        open = Some(still);
    }
    let remaining = writer.remaining();
    for trial in trials.iter().filter(|trial| remaining.contains(&trial.id)) {
        let reason = if possible.iter().any(|sides| sides.concern(trial)) {
            "every verdict that could use it was given without it"
        } else {
            "no verdict can use it: it, or the trial to compare it with, is left out"
        };
        writer.note(not_run(trial, Status::NotNeeded, reason.to_owned()))?;
    }
    Ok(Vec::new())
}

fn is_missing(trials: &[Trial], writer: &Writer) -> bool {
    let remaining = writer.remaining();
    trials.iter().any(|trial| remaining.contains(&trial.id))
}

/// Returns the last messages of a run whose budget was spent before all verdicts were decided.
pub fn still_open(budget: Nanos, open: &[String], folder: &Path) -> Vec<String> {
    let (spent, name) = (words::wall(Duration::from_nanos(budget.0)), name_in_shell(folder));
    let (verdicts, are) =
        (count(open.len(), "verdict"), if open.len() == 1 { "is" } else { "are" });
    let head = format!("the budget of {spent} is spent, and {verdicts} {are} undecided:");
    let budget = budget.to_string().replace(' ', "");
    let rest = format!("to continue: disklab run --resume {name} --budget {budget}");
    let lines = open.iter().map(|verdict| format!("  {verdict}"));
    [head].into_iter().chain(lines).chain([rest]).collect()
}

/// Two compared values of an axis.
struct ComparedSides {
    /// Values of the other axes, which are equal on both sides.
    cell: Cell,
    /// Axis in which the sides differ, with its two values.
    axis: String,
    values: [String; 2],
}

impl ComparedSides {
    /// Returns true if a trial belongs to one of the sides.
    fn concern(&self, trial: &Trial) -> bool {
        self.cell.0.iter().all(|(axis, wanted)| trial.value(axis) == Some(wanted))
            && self.values.iter().any(|side| {
                uncombined(&self.axis, side).all(|(axis, own)| trial.value(axis) == Some(own))
            })
    }

    /// Returns true if an ended trial belongs to this side.
    fn has(&self, side: &str, outcome: &Outcome) -> bool {
        self.cell.0.iter().all(|(axis, wanted)| outcome.cell.value(axis) == Some(wanted))
            && uncombined(&self.axis, side).all(|(axis, own)| outcome.cell.value(axis) == Some(own))
    }
}

/// Returns the comparisons of which neither side was skipped.
fn possible(record: &Record) -> Result<Vec<ComparedSides>, Failure> {
    let indexes = index_records(std::slice::from_ref(record), None, &[])?;
    let (axis, matched) = match_trials(&indexes, None, Trust::Sound)?;
    let sides = matched.iter().map(|trials| ComparedSides {
        cell: trials.cell.clone(),
        axis: axis.clone(),
        values: [trials.treatment.clone(), trials.baseline.clone()],
    });
    let outcomes = record.outcomes().into_iter().filter_map(|(_, outcome)| outcome);
    let skipped: Vec<&Outcome> =
        outcomes.filter(|outcome| outcome.status == Status::Skipped).collect();
    let is_possible = |sides: &ComparedSides| {
        let mut pairs = iproduct!(&sides.values, &skipped);
        !pairs.any(|(side, outcome)| sides.has(side, outcome))
    };
    Ok(sides.filter(is_possible).collect())
}

/// A comparison without a verdict.
struct OpenVerdict {
    sides: ComparedSides,
    metric: String,
    /// Whether both sides have results.
    has_both: bool,
}

impl std::fmt::Display for OpenVerdict {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [treatment, baseline] = &self.sides.values;
        let cell = answer::values(&self.sides.cell);
        let of = if cell.is_empty() { String::new() } else { format!("{cell}: ") };
        write!(out, "{of}{} of {treatment} compared with {baseline}", self.metric)
    }
}

fn undecided(
    record: &Record,
    until: &UntilDecided,
    upto: u32,
) -> Result<Vec<OpenVerdict>, Failure> {
    let indexes = index_records(std::slice::from_ref(record), None, &[])?;
    let (axis, matched) = match_trials(&indexes, None, Trust::Sound)?;
    let metrics: Vec<Metric> = until.metrics.iter().map(|name| Metric::of_name(name)).collect();
    let rule = DecisionRule::recorded(until)?;
    let design = SequentialDesign::recorded(record.manifest()).map(|design| design.upto(upto));
    let comparisons =
        compare(&matched, &metrics, rule, design.as_ref()).map_err(Failure::mistaken)?;
    let open = |comparison: Comparison| OpenVerdict {
        has_both: comparison.trials.0 > 0 && comparison.trials.1 > 0,
        sides: ComparedSides {
            cell: comparison.cell,
            axis: axis.clone(),
            values: [comparison.treatment, comparison.baseline],
        },
        metric: comparison.metric.name().to_owned(),
    };
    let is_open = |comparison: &Comparison| comparison.verdict == Verdict::Undecided;
    Ok(comparisons.into_iter().filter(is_open).map(open).collect())
}

//! The difference between the good and the bad end, and the end that a step belongs to.
//!
//! The border is the middle between the ends, on the scale of ratios. A step belongs to an end if
//! it is certain on which side of the border it is. So a step that resembles neither end is decided
//! too, and only steps at the border itself stay undecided.

use disklab_compare::{
    CellIndex, MatchedTrials, Metric, RelativeChange, Trust, answer, check_measured, match_across,
};
use disklab_kernels::Answer;
use disklab_record::{Record, Status};
use disklab_stats::{Estimate, Finding, Rule, Verdict};
use disklab_units::prose::count;

use super::asked::BisectionQuestion;
use crate::exit::{Failure, cannot};

/// Result of an interim analysis of both ends.
pub enum EndsSeen {
    Apart(Ends),
    /// The ends are certainly the same.
    Alike(String),
    /// More seeds may decide.
    Open(String),
}

/// The difference between the ends.
#[derive(Debug)]
pub enum Ends {
    Numbers {
        /// The change from the good end to the bad one.
        change: RelativeChange,
        better: bool,
        /// The border, as the logarithm of the ratio to the good end.
        middle: f64,
    },
    /// All trials of the bad end fail, and no trial of the good end does.
    Failure { reason: String },
}

/// Result of an interim analysis of a step.
#[derive(Debug, PartialEq)]
pub enum StepSide {
    Like(Answer, String),
    Open(String),
}

/// Counts of a record's finished trials by outcome.
struct TrialCounts {
    ok: usize,
    failed: usize,
    /// The reason of the first failed trial.
    reason: String,
}

impl TrialCounts {
    fn read(record: &Record) -> Self {
        let mut counts = Self { ok: 0, failed: 0, reason: String::new() };
        for outcome in record.outcomes().into_iter().filter_map(|(_, outcome)| outcome) {
            if outcome.status == Status::Ok {
                counts.ok += 1;
                continue;
            }
            if counts.failed == 0 {
                let reason = outcome.reason.clone();
                counts.reason = reason.unwrap_or_else(|| outcome.status.to_string());
            }
            counts.failed += 1;
        }
        counts
    }
}

impl Ends {
    /// Compares the ends, as far as their records go.
    pub fn compare(
        good: &Record,
        bad: &Record,
        asked: &BisectionQuestion,
        metric: &Metric,
        alpha: f64,
    ) -> Result<EndsSeen, Failure> {
        let (first, second) = (TrialCounts::read(good), TrialCounts::read(bad));
        if first.ok == 0 {
            let what = "no trial of the good end has a result, so nothing can be compared with it";
            return Err(cannot!("{what}: {}", first.reason));
        }
        if second.ok == 0 {
            if first.failed == 0 {
                return Ok(EndsSeen::Apart(Self::Failure { reason: second.reason }));
            }
            let what = "all trials of the bad end fail, and some of the good end fail too";
            return Ok(EndsSeen::Open(what.to_owned()));
        }
        let comparisons = comparisons(good, bad)?;
        check_measured(&comparisons, std::slice::from_ref(metric))?;
        let Some((trials, finding)) = found(&comparisons, metric, alpha) else {
            return Ok(EndsSeen::Open("too few trials of the two ends have a result".to_owned()));
        };
        let interval = finding.interval(alpha).map_err(Failure::mistaken)?;
        let better = metric.better(trials.outcomes());
        let rule = Rule::new(alpha, asked.smallest_effect, better).map_err(Failure::mistaken)?;
        let estimate = finding.estimate();
        let change = RelativeChange::from_log_ratio(Estimate { value: estimate, interval });
        let what = format!("{} of the bad end is {}", metric.name(), in_words(change, trials));
        Ok(match rule.verdict(interval) {
            verdict @ (Verdict::Better | Verdict::Worse) => EndsSeen::Apart(Self::Numbers {
                change,
                better: verdict == Verdict::Better,
                middle: estimate / 2.0,
            }),
            Verdict::Same => EndsSeen::Alike(what),
            Verdict::Undecided => EndsSeen::Open(what),
        })
    }

    /// Describes the difference for users who wait for the steps.
    pub fn in_words(&self, metric: &Metric) -> String {
        match self {
            Self::Numbers { change, better, .. } => {
                let what = if *better {
                    "better: bisect searches for the commit that improved it"
                } else {
                    "worse"
                };
                let (change, interval) = answer::change_and_interval(Some(*change));
                format!("the bad end is {what}; {}: {change} ({interval})", metric.name())
            }
            Self::Failure { reason } => {
                format!("bisect searches for the commit that makes trials fail: {reason}")
            }
        }
    }

    pub fn side(
        &self,
        step: &Record,
        good: &Record,
        metric: &Metric,
        alpha: f64,
    ) -> Result<StepSide, Failure> {
        let ran = TrialCounts::read(step);
        let Self::Numbers { middle, .. } = self else {
            return Ok(by_failure(&ran));
        };
        if ran.ok == 0 {
            return Ok(StepSide::Like(Answer::Skip, format!("its trials fail: {}", ran.reason)));
        }
        let comparisons = comparisons(good, step)?;
        let Some((trials, finding)) = found(&comparisons, metric, alpha) else {
            return Ok(StepSide::Open("too few trials have a result".to_owned()));
        };
        let interval = finding.interval(alpha).map_err(Failure::mistaken)?;
        let change =
            RelativeChange::from_log_ratio(Estimate { value: finding.estimate(), interval });
        Ok(by_border(&finding, *middle, alpha, in_words(change, trials)))
    }
}

fn by_failure(ran: &TrialCounts) -> StepSide {
    match (ran.ok, ran.failed) {
        (0, _) => StepSide::Like(Answer::Bad, ran.reason.clone()),
        (ok, 0) => {
            StepSide::Like(Answer::Good, format!("{} without a failure", count(ok, "trial")))
        }
        (ok, failed) => StepSide::Open(format!("{failed} of {} fail", count(ok + failed, "trial"))),
    }
}

fn by_border(finding: &Finding, middle: f64, alpha: f64, why: String) -> StepSide {
    let tails = finding.tails(middle);
    let (beyond, within) =
        if middle > 0.0 { (tails.greater, tails.less) } else { (tails.less, tails.greater) };
    if beyond <= alpha {
        StepSide::Like(Answer::Bad, why)
    } else if within <= alpha {
        StepSide::Like(Answer::Good, why)
    } else {
        StepSide::Open(why)
    }
}

fn comparisons<'a>(good: &'a Record, other: &'a Record) -> Result<Vec<MatchedTrials<'a>>, Failure> {
    Ok(match_across(&CellIndex::new(good), &CellIndex::new(other), "kernel", Trust::Sound)?)
}

/// Returns the trials of the only comparison and their change, or `None` if there are too few
/// trials.
fn found<'a, 'b>(
    comparisons: &'b [MatchedTrials<'a>],
    metric: &Metric,
    alpha: f64,
) -> Option<(&'b MatchedTrials<'a>, Finding)> {
    let trials = comparisons.first()?;
    let values = trials.values(metric);
    let finding = if trials.paired { Finding::paired } else { Finding::unpaired };
    Some((trials, finding(&values.treatment, &values.baseline, alpha).ok()?))
}

/// Formats a change as `+1.2 % (0.8 % to 1.6 %) compared with the good end, 4 seeds`.
fn in_words(change: RelativeChange, trials: &MatchedTrials) -> String {
    let (change, interval) = answer::change_and_interval(Some(change));
    format!(
        "{change} ({interval}) compared with the good end, {}",
        count(trials.treatments.len(), "seed")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(factor: f64, middle: f64) -> Option<Answer> {
        let good: Vec<f64> = (0..6).map(|seed| 1000.0 + f64::from(seed)).collect();
        let noise = |seed: usize| 1.0 + 0.002 * (seed as f64 - 2.5) / 2.5;
        let step: Vec<f64> =
            good.iter().enumerate().map(|(seed, value)| value * factor * noise(seed)).collect();
        let finding = Finding::paired(&step, &good, 0.05).expect("enough");
        match by_border(&finding, middle, 0.05, String::new()) {
            StepSide::Like(answer, _) => Some(answer),
            StepSide::Open(_) => None,
        }
    }

    #[test]
    fn a_step_belongs_to_the_end_on_whose_side_of_the_middle_it_is() {
        // The bad end is 20 % lower, then 20 % higher.
        for bad in [0.8_f64, 1.2] {
            let middle = bad.ln() / 2.0;
            assert_eq!(side(1.0, middle), Some(Answer::Good), "{bad}");
            assert_eq!(side(bad, middle), Some(Answer::Bad), "{bad}");
            assert_eq!(side(bad * bad, middle), Some(Answer::Bad), "beyond the bad end");
            assert_eq!(side(1.0 / bad, middle), Some(Answer::Good), "beyond the good end");
            assert_eq!(side(middle.exp(), middle), None, "at the border");
        }
    }

    #[test]
    fn where_failures_are_looked_for_they_are_what_counts() {
        let ran = |ok, failed| TrialCounts { ok, failed, reason: "panic".to_owned() };
        assert_eq!(by_failure(&ran(0, 3)), StepSide::Like(Answer::Bad, "panic".to_owned()));
        assert_eq!(
            by_failure(&ran(3, 0)),
            StepSide::Like(Answer::Good, "3 trials without a failure".to_owned())
        );
        assert!(matches!(by_failure(&ran(2, 1)), StepSide::Open(_)));
    }
}

//! Effects, intervals and verdicts of contests, with wrong verdicts limited over all of them
//! together.

use disklab_record::Outcome;
use disklab_record::manifest::UntilDecided;
use disklab_record::outcome::Cell;
use disklab_results::Spread;
use disklab_stats::{Better, Correction, Estimate, Rule, Verdict, percent};
use disklab_units::prose::count;
use serde::{Serialize, Serializer};

use crate::answer;
use crate::contest::{Contest, Values};
use crate::error::Error;
use crate::metric::Metric;
use crate::noise::Noise;

/// How verdicts come about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Terms {
    pub alpha: f64,
    /// The least change of interest, as a share.
    pub smallest_effect: f64,
    pub limit: Limit,
}

/// What alpha limits, where there are many cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Of the verdicts better and worse, this share is wrong on average at most (Benjamini and
    /// Hochberg).
    Share,
    /// The chance that any of them is wrong (Holm); wants more seeds.
    Any,
}

impl Limit {
    /// As it is typed and recorded.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Any => "any",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Share, Self::Any].into_iter().find(|limit| limit.name() == name)
    }

    const fn correction(self) -> Correction {
        match self {
            Self::Share => Correction::BenjaminiHochberg,
            Self::Any => Correction::Holm,
        }
    }
}

impl Terms {
    /// Those that a run decided by.
    pub fn recorded(until: &UntilDecided) -> Result<Self, Error> {
        let limit = Limit::of_name(&until.limit)
            .ok_or_else(|| Error::UnknownLimit { limit: until.limit.clone() })?;
        Ok(Self { alpha: until.alpha, smallest_effect: until.smallest_effect, limit })
    }

    /// What the verdicts rest on, as a sentence without its full stop.
    pub fn in_words(self, contests: &[Contest], until: Option<&UntilDecided>) -> String {
        let paired = contests.iter().filter(|contest| contest.paired).count();
        let how = match paired {
            0 => "All trials of one side are held against all of the other",
            _ if paired == contests.len() => "Trials of one seed are paired",
            _ => "Trials of one seed are paired where there are such",
        };
        let looks = until.map_or(1, |until| until.looks.len());
        let percent = short(self.alpha * 100.0);
        let limit = match self.limit {
            Limit::Share => {
                format!(
                    "of all verdicts better and worse, {percent} % are wrong on average at most"
                )
            }
            Limit::Any => {
                format!(
                    "the chance that any verdict better or worse is wrong is {percent} % at most"
                )
            }
        };
        format!(
            "{how}, and changes are of these, not of the medians; intervals hold each for itself \
             with {} % confidence; {limit}; the same is what is within {} % with its whole \
             interval",
            short(100.0 - self.alpha * 100.0 / looks as f64),
            short(self.smallest_effect * 100.0)
        )
    }
}

/// With as few places as it needs, two at most.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// How a run that added seeds until verdicts were given came to its trials.
#[derive(Debug, Clone, Copy)]
pub struct Looked<'a> {
    pub until: &'a UntilDecided,
    /// Seeds up to this one count.
    pub upto: u32,
}

/// A contest in one metric, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    pub cell: Cell,
    pub metric: Metric,
    pub treatment: String,
    pub baseline: String,
    /// Whether trials of one seed were held against each other.
    pub paired: bool,
    /// Of the treatment and of the baseline.
    pub trials: (usize, usize),
    /// Of the two medians: `1/s`, `bytes/s`, `ns`, or what the record says.
    pub unit: String,
    #[serde(skip)]
    pub better: Better,
    /// The least value at which a trial of the treatment was given up, so that it is more than
    /// that; and of the baseline.
    #[serde(skip)]
    pub given_up: (Option<f64>, Option<f64>),
    /// The same of all trials, also of those that were not compared.
    #[serde(skip)]
    pub limits: (Option<f64>, Option<f64>),
    pub treatment_median: Option<f64>,
    pub baseline_median: Option<f64>,
    /// The change from baseline to treatment in per cent, with its interval at 1 - alpha for this
    /// cell alone.
    pub change: Option<Change>,
    /// What the same differs by from itself, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    #[serde(serialize_with = "in_a_word")]
    pub verdict: Verdict,
    /// Of an undecided verdict: a run of so many seeds, planned from the start, would decide with a
    /// chance of [`disklab_stats::PLANNED_POWER`], if effect and spread are what they seem. `None` where
    /// nothing can be said.
    pub seeds_to_decide: Option<usize>,
    /// Why there is no verdict, and why seeds were left out.
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    pub percent: f64,
    pub low: f64,
    pub high: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn in_a_word<S: Serializer>(verdict: &Verdict, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(verdict)
}

/// Judges each contest in each metric that its trials have, if they have any result: workloads
/// differ in what they tell.
pub fn judge(
    contests: &[Contest],
    metrics: &[Metric],
    terms: Terms,
    looked: Option<&Looked>,
) -> Result<Vec<Judgement>, disklab_stats::Error> {
    let told = |contest: &Contest, metric: &Metric| {
        let has_it = |outcome: &Outcome| metric.of(outcome).is_some();
        contest.outcomes().next().is_none() || contest.outcomes().any(has_it)
    };
    let all =
        contests.iter().flat_map(|contest| metrics.iter().map(move |metric| (contest, metric)));
    let all: Vec<_> = all.filter(|(contest, metric)| told(contest, metric)).collect();
    let mut judgements = Vec::new();
    // One family, whichever way is good: that only decides which word the sign of an effect is.
    let mut compared = Vec::new();
    for (contest, metric) in &all {
        let rule =
            Rule::new(terms.alpha, terms.smallest_effect, metric.better(contest.outcomes()))?;
        let rule = rule.among(all.len());
        let (mut judgement, comparison) = one(contest, metric, rule, looked);
        judgement.noise = Noise::of(&contest.again, metric, terms);
        if let Some(comparison) = comparison {
            compared.push((judgements.len(), rule, comparison));
        }
        judgements.push(judgement);
    }
    let comparisons: Vec<_> = compared.iter().map(|(_, _, comparison)| *comparison).collect();
    for better in [Better::Higher, Better::Lower] {
        let rule = Rule::new(terms.alpha, terms.smallest_effect, better)?.among(all.len());
        let verdicts = rule.family(&comparisons, terms.limit.correction())?;
        let looks = looked.map_or(1, |looked| looked.until.looks.len());
        let seeds = rule.trials_to_decide(&comparisons, terms.limit.correction(), looks)?;
        for ((index, own, _), (verdict, seeds)) in
            compared.iter().zip(verdicts.into_iter().zip(seeds))
        {
            if *own == rule {
                judgements[*index].verdict = verdict;
                judgements[*index].seeds_to_decide = seeds;
                judgements[*index].heed_given_up();
                judgements[*index].heed_noise();
            }
        }
    }
    Ok(judgements)
}

fn one(
    contest: &Contest,
    metric: &Metric,
    rule: Rule,
    looked: Option<&Looked>,
) -> (Judgement, Option<disklab_stats::Comparison>) {
    let Values { treatment, baseline, given_up, seeds, unknown, mut remarks } =
        contest.values(metric);
    let least = metric.least(contest.outcomes()).unwrap_or(0.0);
    let ratio =
        |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.max(least)).collect() };
    let (ours, theirs) = (ratio(&treatment), ratio(&baseline));
    let nothing = (ours != treatment, theirs != baseline);
    if nothing.0 || nothing.1 {
        let unit = metric.unit(contest.outcomes());
        remarks.push(format!(
            "0 counts as {}, half of the least that there can be",
            answer::value(least, &unit)
        ));
    }
    let compared = match looked {
        Some(Looked { until, upto }) if contest.paired => {
            let taken = until.looks.iter().filter(|look| *look <= upto);
            let pairs: Vec<usize> =
                taken.map(|look| seeds.partition_point(|seed| seed <= look)).collect();
            rule.after_analyses(&ours, &theirs, &pairs, until.looks.len())
        }
        _ if contest.paired => rule.paired(&ours, &theirs),
        _ => rule.unpaired(&ours, &theirs),
    };
    let comparison = match compared {
        Ok(comparison) => Some(comparison),
        // That other seeds would help is not sure.
        Err(_) if unknown > 0 => {
            let left = count(seeds.len(), "pair");
            remarks.push(format!(
                "{left} left: too few to compare; a longer limit would tell more, other seeds only if one side is in time in them"
            ));
            None
        }
        Err(error) => {
            remarks.push(error.to_string());
            None
        }
    };
    // Of all, also of pairs of which nobody knows the order: what is left of these would be the
    // survivors'.
    let median = |outcomes: &[&Outcome]| {
        Spread::of(outcomes.iter().filter_map(|it| metric.of(it))).map(|spread| spread.median)
    };
    let limit = |outcomes: &[&Outcome]| {
        let given_up = outcomes.iter().filter(|it| metric.is_given_up(it));
        given_up.filter_map(|it| metric.of(it)).min_by(f64::total_cmp)
    };
    let judgement = Judgement {
        cell: contest.cell.clone(),
        metric: metric.clone(),
        treatment: contest.treatment.clone(),
        baseline: contest.baseline.clone(),
        paired: contest.paired,
        trials: (treatment.len(), baseline.len()),
        unit: metric.unit(contest.outcomes()),
        better: metric.better(contest.outcomes()),
        treatment_median: median(&contest.treatments),
        baseline_median: median(&contest.baselines),
        limits: (limit(&contest.treatments), limit(&contest.baselines)),
        change: comparison
            .map(|comparison| Change::of(comparison.log_ratio).heeding_nothing(nothing)),
        given_up,
        noise: None,
        verdict: Verdict::Undecided,
        seeds_to_decide: None,
        remarks,
    };
    (judgement, comparison)
}

impl Judgement {
    /// A trial that was given up is more than its value. So is the change, if it is of the
    /// treatment: that more is certain stays so, that it is less or the same does not. Of the
    /// baseline it is the other way round.
    fn heed_given_up(&mut self) {
        let (treatment, baseline) = (self.given_up.0.is_some(), self.given_up.1.is_some());
        let Some(change) = self.change.as_mut().filter(|_| treatment || baseline) else { return };
        if treatment {
            change.high = f64::INFINITY;
        }
        if baseline {
            change.low = -100.0;
        }
        let more = if self.better == Better::Lower { Verdict::Worse } else { Verdict::Better };
        let less = if self.better == Better::Lower { Verdict::Better } else { Verdict::Worse };
        let holds = (self.verdict == more && !baseline) || (self.verdict == less && !treatment);
        if !holds {
            self.verdict = Verdict::Undecided;
            self.seeds_to_decide = None;
        }
    }

    /// Better and worse are what differs by more than the same does from itself.
    fn heed_noise(&mut self) {
        let (Some(noise), Some(change)) = (self.noise, self.change) else { return };
        let is_decided = matches!(self.verdict, Verdict::Better | Verdict::Worse);
        if is_decided && noise.hides(change.percent) {
            self.remarks.push(format!(
                "{}, but within this machine's noise: the same, measured twice, may differ by {}",
                self.verdict,
                noise.told()
            ));
            self.verdict = Verdict::Undecided;
            self.seeds_to_decide = None;
        }
    }

    /// So that nobody knows which takes longer.
    pub fn is_given_up_on_both_sides(&self) -> bool {
        self.change.is_none() && self.limits.0.is_some() && self.limits.1.is_some()
    }

    /// As far as they are known: `> 60 s`.
    pub fn medians_in_words(&self) -> (String, String) {
        let told = |median: Option<f64>, given_up: Option<f64>| {
            let Some(median) = median else { return "-".to_owned() };
            let more = if given_up.is_some_and(|limit| limit <= median) { "> " } else { "" };
            format!("{more}{}", answer::value(median, &self.unit))
        };
        (told(self.treatment_median, self.limits.0), told(self.baseline_median, self.limits.1))
    }

    /// `5`, or `5 and 7` where nothing is paired.
    pub fn trials_in_words(&self) -> String {
        trials_in_words(self.paired, self.trials)
    }
}

pub fn trials_in_words(paired: bool, (treatment, baseline): (usize, usize)) -> String {
    if paired { treatment.to_string() } else { format!("{treatment} and {baseline}") }
}

impl Change {
    pub fn of(log_ratio: Estimate) -> Self {
        Self {
            percent: percent(log_ratio.value),
            low: percent(log_ratio.interval.low),
            high: percent(log_ratio.interval.high),
        }
    }

    /// Nothing, of the treatment or of the baseline, was counted as the least there can be: the
    /// change is as great or greater.
    fn heeding_nothing(self, (treatment, baseline): (bool, bool)) -> Self {
        let low = if treatment && self.percent < 0.0 { -100.0 } else { self.low };
        let high = if baseline && self.percent > 0.0 { f64::INFINITY } else { self.high };
        Self { low, high, ..self }
    }
}

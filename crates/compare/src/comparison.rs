//! Effects, intervals and verdicts of matched trials, with wrong verdicts limited over all of them
//! together.

use disklab_config::suite::sweep::ESTIMATED;
use disklab_record::Outcome;
use disklab_record::outcome::Cell;
use disklab_results::Spread;
use disklab_stats::{Better, Rule, Verdict};
use disklab_units::prose::count;
use indexmap::IndexMap;
use serde::{Serialize, Serializer};

use crate::answer::{self, RelativeChange};
use crate::choice::nothing_to_choose;
use crate::decision::DecisionRule;
use crate::matching::{MatchedTrials, MatchedValues};
use crate::metric::Metric;
use crate::noise::Noise;
use crate::sequential::SequentialDesign;

/// The treatment of a cell compared with its baseline in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub cell: Cell,
    pub metric: Metric,
    pub treatment: String,
    pub baseline: String,
    /// Whether trials of one seed were compared with each other.
    pub paired: bool,
    /// The numbers of trials of the treatment and of the baseline.
    pub trials: (usize, usize),
    /// The unit of the two medians: `1/s`, `bytes/s`, `ns`, or what the record says.
    pub unit: String,
    #[serde(skip)]
    pub better: Better,
    /// The least value at which a trial of the treatment was given up, so that it is more than
    /// that; and of the baseline.
    #[serde(skip)]
    pub censored: (Option<f64>, Option<f64>),
    /// The same of all trials, also of those that were not compared.
    #[serde(skip)]
    pub limits: (Option<f64>, Option<f64>),
    pub treatment_median: Option<f64>,
    pub baseline_median: Option<f64>,
    /// The change from baseline to treatment in per cent, with its interval at 1 - alpha for this
    /// cell alone.
    pub change: Option<RelativeChange>,
    /// The difference between two measurements of the same, if that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    #[serde(serialize_with = "in_a_word")]
    pub verdict: Verdict,
    /// For an undecided verdict: a run of so many seeds, planned from the start, would decide with
    /// a chance of [`disklab_stats::PLANNED_POWER`], if effect and spread are what they seem.
    /// `None` if nothing can be said.
    pub seeds_to_decide: Option<usize>,
    /// Why the two are the same by necessity: what they differ in had nothing to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_choice: Option<String>,
    /// Why there is no verdict, and why seeds were left out.
    pub remarks: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn in_a_word<S: Serializer>(verdict: &Verdict, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(verdict)
}

/// Compares both sides of each cell in each metric that its trials have, if they have any result:
/// workloads differ in what they measure. Cells at one end of an estimated parameter's range are a
/// family of their own, as if the suite had been run so.
pub fn compare(
    all: &[MatchedTrials],
    metrics: &[Metric],
    rule: DecisionRule,
    interim: Option<&SequentialDesign>,
) -> Result<Vec<Comparison>, disklab_stats::Error> {
    let mut families: IndexMap<Option<&str>, Vec<&MatchedTrials>> = IndexMap::new();
    for matched in all {
        families.entry(matched.cell.value(ESTIMATED)).or_default().push(matched);
    }
    let compared = families.values().map(|own| compare_family(own, metrics, rule, interim));
    Ok(compared.collect::<Result<Vec<_>, _>>()?.concat())
}

fn compare_family(
    all: &[&MatchedTrials],
    metrics: &[Metric],
    rule: DecisionRule,
    interim: Option<&SequentialDesign>,
) -> Result<Vec<Comparison>, disklab_stats::Error> {
    let is_measured = |matched: &MatchedTrials, metric: &Metric| {
        let has_it = |outcome: &Outcome| metric.value_in(outcome).is_some();
        matched.outcomes().next().is_none() || matched.outcomes().any(has_it)
    };
    let all: Vec<_> = all
        .iter()
        .copied()
        .flat_map(|matched| metrics.iter().map(move |metric| (matched, metric)))
        .filter(|(matched, metric)| is_measured(matched, metric))
        .collect();
    let rule_for =
        |better| Ok(Rule::new(rule.alpha, rule.smallest_effect, better)?.among(all.len()));
    let mut comparisons = Vec::new();
    // One family, whichever way is good: that only decides which word the sign of an effect is.
    let mut estimates = Vec::new();
    for (at, (matched, metric)) in all.iter().enumerate() {
        let own = rule_for(metric.better(matched.outcomes()))?;
        let (mut comparison, estimate) = compare_one(matched, metric, own, interim);
        comparison.noise = Noise::measured(&matched.repeated, metric, rule);
        comparisons.push(comparison);
        estimates.extend(estimate.map(|estimate| (at, estimate)));
    }
    let (places, estimates): (Vec<usize>, Vec<_>) = estimates.into_iter().unzip();
    let correction = rule.error_control.correction();
    let analyses = interim.map_or(1, |design| design.last_share().recip().round() as usize);
    for better in [Better::Higher, Better::Lower] {
        let rule = rule_for(better)?;
        let verdicts = rule.family(&estimates, correction)?;
        let seeds = rule.trials_to_decide(&estimates, correction, analyses)?;
        for (&at, (verdict, seeds)) in places.iter().zip(verdicts.into_iter().zip(seeds)) {
            let comparison: &mut Comparison = &mut comparisons[at];
            if comparison.better == better {
                comparison.verdict = verdict;
                comparison.seeds_to_decide = seeds;
                comparison.heed_censored();
                comparison.heed_noise();
            }
        }
    }
    for (at, (matched, _)) in all.iter().enumerate() {
        let same = Some(&mut comparisons[at]).filter(|own| own.verdict == Verdict::Same);
        if let Some((own, why)) = same.zip(nothing_to_choose(matched)) {
            own.remarks.push(format!("the same: {why}"));
            own.no_choice = Some(why);
        }
    }
    Ok(comparisons)
}

/// The comparison without its verdict, and the estimate that the verdict will rest on.
fn compare_one(
    matched: &MatchedTrials,
    metric: &Metric,
    rule: Rule,
    interim: Option<&SequentialDesign>,
) -> (Comparison, Option<disklab_stats::Comparison>) {
    let MatchedValues { treatment, baseline, censored, seeds, unknown, mut remarks } =
        matched.values(metric);
    let unit = metric.unit(matched.outcomes());
    let least = metric.least(matched.outcomes()).unwrap_or(0.0);
    let at_least =
        |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.max(least)).collect() };
    let (ours, theirs) = (at_least(&treatment), at_least(&baseline));
    let nothing = (ours != treatment, theirs != baseline);
    if nothing.0 || nothing.1 {
        remarks.push(format!(
            "0 counts as {}, half of the least that there can be",
            answer::value(least, &unit)
        ));
    }
    let estimate = match interim {
        Some(design) if matched.paired => {
            rule.after_analyses(&ours, &theirs, &design.by_pairs(&seeds))
        }
        Some(design) => rule.spending(design.last_share(), |rule| rule.unpaired(&ours, &theirs)),
        _ if matched.paired => rule.paired(&ours, &theirs),
        _ => rule.unpaired(&ours, &theirs),
    };
    if let Err(error) = &estimate {
        // That other seeds would help is not sure where pairs were left out.
        remarks.push(match unknown {
            0 => error.to_string(),
            _ => format!(
                "{} left: too few to compare; a longer limit would tell more, other seeds only if \
                 one side is in time in them",
                count(seeds.len(), "pair")
            ),
        });
    }
    let estimate = estimate.ok();
    // The medians of all, also of pairs of which nobody knows the order: what is left of these
    // would be the survivors'.
    let median = |outcomes: &[&Outcome]| {
        let values = outcomes.iter().filter_map(|outcome| metric.value_in(outcome));
        Spread::over(values).map(|spread| spread.median)
    };
    let limit = |outcomes: &[&Outcome]| {
        let censored = outcomes.iter().filter(|outcome| metric.is_censored(outcome));
        censored.filter_map(|outcome| metric.value_in(outcome)).min_by(f64::total_cmp)
    };
    let change = |estimate: disklab_stats::Comparison| {
        heed_nothing(RelativeChange::from_log_ratio(estimate.log_ratio), nothing)
    };
    let comparison = Comparison {
        cell: matched.cell.clone(),
        metric: metric.clone(),
        treatment: matched.treatment.clone(),
        baseline: matched.baseline.clone(),
        paired: matched.paired,
        trials: (treatment.len(), baseline.len()),
        unit,
        better: metric.better(matched.outcomes()),
        treatment_median: median(&matched.treatments),
        baseline_median: median(&matched.baselines),
        limits: (limit(&matched.treatments), limit(&matched.baselines)),
        change: estimate.map(change),
        censored,
        noise: None,
        verdict: Verdict::Undecided,
        seeds_to_decide: None,
        no_choice: None,
        remarks,
    };
    (comparison, estimate)
}

/// If nothing, of the treatment or of the baseline, was counted as the least there can be, the
/// change is as great or greater.
fn heed_nothing(change: RelativeChange, (treatment, baseline): (bool, bool)) -> RelativeChange {
    let low = if treatment && change.percent < 0.0 { -100.0 } else { change.low };
    let high = if baseline && change.percent > 0.0 { f64::INFINITY } else { change.high };
    RelativeChange { low, high, ..change }
}

impl Comparison {
    /// A trial that was given up is more than its value. So is the change, if it is of the
    /// treatment: that more is certain stays so, that it is less or the same does not. Of the
    /// baseline it is the other way round.
    fn heed_censored(&mut self) {
        let (treatment, baseline) = (self.censored.0.is_some(), self.censored.1.is_some());
        let Some(change) = self.change.as_mut().filter(|_| treatment || baseline) else { return };
        if treatment {
            change.high = f64::INFINITY;
        }
        if baseline {
            change.low = -100.0;
        }
        let (more, less) = match self.better {
            Better::Lower => (Verdict::Worse, Verdict::Better),
            Better::Higher => (Verdict::Better, Verdict::Worse),
        };
        let holds = (self.verdict == more && !baseline) || (self.verdict == less && !treatment);
        if !holds {
            self.verdict = Verdict::Undecided;
            self.seeds_to_decide = None;
        }
    }

    /// Better and worse are what differs by more than the same does from itself.
    fn heed_noise(&mut self) {
        let (Some(noise), Some(change)) = (self.noise, self.change) else { return };
        if self.verdict.is_difference() && noise.hides(change.percent) {
            self.remarks.push(format!(
                "{}, but within this machine's noise: the same, measured twice, may differ by {}",
                self.verdict,
                noise.in_words()
            ));
            self.verdict = Verdict::Undecided;
            self.seeds_to_decide = None;
        }
    }

    /// Why a change is undecided whose interval looks as if it decided: `None` where the interval
    /// says so itself, and of a verdict that is given. `verdicts` is how many alpha holds over,
    /// `smallest` the effect (a share) below which two are the same.
    pub fn why_undecided(&self, verdicts: usize, smallest: f64) -> Option<String> {
        let change = self.change.filter(|_| self.verdict == Verdict::Undecided)?;
        if self.noise.is_some_and(|noise| noise.hides(change.percent)) {
            return Some("within this machine's noise".to_owned());
        }
        let reaches = answer::size(change.low).max(answer::size(change.high)) >= smallest.ln_1p();
        if change.low <= 0.0 && change.high >= 0.0 && reaches {
            return None;
        }
        let fewest = self.trials.0.min(self.trials.1);
        let are = if fewest == 1 { "is" } else { "are" };
        let among = if verdicts > 1 {
            format!("among {verdicts} verdicts")
        } else {
            "to be certain".to_owned()
        };
        Some(format!("{} {are} too few {among}", count(fewest, "seed")))
    }

    /// The change and the verdict in words, by [`answer::change_and_verdict`].
    pub fn change_and_verdict(&self) -> String {
        answer::change_and_verdict(self.change, self.verdict)
    }

    /// Whether both sides were given up, so that nobody knows which takes longer.
    pub fn is_censored_on_both_sides(&self) -> bool {
        self.change.is_none() && self.limits.0.is_some() && self.limits.1.is_some()
    }

    /// The medians of both sides, as far as they are known: `> 60 s`.
    pub fn medians_in_words(&self) -> (String, String) {
        let in_words = |median: Option<f64>, censored: Option<f64>| {
            let Some(median) = median else { return "-".to_owned() };
            let more = if censored.is_some_and(|limit| limit <= median) { "> " } else { "" };
            format!("{more}{}", answer::value(median, &self.unit))
        };
        (
            in_words(self.treatment_median, self.limits.0),
            in_words(self.baseline_median, self.limits.1),
        )
    }

    /// `5`, or `5 and 7` where nothing is paired.
    pub fn trials_in_words(&self) -> String {
        trials_in_words(self.paired, self.trials)
    }
}

pub fn trials_in_words(paired: bool, (treatment, baseline): (usize, usize)) -> String {
    if paired { treatment.to_string() } else { format!("{treatment} and {baseline}") }
}

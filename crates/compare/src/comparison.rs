//! Effects, intervals and verdicts of matched trials, with wrong verdicts limited over all of them
//! together.

use disklab_record::Outcome;
use disklab_record::outcome::Cell;
use disklab_results::Spread;
use disklab_stats::{Better, Rule, Verdict, two_modes};
use disklab_units::prose::count;
use serde::{Serialize, Serializer};

use crate::answer::{self, RelativeChange};
use crate::choice::nothing_to_choose;
use crate::decision::DecisionRule;
use crate::matching::{MatchedTrials, MatchedValues};
use crate::metric::Metric;
use crate::noise::Noise;
use crate::sequential::SequentialDesign;
use crate::served::served_otherwise;

/// The treatment of a cell compared with its baseline in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub cell: Cell,
    pub metric: Metric,
    pub treatment: String,
    pub baseline: String,
    /// Whether trials of the same seed were compared.
    pub paired: bool,
    /// The numbers of trials of the treatment and of the baseline.
    pub trials: (usize, usize),
    /// The unit of the two medians: `1/s`, `bytes/s`, `ns`, or what the record says.
    pub unit: String,
    #[serde(skip)]
    pub better: Better,
    /// Least value at which a trial of the treatment timed out, whose true value is larger; and of
    /// the baseline.
    #[serde(skip)]
    pub censored: (Option<f64>, Option<f64>),
    /// The same least values over all trials, including trials that were not compared.
    #[serde(skip)]
    pub limits: (Option<f64>, Option<f64>),
    pub treatment_median: Option<f64>,
    pub baseline_median: Option<f64>,
    /// The baseline's number by the estimator of the change, and the number that the change makes
    /// of it. It is 0 if all trials of that side are 0.
    pub treatment_estimate: Option<f64>,
    pub baseline_estimate: Option<f64>,
    /// The two values that a side takes by seed, if it takes one of two.
    #[serde(skip_serializing_if = "Modes::is_empty")]
    pub modes: Modes,
    /// The change from baseline to treatment in per cent, with its interval at 1 - alpha for this
    /// cell alone.
    pub change: Option<RelativeChange>,
    /// Difference between two measurements of the same trial, if that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    #[serde(serialize_with = "in_a_word")]
    pub verdict: Verdict,
    /// Number of seeds that would decide an undecided verdict with a chance of
    /// [`disklab_stats::PLANNED_POWER`], if effect and spread are as measured. It is `None` if
    /// nothing is known.
    pub seeds_to_decide: Option<usize>,
    /// Reason why the two sides are necessarily the same: the compared policy or scheduler had no
    /// choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_choice: Option<String>,
    /// Whether the spread is unknown. Fewer seeds then decide nothing, and this number may or may
    /// not decide.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub seeds_at_least: bool,
    /// Whether the present seeds cannot decide this among the other verdicts, for any values.
    pub too_few_seeds: bool,
    /// Reasons for a missing verdict, and for seeds that were left out.
    pub remarks: Vec<String>,
}

/// Serialises a verdict as its word.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn in_a_word<S: Serializer>(verdict: &Verdict, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(verdict)
}

/// The lower and the upper value that a side takes by seed, where a stated rule
/// ([`disklab_stats::two_modes`]) finds two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Modes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub treatment: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<(f64, f64)>,
}

impl Modes {
    fn is_empty(&self) -> bool {
        self.treatment.is_none() && self.baseline.is_none()
    }
}

/// Compares both sides of each cell in each of its metrics, since workloads have different metrics.
/// All verdicts are one family.
pub(crate) fn compare_family(
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
    // All verdicts are one family: the good direction only decides the word for an effect's sign.
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
    let share = interim.map_or(1.0, SequentialDesign::last_share);
    let shares = (share, SequentialDesign::next_share(interim));
    for better in [Better::Higher, Better::Lower] {
        let rule = rule_for(better)?;
        let verdicts = rule.family(&estimates, correction)?;
        let seeds = rule.trials_to_decide(&estimates, correction, shares)?;
        for (&at, (verdict, seeds)) in places.iter().zip(verdicts.into_iter().zip(seeds)) {
            let comparison: &mut Comparison = &mut comparisons[at];
            if comparison.better == better {
                comparison.verdict = verdict;
                comparison.seeds_to_decide = seeds.map(|seeds| seeds.trials);
                comparison.seeds_at_least = seeds.is_some_and(|seeds| seeds.at_least);
                comparison.too_few_seeds = seeds.is_some_and(|seeds| seeds.too_few);
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
        let own = &mut comparisons[at];
        if !own.verdict.is_difference() {
            own.remarks.extend(served_otherwise(matched));
        }
    }
    Ok(comparisons)
}

/// Returns the comparison without its verdict, and the estimate that the verdict will rest on.
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
            "a value of 0 is taken as {}, half of the least possible value",
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
    if unknown > 0 {
        // If pairs were left out, other seeds may not help either.
        remarks.push(format!(
            "{} left to compare; a longer limit gives more of them, and more seeds help only if \
             one side does not time out",
            count(seeds.len(), "pair")
        ));
    } else if let Err(error) = &estimate {
        remarks.push(match ours.len().min(theirs.len()) {
            0 if matched.paired => "no seed has a result on both sides".to_owned(),
            0 => "one side has no result".to_owned(),
            _ => error.to_string(),
        });
    }
    let estimate = estimate.ok();
    // The medians cover all trials, including pairs whose order is unknown.
    let median = |outcomes: &[&Outcome]| {
        let values = outcomes.iter().filter_map(|outcome| metric.value_in(outcome));
        Spread::over(values).map(|spread| spread.median)
    };
    let limit = |outcomes: &[&Outcome]| {
        let censored = outcomes.iter().filter(|outcome| metric.is_censored(outcome));
        censored.filter_map(|outcome| metric.value_in(outcome)).min_by(f64::total_cmp)
    };
    let change = estimate
        .map(|estimate| heed_nothing(RelativeChange::from_log_ratio(estimate.log_ratio), nothing));
    // In ratios, half of the least possible value stands for 0. If there is nothing else, 0 is
    // shown for a change from or to zero.
    let is_zero = |values: &[f64]| values.iter().all(|value| *value == 0.0);
    let (treatment_is_zero, baseline_is_zero) = (is_zero(&treatment), is_zero(&baseline));
    let differs = change.is_some_and(|change| change.percent != 0.0);
    let shown = |logarithm: f64, is_zero: bool| {
        let is_shown_as_zero = is_zero && (differs || (treatment_is_zero && baseline_is_zero));
        if is_shown_as_zero { 0.0 } else { logarithm.exp() }
    };
    let modes = |values: &[f64], censored: Option<f64>| {
        let found = two_modes(values, rule.margin().exp_m1()).ok().flatten();
        found.filter(|_| censored.is_none()).map(|modes| (modes.lower, modes.upper))
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
        treatment_estimate: estimate
            .map(|known| shown(known.baseline + known.log_ratio.value, treatment_is_zero)),
        baseline_estimate: estimate.map(|known| shown(known.baseline, baseline_is_zero)),
        modes: Modes { treatment: modes(&ours, censored.0), baseline: modes(&theirs, censored.1) },
        limits: (limit(&matched.treatments), limit(&matched.baselines)),
        change,
        censored,
        noise: None,
        verdict: Verdict::Undecided,
        seeds_to_decide: None,
        no_choice: None,
        seeds_at_least: false,
        too_few_seeds: false,
        remarks,
    };
    (comparison, estimate)
}

/// If zeroes of the treatment or of the baseline were counted as the least possible value, the
/// change is as large or larger.
fn heed_nothing(change: RelativeChange, (treatment, baseline): (bool, bool)) -> RelativeChange {
    let low = if treatment && change.percent < 0.0 { -100.0 } else { change.low };
    let high = if baseline && change.percent > 0.0 { f64::INFINITY } else { change.high };
    RelativeChange { low, high, ..change }
}

impl Comparison {
    /// Accounts for timed-out trials, whose true values are larger. If they are the treatment's,
    /// the change is larger too: "more" stays certain, "less" and "the same" do not. If they are
    /// the baseline's, it is the reverse.
    fn heed_censored(&mut self) {
        let (treatment, baseline) = (self.censored.0.is_some(), self.censored.1.is_some());
        let Some(change) = self.change.as_mut().filter(|_| treatment || baseline) else { return };
        if treatment {
            change.high = f64::INFINITY;
        }
        if baseline {
            change.low = -100.0;
        }
        let may_hold = if change.percent > 0.0 { !baseline } else { !treatment };
        if !may_hold || self.verdict == Verdict::Same {
            self.leave_open();
        }
    }

    /// Makes the verdict undecided for a reason other than missing seeds.
    fn leave_open(&mut self) {
        self.verdict = Verdict::Undecided;
        (self.seeds_to_decide, self.seeds_at_least, self.too_few_seeds) = (None, false, false);
    }

    /// Limits "better" and "worse" to changes beyond the machine's noise.
    fn heed_noise(&mut self) {
        let (Some(noise), Some(change)) = (self.noise, self.change) else { return };
        if self.verdict.is_difference() && noise.hides(change.percent) {
            self.remarks.push(format!(
                "{}, but within this machine's noise: two measurements of the same trial may \
                 differ by {}",
                self.verdict,
                noise.in_words()
            ));
            self.leave_open();
        }
    }

    /// Returns the reason for an undecided verdict whose interval looks decisive, or `None` if the
    /// interval shows the reason, and for decided verdicts. `verdicts` is the number of verdicts
    /// that alpha covers, `smallest` the smallest effect (a share).
    pub fn why_undecided(&self, verdicts: usize, smallest: f64) -> Option<String> {
        let change = self.change.filter(|_| self.verdict == Verdict::Undecided)?;
        if self.noise.is_some_and(|noise| noise.hides(change.percent)) {
            return Some("within this machine's noise".to_owned());
        }
        let fewest = self.trials.0.min(self.trials.1);
        let seeds = count(fewest, "seed");
        let among =
            if verdicts > 1 { format!(" among {verdicts} verdicts") } else { String::new() };
        if self.too_few_seeds {
            return Some(format!("{seeds} cannot decide this{among}"));
        }
        let reaches = answer::size(change.low).max(answer::size(change.high)) >= smallest.ln_1p();
        if change.low <= 0.0 && change.high >= 0.0 && reaches {
            return None;
        }
        let are = if fewest == 1 { "is" } else { "are" };
        let among = if verdicts > 1 { &among } else { " to be certain" };
        Some(format!("{seeds} {are} too few{among}"))
    }

    /// Formats the verdict. If no values of so few seeds would give a verdict, or nothing was
    /// compared, the text says so instead of "undecided". `same (no choice)` means that no other
    /// verdict was possible.
    pub fn verdict_in_words(&self) -> String {
        match self.change {
            None => "no verdict".to_owned(),
            Some(_) if self.no_choice.is_some() => format!("{} (no choice)", self.verdict),
            Some(_) if self.too_few_seeds => "too few seeds".to_owned(),
            Some(_) => self.verdict.to_string(),
        }
    }

    /// Formats the number of seeds that would decide.
    pub fn seeds_in_words(&self) -> Option<String> {
        let seeds = self.seeds_to_decide?;
        Some(if self.seeds_at_least {
            format!("at least {}", count(seeds, "seed"))
        } else {
            answer::seeds(seeds)
        })
    }

    /// Formats change and verdict, as in `+12 % better`. The text is empty if nothing was compared.
    /// A word is clearer than an arrow, since less latency is better.
    pub fn change_and_verdict(&self) -> String {
        if self.change.is_none() {
            return String::new();
        }
        format!("{} {}", self.change_and_interval().0, self.verdict_in_words())
    }

    /// Formats the change and its interval; two dashes without a change.
    pub fn change_and_interval(&self) -> (String, String) {
        let (change, interval) = answer::change_and_interval(self.change);
        let is_marked = change.starts_with(['≥', '≤']);
        let mark = match self.known_end() {
            Some(mark) if !is_marked => format!("{mark} "),
            _ => String::new(),
        };
        (mark + &change, interval)
    }

    /// Returns the side on which the change is known, if trials of one side timed out or all are 0.
    /// An interval may be too wide to show that.
    fn known_end(&self) -> Option<char> {
        let change = self.change?;
        let (treatment, baseline) = (self.censored.0.is_some(), self.censored.1.is_some());
        let at_least = treatment || (self.baseline_estimate == Some(0.0) && change.percent > 0.0);
        let at_most = baseline || (self.treatment_estimate == Some(0.0) && change.percent < 0.0);
        match (at_least, at_most) {
            (true, false) => Some('≥'),
            (false, true) => Some('≤'),
            _ => None,
        }
    }

    /// Returns true if trials of both sides timed out, so that their order is unknown.
    pub fn is_censored_on_both_sides(&self) -> bool {
        self.change.is_none() && self.limits.0.is_some() && self.limits.1.is_some()
    }

    /// Formats the [numbers](Self::numbers) of both sides, as far as they are known: `> 60 s`.
    pub fn numbers_in_words(&self) -> (String, String) {
        let in_words = |number: Option<f64>, is_more: bool| {
            let Some(number) = number else { return "-".to_owned() };
            let more = if is_more { "> " } else { "" };
            format!("{more}{}", answer::value(number, &self.unit))
        };
        let is_more = |number: Option<f64>, limit: Option<f64>| {
            let is_reached =
                |limit| self.change.is_some() || number.is_some_and(|number| limit <= number);
            limit.is_some_and(is_reached)
        };
        let limits = if self.change.is_some() { self.censored } else { self.limits };
        let (treatment, baseline) = self.numbers();
        (
            in_words(treatment, is_more(treatment, limits.0)),
            in_words(baseline, is_more(baseline, limits.1)),
        )
    }

    /// Returns the two numbers of the change, or the medians if nothing is compared.
    pub fn numbers(&self) -> (Option<f64>, Option<f64>) {
        if self.change.is_some() {
            (self.treatment_estimate, self.baseline_estimate)
        } else {
            (self.treatment_median, self.baseline_median)
        }
    }

    /// Returns the sides that take one of two values by seed, each with its name: `330 or 550
    /// IOPS`.
    pub fn modes_in_words(&self) -> Vec<(&str, String)> {
        let sides =
            [(&self.treatment, self.modes.treatment), (&self.baseline, self.modes.baseline)];
        let in_words = |(lower, upper): (f64, f64)| {
            let [lower, upper] = [lower, upper].map(|value| answer::value(value, &self.unit));
            let unit = if self.unit == "1/s" { " a second" } else { "" };
            format!("{lower} or {upper}{unit}")
        };
        let found = sides.into_iter().filter_map(|(name, modes)| Some((name, in_words(modes?))));
        found.map(|(name, words)| (name.as_str(), words)).collect()
    }

    /// Formats the numbers of trials: `5`, or `5 and 7` if they are not paired.
    pub fn trials_in_words(&self) -> String {
        trials_in_words(self.paired, self.trials)
    }
}

pub fn trials_in_words(paired: bool, (treatment, baseline): (usize, usize)) -> String {
    if paired { treatment.to_string() } else { format!("{treatment} and {baseline}") }
}

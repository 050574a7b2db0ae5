//! The records of a report, and everything computed from them.

mod groups;
mod open;

pub use groups::{CellChoice, Group, values_by_axis};
pub use open::Records;

use std::collections::HashMap;

use disklab_compare::conclusion::MoreSeeds;
use disklab_compare::matching::match_pairs;
use disklab_compare::recommendation::too_many;
use disklab_compare::{
    CellIndex, Comparison, DecisionRule, Error, MatchedTrials, Metric, MetricUse, Recommendation,
    RecommendationRule, SequentialDesign, Trust, Weight, answer, check_measured, compare,
    conclusion, default_axis, default_metrics, drives, index_records, interim_plan, match_trials,
    recommend, sensitivity,
};
use disklab_record::Record;
use disklab_record::manifest::UntilDecided;
use disklab_record::outcome::Cell;
use disklab_record::record::name_of;
use disklab_stats::Verdict;
use disklab_units::prose::in_shell;
use indexmap::IndexSet;
use itertools::Itertools;

use crate::merge::MergedRecord;

/// The options of a report.
#[derive(Debug, Default)]
pub struct ReportOptions {
    /// Metrics. The first is the matrix's. If empty, the usual ones are shown.
    pub metrics: Vec<Metric>,
    /// Axis and value of the baseline, in place of the suite's.
    pub baseline: Option<(String, String)>,
    /// Axes that are not part of the cells.
    pub ignored: Vec<String>,
    /// Weights of cells in the recommendation, if they are not 1.
    pub weights: Vec<Weight>,
    /// Trials to show in detail, by their ids.
    pub trials: Vec<String>,
    /// Command that makes this report again.
    pub command: String,
    /// Folder of each record, as a link in the report.
    pub links: Vec<String>,
    /// Version of disklab that makes the report.
    pub version: String,
    /// Title, in place of the suite's question.
    pub title: Option<String>,
}

/// Records, their contents, and the selection to show.
#[derive(Debug)]
pub struct ReportSource<'a> {
    pub wanted: &'a ReportOptions,
    /// Records, at least one. The others are compared with the first.
    pub records: &'a [Record],
    /// The records with their suites and cells.
    pub indexes: Vec<CellIndex<'a>>,
    /// Sentences about unreadable parts.
    pub lost: Vec<String>,
    /// Each record merged over its seeds.
    pub merged: Vec<MergedRecord<'a>>,
    /// Axis in which the choices of a group differ, or `record` if records are compared.
    pub compared: String,
    /// Choice that the others are compared with.
    pub baseline: Option<String>,
    /// The metrics, at least one.
    pub metrics: Vec<Metric>,
    pub rule: DecisionRule,
    pub until: Option<&'a UntilDecided>,
    /// Rule by which seeds were added, if results were seen before all seeds had run.
    pub design: Option<SequentialDesign>,
    /// Trials of each comparison.
    pub matched: Vec<MatchedTrials<'a>>,
    /// Comparisons in each metric.
    pub comparisons: Vec<Comparison>,
    /// Number of verdicts that are corrected together with one of the matrix.
    pub family: usize,
    /// Reason why there are no comparisons.
    pub no_comparisons: Option<String>,
    /// Recommended value of the compared axis, or `None` if no cell has two values with a result.
    pub recommendation: Option<Recommendation>,
    /// Reason why there is no recommendation, without a full stop, if choices are too many.
    pub no_recommendation: Option<String>,
    /// Groups of cells that differ in `compared` only, in the order of the records.
    pub groups: Vec<Group<'a>>,
    /// Axes that distinguish groups. The conditions name the others.
    pub axes: Vec<String>,
    choices: IndexSet<String>,
    by_choice: ByChoice,
    /// Comparisons of each pair of choices in each metric; all pairs of a metric are one family.
    pairs: Vec<Comparison>,
    pairs_by_choice: ByChoice,
}

/// Indices of comparisons, by their cells and treatments.
type ByChoice = HashMap<Cell, HashMap<String, Vec<usize>>>;

fn by_choice(all: &[Comparison]) -> ByChoice {
    let mut found = ByChoice::new();
    for (place, one) in all.iter().enumerate() {
        let of_cell = found.entry(one.cell.clone()).or_default();
        of_cell.entry(one.treatment.clone()).or_default().push(place);
    }
    found
}

/// Returns the comparisons of one choice of a group.
fn of_choice<'c>(
    all: &'c [Comparison],
    by_choice: &'c ByChoice,
    group: &Group,
    choice: &str,
) -> impl Iterator<Item = &'c Comparison> {
    let places = by_choice.get(&group.cell).and_then(|of_cell| of_cell.get(choice));
    places.into_iter().flatten().filter_map(|&place| all.get(place))
}

impl<'a> ReportSource<'a> {
    /// Makes the source. Returns an error if a requested metric or baseline does not exist.
    pub fn new(records: &'a Records, wanted: &'a ReportOptions) -> Result<Self, Error> {
        let Records { all, lost } = records;
        let axis = wanted.baseline.as_ref().map(|(axis, _)| axis.as_str());
        let indexes = index_records(all, axis, &wanted.ignored)?;
        let merged: Vec<MergedRecord> =
            all.iter().map(|record| MergedRecord::new(&CellIndex::new(record))).collect();
        let until = interim_plan(all);
        let metrics = if wanted.metrics.is_empty() {
            default_metrics(&indexes, MetricUse::Page)
        } else {
            wanted.metrics.clone()
        };
        let asked = !wanted.metrics.is_empty() || wanted.baseline.is_some();
        let (compared, matched, no_comparisons) =
            match match_trials(&indexes, wanted.baseline.clone(), Trust::Sound) {
                Ok((compared, matched)) => (Some(compared), matched, None),
                Err(error) if asked => return Err(error),
                Err(error) => (None, Vec::new(), Some(error.to_string())),
            };
        if !wanted.metrics.is_empty() {
            check_measured(&matched, &metrics)?;
        }
        let rule = until.map_or(Ok(DecisionRule::DEFAULT), DecisionRule::recorded)?;
        let design = SequentialDesign::among(all);
        let families = families(&metrics, until);
        let judged: Result<Vec<_>, _> = families
            .iter()
            .map(|family| compare(&matched, family, rule, design.as_ref()))
            .collect();
        let (comparisons, no_comparisons) = match judged {
            Ok(comparisons) => (comparisons.concat(), no_comparisons),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let compared = compared.or_else(|| default_axis(&indexes)).unwrap_or_default();
        let baseline = matched.first().map(|trials| trials.baseline.clone());
        let by = match (&wanted.metrics, until) {
            (named, _) if !named.is_empty() => named.clone(),
            (_, Some(_)) => metrics.clone(),
            (_, None) => default_metrics(&indexes, MetricUse::Verdicts),
        };
        let by_rule = RecommendationRule {
            decision: rule,
            interim: design.as_ref(),
            trust: Trust::Sound,
            weights: &wanted.weights,
        };
        let recommendation = match &no_comparisons {
            None => recommend(&indexes, &compared, baseline.as_deref(), &by, &by_rule)?,
            Some(_) => None,
        };
        let running: Vec<&Record> =
            all.iter().zip(&merged).filter(|(_, one)| one.goes_on).map(|(one, _)| one).collect();
        let no_recommendation = match (&no_comparisons, &recommendation) {
            (None, None) => too_many(&indexes, &compared, &by, Trust::Sound),
            _ => None,
        };
        let groups = groups::groups(&indexes, &compared, &running);
        let known = groups.iter().flat_map(|group| &group.cell.0).map(|(axis, _)| axis).unique();
        let differs =
            |axis: &&String| !groups.iter().map(|group| group.cell.value(axis)).all_equal();
        let distinguishing = known.filter(differs).cloned().collect();
        let values = groups.iter().flat_map(|group| &group.choices).map(|choice| &choice.value);
        let choices = values.cloned().collect();
        // Of too many choices, only the comparisons with the baseline are known.
        let every_two = match_pairs(&indexes, &compared, metrics.len(), Trust::Sound);
        let every_two = every_two.unwrap_or_default();
        let pairs = metrics.chunks(1).flat_map(|metric| {
            // Without enough trials for an estimate, there is no standing either.
            compare(&every_two, metric, rule, design.as_ref()).unwrap_or_default()
        });
        let of_first = comparisons.iter().filter(|one| metrics.first() == Some(&one.metric));
        let family = if until.is_some() { comparisons.len() } else { of_first.count() };
        let pairs: Vec<Comparison> = pairs.collect();
        Ok(Self {
            wanted,
            records: all,
            indexes,
            lost: lost.clone(),
            merged,
            compared,
            baseline,
            metrics,
            rule,
            until,
            design,
            matched,
            by_choice: by_choice(&comparisons),
            pairs_by_choice: by_choice(&pairs),
            comparisons,
            family,
            no_comparisons,
            recommendation,
            no_recommendation,
            groups,
            axes: distinguishing,
            choices,
            pairs,
        })
    }

    /// Returns all values of the compared axis, in the order of the groups. Their indices determine
    /// the colours.
    pub fn choices(&self) -> Vec<&str> {
        self.choices.iter().map(String::as_str).collect()
    }

    /// Returns the index of a choice among all choices, which determines its colour.
    pub fn series(&self, choice: &CellChoice) -> usize {
        self.choices.get_index_of(&choice.value).unwrap_or(0)
    }

    /// Returns the names of the records for a later command.
    pub fn names(&self) -> Vec<String> {
        self.records.iter().map(|record| name_of(record.folder())).collect()
    }

    /// Returns a sentence for each incomplete record.
    pub fn unfinished(&self) -> Vec<String> {
        let several = self.records.len() > 1;
        let sentence = |report: &MergedRecord| {
            let MergedRecord { record, trials, .. } = report;
            let (all, missing) = (trials.all(), trials.missing());
            let run = if several { format!("The run {record}") } else { "This run".to_owned() };
            let rest = if report.goes_on {
                "It was still running when this report was made; verdicts are of the trials until \
                 then"
                    .to_owned()
            } else {
                format!(
                    "It was not running when this report was made; `disklab run --resume {}` \
                     continues it",
                    in_shell(record)
                )
            };
            let ended = all - missing;
            (missing > 0).then(|| {
                format!("{run} is unfinished: {ended} of {all} trials have ended. {rest}.")
            })
        };
        self.merged.iter().filter_map(sentence).collect()
    }

    /// Returns the last part of the first record's path.
    pub fn short_name(&self) -> String {
        let folder = self.records.first().and_then(|record| record.folder().file_name());
        folder.map_or_else(|| "report".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Returns the verdicts of the first metric as sentences.
    pub fn sentences(&self) -> Vec<String> {
        conclusion::sentences(&self.of_first_metric().cloned().collect::<Vec<_>>())
    }

    /// Describes the verdicts on other disks: at the ends of estimated parameters, and over several
    /// drives.
    pub fn on_other_disks(&self) -> Vec<String> {
        let at_ends = sensitivity::sentences(&self.comparisons);
        at_ends.into_iter().chain(drives::sentences(&self.comparisons)).collect()
    }

    /// Says how many seeds would decide the undecided cells of the first metric, and how to add
    /// them.
    pub fn seeds_to_decide(&self) -> Option<String> {
        self.more_seeds().map(|more| more.to_string())
    }

    /// Returns the seeds that would decide the undecided cells of the first metric.
    pub fn more_seeds(&self) -> Option<MoreSeeds> {
        let own: Vec<_> = self.of_first_metric().cloned().collect();
        let more = conclusion::more_seeds(&own, &self.indexes)?;
        Some(more.beside(self.recommendation.as_ref().and_then(Recommendation::seeds_added)))
    }

    /// Names the choices that take one of two values by seed in the first metric.
    pub fn two_modes(&self) -> Option<String> {
        conclusion::two_modes(&self.of_first_metric().cloned().collect::<Vec<_>>())
    }

    /// Returns a choice's number beside its change. It is that of its comparison, or of the
    /// comparisons of which it is the baseline, or else the median over its seeds.
    pub fn number(&self, group: &Group, choice: &CellChoice, metric: &Metric) -> Option<f64> {
        let Some((comparison, is_treatment)) = self.shown_beside(group, choice, metric) else {
            return choice.spread(metric).map(|spread| spread.median);
        };
        let (treatment, baseline) = comparison.numbers();
        if is_treatment { treatment } else { baseline }
    }

    /// Returns the same number as text, as far as it is known: `> 60 s`. If a choice lacks seeds,
    /// the baseline's number over its other seeds is added: `776 (of 501)`.
    pub fn number_in_words(
        &self,
        group: &Group,
        choice: &CellChoice,
        metric: &Metric,
    ) -> Option<String> {
        let Some((comparison, is_treatment)) = self.shown_beside(group, choice, metric) else {
            let median = choice.spread(metric)?.median;
            return Some(choice.known(metric, median, &metric.unit(choice.outcomes())));
        };
        let (treatment, baseline) = comparison.numbers_in_words();
        if !is_treatment {
            return Some(baseline);
        }
        let shown = self.first_of(group, metric).map(|first| first.numbers_in_words().1);
        Some(if shown.as_ref() == Some(&baseline) {
            treatment
        } else {
            format!("{treatment} (of {baseline})")
        })
    }

    /// Returns the comparison whose number a choice shows, and whether the choice is its treatment.
    fn shown_beside(
        &self,
        group: &Group,
        choice: &CellChoice,
        metric: &Metric,
    ) -> Option<(&Comparison, bool)> {
        if let Some(own) = self.comparison(group, &choice.value, metric) {
            return own.change.is_some().then_some((own, true));
        }
        let is_baseline = self.baseline.as_deref() == Some(&choice.value);
        self.first_of(group, metric).filter(|_| is_baseline).map(|first| (first, false))
    }

    /// Returns the first comparison of a group that compares anything.
    fn first_of(&self, group: &Group, metric: &Metric) -> Option<&Comparison> {
        let mut choices = group.choices.iter();
        choices.find_map(|choice| {
            let comparison = self.comparison(group, &choice.value, metric)?;
            comparison.change.is_some().then_some(comparison)
        })
    }

    /// Returns the comparisons of the matrix.
    pub fn of_first_metric(&self) -> impl Iterator<Item = &Comparison> {
        let first = self.metrics.first();
        self.comparisons.iter().filter(move |comparison| Some(&comparison.metric) == first)
    }

    /// Returns the verdict on one choice of a group.
    pub fn comparison(&self, group: &Group, choice: &str, metric: &Metric) -> Option<&Comparison> {
        of_choice(&self.comparisons, &self.by_choice, group, choice)
            .find(|comparison| comparison.metric == *metric)
    }

    /// Returns the verdict on one choice of a group, compared with another one.
    pub fn verdict_between(
        &self,
        group: &Group,
        one: &str,
        other: &str,
        metric: &Metric,
    ) -> Option<Verdict> {
        let verdict = |treatment, baseline| {
            let of_pairs = of_choice(&self.pairs, &self.pairs_by_choice, group, treatment);
            let mut all =
                of_choice(&self.comparisons, &self.by_choice, group, treatment).chain(of_pairs);
            let found = all.find(|found| found.baseline == baseline && found.metric == *metric)?;
            found.change.map(|_| found.verdict)
        };
        verdict(one, other).or_else(|| {
            Some(match verdict(other, one)? {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                alike => alike,
            })
        })
    }

    /// Returns the values in which a group differs from others, as text.
    pub fn apart(&self, group: &Group) -> String {
        let named = |axis: &str| Some(answer::named(axis, group.cell.value(axis)?));
        let own = self.axes.iter().filter_map(|axis| named(axis)).join(", ");
        if own.is_empty() { group.title() } else { own }
    }

    /// Returns the index of the group to begin with: the one with the greatest certain change, or
    /// else the greatest change. Without changes, it is the first group with a result.
    pub fn striking(&self) -> usize {
        let rank = |comparison: &Comparison| {
            let size = answer::size(comparison.change?.percent);
            Some((comparison.verdict.is_difference(), if size.is_finite() { size } else { 0.0 }))
        };
        let ranked =
            self.of_first_metric().filter_map(|comparison| Some((rank(comparison)?, comparison)));
        let greatest = ranked.max_by(|((certain, size), _), ((other, another), _)| {
            certain.cmp(other).then(size.total_cmp(another))
        });
        let place = |comparison: &Comparison| {
            self.groups.iter().position(|group| group.cell == comparison.cell)
        };
        let first = self.metrics.first();
        let has_failed = |group: &Group| {
            group.choices.iter().any(|choice| first.is_some_and(|metric| choice.has_failed(metric)))
        };
        let with_result =
            |group: &Group| group.choices.iter().any(|choice| choice.results().next().is_some());
        greatest
            .and_then(|(_, comparison)| place(comparison))
            .or_else(|| self.groups.iter().position(has_failed))
            .or_else(|| self.groups.iter().position(with_result))
            .unwrap_or(0)
    }
}

/// Returns the metrics whose verdicts alpha limits together: each alone, so that more numbers on a
/// page change no verdict. If a run decided by several metrics, these are one family.
pub fn families<'a>(metrics: &'a [Metric], until: Option<&UntilDecided>) -> Vec<&'a [Metric]> {
    if until.is_some() { vec![metrics] } else { metrics.chunks(1).collect() }
}

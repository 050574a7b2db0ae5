//! Effects, intervals and verdicts of contests, with wrong verdicts limited over all of them together.

use disklab_stats::{Better, Correction, Error, Rule, Verdict, percent};
use disklab_store::outcome::Cell;
use serde::{Serialize, Serializer};

use super::metric::Metric;
use super::pairs::Contest;

/// How verdicts come about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Terms {
    pub alpha: f64,
    /// The least change of interest, as a share.
    pub smallest_effect: f64,
    pub limit: Limit,
}

/// What alpha limits, where there are many cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Of the verdicts better and worse, this share is wrong on average at most (Benjamini and Hochberg).
    Share,
    /// The chance that any of them is wrong (Holm); wants more seeds.
    Any,
}

impl Limit {
    const fn correction(self) -> Correction {
        match self {
            Self::Share => Correction::BenjaminiHochberg,
            Self::Any => Correction::Holm,
        }
    }
}

/// A contest in one metric, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    pub cell: Cell,
    pub metric: Metric,
    pub treatment: String,
    pub baseline: String,
    pub pairs: usize,
    /// Of the pairs; IOPS, bytes a second, or ns.
    pub treatment_median: Option<f64>,
    pub baseline_median: Option<f64>,
    /// The change from baseline to treatment in per cent, with its interval at 1 - alpha for this cell alone.
    pub change: Option<Change>,
    #[serde(serialize_with = "in_a_word")]
    pub verdict: Verdict,
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

/// Judges each contest in each metric.
pub fn judge(contests: &[Contest], metrics: &[Metric], terms: Terms) -> Result<Vec<Judgement>, Error> {
    let mut judgements = Vec::new();
    // One family, whichever way is good: that only decides which word the sign of an effect is.
    let mut compared = Vec::new();
    for contest in contests {
        for &metric in metrics {
            let rule = Rule::new(terms.alpha, terms.smallest_effect, metric.better())?;
            let (judgement, comparison) = one(contest, metric, rule);
            if let Some(comparison) = comparison {
                compared.push((judgements.len(), rule, comparison));
            }
            judgements.push(judgement);
        }
    }
    let comparisons: Vec<_> = compared.iter().map(|(_, _, comparison)| *comparison).collect();
    for better in [Better::Higher, Better::Lower] {
        let rule = Rule::new(terms.alpha, terms.smallest_effect, better)?;
        let verdicts = rule.family(&comparisons, terms.limit.correction())?;
        for ((index, own, _), verdict) in compared.iter().zip(verdicts) {
            if *own == rule {
                judgements[*index].verdict = verdict;
            }
        }
    }
    Ok(judgements)
}

fn one(contest: &Contest, metric: Metric, rule: Rule) -> (Judgement, Option<disklab_stats::Comparison>) {
    let mut remarks = contest.left_out.clone();
    let values =
        contest.pairs.iter().filter_map(|pair| Some((metric.of(pair.treatment)?, metric.of(pair.baseline)?)));
    let (treatment, baseline): (Vec<f64>, Vec<f64>) = values.unzip();
    if treatment.len() < contest.pairs.len() {
        remarks.push(format!(
            "{} of {} pairs have no {}",
            contest.pairs.len() - treatment.len(),
            contest.pairs.len(),
            metric.name()
        ));
    }
    let comparison = match rule.paired(&treatment, &baseline) {
        Ok(comparison) => Some(comparison),
        Err(error) => {
            remarks.push(error.to_string());
            None
        }
    };
    let change = comparison.map(|comparison| Change {
        percent: percent(comparison.log_ratio.value),
        low: percent(comparison.log_ratio.interval.low),
        high: percent(comparison.log_ratio.interval.high),
    });
    let judgement = Judgement {
        cell: contest.cell.clone(),
        metric,
        treatment: contest.treatment.clone(),
        baseline: contest.baseline.clone(),
        pairs: treatment.len(),
        treatment_median: disklab_collect::Spread::of(treatment).map(|spread| spread.median),
        baseline_median: disklab_collect::Spread::of(baseline).map(|spread| spread.median),
        change,
        verdict: Verdict::Undecided,
        remarks,
    };
    (judgement, comparison)
}

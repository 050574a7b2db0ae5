//! The candidates of one cell in one metric, ranked by their distance from the best.

use std::str::FromStr;

use disklab_record::outcome::Cell;
use disklab_stats::{Better, Verdict};
use serde::Serialize;

use crate::answer::RelativeChange;
use crate::comparison::{Comparison, in_a_word};
use crate::metric::Metric;

/// Word for the metric in a weight's selector, in place of an axis.
const METRIC: &str = "metric";
/// Largest ratio by which a candidate counts as behind, since a ratio to zero would be infinite.
const LARGEST_RATIO: f64 = 1e6;

/// A weight of the cells that a selector names.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// Axes and values that a cell must have; or `metric` and the name of one.
    selector: Vec<(String, String)>,
    number: f64,
}

impl FromStr for Weight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "expected AXIS=VALUE,...=NUMBER, such as array=hdd-raid1=3";
        let (selector, number) = text.rsplit_once('=').ok_or(FORM)?;
        let pair = |text: &str| {
            let (axis, value) = text.split_once('=').ok_or(FORM)?;
            Ok::<_, String>((axis.trim().to_owned(), value.trim().to_owned()))
        };
        let selector = selector.split(',').map(pair).collect::<Result<_, _>>()?;
        let number: f64 = number.trim().parse().map_err(|_| FORM)?;
        if !number.is_finite() || number < 0.0 {
            return Err(format!("weight {number}: out of range (0 or more)"));
        }
        Ok(Self { selector, number })
    }
}

impl Weight {
    /// Returns true if the selector names this cell and metric.
    pub fn selects(&self, cell: &Cell, metric: &Metric) -> bool {
        self.selector.iter().all(|(axis, value)| match axis.as_str() {
            METRIC => Metric::of_name(value) == *metric || metric.name() == value,
            axis => cell.value(axis) == Some(value),
        })
    }

    /// Returns the selector as it is typed.
    pub fn selector(&self) -> String {
        let pairs = self.selector.iter().map(|(axis, value)| format!("{axis}={value}"));
        pairs.collect::<Vec<_>>().join(",")
    }

    pub fn number(&self) -> f64 {
        self.number
    }
}

/// A cell in one metric, with all of its candidates that have a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedCell {
    pub cell: Cell,
    pub metric: Metric,
    pub weight: f64,
    pub candidates: Vec<RankedCandidate>,
    /// Candidates without a result here.
    pub without_result: Vec<String>,
}

/// A candidate compared with the best one of its cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedCandidate {
    pub candidate: String,
    pub rank: Rank,
    /// Candidate that this one is farthest behind, or `None` for the best.
    pub behind: Option<String>,
    /// The change from that candidate to this one.
    pub change: Option<RelativeChange>,
    /// Verdict on this candidate against that one; for the best, the least certain of all its
    /// verdicts.
    #[serde(serialize_with = "in_a_word")]
    pub verdict: Verdict,
    /// Whether verdicts and rank agree.
    pub is_certain: bool,
    /// The log-ratio by which it is behind, or 0 for the best.
    #[serde(skip)]
    pub regret: f64,
    /// Largest number of seeds that would decide one of its undecided verdicts.
    #[serde(skip)]
    pub seeds_to_decide: Option<usize>,
}

/// The rank of a candidate in a cell, by its estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rank {
    /// No other candidate is before it.
    Best,
    /// The candidate is behind the best by less than the smallest effect of interest.
    AsGood,
    /// The candidate is behind the best by more.
    Behind,
}

impl Rank {
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Best | Self::AsGood)
    }
}

/// A candidate as compared with another one.
struct Opponent<'a> {
    name: &'a str,
    /// The log-ratio by which the opponent is better; below 0 if it is worse.
    ahead: f64,
    /// The change from the opponent to the candidate.
    change: Option<RelativeChange>,
    /// The verdict on the candidate.
    verdict: Verdict,
    seeds_to_decide: Option<usize>,
}

/// Ranks the candidates of a cell by the comparisons of every two of them. `margin` is the smallest
/// effect of interest as a log-ratio.
pub fn ranked(candidates: &[&str], pairs: &[&Comparison], margin: f64) -> Vec<RankedCandidate> {
    candidates.iter().map(|candidate| rank(candidate, pairs, margin)).collect()
}

fn rank(candidate: &str, pairs: &[&Comparison], margin: f64) -> RankedCandidate {
    let opponents: Vec<Opponent> =
        pairs.iter().filter_map(|pair| opponent(pair, candidate)).collect();
    let first = opponents.iter().max_by(|one, other| one.ahead.total_cmp(&other.ahead));
    let ahead = first.filter(|first| first.ahead > 0.0);
    let regret = ahead.map_or(0.0, |first| first.ahead);
    let rank = match regret {
        0.0 => Rank::Best,
        _ if regret < margin => Rank::AsGood,
        _ => Rank::Behind,
    };
    let is_good = |verdict| matches!(verdict, Verdict::Better | Verdict::Same);
    let is_open = |opponent: &&Opponent| opponent.verdict == Verdict::Undecided;
    let verdict = match (ahead, opponents.iter().find(is_open)) {
        (Some(first), _) => first.verdict,
        (None, Some(_)) => Verdict::Undecided,
        (None, None) => opponents.first().map_or(Verdict::Undecided, |first| first.verdict),
    };
    let is_certain = match rank {
        Rank::Behind => verdict == Verdict::Worse,
        Rank::Best | Rank::AsGood => {
            !opponents.is_empty() && opponents.iter().all(|opponent| is_good(opponent.verdict))
        }
    };
    let open = opponents.iter().filter(is_open);
    RankedCandidate {
        candidate: candidate.to_owned(),
        rank,
        behind: ahead.map(|first| first.name.to_owned()),
        change: ahead.and_then(|first| first.change),
        verdict,
        is_certain,
        regret,
        seeds_to_decide: open.filter_map(|opponent| opponent.seeds_to_decide).max(),
    }
}

/// Returns the other side of a comparison with this candidate, or `None` if nothing is known about
/// the two.
fn opponent<'a>(pair: &'a Comparison, candidate: &str) -> Option<Opponent<'a>> {
    let known = pair.change.or_else(|| of_medians(pair))?;
    let (name, change, verdict) = if pair.treatment == candidate {
        (pair.baseline.as_str(), known, pair.verdict)
    } else if pair.baseline == candidate {
        (pair.treatment.as_str(), inverse(known), opposite(pair.verdict))
    } else {
        return None;
    };
    let most = LARGEST_RATIO.ln();
    let log_ratio = (change.percent / 100.0).ln_1p().clamp(-most, most);
    let ahead = match pair.better {
        Better::Higher => -log_ratio,
        Better::Lower => log_ratio,
    };
    let change = Some(change);
    Some(Opponent { name, ahead, change, verdict, seeds_to_decide: pair.seeds_to_decide })
}

/// Returns the change between the medians if trials are too few for an estimate. Its interval is
/// not known.
fn of_medians(pair: &Comparison) -> Option<RelativeChange> {
    let ratio = pair.treatment_median? / pair.baseline_median?;
    let percent = (ratio - 1.0) * 100.0;
    let change = RelativeChange { percent, low: -100.0, high: f64::INFINITY };
    (!percent.is_nan()).then_some(change)
}

/// Returns the change in the reverse direction.
fn inverse(change: RelativeChange) -> RelativeChange {
    let inverse = |percent: f64| (1.0 / (1.0 + percent / 100.0) - 1.0) * 100.0;
    let RelativeChange { percent, low, high } = change;
    RelativeChange { percent: inverse(percent), low: inverse(high), high: inverse(low) }
}

const fn opposite(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Better => Verdict::Worse,
        Verdict::Worse => Verdict::Better,
        Verdict::Same | Verdict::Undecided => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_names_cells_and_a_metric() {
        let weight: Weight = "array=hdd,scheduler=bfq:low_latency=0=2.5".parse().expect("a weight");
        assert!((weight.number() - 2.5).abs() < 1e-12);
        let cell = |scheduler: &str| {
            Cell(vec![
                ("array".to_owned(), "hdd".to_owned()),
                ("scheduler".to_owned(), scheduler.to_owned()),
            ])
        };
        assert!(weight.selects(&cell("bfq:low_latency=0"), &Metric::Iops));
        assert!(!weight.selects(&cell("bfq"), &Metric::Iops));
        let of_metric: Weight = "metric=mean=0".parse().expect("a weight");
        assert!(of_metric.selects(&cell("bfq"), &Metric::Mean));
        assert!(!of_metric.selects(&cell("bfq"), &Metric::Iops));
        for wrong in ["", "3", "array=3", "array=hdd=x", "array=hdd=-1", "array=hdd=inf"] {
            assert!(wrong.parse::<Weight>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_change_the_other_way_round_is_of_equal_size() {
        let there = RelativeChange { percent: 100.0, low: 0.0, high: f64::INFINITY };
        let back = inverse(there);
        assert_eq!((back.percent, back.low, back.high), (-50.0, -100.0, 0.0));
        assert_eq!(inverse(back), there);
    }
}

//! Scores of candidates, compared with the other policies and the oracle.

use std::collections::BTreeMap;

use disklab_record::outcome::Cell;
use disklab_stats::Better;
use disklab_units::average::{mean, median};
use indexmap::IndexMap;
use serde::Serialize;

use crate::oracle::is_oracle;

/// The values of one policy in one cell, by seed.
type BySeed = BTreeMap<u32, f64>;

/// The measured values, by cell without its policy, then by policy.
#[derive(Debug, Default)]
pub struct Measurements(IndexMap<Cell, IndexMap<String, BySeed>>);

/// The score of a candidate over all cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// Number of cells with a result of the candidate and of another policy. Others do not count.
    pub cells: usize,
    /// Geometric mean over the cells of the ratio to the best other policy. More than 1 is better
    /// for every metric.
    pub mean: f64,
    /// The smallest of these ratios.
    pub worst: f64,
    /// Values of the cell with the smallest ratio.
    pub worst_cell: String,
    /// Geometric mean of the ratio to the better oracle.
    pub of_oracle: Option<f64>,
}

impl Measurements {
    pub fn add(&mut self, cell: Cell, policy: &str, seed: u32, value: f64) {
        let policies = self.0.entry(cell).or_default();
        policies.entry(policy.to_owned()).or_default().insert(seed, value);
    }

    /// Returns the score of a policy compared with `others`, over the seeds that the policy ran
    /// with. `bounds` has the results of oracles. Returns None if nothing can be compared.
    pub fn score(
        &self,
        policy: &str,
        others: &[String],
        bounds: &Self,
        better: Better,
    ) -> Option<Score> {
        let (mut ratios, mut of_oracles) = (Vec::new(), Vec::new());
        for (cell, policies) in &self.0 {
            let Some(own) = policies.get(policy) else { continue };
            let value = median(&own.values().copied().collect::<Vec<_>>());
            let others = others.iter().filter_map(|other| policies.get(other));
            if let Some(best) = best(others, own, better) {
                ratios.push((ratio(value, best, better), cell));
            }
            let oracles = bounds.0.get(cell).into_iter().flatten();
            let oracles = oracles.filter(|(policy, _)| is_oracle(policy)).map(|(_, all)| all);
            of_oracles.extend(best(oracles, own, better).map(|best| ratio(value, best, better)));
        }
        let (worst, cell) =
            ratios.iter().copied().min_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let values: Vec<&str> = cell.0.iter().map(|(_, value)| value.as_str()).collect();
        Some(Score {
            cells: ratios.len(),
            mean: geometric_mean(ratios.iter().map(|(ratio, _)| *ratio)),
            worst,
            worst_cell: values.join(", "),
            of_oracle: (!of_oracles.is_empty()).then(|| geometric_mean(of_oracles.into_iter())),
        })
    }
}

impl Score {
    /// Returns true if the other is at least as good in mean and worst cell, and better in one of
    /// them.
    fn is_below(&self, other: &Self) -> bool {
        self.mean <= other.mean
            && self.worst <= other.worst
            && (self.mean, self.worst) != (other.mean, other.worst)
    }
}

/// Sorts candidates by the number of others that are better in both mean and worst cell, then by
/// the mean. Candidates for which that number is 0 form the front. Returns the size of the front.
pub fn rank<T>(candidates: &mut Vec<T>, score: impl Fn(&T) -> &Score) -> usize {
    let better = |candidate: &T| {
        candidates.iter().filter(|other| score(candidate).is_below(score(other))).count()
    };
    let counts: Vec<usize> = candidates.iter().map(better).collect();
    let mut ranked: Vec<(usize, T)> = counts.into_iter().zip(candidates.drain(..)).collect();
    ranked.sort_by(|(one_count, one), (other_count, other)| {
        let by_mean = score(other).mean.total_cmp(&score(one).mean);
        one_count.cmp(other_count).then(by_mean)
    });
    let front = ranked.iter().filter(|(count, _)| *count == 0).count();
    candidates.extend(ranked.into_iter().map(|(_, candidate)| candidate));
    front
}

/// Returns the best median of several policies over the seeds of another policy.
fn best<'a>(all: impl Iterator<Item = &'a BySeed>, seeds: &BySeed, better: Better) -> Option<f64> {
    let medians = all.filter_map(|values| {
        let values: Vec<f64> = seeds.keys().filter_map(|seed| values.get(seed).copied()).collect();
        (!values.is_empty()).then(|| median(&values))
    });
    medians.reduce(|one, other| match better {
        Better::Higher => one.max(other),
        Better::Lower => one.min(other),
    })
}

fn ratio(value: f64, best: f64, better: Better) -> f64 {
    match better {
        Better::Higher => value / best,
        Better::Lower => best / value,
    }
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    mean(&ratios.map(f64::ln).collect::<Vec<_>>()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(values: &[(&str, &str, u32, f64)]) -> Measurements {
        let mut all = Measurements::default();
        for &(array, policy, seed, value) in values {
            all.add(disklab_testkit::cell(&[("array", array)]), policy, seed, value);
        }
        all
    }

    #[test]
    fn a_score_is_against_the_best_of_the_others_by_the_same_seeds() {
        let all = measured(&[
            ("a", "mine", 1, 120.0),
            ("a", "pid", 1, 60.0),
            ("a", "pid", 2, 900.0),
            ("a", "queue", 1, 100.0),
            ("a", "oracle", 1, 150.0),
            ("a", "oracle:all", 1, 160.0),
            ("b", "mine", 1, 60.0),
            ("b", "pid", 1, 75.0),
            ("c", "pid", 1, 75.0),
        ]);
        let others = ["pid".to_owned(), "queue".to_owned()];
        let score = all.score("mine", &others, &all, Better::Higher).expect("a score");
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(near(score.mean, (1.2_f64 * 0.8).sqrt()) && near(score.worst, 0.8), "{score:?}");
        assert_eq!((score.cells, &*score.worst_cell), (2, "b"), "c has nothing of it");
        assert!(near(score.of_oracle.expect("a bound"), 0.75), "{score:?}");
        let score = all.score("mine", &others, &all, Better::Lower).expect("a score");
        assert!(near(score.worst, 0.5), "60 of pid is better than 120: {score:?}");
        assert_eq!(all.score("other", &others, &all, Better::Higher), None);
    }

    #[test]
    fn the_front_comes_first() {
        let score = |mean, worst| {
            let worst_cell = String::new();
            Score { cells: 1, mean, worst, worst_cell, of_oracle: None }
        };
        let mut all = vec![
            score(1.0, 0.9),
            score(1.1, 0.8),
            score(0.9, 0.8),
            score(1.2, 0.7),
            score(1.0, 0.7),
        ];
        assert_eq!(rank(&mut all, |score| score), 3);
        let order: Vec<(f64, f64)> = all.iter().map(|score| (score.mean, score.worst)).collect();
        assert_eq!(order, [(1.2, 0.7), (1.1, 0.8), (1.0, 0.9), (0.9, 0.8), (1.0, 0.7)]);
    }
}

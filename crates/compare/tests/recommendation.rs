//! Tests the recommendation on synthetic trials whose best candidate is known: the choice, its
//! description, and the rate of wrong choices. `cargo test -p disklab-compare --test recommendation
//! -- --nocapture` prints the rates.

use disklab_compare::recommendation::{Candidates, judge};
use disklab_compare::{
    DecisionRule, Error, MatchedTrials, Metric, Recommendation, RecommendationRule, Trust, Weight,
};
use disklab_record::Outcome;
use disklab_record::outcome::Cell;
use disklab_results::measure::Measure;
use disklab_units::{Random, Seed};

const NAMES: [&str; 4] = ["pid", "queue", "round-robin", "devid"];
const METRIC: &str = "ops";

fn outcome(seed: usize, value: f64) -> Outcome {
    Outcome {
        measures: [(METRIC.to_owned(), Measure::rate(value, "1/s"))].into(),
        ..disklab_testkit::outcome(format!("x+s{seed}"), &[], seed as u32)
    }
}

/// Values of each candidate in each cell, seed by seed; an empty list is not a result.
type Values<'v> = [(&'v str, Vec<Vec<f64>>)];

fn recommended(values: &Values, weights: &[Weight]) -> Option<Recommendation> {
    judged(values, weights, DecisionRule::DEFAULT).expect("a judgement")
}

fn judged(
    values: &Values,
    weights: &[Weight],
    decision: DecisionRule,
) -> Result<Option<Recommendation>, Error> {
    let outcomes: Vec<Vec<Vec<Outcome>>> = values
        .iter()
        .map(|(_, candidates)| {
            let of_one = |own: &Vec<f64>| {
                own.iter().enumerate().map(|(seed, value)| outcome(seed + 1, *value)).collect()
            };
            candidates.iter().map(of_one).collect()
        })
        .collect();
    let mut pairs = Vec::new();
    let mut trials: Vec<(Cell, Candidates)> = Vec::new();
    for ((array, _), own) in values.iter().zip(&outcomes) {
        let cell = disklab_testkit::cell(&[("array", array)]);
        for (second, treatments) in own.iter().enumerate() {
            for (first, baselines) in own[..second].iter().enumerate() {
                pairs.push(MatchedTrials {
                    cell: cell.clone(),
                    treatment: NAMES[second].to_owned(),
                    baseline: NAMES[first].to_owned(),
                    paired: true,
                    treatments: treatments.iter().take(baselines.len()).collect(),
                    baselines: baselines.iter().take(treatments.len()).collect(),
                    left_out: Vec::new(),
                    repeated: Vec::new(),
                });
            }
        }
        let by_name = NAMES.iter().zip(own).map(|(name, own)| ((*name).to_owned(), own));
        trials.push((cell, by_name.map(|(name, own)| (name, own.iter().collect())).collect()));
    }
    let rule = RecommendationRule { decision, interim: None, trust: Trust::Sound, weights };
    let metrics = [Metric::of_name(METRIC)];
    judge(&trials, &pairs, "policy", Some("pid"), &metrics, &rule)
}

/// Returns eight trials around a level, with a spread that decides.
fn about(level: f64) -> Vec<f64> {
    (0..8).map(|seed| level * (1.0 + 0.001 * f64::from((seed * 5) % 8))).collect()
}

fn cells<'v>(levels: &[(&'v str, [f64; 3])]) -> Vec<(&'v str, Vec<Vec<f64>>)> {
    levels.iter().map(|(array, levels)| (*array, levels.map(about).to_vec())).collect()
}

#[test]
fn the_least_regret_is_recommended_with_its_worst_case() {
    let values = cells(&[
        ("one", [100.0, 150.0, 120.0]),
        ("two", [100.0, 150.0, 150.5]),
        ("three", [100.0, 97.0, 90.0]),
    ]);
    let found = recommended(&values, &[]).expect("candidates");
    assert_eq!(found.choice.choice.as_deref(), Some("queue"));
    let first = &found.choice.regrets[0];
    assert_eq!((first.good, first.certainly_good, first.behind), (2, 2, 1));
    let cost = found.cost.expect("a worst case");
    assert_eq!((cost.cell.value("array"), cost.behind.as_str()), (Some("three"), "pid"));
    let percent = cost.change.expect("a change").percent;
    assert!((percent + 3.0).abs() < 0.2, "{percent}");
    assert!(found.is_certain && found.seeds_to_settle.is_none());
    let parts: Vec<_> = found.choice.parts.iter().map(|part| part.choice.as_deref()).collect();
    assert_eq!(parts, [Some("queue"), Some("queue"), Some("pid")]);
}

#[test]
fn no_choice_is_best_where_each_is_far_behind_somewhere() {
    let values = cells(&[("one", [100.0, 150.0, 100.0]), ("two", [150.0, 100.0, 100.0])]);
    let found = recommended(&values, &[]).expect("candidates");
    assert_eq!(found.choice.choice, None);
    let parts: Vec<_> = found.choice.parts.iter().map(|part| part.choice.as_deref()).collect();
    assert_eq!(parts, [Some("queue"), Some("pid")]);
    // A weight decides which cell may lose, and 0 leaves the cell out.
    let weight = |text: &str| [text.parse::<Weight>().expect("a weight")];
    let heavy = recommended(&values, &weight("array=one=5")).expect("candidates");
    assert_eq!((heavy.choice.choice, heavy.choice.least_regret.as_deref()), (None, Some("queue")));
    let alone = recommended(&values, &weight("array=two=0")).expect("candidates");
    assert_eq!(alone.choice.choice.as_deref(), Some("queue"));
}

#[test]
fn ten_percent_behind_is_ten_percent_fewer() {
    let choice = |level| {
        let values = cells(&[("one", [100.0, 150.0, 60.0]), ("two", [150.0, level, 60.0])]);
        recommended(&values, &[]).expect("candidates").choice.choice
    };
    assert_eq!(choice(150.0 * 0.905).as_deref(), Some("queue"));
    assert_eq!(choice(150.0 * 0.895), None);
}

/// A choice that is behind by less than the smallest effect of interest counts as not behind, for
/// any size of that effect.
#[test]
fn a_large_smallest_effect_is_no_reason_against_a_choice() {
    let values = cells(&[("hdd", [100.0, 70.0, 70.0]), ("ssd", [70.0, 100.0, 70.0])]);
    assert_eq!(recommended(&values, &[]).expect("cells").choice.choice, None);
    let decision = DecisionRule { smallest_effect: 0.5, ..DecisionRule::DEFAULT };
    let found = judged(&values, &[], decision).expect("a judgement").expect("cells");
    assert_eq!(found.choice.choice.as_deref(), Some("pid"), "{found:?}");
}

#[test]
fn weights_of_nothing_are_refused() {
    let values = cells(&[("hdd", [100.0, 120.0, 90.0])]);
    let nothing: Weight = "array=hdd=0".parse().expect("a weight");
    let refused = judged(&values, &[nothing], DecisionRule::DEFAULT).expect_err("nothing counts");
    assert!(refused.to_string().contains("every cell has a weight of 0"), "{refused}");
}

#[test]
fn the_baseline_stays_where_nothing_is_gained() {
    let values = cells(&[("one", [100.0, 100.5, 101.0]), ("two", [100.0, 101.0, 100.2])]);
    let found = recommended(&values, &[]).expect("candidates");
    assert!(found.choice.makes_no_difference);
    assert_eq!(found.choice.choice.as_deref(), Some("pid"));
}

#[test]
fn a_candidate_without_results_is_named_and_not_recommended() {
    let mut values = cells(&[("one", [100.0, 124.0, 120.0]), ("two", [100.0, 124.0, 120.0])]);
    values[1].1[1].clear();
    let found = recommended(&values, &[]).expect("candidates");
    assert_eq!(found.choice.choice.as_deref(), Some("round-robin"));
    let queue = found.choice.regrets.last().expect("regrets");
    assert_eq!(queue.candidate, "queue");
    assert_eq!(queue.without_result, [disklab_testkit::cell(&[("array", "two")])]);
    // A single candidate gives no choice.
    for (_, candidates) in &mut values {
        candidates.truncate(1);
    }
    assert!(recommended(&values, &[]).is_none());
}

#[test]
fn one_seed_is_a_guess() {
    let mut values = cells(&[("one", [100.0, 150.0, 120.0]), ("two", [100.0, 150.0, 120.0])]);
    values.iter_mut().flat_map(|(_, own)| own).for_each(|own| own.truncate(1));
    let found = recommended(&values, &[]).expect("candidates");
    assert_eq!(found.choice.choice.as_deref(), Some("queue"));
    assert!(!found.is_certain && found.fewest_trials == 1);
    assert!(found.seeds_to_settle.is_some_and(|seeds| seeds >= 3), "{found:?}");
}

/// Counts of the outcomes of many recommendations.
#[derive(Debug, Default)]
struct Rates {
    runs: u32,
    /// Number of choices of a wrong candidate that is behind the best by the smallest effect.
    wrong: u32,
    /// Number of these that were called certain.
    certainly_wrong: u32,
    certain: u32,
    /// Number of recommendations in which no choice was best.
    none: u32,
    /// Number of recommendations in which a candidate was wrongly called certainly behind.
    false_behind: u32,
}

impl Rates {
    fn share(&self, number: u32) -> f64 {
        f64::from(number) / f64::from(self.runs)
    }
}

/// Simulates recommendations from nine cells of four candidates, each with a true level. Trials of
/// a candidate spread by `spread`, in addition to the component that trials of one seed share.
fn simulate(levels: [f64; 4], seeds: usize, spread: f64, runs: u32) -> Rates {
    const ARRAYS: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let best = levels.iter().copied().fold(0.0, f64::max);
    let mut random = Random::new(Seed(seeds as u64).derive(&format!("{levels:?}")));
    let mut rates = Rates { runs, ..Rates::default() };
    for _ in 0..runs {
        let values = ARRAYS.map(|array| {
            let shared: Vec<f64> = (0..seeds).map(|_| 0.1 * normal(&mut random)).collect();
            let own = levels.map(|level| {
                shared.iter().map(|at| level * (at + spread * normal(&mut random)).exp()).collect()
            });
            (array, own.to_vec())
        });
        let found = recommended(&values, &[]).expect("candidates");
        let level = |name: &str| levels[NAMES.iter().position(|own| *own == name).expect("one")];
        let is_wrong = found.choice.choice.as_deref().is_some_and(|name| level(name) * 1.02 < best);
        rates.none += u32::from(found.choice.choice.is_none());
        rates.wrong += u32::from(is_wrong);
        rates.certain += u32::from(found.is_certain);
        rates.certainly_wrong += u32::from(is_wrong && found.is_certain);
        let is_false = found.cells.iter().flat_map(|cell| &cell.candidates).any(|known| {
            let other = known.behind.as_deref().map_or(0.0, level);
            known.is_certain && !known.rank.is_good() && other <= level(&known.candidate)
        });
        rates.false_behind += u32::from(is_false);
    }
    println!("levels {levels:?}, {seeds} seeds, spread {spread}: {rates:?}");
    rates
}

/// Returns a normal deviate, as the sum of twelve uniform ones.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.next_f64()).sum::<f64>() - 6.0
}

/// Tests that with four equal candidates, any choice is right, and hardly any is called behind.
#[test]
fn equal_candidates_are_not_called_behind() {
    for seeds in [3, 5, 9] {
        for spread in [0.01, 0.05] {
            let rates = simulate([100.0; 4], seeds, spread, 150);
            // Alpha is 5 %; 8 % of 150 runs are twelve.
            assert!(rates.share(rates.false_behind) <= 0.08, "{seeds}, {spread}: {rates:?}");
            assert_eq!(rates.wrong, 0);
        }
    }
}

/// A candidate that is better by 3, 5 or 10 % in every cell is recommended.
#[test]
fn the_best_candidate_is_found() {
    for (gain, least) in [(1.03, 0.6), (1.05, 0.8), (1.1, 0.9)] {
        for seeds in [1, 3, 5, 9] {
            let rates = simulate([100.0, 100.0, 100.0 * gain, 95.0], seeds, 0.02, 100);
            let found = 1.0 - rates.share(rates.wrong + rates.none);
            assert!(found >= least, "{gain}, {seeds} seeds: {rates:?}");
            assert!(rates.share(rates.certainly_wrong) <= 0.03, "{gain}: {rates:?}");
            assert!(rates.share(rates.false_behind) <= 0.1, "{gain}: {rates:?}");
        }
    }
}

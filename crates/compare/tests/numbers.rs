//! Tests that the two shown numbers and the shown change never contradict each other.

use disklab_compare::comparison::Comparison;
use disklab_compare::{DecisionRule, MatchedTrials, Metric, compare};
use disklab_record::Outcome;
use disklab_record::outcome::Cell;
use disklab_results::measure::Measure;
use proptest::prelude::*;

const METRIC: &str = "start-up";
/// Units that numbers are printed with, and the size of each.
const UNITS: [(&str, f64); 3] = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];

#[derive(Debug, Clone)]
struct Data {
    /// Values of the treatment and of the baseline; from `limit` on they timed out.
    values: (Vec<f64>, Vec<f64>),
    limit: f64,
    paired: bool,
    /// Number of other comparisons that share alpha, which determines the method.
    others: usize,
    least: Option<f64>,
}

/// Returns a strategy of a few values that are often equal, values that vary much, and 0.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0_usize..4).prop_map(|at| [13.2e6, 13.3e6, 92.8e6, 20e6][at]),
        4 => (10.0..22.0_f64).prop_map(f64::exp),
        2 => (0.98..1.02_f64).prop_map(|by| 92.8e6 * by),
        1 => Just(0.0),
    ]
}

fn data() -> impl Strategy<Value = Data> {
    let sides =
        (1_usize..14, 1_usize..14, any::<bool>()).prop_flat_map(|(ours, theirs, paired)| {
            let theirs = if paired { ours } else { theirs };
            let values =
                (prop::collection::vec(value(), ours), prop::collection::vec(value(), theirs));
            (values, Just(paired))
        });
    let limit = prop_oneof![2 => Just(f64::INFINITY), 1 => (12.0..20.0_f64).prop_map(f64::exp)];
    (sides, limit, prop_oneof![Just(0_usize), Just(26)]).prop_map(
        |((values, paired), limit, others)| Data {
            values,
            limit,
            paired,
            others,
            least: Some(5e3),
        },
    )
}

fn outcomes(values: &[f64], data: &Data) -> Vec<Outcome> {
    let outcome = |(seed, value): (u32, &f64)| Outcome {
        measures: [(
            METRIC.to_owned(),
            Measure {
                censored: *value >= data.limit,
                least: data.least,
                ..Measure::time(value.min(data.limit))
            },
        )]
        .into(),
        ..disklab_testkit::outcome(format!("t+s{seed}"), &[], seed)
    };
    (1..).zip(values).map(outcome).collect()
}

fn judged(data: &Data) -> Comparison {
    let (ours, theirs) = (outcomes(&data.values.0, data), outcomes(&data.values.1, data));
    let matched = MatchedTrials {
        cell: Cell(Vec::new()),
        treatment: "bfq".to_owned(),
        baseline: "none".to_owned(),
        paired: data.paired,
        treatments: ours.iter().collect(),
        baselines: theirs.iter().collect(),
        left_out: Vec::new(),
        repeated: Vec::new(),
    };
    let all = vec![matched; data.others + 1];
    let metric = Metric::of_name(METRIC);
    compare(&all, &[metric], DecisionRule::DEFAULT, None).unwrap().swap_remove(0)
}

/// Returns the range of values that are printed like this, and whether the number is only a lower
/// bound.
fn printed(text: &str) -> ((f64, f64), bool) {
    let (text, is_more) = text.strip_prefix("> ").map_or((text, false), |text| (text, true));
    let (number, unit) = text.split_once(' ').unwrap_or((text, "ns"));
    let places = number.split_once('.').map_or(0, |(_, places)| places.len());
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, scale)| *scale);
    let value: f64 = number.parse().unwrap_or_else(|_| panic!("a number: {text}"));
    // Times are whole nanoseconds before they are printed with three digits.
    let half = 0.5 * 0.1_f64.powf(places as f64) * scale + 0.5;
    ((value * scale - half, value * scale + half), is_more)
}

/// Returns the range of ratios that are printed like this.
fn printed_change(text: &str) -> (f64, f64) {
    let text = text.trim_start_matches(['≥', '≤', ' ']);
    let places = |number: &str| number.split_once('.').map_or(0, |(_, places)| places.len());
    if let Some(factor) = text.strip_prefix("x ") {
        let value: f64 = factor.parse().unwrap();
        return (value - 0.5, value + 0.5);
    }
    let number = text.strip_suffix(" %").unwrap_or_else(|| panic!("per cent: {text}"));
    let value: f64 = number.parse().unwrap();
    let half = 0.5 * 0.1_f64.powf(places(number) as f64);
    (1.0 + (value - half) / 100.0, 1.0 + (value + half) / 100.0)
}

fn contradiction(comparison: &Comparison) -> Option<String> {
    let change = comparison.change?;
    let (told, _) = comparison.change_and_interval();
    let (ours, theirs) = comparison.numbers_in_words();
    let said = || Some(format!("{theirs} to {ours}, {told}: {comparison:?}"));
    let (((ours_low, ours_high), ours_more), ((low, high), more)) =
        (printed(&ours), printed(&theirs));
    // A number that is a lower bound makes the change a bound too.
    let marked = if ours_more && !more { "≥" } else { "≤" };
    if ours_more != more && !told.starts_with(marked) {
        return said();
    }
    let (least, most) = printed_change(&told);
    if comparison.baseline_estimate == Some(0.0) {
        // A change from zero is a rise of which only the least size is known.
        let is_right = comparison.treatment_estimate == Some(0.0) && change.percent == 0.0
            || told.starts_with('≥');
        return if is_right { None } else { said() };
    }
    if comparison.treatment_estimate == Some(0.0) {
        return if told.starts_with('≤') { None } else { said() };
    }
    let (smallest, greatest) = (ours_low.max(0.0) / high, ours_high / low.max(f64::MIN_POSITIVE));
    let overlaps = smallest <= most * (1.0 + 1e-9) && greatest >= least * (1.0 - 1e-9);
    if overlaps { None } else { said() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn numbers_and_change_agree_to_their_digits(data in data()) {
        let comparison = judged(&data);
        prop_assert_eq!(contradiction(&comparison), None);
        let has_pairs = data.values.0.iter().zip(&data.values.1).any(|(ours, theirs)| {
            !(*ours >= data.limit && *theirs >= data.limit)
        });
        if has_pairs {
            prop_assert!(comparison.change.is_some(), "a change with any number of seeds");
        }
    }
}

/// The medians of these are 92.8 ms on both sides, and the change is 6 %.
#[test]
fn the_numbers_are_those_of_the_change_and_not_medians() {
    let one = [90e6, 92.8e6, 92.8e6, 92.8e6, 130e6];
    let data = Data {
        values: (one.to_vec(), vec![92.8e6; 5]),
        limit: f64::INFINITY,
        paired: true,
        others: 0,
        least: None,
    };
    let comparison = judged(&data);
    assert_eq!(comparison.treatment_median, comparison.baseline_median);
    assert_eq!(comparison.numbers_in_words(), ("98.7 ms".to_owned(), "92.8 ms".to_owned()));
    let medians = Comparison {
        treatment_estimate: comparison.treatment_median,
        baseline_estimate: comparison.baseline_median,
        ..comparison.clone()
    };
    assert_eq!(contradiction(&comparison), None);
    assert!(contradiction(&medians).is_some(), "the test sees a contradiction");
}

/// A change is shown with one and two seeds, together with the sufficient number of seeds.
#[test]
fn a_change_is_shown_of_any_number_of_seeds() {
    for seeds in 1..=2 {
        let data = Data {
            values: (vec![5e6, 10e6][..seeds].to_vec(), vec![10e6; seeds]),
            limit: f64::INFINITY,
            paired: true,
            others: 26,
            least: None,
        };
        let comparison = judged(&data);
        assert!(comparison.change.is_some_and(|change| change.percent < -25.0), "{comparison:?}");
        assert!(comparison.change_and_verdict().ends_with("% too few seeds"), "{comparison:?}");
        assert!(comparison.seeds_to_decide.is_some(), "{comparison:?}");
        assert_eq!(comparison.seeds_at_least, seeds == 1);
        assert_eq!(comparison.change_and_interval().1, "unknown");
        let why = comparison.why_undecided(27, 0.02).unwrap();
        assert!(why.ends_with("cannot decide this among 27 verdicts"), "{why}");
    }
}

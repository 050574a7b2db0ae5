//! Tests properties that must hold for any data.

#![expect(clippy::float_cmp, reason = "what is exact is compared exactly")]

use disklab_stats::{
    Better, Comparison, Correction, Error, LocationTest, Rule, Verdict, one_sample_shift,
    one_sample_t, two_sample_shift, welch,
};
use proptest::prelude::*;

/// Generates few different values, so that ties are common.
fn values(n: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((1_u8..20).prop_map(f64::from), n)
}

fn pairs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec(((1_u8..20).prop_map(f64::from), (1_u8..20).prop_map(f64::from)), 3..12)
        .prop_map(|pairs| pairs.into_iter().unzip())
}

/// Generates pairs that differ by about the smallest effect of interest.
fn near_pairs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec(
        ((90_u8..110).prop_map(f64::from), (96_u8..104).prop_map(f64::from)),
        3..16,
    )
    .prop_map(|pairs| pairs.into_iter().unzip())
}

fn rule(better: Better) -> Rule {
    Rule::new(0.05, 0.1, better).unwrap()
}

fn opposite(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Better => Verdict::Worse,
        Verdict::Worse => Verdict::Better,
        other => other,
    }
}

fn close(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= 1e-9 * (1.0 + one.abs())
}

fn nearly_same(one: &Comparison, other: &Comparison) -> bool {
    let (a, b) = (one.log_ratio, other.log_ratio);
    close(a.value, b.value)
        && close(a.interval.low, b.interval.low)
        && close(a.interval.high, b.interval.high)
}

proptest! {
    #[test]
    fn exchanging_sides_exchanges_the_verdict((one, other) in pairs()) {
        for compare in [Rule::paired, Rule::unpaired] {
            let there = compare(&rule(Better::Lower), &one, &other).unwrap();
            let back = compare(&rule(Better::Lower), &other, &one).unwrap();
            prop_assert_eq!(there.verdict, opposite(back.verdict));
            prop_assert!(close(there.log_ratio.value, -back.log_ratio.value));
            prop_assert!(close(there.log_ratio.interval.low, -back.log_ratio.interval.high));
            prop_assert!(close(there.p_different, back.p_different));
            prop_assert!(close(there.p_same, back.p_same));
            let upwards = compare(&rule(Better::Higher), &one, &other).unwrap();
            prop_assert_eq!(upwards.verdict, opposite(there.verdict));
        }
    }

    /// Neither the unit nor the order of the seeds changes the result.
    #[test]
    fn neither_unit_nor_order_matters(
        (one, other) in pairs(),
        scale in 1e-6..1e6_f64,
        turn in 0_usize..12,
    ) {
        let changed = |values: &[f64]| -> Vec<f64> {
            let mut values: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let turn = turn % values.len();
            values.rotate_left(turn);
            values
        };
        for compare in [Rule::paired, Rule::unpaired] {
            let plain = compare(&rule(Better::Lower), &one, &other).unwrap();
            let turned = compare(&rule(Better::Lower), &changed(&one), &changed(&other)).unwrap();
            prop_assert!(nearly_same(&plain, &turned), "{:?} {:?}", plain, turned);
        }
    }

    /// p-values, interval and verdict never contradict each other, and a family of one cell has no
    /// correction.
    #[test]
    fn verdict_interval_and_p_values_agree(
        (one, other) in prop_oneof![pairs(), near_pairs()],
        alpha in 0.001..0.3_f64,
    ) {
        let rule = rule(Better::Higher).with_alpha(alpha).unwrap();
        for compare in [Rule::paired, Rule::unpaired] {
            let compared = compare(&rule, &one, &other).unwrap();
            let interval = compared.log_ratio.interval;
            // If an end is within rounding of the number that it is compared with, either answer is
            // right.
            let edges = [0.0, rule.margin(), -rule.margin()];
            prop_assume!(edges.iter().all(|edge| {
                (interval.low - edge).abs() > 1e-9 && (interval.high - edge).abs() > 1e-9
                    || interval.low == 0.0
            }));
            let (differs, same) = (!interval.contains(0.0), compared.verdict == Verdict::Same);
            prop_assert_eq!(compared.p_different <= alpha, differs, "{:?}", compared);
            prop_assert_eq!(compared.p_same <= alpha, same, "{:?}", compared);
            for correction in [Correction::Holm, Correction::BenjaminiHochberg] {
                prop_assert_eq!(rule.family(&[compared], correction), Ok(vec![compared.verdict]));
            }
        }
    }

    #[test]
    fn estimates_lie_within_their_intervals(
        left in values(2..12),
        right in values(2..12),
        alpha in 0.01..0.6_f64,
    ) {
        let tests: [Box<dyn LocationTest>; 4] = [
            Box::new(one_sample_t(&left).unwrap()),
            Box::new(one_sample_shift(&left).unwrap()),
            Box::new(welch(&left, &right).unwrap()),
            Box::new(two_sample_shift(&left, &right).unwrap()),
        ];
        for test in tests {
            let [narrow, wide] = [alpha, alpha / 2.0].map(|alpha| test.interval(alpha).unwrap());
            prop_assert!(narrow.contains(test.estimate()));
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
            let tails = test.tails(narrow.low);
            prop_assert!((0.0..=1.0).contains(&tails.less) && (0.0..=1.0).contains(&tails.greater));
        }
    }

    /// A shift moves estimate and interval by itself.
    #[test]
    fn a_shift_shifts(left in values(2..12), right in values(2..12), by in -50_i8..50) {
        let by = f64::from(by);
        let moved: Vec<f64> = left.iter().map(|value| value + by).collect();
        let (plain, shifted) =
            (two_sample_shift(&left, &right).unwrap(), two_sample_shift(&moved, &right).unwrap());
        prop_assert!(close(plain.estimate() + by, shifted.estimate()));
        let (plain, shifted) = (plain.interval(0.2).unwrap(), shifted.interval(0.2).unwrap());
        prop_assert!(close(plain.low + by, shifted.low) && close(plain.high + by, shifted.high));
    }

    /// The p-values of ranks depend on order only, and exchanging the sides exchanges them.
    #[test]
    fn ranks_do_not_see_the_scale(left in values(1..12), right in values(1..12)) {
        let squared =
            |values: &[f64]| values.iter().map(|value| value * value).collect::<Vec<f64>>();
        let tails = |left: &[f64], right: &[f64]| two_sample_shift(left, right).unwrap().tails(0.0);
        prop_assert_eq!(tails(&left, &right), tails(&squared(&left), &squared(&right)));
        let (there, back) = (tails(&left, &right), tails(&right, &left));
        prop_assert!(close(there.less, back.greater) && close(there.greater, back.less));
    }

    /// A correction never adds a finding, and keeps the order.
    #[test]
    fn corrections_are_cautious(p_values in prop::collection::vec(0.0..=1.0_f64, 1..30)) {
        let holm = Correction::Holm.adjust(p_values.iter().copied()).unwrap();
        let hochberg = Correction::BenjaminiHochberg.adjust(p_values.iter().copied()).unwrap();
        for at in 0..p_values.len() {
            prop_assert!(p_values[at] <= hochberg[at] && hochberg[at] <= holm[at]);
            prop_assert!(holm[at] <= 1.0);
            for other in 0..p_values.len() {
                prop_assert!(p_values[at] > p_values[other] || holm[at] <= holm[other]);
                prop_assert!(p_values[at] > p_values[other] || hochberg[at] <= hochberg[other]);
            }
        }
    }

    /// For any input, there is an answer or an error.
    #[test]
    fn anything_has_an_answer(
        left in prop::collection::vec(any::<f64>(), 0..8),
        right in prop::collection::vec(any::<f64>(), 0..8),
    ) {
        let finite = left.iter().chain(&right).all(|value| value.is_finite());
        for compare in [Rule::paired, Rule::unpaired] {
            match compare(&rule(Better::Lower), &left, &right) {
                Ok(compared) => prop_assert!(finite && !compared.log_ratio.value.is_nan()),
                Err(Error::NotFinite { .. }) => prop_assert!(!finite),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
        let _ = (welch(&left, &right), two_sample_shift(&left, &right), one_sample_shift(&left));
        let _ = (disklab_stats::change_points(&left, 1.0), disklab_stats::penalty(&left));
    }
}

//! Compares exact distributions with all deals counted one by one, and intervals with all possible
//! orders.

#![expect(clippy::float_cmp, reason = "what is exact is compared exactly")]

use disklab_stats::{Interval, LocationTest, one_sample_shift, two_sample_shift};

/// Returns all ways to choose `group` of `n`, as lists of flags.
fn deals(n: usize, group: usize) -> impl Iterator<Item = Vec<bool>> {
    let chosen = move |deal: u32| (0..n).map(|at| deal >> at & 1 == 1).collect::<Vec<bool>>();
    (0..1_u32 << n).filter(move |deal| deal.count_ones() as usize == group).map(chosen)
}

fn split<T: Copy>(values: &[T], deal: &[bool]) -> (Vec<T>, Vec<T>) {
    let side = |left: bool| {
        values.iter().zip(deal).filter(|&(_, &is)| is == left).map(|(value, _)| *value).collect()
    };
    (side(true), side(false))
}

/// Returns Mann and Whitney's U: wins and half the ties.
fn u(left: &[f64], right: &[f64]) -> f64 {
    let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
    pairs
        .map(|(left, right)| {
            f64::from(u8::from(left > right)) + f64::from(u8::from(left == right)) / 2.0
        })
        .sum()
}

/// Pools of values without ties, with some, with many, and with nothing else.
const POOLS: [[f64; 9]; 4] = [
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    [1.0, 2.0, 2.0, 4.0, 5.0, 5.0, 5.0, 8.0, 9.0],
    [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0],
    [4.0; 9],
];

/// Without ties, the shift's p-values are those of Mann and Whitney.
#[test]
fn tails_of_two_samples_are_the_share_of_deals() {
    for (n, group) in [(2, 1), (5, 2), (6, 3), (8, 4), (9, 3), (9, 6)] {
        let pool = &POOLS[0][9 - n..];
        let all: Vec<f64> =
            deals(n, group).map(|deal| split(pool, &deal)).map(|(l, r)| u(&l, &r)).collect();
        for deal in deals(n, group).step_by(5) {
            let (left, right) = split(pool, &deal);
            let tails = two_sample_shift(&left, &right).unwrap().tails(0.0);
            let observed = u(&left, &right);
            let share = |is: &dyn Fn(f64) -> bool| {
                all.iter().filter(|&&u| is(u)).count() as f64 / all.len() as f64
            };
            assert!((tails.less - share(&|u| u <= observed)).abs() < 1e-14);
            assert!((tails.greater - share(&|u| u >= observed)).abs() < 1e-14);
        }
    }
}

#[test]
fn a_test_at_alpha_rejects_at_most_alpha_of_all_deals() {
    for pool in POOLS {
        for (n, group) in [(8, 4), (9, 4)] {
            let all: Vec<f64> = deals(n, group)
                .map(|deal| split(&pool[..n], &deal))
                .map(|(left, right)| {
                    two_sample_shift(&left, &right).unwrap().tails(0.0).two_sided()
                })
                .collect();
            for alpha in [0.01, 0.05, 0.1, 0.3] {
                let rejected =
                    all.iter().filter(|&&p| p <= alpha).count() as f64 / all.len() as f64;
                assert!(rejected <= alpha + 1e-12, "{rejected} at {alpha}");
            }
        }
    }
}

/// Without ties the p-values are the shares themselves; with some the test keeps its level.
#[test]
fn tails_of_one_sample_are_the_share_of_signs() {
    for (magnitudes, ties) in [
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], false),
        ([1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 9.0], true),
        ([2.0; 7], true),
    ] {
        let with_signs = |signs: u32| -> Vec<f64> {
            let sign = |at: usize| if signs >> at & 1 == 1 { 1.0 } else { -1.0 };
            magnitudes.iter().enumerate().map(|(at, magnitude)| sign(at) * magnitude).collect()
        };
        // Ranks are midranks, counted one by one.
        let rank = |magnitude: f64| {
            let below = magnitudes.iter().filter(|&&other| other < magnitude).count() as f64;
            let equal = magnitudes.iter().filter(|&&other| other == magnitude).count() as f64;
            below + f64::midpoint(1.0, equal)
        };
        let positive = |values: &[f64]| -> f64 {
            values.iter().filter(|&&value| value > 0.0).map(|value| rank(value.abs())).sum()
        };
        let all: Vec<f64> = (0..128).map(|signs| positive(&with_signs(signs))).collect();
        for signs in 0..128 {
            let tails = one_sample_shift(&with_signs(signs)).unwrap().tails(0.0);
            let share = |is: &dyn Fn(f64) -> bool| {
                all.iter().filter(|&&sum| is(sum)).count() as f64 / 128.0
            };
            let observed = all[signs as usize];
            if !ties {
                assert!((tails.less - share(&|sum| sum <= observed)).abs() < 1e-14);
                assert!((tails.greater - share(&|sum| sum >= observed)).abs() < 1e-14);
            }
        }
        let p_value = |signs| one_sample_shift(&with_signs(signs)).unwrap().tails(0.0).two_sided();
        for alpha in [0.02, 0.05, 0.1, 0.3] {
            let rejected = (0..128).filter(|&signs| p_value(signs) <= alpha).count() as f64 / 128.0;
            assert!(rejected <= alpha, "{rejected} at {alpha}");
        }
    }
}

/// The share of equally likely orders whose interval misses the truth is at most alpha. With the
/// next interval inside, it would be more than alpha, so the interval is the narrowest of its kind.
#[test]
fn shift_of_two_samples_misses_as_often_as_it_says() {
    let ranks: Vec<f64> = (1..=9).map(f64::from).collect();
    for (group, alpha) in [(4, 0.05), (4, 0.1), (3, 0.05), (3, 0.3)] {
        let intervals: Vec<Interval> = deals(9, group)
            .map(|deal| split(&ranks, &deal))
            .map(|(left, right)| two_sample_shift(&left, &right).unwrap().interval(alpha).unwrap())
            .collect();
        let missed = intervals.iter().filter(|interval| !interval.contains(0.0)).count() as f64;
        let share = missed / intervals.len() as f64;
        assert!(share <= alpha && share > alpha / 3.0, "{share} at {alpha}");
    }
}

#[test]
fn centre_of_one_sample_misses_as_often_as_it_says() {
    for (n, alpha, expected) in [(6, 0.05, 2), (8, 0.05, 10), (8, 0.01, 2), (5, 0.05, 0)] {
        // No two sums of these values are equal, so no mean of two is zero.
        let value = |signs: u32, at: u32| {
            let magnitude = f64::from(3_u32.pow(at));
            if signs >> at & 1 == 1 { magnitude } else { -magnitude }
        };
        let misses = (0..1_u32 << n).filter(|&signs| {
            let values: Vec<f64> = (0..n).map(|at| value(signs, at)).collect();
            !one_sample_shift(&values).unwrap().interval(alpha).unwrap().contains(0.0)
        });
        // Of 2^8 signs, 2 * 5 have a sum of ranks of 3 or less. These 3.9 % are the largest share
        // below 5 %.
        assert_eq!(misses.count(), expected, "{n} values at {alpha}");
    }
}

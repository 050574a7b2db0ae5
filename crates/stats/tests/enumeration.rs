//! Exact distributions against all deals counted one by one, and intervals against all orders there
//! are.

#![expect(clippy::float_cmp, reason = "what is exact is compared exactly")]

use disklab_stats::{
    Evidence, Interval, Time, censored_rank_test, mann_whitney, mann_whitney_exact,
    one_sample_shift, signed_rank_exact, two_sample_shift,
};

/// All ways to choose `group` of `n`, as lists of who is chosen.
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

/// Wins and half the ties.
fn u(left: &[f64], right: &[f64]) -> f64 {
    let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
    pairs
        .map(|(left, right)| {
            f64::from(u8::from(left > right)) + f64::from(u8::from(left == right)) / 2.0
        })
        .sum()
}

/// Without ties, with some, with many, with nothing else.
const POOLS: [[f64; 9]; 4] = [
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    [1.0, 2.0, 2.0, 4.0, 5.0, 5.0, 5.0, 8.0, 9.0],
    [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0],
    [4.0; 9],
];

#[test]
fn mann_whitney_is_the_share_of_deals() {
    for pool in POOLS {
        for (n, group) in [(2, 1), (5, 2), (6, 3), (8, 4), (9, 3), (9, 6)] {
            let pool = &pool[9 - n..];
            let all: Vec<f64> =
                deals(n, group).map(|deal| split(pool, &deal)).map(|(l, r)| u(&l, &r)).collect();
            for deal in deals(n, group).step_by(5) {
                let (left, right) = split(pool, &deal);
                let test = mann_whitney_exact(&left, &right).unwrap();
                assert_eq!(test.u, u(&left, &right));
                let share = |is: &dyn Fn(f64) -> bool| {
                    all.iter().filter(|&&u| is(u)).count() as f64 / all.len() as f64
                };
                assert!((test.tails.less - share(&|u| u <= test.u)).abs() < 1e-14);
                assert!((test.tails.greater - share(&|u| u >= test.u)).abs() < 1e-14);
            }
        }
    }
}

#[test]
fn a_test_at_alpha_rejects_at_most_alpha_of_all_deals() {
    for pool in POOLS {
        for (n, group) in [(8, 4), (9, 4)] {
            let all: Vec<f64> = deals(n, group)
                .map(|deal| split(&pool[..n], &deal))
                .map(|(left, right)| mann_whitney(&left, &right).unwrap().tails.two_sided())
                .collect();
            for alpha in [0.01, 0.05, 0.1, 0.3] {
                let rejected =
                    all.iter().filter(|&&p| p <= alpha).count() as f64 / all.len() as f64;
                assert!(rejected <= alpha + 1e-12, "{rejected} at {alpha}");
            }
        }
    }
}

#[test]
fn signed_rank_is_the_share_of_signs() {
    for magnitudes in
        [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 9.0], [2.0; 7]]
    {
        let with_signs = |signs: u32| -> Vec<f64> {
            let sign = |at: usize| if signs >> at & 1 == 1 { 1.0 } else { -1.0 };
            magnitudes.iter().enumerate().map(|(at, magnitude)| sign(at) * magnitude).collect()
        };
        // Midranks, by counting.
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
            let test = signed_rank_exact(&with_signs(signs)).unwrap();
            let share = |is: &dyn Fn(f64) -> bool| {
                all.iter().filter(|&&sum| is(sum)).count() as f64 / 128.0
            };
            assert_eq!(test.positive_ranks, all[signs as usize]);
            assert_eq!(test.tails.less, share(&|sum| sum <= test.positive_ranks));
            assert_eq!(test.tails.greater, share(&|sum| sum >= test.positive_ranks));
        }
    }
}

/// The share of equally likely orders whose interval misses the truth is at most alpha, and would
/// be more than alpha with the next interval inside: it is the narrowest of its kind.
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
        // No two sums of these are equal, so no mean of two is zero.
        let value = |signs: u32, at: u32| {
            let magnitude = f64::from(3_u32.pow(at));
            if signs >> at & 1 == 1 { magnitude } else { -magnitude }
        };
        let misses = (0..1_u32 << n).filter(|&signs| {
            let values: Vec<f64> = (0..n).map(|at| value(signs, at)).collect();
            !one_sample_shift(&values).unwrap().interval(alpha).unwrap().contains(0.0)
        });
        // Of 2^8 signs, 2 * 5 have a sum of ranks of 3 or less, and 3.9 % of all is the most below
        // 5 %.
        assert_eq!(misses.count(), expected, "{n} values at {alpha}");
    }
}

#[test]
fn censored_ranks_are_the_share_of_deals() {
    use Time::{Exactly, LongerThan};
    let pool = [
        Exactly(2.0),
        Exactly(7.0),
        LongerThan(5.0),
        Exactly(7.0),
        LongerThan(7.0),
        LongerThan(60.0),
        Exactly(61.0),
    ];
    let wins = |left: &[Time], right: &[Time]| -> f64 {
        let longer = |one: &Time, other: &Time| match (one, other) {
            (Exactly(one), Exactly(other)) => one > other,
            (LongerThan(one), Exactly(other)) => one >= other,
            _ => false,
        };
        let count = |one: &[Time], other: &[Time]| -> f64 {
            one.iter()
                .map(|one| other.iter().filter(|other| longer(one, other)).count() as f64)
                .sum()
        };
        count(left, right) - count(right, left)
    };
    let all: Vec<f64> =
        deals(7, 3).map(|deal| split(&pool, &deal)).map(|(l, r)| wins(&l, &r)).collect();
    for deal in deals(7, 3) {
        let (left, right) = split(&pool, &deal);
        let (observed, tails) =
            (wins(&left, &right), censored_rank_test(&left, &right).unwrap().tails);
        let less = all.iter().filter(|&&wins| wins <= observed).count() as f64 / all.len() as f64;
        let greater =
            all.iter().filter(|&&wins| wins >= observed).count() as f64 / all.len() as f64;
        assert!((tails.less - less).abs() < 1e-14 && (tails.greater - greater).abs() < 1e-14);
    }
}

//! Exact distributions of sums over all ways that chance could have dealt the data.

use crate::Tails;
use crate::distribution::normal_upper;

/// Up to so many values all deals are counted, beyond it the normal approximation is used. All
/// counts fit `u64` (2^60 signs; 60 over 30 is 1.2e17 deals), and one test takes a few milliseconds
/// at most.
pub(crate) const MOST_EXACT: usize = 60;

/// Whether all deals are to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    All,
    Normal,
}

impl Count {
    pub(crate) fn for_values(n: usize) -> Self {
        if n <= MOST_EXACT { Self::All } else { Self::Normal }
    }
}

/// Tests the sum of `scores[..group]` against all ways to choose `group` of the scores.
///
/// Scores are spaced by two, as those of [`crate::mann_whitney`] are, which is what the correction
/// for continuity of the normal approximation rests on.
pub(crate) fn chosen_sum(scores: &[i64], group: usize, count: Count) -> Tails {
    match count {
        Count::All => {
            let lowest = scores.iter().copied().min().unwrap_or(0);
            let shifted: Vec<usize> =
                scores.iter().map(|score| (score - lowest) as usize).collect();
            let deals = deals_by_sum(&shifted, group);
            tails_of_counts(&deals, shifted[..group].iter().sum())
        }
        Count::Normal => {
            let observed: i64 = scores[..group].iter().sum();
            let (n, group) = (scores.len() as f64, group as f64);
            let mean = scores.iter().sum::<i64>() as f64 / n;
            let squares: f64 = scores.iter().map(|&score| (score as f64 - mean).powi(2)).sum();
            let variance = group * (n - group) / (n * (n - 1.0)) * squares;
            normal_tails(observed as f64 - mean * group, 1.0, variance)
        }
    }
}

/// Tests the sum of the magnitudes whose sign is positive against all ways to give signs.
/// Magnitudes are spaced by two.
pub(crate) fn signed_sum(magnitudes: &[usize], positive: usize, count: Count) -> Tails {
    match count {
        Count::All => {
            let mut deals = vec![0_u64; magnitudes.iter().sum::<usize>() + 1];
            deals[0] = 1;
            let mut reach = 0;
            for &magnitude in magnitudes {
                for sum in (0..=reach).rev() {
                    deals[sum + magnitude] += deals[sum];
                }
                reach += magnitude;
            }
            tails_of_counts(&deals, positive)
        }
        Count::Normal => {
            let squares: f64 = magnitudes.iter().map(|&magnitude| (magnitude as f64).powi(2)).sum();
            let mean = magnitudes.iter().sum::<usize>() as f64 / 2.0;
            normal_tails(positive as f64 - mean, 1.0, squares / 4.0)
        }
    }
}

/// By sum: in how many ways `group` of the scores add up to it.
fn deals_by_sum(scores: &[usize], group: usize) -> Vec<u64> {
    let mut largest = scores.to_vec();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    let width = largest[..group].iter().sum::<usize>() + 1;
    // One row for each number of scores chosen so far.
    let mut deals = vec![0_u64; (group + 1) * width];
    deals[0] = 1;
    for (seen, &score) in scores.iter().enumerate() {
        for chosen in (0..group.min(seen + 1)).rev() {
            let (fewer, more) = deals.split_at_mut((chosen + 1) * width);
            let fewer = &fewer[chosen * width..][..width - score];
            for (more, fewer) in more[score..width].iter_mut().zip(fewer) {
                *more += fewer;
            }
        }
    }
    deals.split_off(group * width)
}

fn tails_of_counts(deals: &[u64], observed: usize) -> Tails {
    let sum = |deals: &[u64]| deals.iter().map(|&deals| u128::from(deals)).sum::<u128>() as f64;
    let all = sum(deals);
    Tails { less: sum(&deals[..=observed]) / all, greater: sum(&deals[observed..]) / all }
}

fn normal_tails(off: f64, continuity: f64, variance: f64) -> Tails {
    if variance <= 0.0 {
        return Tails { less: 1.0, greater: 1.0 };
    }
    let beyond = |off: f64| normal_upper((off - continuity) / variance.sqrt());
    Tails { less: beyond(-off), greater: beyond(off) }
}

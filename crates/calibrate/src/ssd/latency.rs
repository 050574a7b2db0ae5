//! Measures the time of a lone read: one time for each type of page, repeated in proportion to the
//! number of such pages.

use disklab_config::device::MOST_PAGE_TYPES;

use crate::bench::TestBench;
use crate::error::Result;
use crate::numbers::{mean, median};
use crate::target::{Probe, latencies};

const READS: usize = 2_000;
/// Most types of pages of a model.
const MOST: usize = MOST_PAGE_TYPES;
/// Greatest error of a share of pages that counts as agreement: two standard deviations of a share
/// of a half.
const NEAR: f64 = 0.025;
/// Width of a bin, as a fraction of its latency. Types of pages differ by a tenth and more, and
/// reads of one type fill a few bins with hundreds each.
const BIN: f64 = 0.02;
/// Least fraction of all reads that counts as a type of page: the rarest in a model is a sixteenth.
const RARE: f64 = 0.04;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReadModes {
    /// Times in ns, ascending. A type that is met twice as often is listed twice.
    pub times: Vec<f64>,
    /// Median relative deviation of single reads from their type's time.
    pub spread: f64,
    /// The mean of all reads, in ns.
    pub mean: f64,
}

pub(crate) fn measure(bench: &mut TestBench<'_>) -> Result<ReadModes> {
    let probes = bench.blocks(READS, Probe::read);
    Ok(modes(&latencies(&bench.serve(1, &probes)?)))
}

fn modes(latencies: &[f64]) -> ReadModes {
    let bin = |latency: f64| (latency.max(1.0).ln() / BIN) as i64;
    let first = latencies.iter().map(|&latency| bin(latency)).min().unwrap_or(0);
    let last = latencies.iter().map(|&latency| bin(latency)).max().unwrap_or(0);
    let mut counts = vec![0.0; (last - first + 3) as usize];
    for &latency in latencies {
        // The reads of a bin count half for its neighbours, so that a border does not divide one
        // peak into two.
        let at = (bin(latency) - first + 1) as usize;
        counts[at] += 1.0;
        counts[at - 1] += 0.5;
        counts[at + 1] += 0.5;
    }
    let mut groups: Vec<Vec<f64>> = Vec::new();
    for (from, to) in hills(&counts) {
        let within = |latency: &f64| (from..to).contains(&((bin(*latency) - first + 1) as usize));
        let group: Vec<f64> = latencies.iter().copied().filter(within).collect();
        if group.len() as f64 > RARE * latencies.len() as f64 {
            groups.push(group);
        }
    }
    let types: Vec<(f64, f64)> =
        groups.iter().map(|group| (median(group), group.len() as f64)).collect();
    let away = groups.iter().zip(&types).flat_map(|(group, (centre, _))| {
        group.iter().map(move |latency| (latency / centre - 1.0).abs())
    });
    let spread = median(&away.collect::<Vec<_>>());
    ReadModes { times: repeated(types), spread, mean: mean(latencies) }
}

/// Returns ranges of bins with one peak each. A valley divides two peaks if it is less than half of
/// the lower one.
fn hills(counts: &[f64]) -> Vec<(usize, usize)> {
    let mut hills = Vec::new();
    let (mut from, mut peak, mut valley, mut lowest) = (0, 0.0_f64, f64::MAX, 0);
    for (at, &count) in counts.iter().enumerate() {
        if count > peak && valley >= peak / 2.0 {
            (peak, valley) = (count, f64::MAX);
        } else if valley < f64::MAX && count > 2.0 * valley && valley < peak / 2.0 && count > 2.0 {
            hills.push((from, lowest));
            (from, peak, valley) = (lowest, count, f64::MAX);
        } else if count < valley {
            (valley, lowest) = (count, at);
        }
    }
    hills.push((from, counts.len()));
    hills
}

/// Returns a list of times in which each occurs in proportion to its count: the shortest list whose
/// proportions are near, or else the one of up to [`MOST`] entries whose proportions are nearest.
fn repeated(mut types: Vec<(f64, f64)>) -> Vec<f64> {
    types.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
    types.truncate(MOST);
    let all: f64 = types.iter().map(|(_, count)| count).sum();
    let times = |length: usize| -> Vec<usize> {
        let wanted = |share: f64| ((share / all * length as f64).round() as usize).max(1);
        types.iter().map(|&(_, share)| wanted(share)).collect()
    };
    let wrong = |each: &[usize]| {
        let given: usize = each.iter().sum();
        let parts = each.iter().zip(&types);
        parts
            .map(|(&each, (_, count))| (each as f64 / given as f64 - count / all).abs())
            .fold(0.0, f64::max)
    };
    let lists = || {
        let lists = (types.len().max(1)..=MOST).map(times);
        lists.filter(|each| each.iter().sum::<usize>() <= MOST)
    };
    let near = lists().find(|each| wrong(each) <= NEAR);
    let nearest = || lists().min_by(|a, b| wrong(a).total_cmp(&wrong(b)));
    let mut list: Vec<f64> = near
        .or_else(nearest)
        .unwrap_or_default()
        .into_iter()
        .zip(&types)
        .flat_map(|(each, (time, _))| std::iter::repeat_n(*time, each))
        .collect();
    list.sort_unstable_by(f64::total_cmp);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws reads for pairs of a time and a number, with relative noise.
    fn drawn(types: &[(f64, u32)], noise: f64) -> Vec<f64> {
        let some = |&(time, count): &(f64, u32)| {
            (0..count).map(move |i| time * (1.0 + noise * (f64::from(i * 37 % 101) / 50.0 - 1.0)))
        };
        types.iter().flat_map(some).collect()
    }

    fn found(types: &[(f64, u32)], noise: f64) -> Vec<u32> {
        modes(&drawn(types, noise)).times.iter().map(|time| (time / 1e3).round() as u32).collect()
    }

    #[test]
    fn each_type_of_page_is_a_time() {
        assert_eq!(found(&[(88e3, 600), (116e3, 600), (165e3, 600)], 0.0), [88, 116, 165]);
        assert_eq!(found(&[(77e3, 900)], 0.0), [77]);
        assert_eq!(found(&[(60e3, 900), (100e3, 300)], 0.0), [60, 60, 60, 100]);
        assert_eq!(found(&[(60e3, 610), (100e3, 300), (190e3, 290)], 0.0), [60, 60, 100, 190]);
        let rare = found(&[(60e3, 1800), (100e3, 130)], 0.0);
        assert_eq!((rare.len(), rare[rare.len() - 1], rare[rare.len() - 2]), (11, 100, 60));
    }

    #[test]
    fn noise_is_no_type() {
        let near = |found: Vec<u32>, wanted: &[u32]| {
            found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(a, b)| a.abs_diff(*b) <= 2)
        };
        assert!(near(found(&[(77e3, 900)], 0.1), &[77]));
        assert!(near(found(&[(88e3, 600), (116e3, 600), (165e3, 600)], 0.05), &[88, 116, 165]));
        assert!(near(found(&[(77e3, 900), (900e3, 20)], 0.05), &[77]), "a few slow ones");
    }
}

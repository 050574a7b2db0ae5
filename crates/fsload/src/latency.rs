//! Durations of operations: exact means and maxima, percentiles within 1 %.

/// Number of bins for each power of two.
const BINS: u64 = 64;
const BITS: u32 = BINS.ilog2();

/// Counts of operations by duration, in ns.
#[derive(Debug, Clone, Default)]
pub struct Latency {
    pub count: u64,
    sum: u128,
    pub max: u64,
    bins: Vec<u64>,
}

impl Latency {
    pub fn add(&mut self, ns: u64) {
        let bin = bin(ns);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
    }

    pub fn merge(&mut self, other: &Self) {
        self.bins.resize(self.bins.len().max(other.bins.len()), 0);
        self.bins.iter_mut().zip(&other.bins).for_each(|(bin, more)| *bin += more);
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// Returns the duration in ns that this part of the operations, from 0 to 1, took at most: the
    /// middle of its bin.
    pub fn percentile(&self, part: f64) -> u64 {
        let rank = ((self.count as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        let bin = self.bins.iter().position(|bin| {
            seen += bin;
            seen >= rank
        });
        bin.map_or(0, |bin| middle(bin).min(self.max))
    }
}

fn bin(ns: u64) -> usize {
    if ns < BINS {
        return ns as usize;
    }
    let shift = ns.ilog2() - BITS;
    (u64::from(shift + 1) * BINS + (ns >> shift) - BINS) as usize
}

fn middle(bin: usize) -> u64 {
    let bin = bin as u64;
    match (bin / BINS).checked_sub(1) {
        None => bin,
        Some(shift) => ((bin % BINS + BINS) << shift) + (1 << shift) / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_percentile_is_within_one_per_cent(
            mut all in prop::collection::vec(0_u64..10_000_000_000, 1..300),
            part in 0.0..1.0_f64,
        ) {
            let (mut one, mut other) = (Latency::default(), Latency::default());
            for (number, ns) in all.iter().enumerate() {
                if number % 2 == 0 { one.add(*ns) } else { other.add(*ns) }
            }
            one.merge(&other);
            all.sort_unstable();
            let rank = ((all.len() as f64 * part).ceil() as usize).max(1) - 1;
            let (exact, found) = (all[rank] as f64, one.percentile(part) as f64);
            prop_assert!((found - exact).abs() <= exact / 100.0 + 0.5, "{found} for {exact}");
            prop_assert_eq!(one.max, all[all.len() - 1]);
            let mean = all.iter().map(|ns| *ns as f64).sum::<f64>() / all.len() as f64;
            prop_assert!((one.mean() - mean).abs() <= mean * 1e-9);
        }
    }

    #[test]
    fn the_longest_times_have_a_bin() {
        let mut latency = Latency::default();
        latency.add(u64::MAX);
        assert!(latency.percentile(0.5) > u64::MAX / 100 * 99);
    }
}

//! Chooses the file of a set that a thread takes next.

use crate::size::thousandths;
use disklab_config::fsload::Pick;
use disklab_units::Random;

/// The state of a thread's choices in one set.
#[derive(Debug, Clone)]
pub struct Chooser {
    pick: Pick,
    /// The slot that is next in rotation.
    next: usize,
    /// The share of draws that are of each rank or a lower one. The list is empty unless files are
    /// drawn by rank.
    ranks: Vec<f64>,
}

impl Chooser {
    /// Returns a chooser for a set of `count` names.
    pub fn new(pick: Pick, count: usize) -> Self {
        let ranks = if let Pick::Zipf(exponent) = pick {
            zipf(count, thousandths(exponent))
        } else {
            Vec::new()
        };
        Self { pick, next: 0, ranks }
    }

    /// Returns the drawn slot, or the next one after it that `fits`. `recent` are the slots that
    /// were written last, the newest at the end.
    pub fn choose(
        &mut self,
        count: usize,
        recent: &[u32],
        random: &mut Random,
        fits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let first = match self.pick {
            Pick::Rotation => self.next,
            Pick::Random => random.below(count as u64) as usize,
            Pick::Zipf(_) => {
                let drawn = random.next_f64();
                self.ranks.partition_point(|share| *share < drawn)
            }
            Pick::Recent(among) => {
                let among = recent.len().min(among as usize);
                let back = random.below(among as u64) as usize;
                let from_newest = recent.iter().rev().take(among);
                let mut turned = from_newest.clone().skip(back).chain(from_newest.take(back));
                return turned.find(|slot| fits(**slot as usize)).map(|slot| *slot as usize);
            }
        };
        let found = (first..count).chain(0..first.min(count)).find(|slot| fits(*slot))?;
        self.next = found + 1;
        Some(found)
    }
}

fn zipf(count: usize, exponent: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let mut ranks: Vec<f64> = (1..=count)
        .map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        })
        .collect();
    for share in &mut ranks {
        *share /= sum;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_units::{Random, Seed};

    /// Returns how often each of `count` slots was chosen in `draws` draws.
    fn counts(pick: &str, count: usize, draws: usize, recent: &[u32]) -> Vec<usize> {
        let (mut chooser, mut random) =
            (Chooser::new(pick.parse().unwrap(), count), Random::new(Seed(5)));
        let mut counts = vec![0; count];
        for _ in 0..draws {
            counts[chooser.choose(count, recent, &mut random, |_| true).unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn rotation_takes_all_in_turn_and_passes_over_what_does_not_fit() {
        assert_eq!(counts("rotation", 10, 30, &[]), [3; 10]);
        let (mut chooser, mut random) = (Chooser::new(Pick::Rotation, 6), Random::new(Seed(1)));
        let mut even = || chooser.choose(6, &[], &mut random, |slot| slot % 2 == 0);
        assert_eq!([even(), even(), even(), even()], [Some(0), Some(2), Some(4), Some(0)]);
        assert_eq!(chooser.choose(6, &[], &mut random, |_| false), None);
        assert_eq!(chooser.choose(0, &[], &mut random, |_| true), None);
    }

    #[test]
    fn random_favours_none() {
        assert!(
            counts("random", 10, 100_000, &[]).iter().all(|count| (9_500..10_500).contains(count))
        );
    }

    #[test]
    fn zipf_follows_its_law() {
        let counts = counts("zipf 1", 1000, 200_000, &[]);
        let share = |rank: usize| counts[rank - 1] as f64 / 200_000.0;
        let harmonic: f64 = (1..=1000).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in [1, 2, 5, 10] {
            let expected = 1.0 / (rank as f64 * harmonic);
            assert!((share(rank) / expected - 1.0).abs() < 0.05, "rank {rank}: {}", share(rank));
        }
    }

    #[test]
    fn recent_ones_are_the_newest() {
        let counts = counts("recent 2", 10, 10_000, &[1, 2, 3, 4]);
        assert_eq!(counts.iter().sum::<usize>(), counts[3] + counts[4]);
        assert!((4_700..5_300).contains(&counts[3]), "{counts:?}");
        let (mut chooser, mut random) = (Chooser::new(Pick::Recent(5), 10), Random::new(Seed(1)));
        assert_eq!(chooser.choose(10, &[], &mut random, |_| true), None);
        assert_eq!(chooser.choose(10, &[7, 8], &mut random, |slot| slot == 7), Some(7));
    }
}

//! Seeded randomness.

use crate::Seed;

/// A stream of random numbers that depends on its seed alone.
///
/// The generator is xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
/// generators", 2021), with its state filled by splitmix64 as its authors advise. It is not for
/// secrets. The streams of two seeds are unrelated. Give every use its own stream through
/// [`Seed::derive`], so that one use can draw another number without changing the numbers of other
/// uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    pub fn new(seed: Seed) -> Self {
        let mut fill = seed.0;
        Self { state: std::array::from_fn(|_| splitmix64(&mut fill)) }
    }

    /// Returns 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        s1.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// Returns a uniform number in [0, 1), a multiple of 2^-53.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a uniform number in `0..n`, every value exactly as likely (Lemire, "Fast random
    /// integer generation in an interval", 2019). For `n` = 0 it returns 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            // The 2^64 mod n lowest draws would make some values likelier: draw again.
            let unfair = n.wrapping_neg() % n;
            while (product as u64) < unfair {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }
}

/// Draws from the generator of Steele, Lea and Flood (2014), which only serves to spread a seed
/// over the state.
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the first numbers of xoshiro256** from the state 1, 2, 3, 4, as from its authors' C
    /// code.
    #[test]
    fn matches_the_reference() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let first: [u64; 5] = std::array::from_fn(|_| random.next_u64());
        assert_eq!(
            first,
            [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240, 1_216_172_134_540_287_360]
        );
    }

    /// Tests the first numbers of splitmix64 from 0, as from its authors' code.
    #[test]
    fn seed_is_spread_by_the_reference_splitmix() {
        let mut state = 0;
        assert_eq!(splitmix64(&mut state), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(&mut state), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn below_is_fair_where_n_does_not_divide() {
        let mut random = Random::new(Seed(7));
        let n = 3 * (u64::MAX / 4); // the crude "modulo" would favour the lowest third twice over
        let low = (0..30_000).filter(|_| random.below(n) < n / 3).count();
        assert!((9_600..=10_400).contains(&low), "{low} of 30000 in the lowest third");
    }

    #[test]
    fn below_reaches_every_value() {
        let mut random = Random::new(Seed(1));
        let mut seen = [0_u32; 7];
        for _ in 0..7_000 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (850..=1_150).contains(&n)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn fraction_is_uniform_and_below_one() {
        let mut random = Random::new(Seed(2));
        let draws: Vec<f64> = (0..100_000).map(|_| random.next_f64()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!(draws.iter().all(|x| (0.0..1.0).contains(x)));
        assert!((mean - 0.5).abs() < 0.005, "mean {mean}");
    }

    #[test]
    fn equal_seeds_agree_and_others_do_not() {
        let draw = |seed| Random::new(Seed(seed)).next_u64();
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
    }
}

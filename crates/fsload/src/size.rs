//! Sizes, drawn from a distribution.

use disklab_config::fsload::Size;
use disklab_units::{Bytes, Random};

/// Draws a size, at most the largest that files of the distribution may have.
pub fn draw(size: Size, random: &mut Random) -> u64 {
    let drawn = match size {
        Size::Fixed(size) => return size.0,
        Size::Uniform(from, to) => return from.0 + random.below(to.0 - from.0 + 1),
        Size::Gamma { shape, mean } => {
            let shape = thousandths(shape);
            gamma(shape, random) * mean.0 as f64 / shape
        }
        Size::Lognormal { sigma, mean } => {
            let sigma = thousandths(sigma);
            (normal(random) * sigma - sigma * sigma / 2.0).exp() * mean.0 as f64
        }
    };
    Bytes(drawn.round() as u64).min(size.most()).0
}

pub fn thousandths(number: u32) -> f64 {
    f64::from(number) / 1000.0
}

/// Draws a gamma variable of this shape and scale 1 (Marsaglia and Tsang, "A simple method for
/// generating gamma variables", 2000).
pub fn gamma(shape: f64, random: &mut Random) -> f64 {
    if shape < 1.0 {
        // The same article gives this way to shapes below 1.
        return gamma(shape + 1.0, random) * uniform(random).powf(1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(random).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// Draws a normal variable by the method of Box and Muller. The second number is thrown away, so
/// that the result depends on nothing but the stream.
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * random.next_f64()).cos()
}

/// Draws a number from (0, 1].
fn uniform(random: &mut Random) -> f64 {
    1.0 - random.next_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_units::Seed;

    /// Returns the mean of drawn sizes, and their standard deviation divided by the mean.
    fn moments(size: &str) -> (f64, f64) {
        let (size, mut random) = (size.parse().unwrap(), Random::new(Seed(11)));
        let drawn: Vec<f64> = (0..200_000).map(|_| draw(size, &mut random) as f64).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance =
            drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn means_and_spreads_are_those_of_the_distributions() {
        let near = |size: &str, mean: f64, spread: f64| {
            let found = moments(size);
            assert!((found.0 / mean - 1.0).abs() < 0.01, "{size}: mean {}", found.0);
            assert!(
                (found.1 - spread).abs() < 0.02 * spread.max(0.1),
                "{size}: spread {}",
                found.1
            );
        };
        near("16 KiB", 16384.0, 0.0);
        near("1 KiB to 3 KiB", 2048.0, 2048.0 / 12_f64.sqrt() / 2048.0);
        // The standard deviation of a gamma variable is its mean divided by the square root of its
        // shape.
        near("gamma 1.5, mean 16 KiB", 16384.0, 1.5_f64.sqrt().recip());
        near("gamma 0.5, mean 128 KiB", 131_072.0, 2_f64.sqrt());
        near("gamma 9, mean 1 MiB", 1_048_576.0, 1.0 / 3.0);
        near("lognormal 0.5, mean 64 KiB", 65536.0, (0.25_f64.exp() - 1.0).sqrt());
    }

    #[test]
    fn ends_are_reached_and_not_passed() {
        let (size, mut random) = ("3 B to 5 B".parse().unwrap(), Random::new(Seed(1)));
        let mut drawn: Vec<u64> = (0..1000).map(|_| draw(size, &mut random)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [3, 4, 5]);
    }
}

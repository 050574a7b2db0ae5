//! Draws the values of simulated trials.

use disklab_units::{Random, Seed};

/// A measure of the trials of one cell, before its scale. The logarithm is drawn, so that effects
/// add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The measure is lognormal.
    Normal,
    /// The measure is exponential: many values are small, few are large; its logarithm is skewed to
    /// the left.
    Exponential,
    /// The measure is Pareto with infinite variance: its logarithm is skewed to the right.
    Pareto,
    /// The logarithm is t-distributed with 2 degrees of freedom, and has infinite variance itself.
    HeavyTails,
    /// The logarithm is Cauchy-distributed, and has no mean itself.
    Cauchy,
    /// A tenth of the trials is five times as slow, as with a background job.
    Outliers,
    Uniform,
    /// The measure has either of two values with equal chance, like the process id of the `pid`
    /// policy.
    TwoValues,
    /// The measure has two values and a little noise.
    TwoModes,
    /// The measure has three values equally spaced: the worst kind for t with 5 pairs or more.
    ThreeValues,
    /// The measure has four values equally spaced: the worst kind for t with 4 pairs.
    FourValues,
    /// The measure is a percentile from a histogram with 64 bins per octave, of trials that differ
    /// by some bins.
    Bins,
}

pub const SHAPES: [Shape; 12] = [
    Shape::Normal,
    Shape::Exponential,
    Shape::Pareto,
    Shape::HeavyTails,
    Shape::Cauchy,
    Shape::Outliers,
    Shape::Uniform,
    Shape::TwoValues,
    Shape::TwoModes,
    Shape::ThreeValues,
    Shape::FourValues,
    Shape::Bins,
];

pub struct TrialSource {
    random: Random,
}

impl TrialSource {
    /// Returns a source with a stream of its own, derived from `name`.
    pub fn new(name: &str) -> Self {
        Self { random: Random::new(Seed(4).derive(name)) }
    }

    pub fn uniform(&mut self) -> f64 {
        self.random.next_f64()
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    /// Returns a uniform number above zero.
    fn positive(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    pub fn exponential(&mut self) -> f64 {
        -self.positive().ln()
    }

    /// Returns a normal number by Box and Muller's method, which gives two; the other is dropped.
    pub fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn logarithm(&mut self, shape: Shape) -> f64 {
        match shape {
            Shape::Normal => self.normal(),
            Shape::Exponential => self.exponential().ln(),
            Shape::Pareto => self.exponential() / 1.5,
            Shape::HeavyTails => (self.normal() / self.exponential().sqrt()).clamp(-300.0, 300.0),
            Shape::Cauchy => {
                (std::f64::consts::PI * (self.uniform() - 0.5)).tan().clamp(-300.0, 300.0)
            }
            Shape::Outliers => {
                0.1 * self.normal() + if self.below(10) == 0 { 5.0_f64.ln() } else { 0.0 }
            }
            Shape::Uniform => self.uniform(),
            Shape::TwoValues => self.below(2) as f64,
            Shape::TwoModes => self.below(2) as f64 + 0.02 * self.normal(),
            Shape::ThreeValues => self.below(3) as f64,
            Shape::FourValues => self.below(4) as f64,
            Shape::Bins => (self.normal() * 1.5).round() / 64.0,
        }
    }

    /// Returns the measure of `n` trials.
    pub fn trials(&mut self, shape: Shape, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.logarithm(shape).exp()).collect()
    }
}

/// Counts how often an event occurs.
#[derive(Default, Clone, Copy)]
pub struct Rate {
    hits: usize,
    of: usize,
}

impl Rate {
    pub fn count(&mut self, hit: bool) {
        self.hits += usize::from(hit);
        self.of += 1;
    }

    pub fn percent(self) -> f64 {
        100.0 * self.hits as f64 / self.of as f64
    }

    /// Returns three standard deviations of a rate of 5 % in this number of simulations, in
    /// percentage points.
    pub fn noise(self) -> f64 {
        300.0 * (0.05 * 0.95 / self.of as f64).sqrt()
    }

    /// Checks that the rate is at most `percent`, plus the noise of the simulation.
    #[track_caller]
    pub fn assert_at_most(self, percent: f64, what: &str) {
        assert!(
            self.percent() <= percent + self.noise(),
            "{what}: {:.2} %, more than {percent} %",
            self.percent()
        );
    }
}

/// A table that is printed as a whole, at its end, because tests run side by side.
pub struct Table(String);

impl Table {
    pub fn new(title: &str) -> Self {
        Self(format!("\n{title}\n"))
    }

    pub fn row(&mut self, name: &str, cells: impl IntoIterator<Item = f64>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| format!("{cell:8.2}")).collect();
        self.0.extend([&format!("{name:<34}"), cells.concat().as_str(), "\n"]);
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        print!("{}", self.0);
    }
}

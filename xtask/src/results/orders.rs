//! Compares the requests of two policies, here and in the published tables.

use std::cmp::Ordering;

use disklab_results::Spread;

/// Difference, as a share of the greater number, below which two numbers are a tie.
pub const TIE: f64 = 0.05;

/// Compares two numbers: `Less` means that the first is smaller, and `Equal` is a tie.
pub fn compare_numbers(one: f64, other: f64) -> Ordering {
    if (one - other).abs() < TIE * one.max(other) { Ordering::Equal } else { one.total_cmp(&other) }
}

/// Compares two spreads over seeds. Overlapping ranges are a tie too.
pub fn of_seeds(one: &Spread, other: &Spread) -> Ordering {
    if one.overlaps(other) { Ordering::Equal } else { compare_numbers(one.median, other.median) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Agreed,
    Reversed,
    TiedInBoth,
    TiedHere,
    TiedThere,
}

pub const VERDICTS: [(Verdict, &str); 5] = [
    (Verdict::Agreed, "agreed"),
    (Verdict::Reversed, "reversed"),
    (Verdict::TiedInBoth, "tied in both"),
    (Verdict::TiedHere, "tied here only"),
    (Verdict::TiedThere, "tied there only"),
];

impl Verdict {
    pub fn compare(ours: Ordering, theirs: Ordering) -> Self {
        match (ours, theirs) {
            (Ordering::Equal, Ordering::Equal) => Self::TiedInBoth,
            (Ordering::Equal, _) => Self::TiedHere,
            (_, Ordering::Equal) => Self::TiedThere,
            (ours, theirs) if ours == theirs => Self::Agreed,
            _ => Self::Reversed,
        }
    }
}

/// Number of pairs with each verdict, in the order of [`VERDICTS`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts(pub [usize; 5]);

impl Counts {
    pub fn add(&mut self, verdict: Verdict) {
        for ((known, _), count) in VERDICTS.iter().zip(&mut self.0) {
            *count += usize::from(*known == verdict);
        }
    }

    /// Returns the number of pairs with a verdict.
    pub fn with(&self, verdict: Verdict) -> usize {
        let counts = VERDICTS.iter().zip(&self.0).filter(|((known, _), _)| *known == verdict);
        counts.map(|(_, count)| count).sum()
    }

    pub fn add_all(&mut self, others: Self) {
        for (count, other) in self.0.iter_mut().zip(others.0) {
            *count += other;
        }
    }
}

/// Lists policies from most to fewest, with ` > ` between neighbours that differ and ` = ` between
/// ties.
pub fn chain<T>(all: &[(&str, T)], value: fn(&T) -> f64, order: fn(&T, &T) -> Ordering) -> String {
    let mut sorted: Vec<_> = all.iter().collect();
    sorted.sort_by(|(_, one), (_, other)| value(other).total_cmp(&value(one)));
    let mut text = String::new();
    for (at, (policy, own)) in sorted.iter().enumerate() {
        if let Some((_, before)) = at.checked_sub(1).map(|before| sorted[before]) {
            text.push_str(if order(before, own) == Ordering::Equal { " = " } else { " > " });
        }
        text.push_str(policy);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(min: f64, max: f64) -> Spread {
        Spread { min, median: min.midpoint(max), max }
    }

    #[test]
    fn ties_are_small_differences_and_ranges_that_overlap() {
        assert_eq!(compare_numbers(95.1, 100.0), Ordering::Equal);
        assert_eq!(compare_numbers(95.0, 100.0), Ordering::Less);
        assert_eq!(compare_numbers(0.0, 0.0), Ordering::Equal);
        assert_eq!(of_seeds(&spread(90.0, 110.0), &spread(109.0, 180.0)), Ordering::Equal);
        assert_eq!(of_seeds(&spread(111.0, 180.0), &spread(90.0, 110.0)), Ordering::Greater);
        assert_eq!(of_seeds(&spread(100.0, 100.0), &spread(101.0, 101.0)), Ordering::Equal);
    }

    #[test]
    fn every_pair_of_orders_has_its_verdict() {
        use Ordering::{Equal, Greater, Less};
        for (ours, theirs, verdict) in [
            (Less, Less, Verdict::Agreed),
            (Less, Greater, Verdict::Reversed),
            (Equal, Equal, Verdict::TiedInBoth),
            (Equal, Less, Verdict::TiedHere),
            (Greater, Equal, Verdict::TiedThere),
        ] {
            assert_eq!(Verdict::compare(ours, theirs), verdict);
        }
    }

    #[test]
    fn a_chain_is_sorted_and_marks_neighbours() {
        let all = [("pid", 50.0), ("queue", 100.0), ("latency", 98.0)];
        assert_eq!(
            chain(&all, |value| *value, |one, other| compare_numbers(*one, *other)),
            "queue = latency > pid"
        );
    }
}

//! Which of several points no other beats in both of two numbers.

use crate::verdict::Better;

/// The places of the points that are on the front, by the first number. A point that another equals
/// in both is on it too.
pub fn front(points: &[(f64, f64)], better: (Better, Better)) -> Vec<usize> {
    let is_better = |one: f64, other: f64, better: Better| match better {
        Better::Higher => one > other,
        Better::Lower => one < other,
    };
    let beats = |one: &(f64, f64), other: &(f64, f64)| {
        let worse = is_better(other.0, one.0, better.0) || is_better(other.1, one.1, better.1);
        let any = is_better(one.0, other.0, better.0) || is_better(one.1, other.1, better.1);
        any && !worse
    };
    let finite = |point: &(f64, f64)| point.0.is_finite() && point.1.is_finite();
    let mut places: Vec<usize> = (0..points.len())
        .filter(|&at| {
            finite(&points[at])
                && !points.iter().any(|other| finite(other) && beats(other, &points[at]))
        })
        .collect();
    places.sort_by(|&one, &other| points[one].0.total_cmp(&points[other].0).then(one.cmp(&other)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beaten_in_both_is_not_on_the_front() {
        // Throughput, which should be high, and a latency, which should be low.
        let points =
            [(100.0, 9.0), (200.0, 8.0), (300.0, 12.0), (250.0, 12.5), (200.0, 8.0), (50.0, 1.0)];
        assert_eq!(front(&points, (Better::Higher, Better::Lower)), [5, 1, 4, 2]);
        assert_eq!(front(&points, (Better::Higher, Better::Higher)), [3, 2]);
        assert_eq!(front(&[], (Better::Higher, Better::Lower)), [0; 0]);
        assert_eq!(front(&[(f64::NAN, 1.0), (1.0, 1.0)], (Better::Higher, Better::Lower)), [1]);
    }
}

//! Finds the points that no other point beats in both of two numbers.

use std::cmp::Ordering;

use crate::Better;

/// Returns the indices of the points on the front, by the first number. If another point is equal
/// in both numbers, both are on the front. Points that are not finite are not on it.
pub fn front(points: &[(f64, f64)], better: (Better, Better)) -> Vec<usize> {
    let beats = |one: &(f64, f64), other: &(f64, f64)| {
        let orders = [better.0.order(one.0, other.0), better.1.order(one.1, other.1)];
        !orders.contains(&Ordering::Less) && orders.contains(&Ordering::Greater)
    };
    let finite = |point: &(f64, f64)| point.0.is_finite() && point.1.is_finite();
    let on_front = |&index: &usize| {
        let point = &points[index];
        finite(point) && !points.iter().any(|other| finite(other) && beats(other, point))
    };
    let mut front: Vec<usize> = (0..points.len()).filter(on_front).collect();
    front.sort_by(|&one, &other| points[one].0.total_cmp(&points[other].0));
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beaten_in_both_is_not_on_the_front() {
        // Throughput should be high, and latency low.
        let points =
            [(100.0, 9.0), (200.0, 8.0), (300.0, 12.0), (250.0, 12.5), (200.0, 8.0), (50.0, 1.0)];
        assert_eq!(front(&points, (Better::Higher, Better::Lower)), [5, 1, 4, 2]);
        assert_eq!(front(&points, (Better::Higher, Better::Higher)), [3, 2]);
        assert_eq!(front(&[], (Better::Higher, Better::Lower)), [0; 0]);
        assert_eq!(front(&[(f64::NAN, 1.0), (1.0, 1.0)], (Better::Higher, Better::Lower)), [1]);
    }
}

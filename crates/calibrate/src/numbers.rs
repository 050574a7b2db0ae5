//! Statistics of samples.

pub(crate) use disklab_units::average::{mean, median, quantile};

/// Returns the median absolute deviation of the values from `middle`.
pub(crate) fn spread(values: &[f64], middle: f64) -> f64 {
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// Returns the root mean square.
pub(crate) fn rms(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.into_iter().fold((0.0, 0_u32), |(sum, count), x| (sum + x * x, count + 1));
    (sum / f64::from(count.max(1))).sqrt()
}

/// Returns the straight line of least squares through points: the value at 0, the slope, and the
/// root mean square of the residuals.
pub(crate) fn line(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let xs: Vec<f64> = points.iter().map(|point| point.0).collect();
    let ys: Vec<f64> = points.iter().map(|point| point.1).collect();
    let (x, y) = (mean(&xs), mean(&ys));
    let across: f64 = points.iter().map(|(px, py)| (px - x) * (py - y)).sum();
    let along: f64 = points.iter().map(|(px, _)| (px - x).powi(2)).sum();
    let slope = if along > 0.0 { across / along } else { 0.0 };
    let start = y - slope * x;
    (start, slope, rms(points.iter().map(|(px, py)| py - start - slope * px)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_on_a_line() {
        let (start, slope, beside) = line(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]);
        assert!((start - 3.0).abs() < 1e-9 && (slope - 2.0).abs() < 1e-9 && beside < 1e-9);
    }
}

//! Normal and Student's t distribution, by way of statrs. Its quantiles agree with SciPy's to 1e-11
//! (tests/scipy.rs).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Returns the value below which a standard normal value is with chance `p`. The value is infinite
/// for 0 and 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    match p {
        p if p <= 0.0 => f64::NEG_INFINITY,
        p if p >= 1.0 => f64::INFINITY,
        p => Normal::standard().inverse_cdf(p),
    }
}

/// Returns the chance that Student's t with `degrees` of freedom exceeds `t`.
pub(crate) fn t_upper(t: f64, degrees: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(student) if t.is_finite() => student.sf(t),
        _ if t == f64::NEG_INFINITY => 1.0,
        _ => 0.0,
    }
}

/// Returns the value that Student's t with `degrees` of freedom exceeds with chance `upper`, which
/// is below a half.
pub(crate) fn t_critical(upper: f64, degrees: f64) -> f64 {
    // The lower tail keeps its digits, while `1 - upper` would lose them.
    let t = StudentsT::new(0.0, 1.0, degrees)
        .map_or(f64::INFINITY, |student| -student.inverse_cdf(upper));
    // statrs 0.19.1 is wrong by factors far out with one degree of freedom: upper = 5e-10 gives
    // 7.7e7 instead of 6.4e8.
    if (t_upper(t, degrees) / upper - 1.0).abs() < 1e-9 { t } else { t_by_halving(upper, degrees) }
}

fn t_by_halving(upper: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while t_upper(high, degrees) > upper && high < f64::MAX / 4.0 {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-14 * high {
        let middle = f64::midpoint(low, high);
        if t_upper(middle, degrees) > upper {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

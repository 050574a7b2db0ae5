//! Times of which some are only known to be longer than a limit.
//!
//! A program that had not started after 60 s is the most important observation of all. To drop it
//! makes the slowest policy look best.

use std::cmp::Ordering;

use crate::error::{above_zero, at_least};
use crate::mann_whitney::rank_test;
use crate::permutation::Count;
use crate::{Error, RankTest};

/// One observed time, in any unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Time {
    Exactly(f64),
    /// It was given up after so long: right-censored.
    LongerThan(f64),
}

impl Time {
    fn value(self) -> f64 {
        match self {
            Self::Exactly(value) | Self::LongerThan(value) => value,
        }
    }

    /// What is known of the order; `Equal` too where nothing is.
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Exactly(one), Self::Exactly(other)) => {
                one.partial_cmp(other).unwrap_or(Ordering::Equal)
            }
            (Self::Exactly(one), Self::LongerThan(limit)) if one <= limit => Ordering::Less,
            (Self::LongerThan(limit), Self::Exactly(other)) if other <= limit => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

/// The median by the estimate of Kaplan and Meier ("Nonparametric estimation from incomplete
/// observations", JASA 1958): the first time by which half have ended.
///
/// Where exactly half have ended by one time, the middle between it and the next, so that without
/// censored times it is the ordinary median. `LongerThan` where fewer than half were seen to end:
/// with the last time at which anything was known.
pub fn median_time(times: &[Time]) -> Result<Time, Error> {
    check("times", times)?;
    let mut times = times.to_vec();
    // At one time, what ended then was still under observation: it comes before what was given up.
    let given_up = |time: &Time| matches!(time, Time::LongerThan(_));
    times.sort_unstable_by(|a, b| {
        a.value().total_cmp(&b.value()).then(given_up(a).cmp(&given_up(b)))
    });
    let mut lasting = 1.0;
    let mut half = None;
    for (at, time) in times.iter().enumerate() {
        let Time::Exactly(value) = *time else { continue };
        if let Some(half) = half {
            return Ok(Time::Exactly(f64::midpoint(half, value)));
        }
        lasting *= 1.0 - 1.0 / (times.len() - at) as f64;
        // Products of fractions: a half may be off by rounding.
        if (lasting - 0.5_f64).abs() < 1e-9 {
            half = Some(value);
        } else if lasting < 0.5 {
            return Ok(Time::Exactly(value));
        }
    }
    Ok(Time::LongerThan(half.unwrap_or(times[times.len() - 1].value())))
}

/// Does one sample of times tend to be longer? Gehan's test ("A generalized Wilcoxon test for
/// comparing arbitrarily singly-censored samples", Biometrika 1965), exact up to 60 times together,
/// beyond that by its permutation variance.
///
/// A time is longer than another where that is certain; otherwise they tie. With one limit for all
/// this is [`crate::mann_whitney`] with all that were given up in the highest place. It holds its
/// level where both samples come from one distribution with the same limits.
pub fn censored_rank_test(left: &[Time], right: &[Time]) -> Result<RankTest, Error> {
    check("left", left)?;
    check("right", right)?;
    rank_test(left, right, Time::order, Count::for_values(left.len() + right.len()))
}

fn check(what: &'static str, times: &[Time]) -> Result<(), Error> {
    at_least(what, times.len(), 1)?;
    times.iter().try_for_each(|time| above_zero(what, time.value()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mann_whitney;
    use Time::{Exactly, LongerThan};

    fn exact(values: &[f64]) -> Vec<Time> {
        values.iter().copied().map(Exactly).collect()
    }

    #[test]
    fn medians() {
        let cases = [
            (exact(&[3.0, 1.0, 2.0]), Exactly(2.0)),
            (exact(&[4.0, 1.0, 2.0, 3.0]), Exactly(2.5)),
            (vec![Exactly(5.0), LongerThan(60.0), Exactly(9.0)], Exactly(9.0)),
            (vec![Exactly(5.0), LongerThan(60.0), LongerThan(60.0)], LongerThan(60.0)),
            // Half ended by 5 s. The other half is somewhere above 60 s: so is the upper of the two
            // middle times.
            (vec![Exactly(5.0), LongerThan(60.0)], LongerThan(5.0)),
            (vec![LongerThan(60.0)], LongerThan(60.0)),
            (vec![LongerThan(5.0), Exactly(5.0), Exactly(5.0)], Exactly(5.0)),
        ];
        for (times, expected) in cases {
            assert_eq!(median_time(&times), Ok(expected), "{times:?}");
        }
    }

    /// The textbook case: remission of leukaemia under 6-MP (Freireich 1963, as in Gehan 1965),
    /// median 23 weeks.
    #[test]
    fn leukaemia() {
        let ended = [6, 6, 6, 7, 10, 13, 16, 22, 23].map(|weeks| Exactly(f64::from(weeks)));
        let censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
            .map(|weeks| LongerThan(f64::from(weeks)));
        let treated = [ended.as_slice(), &censored].concat();
        assert_eq!(median_time(&treated), Ok(Exactly(23.0)));
        let placebo = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23];
        let placebo = exact(&placebo.map(f64::from));
        assert_eq!(median_time(&placebo), Ok(Exactly(8.0)));
        let test = censored_rank_test(&treated, &placebo).unwrap();
        // Gehan's W is wins less losses: 271 there.
        assert_eq!(2.0 * test.u - 21.0 * 21.0, 271.0);
        assert!(test.tails.two_sided() < 0.0005);
    }

    #[test]
    fn one_limit_for_all_is_a_tie_in_the_highest_place() {
        let left = [Exactly(3.0), Exactly(8.0), LongerThan(60.0), LongerThan(60.0)];
        let right = [Exactly(1.0), Exactly(3.0), Exactly(4.0), LongerThan(60.0), Exactly(2.0)];
        let as_numbers = mann_whitney(&[3.0, 8.0, 99.0, 99.0], &[1.0, 3.0, 4.0, 99.0, 2.0]);
        assert_eq!(censored_rank_test(&left, &right), as_numbers);
    }

    #[test]
    fn nothing_is_made_up_between_different_limits() {
        assert_eq!(LongerThan(10.0).order(&Exactly(20.0)), Ordering::Equal);
        assert_eq!(LongerThan(10.0).order(&LongerThan(60.0)), Ordering::Equal);
        assert_eq!(Exactly(10.0).order(&LongerThan(10.0)), Ordering::Less);
    }

    #[test]
    fn a_time_is_a_positive_number() {
        assert!(median_time(&[]).is_err());
        assert!(median_time(&[Exactly(-1.0)]).is_err());
        assert!(censored_rank_test(&[LongerThan(f64::INFINITY)], &[Exactly(1.0)]).is_err());
    }
}

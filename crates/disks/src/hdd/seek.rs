//! The seek time of the arm for each distance.

use disklab_units::Nanos;

/// The arm's times by distance, in ns. A distance of 0 takes no time.
pub(crate) enum SeekTimes {
    Curve(SeekCurve),
    /// Measured times, indexed by distance from 0. Longer distances take as long as the last one.
    /// The vector is not empty.
    Table(Vec<u64>),
}

impl SeekTimes {
    pub fn table(times: &[Nanos]) -> Self {
        let mut times: Vec<u64> = times.iter().map(|time| time.0).collect();
        times.resize(times.len().max(1), 0);
        times[0] = 0;
        Self::Table(times)
    }

    #[inline]
    pub fn time(&self, cylinders: u32) -> u64 {
        let time = match self {
            Self::Curve(curve) => curve.time(cylinders),
            Self::Table(times) => times[(cylinders as usize).min(times.len() - 1)],
        };
        #[cfg(test)]
        let time = if crate::plant::Bug::ShortSeeks.is_planted() { time / 2 } else { time };
        time
    }
}

/// A seek curve: `a + b sqrt(d)` below the knee, `c + e d` from it on. During a short seek the arm
/// accelerates and brakes, so time grows with the square root of the distance; during a long one it
/// also coasts, and time grows linearly (Ruemmler and Wilkes, "An introduction to disk drive
/// modeling", IEEE Computer 1994).
pub(crate) struct SeekCurve {
    a: f64,
    b: f64,
    c: f64,
    e: f64,
    knee: f64,
}

/// Returns the curve for the parameter's value at which [`SeekCurve::fit`] finds enough, by
/// bisection between two values of which the first gives too little.
fn halve(
    mut low: f64,
    mut high: f64,
    is_too_little: impl Fn(f64) -> bool,
    curve: impl Fn(f64) -> SeekCurve,
) -> SeekCurve {
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if is_too_little(middle) { low = middle } else { high = middle }
    }
    curve(f64::midpoint(low, high))
}

const TWO_52: f64 = (1_u64 << 52) as f64;

impl SeekCurve {
    /// Returns the curve that takes `track` over one cylinder, `full` over all of them, and
    /// `average` on average over all pairs of cylinders, as data sheets define it (for example
    /// section 4.4.1.1 of the Ultrastar C15K600's). That average is somewhat less than the time
    /// over the average distance, a third of the stroke, because the curve bends down.
    pub fn fit(track: Nanos, average: Nanos, full: Nanos, cylinders: u32) -> Self {
        let [track, average, full] = [track, average, full].map(|time| time.0 as f64);
        let last = f64::from(cylinders.max(5) - 1);
        let third = |at_third| Self::through(track, at_third, full, last);
        // If the average is near one of the other two times, the curve bends elsewhere than at the
        // third.
        if third(full).average(last) < average {
            let steep = |root_of_knee| Self::flat_behind(track, root_of_knee, full);
            let root_of_third = (last / 3.0).sqrt();
            return halve(root_of_third, 1.0, |root| steep(root).average(last) < average, steep);
        }
        if third(track).average(last) > average {
            let late = |knee| Self::flat_before(track, knee, full, last);
            let latest = (last * 0.999).min(last - 1.0);
            return halve(latest, last / 3.0, |knee| late(knee).average(last) < average, late);
        }
        // The average grows with the time at the third, so bisection finds that time.
        halve(track, full, |at_third| third(at_third).average(last) < average, third)
    }

    /// Returns the curve that takes the full stroke's time from the knee on.
    fn flat_behind(track: f64, root_of_knee: f64, full: f64) -> Self {
        // With a knee at one cylinder the curve is a step, and its slope does not matter.
        let b = (full - track) / (root_of_knee - 1.0).max(1e-6);
        Self { a: track - b, b, c: full, e: 0.0, knee: root_of_knee * root_of_knee }
    }

    /// Returns the curve that takes one cylinder's time up to the knee.
    fn flat_before(track: f64, knee: f64, full: f64, last: f64) -> Self {
        let e = (full - track) / (last - knee);
        Self { a: track, b: 0.0, c: track - e * knee, e, knee }
    }

    /// Returns the curve through the times over one cylinder, a third of the stroke and the full
    /// stroke. If the three times allow, the line is the root's tangent at the knee. Otherwise (a
    /// full stroke hardly longer than a third) the knee is at the third. Either way the curve has
    /// no jump.
    fn through(track: f64, at_third: f64, full: f64, last: f64) -> Self {
        let third = last / 3.0;
        let e = (full - at_third) / (last - third);
        let c = at_third - e * third;
        // The tangent condition is b / (2 sqrt(knee)) = e with the same height there. Together with
        // a + b = track it gives:
        let root_of_knee = 1.0 + (1.0 + (c - track) / e).sqrt();
        let smooth_knee = root_of_knee * root_of_knee;
        // Without a slope or a real root, the knee is infinite or NaN and thus in no range.
        if (4.0..=third).contains(&smooth_knee) {
            let b = 2.0 * e * root_of_knee;
            return Self { a: track - b, b, c, e, knee: smooth_knee };
        }
        let b = (at_third - track) / (third.sqrt() - 1.0);
        Self { a: track - b, b, c, e, knee: third }
    }

    /// Returns the average time over all pairs of cylinders. Short distances weigh more, because
    /// more pairs have them.
    fn average(&self, last: f64) -> f64 {
        let steps = 512;
        let at = |step: u32| (f64::from(step) + 0.5) / f64::from(steps);
        let weighted = (0..steps).map(|step| 2.0 * (1.0 - at(step)) * self.curve(at(step) * last));
        weighted.sum::<f64>() / f64::from(steps)
    }

    /// Returns the time over a distance in ns. A distance of 0 takes no time.
    #[inline]
    pub fn time(&self, cylinders: u32) -> u64 {
        // At 2^52 a float has a resolution of 1, so adding it rounds. A cast would check for values
        // that cannot occur here.
        let time =
            (self.curve(f64::from(cylinders)).max(0.0) + TWO_52).to_bits() - TWO_52.to_bits();
        time * u64::from(cylinders > 0)
    }

    /// Returns the time over a distance, in ns. It computes both parts always: to choose one
    /// beforehand is a branch, and a branch that goes either way costs more.
    #[inline]
    fn curve(&self, distance: f64) -> f64 {
        let root = self.a + self.b * distance.sqrt();
        let line = self.c + self.e * distance;
        if distance < self.knee { root } else { line }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fit(times: [f64; 3], cylinders: u32) -> SeekCurve {
        let [track, average, full] = times.map(|ms| Nanos((ms * 1e6) as u64));
        SeekCurve::fit(track, average, full, cylinders)
    }

    #[test]
    fn knee_is_smooth_where_the_data_sheet_allows() {
        let curve = fit([1.0, 8.5, 17.0], 240_000);
        assert!(curve.knee < 79_999.0, "knee {}", curve.knee);
        let knee = curve.knee as u32;
        let slope = |from: u32| curve.time(from + 1_000) as f64 - curve.time(from) as f64;
        let (before, after) = (slope(knee - 1_000), slope(knee));
        assert!(
            (before - after).abs() / after < 0.01,
            "{before} ns, then {after} ns for 1000 cylinders"
        );
    }

    #[test]
    fn a_short_full_stroke_bends_at_the_third() {
        let curve = fit([0.23, 7.4, 10.0], 300_001);
        assert!((curve.knee - 100_000.0).abs() < 1.0);
    }

    /// A data sheet's average can lie anywhere between its other two times.
    #[test]
    fn has_every_average_between_track_and_full_stroke() {
        for cylinders in [2_000, 400_000] {
            for average in [1.0, 1.05, 1.5, 4.0, 5.6, 15.6, 16.0, 21.0, 29.0, 30.0] {
                let curve = fit([1.0, average, 30.0], cylinders);
                let samples = (0..4_000).map(|step| (f64::from(step) + 0.5) / 4_000.0);
                let weighted = samples.map(|part| {
                    let distance = (part * f64::from(cylinders - 1)).round() as u32;
                    2.0 * (1.0 - part) * curve.time(distance) as f64 / 4_000.0
                });
                let mean = weighted.sum::<f64>() / 1e6;
                assert!((mean - average).abs() < 0.02 * average, "{mean} ms, not {average} ms");
                let ends = [1, cylinders - 1].map(|distance| curve.time(distance));
                assert!(ends[0].abs_diff(1_000_000) <= 2, "over a track: {} ns", ends[0]);
                assert!(ends[1].abs_diff(30_000_000) <= 30, "full stroke: {} ns", ends[1]);
            }
        }
    }

    proptest! {
        /// The test computes the average by counting pairs of cylinders, one distance at a time.
        #[test]
        fn has_the_times_of_the_data_sheet(
            track in 0.1..2.0_f64,
            more in 2.0..10.0_f64,
            ratio in 1.6..2.1_f64,
            cylinders in 1_000..300_000_u32,
        ) {
            let average = track + more;
            let full = average * ratio;
            let curve = fit([track, average, full], cylinders);
            let near = |ns: u64, ms: f64, within: f64| {
                (ns as f64 - ms * 1e6).abs() <= within * ms * 1e6
            };
            prop_assert!(near(curve.time(1), track, 1e-5), "track: {} ns", curve.time(1));
            let last = curve.time(cylinders - 1);
            prop_assert!(near(last, full, 1e-5), "full: {} ns", last);
            let (mut time, mut pairs) = (0, 0);
            for distance in 1..cylinders {
                let weight = u128::from(cylinders - distance);
                time += weight * u128::from(curve.time(distance));
                pairs += weight;
            }
            let mean = (time / pairs) as u64;
            prop_assert!(near(mean, average, 0.005), "average: {mean} ns, not {average} ms");
        }

        #[test]
        fn further_never_takes_less(
            track in 0.0..3.0_f64,
            more in 0.0..12.0_f64,
            rest in 0.0..20.0_f64,
            cylinders in 1..600_000_u32,
        ) {
            let curve = fit([track, track + more, track + more + rest], cylinders);
            prop_assert_eq!(curve.time(0), 0);
            let mut last = 0;
            for step in 0..=1_000_u64 {
                let time = curve.time((step * u64::from(cylinders) / 1_000) as u32);
                prop_assert!(time + 1 >= last, "{last} ns, then {time} ns");
                last = time;
            }
        }
    }
}

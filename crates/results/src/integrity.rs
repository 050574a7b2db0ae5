//! Checks whether numbers, from disklab or from others, can be true together.
//!
//! The module does not know where the numbers come from. A missing number is not checked.

use disklab_units::Nanos;

use crate::remark::Remark;

/// The numbers that are claimed for one run of a load.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Claim {
    /// Number of requests that the load keeps in flight: iodepth times numjobs, or numjobs alone
    /// with a synchronous engine.
    pub in_flight: Option<u32>,
    /// Whether the load waits for something besides its requests (`rate`, `thinktime`), or does not
    /// keep all of them in flight. `in_flight` is then an upper limit.
    pub limited: bool,
    /// Whether unknown jobs may be counted too. `in_flight` is then a lower limit.
    pub grouped: bool,
    /// Bytes of each request.
    pub block: Option<u64>,
    /// The time for which the load was asked to measure; `ran` is the time for which it did.
    pub asked: Option<Nanos>,
    pub ran: Option<Nanos>,
    /// The numbers by direction, or those of all directions together. If empty, nothing is claimed.
    pub parts: Vec<DirectionClaim>,
    pub clock: Clock,
}

/// The numbers of one direction, or of all directions together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionClaim {
    pub iops: Option<f64>,
    pub bytes_per_second: Option<f64>,
    pub requests: Option<u64>,
    pub bytes: Option<u64>,
    /// Mean of the whole latency, from submission to completion, in ns.
    pub mean: Option<f64>,
    pub latency: Latency,
}

/// Latencies of the kind from which the percentiles are computed, in ns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    pub min: Option<f64>,
    pub mean: Option<f64>,
    pub max: Option<f64>,
    /// Percentiles as (percent, ns), rising.
    pub percentiles: Vec<(f64, f64)>,
}

impl Latency {
    /// Drops percentiles of a few whole microseconds or milliseconds, because their rounding is too
    /// coarse for a check.
    pub fn drop_coarse(&mut self) {
        const FEW: f64 = 20.0;
        let few = |ns: f64, unit: f64| ns > 0.0 && ns < FEW * unit && ns % unit == 0.0;
        self.percentiles.retain(|&(_, ns)| !few(ns, 1e3) && !few(ns, 1e6) && ns > 0.0);
    }
}

/// The clock of the measurement, which decides how closely rate times latency must match the
/// requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// Virtual time, in which only disks take time. The match must be within 5 %.
    Virtual,
    /// Real time. The program takes time between requests, which is in no latency, and tables are
    /// rounded. The match must be within a factor of two.
    #[default]
    Real,
}

impl Clock {
    const fn factor(self) -> f64 {
        match self {
            Self::Virtual => 1.05,
            Self::Real => 2.0,
        }
    }
}

/// Tolerance for tables of two or three digits. Bandwidth over IOPS may differ from the size of a
/// request by this much, and a latency may exceed its bound by this much.
const ROUNDING: f64 = 0.06;
/// Tolerance of the running time. A job stops at the end of a request, and reports its time in ms.
const RUNTIME_TOLERANCE: f64 = 0.01;
/// Limits of what is plausible: a mean from 100 ns to a day, 1 TiB/s, 10^9 requests per second.
const LATENCIES: std::ops::RangeInclusive<f64> = 100.0..=86_400e9;
const MOST_BYTES_PER_SECOND: f64 = (1_u64 << 40) as f64;
const MOST_IOPS: f64 = 1e9;

/// Returns everything that is wrong with a claim: contradictions, and numbers that are implausible.
/// It is empty if the claim can be true and is plausible.
pub fn check(claim: &Claim) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if let (Some(asked), Some(ran)) = (claim.asked, claim.ran)
        && (ran.0 as f64) < asked.0 as f64 * (1.0 - RUNTIME_TOLERANCE)
    {
        remarks.push(Remark::ShortRun { asked, ran });
    }
    // The implied mean is over reads and writes together, so it says nothing about one of two.
    let implied = implied_mean(claim).filter(|_| claim.parts.len() == 1);
    for part in &claim.parts {
        plausible(part, &mut remarks);
        ordered(&part.latency, &mut remarks);
        bytes(part, claim, &mut remarks);
        against_mean(&part.latency, implied, &mut remarks);
    }
    little(claim, &mut remarks);
    remarks
}

/// Returns the requests in flight by rate times latency, or `None` if a part lacks either.
pub fn in_flight(parts: &[DirectionClaim]) -> Option<f64> {
    let of = |part: &DirectionClaim| Some(part.iops? * part.mean? / 1e9);
    (!parts.is_empty()).then(|| parts.iter().map(of).sum::<Option<f64>>()).flatten()
}

/// Returns the least mean that rate and requests in flight allow, in ns. Returns None for a limited
/// load.
fn implied_mean(claim: &Claim) -> Option<f64> {
    let iops: f64 = claim.parts.iter().map(|part| part.iops).sum::<Option<f64>>()?;
    let asked = claim.in_flight.filter(|_| !claim.limited)?;
    (iops > 0.0).then(|| f64::from(asked) * (1.0 / claim.clock.factor() - edge(claim)) / iops * 1e9)
}

/// Returns the longest latency divided by the run: the largest share of latency that can lie
/// outside of the window. Such requests began before the window, or end after it.
fn edge(claim: &Claim) -> f64 {
    let longest = claim.parts.iter().filter_map(|part| part.latency.max).fold(0.0, f64::max);
    claim.ran.filter(|ran| ran.0 > 0).map_or(0.0, |ran| longest / ran.0 as f64)
}

fn little(claim: &Claim, remarks: &mut Vec<Remark>) {
    let (Some(asked), Some(measured)) = (claim.in_flight, in_flight(&claim.parts)) else { return };
    let at_most = f64::from(asked);
    let edge = edge(claim);
    let factor = claim.clock.factor();
    let too_many = !claim.grouped && measured > at_most * (factor + edge);
    let too_few = !claim.limited && measured < at_most * (1.0 / factor - edge);
    if measured > 0.0 && (too_many || too_few) {
        remarks.push(Remark::InFlight { measured, asked });
    }
}

fn plausible(part: &DirectionClaim, remarks: &mut Vec<Remark>) {
    let mut outside = |what: &str, value: Option<f64>, from: f64, to: f64, unit: &str| {
        if let Some(value) = value.filter(|value| !(from..=to).contains(value)) {
            remarks.push(Remark::Implausible {
                what: what.to_owned(),
                value,
                unit: unit.to_owned(),
            });
        }
    };
    outside("IOPS", part.iops, 0.0, MOST_IOPS, "");
    outside("bandwidth", part.bytes_per_second, 0.0, MOST_BYTES_PER_SECOND, "bytes/s");
    let (least, most) = (*LATENCIES.start(), *LATENCIES.end());
    // The least latency may be a cache's.
    outside("the least latency", part.latency.min, 0.0, most, "ns");
    outside("the mean latency", part.mean, least, most, "ns");
    outside("the greatest latency", part.latency.max, least, most, "ns");
    for &(percent, value) in &part.latency.percentiles {
        outside(&format!("p{percent}"), Some(value), 0.0, most, "ns");
    }
}

/// Checks that none of min, percentiles and max is below the one before, and that the mean is
/// within them.
fn ordered(latency: &Latency, remarks: &mut Vec<Remark>) {
    let least = latency.min.map(|value| (0.0, value));
    let most = latency.max.map(|value| (100.0, value));
    let all: Vec<(f64, f64)> =
        least.into_iter().chain(latency.percentiles.iter().copied()).chain(most).collect();
    for pair in all.windows(2) {
        let ((lower_percent, lower), (percent, value)) = (pair[0], pair[1]);
        // A histogram's bucket is as wide as a 64th of its value, and its middle may be beyond the
        // greatest latency.
        if value < lower * (1.0 - ROUNDING) {
            remarks.push(Remark::PercentileOrder { lower_percent, lower, percent, value });
        }
    }
    let outside = |mean: f64| {
        latency.min.is_some_and(|min| mean < min * (1.0 - ROUNDING))
            || latency.max.is_some_and(|max| mean > max * (1.0 + ROUNDING))
    };
    if let Some(mean) = latency.mean.filter(|&mean| outside(mean)) {
        remarks.push(Remark::MeanOutside {
            mean,
            min: latency.min.unwrap_or(0.0),
            max: latency.max,
        });
    }
}

/// Checks the bytes of a request: bytes over requests and bandwidth over IOPS must match `block`.
fn bytes(part: &DirectionClaim, claim: &Claim, remarks: &mut Vec<Remark>) {
    let positive = |value: &f64| *value > 0.0;
    let by_count =
        part.bytes.zip(part.requests).map(|(bytes, requests)| bytes as f64 / requests as f64);
    let by_rate =
        part.bytes_per_second.zip(part.iops.filter(positive)).map(|(bytes, iops)| bytes / iops);
    let Some(asked) = claim.block else {
        if let (Some(count), Some(rate)) = (by_count.filter(positive), by_rate.filter(positive))
            && (count / rate - 1.0).abs() > ROUNDING
        {
            remarks.push(Remark::RequestSize { found: rate, asked: count });
        }
        return;
    };
    // A rate of one digit determines the size only coarsely.
    let coarse = |per_second: f64| if per_second < 10.0 { 0.5 / per_second } else { 0.0 };
    let rounding = ROUNDING + part.iops.filter(positive).map_or(0.0, coarse);
    let asked = asked as f64;
    let wrong = |found: &f64, rounding: f64| (found / asked - 1.0).abs() > rounding;
    // fio counts the bytes of requests that were in flight when its ramp ended, and not always the
    // requests.
    let crossed = claim.in_flight.zip(part.requests);
    let crossed = crossed.map_or(0.0, |(depth, all)| f64::from(depth) / all as f64);
    let found = by_count.filter(|found| found.is_finite() && wrong(found, 0.01 + crossed));
    if let Some(found) = found.or_else(|| by_rate.filter(|found| wrong(found, rounding))) {
        remarks.push(Remark::RequestSize { found, asked });
    }
}

/// Checks percentiles against the mean. The mean is at least the contribution of its slowest
/// requests, and at most what the fastest requests leave possible.
fn against_mean(latency: &Latency, implied: Option<f64>, remarks: &mut Vec<Remark>) {
    let told = latency.mean.filter(|mean| *mean > 0.0);
    for &(percent, value) in &latency.percentiles {
        if percent >= 100.0 {
            continue;
        }
        let slower = 1.0 - percent / 100.0;
        // This part of the requests took at least `value`.
        if let Some(mean) = told.filter(|mean| value * slower > mean * (1.0 + ROUNDING)) {
            remarks.push(Remark::PercentileAgainstMean {
                percent,
                value,
                mean,
                slowest: None,
                plausible_from: None,
            });
            return;
        }
        let Some(mean) = told.into_iter().chain(implied).max_by(f64::total_cmp) else { continue };
        // The slower requests must have taken this long on average to give the mean, even if the
        // others took up to the percentile before rounding. Without the rounding, equal latencies
        // would be rejected.
        let slowest = (mean - value * (1.0 + ROUNDING) * (1.0 - slower)) / slower;
        let impossible = latency.max.is_some_and(|max| slowest > max * (1.0 + ROUNDING));
        // Without a maximum, the last percents may have a tail of any length. One of hundreds of
        // times the percentile is possible, but implausible.
        let plausible_from = Some(mean / 2.0)
            .filter(|from| latency.max.is_none() && percent >= 99.0 && value < *from);
        if impossible || plausible_from.is_some() {
            remarks.push(Remark::PercentileAgainstMean {
                percent,
                value,
                mean,
                slowest: Some(slowest),
                plausible_from,
            });
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a claim of 1000 requests per second of 1 ms each, rounded to a microsecond.
    fn steady(mean: f64) -> Claim {
        let latency = Latency {
            min: Some(1_000_000.0),
            mean: Some(mean),
            max: Some(1_009_000.0),
            percentiles: vec![(50.0, 1_003_520.0), (99.0, 1_003_520.0), (99.99, 1_003_520.0)],
        };
        let part = DirectionClaim {
            iops: Some(1000.0),
            mean: Some(mean),
            latency,
            ..DirectionClaim::default()
        };
        Claim { in_flight: Some(1), parts: vec![part], ..Claim::default() }
    }

    #[test]
    fn latencies_that_are_all_the_same_can_be() {
        assert_eq!(check(&steady(1_007_000.0)), []);
        assert!(!check(&steady(9_000_000.0)).is_empty());
    }

    #[test]
    fn reads_may_be_much_faster_than_the_writes_beside_them() {
        let part = |iops: f64, ms: f64| {
            let ns = ms * 1e6;
            let latency = Latency {
                min: Some(ns / 2.0),
                mean: Some(ns),
                max: Some(ns * 2.0),
                percentiles: vec![(99.0, ns * 1.5)],
            };
            DirectionClaim {
                iops: Some(iops),
                mean: Some(ns),
                latency,
                ..DirectionClaim::default()
            }
        };
        let claim = Claim {
            in_flight: Some(8),
            parts: vec![part(500.0, 0.1), part(500.0, 15.9)],
            ..Claim::default()
        };
        assert_eq!(check(&claim), []);
    }

    #[test]
    fn what_a_real_clock_allows_is_no_mean_that_contradicts_percentiles() {
        let claim = Claim { in_flight: Some(2), ..steady(1_007_000.0) };
        assert_eq!(check(&claim), []);
        assert_eq!(
            check(&Claim { in_flight: Some(4), ..claim }).len(),
            2,
            "the mean, and rate times latency"
        );
    }

    /// Without a greatest latency, any tail is possible: only a bound rejects a percentile.
    #[test]
    fn a_percentile_far_below_the_mean_is_implausible_unless_the_greatest_latency_forbids_it() {
        let claim = |p99: f64, max: Option<f64>| {
            let latency = Latency {
                mean: Some(45.5e6),
                max,
                percentiles: vec![(99.0, p99)],
                ..Latency::default()
            };
            Claim {
                parts: vec![DirectionClaim { latency, ..Default::default() }],
                ..Claim::default()
            }
        };
        let [implausible] = &check(&claim(9e6, None))[..] else { panic!("one remark") };
        assert_eq!(
            implausible.to_string(),
            "p99 of 9 ms is implausible beside a mean of 45.5 ms: the slowest 1 % of requests \
             would have to take at least 3.61 s on average"
        );
        assert!(implausible.is_implausible() && implausible.doubts());
        assert_eq!(implausible.in_doubt(), implausible.to_string());
        let text = serde_json::to_string(implausible).unwrap();
        assert!(text.contains(r#""plausible_from":22750000.0"#), "{text}");
        // A record of an older disklab lacks the bound.
        let old = text.replace(r#","plausible_from":22750000.0"#, "");
        let old: Remark = serde_json::from_str(&old).unwrap();
        assert!(!old.is_implausible(), "{old}");
        assert_eq!(check(&claim(23e6, None)), []);
        let [impossible] = &check(&claim(9e6, Some(100e6)))[..] else { panic!("one remark") };
        assert!(impossible.in_doubt().starts_with("its numbers cannot be true together: p99 of"));
        assert_eq!(check(&claim(9e6, Some(10e9))), []);
    }

    /// Tests a report of fio 3.33 at depth 1 after a ramp of 30 s, beside ten readers.
    #[test]
    fn a_request_that_crosses_the_end_of_the_ramp_is_no_other_size() {
        let claim = |bytes: u64| Claim {
            in_flight: Some(1),
            block: Some(4096),
            parts: vec![DirectionClaim {
                requests: Some(15),
                bytes: Some(bytes),
                ..DirectionClaim::default()
            }],
            ..Claim::default()
        };
        assert_eq!(check(&claim(16 * 4096)), []);
        assert_eq!(check(&claim(17 * 4096)).len(), 1);
    }

    #[test]
    fn a_mean_below_any_disk_is_implausible_and_a_negative_rate_cannot_be() {
        let part = |iops: f64, mean: f64| Claim {
            parts: vec![DirectionClaim {
                iops: Some(iops),
                mean: Some(mean),
                ..DirectionClaim::default()
            }],
            ..Claim::default()
        };
        let said = |claim: &Claim| check(claim).iter().map(Remark::in_doubt).collect::<Vec<_>>();
        assert_eq!(
            said(&part(1e4, 20.0)),
            ["the mean latency of 20 ns is implausible: no disk has it"]
        );
        assert_eq!(
            said(&part(-1.0, 1e6)),
            ["its numbers cannot be true together: IOPS of -1 cannot be"]
        );
    }

    #[test]
    fn few_whole_units_are_not_checked() {
        let percentiles =
            vec![(1.0, 0.0), (2.0, 19_000.0), (3.0, 19_500.0), (4.0, 21_000.0), (5.0, 3e6)];
        let mut latency = Latency { percentiles, ..Latency::default() };
        latency.drop_coarse();
        assert_eq!(latency.percentiles, [(3.0, 19_500.0), (4.0, 21_000.0)]);
    }
}

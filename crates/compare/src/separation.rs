//! The numbers that separate one choice from another, from its disks' recorded samples: the spread
//! of reads, the distance of requests, their service time and their waiting time.
//!
//! Something separates two choices if the ranges of all their trials are disjoint and their medians
//! differ by the smallest effect of interest. This concerns the recorded numbers only: their causal
//! order is not known.

mod fact;
mod time;

use disklab_results::sample::DeviceSample;
use disklab_results::{Sample, Spread};

use fact::{Sides, near};
use time::{Times, time};

pub use fact::{Fact, Side, Unit};

/// Largest difference, as a share, between the number of fio's requests and the disks' for both to
/// be the same requests.
const SAME_REQUESTS: f64 = 0.05;

/// Sentences without their full stops, and the numbers behind them.
#[derive(Debug, Clone, PartialEq)]
pub struct Separation {
    pub sentences: Vec<String>,
    pub facts: Vec<Fact>,
}

type Measure = fn(&Sample) -> Option<f64>;

const LATENCY: (&str, Unit, Measure) =
    ("mean latency", Unit::Nanos, |sample| positive(sample.lat_mean_ns));
const SERVICE: (&str, Unit, Measure) = ("mean service time at the disks", Unit::Nanos, service);
const WAITING: (&str, Unit, Measure) =
    ("mean wait: latency minus service time", Unit::Nanos, waiting);
const QUEUED: &str = "mean time in a disk's queue";
const BUSIEST_SHARE: (&str, Unit, Measure) =
    ("share of reads of the busiest disk", Unit::Share, |sample| {
        greatest(several(sample)?, |d| d.read_share)
    });
const UTILISATION_GAP: (&str, Unit, Measure) =
    ("utilisation of the busiest disk minus that of the least busy", Unit::Share, |sample| {
        let sample = several(sample)?;
        Some(greatest(sample, |d| Some(d.utilisation))? - least(sample, |d| Some(d.utilisation))?)
    });
const DEEPEST: (&str, Unit, Measure) =
    ("mean queue depth of the disk with the longest queue", Unit::Count, |sample| {
        greatest(sample, |d| d.depth_mean)
    });
const DISTANCE: (&str, Unit, Measure) =
    ("mean distance from one request of a disk to the next", Unit::Bytes, |sample| {
        weighted(sample, |d| d.distance_mean_bytes)
    });

/// Finds the numbers that separate `treatment` from `baseline`; changes below `smallest` (a share)
/// are of no interest.
pub fn separation(treatment: Side, baseline: Side, smallest: f64) -> Separation {
    let sides = Sides::new(treatment, baseline, smallest);
    let fact = |(name, unit, measure): (&'static str, Unit, Measure)| {
        let values = |side: Side| side.samples.iter().filter_map(|one| measure(one)).collect();
        sides.fact(name, unit, values)
    };
    let facts = [
        fact(BUSIEST_SHARE),
        fact(UTILISATION_GAP),
        fact(DEEPEST),
        fact(LATENCY),
        fact(SERVICE),
        fact(WAITING),
        sides.fact(QUEUED, Unit::Nanos, |side| side.queued.to_vec()),
        fact(DISTANCE),
    ];
    let [shares, gap, deepest, latency, service, waiting, queued, distance] = &facts;
    let range = "the utilisation of the busiest and the least busy disk differs by";
    let apart = "on average from the end of the previous request of its disk";
    let said = [
        spread_of_reads(shares, treatment, baseline),
        sides.in_words(gap, range, ""),
        sides.in_words(deepest, "the disk with the longest queue has", " requests on average"),
        time(&Times { latency, service, waiting, queued }, sides),
        sides.in_words(distance, "a request begins", &format!(" {apart}")),
    ];
    let mut sentences: Vec<String> = said.into_iter().flatten().collect();
    if sides.are_few() {
        sentences = vec![
            "With fewer than two trials on a side, a difference cannot be compared with the spread \
             of the trials"
                .to_owned(),
        ];
    } else if sentences.is_empty() {
        sentences = vec![format!(
            "no recorded number of the disks separates {} from {}: the ranges of their trials \
             overlap, or their medians differ by less than the smallest effect",
            treatment.name, baseline.name
        )];
    }
    Separation { sentences, facts: facts.into() }
}

/// Describes the spread of reads: all shares of the more even side, and the share of the other
/// side's busiest disk.
fn spread_of_reads(fact: &Fact, treatment: Side, baseline: Side) -> Option<String> {
    let (one, other) = (fact.treatment.filter(|_| fact.apart)?.median, fact.baseline?.median);
    let (even, uneven, most) =
        if one < other { (treatment, baseline, other) } else { (baseline, treatment, one) };
    let most = Unit::Share.show(most);
    let busiest = match busiest(uneven) {
        Some(disk) => format!("{disk} serves {most}"),
        None => format!("one disk serves {most}, which one depends on the seed"),
    };
    let (even_shares, ranked) = shares(even);
    let order = if ranked { " (the busiest disk of each seed first)" } else { "" };
    Some(format!(
        "with {}, the disks serve {even_shares} % of the reads{order}; with {}, {busiest}",
        even.name, uneven.name
    ))
}

/// Formats the shares in whole per cent, `12/12/13`. Also returns whether they are by rank.
fn shares(side: Side) -> (String, bool) {
    let (shares, ranked) = read_shares(side.samples);
    let told = |share: &Option<f64>| {
        share.map_or_else(|| "-".to_owned(), |share| format!("{:.0}", share * 100.0))
    };
    (shares.iter().map(told).collect::<Vec<_>>().join("/"), ranked)
}

/// Returns the medians over trials of each disk's share of reads, 0 to 1. If another disk has most
/// reads from trial to trial, these medians would look even. In that case, and with true, it
/// returns the medians by rank: of the busiest disk in each trial, the next, and so on.
pub fn read_shares(samples: &[&Sample]) -> (Vec<Option<f64>>, bool) {
    let of = |sample: &&Sample| -> Vec<Option<f64>> {
        sample.devices.iter().map(|disk| disk.read_share).collect()
    };
    let trials: Vec<Vec<Option<f64>>> = samples.iter().map(of).collect();
    let by_disk = medians(&trials);
    let descending = |trial: &Vec<Option<f64>>| {
        let mut ranked = trial.clone();
        ranked.sort_by(|one, other| other.unwrap_or(-1.0).total_cmp(&one.unwrap_or(-1.0)));
        ranked
    };
    let by_rank = medians(&trials.iter().map(descending).collect::<Vec<_>>());
    let most = |shares: &[Option<f64>]| shares.iter().copied().flatten().fold(0.0, f64::max);
    if most(&by_rank) > most(&by_disk) + WANDERS { (by_rank, true) } else { (by_disk, false) }
}

/// Least difference between the busiest disk's share and the greatest of the disks' own medians if
/// it is not the same disk.
const WANDERS: f64 = 0.05;

/// Returns the medians by index.
fn medians(trials: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let places = trials.iter().map(Vec::len).max().unwrap_or(0);
    let median = |place: usize| {
        let all = trials.iter().filter_map(|trial| trial.get(place).copied().flatten());
        Spread::over(all).map(|share| share.median)
    };
    (0..places).map(median).collect()
}

/// Returns the disk with most reads, if it is the same in all trials.
fn busiest(side: Side<'_>) -> Option<&str> {
    let of = |sample: &&'_ Sample| -> Option<usize> {
        let shares =
            sample.devices.iter().enumerate().filter_map(|(at, disk)| Some((at, disk.read_share?)));
        shares.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(at, _)| at)
    };
    let first = of(side.samples.first()?)?;
    let same = side.samples.iter().all(|sample| of(sample) == Some(first));
    let disk = &side.samples[0].devices[first];
    same.then_some(disk.name.as_str())
}

fn positive(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then_some(value)
}

/// Returns the sample if it has several disks, since one disk alone shares nothing.
fn several(sample: &Sample) -> Option<&Sample> {
    (sample.devices.len() > 1).then_some(sample)
}

fn greatest(sample: &Sample, of: impl Fn(&DeviceSample) -> Option<f64>) -> Option<f64> {
    sample.devices.iter().filter_map(of).max_by(f64::total_cmp)
}

fn least(sample: &Sample, of: impl Fn(&DeviceSample) -> Option<f64>) -> Option<f64> {
    sample.devices.iter().filter_map(of).min_by(f64::total_cmp)
}

/// Returns the mean weighted by the requests of all disks.
fn weighted(sample: &Sample, of: impl Fn(&DeviceSample) -> Option<f64>) -> Option<f64> {
    let (mut sum, mut requests) = (0.0, 0.0);
    for disk in &sample.devices {
        if let Some(value) = of(disk) {
            let own = (disk.reads + disk.writes) as f64;
            sum += value * own;
            requests += own;
        }
    }
    (requests > 0.0).then(|| sum / requests)
}

fn service(sample: &Sample) -> Option<f64> {
    weighted(sample, |disk| disk.service_mean_ns.map(|service| service.0 as f64))
}

/// Returns the waiting time if fio's requests are the disks': none is split, none is a
/// background's, none is answered from memory.
fn waiting(sample: &Sample) -> Option<f64> {
    let disks: u64 = sample.devices.iter().map(|disk| disk.reads + disk.writes).sum();
    near(disks as f64, sample.requests as f64, SAME_REQUESTS)
        .then(|| Some((positive(sample.lat_mean_ns)? - service(sample)?).max(0.0)))?
}

#[cfg(test)]
mod tests {
    use disklab_units::Nanos;

    use super::*;

    /// Makes a sample of disks with these shares of 1000 reads, each served in `service` ns, and
    /// used in proportion.
    fn sample(shares: &[f64], latency: f64, service: u64) -> Sample {
        let disk = |(index, &share): (usize, &f64)| DeviceSample {
            name: format!("vd{}", char::from(b'a' + index as u8)),
            reads: (share * 1000.0) as u64,
            read_share: Some(share),
            utilisation: share,
            service_mean_ns: Some(Nanos(service)),
            depth_mean: Some(share * 32.0),
            distance_mean_bytes: Some(4096.0),
            ..DeviceSample::default()
        };
        let devices = shares.iter().enumerate().map(disk).collect();
        Sample { requests: 1000, lat_mean_ns: latency, devices, ..Sample::default() }
    }

    fn separated(treatment: &[Sample], baseline: &[Sample]) -> Separation {
        let (one, other): (Vec<_>, Vec<_>) =
            (treatment.iter().collect(), baseline.iter().collect());
        let side = |name, samples| Side { name, samples, queued: &[] };
        separation(side("queue", &one), side("pid", &other), 0.02)
    }

    #[test]
    fn without_fio_the_disks_tell_and_one_disk_has_no_share() {
        let of = |service, queued| {
            (
                [sample(&[1.0], 0.0, service), sample(&[1.0], 0.0, service + 1000)],
                [queued, queued + 1e3],
            )
        };
        let ((bfq, bfq_queued), (none, none_queued)) =
            (of(7_000_000, 154e6), of(22_000_000, 708e6));
        let side = |name, samples, queued| Side { name, samples, queued };
        let (bfq, none): (Vec<_>, Vec<_>) = (bfq.iter().collect(), none.iter().collect());
        let told =
            separation(side("bfq", &bfq, &bfq_queued), side("none", &none, &none_queued), 0.02);
        assert_eq!(
            told.sentences,
            ["at its disk, a request queues for 154 ms and is served for 7 ms with bfq; it \
              queues for 708 ms and is served for 22 ms with none"]
        );
        assert!(
            told.facts[..2].iter().all(|fact| fact.treatment.is_none() && fact.baseline.is_none())
        );
    }

    #[test]
    fn imbalance_and_queueing_are_told_apart_from_service() {
        let queue = [sample(&[0.5, 0.5], 31e6, 8_000_000), sample(&[0.51, 0.49], 32e6, 8_000_000)];
        let pid = [sample(&[0.2, 0.8], 52e6, 8_000_000), sample(&[0.21, 0.79], 53e6, 8_000_000)];
        let told = separated(&queue, &pid);
        assert_eq!(
            told.sentences,
            [
                "with queue, the disks serve 50/50 % of the reads; with pid, vdb serves 79.5 %",
                "the utilisation of the busiest and the least busy disk differs by 1.00 % with \
                 queue, 59.0 % with pid",
                "the disk with the longest queue has 16.2 requests on average with queue, 25.4 \
                 with pid",
                "a request takes 31.5 ms with queue, 52.5 ms with pid: its wait is 23.5 ms instead \
                 of 44.5 ms; its service time is 8 ms with both",
            ]
        );
        let apart: Vec<bool> = told.facts.iter().map(|fact| fact.apart).collect();
        assert_eq!(apart, [true, true, true, true, false, true, false, false]);
    }

    /// The disks serve two requests for each of fio's, so that latency less service would belong to
    /// no request.
    #[test]
    fn queueing_is_told_from_closing_records_where_requests_are_not_fios() {
        let twice =
            |latency: f64| Sample { requests: 500, ..sample(&[0.5, 0.5], latency, 8_000_000) };
        let (queue, pid) = ([twice(31e6), twice(32e6)], [twice(52e6), twice(53e6)]);
        let told = |queued: &[f64], of_pid: &[f64]| {
            let (one, other): (Vec<_>, Vec<_>) = (queue.iter().collect(), pid.iter().collect());
            let told = separation(
                Side { name: "queue", samples: &one, queued },
                Side { name: "pid", samples: &other, queued: of_pid },
                0.02,
            );
            told.sentences.last().expect("a sentence").clone()
        };
        let begin = "a request takes 31.5 ms with queue, 52.5 ms with pid: ";
        let served =
            "the disks served 2.00 requests for each request of fio with queue, 2.00 with pid";
        assert_eq!(
            told(&[20e6, 21e6], &[40e6, 41e6]),
            format!(
                "{begin}its time in the disk's queue is 20.5 ms instead of 40.5 ms; its service \
                 time is 8 ms with both; {served}, so that these times do not add up to the whole"
            )
        );
        assert_eq!(
            told(&[], &[40e6]),
            format!(
                "{begin}its service time is 8 ms with both; its time in the disk's queue is not \
                 known: {served}, and no closing record has that time"
            )
        );
    }

    #[test]
    fn the_even_side_is_told_first_and_a_wandering_disk_is_not_named() {
        let queue = [sample(&[0.2, 0.8], 5e6, 1), sample(&[0.8, 0.2], 5e6, 1)];
        let pid = [sample(&[0.5, 0.5], 5e6, 1), sample(&[0.5, 0.5], 5e6, 1)];
        let told = separated(&queue, &pid);
        let expected = "with pid, the disks serve 50/50 % of the reads; with queue, one disk \
            serves 80.0 %, which one depends on the seed";
        assert_eq!(told.sentences[0], expected);
        // 98 % go to one disk in each trial. Their medians by disk would be half each, perfectly
        // even.
        let pid = [sample(&[0.98, 0.02], 5e6, 1), sample(&[0.02, 0.98], 5e6, 1)];
        let devid = [sample(&[1.0, 0.0], 5e6, 1), sample(&[1.0, 0.0], 5e6, 1)];
        assert_eq!(
            read_shares(&pid.iter().collect::<Vec<_>>()),
            (vec![Some(0.98), Some(0.02)], true)
        );
        assert_eq!(
            read_shares(&devid.iter().collect::<Vec<_>>()),
            (vec![Some(1.0), Some(0.0)], false)
        );
        let told = separation(
            Side { name: "pid", samples: &pid.iter().collect::<Vec<_>>(), queued: &[] },
            Side { name: "devid", samples: &devid.iter().collect::<Vec<_>>(), queued: &[] },
            0.01,
        );
        let expected = "with pid, the disks serve 98/2 % of the reads (the busiest disk of each \
            seed first); with devid, vda serves 100 %";
        assert_eq!(told.sentences[0], expected);
    }

    #[test]
    fn ranges_that_overlap_separate_nothing() {
        let one = [sample(&[0.5, 0.5], 31e6, 8_000_000), sample(&[0.2, 0.8], 60e6, 8_000_000)];
        let other = [sample(&[0.4, 0.6], 40e6, 8_000_000), sample(&[0.5, 0.5], 52e6, 8_000_000)];
        let told = separated(&one, &other);
        assert!(
            told.sentences.len() == 1 && told.sentences[0].starts_with("no recorded number"),
            "{told:?}"
        );
        // A difference below the smallest effect is not reported either.
        let even = |latency: f64| [0, 1].map(|_| sample(&[0.5, 0.5], latency, 8_000_000));
        let told = separated(&even(31.1e6), &even(31.2e6));
        assert!(told.facts.iter().all(|fact| !fact.apart), "{told:?}");
    }

    #[test]
    fn one_trial_is_no_range() {
        let (one, other) = ([sample(&[0.5, 0.5], 31e6, 8)], [sample(&[0.1, 0.9], 90e6, 8)]);
        let told = separated(&one, &other);
        assert!(told.sentences[0].starts_with("With fewer than two trials"), "{told:?}");
        assert!(told.facts.iter().all(|fact| !fact.apart) && told.facts[0].treatment.is_some());
    }

    #[test]
    fn samples_without_disks_say_nothing() {
        let told = separated(
            &[Sample::default(), Sample::default()],
            &[Sample::default(), Sample::default()],
        );
        assert!(told.sentences[0].starts_with("no recorded number"));
    }
}

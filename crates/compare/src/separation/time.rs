//! The time of a request: waiting and service.

use disklab_results::Spread;
use disklab_units::prose::digits;

use super::fact::{Fact, Side, Sides, near};

/// Times of requests, and their parts.
pub struct Times<'a> {
    pub latency: &'a Fact,
    pub service: &'a Fact,
    pub waiting: &'a Fact,
    pub queued: &'a Fact,
}

/// Compares queueing with service.
pub fn time(times: &Times, sides: Sides) -> Option<String> {
    let Times { latency, service, waiting, queued } = times;
    if latency.medians().is_none() {
        return at_disks_alone(queued, service, sides);
    }
    let Sides { treatment, baseline, smallest } = sides;
    let (one, other) = latency.medians().filter(|_| latency.apart)?;
    let mut text =
        format!("a request takes {one} with {}, {other} with {}", treatment.name, baseline.name);
    let alike = |fact: &Fact| {
        let (one, other) = (fact.treatment?.median, fact.baseline?.median);
        Some(near(one, other, smallest))
    };
    let part = |fact: &Fact, noun: &str| {
        let (one, other) = fact.medians()?;
        Some(match (fact.apart, alike(fact)?) {
            (true, _) => format!("its {noun} is {one} instead of {other}"),
            (false, true) => format!("its {noun} is {one} with both"),
            (false, false) => {
                format!("its {noun} differs no more than between seeds ({one}, {other})")
            }
        })
    };
    // A smaller part of a longer time is not a cause of it.
    let longer = |fact: &Fact| Some(fact.treatment?.median > fact.baseline?.median);
    let contrary = service.apart && longer(service) != longer(latency);
    let waits = part(waiting, "wait").or_else(|| part(queued, "time in the disk's queue"));
    let link = match (contrary, &waits) {
        (true, _) => ", although ",
        (false, Some(_)) => "; ",
        (false, None) => ": ",
    };
    if let Some(waits) = &waits {
        text = format!("{text}: {waits}");
    }
    if let Some(served) = part(service, "service time") {
        text = format!("{text}{link}{served}");
    }
    if waiting.medians().is_none() {
        let per_request = requests_of_disks(sides);
        text = if waits.is_some() {
            format!("{text}; {per_request}, so that these times do not add up to the whole")
        } else {
            format!(
                "{text}; its time in the disk's queue is not known: {per_request}, and no closing \
                 record has that time"
            )
        };
    }
    Some(text)
}

/// Describes which times of a request at its disk are apart, for trials that fio did not measure.
fn at_disks_alone(queued: &Fact, service: &Fact, sides: Sides) -> Option<String> {
    let facts = [(queued, "queues for"), (service, "is served for")];
    let apart = facts.into_iter().filter(|(fact, _)| fact.apart);
    let (ours, theirs): (Vec<String>, Vec<String>) = apart
        .filter_map(|(fact, verb)| {
            let (one, other) = fact.medians()?;
            Some((format!("{verb} {one}"), format!("{verb} {other}")))
        })
        .unzip();
    (!ours.is_empty()).then(|| {
        format!(
            "at its disk, a request {} with {}; it {} with {}",
            ours.join(" and "),
            sides.treatment.name,
            theirs.join(" and "),
            sides.baseline.name
        )
    })
}

/// Formats `the disks served 2.1 requests for each request of fio with queue, 1.0 with pid`.
fn requests_of_disks(Sides { treatment, baseline, .. }: Sides) -> String {
    let of_side = |side: Side| {
        let each = side.samples.iter().map(|sample| {
            let disks: u64 = sample.devices.iter().map(|disk| disk.reads + disk.writes).sum();
            disks as f64 / sample.requests.max(1) as f64
        });
        Spread::over(each).map_or_else(|| "-".to_owned(), |each| digits(each.median))
    };
    let (one, other) = (of_side(treatment), of_side(baseline));
    format!(
        "the disks served {one} requests for each request of fio with {}, {other} with {}",
        treatment.name, baseline.name
    )
}

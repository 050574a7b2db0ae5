//! Explains why one policy does more requests than another, as far as the record shows it, by rules
//! that the page states.
//!
//! IOPS are the number of disks at work at a time, times the rate of a disk at work. The factor
//! that makes up most of the difference is named, with the numbers that accompany it. A statement
//! must hold in every seed; its numbers are those of the seed with the median ratio.

use disklab_config::Lab;
use disklab_results::Sample;
use disklab_units::prose::digits;
use std::fmt::Write;

use super::axes::CellPlace;
use super::words::percent;
use super::{arrays, facts};

pub const NONE: &str = "The record shows no single cause.";

/// Share of the difference (in logarithms) from which on a factor is the cause, or one of two.
const MOST: f64 = 2.0 / 3.0;
const SOME: f64 = 0.25;
/// Least factor, or least share of all requests, by which an accompanying number must differ.
const FACTOR: f64 = 1.2;
const PART: f64 = 0.05;

/// Returns the rules, in words.
pub fn rules() -> String {
    format!(
        "The lists also have causes. IOPS are the number of disks at work at a time (the sum of \
         their utilisations) times the rate of a disk at work. These rules decide which causes are \
         named:\n\n\
         - A factor is the cause if it makes up two thirds of the difference between two policies, \
         in logarithms. If each of the two factors makes up at least a quarter, both are causes.\n\
         - Other numbers are named beside a factor if they differ by a factor of {FACTOR} in the \
         direction that helps. Shares of requests are named if they differ by {} % of all.\n\
         - Beside the number of disks at work, these are the shares of reads and the changes of \
         disk.\n\
         - Beside the rate of a disk at work, these are its depth, its sequential arrivals, and \
         the distance between its requests (on disks that turn). These are also reads that are \
         sent to faster disks, the part of the reads that a cache serves, and the reads of others \
         than fio. If there is a background, the shortest queue of the disks with a tenth of the \
         reads or more is one too.\n\
         - If an array has a cache, shares of reads and changes of disk do not depend on the \
         policy alone, and are not named.\n\
         - Each statement holds in every seed. Its numbers are those of the seed with the median \
         ratio. If no rule fits, no cause is named.\n",
        100.0 * PART
    )
}

/// A policy's samples in one cell.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    pub policy: &'a str,
    pub samples: Vec<(u32, &'a Sample)>,
}

/// Samples of the same seed with both policies.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    more: &'a Sample,
    less: &'a Sample,
}

impl Pair<'_> {
    fn ratio(&self) -> f64 {
        self.more.iops / self.less.iops
    }

    /// Returns the share of the difference that the number of disks at work makes up. The rate of a
    /// disk makes up the rest.
    fn of_disks(&self) -> f64 {
        (facts::at_work(self.more) / facts::at_work(self.less)).ln() / self.ratio().ln()
    }
}

struct Comparison<'a> {
    more: &'a str,
    less: &'a str,
    pairs: Vec<Pair<'a>>,
    /// The pair with the median ratio.
    middle: Pair<'a>,
    lab: &'a Lab,
    /// Whether the array has a cache.
    cached: bool,
    background: bool,
}

/// Explains why the first of two policies does more.
pub fn why(lab: &Lab, place: &CellPlace, more: &Side, less: &Side) -> String {
    let of_less = |seed: u32| less.samples.iter().find(|(known, _)| *known == seed);
    let mut pairs: Vec<Pair> = Vec::new();
    for (seed, sample) in &more.samples {
        pairs.extend(of_less(*seed).map(|(_, less)| Pair { more: sample, less }));
    }
    pairs.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let Some(&middle) = pairs.get(pairs.len().saturating_sub(1) / 2) else {
        return "No seed has run with both policies.".to_owned();
    };
    let comparison = Comparison {
        more: more.policy,
        less: less.policy,
        pairs,
        middle,
        lab,
        cached: arrays::cached(lab, &place.array),
        background: place.background != "none",
    };
    let times = digits(middle.ratio());
    format!("{} has {times} times the IOPS of {}. {}", more.policy, less.policy, comparison.cause())
}

impl Comparison<'_> {
    fn always(&self, holds: impl Fn(&Pair) -> bool) -> bool {
        self.pairs.iter().all(holds)
    }

    /// Returns true if a number of one policy exceeds the other's by the factor, in every seed.
    fn greater(&self, of: impl Fn(&Pair) -> Option<(f64, f64)>) -> bool {
        self.always(|pair| of(pair).is_some_and(|(greater, less)| by_factor(greater, less)))
    }

    fn cause(&self) -> String {
        if self.always(|pair| pair.ratio() <= 1.0)
            || !self.always(|pair| pair.of_disks().is_finite())
        {
            return NONE.to_owned();
        }
        if self.always(|pair| pair.of_disks() >= MOST) {
            format!("{}.", self.disks())
        } else if self.always(|pair| pair.of_disks() <= 1.0 - MOST) {
            format!("A disk at work {}.", self.rate())
        } else if self.always(|pair| (SOME..=1.0 - SOME).contains(&pair.of_disks())) {
            format!("{}. A disk at work {}.", self.disks(), self.rate())
        } else {
            NONE.to_owned()
        }
    }

    /// Describes the number of disks at work.
    fn disks(&self) -> String {
        let work = |sample| digits(facts::at_work(sample));
        let Pair { more, less } = self.middle;
        let mut text = format!(
            "{} disks are at work at a time with {}, and {} with {}",
            work(more),
            self.more,
            work(less),
            self.less
        );
        if self.cached {
            return text;
        }
        if self
            .greater(|pair| Some((facts::most_read(pair.less)?.1, facts::most_read(pair.more)?.1)))
            && let (Some(less), Some(more)) = (facts::most_read(less), facts::most_read(more))
        {
            let _ = write!(
                text,
                ". {} sends {} % of the reads to one disk ({}), and {} sends at most {} % to any",
                self.less,
                percent(less.1),
                less.0,
                self.more,
                percent(more.1)
            );
        } else if self.greater(|pair| Some((pair.more.read_switches?, pair.less.read_switches?)))
            && let (Some(more), Some(less)) = (more.read_switches, less.read_switches)
        {
            let _ = write!(
                text,
                ". With {}, {} % of the reads go to another disk than the read before, and {} % \
                 with {}",
                self.more,
                percent(more),
                percent(less),
                self.less
            );
        }
        text
    }

    /// Describes the rate of a disk at work.
    fn rate(&self) -> String {
        let Pair { more, less } = self.middle;
        let text = format!(
            "does {} times as many requests a second with {}",
            digits(facts::rate_at_work(more) / facts::rate_at_work(less)),
            self.more
        );
        let causes = self.causes_of_rate();
        if causes.is_empty() {
            format!("{text}. The record shows no single cause of this")
        } else {
            format!("{text}. At the same time, {}", causes.join("; "))
        }
    }

    /// Returns a sentence about the two numbers of the middle pair, if the numbers of every pair
    /// differ.
    fn sentence(
        &self,
        numbers: impl Fn(&Pair) -> Option<(f64, f64)>,
        differ: fn(f64, f64) -> bool,
        sentence: impl Fn(f64, f64) -> String,
    ) -> Option<String> {
        let (one, other) = numbers(&self.middle)?;
        let differs = |pair: &Pair| numbers(pair).is_some_and(|(one, other)| differ(one, other));
        self.always(differs).then(|| sentence(one, other))
    }

    /// Returns what accompanies a higher rate of a disk at work.
    fn causes_of_rate(&self) -> Vec<String> {
        let slower = self.less;
        let cache = self.sentence(more_first(facts::cache_share), by_part, |more, less| {
            let (more, less) = (percent(more), percent(less));
            format!("the cache serves {more} % of the reads, and {less} % with {slower}")
        });
        let service = |Pair { more, less }: &Pair| {
            Some((facts::service_of_shares(less, less)?, facts::service_of_shares(more, less)?))
        };
        let faster_disks = self.sentence(service, by_factor, |slow, fast| {
            let factor = digits(slow / fast);
            format!("the reads go to disks that serve {factor} times as fast as with {slower}")
        });
        let turned = |sample: &Sample| facts::distance_turned(sample, self.lab);
        let distances = |pair: &Pair| Some((turned(pair.less)?, turned(pair.more)?));
        let distance = self.sentence(distances, by_factor, |far, near| {
            let factor = digits(far / near);
            format!("{slower} moves the heads {factor} times as far from request to request")
        });
        let sequential = self.sentence(more_first(facts::sequential), by_part, |more, less| {
            let (more, less) = (percent(more), percent(less));
            format!(
                "{more} % of the requests follow the one before at their disk, and {less} % with \
                 {slower}"
            )
        });
        let depth = self.sentence(more_first(facts::depth_at_work), by_factor, |more, less| {
            let (more, less) = (digits(more), digits(less));
            format!("a disk at work has {more} requests at a time, and {less} with {slower}")
        });
        // A background's requests are at the disks too, and fio's requests wait behind them.
        let queue = self.sentence(less_first(facts::shortest_queue), by_factor, |less, more| {
            let (less, more) = (digits(less), digits(more));
            format!(
                "the shortest queue of the disks with a tenth of the reads or more has {more} \
                 requests, and {less} with {slower}"
            )
        });
        // A background that reads little compared with fio is not mentioned.
        let is_much = |pair: &Pair| {
            let fio = pair.less.bw_bytes as f64;
            facts::beside(pair.less).is_some_and(|less| less > PART * fio)
        };
        let beside = self.sentence(less_first(facts::beside), by_factor, |less, more| {
            let (less, more) = (digits(less / 1e6), digits(more / 1e6));
            format!("others than fio read {more} MB/s, and {less} MB/s with {slower}")
        });
        [
            cache.filter(|_| self.cached),
            faster_disks,
            distance,
            sequential,
            depth,
            queue.filter(|_| self.background),
            beside.filter(|_| self.always(is_much)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn by_factor(greater: f64, less: f64) -> bool {
    greater > FACTOR * less
}

fn by_part(more: f64, less: f64) -> bool {
    more > less + PART
}

/// Returns a number of both samples of a pair, the one with more IOPS first.
fn more_first(fact: fn(&Sample) -> Option<f64>) -> impl Fn(&Pair) -> Option<(f64, f64)> {
    move |pair| Some((fact(pair.more)?, fact(pair.less)?))
}

/// Returns a number of both samples of a pair, the one with fewer IOPS first.
fn less_first(fact: fn(&Sample) -> Option<f64>) -> impl Fn(&Pair) -> Option<(f64, f64)> {
    move |pair| Some((fact(pair.less)?, fact(pair.more)?))
}

/// Explains cells in which no two policies differ.
pub fn why_none(sides: &[Side]) -> String {
    let all = || sides.iter().flat_map(|side| &side.samples).map(|(_, sample)| *sample);
    let range = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        (least, values.iter().copied().fold(0.0, f64::max))
    };
    let (least, most) = range(all().map(facts::at_work).collect());
    let idlest = range(all().flat_map(facts::utilisations).collect()).0;
    if !idlest.is_finite() {
        return "No two policies differ.".to_owned();
    }
    let (least_text, most_text) = (digits(least), digits(most));
    let at_work =
        if least_text == most_text { least_text } else { format!("{least_text} to {most_text}") };
    let text = if least >= 0.9 && most <= 1.1 {
        format!("With each, one disk is at work at a time ({at_work} on average)")
    } else if idlest >= 0.9 {
        format!("With each, every disk is busy at least {} % of the time", percent(idlest))
    } else {
        format!("{at_work} disks are at work at a time")
    };
    format!("No two policies differ. {text}.")
}

//! Formats a recommendation as text.

use disklab_stats::comparison::FEWEST;
use disklab_units::prose::{count, in_shell, listed};
use indexmap::IndexMap;

use crate::answer::{self, MOST_SEEDS};
use crate::index::CellIndex;
use crate::recommendation::choice::{Choice, Regret, WorstCell};
use crate::recommendation::ranking::Weight;

/// Largest number of alternatives, and of an axis's values, that are named one by one.
const MOST_NAMED: usize = 6;

/// A choice, and the facts that its text needs.
pub struct Words<'a> {
    pub choice: &'a Choice,
    /// Sentences on each axis of a combination.
    pub by_axis: &'a [(&'a str, &'a Choice)],
    pub is_of_one_metric: bool,
    /// Least and largest number of trials that are compared in a cell.
    pub trials: (usize, usize),
    pub seeds_to_settle: Option<usize>,
    /// Word for a trial of a cell: `seed` or `repeat`.
    pub noun: &'static str,
    /// Smallest effect of interest, as a share.
    pub smallest_effect: f64,
    pub weights: &'a [Weight],
}

/// Returns the commands that run the records up to this number of seeds. Imported results have
/// none.
pub fn to_settle(seeds: Option<usize>, records: &[CellIndex]) -> Vec<String> {
    let Some(number) = seeds.filter(|number| *number <= MOST_SEEDS) else { return Vec::new() };
    let command = |index: &CellIndex| {
        let first = index.suite.as_ref().ok()?.seeds().first() as usize;
        let seeds = match first {
            1 => number.to_string(),
            _ => format!("{first}-{}", first + number - 1),
        };
        Some(format!("disklab run --resume {} --seeds {seeds}", in_shell(&index.name())))
    };
    let is_own = |index: &&CellIndex| index.record.manifest().imported.is_none();
    records.iter().filter(is_own).filter_map(command).collect()
}

impl Words<'_> {
    /// Returns the answer, without its last full stop.
    pub fn headline(&self) -> String {
        const FOR: &str = "for these disks and loads";
        let choice = self.choice;
        let Some(first) = choice.first() else {
            return format!(
                "No choice can be recommended {FOR}: none has a result in every comparison"
            );
        };
        let name = answer::name(&first.candidate);
        let guess = if first.certainly_good + first.certainly_behind == 0 {
            format!(" (a guess from {})", self.trials_in_words())
        } else {
            String::new()
        };
        if choice.makes_no_difference {
            let makes = if choice.is_certain() { "makes" } else { "seems to make" };
            return format!(
                "The choice {makes} no difference {FOR}{guess}: {} are within {} % of the best in \
                 {}. With nothing else to go by, take {name}",
                named(choice.regrets.iter().map(|regret| regret.candidate.as_str())),
                self.smallest_effect * 100.0,
                all_comparisons(choice.judged)
            );
        }
        if choice.choice.is_some() {
            return format!("Recommended {FOR}: {name}{guess}. It is {}", self.record_of(first));
        }
        format!(
            "No choice is best {FOR}{guess}: each is more than {} % behind another in some \
             comparison. {name} loses least: it is {}",
            (self.smallest_effect * 100.0).max(10.0),
            self.record_of(first)
        )
    }

    /// Returns the sentences below the answer, without their full stops.
    pub fn details(&self) -> Vec<String> {
        let choice = self.choice;
        let parts = parts(choice).filter(|_| !choice.makes_no_difference);
        let parts = parts.map(|parts| format!("Recommended by {parts}"));
        let by_axis = self.by_axis.iter().filter(|_| !choice.makes_no_difference);
        let by_axis = by_axis.map(|(axis, choice)| self.of_axis(axis, choice));
        let mut details: Vec<String> = parts.into_iter().chain(by_axis).collect();
        if !choice.makes_no_difference {
            details.extend(self.alternatives());
        }
        details.extend(choice.regrets.iter().filter_map(lacking));
        if !self.weights.is_empty() {
            let weight = |weight: &Weight| format!("{} for {}", weight.number(), weight.selector());
            let weights: Vec<String> = self.weights.iter().map(weight).collect();
            details.push(format!("Weights: {}, and 1 for everything else", listed(&weights)));
        }
        details.extend(self.open());
        details
    }

    /// Formats a regret: `best or equal to the best in 8 of 9 comparisons (the verdicts say so in
    /// 6); worst case: ...`.
    fn record_of(&self, regret: &Regret) -> String {
        let judged = regret.good + regret.behind;
        let places = match judged {
            1 => String::new(),
            all if all == regret.good => format!(" in {}", all_comparisons(all)),
            all => format!(" in {} of {}", regret.good, comparisons(all)),
        };
        let verdicts = match regret.certainly_good {
            0 => String::new(),
            all if all == regret.good => ", and the verdicts say so".to_owned(),
            some => format!(" (the verdicts say so in {some})"),
        };
        let worst = regret.worst.as_ref().filter(|_| regret.behind > 0);
        let worst = worst.map_or_else(String::new, |worst| format!("; {}", self.worst(worst)));
        match regret.good {
            0 if judged == 1 => format!("behind another choice{worst}"),
            0 => format!("behind another choice in {}{worst}", all_comparisons(judged)),
            _ => format!("best or equal to the best{places}{verdicts}{worst}"),
        }
    }

    /// Formats `worst case: 3.0 % behind pid (interval -5.1 % to -1.0 %) on hdd-raid1,
    /// seqread-1m-qd16`.
    fn worst(&self, worst: &WorstCell) -> String {
        let WorstCell { cell, metric, behind, change, .. } = worst;
        let other = answer::name(behind);
        let metric =
            if self.is_of_one_metric { String::new() } else { format!("{} ", metric.name()) };
        let size = match change.map(|change| change.percent.abs()) {
            None => format!("behind {other}, by an unknown amount"),
            Some(size) if size >= 900.0 => format!("{} of {other}", answer::change(size)),
            Some(size) if (99.5..100.0).contains(&size) => format!("{size:.2} % behind {other}"),
            Some(size) if size >= 9.95 => format!("{size:.0} % behind {other}"),
            Some(size) => format!("{size:.1} % behind {other}"),
        };
        let bounded = change.filter(|change| change.low > -100.0 && change.high.is_finite());
        let interval = bounded.map_or_else(String::new, |change| {
            format!(" (interval {})", answer::change_and_interval(Some(change)).1)
        });
        let place =
            if cell.0.is_empty() { String::new() } else { format!(" on {}", answer::values(cell)) };
        format!("worst case: {metric}{size}{interval}{place}")
    }

    /// Returns a sentence for each other candidate, and one for the rest together.
    fn alternatives(&self) -> Vec<String> {
        let others = || self.choice.regrets.iter().skip(usize::from(self.choice.first().is_some()));
        let sentence = |regret: &Regret| {
            format!("{} is {}", answer::name(&regret.candidate), self.record_of(regret))
        };
        let more = others().skip(MOST_NAMED).map(|regret| regret.candidate.as_str());
        let more: Vec<&str> = more.collect();
        let rest = (!more.is_empty()).then(|| {
            let rank = if more.len() == 1 { "ranks" } else { "rank" };
            format!("{} {rank} below these", named(more))
        });
        others().take(MOST_NAMED).map(sentence).chain(rest).collect()
    }

    fn of_axis(&self, axis: &str, choice: &Choice) -> String {
        match choice.first() {
            Some(_) if choice.makes_no_difference => format!("The {axis} makes no difference"),
            Some(first) if choice.choice.is_some() => format!(
                "The best {axis} is {}: it is {}",
                answer::name(&first.candidate),
                self.record_of(first)
            ),
            Some(first) => format!(
                "No {axis} is best; {} loses least: it is {}",
                answer::name(&first.candidate),
                self.record_of(first)
            ),
            None => format!("No {axis} has a result in every comparison"),
        }
    }

    /// Names the undecided cells, and the number of trials that would settle them.
    fn open(&self) -> Option<String> {
        let first = self.choice.first()?;
        let open = Some(first.uncertain()).filter(|open| *open > 0)?;
        let name = answer::name(&first.candidate);
        let trials = self.trials_in_words();
        let head = if self.trials.1 < FEWEST {
            format!("This is a guess from {trials}, too few for a verdict")
        } else {
            format!(
                "In {open} of {}, {trials} do not decide whether another choice is better than \
                 {name}",
                comparisons(self.choice.judged)
            )
        };
        let Some(number) = self.seeds_to_settle else { return Some(head) };
        let noun = self.noun;
        Some(if number > MOST_SEEDS {
            format!("{head}; more than {MOST_SEEDS} {noun}s would be needed to settle it")
        } else {
            format!("{head}; about {number} {noun}s would settle it")
        })
    }

    fn trials_in_words(&self) -> String {
        match self.trials {
            (fewest, most) if fewest < most => format!("{fewest} to {}", count(most, self.noun)),
            (_, most) => count(most, self.noun),
        }
    }
}

/// A comparison is a cell without the compared axis, and a metric.
fn comparisons(number: usize) -> String {
    count(number, "comparison")
}

fn all_comparisons(number: usize) -> String {
    match number {
        1 => "the only comparison".to_owned(),
        _ => format!("all {}", comparisons(number)),
    }
}

/// Formats parts: `array: queue on hdd-raid1 and hdd-8-mixed; pid on ssd-raid10`.
fn parts(choice: &Choice) -> Option<String> {
    let (axis, _) = choice.parts.first()?.scope.0.last()?;
    // Text before the values of the axis, and after them.
    let mut groups: IndexMap<(String, String), Vec<&str>> = IndexMap::new();
    for part in &choice.parts {
        let value = part.scope.0.last().map_or("", |(_, value)| value.as_str());
        let none = || "no best choice".to_owned();
        let said = match (&part.choice, part.first()) {
            _ if part.makes_no_difference => ("no difference".to_owned(), String::new()),
            (Some(choice), _) => (answer::name(choice), String::new()),
            (None, Some(first)) => match parts(part) {
                Some(parts) => (none(), format!(" (by {parts})")),
                None => (none(), format!(" ({} loses least)", answer::name(&first.candidate))),
            },
            (None, None) => {
                ("nothing".to_owned(), " (no choice has a result in every comparison)".to_owned())
            }
        };
        groups.entry(said).or_default().push(value);
    }
    let group = |((before, after), values): ((String, String), Vec<&str>)| match values.len() {
        few if few <= MOST_NAMED => format!("{before} on {}{after}", named(values)),
        many => format!("{before} on {many} of {} values{after}", choice.parts.len()),
    };
    let groups: Vec<String> = groups.into_iter().map(group).collect();
    Some(format!("{axis}: {}", groups.join("; ")))
}

/// Formats missing results: `devid has no result in 2 comparisons (hdd-raid1, randread-4k-qd1 and
/// others) and cannot be recommended`.
fn lacking(regret: &Regret) -> Option<String> {
    let first = regret.without_result.first()?;
    let place = if first.0.is_empty() { "all".to_owned() } else { answer::values(first) };
    let more = if regret.without_result.len() > 1 { " and others" } else { "" };
    Some(format!(
        "{} has no result in {} ({place}{more}) and cannot be recommended",
        answer::name(&regret.candidate),
        comparisons(regret.without_result.len())
    ))
}

fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    listed(&names.into_iter().map(answer::name).collect::<Vec<_>>())
}

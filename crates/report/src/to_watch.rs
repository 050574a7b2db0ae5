//! The trials whose disks are shown over time: the two that the page begins with, and those to
//! choose from. If the trace of a trial cannot be read, the next trial takes its place, and the
//! report gives the reason once.

use disklab_compare::answer;
use disklab_record::record::name_of;
use disklab_record::{Outcome, Record};
use disklab_units::prose::count;
use indexmap::{IndexMap, IndexSet};
use itertools::Itertools;
use maud::{Markup, html};

use crate::disks;
use crate::source::{CellChoice, Group, ReportSource};
use crate::traces::{Surveyed, share_addresses};
use crate::watched::{Detail, WatchedTrial};

/// Number of damaged traces after which no more are tried: each was read up to its damage.
const DAMAGED: usize = 24;

/// A trial that may have a trace.
pub struct Trial<'a> {
    /// Id of the trial, with its record's name if there are several records.
    pub label: String,
    record: &'a Record,
    outcome: &'a Outcome,
}

fn trial<'a>(
    source: &ReportSource<'a>,
    id: &str,
    record: &'a Record,
    outcome: &'a Outcome,
) -> Trial<'a> {
    let label = if source.records.len() > 1 {
        format!("{id} ({})", name_of(record.folder()))
    } else {
        id.to_owned()
    };
    Trial { label, record, outcome }
}

/// Returns the trials of a choice that have a result, in the order of their seeds.
fn results<'a>(source: &ReportSource<'a>, choice: &CellChoice<'a>) -> Vec<Trial<'a>> {
    choice.results().map(|(one, outcome)| trial(source, one.id, one.record, outcome)).collect()
}

/// The traces that may still be read, and those that could not be read.
pub struct Reading {
    /// Number of requests that may still be read, for trials to choose from.
    room: u64,
    damaged: usize,
    /// Reasons, each with the trials that it affects.
    lost: IndexMap<String, IndexSet<String>>,
    /// Sentences about trials that are shown in part.
    cut: Vec<String>,
}

impl Reading {
    pub fn new(room: u64) -> Self {
        Self { room, damaged: 0, lost: IndexMap::new(), cut: Vec::new() }
    }

    /// Returns the number of trials that cannot be shown.
    pub fn lost(&self) -> usize {
        self.lost.values().map(IndexSet::len).sum()
    }

    fn lose(&mut self, label: &str, why: String) {
        self.lost.entry(why).or_default().insert(label.to_owned());
    }

    /// Makes the first pass over a trial's trace, unless it is known that there is nothing to show.
    fn surveyed(&mut self, trial: &Trial) -> Option<Surveyed> {
        let mut lost = self.lost.values();
        if self.damaged >= DAMAGED || lost.any(|trials| trials.contains(&trial.label)) {
            return None;
        }
        let error = match Surveyed::new(&trial.label, trial.record, trial.outcome) {
            Ok(surveyed) => return Some(surveyed),
            Err(error) => error,
        };
        let is_there = |raw: std::path::PathBuf| disklab_trace::find(&raw).is_some();
        self.damaged += usize::from(trial.record.raw(trial.outcome).is_some_and(is_there));
        self.lose(&trial.label, error);
        None
    }

    /// Makes the second pass over traces that are compared.
    pub fn drawn(
        &mut self,
        mut all: Vec<Surveyed>,
        detail: impl Fn(&str) -> Detail,
    ) -> Vec<WatchedTrial> {
        share_addresses(&mut all);
        let mut found = Vec::new();
        for trial in &all {
            match trial.drawn(detail(&trial.label)) {
                Ok(watched) => {
                    found.push(watched);
                    self.cut.extend(trial.cut());
                }
                Err(why) => self.lose(&trial.label, why),
            }
        }
        found
    }

    /// Returns the reason why nothing can be shown, as a sentence.
    pub fn why_nothing(&self) -> String {
        let reason = |(why, trials): (&String, &IndexSet<String>)| match trials.first() {
            Some(only) if trials.len() == 1 => format!("{only}: {why}"),
            _ => format!("{}: {why}", count(trials.len(), "trial")),
        };
        let reasons: Vec<String> = self.lost.iter().map(reason).collect();
        if reasons.is_empty() {
            return "No trial has a result.".to_owned();
        }
        format!("No trace can be shown. {}.", reasons.join("; "))
    }

    /// Says which trials are not shown, or not in full. Each trial is named once.
    pub fn not_shown(&self) -> Markup {
        let all: Vec<String> = self
            .lost
            .iter()
            .map(|(why, trials)| format!("{}: {why}", trials.iter().join(", ")))
            .collect();
        html! {
            @if let [only] = all.as_slice() { p.missing { "Not shown: " (only) "." } }
            @else if !all.is_empty() {
                details.lost-traces open[all.len() < 6] {
                    summary { (count(self.lost(), "trial")) " cannot be shown" }
                    ul { @for sentence in &all { li { (sentence) "." } } }
                }
            }
            @if let Some(first) = self.cut.first() { p.missing { (first)
                @if self.cut.len() > 1 { "; likewise "
                    (count(self.cut.len() - 1, "other trial")) } "." } }
        }
    }
}

/// Returns the requested trials, or else those of the baseline and of the best other choice in the
/// first group. Other trials replace unreadable ones.
pub fn pair(source: &ReportSource, reading: &mut Reading) -> Vec<Surveyed> {
    let asked = asked(source);
    let mut pair: Vec<Surveyed> =
        asked.iter().filter_map(|trial| reading.surveyed(trial)).collect();
    if !pair.is_empty() {
        return pair;
    }
    let striking = source.striking();
    let Some(group) = source.groups.get(striking) else { return pair };
    for list in usual(source, group) {
        pair.extend(list.iter().find_map(|trial| reading.surveyed(trial)));
    }
    if reading.lost() == 0 && !pair.is_empty() {
        return pair;
    }
    let others =
        source.groups.iter().enumerate().filter(|(at, _)| *at != striking).map(|(_, group)| group);
    let all = std::iter::once(group).chain(others).flat_map(|group| &group.choices);
    for trial in all.flat_map(|choice| results(source, choice)) {
        if pair.len() >= 2 {
            break;
        }
        if pair.iter().all(|known| known.label != trial.label) {
            pair.extend(reading.surveyed(&trial));
        }
    }
    pair
}

fn asked<'a>(source: &ReportSource<'a>) -> Vec<Trial<'a>> {
    let mut found: Vec<Trial> = Vec::new();
    for id in source.wanted.trials.iter().take(2) {
        let all =
            source.groups.iter().flat_map(|group| &group.choices).flat_map(|choice| &choice.trials);
        let named = all.filter(|tried| tried.id == id);
        let mut named =
            named.filter_map(|tried| Some(trial(source, tried.id, tried.record, tried.outcome?)));
        // The same id a second time means another record's trial.
        let other = named.find(|trial| found.iter().all(|known| known.label != trial.label));
        found.extend(other);
    }
    found
}

/// Returns the trials of the baseline, and those of the others, the most informative first.
fn usual<'a>(source: &ReportSource<'a>, group: &Group<'a>) -> [Vec<Trial<'a>>; 2] {
    let is_baseline = |choice: &&CellChoice| source.baseline.as_deref() == Some(&choice.value);
    let size = |choice: &CellChoice| {
        let metric = source.metrics.first();
        let comparison = metric.and_then(|metric| source.comparison(group, &choice.value, metric));
        let change = comparison.and_then(|comparison| comparison.change);
        change.map_or(0.0, |change| answer::size(change.percent))
    };
    let (baseline, mut others): (Vec<&CellChoice>, Vec<&CellChoice>) =
        group.choices.iter().partition(is_baseline);
    // The sort is stable: of equal trials the last goes first, as the greatest did.
    others.reverse();
    others.sort_by(|one, other| size(other).total_cmp(&size(one)));
    [baseline, others]
        .map(|choices| choices.into_iter().flat_map(|choice| results(source, choice)).collect())
}

/// Returns the group of a pair, if both are of one group. All its trials are drawn comparably.
pub fn home<'s, 'a>(source: &'s ReportSource<'a>, pair: &[Surveyed]) -> Option<&'s Group<'a>> {
    let labels = |group: &'s Group<'a>| -> Vec<String> {
        let all = group.choices.iter().flat_map(|choice| results(source, choice));
        all.map(|trial| trial.label).collect()
    };
    source.groups.iter().find(|group| {
        let own = labels(group);
        pair.iter().all(|trial| own.contains(&trial.label))
    })
}

/// Returns the first seed with a readable trace of each choice of a group, as long as there is
/// room, without choices that are there already.
pub fn line_up(
    source: &ReportSource,
    group: &Group,
    without: &[String],
    reading: &mut Reading,
) -> Vec<Surveyed> {
    let mut found = Vec::new();
    for choice in &group.choices {
        let trials = results(source, choice);
        if trials.iter().any(|trial| without.contains(&trial.label)) {
            continue;
        }
        for trial in trials {
            let sample = disks::sample(trial.record, trial.outcome);
            let devices = sample.as_ref().map_or(&[][..], |sample| &sample.devices);
            let requests = devices.iter().map(|device| device.reads + device.writes).sum();
            let Some(room) = reading.room.checked_sub(requests) else { return found };
            if let Some(surveyed) = reading.surveyed(&trial) {
                reading.room = room;
                found.push(surveyed);
                break;
            }
        }
    }
    found
}

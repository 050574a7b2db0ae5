//! The numbers of the disks that separate choices of each group from the baseline.

use std::borrow::Cow;

use disklab_compare::separation::{Fact, Separation, Side, separation};
use disklab_compare::{Metric, answer};
use disklab_protocol::closing::DeviceCounts;
use disklab_record::{Outcome, Record};
use disklab_results::{Sample, Spread};
use disklab_stats::Better;
use disklab_units::prose::listed;
use maud::html;

use crate::chart::NumbersTable;
use crate::disks;
use crate::panel::{Nothing, Panel, Piece, of_groups};
use crate::panels::matrix::verdict;
use crate::panels::served::with_range;
use crate::source::{CellChoice, Group, ReportSource};

pub const PANEL: Panel =
    Panel { place: 70, name: "why", title: "What differs", pictures: "", draw };

const NONE: &str = "No group has two choices with a record of their disks.";

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let baseline = source.baseline.as_deref().ok_or("There is no baseline to compare with.")?;
    let rule = html! {
        p { "The list has the numbers that differ in every trial: the ranges of the two choices do \
             not overlap, and the medians differ by the smallest effect of interest or more. The \
             numbers do not show which of them causes another. A disk that serves several requests \
             at once, such as an SSD, takes longer for each of them if there are more." }
    };
    of_groups(source, rule, NONE, |group| explanation(source, group, baseline))
}

/// Draws the summary of a group and its explanation. Returns `None` if nothing explains it.
fn explanation(
    source: &ReportSource,
    group: &Group,
    baseline: &str,
) -> Option<(String, Vec<Piece>)> {
    let of_baseline = Recorded::new(group.choice(baseline)?)?;
    let metric = source.metrics.first()?;
    let (explained, rest) = parted(source, group, baseline, metric);
    if explained.is_empty() {
        return None;
    }
    let least = source.rule.smallest_effect;
    let samples = of_baseline.samples();
    let separate = |recorded: &Recorded| {
        separation(recorded.side(&recorded.samples()), of_baseline.side(&samples), least)
    };
    let explained: Vec<(&Recorded, Separation)> =
        explained.iter().map(|recorded| (recorded, separate(recorded))).collect();
    let caption =
        format!("Medians over seeds, with their ranges; * differs from {baseline} in every trial");
    let words = html! {
        @for (at, (recorded, separation)) in explained.iter().enumerate() {
            @let judged = source.comparison(group, recorded.name, metric);
            @let said = html! { (metric.name()) " of " (answer::name(recorded.name))
                " compared with " (answer::name(baseline)) ": " (verdict(judged, false)) };
            @let sentences = html! { ul { @for sentence in &separation.sentences { li { (sentence)
                "." } } } };
            // The best choice comes first, and is open.
            @if at == 0 { p { (said) "." } (sentences) } @else { details { summary { (said) }
                (sentences) } }
        }
        @if !rest.is_empty() {
            p.terms { "The verdict against " (answer::name(baseline))
                " is neither better nor worse for "
                (listed(&rest.iter().map(|name| answer::name(name)).collect::<Vec<_>>())) "." }
        }
        (table(&of_baseline, &explained).markup(&caption))
    };
    let names: Vec<&str> = explained.iter().map(|(recorded, _)| recorded.name).collect();
    Some((format!("{} against {baseline}", listed(&names)), vec![Piece::Words(words)]))
}

/// Returns the choices with the verdict better or worse against the baseline, the one with the best
/// median first, and the names of the others. If no choice has such a verdict, the best choice
/// stands for all: their records may differ nevertheless.
fn parted<'s>(
    source: &ReportSource,
    group: &'s Group,
    baseline: &str,
    metric: &Metric,
) -> (Vec<Recorded<'s>>, Vec<&'s str>) {
    let others = group.choices.iter().filter(|choice| choice.value != baseline);
    let medians =
        others.filter_map(|choice| Some((choice.spread(metric)?.median, Recorded::new(choice)?)));
    let mut ranked: Vec<(f64, Recorded)> = medians.collect();
    let mut comparisons = source.comparisons.iter();
    let is_lower_better = comparisons
        .find(|comparison| comparison.metric == *metric)
        .is_some_and(|comparison| comparison.better == Better::Lower);
    ranked.sort_by(
        |(one, _), (other, _)| {
            if is_lower_better { one.total_cmp(other) } else { other.total_cmp(one) }
        },
    );
    let differs = |recorded: &Recorded| {
        let judged = source.comparison(group, recorded.name, metric);
        judged.is_some_and(|judged| judged.verdict.is_difference())
    };
    let ranked = ranked.into_iter().map(|(_, recorded)| recorded);
    let (mut decided, mut rest): (Vec<Recorded>, Vec<Recorded>) = ranked.partition(differs);
    if decided.is_empty() && !rest.is_empty() {
        decided.push(rest.remove(0));
    }
    (decided, rest.iter().map(|recorded| recorded.name).collect())
}

/// A choice, and the records of its disks.
struct Recorded<'a> {
    name: &'a str,
    samples: Vec<Cow<'a, Sample>>,
    queued: Vec<f64>,
}

impl<'a> Recorded<'a> {
    /// Returns None if there are no records.
    fn new(choice: &'a CellChoice) -> Option<Self> {
        let samples = disks::samples(choice);
        (!samples.is_empty()).then(|| Self { name: &choice.value, samples, queued: queued(choice) })
    }

    fn samples(&self) -> Vec<&Sample> {
        self.samples.iter().map(Cow::as_ref).collect()
    }

    fn side<'s>(&'s self, samples: &'s [&'s Sample]) -> Side<'s> {
        Side { name: self.name, samples, queued: &self.queued }
    }
}

/// Returns the mean queueing time of a request, in ns, for each trial whose closing record can be
/// read. Samples lack it.
fn queued(choice: &CellChoice) -> Vec<f64> {
    let of = |record: &Record, outcome: &Outcome| {
        let closing = disks::closing(record, outcome)?;
        let devices = closing.measured()?.devices;
        let requests: u64 = devices.iter().map(DeviceCounts::requests).sum();
        let waited = |device: &DeviceCounts| Some(device.wait.0.saturating_sub(device.service?.0));
        let queued: u64 = devices.iter().map(waited).sum::<Option<_>>()?;
        (requests > 0).then(|| queued as f64 / requests as f64)
    };
    choice.results().filter_map(|(tried, outcome)| of(tried.record, outcome)).collect()
}

/// Builds a table with a column for each explained choice, after the baseline's.
fn table(baseline: &Recorded, explained: &[(&Recorded, Separation)]) -> NumbersTable {
    let names = explained.iter().map(|(recorded, _)| recorded.name);
    let mut table = NumbersTable::new("", [baseline.name].into_iter().chain(names));
    // All choices have the same facts in the same order.
    let facts = explained.first().map_or(&[][..], |(_, separation)| &separation.facts);
    for (at, fact) in facts.iter().enumerate() {
        let own: Vec<&Fact> =
            explained.iter().map(|(_, separation)| &separation.facts[at]).collect();
        if fact.baseline.is_none() && own.iter().all(|fact| fact.treatment.is_none()) {
            continue;
        }
        let told = |spread: Option<Spread>| with_range(spread, |value| fact.unit.show(value));
        let apart = |fact: &Fact| if fact.apart { " *" } else { "" };
        let own = own.into_iter().map(|fact| told(fact.treatment) + apart(fact));
        table.row(fact.name, [told(fact.baseline)].into_iter().chain(own));
    }
    table
}

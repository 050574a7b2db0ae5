//! What separates the best choice of each group from the baseline, by what was recorded of the disks.

use std::fs;

use disklab_collect::closing::{self, Device};
use disklab_collect::sample::MEASURED_PHASE;
use disklab_collect::{Sample, Spread};
use disklab_compare::separation::{Fact, Separation, Side, separation};
use disklab_stats::Better;
use disklab_store::{Outcome, Record};
use maud::html;

use crate::chart::Table;
use crate::panel::{Panel, Piece, Section};
use crate::panels::matrix::verdict;
use crate::panels::served::told;
use crate::source::{Choice, Group, Source};

pub const PANEL: Panel = Panel { place: 70, name: "why", title: "Why", pictures: "", draw };

fn draw(source: &Source) -> Result<Vec<Piece>, String> {
    let baseline =
        source.baseline.as_deref().ok_or("There is no baseline that anything could be held against.")?;
    let striking = source.striking();
    let sections: Vec<Piece> = source
        .groups
        .iter()
        .enumerate()
        .filter_map(|(at, group)| section(source, group, baseline, at == striking))
        .collect();
    if sections.is_empty() {
        return Err("No group has two choices with what their disks did.".to_owned());
    }
    let rule = html! {
        p { "Said is what differs in every trial: no trial of the one has a value within the range of the other, and the medians \
             differ by what is of interest. These are numbers beside each other; which one is the cause of which is for \
             the reader to judge." }
    };
    Ok([Piece::Words(rule)].into_iter().chain(sections).collect())
}

fn section(source: &Source, group: &Group, baseline: &str, open: bool) -> Option<Piece> {
    let of_baseline = group.choices.iter().find(|choice| choice.value == baseline)?;
    let best = best(source, group, baseline)?;
    let (one, other) = (samples(best), samples(of_baseline));
    if other.is_empty() {
        return None;
    }
    let (queued, of_baseline) = (queued(best), queued(of_baseline));
    let Separation { sentences, facts } = separation(
        Side { name: &best.value, samples: &one, queued: &queued },
        Side { name: baseline, samples: &other, queued: &of_baseline },
        source.terms.smallest_effect,
    );
    let metric = source.metrics.first()?;
    let judged = source.judgement(group, &best.value, metric);
    let table = table(&facts, &best.value, baseline);
    let words = html! {
        p { (best.value) " is " (verdict(judged, false)) " against " (baseline) ", in " (metric.name()) "." }
        ul { @for sentence in &sentences { li { (sentence) "." } } }
        (table.markup(&format!("{} and {baseline}: medians over seeds, with their ranges", best.value)))
    };
    Some(Piece::Section(Section {
        name: group.name.clone(),
        title: group.title(),
        summary: format!("{} against {baseline}", best.value),
        open,
        cell: group.cell.clone(),
        pieces: vec![Piece::Words(words)],
    }))
}

/// Of the others, the one with the best median that has samples of disks.
fn best<'s, 'a>(source: &Source, group: &'s Group<'a>, baseline: &str) -> Option<&'s Choice<'a>> {
    let metric = source.metrics.first()?;
    let measured =
        group.choices.iter().filter(|choice| choice.value != baseline && !samples(choice).is_empty());
    let medians = measured.filter_map(|choice| Some((choice, choice.spread(metric)?.median)));
    let better =
        source.judgements.iter().find(|it| it.metric == *metric).map_or(Better::Higher, |it| it.better);
    let best = match better {
        Better::Higher => medians.max_by(|(_, one), (_, other)| one.total_cmp(other)),
        Better::Lower => medians.min_by(|(_, one), (_, other)| one.total_cmp(other)),
    };
    best.map(|(choice, _)| choice)
}

fn samples<'a>(choice: &Choice<'a>) -> Vec<&'a Sample> {
    let samples = choice.results().filter_map(|(_, outcome)| outcome.sample.as_ref());
    samples.filter(|sample| !sample.devices.is_empty()).collect()
}

/// How long a request queued at its disk on average, in ns, of each trial whose closing record can be read: samples do not have it.
fn queued(choice: &Choice) -> Vec<f64> {
    let of = |record: &Record, outcome: &Outcome| {
        let bytes = fs::read(record.raw(outcome)?.join("disks.json")).ok()?;
        let closing = closing::parse(&bytes).ok()?;
        let devices = &closing.phase(MEASURED_PHASE)?.devices;
        let requests: u64 = devices.iter().map(Device::requests).sum();
        let queued: u64 = devices.iter().map(|it| it.wait.0.saturating_sub(it.service.0)).sum();
        (requests > 0).then(|| queued as f64 / requests as f64)
    };
    choice.results().filter_map(|(tried, outcome)| of(tried.record, outcome)).collect()
}

fn table(facts: &[Fact], best: &str, baseline: &str) -> Table {
    let mut table = Table::new(["", best, baseline, "apart"]);
    for fact in facts.iter().filter(|fact| fact.treatment.is_some() || fact.baseline.is_some()) {
        let told = |spread: Option<Spread>| told(spread, |value| fact.unit.show(value));
        let apart = if fact.apart { "yes" } else { "no" };
        table.row([fact.name.to_owned(), told(fact.treatment), told(fact.baseline), apart.to_owned()]);
    }
    table
}

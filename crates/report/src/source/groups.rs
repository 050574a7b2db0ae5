//! Cells that differ in one axis only: what a picture shows beside each other.

use disklab_collect::Spread;
use disklab_compare::{Metric, answer};
use disklab_store::outcome::{Cell, seed_of_id};
use disklab_store::record::name_of;
use disklab_store::{Outcome, Record, Status};
use disklab_units::prose::listed;

use super::RECORD;
use crate::text::slug;

/// Choices with all else equal.
#[derive(Debug)]
pub struct Group<'a> {
    /// A slug, each once.
    pub name: String,
    /// What is equal.
    pub cell: Cell,
    pub choices: Vec<Choice<'a>>,
}

/// One cell: a value of the axis that is compared.
#[derive(Debug)]
pub struct Choice<'a> {
    pub value: String,
    pub trials: Vec<Tried<'a>>,
}

/// A trial and what became of it.
#[derive(Debug)]
pub struct Tried<'a> {
    pub record: &'a Record,
    pub id: &'a str,
    pub seed_index: Option<u32>,
    /// `None`: it has not run.
    pub outcome: Option<&'a Outcome>,
}

impl Group<'_> {
    /// As [`answer::values`] has it.
    pub fn title(&self) -> String {
        if self.cell.0.is_empty() { "all".to_owned() } else { answer::values(&self.cell) }
    }
}

impl<'a> Choice<'a> {
    /// Those that gave a result that verdicts may rest on.
    pub fn results(&self) -> impl Iterator<Item = (&Tried<'a>, &'a Outcome)> {
        self.trials.iter().filter_map(|tried| Some((tried, tried.outcome.filter(|it| it.is_sound())?)))
    }

    /// Over the seeds of [`Choice::results`].
    pub fn spread(&self, metric: &Metric) -> Option<Spread> {
        Spread::of(self.results().filter_map(|(_, outcome)| metric.of(outcome)))
    }

    /// Those that ought to have given such a result and did not, each with the reason.
    pub fn failures(&self) -> Vec<(&Tried<'a>, String)> {
        let failed = |tried: &Tried<'a>| match tried.outcome {
            None => Some("not run".to_owned()),
            Some(outcome) if outcome.status == Status::Ok => {
                let doubt = outcome.remarks.iter().find(|remark| remark.doubts())?;
                Some(format!("its numbers cannot be true together: {doubt}"))
            }
            Some(outcome) if outcome.status == Status::Spared => None,
            Some(outcome) => {
                let reason = outcome.reason.as_deref().unwrap_or("no reason given");
                Some(format!("{}: {reason}", outcome.status))
            }
        };
        self.trials.iter().filter_map(|tried| Some((tried, failed(tried)?))).collect()
    }

    /// The failures in words, those of one fate together: `seeds 1 and 3: failed: no answer within 60 s`.
    pub fn failures_in_words(&self) -> Vec<String> {
        let mut fates: Vec<(String, Vec<String>)> = Vec::new();
        for (tried, reason) in self.failures() {
            let seed = tried.seed_index.map_or_else(|| tried.id.to_owned(), |seed| seed.to_string());
            match fates.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, seeds)) => seeds.push(seed),
                None => fates.push((reason, vec![seed])),
            }
        }
        let told = |(reason, seeds): (String, Vec<String>)| {
            let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
            format!("{noun} {}: {reason}", listed(&seeds))
        };
        fates.into_iter().map(told).collect()
    }
}

impl Tried<'_> {
    /// `seed 3`, or its id where that has no seed.
    pub fn seed(&self) -> String {
        self.seed_index.map_or_else(|| self.id.to_owned(), |seed| format!("seed {seed}"))
    }
}

/// The axes are those of each record.
pub fn of<'a>(records: &'a [Record], axes: &[Vec<String>], compared: &str) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for (record, axes) in records.iter().zip(axes) {
        for (id, outcome) in record.outcomes() {
            let cell = outcome.map_or_else(|| Cell::of_id(id, axes), |outcome| outcome.cell.clone());
            let (value, rest) = if compared == RECORD && records.len() > 1 {
                (name_of(record.folder()), cell)
            } else {
                let value = cell.value(compared).unwrap_or_default().to_owned();
                (value, Cell(cell.0.into_iter().filter(|(axis, _)| axis != compared).collect()))
            };
            let seed_index = outcome.map(|outcome| outcome.seed_index).or_else(|| seed_of_id(id));
            add(&mut groups, rest, value, Tried { record, id, seed_index, outcome });
        }
    }
    groups
}

fn add<'a>(groups: &mut Vec<Group<'a>>, cell: Cell, value: String, tried: Tried<'a>) {
    let at = groups.iter().position(|group| group.cell == cell).unwrap_or_else(|| {
        let plain = slug(&answer::values(&cell));
        let taken = |name: &str| groups.iter().any(|group| group.name == name);
        // Values that differ in signs only have one slug.
        let name = if plain.is_empty() || taken(&plain) {
            format!("cell{}-{plain}", groups.len() + 1)
        } else {
            plain
        };
        groups.push(Group { name, cell, choices: Vec::new() });
        groups.len() - 1
    });
    let choices = &mut groups[at].choices;
    match choices.iter_mut().find(|choice| choice.value == value) {
        Some(choice) => choice.trials.push(tried),
        None => choices.push(Choice { value, trials: vec![tried] }),
    }
}

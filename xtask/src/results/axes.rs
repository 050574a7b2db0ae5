//! Where a record says which cell a trial belongs to.

use anyhow::Context;
use disklab_config::suite::Axis;
use disklab_config::{Mistakes, Suite};
use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record};

use super::merged::Place;

/// What a page must know of each trial.
const NEEDED: [Axis; 5] = [Axis::Array, Axis::Background, Axis::Jobs, Axis::Workload, Axis::Policy];

pub struct Axes {
    /// For messages.
    record: String,
    /// Those of the cells, in the order of a trial's id.
    crossed: Vec<String>,
    /// Those with the same value in all trials, which no cell has.
    fixed: Cell,
}

impl Axes {
    /// Of a record whose suite says all that a page must know, and varies nothing else.
    pub fn of(record: &Record) -> anyhow::Result<Self> {
        let name = record.folder().display().to_string();
        let suite = suite(record).with_context(|| format!("{name}: its suite cannot be read"))?;
        for axis in NEEDED {
            anyhow::ensure!(
                suite.axes().iter().any(|known| known.axis == axis),
                "{name}: its suite does not say the {axis}, and a page is about that too; run it with --set {axis}=..."
            );
        }
        for other in
            suite.axes().iter().filter(|known| !NEEDED.iter().any(|axis| known.axis == *axis))
        {
            anyhow::ensure!(
                other.values.len() == 1,
                "{name}: it has several values of {0}, which a page does not tell apart; run it with one (--set {0}=...)",
                other.axis
            );
        }
        let (fixed, crossed): (Vec<_>, Vec<_>) =
            suite.axes().iter().partition(|values| values.fixed);
        let fixed = fixed.into_iter().flat_map(|known| {
            known.values.iter().map(|value| (known.axis.to_string(), value.value.clone()))
        });
        Ok(Self {
            record: name,
            crossed: crossed.into_iter().map(|known| known.axis.to_string()).collect(),
            fixed: Cell(fixed.collect()),
        })
    }

    /// The place and the policy of a trial.
    pub fn cell(&self, id: &str, outcome: Option<&Outcome>) -> anyhow::Result<(Place, String)> {
        let cell =
            outcome.map_or_else(|| Cell::of_id(id, &self.crossed), |outcome| outcome.cell.clone());
        let value = |axis: Axis| {
            let value = cell.value(axis.as_str()).or_else(|| self.fixed.value(axis.as_str()));
            let lacking =
                || format!("{}: trial {id} has no {axis}, which its suite varies", self.record);
            value.map(str::to_owned).with_context(lacking)
        };
        let jobs = value(Axis::Jobs)?;
        let no_number = || format!("{}: trial {id} has `{jobs}` jobs", self.record);
        let place = Place {
            array: value(Axis::Array)?,
            background: value(Axis::Background)?,
            jobs: jobs.parse().with_context(no_number)?,
            workload: value(Axis::Workload)?,
        };
        Ok((place, value(Axis::Policy)?))
    }
}

/// The suite that a record was begun with, as its command line changed it.
fn suite(record: &Record) -> Result<Suite, Mistakes> {
    let asked = &record.manifest().suite;
    let file = record.folder().join("manifest.toml");
    let file = format!("{} (its copy of the suite)", file.display());
    Suite::of_text(&asked.name, &file, asked.text(), &asked.set)
}

//! How fast disklab is, on this machine, now: figures beside the bars they are to pass.
//!
//! Machines differ and are busy, so ratios within one run count. What is compared is run in turn, A B A B, and the
//! median of the turns is told.

mod calendar;
mod cells;
mod decisions;
mod guest;
mod memory;
mod rate;
mod start;

use comfy_table::{CellAlignment, Table, presets};

/// One figure and what it is held against.
pub struct Figure {
    what: String,
    value: String,
    /// The bar, in words, and whether it is passed.
    bar: Option<(String, bool)>,
}

impl Figure {
    fn new(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { what: what.into(), value: value.into(), bar: None }
    }

    fn at_least(mut self, value: f64, bar: f64, unit: &str) -> Self {
        self.bar = Some((format!("at least {bar}{unit}"), value >= bar));
        self
    }

    fn at_most(mut self, value: f64, bar: f64, unit: &str) -> Self {
        self.bar = Some((format!("at most {bar}{unit}"), value <= bar));
        self
    }
}

type Section = fn(&guest::Place) -> anyhow::Result<Vec<Figure>>;

/// Those that need a kernel.
const SECTIONS: [(&str, Section); 5] = [
    ("calendar", calendar::run),
    ("requests", rate::run),
    ("start", start::run),
    ("memory", memory::run),
    ("cells", cells::run),
];

/// Runs the section of this name, or all, and prints a table.
pub fn run(only: Option<&str>) -> anyhow::Result<()> {
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let sections: Vec<_> = SECTIONS.iter().filter(|(name, _)| wanted(name)).collect();
    let mut figures = Vec::new();
    if wanted("decisions") {
        eprintln!("decisions ...");
        figures.extend(decisions::run());
    } else if sections.is_empty() {
        let names = SECTIONS.map(|(name, _)| name).join(", ");
        anyhow::bail!("there is no section {}; known: decisions, {names}", only.unwrap_or_default());
    }
    if !sections.is_empty() {
        let place = guest::Place::find()?;
        for (name, bench) in sections {
            eprintln!("{name} ...");
            figures.extend(bench(&place)?);
        }
    }
    print(figures);
    Ok(())
}

fn print(figures: Vec<Figure>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["what", "figure", "bar", ""]);
    for figure in figures {
        let (bar, passed) = figure.bar.map_or_else(Default::default, |(bar, passed)| {
            (bar, if passed { "ok" } else { "BELOW THE BAR" })
        });
        table.add_row([figure.what.as_str(), &figure.value, &bar, passed]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

//! How fast disklab is, on this machine, now: figures beside the bars they are to pass.
//!
//! Machines differ and are busy, so ratios within one run count. What is compared is run in turn, A
//! B A B, and the median of the turns is told.

mod cells;
mod compare;
mod decisions;
mod disks;
mod guest;
mod host;
mod import;
mod memory;
mod rate;
mod report;
mod start;
mod starts;
mod sweep;
mod trace;
mod watch;

use comfy_table::{CellAlignment, Table, presets};

/// One figure and what it is held against.
pub struct Figure {
    what: String,
    value: String,
    /// What it is held against, in words, and whether it passes.
    bar: Option<(String, Mark)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Below,
    Bar,
    Goal,
}

impl Mark {
    fn new(bar: bool, goal: Option<bool>) -> Self {
        match (bar, goal) {
            (false, _) => Self::Below,
            (true, Some(true)) => Self::Goal,
            (true, _) => Self::Bar,
        }
    }

    fn word(self, has_goal: bool) -> &'static str {
        match (self, has_goal) {
            (Self::Below, _) => "BELOW THE BAR",
            (Self::Bar, true) => "ok, goal not met",
            (Self::Bar, false) => "ok",
            (Self::Goal, _) => "ok, goal met",
        }
    }
}

impl Figure {
    fn new(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { what: what.into(), value: value.into(), bar: None }
    }

    fn at_least(mut self, value: f64, bar: f64, goal: Option<f64>, unit: &str) -> Self {
        let words = format!("at least {bar}{unit}{}", goal_in_words(goal, unit));
        self.bar = Some((words, Mark::new(value >= bar, goal.map(|goal| value >= goal))));
        self
    }

    fn at_most(mut self, value: f64, bar: f64, goal: Option<f64>, unit: &str) -> Self {
        let words = format!("at most {bar}{unit}{}", goal_in_words(goal, unit));
        self.bar = Some((words, Mark::new(value <= bar, goal.map(|goal| value <= goal))));
        self
    }
}

fn goal_in_words(goal: Option<f64>, unit: &str) -> String {
    goal.map_or_else(String::new, |goal| format!(", goal {goal}{unit}"))
}

enum Section {
    /// Needs no guest.
    Bare(fn() -> anyhow::Result<Vec<Figure>>),
    /// Runs guests, and needs a kernel.
    Guests(fn(&guest::BenchSetup) -> anyhow::Result<Vec<Figure>>),
}

use Section::{Bare, Guests};

/// All sections, in the order in which they run.
const SECTIONS: [(&str, Section); 15] = [
    ("disks", Bare(disks::run)),
    ("full-disk", Bare(disks::full)),
    ("decisions", Bare(|| Ok(decisions::run()))),
    ("compare", Bare(|| Ok(compare::run()))),
    ("import", Bare(import::run)),
    ("report", Bare(report::run)),
    ("sweep", Bare(sweep::run)),
    ("trace", Bare(trace::run)),
    ("watch", Bare(watch::run)),
    ("host", Bare(host::run)),
    ("requests", Guests(rate::run)),
    ("start", Guests(start::run)),
    ("memory", Guests(memory::run)),
    ("cells", Guests(cells::run)),
    ("starts", Guests(starts::run)),
];

/// Runs the sections of these names, or all, and prints a table.
pub fn run(only: &[String]) -> anyhow::Result<()> {
    let known = SECTIONS.map(|(name, _)| name);
    if let Some(name) = only.iter().find(|name| !known.contains(&name.as_str())) {
        anyhow::bail!("there is no section {name}; known: {}", known.join(", "));
    }
    let mut figures = Vec::new();
    for (name, section) in SECTIONS {
        if !only.is_empty() && !only.iter().any(|only| only == name) {
            continue;
        }
        eprintln!("{name} ...");
        figures.extend(match section {
            Bare(bench) => bench()?,
            Guests(bench) => bench(&guest::BenchSetup::find()?)?,
        });
    }
    let is_below = |figure: &&Figure| matches!(figure.bar, Some((_, Mark::Below)));
    let below = figures.iter().filter(is_below).count();
    print(figures);
    anyhow::ensure!(below == 0, "figures below their bars: {below}");
    Ok(())
}

fn print(figures: Vec<Figure>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["what", "figure", "bar", "met"]);
    for figure in figures {
        let (bar, passed) = figure.bar.map_or_else(Default::default, |(bar, mark)| {
            let word = mark.word(bar.contains("goal"));
            (bar, word)
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

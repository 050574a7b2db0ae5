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
    fn of(bar: bool, goal: Option<bool>) -> Self {
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
        self.bar = Some((words, Mark::of(value >= bar, goal.map(|goal| value >= goal))));
        self
    }

    fn at_most(mut self, value: f64, bar: f64, goal: Option<f64>, unit: &str) -> Self {
        let words = format!("at most {bar}{unit}{}", goal_in_words(goal, unit));
        self.bar = Some((words, Mark::of(value <= bar, goal.map(|goal| value <= goal))));
        self
    }
}

fn goal_in_words(goal: Option<f64>, unit: &str) -> String {
    goal.map_or_else(String::new, |goal| format!(", goal {goal}{unit}"))
}

type Section = fn(&guest::Place) -> anyhow::Result<Vec<Figure>>;

/// Those that need a kernel.
const SECTIONS: [(&str, Section); 5] = [
    ("requests", rate::run),
    ("start", start::run),
    ("memory", memory::run),
    ("cells", cells::run),
    ("starts", starts::run),
];

type Bare = fn() -> anyhow::Result<Vec<Figure>>;

/// Those that need no guest.
const BARE: [(&str, Bare); 10] = [
    ("disks", disks::run),
    ("full-disk", disks::full),
    ("decisions", || Ok(decisions::run())),
    ("compare", || Ok(compare::run())),
    ("import", import::run),
    ("report", report::run),
    ("sweep", sweep::run),
    ("trace", trace::run),
    ("watch", watch::run),
    ("host", host::run),
];

/// Runs the sections of these names, or all, and prints a table.
pub fn run(only: &[String]) -> anyhow::Result<()> {
    let known = || BARE.iter().map(|(name, _)| *name).chain(SECTIONS.iter().map(|(name, _)| *name));
    if let Some(name) = only.iter().find(|name| !known().any(|known| known == *name)) {
        anyhow::bail!(
            "there is no section {name}; known: {}",
            known().collect::<Vec<_>>().join(", ")
        );
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let sections: Vec<_> = SECTIONS.iter().filter(|(name, _)| wanted(name)).collect();
    let mut figures = Vec::new();
    let bare: Vec<_> = BARE.iter().filter(|(name, _)| wanted(name)).collect();
    for (name, bench) in bare {
        eprintln!("{name} ...");
        figures.extend(bench()?);
    }
    if !sections.is_empty() {
        let place = guest::Place::find()?;
        for (name, bench) in sections {
            eprintln!("{name} ...");
            figures.extend(bench(&place)?);
        }
    }
    let below =
        figures.iter().filter(|figure| matches!(figure.bar, Some((_, Mark::Below)))).count();
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

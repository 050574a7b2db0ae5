//! A figure of a bench, and functions that benches share.

use anyhow::{Context, ensure};
pub use disklab_units::average::median;
use std::path::PathBuf;

/// A measured figure and its bar.
pub struct Figure {
    pub what: String,
    pub value: String,
    /// The bar as text, and whether the figure passes it.
    bar: Option<(String, Mark)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Below,
    Bar,
    Goal,
}

impl Figure {
    pub fn new(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { what: what.into(), value: value.into(), bar: None }
    }

    /// Makes a figure whose value is a number with `digits` digits after the point.
    pub fn number(what: impl Into<String>, value: f64, digits: usize) -> Self {
        Self::new(what, format!("{value:.digits$}"))
    }

    pub fn at_least(self, value: f64, bar: f64, goal: Option<f64>, unit: &str) -> Self {
        self.with_bar("at least", |limit| value >= limit, bar, goal, unit)
    }

    pub fn at_most(self, value: f64, bar: f64, goal: Option<f64>, unit: &str) -> Self {
        self.with_bar("at most", |limit| value <= limit, bar, goal, unit)
    }

    fn with_bar(
        self,
        side: &str,
        passes: impl Fn(f64) -> bool,
        bar: f64,
        goal: Option<f64>,
        unit: &str,
    ) -> Self {
        let in_words = goal.map_or_else(String::new, |goal| format!(", goal {goal}{unit}"));
        let mark = match goal {
            _ if !passes(bar) => Mark::Below,
            Some(goal) if passes(goal) => Mark::Goal,
            _ => Mark::Bar,
        };
        Self { bar: Some((format!("{side} {bar}{unit}{in_words}"), mark)), ..self }
    }

    pub fn is_below(&self) -> bool {
        matches!(self.bar, Some((_, Mark::Below)))
    }

    /// Returns the name of the figure, its value, its bar, and whether it passes.
    pub fn row(&self) -> [&str; 4] {
        let (bar, word) = self.bar.as_ref().map_or(("", ""), |(bar, mark)| {
            let word = match mark {
                Mark::Below => "BELOW THE BAR",
                Mark::Bar if bar.contains("goal") => "ok, goal not met",
                Mark::Bar => "ok",
                Mark::Goal => "ok, goal met",
            };
            (bar.as_str(), word)
        });
        [&self.what, &self.value, bar, word]
    }
}

/// Finds the program beside this one, built with the same profile.
pub fn disklab() -> anyhow::Result<PathBuf> {
    let disklab = std::env::current_exe()?.with_file_name("disklab");
    ensure!(
        disklab.is_file(),
        "{} does not exist; build it: cargo build --release",
        disklab.display()
    );
    Ok(disklab)
}

/// Reads a number of KiB, such as `VmHWM:`, from a process's status in /proc.
pub fn status_kib(process: &str, key: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("/proc/{process}/status has no number for {key}"))
}

//! Common parts of all pictures of a trial over time: width, ticks and tables.

use disklab_trace::timeline::TimelineBin;
use disklab_units::prose::digits;

use super::scale::Scale;
use crate::chart::{Chart, NumbersTable};
use crate::watched::WatchedTrial;

/// Left margin in pixels: all pictures of a trial stand under each other.
pub const LEFT: f64 = 52.0;
pub const DRAWN: f64 = 330.0;
/// Share of the width that the name of a phase needs.
const ROOM_FOR_A_NAME: f64 = 0.12;
/// Number of rows of a table: stretches of time.
const STRETCHES: usize = 12;

impl Scale {
    /// Returns the position of a moment of the phase on the width.
    pub fn place(&self, seconds: f64) -> f64 {
        LEFT + DRAWN * self.part(seconds)
    }

    /// Returns the share of the width that a time takes.
    fn part(&self, seconds: f64) -> f64 {
        seconds / self.seconds.max(1e-9)
    }

    /// Returns true if the name of a phase has room.
    pub fn has_room(&self, from: f64, to: f64) -> bool {
        self.part(to - from) >= ROOM_FOR_A_NAME
    }

    /// Returns the moment (in s) and the text for the missing part of a truncated trace, or `None`
    /// if there is no room.
    pub fn missing(&self, trial: &WatchedTrial) -> Option<(f64, &'static str)> {
        let told = trial.traced();
        (self.part(self.seconds - told) >= 0.25)
            .then(|| (told.midpoint(self.seconds), "not in the trace"))
    }

    /// Adds the subject of the chart, and the positions of its table's rows.
    pub fn finish(&self, mut chart: Chart, trial: &WatchedTrial) -> Chart {
        chart.about = trial.about();
        if self.one_of_several {
            let length = digits(self.seconds);
            chart.about = format!("{}; its axis is {length} s long", chart.about);
        }
        let ends = stretches(trial).into_iter().map(|(_, to)| to);
        let edges = std::iter::once(0).chain(ends).map(|edge| self.place(trial.moment(edge)));
        chart.with_edges(edges.collect())
    }
}

/// Returns the bins of each row of a table: from, to.
fn stretches(trial: &WatchedTrial) -> Vec<(usize, usize)> {
    let count = trial.line.bins.count;
    let each = count.div_ceil(STRETCHES).max(1);
    (0..count).step_by(each).map(|from| (from, (from + each).min(count))).collect()
}

/// Builds a table with a row for each stretch of time and a column for each disk.
pub fn table(trial: &WatchedTrial, show: impl Fn(&TimelineBin) -> String) -> NumbersTable {
    let mut table = NumbersTable::new("s", &trial.names);
    for (from, to) in stretches(trial) {
        let name = format!("{} to {}", digits(trial.moment(from)), digits(trial.moment(to)));
        let disks = trial.line.disks.iter();
        table.row(name, disks.map(|disk| show(&TimelineBin::joined(&disk.bins[from..to]))));
    }
    table
}

/// Returns 1, 2 or 5 times a power of ten, of which four to eight fit.
pub fn tick_step(most: f64) -> f64 {
    let power = 10_f64.powf((most.max(1e-9) / 8.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|step| most / step <= 8.0)
        .unwrap_or(power)
}

/// Formats a number with as many decimal places as multiples of `step` have.
pub fn short(value: f64, step: f64) -> String {
    let places = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.places$}")
}

//! How far two measurements of the same are apart on this machine: trials that were measured twice
//! in one run.

use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record};
use disklab_stats::{Better, Rule, log_ratios, percent};
use disklab_units::prose::count;
use serde::Serialize;

use crate::answer;
use crate::contest::{Trust, counts};
use crate::judgement::Terms;
use crate::metric::Metric;

/// A trial's first measurement and its second.
pub type Pair<'a> = (&'a Outcome, &'a Outcome);

/// Fewer have no interval.
const FEWEST: usize = 3;

/// What the same may differ by from itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    /// The farther end of the interval of the change from the first measurements to the second; of
    /// fewer than three pairs, the greatest change of any.
    pub percent: f64,
    pub pairs: usize,
}

impl Noise {
    /// `None` where nothing was measured twice.
    pub fn of(pairs: &[Pair], metric: &Metric, terms: Terms) -> Option<Self> {
        let value = |outcome| metric.of(outcome).filter(|value| *value > 0.0);
        let both = pairs.iter().filter_map(|(first, second)| Some((value(first)?, value(second)?)));
        let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
        let greatest =
            log_ratios(&second, &first).ok()?.into_iter().map(f64::abs).reduce(f64::max)?;
        let rule = Rule::new(terms.alpha, terms.smallest_effect, Better::Higher).ok()?;
        let interval = (first.len() >= FEWEST).then(|| rule.paired(&second, &first).ok()).flatten();
        let farthest =
            interval.map(|it| it.log_ratio.interval).map(|it| it.low.abs().max(it.high.abs()));
        let size = farthest.filter(|size| size.is_finite()).unwrap_or(greatest);
        Some(Self { percent: percent(size), pairs: first.len() })
    }

    /// Whether a change of so many per cent is no more than that.
    pub fn hides(self, change: f64) -> bool {
        answer::size(change) <= answer::size(self.percent)
    }

    /// `0.84 %, by 5 pairs`.
    pub fn told(self) -> String {
        format!("{:.2} %, by {}", self.percent, count(self.pairs, "pair"))
    }
}

/// Those of a record that count, by the cell that they are of.
pub fn pairs(record: &Record, trust: Trust) -> Vec<(Cell, Vec<Pair<'_>>)> {
    let mut cells: Vec<(Cell, Vec<Pair>)> = Vec::new();
    for (first, second) in record.pairs() {
        if counts(first, trust).and(counts(second, trust)).is_err() {
            continue;
        }
        match cells.iter_mut().find(|(cell, _)| *cell == first.cell) {
            Some((_, pairs)) => pairs.push((first, second)),
            None => cells.push((first.cell.clone(), vec![(first, second)])),
        }
    }
    cells
}

/// What a record's second measurements say of its machine, in each of the metrics; a sentence each,
/// without its full stop.
pub fn sentences(record: &Record, metrics: &[Metric], terms: Terms) -> Vec<String> {
    let cells = pairs(record, Trust::Sound);
    metrics.iter().filter_map(|metric| sentence(&cells, metric, terms)).collect()
}

fn sentence(cells: &[(Cell, Vec<Pair>)], metric: &Metric, terms: Terms) -> Option<String> {
    let noise = |(cell, pairs): &(Cell, Vec<Pair>)| {
        Some((answer::values(cell), Noise::of(pairs, metric, terms)?))
    };
    let mut all: Vec<(String, Noise)> = cells.iter().filter_map(noise).collect();
    all.sort_by(|(_, one), (_, other)| one.percent.total_cmp(&other.percent));
    let (cell, most) = all.last()?;
    let least = all.first().filter(|_| all.len() > 1);
    let from = least
        .map_or_else(String::new, |(cell, least)| format!("{:.2} % ({cell}) to ", least.percent));
    Some(format!(
        "{}: the same, measured twice, may differ by {from}{:.2} % ({cell}): what differs by less \
         is this machine's noise ({})",
        metric.name(),
        most.percent,
        count(all.iter().map(|(_, noise)| noise.pairs).sum(), "pair")
    ))
}

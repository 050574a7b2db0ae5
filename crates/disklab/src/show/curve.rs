//! A trial's latencies as a curve over percentiles, in text.

use std::fs;
use std::io::Write;
use std::path::Path;

use disklab_collect::fio;
use disklab_collect::sample::latency_of;
use disklab_guest::names;
use disklab_report::chart::terminal;

use crate::exit::Failure;
use crate::screen::{Paint, Screen};

const ROWS: usize = 14;
/// Wider than this a curve says no more.
const WIDEST: usize = 100;

/// Nothing where fio's report in `raw` has no histogram.
pub fn print(raw: &Path, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let report = fs::read(raw.join(names::FIO)).ok().and_then(|bytes| fio::parse(&bytes).ok());
    let jobs: Vec<_> = report.iter().flat_map(|report| &report.jobs).collect();
    let histogram = latency_of(&jobs).and_then(|(_, latency)| latency.histogram);
    let points: Vec<(f64, f64)> = histogram
        .iter()
        .flat_map(|histogram| {
            (0..=200).filter_map(|half| {
                let percent = f64::from(half) / 2.0;
                Some((percent, histogram.percentile(percent)? as f64))
            })
        })
        .collect();
    let lines = terminal::percentiles(&points, screen.width.min(WIDEST), ROWS);
    if !lines.is_empty() {
        writeln!(out, "\n{}", screen.paint("latency of all requests, the fastest first", Paint::Strong))?;
    }
    Ok(lines.iter().try_for_each(|line| writeln!(out, "{line}"))?)
}

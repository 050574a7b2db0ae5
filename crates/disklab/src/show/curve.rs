//! Draws a trial's latencies as a curve over percentiles, in text.

use std::io::Write;
use std::path::Path;

use disklab_report::chart::terminal;
use disklab_report::latency::{RequestKind, histogram_in};

use crate::exit::Failure;
use crate::screen::{Paint, Screen};

const ROWS: usize = 14;
/// Width beyond which a curve shows no more detail.
const WIDEST: usize = 100;
/// Width below which the numbers at the axes are cut off.
const NARROWEST: usize = 56;

/// Prints the curve. It prints nothing if fio's report in `raw` has no histogram, or cannot be
/// read.
pub fn print(raw: &Path, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let histogram = histogram_in(raw, RequestKind::All).ok().flatten();
    let points: Vec<(f64, f64)> = histogram
        .iter()
        .flat_map(|histogram| {
            (0..=200).filter_map(|half| {
                let percent = f64::from(half) / 2.0;
                Some((percent, histogram.percentile(percent)? as f64))
            })
        })
        .collect();
    if screen.width < NARROWEST && !points.is_empty() {
        return Ok(writeln!(out, "\nlatency as a curve: from {NARROWEST} columns on")?);
    }
    let lines = terminal::percentiles(&points, screen.width.min(WIDEST), ROWS);
    if !lines.is_empty() {
        writeln!(
            out,
            "\n{}",
            screen.paint("latency of all requests, the fastest first", Paint::Strong)
        )?;
    }
    Ok(lines.iter().try_for_each(|line| writeln!(out, "{line}"))?)
}

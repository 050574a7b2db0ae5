//! The load that is to be measured, before it is: until the rate at which the disks finish requests
//! is steady.
//!
//! Steady is what SNIA's Performance Test Specification says, in the words of fio's `steadystate`:
//! over five samples none is far off their mean, and their line hardly rises or falls. fio's own
//! option is not used: it counts by whole seconds, for each group of jobs by itself.

use super::program::Program;
use super::{Failure, Steps, ground};
use crate::plan::WarmUp;
use disklab_stats::Criterion;
use serde_json::json;
use std::time::{Duration, Instant};

/// The step's name in the record, and that of its program.
pub const STEP: &str = "warmed";
const PROGRAM: &str = "warm-up";
/// So many samples are looked at.
const WINDOW: usize = 5;
/// How far one of them may be off their mean, per cent.
const OFF: f64 = 10.0;
/// How much their line may rise or fall from the first to the last, per cent of the mean.
const RISE: f64 = 10.0;

/// Runs it; whether it was steady in the end is in the record.
pub fn warm_up(warm: &WarmUp, steps: &mut Steps) -> Result<(), Failure> {
    let mut program = Program::start(&warm.command, PROGRAM)?;
    let (every, limit) = (Duration::from_nanos(warm.every_ns), Duration::from_nanos(warm.limit_ns));
    let begun = Instant::now();
    let (mut rates, mut last) = (Vec::new(), (begun, ground::requests()?));
    let steady = loop {
        std::thread::sleep((last.0 + every).saturating_duration_since(Instant::now()));
        if program.child().try_wait().map_err(|e| format!("{PROGRAM}: {e}"))?.is_some() {
            program.finish(steps)?;
            return Err(format!("{PROGRAM}: it ended before it was ended"));
        }
        let now = (Instant::now(), ground::requests()?);
        rates.push(now.1.saturating_sub(last.1) as f64 / (now.0 - last.0).as_secs_f64());
        last = now;
        let window = &rates[rates.len().saturating_sub(WINDOW)..];
        if is_steady(window) {
            break true;
        }
        if begun.elapsed() >= limit {
            break false;
        }
    };
    program.end(steps)?;
    let window = &rates[rates.len().saturating_sub(WINDOW)..];
    let [off, rise] = [Criterion::MaxMeanDeviation, Criterion::Slope]
        .map(|criterion| criterion.measure(window).unwrap_or_default());
    let mean = window.iter().sum::<f64>() / window.len() as f64;
    let percent = |value: f64| if mean > 0.0 { value / mean * 100.0 } else { 100.0 };
    steps.say(&json!({
        "step": STEP, "steady": steady, "took_ns": begun.elapsed().as_nanos() as u64, "every_ns": warm.every_ns,
        "off_percent": percent(off), "rise_percent": percent(rise * (window.len() - 1) as f64), "rates": rates,
    }));
    Ok(())
}

fn is_steady(window: &[f64]) -> bool {
    let holds = |criterion: Criterion, percent| criterion.is_below(percent, window) == Ok(true);
    window.len() == WINDOW
        && holds(Criterion::MaxMeanDeviation, OFF)
        && holds(Criterion::Slope, RISE / (WINDOW - 1) as f64)
}

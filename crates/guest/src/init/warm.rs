//! Runs the load before it is measured, until the rate at which the disks finish requests is
//! steady.
//!
//! "Steady" follows SNIA's Performance Test Specification, in the terms of fio's `steadystate`:
//! over five samples, none is far off their mean, and their slope is small. fio's own option is not
//! used, since it counts by whole seconds, separately for each group of jobs.

use super::perform::{Perform, Session};
use super::program::Program;
use super::steps::Failure;
use crate::site::Site;
use disklab_protocol::measure::WarmUp;
use disklab_protocol::shell;
use disklab_protocol::step::Step;
use disklab_stats::Criterion;
use disklab_units::Nanos;
use std::time::{Duration, Instant};

/// Name of its program's step.
const PROGRAM: &str = "warm-up";
/// Number of samples that are compared.
const WINDOW: usize = 5;
/// Largest deviation of a sample from the mean, in per cent.
const OFF: f64 = 10.0;
/// Largest rise or fall of their line from the first to the last, in per cent of the mean.
const RISE: f64 = 10.0;

impl Perform for WarmUp {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        let (command, most) = (shell::command(&self.command), Nanos(self.limit_ns));
        vec![format!("{command}  # until its rate is steady, for {most} at most")]
    }

    /// Runs with the measured I/O priority. The record says if the rate was steady in the end.
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        session.measured.enter().map_err(|e| format!("setting the I/O priority: {e}"))?;
        warm_up(self, session)
    }
}

fn warm_up(warm: &WarmUp, session: &mut Session) -> Result<(), Failure> {
    let mut program = Program::start(&warm.command, PROGRAM)?;
    let (every, limit) = (Duration::from_nanos(warm.every_ns), Duration::from_nanos(warm.limit_ns));
    let begun = Instant::now();
    let (mut rates, mut last) = (Vec::new(), (begun, session.environment.requests()?));
    let steady = loop {
        std::thread::sleep((last.0 + every).saturating_duration_since(Instant::now()));
        if program.child().try_wait().map_err(|e| format!("waiting for {PROGRAM}: {e}"))?.is_some()
        {
            program.finish(&mut session.steps)?;
            return Err(format!("{PROGRAM}: it ended by itself"));
        }
        let now = (Instant::now(), session.environment.requests()?);
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
    program.end(&mut session.steps)?;
    let window = &rates[rates.len().saturating_sub(WINDOW)..];
    let [off, rise] = [Criterion::MaxMeanDeviation, Criterion::Slope]
        .map(|criterion| criterion.measure(window).unwrap_or_default());
    let mean = window.iter().sum::<f64>() / window.len() as f64;
    let percent = |value: f64| if mean > 0.0 { value / mean * 100.0 } else { 100.0 };
    session.steps.say(&Step::Warmed {
        steady,
        took_ns: begun.elapsed().as_nanos() as u64,
        every_ns: warm.every_ns,
        off_percent: percent(off),
        rise_percent: percent(rise * (window.len() - 1) as f64),
        rates,
    });
    Ok(())
}

fn is_steady(window: &[f64]) -> bool {
    let holds = |criterion: Criterion, percent| criterion.is_below(percent, window) == Ok(true);
    window.len() == WINDOW
        && holds(Criterion::MaxMeanDeviation, OFF)
        && holds(Criterion::Slope, RISE / (WINDOW - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::is_steady;

    #[test]
    fn a_rate_is_steady_that_neither_jumps_nor_climbs() {
        assert!(is_steady(&[100.0, 103.0, 97.0, 101.0, 99.0]));
        assert!(!is_steady(&[100.0, 100.0, 100.0, 100.0]), "too few samples");
        assert!(!is_steady(&[100.0, 100.0, 130.0, 100.0, 100.0]), "one is far off");
        assert!(!is_steady(&[92.0, 96.0, 100.0, 104.0, 108.0]), "none is far off, and it climbs");
        assert!(!is_steady(&[0.0; 5]), "nothing runs yet");
    }
}

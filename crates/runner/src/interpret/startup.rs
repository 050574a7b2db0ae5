//! Results of the start of a program.

use disklab_config::suite::metric::STARTUP;
use disklab_protocol::step::{StartupEnd, Step};
use disklab_results::Remark;
use disklab_results::measure::{Measure, Measures};
use disklab_units::Nanos;

/// Returns the time of the start. A start that timed out has at least the limit. The error gives
/// the reason why there is no time.
pub fn measures(steps: &[Step]) -> Result<(Measures, Option<Remark>), String> {
    let ready = steps.iter().rev().find_map(|step| match step {
        Step::Startup { ready, .. } => Some(ready),
        _ => None,
    });
    let measure = |ns: u64, censored| {
        let measure = Measure { censored, ..Measure::time(ns as f64) };
        let late = Remark::NotWithin { what: STARTUP.to_owned(), limit: Nanos(ns) };
        Ok(([(STARTUP.to_owned(), measure)].into(), censored.then_some(late)))
    };
    match ready.ok_or("the guest reports nothing about the start-up")? {
        StartupEnd::After { ns } => measure(*ns, false),
        StartupEnd::NotWithin { ns } => measure(*ns, true),
        StartupEnd::Never { reason } => Err(reason.clone()),
    }
}

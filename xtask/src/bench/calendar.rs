//! The calendar alone: its own bench, crates/des/benches.

use super::Figure;
use super::guest::Place;
use anyhow::Context;
use std::process::Command;

pub fn run(_: &Place) -> anyhow::Result<Vec<Figure>> {
    let out = Command::new(env!("CARGO")).args(["bench", "--quiet", "--package", "disklab-des"]).output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let rate = text.split("\"events_per_second\":").nth(1).and_then(|rest| rest.split('}').next());
    let rate: f64 = rate.and_then(|rate| rate.parse().ok()).with_context(|| {
        format!("cargo bench --package disklab-des said: {text}{}", String::from_utf8_lossy(&out.stderr))
    })?;
    let millions = rate / 1e6;
    Ok(vec![
        Figure::new("calendar, million events a second", format!("{millions:.1}"))
            .at_least(millions, 5.0, None, ""),
    ])
}

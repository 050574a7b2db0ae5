//! Simulates how often intervals and verdicts are wrong. The simulation is seeded, so that each run
//! gives the same rates.
//!
//! `cargo test -p disklab-stats --test simulation -- --nocapture` prints them as tables.

mod intervals;
mod many;
mod modes;
mod power;
mod seeds;
mod sequential;
mod series;
mod source;
mod verdicts;

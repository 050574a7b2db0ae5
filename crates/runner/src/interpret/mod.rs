//! Interprets the raw files of a trial: computes its measures, or the nearest cause of its failure.
//!
//! Nothing here runs a trial.

mod choice;
pub mod derive;
pub mod end;
pub mod evidence;
pub mod fault;
pub mod fsload;
pub mod host;
pub mod outcome;
mod phases;
mod player;
pub mod power_cut;
mod sections;
mod snapshots;
mod startup;
mod throughput;

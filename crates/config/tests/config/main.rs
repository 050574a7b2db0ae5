//! The crate as others use it: files in, trials or mistakes out.

mod backgrounds;
mod damage;
mod estimates;
mod lab;
mod matrix;
mod mistakes;
mod phases;
mod programs;
mod small_lab;
mod snapshots;
mod sweeps;

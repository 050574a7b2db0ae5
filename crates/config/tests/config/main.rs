//! Tests the crate as its users call it: with files, to get trials or mistakes.

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

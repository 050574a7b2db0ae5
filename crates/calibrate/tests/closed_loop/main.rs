//! Measures modelled disks, whose numbers are known, and compares the results with these numbers.

mod bench;
mod drives;
mod flash;
mod noise;

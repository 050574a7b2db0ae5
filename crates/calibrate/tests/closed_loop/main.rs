//! Measures modelled disks, whose numbers are known, and holds what was found against them.

mod bench;
mod drives;
mod flash;
mod noise;

//! Discrete event simulation, the two parts that every model needs: a calendar of things to come and seeded randomness.
//!
//! Both are pure: the same calls give the same answers on any machine. Nothing here knows of disks.

mod calendar;
mod random;

pub use calendar::Calendar;
pub use random::Random;

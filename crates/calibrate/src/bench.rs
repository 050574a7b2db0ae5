//! A test bench: the disk under test, random places to access, a limit of time, and a progress
//! callback.

use std::sync::atomic::{AtomicBool, Ordering};

use disklab_units::{Nanos, Random, Seed};

use crate::error::{Error, Result};
use crate::target::{Probe, Target, Timed};

/// The smallest read: a block of 4 KiB.
pub(crate) const BLOCK: u32 = 8;

/// The reason given for a measurement that was skipped because the time was up.
pub(crate) const NO_TIME: &str = "no time was left (--time)";

/// The progress callback. It gets a description of the present measurement, and the fraction done,
/// from 0 to 1.
pub type OnProgress<'a> = &'a mut dyn FnMut(&str, f64);

pub(crate) struct TestBench<'a> {
    target: &'a mut dyn Target,
    random: Random,
    watch: OnProgress<'a>,
    stop: &'a AtomicBool,
    begun: Nanos,
    time: Nanos,
    steps: u32,
    of: u32,
    pub may_write: bool,
}

impl<'a> TestBench<'a> {
    pub fn new(
        target: &'a mut dyn Target,
        time: Nanos,
        may_write: bool,
        watch: OnProgress<'a>,
        stop: &'a AtomicBool,
    ) -> Self {
        let begun = target.now();
        // Every calibration draws the same places; no result depends on which they are.
        let random = Random::new(Seed(1).derive("calibrate"));
        Self { target, random, watch, stop, begun, time, steps: 0, of: 1, may_write }
    }

    /// Sets the number of steps, once it is known.
    pub fn plan(&mut self, steps: u32) {
        (self.steps, self.of) = (0, steps.max(1));
    }

    /// Begins the next step of the plan and reports it.
    pub fn step(&mut self, what: &str) {
        (self.watch)(what, f64::from(self.steps) / f64::from(self.of));
        self.steps += 1;
    }

    /// Begins an optional step, as [`TestBench::step`] does. Returns `false` when the time is up.
    pub fn has_time_for(&mut self, what: &str) -> bool {
        self.step(what);
        self.time_left() > Nanos::ZERO
    }

    /// Makes an optional measurement, or returns why it was not made.
    pub fn if_time<T>(
        &mut self,
        what: &str,
        measure: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Result<T, &'static str>> {
        if self.has_time_for(what) { measure(self).map(Ok) } else { Ok(Err(NO_TIME)) }
    }

    /// Returns the time left before optional measurements are skipped.
    pub fn time_left(&self) -> Nanos {
        self.time.saturating_sub(self.now().saturating_sub(self.begun))
    }

    pub fn now(&self) -> Nanos {
        self.target.now()
    }

    /// Returns the disk's size in sectors.
    pub fn size(&self) -> u64 {
        self.target.bytes().sectors().0
    }

    pub fn idle(&mut self, time: Nanos) {
        self.target.idle(time);
    }

    pub fn serve(&mut self, depth: usize, probes: &[Probe]) -> Result<Vec<Timed>> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        self.target.serve(depth, probes)
    }

    pub fn one(&mut self, probe: Probe) -> Result<Timed> {
        let timed = self.serve(1, &[probe])?;
        timed.first().copied().ok_or(Error::Interrupted)
    }

    pub fn read(&mut self, sector: u64, sectors: u32) -> Result<Timed> {
        self.one(Probe::read(sector, sectors))
    }

    /// Draws a place anywhere on the disk, with `room` sectors behind it.
    pub fn place(&mut self, room: u64) -> u64 {
        self.place_in(0, self.size(), room)
    }

    /// Draws a place within `from..to`, with `room` sectors behind it.
    pub fn place_in(&mut self, from: u64, to: u64, room: u64) -> u64 {
        let block = u64::from(BLOCK);
        let blocks = to.min(self.size()).saturating_sub(from + room) / block;
        from / block * block + self.random.below(blocks.max(1)) * block
    }

    pub fn places(&mut self, count: usize, room: u64) -> Vec<u64> {
        (0..count).map(|_| self.place(room)).collect()
    }

    /// Draws `count` blocks anywhere on the disk to read or to write.
    pub fn blocks(&mut self, count: usize, probe: fn(u64, u32) -> Probe) -> Vec<Probe> {
        let places = self.places(count, u64::from(BLOCK));
        places.into_iter().map(|place| probe(place, BLOCK)).collect()
    }

    pub fn chance(&mut self) -> f64 {
        self.random.next_f64()
    }
}

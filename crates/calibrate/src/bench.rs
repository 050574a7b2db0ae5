//! A disk under test with all that measuring needs around it: places to read, a limit of time,
//! somebody who watches.

use std::sync::atomic::{AtomicBool, Ordering};

use disklab_units::{Nanos, Random, Seed};

use crate::error::{Error, Result};
use crate::target::{Probe, Target, Timed};

/// The smallest read: a block of 4 KiB.
pub(crate) const BLOCK: u32 = 8;

/// The reason why something was left out when the time was up.
pub(crate) const NO_TIME: &str = "no time was left (--time)";

/// Somebody who watches: hears what is being measured, and how much of all is done, from 0 to 1.
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
        // Places are drawn anew each time a disk is measured, but the same ones: nothing hangs on
        // which.
        let random = Random::new(Seed(1).derive("calibrate"));
        Self { target, random, watch, stop, begun, time, steps: 0, of: 1, may_write }
    }

    /// How many steps there are, once it is known.
    pub fn plan(&mut self, steps: u32) {
        (self.steps, self.of) = (0, steps.max(1));
    }

    /// The next part of the plan begins.
    pub fn step(&mut self, what: &str) {
        (self.watch)(what, f64::from(self.steps) / f64::from(self.of));
        self.steps += 1;
    }

    /// Begins a part that can be left out, as [`TestBench::step`] does; `false` when the time is
    /// up.
    pub fn has_time_for(&mut self, what: &str) -> bool {
        self.step(what);
        self.time_left() > Nanos::ZERO
    }

    /// Measures what can be left out, or says why nothing was tried.
    pub fn if_time<T>(
        &mut self,
        what: &str,
        measure: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Result<T, &'static str>> {
        if self.has_time_for(what) { measure(self).map(Ok) } else { Ok(Err(NO_TIME)) }
    }

    /// Until what can be left out is.
    pub fn time_left(&self) -> Nanos {
        self.time.saturating_sub(self.now().saturating_sub(self.begun))
    }

    pub fn now(&self) -> Nanos {
        self.target.now()
    }

    /// In sectors.
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

    /// Anywhere, with so many sectors behind it.
    pub fn place(&mut self, room: u64) -> u64 {
        self.place_in(0, self.size(), room)
    }

    /// Within `from..to`, with so many sectors behind it.
    pub fn place_in(&mut self, from: u64, to: u64, room: u64) -> u64 {
        let block = u64::from(BLOCK);
        let blocks = to.min(self.size()).saturating_sub(from + room) / block;
        from / block * block + self.random.below(blocks.max(1)) * block
    }

    pub fn places(&mut self, count: usize, room: u64) -> Vec<u64> {
        (0..count).map(|_| self.place(room)).collect()
    }

    /// So many blocks to read or to write, anywhere.
    pub fn blocks(&mut self, count: usize, probe: fn(u64, u32) -> Probe) -> Vec<Probe> {
        let places = self.places(count, u64::from(BLOCK));
        places.into_iter().map(|place| probe(place, BLOCK)).collect()
    }

    pub fn chance(&mut self) -> f64 {
        self.random.next_f64()
    }
}

//! A machine with noise, unlike a model: late wake-ups, and occasional disturbances.

use disklab_calibrate::modelled::Modelled;
use disklab_calibrate::{Error, Probe, Target, Timed};
use disklab_units::{Bytes, Nanos, Random, Seed};

/// A disk behind a host that sees completions a little late, and one in two hundred up to 2 ms
/// late.
pub struct Noisy {
    disk: Modelled,
    random: Random,
    /// Mean delay, in ns.
    late: f64,
}

impl Noisy {
    pub fn new(disk: Modelled, late: f64) -> Self {
        Self { disk, random: Random::new(Seed(1).derive("noise")), late }
    }

    fn late(&mut self) -> Nanos {
        let usual = -self.late * (1.0 - self.random.next_f64()).ln();
        let seldom = if self.random.below(200) == 0 { 2e6 * self.random.next_f64() } else { 0.0 };
        Nanos((usual + seldom) as u64)
    }
}

impl Target for Noisy {
    fn bytes(&self) -> Bytes {
        self.disk.bytes()
    }

    fn now(&self) -> Nanos {
        self.disk.now()
    }

    fn idle(&mut self, time: Nanos) {
        let late = self.late();
        self.disk.idle(time + late);
    }

    fn serve(&mut self, depth: usize, probes: &[Probe]) -> Result<Vec<Timed>, Error> {
        if depth > 1 {
            let mut timed = self.disk.serve(depth, probes)?;
            for request in &mut timed {
                request.done += self.late();
            }
            return Ok(timed);
        }
        let mut all = Vec::new();
        for probe in probes {
            let mut timed = self.disk.serve(1, &[*probe])?;
            let late = self.late();
            self.disk.idle(late);
            timed[0].done += late;
            all.extend(timed);
        }
        Ok(all)
    }
}

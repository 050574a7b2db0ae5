//! How fast the calendar is, by the classical "hold" model: take the next event out, schedule one at a random time
//! after it, with a constant number pending. Prints one JSON line; the bar is 5 million events a second.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::time::Instant;

use disklab_des::{Calendar, Random};
use disklab_units::{Nanos, Seed};

const EVENTS: u64 = 10_000_000;
const PENDING: u64 = 1_000;

fn main() {
    let mut random = Random::new(Seed(1));
    let mut calendar = Calendar::with_capacity(PENDING as usize);
    for event in 0..PENDING {
        calendar.schedule(Nanos(random.below(1_000_000)), event);
    }
    let start = Instant::now();
    let mut last = Nanos(0);
    for _ in 0..EVENTS {
        let Some((at, event)) = calendar.pop() else { break };
        assert!(at >= last);
        last = at;
        calendar.schedule(at + Nanos(random.below(2_000_000)), event);
    }
    let rate = EVENTS as f64 / start.elapsed().as_secs_f64();
    println!(
        "{{\"bench\":\"calendar-hold\",\"pending\":{PENDING},\"events\":{EVENTS},\"events_per_second\":{rate:.0}}}"
    );
}

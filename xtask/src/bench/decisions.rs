//! Measures the cost of one decision of each read policy, compared with `pid`: the policies' C
//! code, compiled for this machine.
//!
//! Collecting a policy's inputs (`needs` in its C file) costs time too, but only in a kernel, and
//! is not measured here.

use std::hint::black_box;
use std::time::Instant;

use disklab_read_policies::{Choice, Mirror, Request, policies};

use disklab_units::{Random, Seed};

use super::figure::{Figure, median};

/// Number of rounds. The policies take turns, so that a busy moment affects all of them.
const ROUNDS: usize = 301;
/// Requests in a round: few enough for the processor's cache, into which a kernel would have just
/// put each.
const REQUESTS: usize = 256;
/// Largest time of a policy, as a multiple of `pid`'s.
const BAR: f64 = 25.0;

pub fn run() -> Vec<Figure> {
    let mut figures = Vec::new();
    for mirrors in 2..=4 {
        let requests = requests(mirrors);
        let choices: Vec<Choice> = policies().iter().map(Choice::default_of).collect();
        let mut times = vec![Vec::with_capacity(ROUNDS); choices.len()];
        for _ in 0..ROUNDS {
            for (choice, times) in choices.iter().zip(&mut times) {
                times.push(time(choice, &requests));
            }
        }
        // The first policy is pid: see registry.rs.
        let pid = times.first().cloned().unwrap_or_default();
        for (choice, times) in choices.iter().zip(times) {
            let ratios: Vec<f64> = times.iter().zip(&pid).map(|(time, pid)| time / pid).collect();
            let ratio = median(&ratios);
            let what =
                format!("decision among {mirrors} mirrors: {}; times pid", choice.policy().name);
            figures.push(
                Figure::new(what, format!("{:.1} ns, {ratio:.1}", median(&times)))
                    .at_most(ratio, BAR, None, " times"),
            );
        }
    }
    figures
}

/// Returns the time of a decision in ns.
fn time(choice: &Choice, requests: &[Request]) -> f64 {
    let start = Instant::now();
    for request in requests {
        black_box(choice.decide(black_box(request)));
    }
    start.elapsed().as_nanos() as f64 / requests.len() as f64
}

/// Returns reads of a busy filesystem: queues, means and positions differ, and no device is
/// missing.
fn requests(mirrors: u32) -> Vec<Request> {
    let mut numbers = Random::new(Seed(1));
    let mut below = |bound: u64| numbers.below(bound);
    let mut request = || {
        let place = below(1 << 40);
        let mut mirror = |devid: u32| Mirror {
            devid: u64::from(devid),
            physical: place,
            next_read: if below(4) == 0 { place } else { below(1 << 40) },
            run_start: below(1 << 40),
            sent: below(1 << 40),
            head: below(1 << 40),
            optimal_io: 0,
            ios: 1000,
            wait: 1_000_000,
            recent_ios: 1 + below(1 << 20),
            recent_wait: below(1 << 40),
            reads_in_flight: below(8) as u32,
            writes_in_flight: below(3) as u32,
            age: below(10_000) as i32,
            rotational: true,
            live: true,
        };
        let all: Vec<Mirror> = (1..=mirrors).map(&mut mirror).collect();
        let request = Request::new(&all, 12)?;
        Some(request.place(place, 4096).after(below(1 << 32) as u32).by(below(1 << 15) as u32))
    };
    (0..REQUESTS).filter_map(|_| request()).collect()
}

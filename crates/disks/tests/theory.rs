//! Tests against queueing theory, on the disk whose service time is constant.

mod drive;

use disklab_config::device::{Constant, Model};
use disklab_disks::{Disk, build_checked as build};
use disklab_units::{Bytes, Nanos, Random, Seed};
use drive::{ServedRequest, assert_near, closed_loop, mean, mean_latency, open_loop, read};

const LATENCY: Nanos = Nanos::from_micros(50);

fn constant(servers: u32) -> Box<dyn Disk> {
    let model = Constant { latency: LATENCY, servers, rotational: false, queue_depth: 4096 };
    build(&Model::Constant(model), Bytes::gib(64), Seed(1))
}

#[test]
fn one_request_at_a_time_takes_one_latency_each() {
    let mut disk = constant(1);
    let served = closed_loop(disk.as_mut(), Nanos(0), 1, 10_000, |_| read(0, 8));
    assert_eq!(served.last().unwrap().at, LATENCY * 10_000);
    assert_eq!(disk.counters().busy_ns, LATENCY.0 * 10_000);
}

#[test]
fn throughput_is_that_of_the_servers_in_use() {
    for (servers, depth) in [(1, 8), (4, 1), (4, 2), (4, 4), (4, 32), (3, 7)] {
        let served =
            closed_loop(constant(servers).as_mut(), Nanos(0), depth, 8_400, |_| read(0, 8));
        let in_use = u64::from(servers).min(depth as u64);
        assert_eq!(
            served.last().unwrap().at,
            LATENCY * (8_400 / in_use),
            "{servers} servers, depth {depth}"
        );
        // In this many requests, each server has had every place in the queue once.
        let rounds = &served[depth..depth + depth * servers as usize];
        let throughput = in_use as f64 / LATENCY.0 as f64;
        assert_near("Little's law", throughput * mean_latency(rounds), depth as f64, 1e-9);
    }
}

/// Poisson arrivals at one server form an M/D/1 queue, whose mean wait is rho S / (2 (1 - rho))
/// (Pollaczek and Khinchine).
#[test]
fn random_arrivals_wait_as_long_as_theory_says() {
    for (rho, arrivals) in [(0.3, 300_000), (0.7, 1_000_000)] {
        let mut random = Random::new(Seed(11));
        let gap = LATENCY.0 as f64 / rho;
        let mut now = 0.0;
        let requests = (0..arrivals).map(|_| {
            now -= gap * (1.0 - random.next_f64()).ln();
            (Nanos(now as u64), read(0, 8))
        });
        let mut disk = constant(1);
        let served = open_loop(disk.as_mut(), requests);

        let wait = mean(served.iter().map(|served| (served.started - served.submitted).0 as f64));
        assert_near("mean wait", wait, rho * LATENCY.0 as f64 / (2.0 * (1.0 - rho)), 0.01);
        let span = served.last().unwrap().at.0 as f64;
        assert_near("utilisation", disk.counters().busy_ns as f64 / span, rho, 0.01);
        let rate = served.len() as f64 / span;
        assert_near(
            "Little's law",
            mean_in_system(&served, span),
            rate * mean_latency(&served),
            0.01,
        );
    }
}

/// Returns the number of requests under way, averaged over time by walking through all arrivals and
/// departures.
fn mean_in_system(served: &[ServedRequest], span: f64) -> f64 {
    let mut steps: Vec<(u64, i64)> =
        served.iter().flat_map(|served| [(served.submitted.0, 1), (served.at.0, -1)]).collect();
    steps.sort_unstable();
    let (mut area, mut last, mut inside) = (0.0, 0, 0);
    for (at, change) in steps {
        area += inside as f64 * (at - last) as f64;
        last = at;
        inside += change;
    }
    area / span
}

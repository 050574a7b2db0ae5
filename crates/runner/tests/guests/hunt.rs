//! Hunts for guests that hang at their start: it starts many guests, and stops and continues their
//! processes at moments drawn from a seed. It is ignored by default, since it takes hours:
//!
//!     DISKLAB_STARTS=20000 DISKLAB_SEED=1 cargo test -p disklab-runner --test guests -- \
//!         --ignored starts_that_are_stopped

use crate::place::{TestGuest, constant, processes_now};
use disklab_protocol::names;
use disklab_units::{Bytes, Random, Seed};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of guests at a time.
const AT_A_TIME: u64 = 4;
/// Longest pause between two stops, and longest stop, in us.
const LONGEST_PAUSE: u64 = 30_000;

pub fn tests() -> Vec<Trial> {
    vec![
        crate::test("starts_that_are_stopped", starts_that_are_stopped).with_ignored_flag(true),
        crate::test("a_hang_at_the_start", a_hang_at_the_start),
    ]
}

fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text}: not a number")),
        Err(_) => default,
    }
}

fn starts_that_are_stopped() {
    let (starts, seed) = (number("DISKLAB_STARTS", 200), number("DISKLAB_SEED", 1));
    let (next, stops, hung) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    let work = || {
        loop {
            let start = next.fetch_add(1, Ordering::Relaxed);
            if start >= starts {
                return;
            }
            // Every fourth guest is left alone, to separate the effect of stops from that of the
            // load.
            let random = Random::new(Seed(seed).derive(&format!("start {start}")));
            let random = (start % 4 != 0).then_some(random);
            let (result, stopped, stalled) = start_one(random);
            stops.fetch_add(stopped, Ordering::Relaxed);
            if result.is_err() || stalled.is_some() {
                hung.fetch_add(1, Ordering::Relaxed);
                println!("start {start}, {stopped} stops: {:?}", result.err());
                println!("{}", stalled.unwrap_or_default());
            }
            if start % 500 == 499 {
                println!("{} starts in {} s", start + 1, began.elapsed().as_secs());
            }
        }
    };
    std::thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(work))));
    let (stops, hung) = (stops.into_inner(), hung.into_inner());
    println!("{starts} starts, {stops} stops, {hung} failed");
    assert_eq!(hung, 0, "of {starts} starts");
}

/// Starts a guest on four disks, and stops its processes while it runs. Returns the result, the
/// number of stops, and the guest's state if it hung.
fn start_one(random: Option<Random>) -> (Result<(), String>, u64, Option<String>) {
    let mut place = TestGuest::shell("true");
    // Four guests beside other programs may wait long for a processor.
    place.silence = Duration::from_secs(300);
    place.wall = Duration::from_secs(3600);
    let disk = |i: usize| {
        let mut disk = constant(Bytes::mib(64), 50);
        disk.image = format!("{i}.img");
        disk
    };
    place.machine.disks = (0..4).map(disk).collect();
    let (ended, folder) = (AtomicBool::new(false), place.folder.path());
    let (result, stopped) = std::thread::scope(|scope| {
        let stopping = random.map(|random| scope.spawn(|| stop_and_go(folder, random, &ended)));
        let result = place.run().map(drop);
        ended.store(true, Ordering::Relaxed);
        (result, stopping.map_or(0, |stopping| stopping.join().unwrap()))
    });
    (result, stopped, std::fs::read_to_string(place.path(names::STALLED)).ok())
}

fn stop_and_go(folder: &Path, mut random: Random, ended: &AtomicBool) -> u64 {
    let mut stops = 0;
    // From then on the kernel's program runs. An earlier stop would stop its starter.
    while !folder.join(names::HEARTBEAT).exists() && !ended.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_micros(100));
    }
    while !ended.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_micros(random.below(LONGEST_PAUSE)));
        let pids = processes_now(folder);
        let Some(pid) = pids.get(random.below(pids.len().max(1) as u64) as usize) else { continue };
        let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) else { continue };
        let signal = [Signal::STOP, Signal::STOP, Signal::WINCH][random.below(3) as usize];
        if kill_process(pid, signal).is_ok() {
            std::thread::sleep(Duration::from_micros(random.below(LONGEST_PAUSE)));
            let _ = kill_process(pid, Signal::CONT);
            stops += 1;
        }
    }
    stops
}

/// A guest that is stopped as soon as its process runs the kernel has done nothing.
fn a_hang_at_the_start() {
    let mut place = TestGuest::shell("echo done");
    place.silence = Duration::from_secs(5);
    let (folder, ended) = (place.folder.path(), AtomicBool::new(false));
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            // A page that was just created has no size yet.
            let beats =
                || folder.join(names::HEARTBEAT).metadata().is_ok_and(|page| page.len() > 0);
            while !beats() && !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(100));
            }
            for pid in processes_now(folder) {
                let pid = pid.parse().ok().and_then(Pid::from_raw);
                let _ = pid.map(|pid| kill_process(pid, Signal::STOP));
            }
        });
        let result = place.run();
        ended.store(true, Ordering::Relaxed);
        result
    });
    result.unwrap();
    assert_eq!(place.said(), "done");
    let text = std::fs::read_to_string(place.path(names::STALLED)).unwrap();
    assert!(text.contains("heartbeat 0 0 0") && text.contains("T (stopped)"), "{text}");
    assert!(text.contains("\nsyscall: ") && text.contains("disklab-keeper"), "{text}");
}

//! Simulates faults below the program: system calls that fail, at moments drawn from a seed.
//! Nothing may be lost, wrong or hung.
//!
//! The program is the real one, and a tracer makes its calls fail ([`tracer`]). A fake kernel takes
//! the place of guests ([`kernel`]), so that a run takes some 40 ms. `DISKLAB_SCHEDULES` is the
//! number of schedules, and `DISKLAB_SEED` the seed. `DISKLAB_SCHEDULE` runs the schedule of that
//! number alone, prints the program's output, and keeps its folder. Two trials run at a time, so
//! that a call's number is not always that of the same call: run it several times.

mod calls;
mod kernel;
mod scene;
mod schedule;
mod tracer;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use disklab_runner::facts;
use disklab_units::Seed;
use nix::mount::{MntFlags, umount2};

use scene::Scene;

/// Number of schedules in CI; they take less than a minute on two free processors.
const SCHEDULES: u64 = 2_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [traced, stopping, program, rest @ ..] = &arguments[..]
        && traced == tracer::TRACED
    {
        tracer::become_traced(stopping, program, rest);
    }
    if arguments == [kernel::GUEST] {
        kernel::run().expect("a guest's files");
        return;
    }
    // The harness lists tests, or asks for a test of another name.
    if arguments.iter().any(|word| word == "--list" || !(word.starts_with('-') || is_asked(word))) {
        return;
    }
    let seed = Seed(number("DISKLAB_SEED").unwrap_or(36));
    let only = number("DISKLAB_SCHEDULE");
    if let Err(missing) = facts::tools() {
        return disklab_testkit::skipped_without_root(missing);
    }
    if let Err(missing) = facts::tool("mkfs.btrfs") {
        return disklab_testkit::skipped_without_root(missing);
    }
    let here = tempfile::tempdir().expect("a folder");
    let is_mounted = scene::mount(here.path()).is_ok();
    let scene = match Scene::set(here.path()) {
        Ok(scene) => scene,
        Err(why) => return disklab_testkit::skipped_without_root(&why),
    };
    let begun = Instant::now();
    let next = AtomicU64::new(only.unwrap_or(0));
    let end = only.map_or_else(|| number("DISKLAB_SCHEDULES").unwrap_or(SCHEDULES), |one| one + 1);
    let wrong = Mutex::new(Vec::new());
    let happened = AtomicU64::new(0);
    // A schedule also waits: for files, and for the programs that it starts.
    let jobs = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return;
                    }
                    let outcome = schedule::run(&scene, seed, number, only.is_some());
                    happened.fetch_add(outcome.happened, Ordering::Relaxed);
                    if let Some(why) = outcome.wrong {
                        eprintln!("schedule {number}: {why}\n");
                        wrong.lock().expect("no panic").push(number);
                    }
                }
            });
        }
    });
    if only.is_some() {
        println!("{}", keep(here.path()).display());
    }
    if is_mounted {
        umount2(here.path(), MntFlags::MNT_DETACH).expect("its own mount");
    }
    let wrong = wrong.into_inner().expect("no panic");
    println!(
        "{} schedules of seed {}, {} faults, {:.0} s: {} wrong {wrong:?}",
        end - only.unwrap_or(0),
        seed.0,
        happened.into_inner(),
        begun.elapsed().as_secs_f64(),
        wrong.len(),
    );
    assert!(wrong.is_empty(), "run one again with DISKLAB_SEED={} DISKLAB_SCHEDULE=N", seed.0);
}

/// Copies the folder of the schedules out of its mount, which ends with this process.
fn keep(here: &Path) -> PathBuf {
    let kept = tempfile::tempdir().expect("a folder").keep();
    let mut copy = Command::new("cp");
    copy.args(["-a", "--sparse=always"]).arg(here.join(".")).arg(&kept);
    assert!(copy.status().expect("cp").success(), "{} is not copied", here.display());
    kept
}

fn is_asked(word: &str) -> bool {
    "faults".contains(word)
}

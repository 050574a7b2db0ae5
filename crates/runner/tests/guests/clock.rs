//! Tests the guest's clock. crates/guest/examples/clock_check.rs compares it with the kernel's own
//! answers, and time_readings.rs reads time in every way that a program can.

use crate::place::TestGuest;
use disklab_protocol::places::TRIAL;
use libtest_mimic::Trial;
use std::sync::atomic::{AtomicBool, Ordering};

pub fn tests() -> Vec<Trial> {
    vec![
        crate::test("clocks_agree", clocks_agree),
        crate::test("every_reading_is_of_virtual_time", every_reading_is_of_virtual_time),
        crate::test("time_is_the_disks", time_is_the_disks),
    ]
}

/// Runs an example of crates/guest in a guest and returns what it printed.
fn run_example(name: &str) -> String {
    let here = std::env::current_exe().unwrap();
    let program = here.parent().unwrap().join("../examples").join(name);
    assert!(
        program.is_file(),
        "crates/guest/examples/{name} is not built: test the whole workspace, as `make test` does"
    );
    // The guest has its own /tmp, which may hide this repository. It always sees the trial's
    // folder.
    let place = TestGuest::shell(&format!("{TRIAL}/{name} >{TRIAL}/printed"));
    std::fs::copy(program, place.path(name)).unwrap();
    let ran = place.run();
    let printed = std::fs::read_to_string(place.path("printed")).unwrap_or_default();
    ran.unwrap_or_else(|reason| panic!("{reason}; {}; {printed}", place.said()));
    printed
}

fn clocks_agree() {
    assert_eq!(run_example("clock_check"), "all clocks agree\n");
}

/// Two guests print the same bytes. One of them runs beside programs that take the processors.
fn every_reading_is_of_virtual_time() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let first = run_example("time_readings");
    let spin = || {
        while !DONE.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let load = [spin; 4].map(std::thread::spawn);
    let second = run_example("time_readings");
    DONE.store(true, Ordering::Relaxed);
    for thread in load {
        thread.join().unwrap();
    }
    assert!(first.ends_with("all readings are of virtual time\n"), "{first}");
    for (one, other) in first.lines().zip(second.lines()) {
        assert_eq!(one, other);
    }
    assert_eq!(first, second);
}

/// 1000 successive reads of 50 us take 50 ms to the nanosecond: the processor takes no time.
fn time_is_the_disks() {
    let place = TestGuest::new(&[
        "dd",
        "if=/dev/vda",
        "of=/dev/null",
        "bs=4k",
        "count=1000",
        "iflag=direct",
    ]);
    let closing = place.run().unwrap();
    let phase = closing.phase("measure").unwrap();
    assert_eq!(phase.length().0, 50_000_000);
    assert_eq!((phase.devices[0].reads, phase.devices[0].busy.0), (1000, 50_000_000));
}

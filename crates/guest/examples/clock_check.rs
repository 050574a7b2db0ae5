//! Compares the guest's cheap clock with the kernel's own answers. The tests of crates/runner run
//! it in a guest.
//!
//! The vDSO answers clock reads from a page that it shares with the kernel
//! (guest-kernel/patches/0001). Here each clock is read both ways in turn. A program that reads
//! time must never see it go back, in either way.

use std::arch::asm;
use std::process::exit;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

const MOVING: [i32; 5] = [
    libc::CLOCK_REALTIME,
    libc::CLOCK_MONOTONIC,
    libc::CLOCK_MONOTONIC_RAW,
    libc::CLOCK_BOOTTIME,
    libc::CLOCK_TAI,
];
const COARSE: [i32; 2] = [libc::CLOCK_REALTIME_COARSE, libc::CLOCK_MONOTONIC_COARSE];
const COUNTED: [i32; 2] = [libc::CLOCK_PROCESS_CPUTIME_ID, libc::CLOCK_THREAD_CPUTIME_ID];

macro_rules! check {
    ($what:expr, $($said:tt)*) => {
        if !$what {
            println!("{}", format_args!($($said)*));
            exit(1);
        }
    };
}

fn ns(time: &libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Reads a clock as programs do: through the C library and the vDSO.
fn quick(clock: i32) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    check!(
        // SAFETY: The call writes to a variable of this function.
        unsafe { libc::clock_gettime(clock, &raw mut time) } == 0,
        "clock {clock} cannot be read"
    );
    ns(&time)
}

/// Reads a clock by a system call.
fn slow(clock: i32) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let result: i64;
    // SAFETY: The system call writes to a variable of this function, and the registers that it
    // changes are named.
    unsafe {
        asm!("syscall", inlateout("rax") libc::SYS_clock_gettime => result, in("rdi") clock,
             in("rsi") &raw mut time, lateout("rcx") _, lateout("r11") _);
    }
    check!(result == 0, "clock {clock}: the kernel says {result}");
    ns(&time)
}

/// Moves time, in steps so far apart that reads alone do not (disklab_clock.h: 1024 reads of one
/// instant do).
fn move_time() {
    std::thread::sleep(Duration::from_micros(10));
}

fn both_ways_agree() {
    for clock in MOVING.into_iter().chain(COARSE) {
        for _ in 0..100 {
            move_time();
            let (a, b, c, d) = (quick(clock), slow(clock), quick(clock), slow(clock));
            check!(a == b && b == c && c == d, "clock {clock}: {a} {b} {c} {d} in one instant");
        }
    }
}

fn no_clock_goes_back() {
    for clock in MOVING.into_iter().chain(COARSE).chain(COUNTED) {
        let mut last = 0;
        for i in 0..20_000 {
            let now = if i % 7 == 0 { slow(clock) } else { quick(clock) };
            check!(now >= last, "clock {clock} went from {last} to {now}");
            last = now;
        }
    }
}

/// A program that waits by reading the clock makes progress, and not much too fast.
fn spinning_ends() {
    for clock in MOVING {
        let end = quick(clock) + 5_000_000;
        let mut now = quick(clock);
        while now < end {
            now = quick(clock);
        }
        check!(now < end + 100_000, "clock {clock}: a wait of 5 ms ended {} ns late", now - end);
    }
    let end = quick(libc::CLOCK_MONOTONIC_COARSE) + 20_000_000;
    while quick(libc::CLOCK_MONOTONIC_COARSE) < end {}
}

fn calls(count: u32) {
    for _ in 0..count {
        // SAFETY: The call takes nothing and changes nothing.
        unsafe { libc::getppid() };
    }
}

/// A burst of system calls takes no time. In an endless loop, a fixed number of calls together
/// takes a step (disklab_clock.h).
fn calls_without_end_take_time() {
    const STEP: i64 = 32_768;
    // Each call counts, and so does a mutex on its way, which Linux 6.12 lacks.
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let counts = if release.starts_with("6.12.") { 1 } else { 2 };
    let (free, batch) = (65_536 / counts, 64 / counts);
    move_time();
    let begin = quick(libc::CLOCK_MONOTONIC);
    calls(free - 1000);
    let took = quick(libc::CLOCK_MONOTONIC) - begin;
    check!(took == 0, "a burst of system calls took {took} ns");
    calls(1000 + 100 * batch);
    let took = quick(libc::CLOCK_MONOTONIC) - begin;
    check!((100 * STEP..=104 * STEP).contains(&took), "calls without end took {took} ns");
    move_time();
    let again = quick(libc::CLOCK_MONOTONIC);
    calls(free - 1000);
    check!(quick(libc::CLOCK_MONOTONIC) == again, "time moves on after a sleep");
}

/// If a trial gives system calls a time, each call takes it.
fn calls_take_what_they_are_given() {
    let give = |ns: &str| {
        let given = std::fs::write("/sys/module/disklab/parameters/system_call", ns);
        check!(given.is_ok(), "a time for system calls cannot be set: {given:?}");
    };
    give("2000");
    move_time();
    let begin = quick(libc::CLOCK_MONOTONIC);
    calls(1000);
    let took = quick(libc::CLOCK_MONOTONIC) - begin;
    give("0");
    check!(took == 2_000_000, "1000 system calls of 2 us took {took} ns");
}

fn sleeping_takes_its_time() {
    for millis in [1, 20, 300] {
        let asked = Duration::from_millis(millis);
        let start = Instant::now();
        std::thread::sleep(asked);
        let took = start.elapsed();
        check!(
            took >= asked && took < asked + Duration::from_millis(1),
            "slept {took:?} instead of {asked:?}"
        );
    }
}

fn resolutions_are_right() {
    for (clocks, expected) in [(&MOVING[..], 1), (&COARSE[..], 10_000_000)] {
        for &clock in clocks {
            let mut time = libc::timespec { tv_sec: 9, tv_nsec: 9 };
            check!(
                // SAFETY: The call writes to a variable of this function.
                unsafe { libc::clock_getres(clock, &raw mut time) } == 0,
                "clock {clock} has no resolution"
            );
            check!(ns(&time) == expected, "clock {clock} has a resolution of {} ns", ns(&time));
        }
    }
}

fn the_other_calls_agree() {
    for _ in 0..100 {
        move_time();
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        check!(
            // SAFETY: The call writes to a variable of this function.
            unsafe { libc::gettimeofday(&raw mut time, std::ptr::null_mut()) } == 0,
            "gettimeofday failed"
        );
        let day = slow(libc::CLOCK_REALTIME);
        check!((time.tv_sec * 1_000_000 + time.tv_usec) == day / 1000, "gettimeofday differs");
        // SAFETY: A null pointer is allowed, and nothing is written.
        let seconds = unsafe { libc::time(std::ptr::null_mut()) };
        check!(seconds == slow(libc::CLOCK_REALTIME_COARSE) / 1_000_000_000, "time differs");
    }
}

/// Processes and threads share the page.
fn others_see_the_same() {
    static LATEST: AtomicI64 = AtomicI64::new(0);
    let threads = (0..4).map(|_| {
        std::thread::spawn(|| {
            for i in 0..5000 {
                let now = quick(libc::CLOCK_MONOTONIC);
                let latest = LATEST.fetch_max(now, Ordering::SeqCst);
                check!(now >= latest, "a thread saw {now} after another saw {latest}");
                if i % 100 == 0 {
                    move_time();
                }
            }
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        check!(thread.join().is_ok(), "a thread failed");
    }
    let before = quick(libc::CLOCK_MONOTONIC);
    // SAFETY: Nothing else runs in this process any more, so that the child may do what any
    // process does.
    let child = unsafe { libc::fork() };
    if child == 0 {
        move_time();
        let now = quick(libc::CLOCK_MONOTONIC);
        exit(i32::from(now <= before || now != slow(libc::CLOCK_MONOTONIC)));
    }
    let mut status = -1;
    check!(
        // SAFETY: The call writes to a variable of this function.
        unsafe { libc::waitpid(child, &raw mut status, 0) } == child && status == 0,
        "a child saw another time"
    );
    check!(quick(libc::CLOCK_MONOTONIC) > before, "the child's time is not ours");
}

/// Tests that a signal handler may read the clock during a read.
fn signals_do_not_disturb() {
    static READ: AtomicI64 = AtomicI64::new(0);
    extern "C" fn handler(_: i32) {
        READ.fetch_max(quick(libc::CLOCK_MONOTONIC), Ordering::SeqCst);
    }
    // SAFETY: The handler only reads a clock and an atomic number; the calls read variables of this
    // function.
    unsafe {
        libc::signal(libc::SIGALRM, handler as extern "C" fn(i32) as libc::sighandler_t);
        let every = libc::timeval { tv_sec: 0, tv_usec: 200 };
        libc::setitimer(
            libc::ITIMER_REAL,
            &libc::itimerval { it_interval: every, it_value: every },
            std::ptr::null_mut(),
        );
    }
    let mut last = 0;
    for _ in 0..200_000 {
        let now = quick(libc::CLOCK_MONOTONIC);
        check!(now >= last, "time went from {last} to {now} around a signal");
        last = now;
    }
    let read = READ.load(Ordering::SeqCst);
    check!(read > 0 && read <= last, "the handler read {read}, the program {last}");
    let off = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: The call reads a variable of this function.
    unsafe {
        libc::setitimer(
            libc::ITIMER_REAL,
            &libc::itimerval { it_interval: off, it_value: off },
            std::ptr::null_mut(),
        );
    }
}

fn setting_the_clock_shows_at_once() {
    let before = quick(libc::CLOCK_REALTIME);
    let monotonic = quick(libc::CLOCK_MONOTONIC);
    let later = libc::timespec { tv_sec: before / 1_000_000_000 + 1000, tv_nsec: 0 };
    check!(
        // SAFETY: The call reads a variable of this function.
        unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &raw const later) } == 0,
        "the clock cannot be set"
    );
    let now = quick(libc::CLOCK_REALTIME);
    check!(
        now >= ns(&later) && now < ns(&later) + 1_000_000,
        "set to {}, it says {now}",
        ns(&later)
    );
    check!(quick(libc::CLOCK_MONOTONIC) < monotonic + 1_000_000, "setting one clock moved another");
    both_ways_agree();
}

fn main() {
    both_ways_agree();
    no_clock_goes_back();
    spinning_ends();
    calls_without_end_take_time();
    calls_take_what_they_are_given();
    sleeping_takes_its_time();
    resolutions_are_right();
    the_other_calls_agree();
    others_see_the_same();
    signals_do_not_disturb();
    setting_the_clock_shows_at_once();
    println!("all clocks agree");
}

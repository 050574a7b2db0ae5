//! Reads time in every way that a program of a guest can, and prints each reading. The tests of
//! crates/runner run it in guests.
//!
//! Two guests must print the same bytes. If virtual time cannot have given a reading, the program
//! ends and says what is wrong.

use std::arch::asm;
use std::arch::x86_64::{__rdtscp, _rdtsc};
use std::fmt::Debug;
use std::fs;
use std::mem::zeroed;
use std::process::exit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Virtual time, in ns, that passes at once for a program that only reads the clock
/// (disklab_clock.h).
const STEP: i64 = 32_768;
/// Tick of the kernel, in ns.
const TICK: i64 = 10_000_000;
/// Years that contain the guest's calendar, around November 2023, in s.
const CALENDAR: std::ops::Range<i64> = 1_690_000_000..1_710_000_000;

macro_rules! check {
    ($what:expr, $($said:tt)*) => {
        if !$what {
            println!("wrong: {}", format_args!($($said)*));
            exit(1);
        }
    };
}

fn print(name: &str, value: impl Debug) {
    println!("{name} {value:?}");
}

fn ns(time: &libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Reads a clock through the C library, which asks the vDSO. Returns None if the guest has no such
/// clock.
fn clock(id: i32) -> Option<i64> {
    // SAFETY: A timespec may be all zeroes, and the call writes to it.
    unsafe {
        let mut time: libc::timespec = zeroed();
        (libc::clock_gettime(id, &raw mut time) == 0).then(|| ns(&time))
    }
}

/// Reads a clock by a system call.
fn clock_by_call(id: i32) -> Option<i64> {
    // SAFETY: A timespec may be all zeroes, and the call writes to it.
    unsafe {
        let mut time: libc::timespec = zeroed();
        (libc::syscall(libc::SYS_clock_gettime, id, &raw mut time) == 0).then(|| ns(&time))
    }
}

fn now() -> i64 {
    clock(libc::CLOCK_MONOTONIC_RAW).unwrap()
}

fn counter() -> i64 {
    // SAFETY: Every 64-bit processor has this instruction.
    unsafe { _rdtsc() }.cast_signed()
}

/// Reads the counter and the processor's number by rdtscp.
fn counter_and_processor() -> (i64, u32) {
    let mut processor = u32::MAX;
    // SAFETY: The processors that this project runs on have the instruction; it writes to a
    // variable of this function.
    let ticks = unsafe { __rdtscp(&raw mut processor) };
    (ticks.cast_signed(), processor)
}

fn clocks() {
    for id in 0..12 {
        let (quick, slow) = (clock(id), clock_by_call(id));
        print(&format!("clock {id}"), (quick, slow));
        // SAFETY: A timespec may be all zeroes, and the call writes to it.
        let resolution = unsafe {
            let mut time: libc::timespec = zeroed();
            (libc::clock_getres(id, &raw mut time) == 0).then(|| ns(&time))
        };
        print(&format!("resolution {id}"), resolution);
    }
    // SAFETY: The calls write to variables of this block.
    unsafe {
        let mut day: libc::timeval = zeroed();
        libc::gettimeofday(&raw mut day, std::ptr::null_mut());
        print("gettimeofday", (day.tv_sec, day.tv_usec));
        check!(CALENDAR.contains(&day.tv_sec), "gettimeofday {}", day.tv_sec);
        let seconds = libc::time(std::ptr::null_mut());
        print("time", seconds);
        check!(CALENDAR.contains(&seconds), "time {seconds}");
        let mut clock = 0;
        check!(libc::clock_getcpuclockid(1, &raw mut clock) == 0, "process 1 has no clock");
        print("clock of process 1", self::clock(clock));
        let mut state: libc::timex = zeroed();
        print("adjtimex", libc::adjtimex(&raw mut state));
        print("adjtimex time", (state.time.tv_sec, state.time.tv_usec, state.freq, state.tick));
    }
}

/// The counter runs at 1 GHz of virtual time, and a program that waits for it makes progress.
fn counters() {
    let (before, raw) = (counter(), now());
    print("rdtsc", before);
    print("rdtscp", counter_and_processor());
    check!(before == raw, "the counter says {before}, CLOCK_MONOTONIC_RAW {raw}");
    std::thread::sleep(Duration::from_secs(1));
    let (after, raw) = (counter(), now());
    print("rdtsc a second later", after);
    check!(after == raw, "after a second the counter says {after}, CLOCK_MONOTONIC_RAW {raw}");
    let (ticks, processor) = counter_and_processor();
    check!((ticks, processor) == (after, 0), "rdtscp says {ticks} on processor {processor}");

    let (begin, end) = (counter(), counter() + 1_000_000);
    let mut last = begin;
    while last < end {
        let next = counter();
        check!(next >= last, "the counter went from {last} to {next}");
        last = next;
    }
    print("rdtsc after 1 ms of reading it", last);
    check!(last < end + STEP, "a wait of 1 ms by the counter took {} ns", last - begin);
    while counter_and_processor().0 < last + 1_000_000 {}
    print("rdtscp after 1 ms of reading it", counter_and_processor());
}

/// The kernel answers in place of the processor, and leaves other registers and flags unchanged.
fn instructions_change_nothing_else() {
    let (mut kept, mut low, mut high): (u64, u64, u64) = (0x1234_5678_9abc_def0, !0, !0);
    let carry: u8;
    // SAFETY: Registers that the instruction changes are named.
    unsafe {
        asm!("stc", "rdtsc", "setc {carry}", carry = out(reg_byte) carry, inout("rax") low,
             inout("rdx") high, inout("rcx") kept);
    }
    check!(carry == 1, "rdtsc changed a flag");
    check!(kept == 0x1234_5678_9abc_def0, "rdtsc changed rcx to {kept:x}");
    check!(low >> 32 == 0 && high >> 32 == 0, "rdtsc left {low:x} and {high:x}");
}

/// Runs `work` in a child; returns its exit status, or the negative number of the signal that ended
/// it.
fn in_child(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: This process has one thread, so that the child may do what any process does.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(work());
        }
        let mut status = 0;
        check!(libc::waitpid(child, &raw mut status, 0) == child, "a child is lost");
        if libc::WIFSIGNALED(status) { -libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) }
    }
}

/// Early kernels had `gettimeofday` and `time` at these addresses. The host's kernel may still
/// answer there; hosts differ in that, so only the answers are checked. Linux 6.12 traces its
/// programs and does not see such calls, so the host answers them.
fn calls_at_fixed_addresses() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    if release.starts_with("6.12.") {
        println!("calls at fixed addresses are skipped: Linux 6.12 does not see them");
        return;
    }
    let status = in_child(|| {
        // SAFETY: A host that has no code there ends the child with a signal, as is expected.
        let time: extern "C" fn(*mut i64) -> i64 =
            unsafe { std::mem::transmute(0xffff_ffff_ff60_0400_usize) };
        i32::from(!CALENDAR.contains(&time(std::ptr::null_mut())))
    });
    check!(status <= 0, "the call `time` at a fixed address has the host's time");
}

/// Other instructions that the processor refuses remain errors.
fn other_faults_are_faults() {
    let status = in_child(|| {
        // SAFETY: The address is none that a program can have: the child ends with a signal.
        unsafe { (0x8000_0000_0000_0000_usize as *const i32).read_volatile() }
    });
    check!(status == -libc::SIGSEGV, "reading no address ended with {status}");
    let status = in_child(|| {
        // SAFETY: The processor refuses the instruction: the child ends with a signal.
        unsafe { asm!("hlt") };
        0
    });
    check!(status == -libc::SIGSEGV, "hlt ended with {status}");
}

fn processor_time() {
    // SAFETY: The calls write to variables of this block.
    unsafe {
        let mut times: libc::tms = zeroed();
        let ticks = libc::times(&raw mut times);
        print(
            "times",
            (ticks, times.tms_utime, times.tms_stime, times.tms_cutime, times.tms_cstime),
        );
        for who in [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN, libc::RUSAGE_THREAD] {
            let mut usage: libc::rusage = zeroed();
            libc::getrusage(who, &raw mut usage);
            let (user, system) = (usage.ru_utime, usage.ru_stime);
            let switches = (usage.ru_nvcsw, usage.ru_nivcsw);
            print(
                "getrusage",
                (user.tv_sec, user.tv_usec, system.tv_sec, system.tv_usec, switches),
            );
        }
        let mut machine: libc::sysinfo = zeroed();
        libc::sysinfo(&raw mut machine);
        print("sysinfo", (machine.uptime, machine.loads));
    }
}

fn files_of_proc() {
    let boot = clock(libc::CLOCK_BOOTTIME).unwrap();
    for path in [
        "/proc/uptime",
        "/proc/stat",
        "/proc/loadavg",
        "/proc/self/stat",
        "/proc/self/schedstat",
        "/proc/self/sched",
        "/proc/1/stat",
        "/proc/schedstat",
        "/proc/timer_list",
        "/proc/interrupts",
        "/proc/softirqs",
        "/proc/diskstats",
        "/proc/cpuinfo",
        "/proc/sys/kernel/random/uuid",
        "/proc/sys/kernel/random/boot_id",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ] {
        print(path, fs::read_to_string(path).ok());
    }
    let text = fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = text.split(' ').next().unwrap().parse().unwrap();
    let late = (uptime * 1e9) as i64 - boot;
    check!((-TICK..TICK).contains(&late), "/proc/uptime is {late} ns off");
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let begin = stat.lines().find_map(|line| line.strip_prefix("btime ")).unwrap();
    check!(CALENDAR.contains(&begin.parse().unwrap()), "btime {begin} in /proc/stat");
}

fn files_have_times() {
    let path = "/tmp/time_readings";
    fs::write(path, "x").unwrap();
    let written = fs::metadata(path).unwrap().modified().unwrap();
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    print("time of a file", since(written));
    let late = clock(libc::CLOCK_REALTIME).unwrap() - since(written);
    check!((0..=TICK).contains(&late), "a new file is {late} ns old");
    let program = fs::metadata("/proc/self/exe").unwrap();
    print("times of a file of the host", (program.modified().ok(), program.accessed().ok()));
}

/// Runs a wait, prints how long it took by three clocks, and checks it.
fn wait(name: &str, expected: i64, slack: i64, work: impl FnOnce()) {
    let (begin, ticks, day) = (now(), counter(), SystemTime::now());
    work();
    let (took, ticked) = (now() - begin, counter() - ticks);
    let days = day.elapsed().map(|time| time.as_nanos());
    print(name, (took, ticked, days));
    check!(
        (expected..=expected + slack).contains(&took) && ticked == took,
        "{name} took {took} ns, by the counter {ticked}, instead of {expected}"
    );
}

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: i32) {
    SIGNALS.fetch_add(1, Ordering::SeqCst);
}

fn waits() {
    const MS: i64 = 1_000_000;
    /// Slack of the timers of ordinary programs, in ns.
    const SLACK: i64 = 60_000;
    let time = |ms: i64| libc::timespec { tv_sec: 0, tv_nsec: ms * MS };
    // SAFETY: The calls read and write variables of this function.
    unsafe {
        wait("nanosleep", 30 * MS, SLACK, || {
            let asked = time(30);
            libc::nanosleep(&raw const asked, std::ptr::null_mut());
        });
        for id in
            [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC, libc::CLOCK_BOOTTIME, libc::CLOCK_TAI]
        {
            wait("clock_nanosleep", 7 * MS, SLACK, || {
                let asked = time(7);
                libc::clock_nanosleep(id, 0, &raw const asked, std::ptr::null_mut());
            });
        }
        wait("poll", 20 * MS, 20 * SLACK, || {
            libc::poll(std::ptr::null_mut(), 0, 20);
        });
        wait("select", 20 * MS, 20 * SLACK, || {
            let mut asked = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
            let none = std::ptr::null_mut();
            libc::select(0, none, none, none, &raw mut asked);
        });
        let epoll = libc::epoll_create1(0);
        wait("epoll_wait", 20 * MS, 20 * SLACK, || {
            let mut event: libc::epoll_event = zeroed();
            libc::epoll_wait(epoll, &raw mut event, 1, 20);
        });
        wait("futex", 20 * MS, SLACK, || {
            let (word, asked) = (0_u32, time(20));
            libc::syscall(libc::SYS_futex, &raw const word, libc::FUTEX_WAIT, 0, &raw const asked);
        });
        let timer = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
        let every = libc::itimerspec { it_interval: time(10), it_value: time(10) };
        wait("timerfd", 35 * MS, SLACK, || {
            libc::timerfd_settime(timer, 0, &raw const every, std::ptr::null_mut());
            std::thread::sleep(Duration::from_millis(35));
            let mut expired = 0_u64;
            libc::read(timer, (&raw mut expired).cast(), 8);
            print("timerfd expired", expired);
            check!(expired == 3, "a timer of 10 ms expired {expired} times in 35 ms");
            let mut left: libc::itimerspec = zeroed();
            libc::timerfd_gettime(timer, &raw mut left);
            print("timerfd has left", ns(&left.it_value));
        });
        libc::signal(libc::SIGALRM, count as extern "C" fn(i32) as libc::sighandler_t);
        libc::signal(libc::SIGPROF, count as extern "C" fn(i32) as libc::sighandler_t);
        libc::signal(libc::SIGVTALRM, count as extern "C" fn(i32) as libc::sighandler_t);
        wait("setitimer", 12 * MS, SLACK, || {
            let mut once: libc::itimerval = zeroed();
            once.it_value.tv_usec = 12_000;
            libc::setitimer(libc::ITIMER_REAL, &raw const once, std::ptr::null_mut());
            libc::pause();
        });
        wait("timer_create", 12 * MS, SLACK, || {
            let mut timer: libc::timer_t = zeroed();
            let mut event: libc::sigevent = zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = libc::SIGALRM;
            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer);
            let once = libc::itimerspec { it_interval: time(0), it_value: time(12) };
            libc::timer_settime(timer, 0, &raw const once, std::ptr::null_mut());
            libc::pause();
        });
        check!(SIGNALS.load(Ordering::SeqCst) == 2, "two timers gave {SIGNALS:?} signals");
        // Processor time passes if a program reads clocks without end.
        for which in [libc::ITIMER_PROF, libc::ITIMER_VIRTUAL] {
            let mut every: libc::itimerval = zeroed();
            every.it_value.tv_usec = 20_000;
            every.it_interval.tv_usec = 20_000;
            libc::setitimer(which, &raw const every, std::ptr::null_mut());
            let end = now() + 100 * MS;
            while now() < end {}
            print("signals of a timer of processor time", SIGNALS.load(Ordering::SeqCst));
            libc::getitimer(which, &raw mut every);
            print("its rest", (every.it_value.tv_sec, every.it_value.tv_usec));
            let none: libc::itimerval = zeroed();
            libc::setitimer(which, &raw const none, std::ptr::null_mut());
        }
    }
}

fn randomness() {
    let mut bytes = [0_u8; 16];
    // SAFETY: The calls write to a variable of this function, and the kernel gives each program 16
    // bytes at the address.
    unsafe {
        libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0);
        print("getrandom", bytes);
        let at = libc::getauxval(libc::AT_RANDOM) as *const [u8; 16];
        print("AT_RANDOM", at.read());
        print("getcpu", libc::sched_getcpu());
    }
    print("an address", bytes.as_ptr());
}

fn main() {
    clocks();
    counters();
    instructions_change_nothing_else();
    calls_at_fixed_addresses();
    other_faults_are_faults();
    waits();
    processor_time();
    files_of_proc();
    files_have_times();
    randomness();
    clocks();
    println!("all readings are of virtual time");
}

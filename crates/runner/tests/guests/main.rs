//! Tests with real guests: the kernel in the cache, fio and mkfs.btrfs of this machine.
//!
//! Without a kernel they are skipped with a line that says so, unless DISKLAB_NEED_GUEST is set, as
//! `make test` does.

mod actions;
mod background;
mod cache;
mod calibrate;
mod clock;
mod controller;
mod decisions;
mod faults;
mod files;
mod host_files;
mod hunt;
mod job_files;
mod model;
mod no_room;
mod phases;
mod place;
mod playing;
mod power_cut;
mod read_policies;
mod repeatable;
mod seeds;
mod snapshots;
mod startup;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut arguments = std::env::args().skip(1);
    if std::process::id() == 1 && arguments.next().as_deref() == Some(disklab_guest::init::ARGUMENT)
    {
        disklab_guest::init::main();
    }
    if std::env::args().nth(1).as_deref() == Some(faults::STARTER) {
        faults::start_and_wait();
    }
    place::empty_cache();
    let mut arguments = Arguments::from_args();
    // Each guest wants a processor, and some tests start several.
    arguments.test_threads.get_or_insert(2);
    let tests = [
        actions::tests(),
        background::tests(),
        cache::tests(),
        calibrate::tests(),
        clock::tests(),
        controller::tests(),
        decisions::tests(),
        faults::tests(),
        files::tests(),
        host_files::tests(),
        hunt::tests(),
        job_files::tests(),
        model::tests(),
        no_room::tests(),
        power_cut::tests(),
        read_policies::tests(),
        repeatable::tests(),
        seeds::tests(),
        phases::tests(),
        snapshots::tests(),
        playing::tests(),
        startup::tests(),
    ];
    let tests: Vec<Trial> = tests.into_iter().flatten().collect();
    let tests = match place::missing() {
        None => tests,
        Some(reason) if std::env::var_os("DISKLAB_NEED_GUEST").is_some() => {
            eprintln!("DISKLAB_NEED_GUEST is set, and {reason}");
            std::process::exit(1);
        }
        Some(reason) => {
            eprintln!("skipped, all {} tests with guests: {reason}", tests.len());
            tests.into_iter().map(|test| test.with_ignored_flag(true)).collect()
        }
    };
    libtest_mimic::run(&arguments, tests).exit();
}

/// Makes a named test of the usual kind: it fails by panicking.
fn test(name: &str, body: fn()) -> Trial {
    Trial::test(name, move || {
        body();
        Ok(())
    })
}

//! Chores of the project that are not part of the program. `cargo xtask bench` runs benches, or
//! some sections: `cargo xtask bench decisions`. `cargo xtask fuzz` fuzzes the parsers. `cargo
//! xtask results PAGE RECORD...` makes a page of `docs/results`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

mod bench;
mod fuzz;
mod results;

use std::process::ExitCode;

fn main() -> ExitCode {
    match chore() {
        Ok(()) => ExitCode::SUCCESS,
        // The causes of the error are printed, without its place in this program.
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn chore() -> anyhow::Result<()> {
    let records: Vec<_> = std::env::args_os().skip(3).map(std::path::PathBuf::from).collect();
    match std::env::args().nth(1).as_deref() {
        // A guest of a bench starts this program as its first process.
        Some(disklab_guest::init::ARGUMENT) if std::process::id() == 1 => {
            disklab_guest::init::main()
        }
        Some("bench") => bench::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("fuzz") => fuzz::run(std::env::args().nth(2).as_deref()),
        Some("results") => results::run(std::env::args().nth(2).as_deref(), &records),
        _ => {
            eprintln!(
                "usage: cargo xtask bench [SECTION...] | cargo xtask fuzz [SECONDS] | cargo xtask \
                 results PAGE RECORD..."
            );
            std::process::exit(2);
        }
    }
}

//! Chores of the project that are no part of the program: `cargo xtask bench`, or one section of it: `cargo xtask bench decisions`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

mod bench;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        // A guest of a bench starts this program as its first process.
        Some(disklab_guest::init::ARGUMENT) if std::process::id() == 1 => disklab_guest::init::main(),
        Some("bench") => bench::run(std::env::args().nth(2).as_deref()),
        _ => {
            eprintln!("usage: cargo xtask bench [SECTION]");
            std::process::exit(2);
        }
    }
}

//! The `disklab` command, with one file for each verb. No other crate prints to users.

mod array;
mod audit;
mod bar;
mod bisect;
mod calibrate;
mod clean;
mod cli;
mod compare;
mod completions;
mod derived;
mod device;
mod devices;
mod doctor;
mod document;
mod examples;
mod exit;
mod export;
mod gate;
mod gather;
mod history;
mod home;
mod import;
mod kernel;
mod limits;
mod list;
mod man;
mod matrix;
mod merge;
mod oracle;
mod part;
mod plan;
mod predict;
mod question;
mod record_startup;
mod records;
mod repair;
mod report;
mod run;
mod same;
mod schema;
mod screen;
mod search;
mod show;
mod shown;
mod signals;
mod sparkline;
mod table;
mod trace;
mod undo;
mod validate;
mod watch;
mod whole_file;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A guest starts this program as its first process, and each trial waits for it. Therefore this
    // check comes first.
    if std::process::id() == 1
        && std::env::args_os().nth(1).is_some_and(|first| first == disklab_guest::init::ARGUMENT)
    {
        disklab_guest::init::main();
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == disklab_guest::init::host::ARGUMENT)
    {
        disklab_guest::init::host::main();
    }
    cli::main()
}

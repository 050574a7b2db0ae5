//! `disklab record-startup`: makes a start-up workload of any command.

mod args;
mod here;
mod needed;
mod order;
mod program;

use std::io::Write;

use disklab_config::startup::{EntryKind, MOST_THREADS, Startup, StartupThreads, Way};
use disklab_results::strace;
use disklab_units::Nanos;

use crate::exit::{Exit, Failure, cannot, mistaken};
use crate::home::Home;
use crate::screen::Screen;
use crate::whole_file;

pub use args::RecordStartupArgs;
use here::{StartedServer, traced, warm};
use needed::Needed;

/// Largest deviation of a replay, as a share, that causes no warning.
const AGREES: f64 = 0.15;
/// Number of timed runs of the command.
const TIMED: u32 = 3;

pub fn record(args: &RecordStartupArgs, screen: &Screen) -> Result<Exit, Failure> {
    let home = Home::open()?;
    let path = home.lab.folder.join("workloads").join(format!("{}.toml", args.name));
    if path.exists() {
        return Err(mistaken!(
            "{} exists already; choose another name, or remove the file",
            path.display()
        ));
    }
    let cwd =
        std::env::current_dir().map_err(|e| cannot!("cannot find the current folder: {e}"))?;
    let server = StartedServer::start(args)?;
    let traced = traced(args, screen)?;
    let warm = (0..TIMED).map(|_| warm(args)).collect::<Result<Vec<_>, _>>()?;
    drop(server);
    let warm = warm.into_iter().min().unwrap_or_default();
    let uses = strace::uses(&traced, &cwd);
    let needed = Needed::find(&uses);
    if needed.entries.iter().all(|entry| !matches!(entry.kind, EntryKind::File(_))) {
        return Err(mistaken!(
            "{} uses no file on a disk: files in /tmp, /run, /dev, /proc and /sys do not count; \
             move the files that it needs elsewhere",
            args.command.join(" ")
        ));
    }
    for left_out in &needed.left_out {
        screen.remark(left_out);
    }
    let coarse = Startup {
        way: Way::Program,
        command: args.command.clone(),
        limit: Nanos::from_secs(60),
        environment: args.env.clone(),
        server: args.server_words(),
        files: needed.entries.clone(),
        threads: StartupThreads::default(),
    };
    let program::Start { mut events, ready, compared } =
        program::run(&home, &args.name, coarse.clone(), screen)?;
    if order::count(&events) > MOST_THREADS {
        screen.remark(&format!(
            "it started {} threads and processes, more than {MOST_THREADS}: the replay runs all of \
             them as one thread",
            order::count(&events) - 1
        ));
        events = order::by_one(events);
    }
    let seconds = uses.last().map_or(0.0, |last| last.at);
    let scale = if seconds > 0.0 { (warm.as_secs_f64() / seconds).min(1.0) } else { 0.0 };
    let threads = order::threads(&needed, &events, scale, warm);
    let startup = Startup { way: Way::Replay, threads, ..coarse };
    let replayed = program::replayed(&home, &args.name, &startup, screen)?;
    whole_file::write_text(&path, &written(args, &startup))?;
    let read: u64 = startup.threads.uses().map(|(_, act)| order::bytes(act)).sum();
    let files =
        startup.files.iter().filter(|entry| matches!(entry.kind, EntryKind::File(_))).count();
    let lanes = startup.threads.0.len();
    let mut out = screen.out();
    writeln!(
        out,
        "{}: {files} files, {}, {} steps that touch {}, {} of computing",
        path.display(),
        if lanes == 1 { "1 thread".to_owned() } else { format!("{lanes} threads and processes") },
        startup.threads.uses().count(),
        disklab_units::Bytes(read),
        startup.threads.computing(),
    )?;
    let why = if lanes == 1 {
        "the order in which a folder lists its files differs there, and some waits of the program \
         are not seen"
    } else {
        "parallel threads may reach the disk in another order, and some of their waits are not seen"
    };
    writeln!(out, "without computing, on a disk that does nothing else:")?;
    writeln!(out, "  on one that takes 50 us for each request ready after {ready}")?;
    for (((disk, _), program), replay) in program::COMPARED.into_iter().zip(compared).zip(replayed)
    {
        writeln!(out, "  on {disk} ready after {program}, the replay after {replay}")?;
        let off = (replay.0 as f64 - program.0 as f64) / program.0.max(1) as f64;
        if off.abs() > AGREES {
            screen.remark(&format!(
                "on {disk} the replay takes {:.0} % {} than the program: {why}; run the program \
                 itself instead: {}:program",
                100.0 * off.abs(),
                if off > 0.0 { "longer" } else { "less time" },
                args.name
            ));
        }
    }
    writeln!(
        out,
        "replay it: disklab run SUITE --set workload={0}; run the program: workload={0}:program",
        args.name
    )?;
    Ok(Exit::Ok)
}

fn written(args: &RecordStartupArgs, startup: &Startup) -> String {
    let mut text = format!(
        "# disklab record-startup wrote this file. A step has the us of computing before it, its \
         action,\n# the number of the file, the first byte, and the number of bytes.\n\
         summary = {}\n\n[startup]\ncommand = [{}]\nlimit = \"60s\"\n",
        quoted(&format!("the start of {}", args.command.join(" "))),
        list(&args.command)
    );
    for (key, words) in [("environment", &startup.environment), ("server", &startup.server)] {
        if !words.is_empty() {
            text = format!("{text}{key} = [{}]\n", list(words));
        }
    }
    text += "files = [\n";
    let files = startup.files.iter().map(|entry| format!("    {},\n", quoted(&entry.to_string())));
    text.extend(files);
    format!("{text}]\nsteps = \"\"\"\n{}\"\"\"\n", startup.threads)
}

fn list(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ")
}

/// Formats text as a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

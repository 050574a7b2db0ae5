//! Ctrl-C and its relatives become a flag that long work looks at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::document;
use crate::exit::{Exit, Failure, cannot};
use crate::screen::DOCUMENT_BEGUN;

static STOP: AtomicBool = AtomicBool::new(false);

/// Whether long work looks at [`STOP`].
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Ends the program at the first signal that no long work looks at, with an error document: a
/// program that reads our JSON gets some, however we end.
pub fn end_with_document() -> Result<(), Failure> {
    let mut signals = listen()?;
    wait(move || {
        if signals.forever().any(|_| !WATCHED.load(Ordering::Relaxed)) {
            if !DOCUMENT_BEGUN.swap(true, Ordering::Relaxed) {
                let failure = Failure::said(Exit::Interrupted, "interrupted");
                document::print_error(Exit::Interrupted, &failure);
            }
            std::process::exit(Exit::Interrupted as i32);
        }
    })
}

fn wait(for_signals: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let begun = thread::Builder::new().spawn(for_signals);
    begun.map(drop).map_err(|error| cannot!("cannot wait for signals: {error}"))
}

fn listen() -> Result<Signals, Failure> {
    Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| cannot!("cannot wait for signals: {error}"))
}

/// From now on these signals end nothing by themselves; a second one changes nothing, since what is
/// being written must be finished and takes no time.
pub fn watch() -> Result<&'static AtomicBool, Failure> {
    let mut signals = listen()?;
    WATCHED.store(true, Ordering::Relaxed);
    wait(move || signals.forever().for_each(|_| STOP.store(true, Ordering::Relaxed)))?;
    Ok(&STOP)
}

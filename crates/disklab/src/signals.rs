//! Turns Ctrl-C and similar signals into a flag that long work checks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::document;
use crate::exit::{Exit, Failure, cannot};
use crate::screen::DOCUMENT_BEGUN;

static STOP: AtomicBool = AtomicBool::new(false);

/// Whether long work checks [`STOP`].
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Makes a signal end the program with an error document, unless long work checks for signals. A
/// program that reads disklab's JSON then gets a document in any case.
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

/// Makes signals set a flag in place of ending the program. A second signal changes nothing, since
/// the write in progress must be finished and takes no time.
pub fn watch() -> Result<&'static AtomicBool, Failure> {
    let mut signals = listen()?;
    WATCHED.store(true, Ordering::Relaxed);
    wait(move || signals.forever().for_each(|_| STOP.store(true, Ordering::Relaxed)))?;
    Ok(&STOP)
}

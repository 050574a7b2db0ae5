//! Ctrl-C and its relatives become a flag that long work looks at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::{Failure, cannot};

static STOP: AtomicBool = AtomicBool::new(false);

/// From now on these signals end nothing by themselves; a second one changes nothing, since what is
/// being written must be finished and takes no time.
pub fn watch() -> Result<&'static AtomicBool, Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| cannot!("cannot wait for signals: {error}"))?;
    thread::spawn(move || signals.forever().for_each(|_| STOP.store(true, Ordering::Relaxed)));
    Ok(&STOP)
}

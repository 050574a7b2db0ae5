//! Disks behind a cache: `/dev/bcache0`, `/dev/bcache1`, ... in place of disks.

use super::patterns::matching;
use super::perform::{Perform, Session};
use super::program::run;
use super::steps::{Failure, put};
use crate::site::Site;
use disklab_protocol::action::Bcache;
use disklab_protocol::shell;
use disklab_protocol::step::Step;
use std::fs;
use std::time::Duration;

/// File that tells the kernel about a device with bcache's superblock. The kernel reads the device
/// before the write returns.
const REGISTER: &str = "/sys/fs/bcache/register";
/// File of each cache that stops the cache and the devices behind it.
const STOP: &str = "/sys/fs/bcache/*/stop";
/// Interval between two checks of the kernel. The disks are busy meanwhile.
const LOOK: Duration = Duration::from_millis(10);
/// Largest number of checks: a virtual minute. A cache stops when its journal is written.
const LOOKS: u32 = 6000;

impl Perform for Bcache {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        let Self::Start { make, disks, cache } = self else {
            return vec![format!("echo 1 > {STOP}")];
        };
        let register =
            disks.iter().chain([cache]).map(|device| format!("echo {device} > {REGISTER}"));
        let cutoffs =
            (0..disks.len()).map(|index| format!("echo 0 > {}", sequential_cutoff(index)));
        let made = make.iter().map(|command| shell::command(command));
        made.chain(register).chain(cutoffs.filter(|_| make.is_some())).collect()
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        match self {
            Self::Start { make, disks, cache } => start(make.as_deref(), disks, cache, session),
            Self::Stop => stop(session),
        }
    }
}

/// Puts the cache in front of its disks. A new cache accepts all data, since it is to hold the test
/// file.
fn start(
    make: Option<&[String]>,
    disks: &[String],
    cache: &String,
    session: &mut Session,
) -> Result<(), Failure> {
    if let Some(command) = make {
        run(command, "make-bcache", &mut session.steps)?;
    }
    for device in disks.iter().chain([cache]) {
        fs::write(REGISTER, device)
            .map_err(|e| format!("writing {device:?} to {REGISTER}: {e}"))?;
    }
    let states = wait("bcache in front of each disk", || {
        let states: Option<Vec<_>> = (0..disks.len()).map(state).collect();
        Ok(states.filter(|states| states.iter().all(|state| state != "no cache")))
    })?;
    if make.is_some() {
        // Until its next start, the cache accepts sequential requests too, which it would otherwise
        // bypass.
        (0..disks.len()).map(sequential_cutoff).try_for_each(|path| put(path, "0"))?;
    }
    session.steps.say(&Step::Cached { disks: disks.to_vec(), cache: cache.clone(), states });
    Ok(())
}

fn stop(session: &mut Session) -> Result<(), Failure> {
    matching(STOP)?.iter().try_for_each(|path| put(path, "1"))?;
    wait("bcache to end", || {
        let gone = state(0).is_none() && matching(STOP)?.is_empty();
        Ok(gone.then_some(()))
    })?;
    session.steps.say(&Step::Uncached);
    Ok(())
}

fn sequential_cutoff(index: usize) -> String {
    format!("/sys/block/bcache{index}/bcache/sequential_cutoff")
}

/// Returns `no cache`, `clean`, `dirty` or `inconsistent`, or None if there is no such device.
fn state(index: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/block/bcache{index}/bcache/state")).ok()?;
    Some(text.trim().to_owned())
}

fn wait<T>(what: &str, look: impl Fn() -> Result<Option<T>, Failure>) -> Result<T, Failure> {
    for _ in 0..LOOKS {
        if let Some(found) = look()? {
            return Ok(found);
        }
        std::thread::sleep(LOOK);
    }
    Err(format!("waited {:?} of virtual time for {what}", LOOK * LOOKS))
}

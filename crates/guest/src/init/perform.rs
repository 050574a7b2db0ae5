//! Actions: how each kind runs, how it is printed, and its changes that have to be undone.

use super::environment::Environment;
use super::io_context::IoContext;
use super::steps::{Failure, Steps, created};
use crate::real_machine::RealMachine;
use crate::site::Site;
use disklab_block_devices::change::Change;
use disklab_protocol::names;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A kind of action.
pub trait Perform {
    /// Returns command lines for people. Lines that are not commands begin with `#`.
    fn lines(&self, _site: &dyn Site) -> Vec<String> {
        Vec::new()
    }

    /// Returns the lines of its later parts, which [`Self::run`] logs when it reaches them.
    fn later_lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns changes of a real machine that are noted before they are made. The error is the path
    /// of a file that cannot be read yet.
    fn changes(&self, _: &RealMachine) -> Result<Vec<Change>, String> {
        Ok(Vec::new())
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure>;
}

/// An activity beside later actions.
pub trait Beside {
    /// Ends the activity and writes its steps. `measured` is false if nothing was measured beside
    /// it.
    fn stop(self: Box<Self>, measured: bool, steps: &mut Steps) -> Result<(), Failure>;
}

/// State of a first process that runs its plan.
pub struct Session {
    pub environment: Arc<dyn Environment>,
    pub steps: Steps,
    /// Lines of [`names::ACTIONS`]. They stay in memory: dirty pages beside a background would
    /// change the time of the kernel's other writes.
    log: String,
    /// I/O priority and cgroup of the measured load, and of the background.
    pub measured: IoContext,
    pub beside: IoContext,
    pub background: Option<Box<dyn Beside>>,
    /// Whether the background ended before anything was measured. Stopping it gives the reason.
    pub background_ended: bool,
    pub witness: Option<Box<dyn Beside>>,
}

impl Session {
    pub fn new(environment: Arc<dyn Environment>, steps: Steps) -> Self {
        Self {
            environment,
            steps,
            log: String::new(),
            measured: IoContext::default(),
            beside: IoContext::default(),
            background: None,
            background_ended: false,
            witness: None,
        }
    }

    /// Adds lines to the log.
    pub fn log(&mut self, lines: &[String]) {
        self.log.extend(lines.iter().map(|line| format!("{line}\n")));
    }

    /// Writes the log as [`names::ACTIONS`] of a trial's folder.
    pub fn write_log(&self, folder: &Path) -> Result<(), Failure> {
        created(folder, names::ACTIONS)?
            .write_all(self.log.as_bytes())
            .map_err(|e| format!("writing {}: {e}", names::ACTIONS))
    }
}

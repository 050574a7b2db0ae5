//! The guest's first process: `disklab` again, started by the guest kernel as its init.
//!
//! It runs the plan's actions, writes each step to [`names::STEPS`], and powers the guest off. A
//! failure is a step with an `error`; a guest that completed its plan ends with the step
//! `finished`.

pub mod actions;
mod background;
mod bcache;
mod direct;
mod entries;
mod environment;
mod files;
mod filesystem;
mod fsload;
mod gate;
pub mod host;
mod io_context;
pub mod kernel_value;
mod measure;
mod namespace;
mod pages;
mod patterns;
mod perform;
mod phases;
mod pids;
mod player;
mod priority;
mod program;
mod raid;
mod replay;
mod setting;
mod snapshots;
mod space;
pub mod startup;
mod steps;
mod threads;
mod trees;
mod warm;
mod witness;

use disklab_protocol::names;
use disklab_protocol::places::{POOL, REPLICA, TRIAL};
use environment::Environment;
use environment::guest::{self, Guest};
use filesystem::mounted;
use rustix::mount::mount_bind;
use rustix::system::{RebootCommand, reboot};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use steps::Failure;

/// Argument that selects this mode. No subcommand has this name.
pub const ARGUMENT: &str = "guest-init";

/// Configuration files of the host that would change the behaviour of a guest's programs, and that
/// are in no key: in a guest they are empty. ([`program`] sets the environment for the rest.)
const CONFIGURATION: [&str; 5] = [
    "/etc/mdadm",
    "/etc/mdadm.conf",
    "/etc/mdadm.conf.d",
    "/etc/dpkg/dpkg.cfg",
    "/etc/dpkg/dpkg.cfg.d",
];

/// Runs the trial's plan and powers off. It never returns, as a first process must not.
pub fn main() -> ! {
    if let Err(failure) = run_as_guest() {
        eprintln!("disklab: guest: {failure}");
    }
    rustix::fs::sync();
    loop {
        if let Err(error) = reboot(RebootCommand::PowerOff) {
            eprintln!("disklab: guest: cannot power off: {error}");
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
    }
}

fn run_as_guest() -> Result<(), Failure> {
    make_folders()?;
    // From here on, programs run that a lab file names.
    steps::put(guest::MARKS, crate::confinement::COMMAND)?;
    let environment: Arc<dyn Environment> = Arc::new(Guest);
    actions::run(steps::read_json(&Path::new(TRIAL).join(names::PLAN)), &environment, &[])
}

/// Makes the folders of a running system. The root is the host's, read-only; only the trial's
/// folder is writable.
fn make_folders() -> Result<(), Failure> {
    mounted("proc", "/proc", "")?;
    mounted("sysfs", "/sys", "")?;
    mounted("devtmpfs", "/dev", "")?;
    mounted("tmpfs", "/tmp", "")?;
    mounted("tmpfs", "/mnt", "")?;
    for place in CONFIGURATION.into_iter().map(Path::new) {
        if place.is_dir() {
            mounted("tmpfs", &place.to_string_lossy(), "")?;
        } else if place.exists() {
            mount_bind("/dev/null", place)
                .map_err(|e| format!("mounting /dev/null over {}: {e}", place.display()))?;
        }
    }
    for folder in [TRIAL, POOL, REPLICA] {
        fs::create_dir(folder).map_err(|e| format!("creating {folder}: {e}"))?;
    }
    // The guest's process runs in the trial's folder. This name is the same for any folder.
    mounted("hostfs", TRIAL, "/proc/self/cwd")
}

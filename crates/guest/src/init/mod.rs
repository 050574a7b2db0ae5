//! The guest's first process: `disklab` again, started by the guest kernel as its init.
//!
//! It does what the plan says, writes each step to [`names::STEPS`], and powers the guest off.
//! Whatever goes wrong is a step with an `error`; a guest that did all it should ends with the step
//! `finished`.

mod background;
mod bcache;
mod direct;
mod entries;
mod fsload;
mod gate;
mod ground;
pub mod host;
mod keep;
mod pages;
mod phases;
mod player;
mod priority;
mod program;
mod raid;
mod replay;
pub mod setting;
mod snapshots;
mod space;
mod startup;
mod syncing;
mod trees;
mod warm;
mod witness;
mod work;
mod zfs;

use crate::plan::{Plan, TRIAL};
use disklab_protocol::names;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use serde_json::{Value, json};
pub use snapshots::tool;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The argument by which the program knows that it is a guest's first process; no subcommand has
/// this name.
pub const ARGUMENT: &str = "guest-init";

/// A step that failed: what was tried and what went wrong.
type Failure = String;

/// The record of what was done.
struct Steps(File);

impl Steps {
    fn say(&mut self, step: &Value) {
        // The kernel's console is the way out that is left when the trial's folder cannot be
        // written.
        if let Err(error) = writeln!(self.0, "{step}") {
            eprintln!("disklab: {}: {error}; {step}", names::STEPS);
        }
    }
}

/// Runs the trial's plan and powers off; never returns, as a first process must not.
pub fn main() -> ! {
    if let Err(failure) = run() {
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

fn run() -> Result<(), Failure> {
    folders()?;
    run_plan(plan())
}

/// Carries it out, with a step in the end that tells how that went.
fn run_plan(plan: Result<Plan, Failure>) -> Result<(), Failure> {
    let path = Path::new(TRIAL).join(names::STEPS);
    let mut steps = Steps(File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?);
    let result =
        plan.and_then(|plan| work::carry_out(&plan, &mut steps)).and_then(|()| ground::leave());
    steps.say(&match &result {
        Ok(()) => json!({"step": "finished"}),
        Err(failure) => json!({"step": "failed", "error": failure}),
    });
    result
}

fn plan() -> Result<Plan, Failure> {
    plan_in(Path::new(TRIAL))
}

fn plan_in(folder: &Path) -> Result<Plan, Failure> {
    let path = folder.join(names::PLAN);
    let text = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The folders of a running system. The root is the host's, read-only; only the trial's folder can
/// be written.
fn folders() -> Result<(), Failure> {
    mounted("proc", "/proc", "")?;
    mounted("sysfs", "/sys", "")?;
    mounted("devtmpfs", "/dev", "")?;
    mounted("tmpfs", "/tmp", "")?;
    mounted("tmpfs", "/mnt", "")?;
    for folder in [TRIAL, crate::plan::POOL, crate::plan::REPLICA] {
        fs::create_dir(folder).map_err(|e| format!("{folder}: {e}"))?;
    }
    // The guest's process runs in the trial's folder; this name is the same wherever that is.
    mounted("hostfs", TRIAL, "/proc/self/cwd")
}

fn mounted(filesystem: &str, target: &str, data: &str) -> Result<(), Failure> {
    let data = std::ffi::CString::new(data).map_err(|e| e.to_string())?;
    mount(filesystem, target, filesystem, MountFlags::empty(), data.as_c_str())
        .map_err(|e| format!("mounting {filesystem} on {target}: {e}"))
}

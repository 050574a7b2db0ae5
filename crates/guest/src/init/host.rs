//! The first process of a trial on a real machine: `disklab` again, in namespaces of its own.
//!
//! Its mounts and processes end with it in any case. All files of the machine are read-only for it,
//! except the trial's folder and the paths that the user named. The plan runs by the same code as
//! in a guest, and finds files at the same places.
//!
//! There are two processes: the outer one makes the namespaces and waits, and the inner one is the
//! first process in them. Each ends with its parent.

use super::actions;
use super::environment::Environment;
use super::environment::real_machine::{Held, Real};
use super::namespace::{JOURNAL, end_with_parent, keep_mounts, own_namespaces, surround};
use super::steps::{Failure, on, read_json};
use crate::real_machine::RealMachine;
use disklab_block_devices::{Disk, guard};
use disklab_protocol::names;
use disklab_protocol::places::TRIAL;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Argument that selects this mode. No subcommand has this name.
pub const ARGUMENT: &str = "host-init";
const INSIDE: &str = "inside";
const PROBE: &str = "probe";

/// Runs the plan in the working folder, as one of the two processes.
pub fn main() -> ! {
    let ended = match std::env::args_os().nth(2) {
        Some(word) if word == INSIDE => inside_namespaces().map(|()| 0),
        Some(word) if word == PROBE => own_namespaces().and_then(|()| keep_mounts()).map(|()| 0),
        _ => own_namespaces().and_then(|()| start_inside()),
    };
    std::process::exit(ended.unwrap_or_else(|failure| {
        eprintln!("disklab: {failure}");
        1
    }))
}

/// Checks if this machine lets the caller make the namespaces of a trial. The error says why not.
/// `program` is disklab.
pub fn probe(program: &Path) -> Result<(), Failure> {
    let asked = Command::new(program).args([ARGUMENT, PROBE]).stdin(Stdio::null()).output();
    let said = asked.map_err(on(program))?;
    if said.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&said.stderr);
    Err(why.trim().trim_start_matches("disklab: ").to_owned())
}

fn start_inside() -> Result<i32, Failure> {
    let mut inner = Command::new("/proc/self/exe");
    // The input ends when this process does.
    let child = inner.args([ARGUMENT, INSIDE]).stdin(Stdio::piped()).spawn();
    let mut child = child.map_err(|e| format!("the first process of the trial: {e}"))?;
    let input = child.stdin.take();
    let status =
        child.wait().map_err(|e| format!("waiting for the first process of the trial: {e}"))?;
    drop(input);
    Ok(status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1))
}

fn inside_namespaces() -> Result<(), Failure> {
    end_with_parent()?;
    // The parent may have ended just before.
    let input = io::stdin();
    let mut asked = [PollFd::new(&input, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now))
        .map_err(|e| format!("watching the disklab that started this process: {e}"))?;
    if asked[0].revents().contains(PollFlags::HUP) {
        return Err("the disklab that started this process is gone".to_owned());
    }
    let plan = read_json(&Path::new(".").join(names::PLAN))?;
    let machine: RealMachine = read_json(&Path::new(".").join(names::HOST))?;
    let held = held(&machine)?;
    // This comes while the whole machine is visible.
    let lines = machine.lines();
    surround(&machine)?;
    let real = Real::enter(machine, Path::new(JOURNAL), Path::new(TRIAL), held)?;
    let environment: Arc<dyn Environment> = Arc::new(real);
    actions::run(Ok(plan), &environment, &lines)
}

/// Holds the disks, if they are still those that the run was given and nobody else uses them. They
/// are held from here, where the whole machine is visible, until just before something is made on
/// them or mounted.
fn held(machine: &RealMachine) -> Result<Held, Failure> {
    let mut held = Held::new();
    for disk in &machine.disks {
        let now = Disk::find(&disk.named).map_err(|e| e.to_string())?;
        if (now.number, &now.serial, now.bytes) != (disk.number, &disk.serial, disk.bytes) {
            let name = disk.named.display();
            return Err(format!(
                "{name}: it is no longer the disk that the run began with; nothing was done to it"
            ));
        }
        // The disks below a user's filesystem are in use.
        if machine.at.is_none() {
            held.push((disk.clone(), guard::hold(disk).map_err(|e| e.to_string())?));
        }
    }
    if let Some(overwrite) = &machine.overwrite {
        let free = |disk| guard::is_free(disk, overwrite).map_err(|e| e.to_string());
        machine.disks.iter().try_for_each(free)?;
    }
    Ok(held)
}

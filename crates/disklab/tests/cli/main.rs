//! Tests the program as a process, on the real lab, with records made here. Most tests start no
//! guest.

mod bisecting;
mod calibrating;
mod comparing;
mod completing;
mod damaged;
mod derived;
mod devices;
mod devices_new;
mod exporting;
mod extending;
mod fixture;
mod guests;
mod guides;
mod history;
mod honest;
mod host_in_guest;
mod host_killed;
mod importing;
mod input;
mod limited;
mod loops;
mod manners;
mod modelled;
mod needs;
mod on_host;
mod on_host_at;
mod on_host_disks;
mod on_host_dry;
mod on_host_first;
mod on_host_harmed;
mod on_host_others;
mod on_host_probes;
mod opened;
mod planning;
mod repairing;
mod report_in_browser;
mod reporting;
mod schemas;
mod searching;
mod sharing;
mod showing;
mod starting;
mod tidying;
mod tracing;
mod validating;
mod watching;
mod zfs;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Root of this work tree.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");

/// Makes a folder like this work tree, with a lab of its own that a test may change.
fn copy_home(home: &Path) {
    damaged::copy(&Path::new(HOME).join("lab"), &home.join("lab"));
    for name in ["guest-kernel", "read-policies"] {
        std::os::unix::fs::symlink(Path::new(HOME).join(name), home.join(name)).expect("room");
    }
}

/// Returns the program's command in `here`, with this work tree's lab and an empty cache.
fn disklab(here: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_disklab"));
    command
        .current_dir(here)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .env("DISKLAB_HOME", HOME)
        .env("XDG_CACHE_HOME", here.join("cache"))
        .stdin(Stdio::null());
    command
}

/// Result of a command: exit status, standard output, standard error.
struct Done {
    status: Option<i32>,
    out: String,
    err: String,
}

fn run(here: &Path, arguments: &[&str]) -> Done {
    done(disklab(here).args(arguments).output().expect("it starts"))
}

fn done(output: Output) -> Done {
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Done { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn json(here: &Path, arguments: &[&str]) -> serde_json::Value {
    let done = run(here, arguments);
    assert_eq!(done.err, "");
    serde_json::from_str(&done.out).expect("one JSON document")
}

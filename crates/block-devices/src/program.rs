//! Programs of this machine that answer questions, or that undo changes.

use std::process::{Command, Stdio};

/// The folders in which disklab looks for programs, on a machine and in a guest, whatever the
/// user's PATH says.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs a program and returns its output. Fails unless the program ends with exit status 0.
pub fn output(words: &[&str]) -> Result<String, String> {
    let [program, arguments @ ..] = words else { return Err("an empty command".to_owned()) };
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", PATH).env("LC_ALL", "C").stdin(Stdio::null());
    let line = words.join(" ");
    let out = command.output().map_err(|error| format!("{line}: {error}; run it yourself"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    let last = said.lines().last().unwrap_or("it printed nothing");
    Err(format!("{line} failed ({}): {last}; run it yourself", out.status))
}

/// Runs a program to its end, and drops its output.
pub fn run(words: &[&str]) -> Result<(), String> {
    output(words).map(drop)
}

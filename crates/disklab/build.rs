//! Gives a release the commit that it is built from, for records to name. Other builds name none,
//! since each commit would build them anew.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release")
        && let Some(commit) = commit()
    {
        println!("cargo::rustc-env=DISKLAB_COMMIT={commit}");
    }
}

/// Returns the commit of these sources. Returns None if they are a copy without a git tree of their
/// own.
fn commit() -> Option<String> {
    let home = Path::new("../..").canonicalize().ok()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != home {
        return None;
    }
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    Some(if changed { format!("{commit} and changes") } else { commit })
}

fn git(arguments: &[&str]) -> Option<String> {
    let done =
        Command::new("git").args(arguments).output().ok().filter(|done| done.status.success())?;
    Some(String::from_utf8(done.stdout).ok()?.trim().to_owned())
}

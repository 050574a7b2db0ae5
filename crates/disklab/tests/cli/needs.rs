//! Tests `install/needs` on machines that lack things, with stand-ins for apt and Rust: the
//! commands that it would run, or tells the user to run.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::HOME;

/// Rust on a machine: the versions that apt offers, and the installed cargo.
#[derive(Default)]
struct Machine {
    cargo_offered: &'static str,
    rustup_offered: &'static str,
    cargo: &'static str,
}

impl Machine {
    /// Runs the script. Returns whether it succeeded, the calls of apt and rustup, and its output.
    fn needs(&self) -> (bool, String) {
        self.needs_for(&[])
    }

    fn needs_for(&self, what: &[&str]) -> (bool, String) {
        let here = tempfile::tempdir().expect("a folder");
        let log = here.path().join("log");
        let tool = |name: &str, text: String| {
            let path = here.path().join(name);
            fs::write(&path, format!("#!/bin/bash\n{text}\n")).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
        };
        for name in ["bash", "env", "dirname", "sed", "cut", "sort", "head"] {
            let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            let found =
                found.iter().find(|path| path.exists()).expect("a tool that Debian always has");
            symlink(found, here.path().join(name)).expect("a link");
        }
        for name in ["apt-get", "rustup"] {
            let there = name != "rustup" || !self.rustup_offered.is_empty();
            if there {
                tool(name, format!("echo {name} \"$@\" >>'{}'", log.display()));
            }
        }
        let offers = [("cargo", self.cargo_offered), ("rustup", self.rustup_offered)];
        let offers: String = offers
            .map(|(name, version)| {
                let version = if version.is_empty() { "(none)" } else { version };
                format!("[[ $2 != {name} ]] || printf 'x:\\n  Candidate: {version}\\n'\n")
            })
            .concat();
        tool("apt-cache", offers);
        if !self.cargo.is_empty() {
            tool("cargo", format!("echo cargo {} extra", self.cargo));
        }
        let done = Command::new(HOME.to_owned() + "install/needs")
            .args(what)
            .env_remove("CHROMIUM")
            .env("PATH", here.path())
            .env("CARGO_HOME", here.path().join("none"))
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.success(), fs::read_to_string(log).unwrap_or_default() + &said)
    }
}

#[test]
fn a_cargo_that_is_new_enough_is_installed() {
    let (_, text) = Machine { cargo_offered: "1.93.0+dfsg-1", ..Machine::default() }.needs();
    assert!(text.contains(" cargo") && !text.contains("rustup"), "{text}");
}

/// The machine resembles Debian 13.
#[test]
fn else_rustup_is() {
    let machine =
        Machine { cargo_offered: "1.85.0+dfsg3-1", rustup_offered: "1.27.1-3", cargo: "" };
    let (_, text) = machine.needs();
    assert!(text.contains("rustup") && text.contains("rustup default stable"), "{text}");
    assert!(!text.split_whitespace().any(|word| word == "cargo"), "{text}");
}

/// The machine resembles Debian 12.
#[test]
fn where_apt_has_neither_the_line_to_type_is_printed() {
    let (well, text) = Machine { cargo_offered: "0.66.0+ds1-1", ..Machine::default() }.needs();
    assert!(!well && text.contains("https://sh.rustup.rs | sh -s -- -y"), "{text}");
    assert!(
        !text.lines().any(|line| line.contains("install") && line.ends_with(" cargo")),
        "{text}"
    );
}

#[test]
fn a_cargo_that_is_too_old_is_told_with_what_to_type() {
    let (well, text) = Machine { cargo: "1.75.0", ..Machine::default() }.needs();
    assert!(
        !well && text.contains("cargo here is 1.75.0") && text.contains("sh.rustup.rs"),
        "{text}"
    );
    let machine = Machine { cargo: "1.75.0", rustup_offered: "1.27.1", ..Machine::default() };
    let (well, text) = machine.needs();
    assert!(!well && text.contains("rustup default stable"), "{text}");
}

#[test]
fn a_browser_is_installed_for_tests_only() {
    let machine = Machine { cargo_offered: "1.93.0+dfsg-1", ..Machine::default() };
    let (_, text) = machine.needs_for(&["test"]);
    assert!(text.contains(" git ccache chromium strace poppler-utils nodejs npm"), "{text}");
    let (_, text) = machine.needs();
    assert!(
        text.contains(" gcc ") && !text.contains("chromium") && !text.contains("npm"),
        "{text}"
    );
}

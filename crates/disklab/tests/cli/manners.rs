//! Tests the behaviour that all verbs share: help, exit statuses, pipes, colours.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{disklab, done, fixture, run};

const VERBS: [&str; 17] = [
    "doctor",
    "kernel",
    "list",
    "plan",
    "run",
    "show",
    "same",
    "merge",
    "gather",
    "export",
    "device",
    "devices",
    "history",
    "schema",
    "clean",
    "completions",
    "man",
];

#[test]
fn every_verb_has_help_and_a_page() {
    let here = tempfile::tempdir().expect("a folder");
    let help = run(here.path(), &["--help"]);
    assert_eq!(help.status, Some(0));
    assert_eq!(run(here.path(), &["man", "pages"]).status, Some(0));
    for verb in VERBS {
        assert!(help.out.contains(&format!("\n  {verb} ")), "{verb}");
        let own = run(here.path(), &[verb, "--help"]);
        assert_eq!(own.status, Some(0));
        assert!(own.out.contains("Usage: disklab") && own.out.len() > 200, "{}", own.out);
        assert!(here.path().join(format!("pages/disklab-{verb}.1")).is_file(), "{verb}");
    }
    assert!(run(here.path(), &["man"]).out.contains(".TH disklab 1"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(here.path(), &["completions", shell]).out.contains("disklab"), "{shell}");
    }
    assert_eq!(run(here.path(), &[]).status, Some(2));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["plan", "read-policy-quick"],
        &["show", fixture::NAME],
        &["show", fixture::NAME, "--json"],
        &["trace", fixture::NAME, "hdd-raid1+randread-4k-qd1+pid+s1"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut child = disklab(here.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let done = done(child.wait_with_output().expect("it ends"));
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let here = tempfile::tempdir().expect("a folder");
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let done = done(
        disklab(here.path()).args(["list", "devices"]).stdout(full).output().expect("it starts"),
    );
    assert_eq!(done.status, Some(5));
    assert!(done.err.contains("cannot write to standard output"), "{}", done.err);
}

#[test]
fn colours_come_only_when_they_are_asked_for() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let show = |arguments: &[&str], no_color: Option<&str>| {
        let mut command = disklab(here.path());
        command.args(["show", fixture::NAME]).args(arguments);
        no_color.map(|value| command.env("NO_COLOR", value));
        done(command.output().expect("it starts")).out
    };
    assert!(!show(&[], None).contains('\x1b'), "a pipe is no terminal");
    assert!(!show(&["--color", "never"], None).contains('\x1b'));
    assert!(show(&["--color", "always"], None).contains("\x1b["));
    assert!(
        show(&["--color=always"], Some("1")).contains("\x1b["),
        "what is typed goes before the environment"
    );
}

#[test]
fn a_terminal_gets_colours_unless_it_does_not_want_them_and_tables_as_wide_as_it_is() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let show = |columns: u16, environment: &[(&str, &str)]| {
        let mut command = disklab(here.path());
        command.args(["show", fixture::NAME]).envs(environment.iter().copied());
        on_terminal(command, columns)
    };
    assert!(show(100, &[]).contains("\x1b["));
    for plain in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert!(!show(100, &[plain]).contains('\x1b'), "{plain:?}");
    }
    for columns in [80, 100, 140] {
        let text = show(columns, &[("NO_COLOR", "1")]);
        let numbers = text.lines().take_while(|line| !line.starts_with("One trial"));
        let longest = numbers.map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
        assert!(
            longest > usize::from(columns) / 2 && longest <= usize::from(columns),
            "{longest}:\n{text}"
        );
    }
}

/// Words and numbers stay whole for any width.
#[test]
fn nothing_is_wider_than_the_terminal_or_broken_within_a_word() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "six", 6, 1.0);
    let trial = "ssd-raid10+randread-4k-qd1+pid+s1";
    for arguments in [&["show", "six", trial][..], &["compare", "six"], &["show", "six"]] {
        for columns in [50, 60, 80] {
            let text = on_terminal_of(here.path(), arguments, columns);
            // Commands and paths are not wrapped, since users copy them.
            let copied = |line: &str| line.contains("disklab ") || line.contains('/');
            let lines = text.lines().filter(|line| !copied(line));
            let longest = lines.map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
            assert!(longest <= usize::from(columns), "{columns}, {longest}:\n{text}");
            for word in ["sata-ssd-1tb", "undecided", "round-robin:4096"] {
                let told = on_terminal_of(here.path(), arguments, 200).contains(word);
                assert_eq!(text.contains(word), told, "{columns}, {word}:\n{text}");
            }
        }
    }
}

fn on_terminal_of(here: &std::path::Path, arguments: &[&str], columns: u16) -> String {
    let mut command = disklab(here);
    command.args(arguments).env("NO_COLOR", "1");
    on_terminal(command, columns)
}

/// Returns the output of a command on a terminal of this width.
fn on_terminal(mut command: std::process::Command, columns: u16) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a terminal");
    let name =
        ptsname(&terminal, Vec::new()).expect("its name").into_string().expect("a plain one");
    let screen = File::options().read(true).write(true).open(name).expect("its other end");
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&screen, size).expect("a size");
    let mut child = command.stdout(screen).stderr(Stdio::null()).spawn().expect("it starts");
    // The command holds the other end of the terminal too.
    drop(command);
    let mut text = Vec::new();
    // Reading fails once the last process has closed the other end.
    let _ = File::from(terminal).read_to_end(&mut text);
    assert!(child.wait().expect("it ends").success());
    String::from_utf8(text).expect("text")
}

#[test]
fn without_a_kernel_a_run_says_how_to_get_one() {
    let here = tempfile::tempdir().expect("a folder");
    let done = run(here.path(), &["run", "smoke"]);
    assert_eq!((done.status, done.out.as_str()), (Some(5), ""));
    assert!(done.err.contains("`disklab kernel build`"), "{}", done.err);
    assert!(!here.path().join("records").exists(), "nothing was begun");
    let path = run(here.path(), &["kernel", "path"]);
    assert_eq!(path.status, Some(5));
    assert!(path.err.contains("`disklab kernel build`"), "{}", path.err);
}

#[test]
fn a_lab_that_is_not_there_is_said_to_be_missing() {
    let here = tempfile::tempdir().expect("a folder");
    let done = done(
        disklab(here.path())
            .arg("list")
            .env("DISKLAB_HOME", "/nowhere")
            .output()
            .expect("it starts"),
    );
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("DISKLAB_HOME=/nowhere"), "{}", done.err);
    let doctor = run(here.path(), &["doctor", "--json"]);
    assert_eq!(doctor.status, Some(5), "there is no kernel: {}", doctor.out);
    let checks: serde_json::Value = serde_json::from_str(&doctor.out).expect("JSON");
    let kernel = checks["checks"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|check| check["name"] == "guest kernel");
    assert_eq!(kernel.expect("a check")["remedy"], "disklab kernel build");
}

/// `kill -9` strikes while a source is unpacked, which takes the first minute of a build.
#[test]
fn a_killed_build_leaves_no_process() {
    use std::os::unix::fs::PermissionsExt as _;
    let here = tempfile::tempdir().expect("a folder");
    let (tar, pid) = (here.path().join("tar"), here.path().join("pid"));
    std::fs::write(
        &tar,
        format!("#!/bin/sh\necho $$ >'{0}.part'; mv '{0}.part' '{0}'; sleep 1000\n", pid.display()),
    )
    .expect("a file");
    std::fs::set_permissions(&tar, std::fs::Permissions::from_mode(0o755)).expect("a program");
    std::fs::write(here.path().join("linux.tar.xz"), b"\xfd7zXZ\0").expect("a file");
    let path = format!("{}:{}", here.path().display(), std::env::var("PATH").expect("a path"));
    let mut build = disklab(here.path());
    build.args(["kernel", "build", "--source", "linux.tar.xz"]).env("PATH", path);
    let mut build = build.stderr(Stdio::null()).spawn().expect("it starts");
    let wait = |done: &dyn Fn() -> bool| {
        (0..500).any(|_| {
            done() || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                false
            }
        })
    };
    assert!(wait(&|| pid.exists()), "nothing was unpacked");
    build.kill().and_then(|()| build.wait()).expect("it can be killed");
    let pid = std::fs::read_to_string(pid).expect("a number");
    let process = std::path::Path::new("/proc").join(pid.trim());
    assert!(wait(&|| !process.exists()), "tar is still there");
}

#[test]
fn only_a_guests_first_process_is_one() {
    let here = tempfile::tempdir().expect("a folder");
    assert_eq!(
        run(here.path(), &["guest-init"]).status,
        Some(2),
        "it has another process id than 1"
    );
}

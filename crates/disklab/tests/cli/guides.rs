//! Tests the guides in `docs/guides`: runs each of their commands that can run here, and checks
//! that it prints what the guide shows.
//!
//! A block of a guide that begins with ```` ```console ```` is a session. Each line after `$ ` is
//! run by bash, in a folder that the whole guide shares, and the lines below it are the output. A
//! line `...` stands for any lines, `[..]` for any text within a line. A block that begins with
//! ```` ```KIND file=NAME ```` is written to that file. Commands that this test does not run, since
//! they need disks or a cluster, are in blocks that begin with ```` ```sh ````, with the reason in
//! a comment above. `python/tests/test_guide.py` runs the Python session of `python.md`.
//!
//! `DISKLAB_GUIDES=write` writes the present output of the commands into the guides.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use disklab_kernels::{Btrfs, Cache, Share, find};

use crate::{HOME, copy_home};

/// The kernels that the guides boot.
const KERNELS: [&str; 2] = ["newest", "7.2"];

/// A part of a guide.
enum GuidePart {
    /// Lines that are not run.
    Text(String),
    File {
        name: String,
        text: String,
    },
    Command {
        /// The number of the command's line in the guide, from 1.
        line: usize,
        typed: String,
        printed: Vec<String>,
    },
}

/// Divides a guide into parts. An error names the line that does not have the form described above.
fn parts(text: &str) -> Result<Vec<GuidePart>, String> {
    let mut parts = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut before = "";
    while let Some((number, line)) = lines.next() {
        parts.push(GuidePart::Text(line.to_owned()));
        let above = std::mem::replace(&mut before, line);
        let Some(kind) = line.strip_prefix("```") else { continue };
        if kind == "sh" && !above.ends_with("-->") {
            return Err(format!("line {}: no comment above says why this is not run", number + 1));
        }
        let mut file = Vec::new();
        for (number, line) in lines.by_ref().take_while(|(_, line)| *line != "```") {
            match (kind.split_once("file="), line.strip_prefix("$ "), parts.last_mut()) {
                (Some(_), ..) => file.push(line.to_owned()),
                (None, Some(typed), _) if kind == "console" => {
                    let (typed, printed) = (typed.to_owned(), Vec::new());
                    parts.push(GuidePart::Command { line: number + 1, typed, printed });
                }
                (None, None, Some(GuidePart::Command { typed, .. })) if typed.ends_with('\\') => {
                    typed.push('\n');
                    typed.push_str(line);
                }
                (None, None, Some(GuidePart::Command { printed, .. })) => {
                    printed.push(line.to_owned());
                }
                _ if kind == "console" => {
                    return Err(format!("line {}: output of no command", number + 1));
                }
                _ => parts.push(GuidePart::Text(line.to_owned())),
            }
        }
        if let Some((_, name)) = kind.split_once("file=") {
            parts.push(GuidePart::File { name: name.to_owned(), text: file.join("\n") + "\n" });
        }
        parts.push(GuidePart::Text("```".to_owned()));
        before = "```";
    }
    Ok(parts)
}

/// Returns whether a line of output matches the line in a guide, in which `[..]` is any text.
fn line_matches(shown: &str, line: &str) -> bool {
    match shown.split_once("[..]") {
        None => shown == line,
        Some((begin, rest)) => line.strip_prefix(begin).is_some_and(|line| {
            let ends = line.char_indices().map(|(end, _)| end).chain([line.len()]);
            ends.into_iter().any(|end| line_matches(rest, &line[end..]))
        }),
    }
}

/// Returns whether lines of output match the lines in a guide, in which `...` is any lines.
fn lines_match(shown: &[String], lines: &[String]) -> bool {
    match shown {
        [] => lines.is_empty(),
        [dots, rest @ ..] if dots == "..." => {
            (0..=lines.len()).any(|skipped| lines_match(rest, &lines[skipped..]))
        }
        [first, rest @ ..] => lines
            .split_first()
            .is_some_and(|(line, lines)| line_matches(first, line) && lines_match(rest, lines)),
    }
}

/// Runs a command of a guide in a folder that resembles a clone. The progress lines that a terminal
/// would have erased are left out.
fn typed(command: &str, here: &Path) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_disklab")).parent().expect("its folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").expect("a path"));
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(here)
        .env("PATH", path)
        .env("DISKLAB_HOME", here)
        .stdin(Stdio::null())
        .output()
        .expect("bash");
    let text = String::from_utf8_lossy(&output.stdout);
    // The first run that needs disks prepares them, and other runs wait for it.
    let is_progress = |line: &&str| {
        let (number, rest) = line.split_once(" %: ").unwrap_or_default();
        number.parse::<u8>().is_ok() && rest.contains(" trials, ")
            || line.starts_with("prepared the disks of ")
            || line.starts_with("another disklab is preparing the disks of ")
    };
    let lines = text.lines().filter(|line| !is_progress(line)).map(str::trim_end);
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    if !output.status.success() {
        lines.push(format!("[exit status: {}]", output.status.code().unwrap_or(-1)));
    }
    lines
}

/// Runs a guide. Returns its text with the present output of its commands, and a description of
/// each difference to the old text.
fn run_guide(text: &str) -> Result<(String, Vec<String>), String> {
    // A run on real disks needs a folder on a disk, and `/tmp` may be in memory.
    let here = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    copy_home(here.path());
    let (mut written, mut wrong) = (Vec::new(), Vec::new());
    for part in parts(text)? {
        match part {
            GuidePart::Text(line) => written.push(line),
            GuidePart::File { name, text } => {
                let path = here.path().join(name);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(path, &text).expect("room");
                written.extend(text.lines().map(str::to_owned));
            }
            GuidePart::Command { line, typed: command, printed } => {
                let now = typed(&command, here.path());
                let same = lines_match(&printed, &now);
                let shown = if same { &printed } else { &now };
                written.push(format!("$ {command}"));
                written.extend(shown.iter().cloned());
                if !same {
                    let now = now.join("\n");
                    wrong.push(format!("line {line}: {command}\nprints now:\n{now}\n"));
                }
            }
        }
    }
    Ok((written.join("\n") + "\n", wrong))
}

fn check(name: &str) {
    let share = Share::open(Path::new(HOME)).expect("this work tree");
    let cache = Cache::open().expect("a cache");
    // Without this check, a guide would build missing kernels, which takes minutes.
    let kernels = KERNELS.map(|kernel| find(&cache, &share, Btrfs::Policies, kernel));
    if let Some(Err(reason)) = kernels.into_iter().find(Result::is_err) {
        let needed = std::env::var_os("DISKLAB_NEED_GUEST").is_some();
        assert!(!needed, "DISKLAB_NEED_GUEST is set, and {reason}");
        return disklab_testkit::skipped(reason);
    }
    if name == "real-disks" && !rustix::process::geteuid().is_root() {
        return disklab_testkit::skipped_without_root("a dry run on real disks shows less");
    }
    let path = guides().join(name).with_extension("md");
    let text = fs::read_to_string(&path).expect("a guide");
    let (written, wrong) =
        run_guide(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if std::env::var_os("DISKLAB_GUIDES").is_some_and(|value| value == "write") {
        fs::write(path, written).expect("room");
        return;
    }
    assert!(wrong.is_empty(), "{}, {}", path.display(), wrong.join("\n"));
    assert_eq!(written, text, "a guide is written back as it was");
}

fn guides() -> PathBuf {
    Path::new(HOME).join("docs/guides")
}

/// Defines a test for each guide, by its name, and a test that no guide is missing.
macro_rules! guides {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn every_guide_is_run() {
            let named = [$($name),*].map(|name| format!("{name}.md"));
            let entries = fs::read_dir(guides()).expect("the guides").flatten();
            for name in entries.map(|entry| entry.file_name()) {
                let is_run = named.iter().any(|named| **named == *name);
                assert!(is_run, "{} is not in {}", name.display(), file!());
            }
        }
    };
}

guides! {
    first_experiment: "first-experiment",
    your_disks: "your-disks",
    your_kernel: "your-kernel",
    read_policies: "read-policies",
    schedulers: "schedulers",
    filesystems: "filesystems",
    snapshots: "snapshots",
    power_cuts: "power-cuts",
    real_disks: "real-disks",
    calibrate: "calibrate",
    others_results: "others-results",
    sweeps: "sweeps",
    python: "python",
    ci: "ci",
}

#[test]
fn what_a_guide_shows_is_compared_with_what_is_printed() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (shown, printed, same) in [
        ("a\nb", "a\nb", true),
        ("a", "a\nb", false),
        ("a\n...", "a\nb\nc", true),
        ("...\nc", "a\nb\nc", true),
        ("...\nb", "a\nb\nc", false),
        ("took [..] s", "took 12.5 s", true),
        ("took [..] s", "took 12.5 min", false),
        ("[..]: é[..]", "x: é", true),
    ] {
        assert_eq!(lines_match(&lines(shown), &lines(printed)), same, "{shown:?} {printed:?}");
    }
    let guide = |printed: &str| format!("# A\n```console\n$ echo a; \\\n  false\n{printed}```\n");
    let (_, wrong) = run_guide(&guide("a\n[exit status: 1]\n")).expect("a guide");
    assert!(wrong.is_empty(), "{wrong:?}");
    let (written, wrong) = run_guide(&guide("b\n")).expect("a guide");
    assert_eq!((written, wrong.len()), (guide("a\n[exit status: 1]\n"), 1));
    assert!(run_guide("# A\n```sh\nreboot\n```\n").is_err());
    assert!(run_guide("# A\n<!-- not run: it ends this machine -->\n```sh\nreboot\n```\n").is_ok());
}

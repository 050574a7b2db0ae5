//! Tests completions: the tests ask the program as the shells' scripts do.

use std::path::Path;
use std::process::Command;

use crate::{disklab, done, fixture, run};

/// Returns the candidates for the last word.
fn candidates(here: &Path, words: &[&str]) -> Vec<String> {
    let mut command = disklab(here);
    command.env("DISKLAB_COMPLETE", "fish").args(["--", "disklab"]).args(words);
    let done = done(command.output().expect("it starts"));
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{}", done.out);
    let name = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    done.out.lines().map(name).collect()
}

#[test]
fn suites_axes_values_and_records_are_completed() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    fixture::record(here);
    let has = |words: &[&str], wanted: &str| {
        let found = candidates(here, words);
        assert!(found.iter().any(|word| word == wanted), "{words:?}: {found:?}");
    };
    has(&["his"], "history");
    has(&["run", "read-policy-q"], "read-policy-quick");
    has(&["run", "read-policy-quick", "--set", "arr"], "array=");
    has(&["run", "read-policy-quick", "--set", "array=hdd-raid1"], "array=hdd-raid1");
    has(&["run", "read-policy-quick", "--set", "policy=pid,de"], "policy=pid,devid");
    has(&["run", "read-policy-quick", "--set", "scheduler=b"], "scheduler=bfq");
    has(&["show", "qui"], fixture::NAME);
    has(
        &["show", fixture::NAME, "hdd-raid1+randread-4k-qd1+p"],
        "hdd-raid1+randread-4k-qd1+pid+s1",
    );
    has(&["compare", fixture::NAME, "--metric", "iops,p"], "iops,p99");
    has(&["history", "read-policy-q"], "read-policy-quick");
    has(&["history", "qui"], fixture::NAME);
    has(&["gate", fixture::NAME, "--against", "qui"], fixture::NAME);
    has(&["device", "new", "x", "--like", "nas-4"], "nas-4tb");
    has(&["kernel", "l"], "list");
    let only: Vec<String> = candidates(here, &["show", "nothing-like-it"]);
    assert!(only.iter().all(|word| word != fixture::NAME), "{only:?}");
}

#[test]
fn scripts_of_shells_ask_the_program() {
    let here = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let script = run(here.path(), &["completions", shell]).out;
        assert!(script.contains("DISKLAB_COMPLETE"), "{shell}: {script}");
    }
    // bash is installed everywhere, so that its own completion runs the real script.
    let script = run(here.path(), &["completions", "bash"]).out;
    let program = Path::new(env!("CARGO_BIN_EXE_disklab")).parent().expect("a folder");
    let asks = format!(
        "{script}\nCOMP_WORDS=(disklab his); COMP_CWORD=1; COMP_TYPE=9\n\
         f=$(complete -p disklab | sed 's/.*-F \\([^ ]*\\).*/\\1/'); $f disklab his disklab\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    );
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let told = Command::new("bash").args(["-c", &asks]).env("PATH", path).output();
    let told = done(told.expect("bash starts"));
    assert_eq!(told.out.trim(), "history", "{}", told.err);
}

//! Tests `disklab record-startup`: the workload can be replayed, and takes as long as the program.
//! The output names parts that cannot be recorded.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use disklab_config::Lab;
use disklab_config::startup::{EntryKind, StartupAction};
use disklab_record::Record;
use disklab_testkit::skipped;
use disklab_units::Nanos;

use crate::{HOME, disklab, done, guests};

const SUITE: &str = r#"
question = "How long does it take to start?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "1s", solid_state = "1s" }
[axes]
array = ["bfq-hdd", "bfq-ssd"]
workload = ["list", "list:program"]
"#;

/// Makes a home with a lab that can be written, beside a cache with a kernel in `here`.
fn place() -> Option<tempfile::TempDir> {
    let here = guests::place()?;
    if let Err(error) = std::process::Command::new("strace").arg("-V").output() {
        assert!(
            std::env::var_os("DISKLAB_NEED_GUEST").is_none(),
            "DISKLAB_NEED_GUEST is set, and strace: {error}"
        );
        skipped(format!("strace: {error}"));
        return None;
    }
    let home = here.path().join("home");
    fs::create_dir(&home).expect("a folder");
    for name in ["guest-kernel", "read-policies"] {
        symlink(Path::new(HOME).join(name), home.join(name)).expect("a link");
    }
    copy(&Path::new(HOME).join("lab"), &home.join("lab"));
    Some(here)
}

/// Copies all data of `DISKLAB_HOME`, for a test to change.
pub fn home(here: &Path) -> PathBuf {
    let home = here.join("home");
    for name in ["lab", "guest-kernel", "read-policies"] {
        copy(&Path::new(HOME).join(name), &home.join(name));
    }
    home
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("its name");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("its kind").is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

fn run(here: &Path, arguments: &[&str]) -> crate::Done {
    let mut command = disklab(here);
    done(
        command.env("DISKLAB_HOME", here.join("home")).args(arguments).output().expect("it starts"),
    )
}

#[test]
fn a_recorded_start_takes_as_long_as_the_program() {
    let Some(here) = place() else { return };
    let here = here.path();
    // The script makes some hundred requests, so that one more revolution of a disk does not
    // matter. It runs nothing in parallel, where a microsecond would decide who waits.
    let script = "ls -l /etc > /dev/null; cat /etc/passwd; dpkg-query -l > /dev/null; \
                  perl -MPOSIX -MSocket -e 1; git --version";
    let command = ["sh", "-c", script];
    let made = run(here, &[&["record-startup", "list", "--"], &command[..]].concat());
    assert_eq!(made.status, Some(0), "{}", made.err);
    assert!(made.out.contains("workloads/list.toml: "), "{}", made.out);
    let again = run(here, &["record-startup", "list", "--", "true"]);
    assert_eq!(again.status, Some(2), "{}", again.err);
    assert!(again.err.contains("list.toml exists already; choose another name"), "{}", again.err);

    let lab = Lab::load(&here.join("home/lab")).expect("what was made can be read");
    let startup = lab.workloads["list"].startup().expect("a start");
    assert_eq!(startup.command, command);
    let number = |path: &str| {
        let found = startup.files.iter().position(|entry| entry.path == path);
        found.unwrap_or_else(|| panic!("{path} is not among {:?}", startup.files)) as u32
    };
    // The workload has the executed programs, the files that the kernel loads for them, the files
    // that were read, and the listed folder.
    let (passwd, etc) = (number("/etc/passwd"), number("/etc"));
    assert!(
        startup.files.iter().any(|entry| entry.path.contains("/ld-linux")),
        "{:?}",
        startup.files
    );
    assert!(matches!(startup.files[passwd as usize].kind, EntryKind::File(bytes) if bytes.0 > 100));
    assert!(
        startup
            .threads
            .uses()
            .any(|(entry, act)| entry == passwd && matches!(act, StartupAction::Read { .. }))
    );
    assert!(startup.threads.uses().any(|used| used == (etc, StartupAction::List)));
    assert!(startup.threads.computing() > Nanos::ZERO, "it computes nothing");

    // The workload is replayed without its computing time, which a guest does not need.
    let path = here.join("home/lab/workloads/list.toml");
    let text = fs::read_to_string(&path).expect("the workload");
    let (head, steps) = text.split_once("steps = \"\"\"\n").expect("steps");
    let idle: String = steps
        .lines()
        .map(|line| match line.split_once(' ') {
            Some((think, rest)) if think.parse::<u64>().is_ok() => format!("0 {rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    fs::write(&path, format!("{head}steps = \"\"\"\n{idle}")).expect("the workload");
    fs::write(here.join("mine.toml"), SUITE).expect("a file");
    let ran = run(here, &["run", "mine.toml", "--out", "record"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let record = Record::open(&here.join("record")).expect("the record");
    for array in ["bfq-hdd", "bfq-ssd"] {
        let time = |workload: &str| {
            let outcome = record.lines().iter().find(|outcome| {
                outcome.cell.value("array") == Some(array)
                    && outcome.cell.value("workload") == Some(workload)
            });
            outcome.expect("its trial").measures["start-up"].value
        };
        let (replayed, itself) = (time("list"), time("list:program"));
        assert!(
            (0.85..1.15).contains(&(replayed / itself)),
            "{array}: {replayed} ns instead of {itself} ns"
        );
    }
}

#[test]
fn what_cannot_be_recorded_is_told() {
    let Some(here) = place() else { return };
    let here = here.path();
    let cases: [(&[&str], i32, &str); 4] = [
        (&["fails", "--", "sh", "-c", "exit 3"], 2, "failed under strace (exit status: 3)"),
        (&["gone", "--", "no-such-program"], 2, "no-such-program"),
        (&["bad/name", "--", "true"], 2, "a workload's name has lower-case letters"),
        (&["nothing"], 2, "required"),
    ];
    for (arguments, status, says) in cases {
        let done = run(here, &[&["record-startup"], arguments].concat());
        assert_eq!(done.status, Some(status), "{arguments:?}: {}", done.err);
        assert!(done.err.contains(says), "{arguments:?}: {}", done.err);
    }
    let mut left = fs::read_dir(here.join("home/lab/workloads")).expect("a folder").flatten();
    assert!(left.all(|entry| {
        !["fails.toml", "gone.toml"].contains(&entry.file_name().to_str().unwrap_or_default())
    }));
}

#[test]
fn what_goes_on_and_what_opens_much_is_recorded() {
    let Some(here) = place() else { return };
    let here = here.path();
    let leaves =
        run(here, &["record-startup", "leaves", "--", "sh", "-c", "sleep 5 & cat /etc/passwd"]);
    assert_eq!(leaves.status, Some(0), "{}", leaves.err);
    assert!(leaves.err.contains("it ended and left processes running"), "{}", leaves.err);
    assert!(here.join("home/lab/workloads/leaves.toml").exists());

    // The replay of parallel processes takes as long on the disk. On an SSD, the output would say
    // otherwise.
    let readers = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    for number in 0..4 {
        fs::write(readers.path().join(number.to_string()), vec![1; 1 << 20]).expect("a file");
    }
    let script = format!(
        "cd {}; for it in 0 1 2 3; do cat $it > /dev/null & done; wait; cat 0 1 > /dev/null",
        readers.path().display()
    );
    let beside = run(here, &["record-startup", "beside", "--", "sh", "-c", &script]);
    assert_eq!(beside.status, Some(0), "{}", beside.err);
    assert!(
        beside.out.contains(" 6 threads and processes")
            && !beside.err.contains("on an SSD the replay takes"),
        "{}{}",
        beside.out,
        beside.err
    );

    // The folder is not in /tmp, which is not a disk.
    let many = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    for number in 0..10_000 {
        fs::write(many.path().join(number.to_string()), "1").expect("a file");
    }
    let script = format!("cat {}/* > /dev/null", many.path().display());
    let opens = run(here, &["record-startup", "opens", "--", "sh", "-c", &script]);
    assert_eq!(opens.status, Some(0), "{}", opens.err);
    let lab = Lab::load(&here.join("home/lab")).expect("what was made can be read");
    let startup = lab.workloads["opens"].startup().expect("a start");
    let own = startup.files.iter().filter(|entry| Path::new(&entry.path).starts_with(many.path()));
    // The count includes their folder.
    assert_eq!(own.count(), 10_001);
}

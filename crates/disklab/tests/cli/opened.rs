//! Tests files that nobody should open as usual: named pipes, endless devices, and links to the
//! reader's files. No verb waits for one, fills the memory with one, or shows its contents.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Done, HOME, derived, disklab, done, fixture, run};

/// A line that no output and no record may contain.
const SECRET: &str = "machine example.org login me password hunter2";

/// Puts something at a path, in the place of what is there.
type Plant = fn(&Path, &Path);

/// The plants: a name, the function that puts each at a path, and the words of its refusal.
const PLANTS: [(&str, Plant, &str); 3] = [
    ("a named pipe", plant_pipe, "a named pipe (FIFO)"),
    ("a device", plant_device, "symbolic link"),
    ("a link to a secret", plant_secret, "symbolic link"),
];

fn plant_pipe(path: &Path, _: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success()));
}

fn plant_device(path: &Path, _: &Path) {
    let _ = fs::remove_file(path);
    symlink("/dev/zero", path).expect("a link");
}

fn plant_secret(path: &Path, secret: &Path) {
    let _ = fs::remove_file(path);
    symlink(secret, path).expect("a link");
}

/// Returns true if a file, or a file below a folder, contains the secret.
fn has_secret(path: &Path) -> bool {
    let found = Command::new("grep").args(["-rqs", "hunter2"]).arg(path).status();
    found.expect("grep").success()
}

/// Runs the program with two GiB of memory for at most 20 s.
fn limited(here: &Path, arguments: &[&str]) -> Done {
    let plain = disklab(here);
    let mut command = Command::new("timeout");
    command.args(["20", "sh", "-c", "ulimit -v 2097152; exec \"$@\"", "sh"]);
    command.arg(plain.get_program()).args(arguments).current_dir(here).stdin(Stdio::null());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    done(command.output().expect("it starts"))
}

/// Runs the program, which must end by itself and must not print the secret.
fn ended(here: &Path, arguments: &[&str], what: &str) -> Done {
    let done = limited(here, arguments);
    let said = format!("{}{}", done.out, done.err);
    assert!(matches!(done.status, Some(0..=5)), "{what}: {arguments:?}: {:?} {said}", done.status);
    assert!(
        !said.contains("hunter2") && !said.contains("panicked"),
        "{what}: {arguments:?}: {said}"
    );
    done
}

#[test]
fn no_verb_opens_a_pipe_or_a_device_that_it_is_given() {
    let here = tempfile::tempdir().expect("a folder");
    let pipe = here.path().join("pipe.toml");
    plant_pipe(&pipe, &pipe);
    fs::create_dir(here.path().join("results")).expect("a folder");
    plant_pipe(&here.path().join("results/a.json"), &pipe);
    plant_pipe(&here.path().join("drive.parv"), &pipe);
    symlink("/dev/zero", here.path().join("drive.trace")).expect("a link");
    for (file, refusal) in [("./pipe.toml", "a named pipe (FIFO)"), ("/dev/zero", "device")] {
        for arguments in [
            &["plan", file][..],
            &["run", file],
            &["gather", file],
            &["import", file],
            &["validate", file],
            &["validate", "lab/measured", "--device", file],
            &["calibrate", "--from-fio", file, "--like", "sata-ssd-1tb"],
            &["show", file],
            &["trace", file, "a"],
            &["compare", file],
            &["gate", file, "--against", file],
            &["history", file],
            &["report", file],
            &["export", file, "-o", "tables"],
            &["audit", file],
            &["same", file, file],
            &["merge", file, file, "--out", "merged"],
            &["predict", file, "--devices", "sata-ssd-1tb"],
            &["run", "--resume", file],
            &["bisect", "--resume", file],
            &["kernel", "build", "--source", file],
        ] {
            let done = ended(here.path(), arguments, file);
            assert_ne!(done.status, Some(0), "{arguments:?}: {}", done.out);
            // Special files are refused by their kind.
            if ["plan", "run", "import", "validate"].contains(&arguments[0])
                && arguments.len() == 2
                && file != "/dev/zero"
            {
                assert!(done.err.contains(refusal), "{arguments:?}: {}", done.err);
            }
        }
    }
    for arguments in [
        &["import", "results"][..],
        &["validate", "results"],
        &["validate", "drive.parv"],
        &["calibrate", "--from-fio", "results", "--like", "sata-ssd-1tb"],
    ] {
        assert_ne!(ended(here.path(), arguments, "a folder").status, Some(0), "{arguments:?}");
    }
}

/// Lists the files of a record that are read, with those of one trial's folder.
fn files(record: &Path) -> Vec<PathBuf> {
    let raw = fs::read_dir(record.join("raw")).expect("a folder").flatten().next();
    let trial = raw.expect("a trial").path();
    let names = ["fio.json", "console.log", "guest.jsonl", "disks.json", "requests.trace.gz"];
    let top = ["manifest.toml", "trials.jsonl", "lock"].map(|name| record.join(name));
    top.into_iter().chain(names.map(|name| trial.join(name))).collect()
}

#[test]
fn no_verb_opens_what_was_planted_in_a_record() {
    let here = tempfile::tempdir().expect("a folder");
    let secret = here.path().join("netrc");
    fs::write(&secret, SECRET).expect("room");
    let trial = "hdd-raid1+randread-4k-qd1+pid+s1";
    fixture::small_record(here.path(), "other", 64);
    for (what, plant, refusal) in PLANTS {
        for file in 0..8 {
            let _ = fs::remove_dir_all(here.path().join("records/planted"));
            let record = derived::derived_record(here.path(), "planted", 1);
            let path = &files(&record)[file];
            plant(path, &secret);
            let what = format!("{what} as {}", path.display());
            for arguments in [
                &["show", "planted"][..],
                &["show", "planted", trial],
                &["trace", "planted", trial],
                &["compare", "planted"],
                &["gate", "planted", "--against", "other"],
                &["history", "planted"],
                &["report", "planted", "-o", "page.html"],
                &["export", "planted", "-o", "tables", "--table", "trials,histograms,requests"],
                &["audit", "planted"],
                &["same", "planted", "other"],
                &["merge", "planted", "other", "--out", "merged"],
                &["list", "records"],
            ] {
                let done = ended(here.path(), arguments, &what);
                if file < 2 && arguments[0] == "show" {
                    assert!(done.err.contains(refusal), "{what}: {arguments:?}: {}", done.err);
                }
            }
            for made in ["page.html", "tables", "merged"] {
                assert!(!has_secret(&here.path().join(made)), "{what}: {made}");
                let _ = fs::remove_dir_all(here.path().join(made));
            }
        }
    }
}

#[test]
fn a_folder_of_a_record_that_is_a_link_is_refused() {
    let here = tempfile::tempdir().expect("a folder");
    let record = derived::derived_record(here.path(), "linked", 1);
    fs::rename(record.join("raw"), here.path().join("elsewhere")).expect("another place");
    symlink(here.path().join("elsewhere"), record.join("raw")).expect("a link");
    let said = ended(here.path(), &["audit", "linked"], "a link");
    assert!(said.err.contains("raw is a symbolic link"), "{} {}", said.out, said.err);
    // The user may name a record by a link.
    let record = derived::derived_record(here.path(), "whole", 1);
    symlink(&record, here.path().join("name")).expect("a link");
    assert_eq!(run(here.path(), &["show", "./name"]).status, Some(0));
}

#[test]
fn nothing_of_a_file_that_a_folder_links_to_is_imported() {
    let here = tempfile::tempdir().expect("a folder");
    let results = here.path().join("results");
    fs::create_dir(&results).expect("a folder");
    let fio = Path::new(HOME).join("crates/results/tests/data/randread.json");
    fs::copy(fio, results.join("a.json")).expect("a file");
    fs::write(here.path().join("netrc"), format!("workload,{SECRET}\n,1\n")).expect("room");
    symlink(here.path().join("netrc"), results.join("b.csv")).expect("a link");
    let done = ended(here.path(), &["import", "results", "--out", "imported"], "a folder");
    assert_eq!(done.status, Some(0), "{}", done.err);
    let said = format!("{}{}", done.out, done.err);
    assert!(said.contains("b.csv: it is a symbolic link"), "{said}");
    assert!(!has_secret(&here.path().join("imported")));
}

//! Tests runs on machines that lack files, memory, processes, disk space, or places to execute
//! from. A run ends with a sentence that names the missing resource, or continues without it. A
//! fault of the machine is never recorded as the trial's own, and the record can be merged with a
//! good one.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use disklab_record::outcome::Fault;
use disklab_record::{Record, Status};

use crate::{disklab, done, guests, run};

const SUITE: &str = r#"
question = "What does a run do that lacks something?"
seeds = 2
memory = "192 MiB"
runtime = { rotational = "20ms", solid_state = "20ms" }
[axes]
array = ["constant-raid1"]
workload = ["smoke-randread"]
"#;

/// Allowed end of a run under a limit.
enum Ending {
    /// All trials are ok.
    Well,
    /// The run ends with this exit status and these words.
    Says(i32, &'static str),
    /// Either end is allowed: exit status 0, or exit status 1 or 5 with a sentence.
    Any,
}

/// A limit: its name, the shell commands before the program is executed, and the end of the run.
struct Limit<'a>(&'a str, &'a str, Ending);

/// Limits that a shell sets in a mount namespace of its own.
const MOUNTS: &[Limit<'_>] = &[
    Limit("no exec in /dev/shm", "mount -t tmpfs -o noexec none /dev/shm", Ending::Well),
    Limit("a tiny /dev/shm", "mount -t tmpfs -o size=64k none /dev/shm", Ending::Well),
    Limit("a read-only /dev/shm", "mount -t tmpfs -o ro none /dev/shm", Ending::Well),
    Limit(
        "no /dev/shm",
        "mkdir dev && for name in null zero full random urandom tty; do touch dev/$name && \
         mount --bind /dev/$name dev/$name || exit 99; done; mount --rbind dev /dev",
        Ending::Well,
    ),
    Limit(
        "no exec in /dev/shm and in the cache",
        "mount -t tmpfs -o noexec none /dev/shm && mount --bind cache cache && \
         mount -o remount,noexec,bind cache",
        Ending::Says(5, "noexec"),
    ),
    Limit(
        "a read-only folder of records",
        "mount -t tmpfs -o ro none limited",
        Ending::Says(5, "Read-only file system"),
    ),
    Limit(
        "a full folder of records",
        "mount -t tmpfs -o size=64k none limited",
        Ending::Says(5, "free some space, or use a larger disk"),
    ),
    Limit(
        "a read-only cache",
        "mount --bind cache cache && mount -o remount,ro,bind cache",
        Ending::Says(5, "make it writable or set XDG_CACHE_HOME"),
    ),
    Limit(
        "a full cache",
        "mkdir -p cache/disklab/disks && mount -t tmpfs -o size=64k none cache/disklab/disks",
        Ending::Says(5, "free some space, or use a larger disk"),
    ),
    Limit("no user namespaces", "echo 0 >/proc/sys/user/max_user_namespaces", Ending::Well),
];

/// Limits that any user's shell can set.
const RESOURCES: &[Limit<'_>] = &[
    Limit("files of 8 MiB", "ulimit -f 8192", Ending::Says(5, "`ulimit -f unlimited`")),
    Limit("300 open files", "ulimit -n 300", Ending::Well),
    Limit("24 open files", "ulimit -n 24", Ending::Says(5, "raise the limit (`ulimit -n`)")),
    Limit("1 GB of memory", "ulimit -v 1000000", Ending::Any),
    Limit("500 MB of memory", "ulimit -v 500000", Ending::Any),
    Limit("no core files", "ulimit -c 0", Ending::Well),
];

/// Runs the suite under a limit, with a record at `limited/out`.
fn run_under(here: &Path, Limit(_, setup, _): &Limit<'_>, own_mounts: bool) -> crate::Done {
    let plain = disklab(here);
    let mut command = Command::new("timeout");
    command.arg("300");
    if own_mounts {
        command.args(["unshare", "--mount", "--user", "--map-root-user"]);
    }
    let script = format!("{setup} || exit 99; exec \"$@\"");
    command.args(["bash", "-c", &script, "bash"]).arg(plain.get_program());
    command.args(["run", "limited.toml", "--out", "limited/out", "--jobs", "1"]);
    command.current_dir(here).stdin(Stdio::null());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    done(command.output().expect("it starts"))
}

fn check(limits: &[Limit<'_>], own_mounts: bool) {
    for limit in limits {
        let Some(here) = guests::place() else { return };
        let here = here.path();
        fs::write(here.join("limited.toml"), SUITE).expect("room");
        fs::create_dir(here.join("limited")).expect("a folder");
        let Limit(what, _, ending) = limit;
        let done = run_under(here, limit, own_mounts);
        if done.status == Some(99) || done.err.starts_with("unshare:") {
            disklab_testkit::skipped(format!("{what}: {}", done.err.trim()));
            continue;
        }
        let said = format!("{what}: {:?}\n{}\n{}", done.status, done.out, done.err);
        assert!(!done.err.contains("panicked"), "{said}");
        match ending {
            Ending::Well => assert_eq!(done.status, Some(0), "{said}"),
            Ending::Says(status, words) => {
                assert_eq!(done.status, Some(*status), "{said}");
                let all = format!("{}{}", done.out, done.err).replace('\n', " ");
                assert!(
                    all.split_whitespace().collect::<Vec<_>>().join(" ").contains(words),
                    "{said}"
                );
            }
            Ending::Any => {
                assert!(matches!(done.status, Some(0 | 1 | 5)), "{said}");
                assert!(done.status == Some(0) || !done.err.is_empty() || !done.out.is_empty());
            }
        }
        let Ok(record) = Record::open(&here.join("limited/out")) else { continue };
        for outcome in record.lines().iter().filter(|line| line.status == Status::Failed) {
            assert_eq!(outcome.fault, Some(Fault::Machine), "{said}\n{:?}", outcome.reason);
        }
        assert_eq!(run(here, &["run", "limited.toml", "--out", "good"]).status, Some(0), "{what}");
        let merged = run(here, &["merge", "limited/out", "good", "--out", "merged"]);
        assert_eq!(merged.status, Some(0), "{what}: {}", merged.err);
    }
}

#[test]
fn a_run_under_a_limit_of_resources_says_what_is_missing() {
    check(RESOURCES, false);
}

#[test]
fn a_run_on_odd_mounts_says_what_is_missing() {
    check(MOUNTS, true);
}

/// Executes the program under a filter of system calls for which the kernel has no Landlock: calls
/// 444 to 446 fail with `ENOSYS`. The lines are the filter's: load the number, compare it, answer.
const WITHOUT_LANDLOCK: &str = r#"set -- python3 -c '
import ctypes, os, struct, sys
lines = [(32, 0, 0, 0), (53, 0, 2, 444), (37, 1, 0, 446), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
prctl = ctypes.CDLL(None).prctl
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program):
    sys.exit(99)
os.execvp(sys.argv[1], sys.argv[1:])' "$@""#;

#[test]
fn a_run_on_a_kernel_without_landlock_says_what_guests_can_do() {
    let ending = Ending::Says(0, "a program that a lab file names can write to every file");
    check(&[Limit("a kernel without Landlock", WITHOUT_LANDLOCK, ending)], false);
}

/// The number of processes does not limit root, so root's test runs as another user, who cannot
/// follow the link to the kernel.
const AS_NOBODY: &str = "set -- setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\" && \
    cp -rL cache mine && rm -r cache && mv mine cache && chown -R 65534:65534 . && \
    ulimit -u PROCESSES && setpriv --reuid=65534 --regid=65534 --clear-groups test -x \"$5\"";

#[test]
fn a_run_with_few_processes_says_what_is_missing() {
    let is_root = rustix::process::geteuid().is_root();
    let setup = if is_root { AS_NOBODY } else { "ulimit -u PROCESSES" };
    let limits = [
        ("4", Ending::Says(1, "raise the limit of your processes (`ulimit -u`)")),
        ("8", Ending::Says(1, "the host's limit of processes (`ulimit -u`)")),
        ("16", Ending::Any),
        ("2000", Ending::Well),
    ];
    for (processes, ending) in limits {
        let what = format!("{processes} processes");
        check(&[Limit(&what, &setup.replace("PROCESSES", processes), ending)], false);
    }
}

/// A suite of 40,000 trials.
const MANY_TRIALS: &str = r#"
question = "How long does the plan of many trials take?"
seeds = 1000
memory = "1 GiB"
runtime = { rotational = "20ms", solid_state = "20ms" }
[axes]
array = ["hdd-raid1", "constant-raid1"]
workload = ["randread-4k-qd1", "randread-4k-qd32", "seqread-1m-qd16", "smoke-randread", "two-files"]
policy = ["pid", "round-robin:4k", "latency", "queue"]
"#;

/// Runs commands on large input under limits of processor time and of address space. Each command
/// needs about a second at most; if its work grew with the square of its input, it would need more
/// than the limit of 10 s or of memory.
#[test]
fn commands_on_large_input_need_no_time_or_memory_of_its_square() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let rows = (0..8000).map(|row| format!("w,p{row},{}\n", 1000 + row * 7 % 311));
    let table = format!("workload,policy,iops\n{}", rows.collect::<String>());
    fs::write(here.join("many.csv"), &table).expect("room");
    fs::write(here.join("many.toml"), MANY_TRIALS).expect("room");
    let dashes = format!("{}.csv", "-".repeat(200));
    fs::write(here.join(&dashes), "policy,iops\npid,5\n").expect("room");
    let dashes = format!("./{dashes}");
    let six_names = "{a}-{b}-{c}-{d}-{e}-{f}.json";
    // The exit status, words of standard output or standard error, and the arguments.
    let commands: [(i32, &str, &[&str]); 4] = [
        (0, "8000 rows of 1 file", &["import", "many.csv", "--out", "many"]),
        (0, "it compares every two values of policy", &["compare", "./many"]),
        (0, "40000 trials", &["plan", "many.toml"]),
        (2, "does not match", &["import", &dashes, "--cell", six_names, "--out", "six"]),
    ];
    for (status, words, arguments) in commands {
        let plain = disklab(here);
        let mut command = Command::new("bash");
        let limits = "ulimit -t 10 && ulimit -v 1500000 || exit 99; exec \"$@\"";
        command.args(["-c", limits, "bash"]).arg(plain.get_program()).args(arguments);
        command.current_dir(here).stdin(Stdio::null());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let done = done(command.output().expect("it starts"));
        let end = &done.out[done.out.len().saturating_sub(500)..];
        assert_eq!(done.status, Some(status), "{arguments:?}\n{end}\n{}", done.err);
        let said = done.out.contains(words) || done.err.contains(words);
        assert!(said, "{arguments:?}\n{end}\n{}", done.err);
    }
}

//! Tests guests that fail in various ways: the trial is lost with the right reason, and no process
//! is left.

use crate::place::{self, TestGuest, constant};
use disklab_guest::confinement;
use disklab_guest::interface::INTERFACE;
use disklab_protocol::action::{Action, Program, Unmount};
use disklab_protocol::heartbeat::Heartbeat;
use disklab_protocol::names;
use disklab_protocol::places::Side;
use disklab_protocol::setup::{Mount, Setting};
use disklab_runner::End;
use disklab_runner::Installation;
use disklab_testkit::skipped_without_root;
use disklab_units::{Bytes, Nanos};
use libtest_mimic::Trial;
use rustix::process::{Pid, getpgid};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    vec![
        crate::test("a_panic", a_panic),
        crate::test("a_hang", a_hang),
        crate::test("waiting_for_ever", waiting_for_ever),
        crate::test("a_program_that_is_missing", a_program_that_is_missing),
        crate::test("a_program_that_fails", a_program_that_fails),
        crate::test("mkfs_that_fails", mkfs_that_fails),
        crate::test("a_setting_that_is_refused", a_setting_that_is_refused),
        crate::test("a_guest_that_is_killed", a_guest_that_is_killed),
        crate::test("a_process_of_a_guest_that_is_killed", a_process_of_a_guest_that_is_killed),
        crate::test("a_guest_that_writes_over_itself", a_guest_that_writes_over_itself),
        crate::test("a_console_that_overflows", a_console_that_overflows),
        crate::test("output_that_overflows", output_that_overflows),
        crate::test("steps_that_take_no_time", steps_that_take_no_time),
        crate::test("a_full_host_disk", a_full_host_disk),
        crate::test("another_build", another_build),
        crate::test("another_interface", another_interface),
        crate::test("a_killed_starter", a_killed_starter),
        crate::test("a_guest_that_attacks_its_host", a_guest_that_attacks_its_host),
        crate::test("a_stop", a_stop),
        crate::test("a_parent_of_orphans_keeps_no_zombies", a_parent_of_orphans_keeps_no_zombies),
        crate::test("an_ordinary_end_leaves_no_process", an_ordinary_end_leaves_no_process),
    ]
}

/// Returns the reason of the failure, and checks that no process was left.
fn reason(place: &TestGuest) -> String {
    let reason = place.run().expect_err("this should have failed");
    assert_eq!(place.processes(), Vec::<String>::new(), "processes are left after: {reason}");
    reason
}

fn a_panic() {
    assert_eq!(
        reason(&TestGuest::shell("echo c > /proc/sysrq-trigger")),
        "the guest kernel panicked: sysrq triggered crash"
    );
}

fn a_hang() {
    let mut place = TestGuest::shell("while :; do :; done");
    place.silence = Duration::from_secs(2);
    let reason = reason(&place);
    assert!(reason.contains("hangs") && reason.contains("for 2 s"), "{reason}");
    let state = std::fs::read_to_string(place.path("stalled.log")).unwrap();
    assert!(state.contains("R (running)") && state.contains("== look 2"), "{state}");
}

fn waiting_for_ever() {
    let mut place = TestGuest::shell("sleep 100000000");
    place.limit = Nanos::from_secs(3600);
    let reason = reason(&place);
    assert!(reason.contains("never ends"), "{reason}");
}

fn a_program_that_is_missing() {
    let reason = reason(&TestGuest::new(&["no-such-fio", "--version"]));
    assert!(reason.contains("no-such-fio cannot be run: No such file"), "{reason}");
}

fn a_program_that_fails() {
    let reason = reason(&TestGuest::new(&["fio", "--name=x", "--rw=nonsense"]));
    assert!(reason.starts_with("measure: fio failed (exit status: 1)"), "{reason}");
}

fn mkfs(words: &[&str]) -> Action {
    let command = words.iter().map(|&word| word.to_owned()).collect();
    Action::Run(Program { step: "mkfs".to_owned(), command })
}

fn mkfs_that_fails() {
    let mut place = TestGuest::shell("true");
    place.before.push(mkfs(&["mkfs.btrfs", "-d", "raid1", "/dev/vda"]));
    let reason = reason(&place);
    assert!(reason.starts_with("mkfs: mkfs.btrfs failed (exit status: 1)"), "{reason}");
}

fn a_setting_that_is_refused() {
    let mut place = TestGuest::shell("true");
    let path = "/sys/block/vda/queue/scheduler".to_owned();
    place.before.push(Action::Set(Setting { path, value: "cfq".to_owned(), choice: true }));
    let reason = reason(&place);
    assert!(reason.contains("writing \"cfq\" to /sys/block/vda/queue/scheduler"), "{reason}");
}

/// Applies `harm` to the guest's process again and again while the guest reads its disk. Returns
/// the reason of its end.
fn harmed(harm: impl Fn(&str) + Send) -> String {
    let place = TestGuest::shell(
        "while dd if=/dev/vda of=/dev/null bs=4k count=1000 iflag=direct; do :; done",
    );
    let path = place.folder.path().to_owned();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let asked = Instant::now();
            let running = || Heartbeat::read(&path).is_ok_and(|beat| beat.requests > 100);
            while !running() && asked.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(10));
            }
            let all = Command::new("pgrep").args(["-f", "time-travel=inf-cpu"]).output().unwrap();
            for pid in String::from_utf8(all.stdout).unwrap().lines() {
                let here =
                    std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == path);
                // The keeper process in the same group is left alone.
                let id = pid.parse().ok().and_then(Pid::from_raw);
                if here && id.is_some() && getpgid(id).ok() == id {
                    harm(pid);
                }
            }
        });
        reason(&place)
    })
}

fn a_guest_that_is_killed() {
    let reason = harmed(|pid| {
        assert!(Command::new("kill").args(["-KILL", pid]).status().unwrap().success());
    });
    assert!(reason.starts_with("the guest's process died (signal: 9"), "{reason}");
}

/// The machine kills a process in which a program of the guest runs, and not the guest's kernel.
fn a_process_of_a_guest_that_is_killed() {
    let reason = harmed(|pid| {
        let stubs =
            Command::new("pgrep").args(["-P", pid, "-x", "uml-userspace"]).output().unwrap();
        let stubs = String::from_utf8(stubs.stdout).unwrap();
        // The first one is the first process, the second one the shell.
        let shell = stubs.lines().nth(1).expect("a program runs in the guest");
        assert!(Command::new("kill").args(["-KILL", shell]).status().unwrap().success());
    });
    assert!(reason.starts_with("a process of the guest was killed on the host"), "{reason}");
}

/// Everything that the disk library can write to is overwritten, as by a wild pointer of the
/// kernel.
fn a_guest_that_writes_over_itself() {
    let reason = harmed(|pid| {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let memory = std::fs::File::options().write(true).open(format!("/proc/{pid}/mem")).unwrap();
        for line in maps
            .lines()
            .filter(|line| line.contains(" rw-p ") && line.contains("libdisklab_guest.so"))
        {
            let (from, to) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            let [from, to] = [from, to].map(|end| u64::from_str_radix(end, 16).unwrap());
            let junk = vec![0xa5; usize::try_from(to - from).unwrap()];
            // The process may vanish during the write.
            let _ = memory.write_all_at(&junk, from);
        }
    });
    assert!(
        reason.contains("died") || reason.contains("panicked") || reason.contains("hangs"),
        "{reason}"
    );
}

/// A program of a lab file is root in the guest. It mounts the host's files writable, which the
/// guest's kernel refuses, and tries to write to those that it sees.
fn a_guest_that_attacks_its_host() {
    if confinement::gap(confinement::landlock_version()).is_some() {
        println!("skipped: this machine's kernel has no Landlock that confines a guest wholly");
        return;
    }
    let victims = tempfile::tempdir().unwrap();
    let file = victims.path().join("file");
    std::fs::write(&file, "whole").unwrap();
    let before = file.metadata().unwrap();
    let mut place = TestGuest::shell("");
    let script = format!(
        "head -c 4096 /dev/vda >/dev/null
        mkdir /tmp/host
        try() {{ sh -c \"$2\" 2>/dev/null && echo did $1; }}
        try mount 'mount -t hostfs none /tmp/host -o /'
        try remount 'mount -o remount,rw /'
        mount -o bind / /tmp/host
        cd /tmp/host{0} && cat file && echo
        try write 'echo broken > file'
        try append 'echo broken >> file'
        try create 'echo new > new'
        try folder 'mkdir folder'
        try remove 'rm -f file'
        try rename 'mv file other'
        try mode 'chmod 777 file'
        try times 'touch -d 1999-01-01 file'
        try owner 'chown 1234 file'
        try symlink 'ln -s {0}/file /mnt/trial/link'
        try hardlink 'ln file /tmp/host{1}/hard'
        try memory 'echo x > /tmp/host/dev/shm/disklab-attack'
        cd /mnt/trial
        rm {2} && mkdir {2} && echo '{{}}' > {3} && echo hung > {4} && echo changed
        echo inside > inside && cat inside",
        victims.path().display(),
        place.folder.path().display(),
        names::MACHINE,
        names::PLAN,
        names::STALLED,
    );
    place.what = place::program(&["sh", "-c", &script]);
    place.run().unwrap();
    assert_eq!(place.said().split_whitespace().collect::<Vec<_>>(), ["whole", "changed", "inside"]);
    let own = |name| std::fs::read_to_string(place.path(name)).unwrap();
    assert!(own(names::MACHINE).contains("disks") && own(names::PLAN).contains("mount -t hostfs"));
    assert!(!place.path(names::STALLED).exists());
    let after = file.metadata().unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"whole");
    assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()));
    assert_eq!((after.mtime(), after.nlink()), (before.mtime(), 1));
    assert_eq!(std::fs::read_dir(victims.path()).unwrap().count(), 1);
    assert!(!Path::new("/dev/shm/disklab-attack").exists());
}

fn a_console_that_overflows() {
    let reason = reason(&TestGuest::shell(
        "while head -c 100000 /dev/zero | tr '\\0' x > /dev/console; do :; done",
    ));
    assert!(reason.contains("too much to its console"), "{reason}");
}

fn output_that_overflows() {
    let reason = reason(&TestGuest::shell(
        "i=0; while :; do head -c 10000000 /dev/zero > /mnt/trial/$i; i=$((i+1)); done",
    ));
    assert!(reason.contains("wrote more than 1 GiB into its trial's folder"), "{reason}");
}

/// The clock moves, so that the guest never counts as silent.
fn steps_that_take_no_time() {
    let mut place = TestGuest::shell("while :; do sleep 0.000000001; done");
    place.wall = Duration::from_secs(3);
    let reason = reason(&place);
    assert!(reason.contains("never ends: it ran for"), "{reason}");
}

/// The trial runs on a small filesystem of its own.
fn a_full_host_disk() {
    let mut place = TestGuest::shell("dd if=/dev/urandom of=/dev/vda bs=1M count=32 oflag=direct");
    let small = place.path("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=8M", "none"])
        .arg(&small)
        .output()
        .unwrap();
    if !mounted.status.success() {
        skipped_without_root(
            "a full disk needs a small filesystem, and only root can mount one here",
        );
        return;
    }
    "small/0.img".clone_into(&mut place.machine.disks[0].image);
    let result = place.run();
    assert!(Command::new("umount").arg(&small).status().unwrap().success());
    let reason = result.expect_err("a full disk is no result");
    assert!(reason.contains("0.img") && reason.contains("No space left on device"), "{reason}");
}

fn another_build() {
    let mut place = TestGuest::shell("true");
    "0123".clone_into(&mut place.machine.build);
    let reason = reason(&place);
    assert!(reason.contains("of another build") && reason.contains("0123"), "{reason}");
}

/// A program between the kernel and this library changes the version number, as if they were of
/// different ages.
fn another_interface() {
    let folder = tempfile::tempdir().unwrap();
    let (source, other) = (folder.path().join("other.c"), folder.path().join("other.so"));
    let installation = Installation::find().unwrap();
    let text = format!(
        "#include <dlfcn.h>\n\
         const void *disklab_open(unsigned int interface) {{\n\
         \tvoid *library = dlopen(\"{}\", RTLD_NOW);\n\
         \tconst void *(*open)(unsigned int) = dlsym(library, \"disklab_open\");\n\
         \treturn open(interface + 1);\n}}\n",
        installation.library.display()
    );
    std::fs::write(&source, text).unwrap();
    let compiled =
        Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&other).arg(&source).status();
    assert!(compiled.expect("gcc, which kernels are built with").success());
    let mut place = TestGuest::shell("true");
    place.installation = Installation { library: other, ..installation };
    let reason = reason(&place);
    let expected = format!(
        "the guest kernel speaks interface {}, this disk library {INTERFACE}",
        INTERFACE + 1
    );
    assert!(reason.contains(&expected) && reason.contains("`disklab kernel build`"), "{reason}");
}

/// Argument with which this program starts a guest and waits to be killed.
pub const STARTER: &str = "start-a-guest-and-wait";

/// Prints the folder of a guest that makes one process after the other.
pub fn start_and_wait() -> ! {
    let place = TestGuest::shell("while :; do /bin/true; done");
    println!("{}", place.folder.path().display());
    let reason = place.run();
    panic!("the guest ended by itself: {reason:?}");
}

/// The starters are killed without warning while their guests make processes, each at another
/// moment. They cannot clean up, and nothing may be left.
fn a_killed_starter() {
    for round in 0..20 {
        let mut starter = Command::new(std::env::current_exe().unwrap());
        let mut starter = starter.arg(STARTER).stdout(Stdio::piped()).spawn().unwrap();
        let mut folder = String::new();
        BufReader::new(starter.stdout.take().unwrap()).read_line(&mut folder).unwrap();
        let folder = Path::new(folder.trim());
        let asked = Instant::now();
        while !Heartbeat::read(folder).is_ok_and(|beat| beat.measured) {
            assert!(asked.elapsed() < Duration::from_secs(30), "the guest did not begin");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(50_000 + round * 137));
        starter.kill().unwrap();
        starter.wait().unwrap();
        assert_eq!(place::processes(folder), Vec::<String>::new(), "round {round}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

fn a_stop() {
    let place = TestGuest::shell("while :; do :; done");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(1));
            stop.store(true, Ordering::Relaxed);
        });
        assert!(matches!(place.run_until(&stop), End::Stopped));
    });
    assert_eq!(place.processes(), Vec::<String>::new());
}

fn an_ordinary_end_leaves_no_process() {
    let mut place = TestGuest::shell("true");
    place.machine.disks[0] = constant(Bytes::mib(256), 1);
    place.before.push(mkfs(&["mkfs.btrfs", "-q", "/dev/vda"]));
    let (source, filesystem) = ("/dev/vda".to_owned(), "btrfs".to_owned());
    let (on, data) = (Side::Pool, String::new());
    place.before.push(Action::Mount(Mount { on, source, filesystem, data, noatime: true }));
    place.after.push(Action::Unmount(Unmount { all: vec![Side::Pool] }));
    place.run().unwrap();
    assert_eq!(place.processes(), Vec::<String>::new());
    assert!(!place.path("uml").exists(), "the kernel's own folder is left");
}

/// The first process of a container becomes the parent of every orphan.
fn a_parent_of_orphans_keeps_no_zombies() {
    rustix::process::set_child_subreaper(Some(Pid::INIT)).unwrap();
    let place = TestGuest::shell("sleep 1");
    place.run().unwrap();
    // Guests of other tests have zombies for an instant. Only zombies that stay count.
    let mut staying = zombies();
    let asked = Instant::now();
    while !staying.is_empty() && asked.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(7));
        let now = zombies();
        staying.retain(|zombie| now.contains(zombie));
    }
    assert_eq!(staying, Vec::<String>::new());
}

/// Returns the `stat` lines of this process's children that have ended and were not waited for.
fn zombies() -> Vec<String> {
    let parent = format!(") Z {} ", std::process::id());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines =
        processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    lines.filter(|line| line.contains(&parent)).collect()
}

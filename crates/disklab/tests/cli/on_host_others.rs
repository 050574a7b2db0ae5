//! Tests `run --on host` on a machine that others use too: their cgroups, mounts, runs of disklab,
//! settings, reads and programs. The tests need root, and use loop devices.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use disklab_record::{Outcome, Status};
use disklab_results::Remark;

use crate::loops::loops;
use crate::on_host::{
    behind, devices, is_as_before, journals, made_and_mounted, on_host, outcomes, run, schedulers,
    suite,
};
use crate::{disklab, done};

/// Makes a suite that runs long enough for others to interfere.
fn long_suite(here: &Path) {
    suite(here);
    let file = here.join("mine.toml");
    let text = fs::read_to_string(&file).expect("the suite").replace("300ms", "4 s");
    fs::write(file, text).expect("a file");
}

fn begin(command: &mut Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Waits until the only trial of a record is measured.
fn wait_for_the_trial(run: &mut Child, record: &Path) {
    let begun = Instant::now();
    loop {
        let raw = fs::read_dir(record.join("raw")).into_iter().flatten().flatten();
        let mut marks =
            raw.filter_map(|trial| fs::read_to_string(trial.path().join("marks.jsonl")).ok());
        if marks.any(|text| text.contains("begin measure")) {
            return;
        }
        assert!(run.try_wait().expect("its state").is_none(), "it ended early");
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is measured after a minute");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn trials_without_weights_need_no_cgroups() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let before = schedulers(&loops);
    // Mounts are shared, as systemd shares them.
    let modern = |arguments: &[&str]| {
        let asked = on_host(here, arguments);
        let script = "mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec \"$@\"";
        done(behind(script, &[], &asked).output().expect("unshare"))
    };
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let done = modern(&["--devices", &names, "--allow", &allow, "--out", "a"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert_eq!(outcomes(&here.join("a"))[0].status, Status::Ok, "{}{}", done.out, done.err);
    is_as_before(here, &loops, &before);
}

#[test]
fn what_others_unmount_during_a_trial_is_unmounted() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((mut loops, allow)) = loops(here, 3) else { return };
    let stick = loops.pop().expect("a disk");
    long_suite(here);
    fs::create_dir(here.join("stick")).expect("a folder");
    let made =
        Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&stick.path).status().expect("mkfs.ext4");
    assert!(made.success());
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = on_host(here, &["--devices", &names, "--allow", &allow, "--out", "a"]);
    // Mounts are shared, as systemd shares them. wipefs needs exclusive access to the device.
    let script = "stick=$1; shift
        mount --make-rshared / && mount $stick stick && echo mine > stick/file || exit 3
        \"$@\" & run=$!
        until grep -q 'begin measure' a/raw/*/marks.jsonl 2> /dev/null; do
            kill -0 $run 2> /dev/null || exit 4
            sleep 0.02
        done
        umount stick || exit 5
        wipefs --all --quiet $stick || exit 6
        kill -0 $run || exit 7
        wait $run";
    let done = done(behind(script, &[&stick.path], &asked).output().expect("unshare"));
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert_eq!(outcomes(&here.join("a"))[0].status, Status::Ok, "{}{}", done.out, done.err);
}

#[test]
fn a_disk_is_one_disklabs_at_a_time() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    long_suite(here);
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked =
        |out| ["--devices", &names, "--allow", &allow, "--set", "scheduler=bfq", "--out", out];
    let mut first = begin(&mut on_host(here, &asked("a")));
    wait_for_the_trial(&mut first, &here.join("a"));
    // The second run keeps its journals elsewhere, so that it cannot see those of the first.
    let mut command = on_host(here, &[&asked("b")[..], &["--overwrite", &names]].concat());
    let second =
        done(command.env("DISKLAB_STATE", here.join("other-state")).output().expect("it starts"));
    assert!(second.status != Some(0) && !here.join("b").exists(), "{}{}", second.out, second.err);
    let mut calibrate = disklab(here);
    calibrate.args(["calibrate", loops[0].path.to_str().expect("a name"), "--time", "10 s"]);
    let calibrate = done(calibrate.output().expect("it starts"));
    assert!(calibrate.err.contains("another disklab uses this disk now"), "{}", calibrate.err);
    let first = first.wait_with_output().expect("its end");
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    is_as_before(here, &loops, &before);
}

#[test]
fn two_on_one_filesystem_are_not_at_once() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    long_suite(here);
    let before = schedulers(&loops);
    let pool = here.join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    let at = pool.display().to_string();
    let mut first =
        begin(&mut on_host(here, &["--at", &at, "--set", "scheduler=bfq", "--out", "a"]));
    wait_for_the_trial(&mut first, &here.join("a"));
    let second = run(here, &["--at", &at, "--set", "scheduler=kyber", "--out", "b"]);
    assert!(
        second.err.contains("another disklab uses this disk now"),
        "{}{}",
        second.out,
        second.err
    );
    assert!(second.status == Some(5) && !here.join("b").exists(), "{:?}", second.status);
    let first = first.wait_with_output().expect("its end");
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    assert_eq!(schedulers(&loops), before);
}

#[test]
fn what_others_set_meanwhile_fails_the_trial_and_stays() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    long_suite(here);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = ["--devices", &names, "--allow", &allow, "--set", "scheduler=bfq", "--out", "a"];
    let mut run = begin(&mut on_host(here, &asked));
    wait_for_the_trial(&mut run, &here.join("a"));
    let file = Path::new("/sys/block").join(loops[1].name()).join("queue/scheduler");
    fs::write(&file, "kyber").expect("sysfs");
    let ended = run.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let outcome = outcomes(&here.join("a")).remove(0);
    assert_eq!(outcome.status, Status::Failed, "{said}");
    let reason = outcome.reason.unwrap_or_default();
    assert!(
        reason.contains("\"bfq\"") && reason.contains("another program changed it"),
        "{reason}"
    );
    assert!(loops[1].queue("scheduler").contains("[kyber]"), "{}", loops[1].queue("scheduler"));
    assert!(!loops[0].queue("scheduler").contains("[bfq]"), "{}", loops[0].queue("scheduler"));
    assert_eq!(journals(here), 0);
}

/// Returns the bytes that a trial's own processes read while measured, by the kernel's count and by
/// fio's.
fn own_read(record: &Path, outcome: &Outcome) -> (u64, u64) {
    let raw = record.join(outcome.raw.as_ref().expect("raw output"));
    let marks = fs::read_to_string(raw.join("marks.jsonl")).expect("marks");
    let marks: Vec<serde_json::Value> =
        marks.lines().map(|line| serde_json::from_str(line).expect("a mark")).collect();
    let at = |text: &str| {
        let mark = marks.iter().rfind(|mark| {
            mark["text"].as_str().is_some_and(|mark_text| mark_text.starts_with(text))
        });
        mark.expect(text)["own_read"].as_u64().expect("the kernel counts")
    };
    let sample = outcome.sample.as_ref().expect("a result");
    (at("end") - at("begun"), sample.bw_bytes)
}

#[test]
fn others_that_read_are_seen_and_told_in_the_end() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    suite(here);
    let file = here.join("mine.toml");
    let text = fs::read_to_string(&file).expect("the suite").replace("300ms", "1 s");
    fs::write(file, text).expect("a file");
    let pool = here.join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    let theirs = pool.join("theirs");
    fs::write(&theirs, vec![7; 192 << 20]).expect("a file");
    fs::File::open(&theirs).and_then(|file| file.sync_all()).expect("it is on the disk");
    let at = pool.display().to_string();
    let quiet = run(here, &["--at", &at, "--out", "quiet"]);
    let is_told = |remark: &Remark| matches!(remark, Remark::OthersRead { .. });
    let outcome = outcomes(&here.join("quiet")).remove(0);
    assert!(!outcome.remarks.iter().any(is_told), "{:?}{}", outcome.remarks, quiet.err);
    assert!(!quiet.out.contains("In doubt"), "{}", quiet.out);
    let (own, fio) = own_read(&here.join("quiet"), &outcome);
    // The kernel's count includes fio's own files and metadata, and no byte twice.
    assert!(fio - fio / 20 <= own && own < fio + fio / 10 + (8 << 20), "{own} for {fio} of fio");
    let stop = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let from = format!("if={}", theirs.display());
                let mut read = Command::new("dd");
                read.args([&from, "of=/dev/null", "bs=1M", "iflag=direct"]).stderr(Stdio::null());
                assert!(read.status().expect("dd").success());
            }
        });
        let done = run(here, &["--at", &at, "--out", "a"]);
        stop.store(true, Ordering::Relaxed);
        done
    });
    let outcome = outcomes(&here.join("a")).remove(0);
    assert!(outcome.remarks.iter().any(is_told), "{:?}{}", outcome.remarks, done.err);
    assert!(!outcome.is_sound());
    let told = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("In doubt, and in no verdict:") && told.contains("others used them"),
        "{told}"
    );
}

#[test]
fn a_record_on_the_measured_filesystem_is_told() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    suite(here);
    let pool = here.join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    let at = pool.display().to_string();
    let told = |out: &Path| {
        let done = run(here, &["--at", &at, "--out", &out.display().to_string()]);
        assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
        done.err.contains("the record is on the measured filesystem")
    };
    assert!(told(&pool.join("record")) && !told(&here.join("record")));
}

#[test]
fn root_runs_no_programs_from_the_users_own_path() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    suite(here);
    let pool = here.join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    let own = here.join("own");
    fs::create_dir(&own).expect("a folder");
    for name in
        ["smartctl", "findmnt", "ldd", "fio", "blkid", "wipefs", "mkfs.ext4", "udevadm", "mount"]
    {
        let program = own.join(name);
        fs::write(&program, format!("#!/bin/sh\necho {name} >> {}\n", here.join("ran").display()))
            .expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("chmod");
    }
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = on_host(here, &["--at", pool.to_str().expect("a path"), "--out", "a"]);
    let done = done(command.env("PATH", path).output().expect("it starts"));
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert_eq!(fs::read_to_string(here.join("ran")).unwrap_or_default(), "");
}

/// A user namespace takes the place of the machine: root's processes there may make no namespaces.
#[test]
fn users_that_may_have_no_namespaces_are_told_before_anything_is_begun() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    suite(here);
    let pool = here.join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    for folder in [here, &pool] {
        std::os::unix::fs::chown(folder, Some(65534), Some(65534)).expect("chown");
    }
    let asked = on_host(here, &["--at", pool.to_str().expect("a path"), "--out", "a"]);
    let inside = "echo 0 > /proc/sys/user/max_user_namespaces && \
                  exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";
    // Processes that start before the map is written have no rights; those that they start later
    // have.
    let script = format!(
        "until grep -q 65536 /proc/self/uid_map; do sleep 0.02; done; \
         exec sh -c '{inside}' sh \"$@\""
    );
    let mut unshare = Command::new("unshare");
    unshare
        .args(["--user", "sh", "-c", &script, "sh"])
        .arg(asked.get_program())
        .args(asked.get_args());
    unshare
        .envs(asked.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(here);
    let child = begin(&mut unshare);
    let process = Path::new("/proc").join(child.id().to_string());
    let own = fs::read_link("/proc/self/ns/user").expect("/proc");
    while fs::read_link(process.join("ns/user")).expect("/proc") == own {
        sleep(Duration::from_millis(5));
    }
    for map in ["gid_map", "uid_map"] {
        fs::write(process.join(map), "0 0 65536").expect("a map");
    }
    let ended = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(5), "{said}");
    assert!(
        said.contains("does not let users create namespaces") && said.contains("sysctl -w"),
        "{said}"
    );
    assert!(!here.join("a").exists() && journals(here) == 0);
}

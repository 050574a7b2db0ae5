//! Tests `run --on host` under disturbances: disks that vanish or are full, users without
//! permission, links in place of folders, Ctrl-C at any moment. The run must report what it could
//! not do, and leave nothing behind. The tests need root, and use loop devices.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use disklab_record::Status;
use disklab_record::outcome::Fault;
use disklab_testkit::skipped_without_root;
use rustix::process::{Pid, Signal, kill_process};

use crate::loops::{LoopDisk, loops};
use crate::on_host::{
    behind, devices, is_as_before, journals, made_and_mounted, on_host, outcomes, run, schedulers,
    suite,
};
use crate::{Done, disklab, done};

pub fn clean(here: &Path) -> Done {
    let mut command = disklab(here);
    done(command.env("DISKLAB_STATE", here.join("state")).arg("clean").output().expect("it starts"))
}

/// Starts a run with a rest before each trial, in which the test interferes.
pub fn start(here: &Path, arguments: &[&str]) -> Child {
    let mut command = on_host(here, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

pub fn wait_until(run: &mut Child, what: &str, is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(run.try_wait().expect("its state").is_none(), "it ended before {what}");
        assert!(begun.elapsed() < Duration::from_secs(60), "no {what} in a minute");
        sleep(Duration::from_millis(2));
    }
}

pub fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

pub fn seeds(here: &Path, seeds: u32, more: &str) {
    let text = fs::read_to_string(here.join("mine.toml")).expect("a suite");
    let text = text
        .replace("seeds = 1", &format!("seeds = {seeds}"))
        .replace("[axes]", &format!("{more}[axes]"));
    fs::write(here.join("mine.toml"), text).expect("a file");
}

/// Starts a run that rests long before its second trial, and waits for the first.
pub fn resting(here: &Path, arguments: &[&str]) -> Child {
    let mut command = disklab(here);
    command.env("DISKLAB_STATE", here.join("state")).args([
        "run",
        "mine.toml",
        "--on",
        "host",
        "--rest",
        "3 s",
        "--warm-up",
        "0 s",
        "--no-pairs",
    ]);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

#[test]
fn without_its_tools_a_run_says_which_is_missing_and_makes_nothing() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let none = here.join("none");
    fs::write(&none, "").expect("a file");
    for (number, missing) in ["fio", "mkfs.btrfs", "blkid", "wipefs"].into_iter().enumerate() {
        // Where the run looks for its programs, a file that is not a program is in their place.
        let hide = "for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin; do \
                    if test -e $folder/$2; then mount --bind $1 $folder/$2; fi; done; \
                    shift 2; exec \"$@\"";
        for more in [&["--dry-run"][..], &["--out", &format!("a{number}")]] {
            let asked = on_host(here, &[&["--devices", &names, "--allow", &allow], more].concat());
            let done =
                done(behind(hide, &[&none, Path::new(missing)], &asked).output().expect("unshare"));
            assert!(
                done.status.is_some_and(|code| code != 0),
                "{missing}: {}{}",
                done.out,
                done.err
            );
            assert!(
                format!("{}{}", done.out, done.err).contains(missing),
                "{missing}: {}{}",
                done.out,
                done.err
            );
            is_as_before(here, &loops, &before);
        }
    }
}

#[test]
fn a_disk_that_is_full_below_fails_and_is_unmade() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let small = here.join("small");
    fs::create_dir(&small).expect("a folder");
    let Some(_) = loops(here, 0) else { return };
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=48m,mode=700", "tmpfs"])
        .arg(&small)
        .status();
    assert!(mounted.expect("mount").success());
    {
        let Some((loops, allow)) = loops(&small, 1) else { return };
        suite(here);
        let before = schedulers(&loops);
        let (names, allow) = (devices(&loops), allow.display().to_string());
        let done = run(
            here,
            &["--devices", &names, "--allow", &allow, "--array", "constant-ext4", "--out", "a"],
        );
        assert_eq!(done.status, Some(1), "{}{}", done.out, done.err);
        let outcome = outcomes(&here.join("a")).remove(0);
        assert_eq!(outcome.status, Status::Failed);
        assert!(
            outcome.reason.as_ref().is_some_and(|why| why.contains("/mnt/pool/test")),
            "{:?}",
            outcome.reason
        );
        is_as_before(here, &loops, &before);
    }
    let _ = Command::new("umount").arg(&small).status();
}

#[test]
fn a_trial_whose_first_process_is_killed_is_run_again() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let text = fs::read_to_string(here.join("mine.toml")).expect("a suite");
    fs::write(here.join("mine.toml"), text.replace("300ms", "4s")).expect("a file");
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let mut run = start(here, &["--devices", &names, "--allow", &allow, "--out", "a"]);
    let raw = here.join("a/raw");
    let measures = || {
        let parts = fs::read_dir(&raw).into_iter().flatten().flatten();
        parts.into_iter().any(|part| lines(&part.path().join("marks.jsonl")) > 0)
    };
    wait_until(&mut run, "a load", measures);
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    for child in fs::read_to_string(children).expect("its children").split_whitespace() {
        let child = Pid::from_raw(child.parse().expect("a number")).expect("a process");
        kill_process(child, Signal::KILL).expect("a process of ours");
    }
    let end = run.wait_with_output().expect("its end");
    assert_eq!(end.status.code(), Some(1), "{}", String::from_utf8_lossy(&end.stderr));
    is_as_before(here, &loops, &before);
    let outcome = outcomes(&here.join("a")).remove(0);
    assert_eq!((outcome.status, outcome.fault), (Status::Failed, Some(Fault::Machine)));
    let mut resume = disklab(here);
    resume.env("DISKLAB_STATE", here.join("state"));
    let resumed =
        done(resume.args(["run", "--resume", "a", "--allow", &allow]).output().expect("it starts"));
    assert_eq!(resumed.status, Some(0), "{}", resumed.err);
}

#[test]
fn a_record_without_room_ends_the_run_and_no_trial_fails() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let small = here.join("small");
    fs::create_dir(&small).expect("a folder");
    let out = small.join("a");
    let out = out.display().to_string();
    let command = on_host(here, &["--devices", &names, "--allow", &allow, "--out", &out]);
    // The filesystem is filled once the load runs.
    let script = "mount -t tmpfs -o size=4m none $1; small=$1; shift; \"$@\" & \
                  until ls $small/a/raw/.*/marks.jsonl; do sleep 0.02; done 2>/dev/null >&2; \
                  dd if=/dev/zero of=$small/fill bs=4k 2>/dev/null; wait $!; status=$?; \
                  cp $small/a/trials.jsonl .; exit $status";
    let ended = done(behind(script, &[&small], &command).output().expect("it starts"));
    assert_eq!(ended.status, Some(5), "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("No space left on device"), "{}", ended.err);
    is_as_before(here, &loops, &before);
    let lines = fs::read_to_string(here.join("trials.jsonl")).unwrap_or_default();
    assert!(!lines.contains("failed"), "{lines}");
}

#[test]
fn who_may_not_write_a_disk_is_told_so() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let nobody = Some(65534);
    for path in [here, allow.as_path()] {
        std::os::unix::fs::chown(path, nobody, nobody).expect("chown");
    }
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let mut command = on_host(here, &["--devices", &names, "--allow", &allow]);
    let done = done(command.uid(65534).gid(65534).output().expect("it starts"));
    assert_eq!(done.status, Some(2), "{}{}", done.out, done.err);
    assert!(done.err.contains("no permission"), "{}", done.err);
    assert!(loops.iter().all(LoopDisk::is_blank) && journals(here) == 0);
}

#[test]
fn trials_whose_programs_are_missing_are_left_out() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let home = crate::starting::home(here);
    let beside = "summary = \"nobody has it\"\n\
                  lead = { rotational = \"0s\", solid_state = \"0s\" }\n\
                  [[process]]\ncommand = [\"disklab-no-such-program\"]\n";
    fs::write(home.join("lab/backgrounds/missing.toml"), beside).expect("a file");
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked =
        ["--devices", &names, "--allow", &allow, "--set", "background=none,missing", "--out", "a"];
    let done = done(on_host(here, &asked).env("DISKLAB_HOME", &home).output().expect("it starts"));
    let outcomes = outcomes(&here.join("a"));
    let count = |status| outcomes.iter().filter(|outcome| outcome.status == status).count();
    assert_eq!((count(Status::Ok), count(Status::Skipped)), (1, 1), "{}{}", done.out, done.err);
    let why = outcomes.iter().find_map(|outcome| outcome.reason.clone()).expect("a reason");
    assert!(why.contains("not installed here: disklab-no-such-program"), "{why}");
    assert!(
        done.out.contains("to run skipped trials again") && !done.out.contains("failed trials"),
        "{}",
        done.out
    );
}

#[test]
fn a_link_in_the_place_of_our_folder_is_not_followed() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    suite(here);
    seeds(here, 2, "");
    let pool = here.join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    let precious = pool.join("precious");
    fs::create_dir(&precious).expect("a folder");
    fs::write(precious.join("test"), "mine").expect("a file");
    // The path itself may contain a link.
    let link = here.join("link");
    symlink(&pool, &link).expect("a link");
    let mut run = resting(here, &["--at", &link.display().to_string(), "--out", "a"]);
    let log = here.join("a/trials.jsonl");
    wait_until(&mut run, "a trial", || lines(&log) == 1);
    let mut ours = fs::read_dir(&pool).expect("it").flatten().map(|entry| entry.path());
    let ours = ours.find(|path| path.to_string_lossy().contains("disklab-")).expect("our folder");
    fs::remove_dir_all(&ours).expect("its owner may");
    symlink(&precious, &ours).expect("a link");
    let end = run.wait_with_output().expect("its end");
    assert_eq!(end.status.code(), Some(1), "{}", String::from_utf8_lossy(&end.stderr));
    let why: Vec<String> =
        outcomes(&here.join("a")).into_iter().filter_map(|outcome| outcome.reason).collect();
    assert!(why.iter().any(|reason| reason.contains("no longer the folder")), "{why:?}");
    assert_eq!(fs::read_to_string(precious.join("test")).expect("it"), "mine");
    assert_eq!(journals(here), 0, "the link is removed, and what it led to is not");
    assert!(fs::symlink_metadata(&ours).is_err());
}

#[test]
fn interrupted_at_any_moment_it_gives_everything_back() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    // Moments within a run of about a second, spread by the golden section.
    for number in 1..=8_u32 {
        let moment = Duration::from_secs_f64(f64::from(number) * 0.618_034 % 1.0 * 1.5);
        let out = format!("a{number}");
        let run = start(
            here,
            &["--devices", &names, "--allow", &allow, "--set", "scheduler=bfq", "--out", &out],
        );
        sleep(moment);
        // The run may have ended.
        let _ = kill_process(Pid::from_child(&run), Signal::INT);
        let end = run.wait_with_output().expect("its end");
        let said = String::from_utf8_lossy(&end.stderr);
        // A run that does not handle the signal yet ends at once.
        assert!(
            matches!(end.status.code(), Some(0 | 130) | None),
            "after {moment:?}: {:?} {said}",
            end.status
        );
        is_as_before(here, &loops, &before);
    }
}

#[test]
fn two_seeds_of_a_load_that_writes_on_raid10_beside_defragmentation() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 4) else { return };
    suite(here);
    seeds(here, 2, "");
    let home = crate::starting::home(here);
    let lab = home.join("lab");
    let text = fs::read_to_string(lab.join("workloads/smoke-randread.toml")).expect("a workload");
    fs::write(lab.join("workloads/smoke-randread.toml"), text.replace("randread", "randrw"))
        .expect("a file");
    // Smaller trees take less time to make.
    let text = fs::read_to_string(lab.join("backgrounds/defrag.toml")).expect("a background");
    let text = text
        .replace("\"5s\"", "\"75ms\"")
        .replace("files = 16", "files = 8")
        .replace("4 KiB", "16 KiB");
    fs::write(lab.join("backgrounds/defrag.toml"), text).expect("a file");
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let asked = [
        "--devices",
        &names,
        "--allow",
        &allow,
        "--array",
        "ssd-raid10",
        "--set",
        "background=defrag",
    ];
    let asked = [&asked[..], &["--out", "a"]].concat();
    let done = done(on_host(here, &asked).env("DISKLAB_HOME", &home).output().expect("it starts"));
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    is_as_before(here, &loops, &before);
    let outcomes = outcomes(&here.join("a"));
    assert_eq!(outcomes.iter().filter(|outcome| outcome.status == Status::Ok).count(), 2);
    let writes = outcomes
        .iter()
        .filter_map(|outcome| outcome.sample.as_ref())
        .flat_map(|sample| &sample.devices);
    assert!(
        writes.clone().count() == 8 && writes.clone().all(|device| device.writes > 0),
        "each disk is written"
    );
}

/// A device on which nothing was written answers from its map.
#[test]
fn flash_that_was_never_written_is_not_measured() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 1) else { return };
    suite(here);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let rotational = Path::new("/sys/block").join(loops[0].name()).join("queue/rotational");
    // A loop device takes the value from the disk below its file.
    let was = loops[0].queue("rotational");
    fs::write(&rotational, "0").expect("sysfs");
    let asked =
        ["--devices", &names, "--allow", &allow, "--array", "single-constant", "--out", "a"];
    let done = run(here, &asked);
    let outcome = outcomes(&here.join("a")).remove(0);
    assert_eq!(outcome.status, Status::Skipped, "{}{}", done.out, done.err);
    assert!(outcome.reason.is_some_and(|why| why.contains("nothing was written")));
    // A disk that rotates has to move its heads for any request.
    fs::write(&rotational, "1").expect("sysfs");
    let done = run(here, &[&asked[..6], &["--out", "b"]].concat());
    assert_eq!(outcomes(&here.join("b"))[0].status, Status::Ok, "{}{}", done.out, done.err);
    fs::write(&rotational, was).expect("sysfs");
}

/// The scheduler belongs to the whole disk.
#[test]
fn a_partition_has_the_scheduler_of_its_disk() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    suite(here);
    let table = "label: gpt\nsize=400MiB\n";
    let mut sfdisk =
        match Command::new("sfdisk").arg("-q").arg(&loops[0].path).stdin(Stdio::piped()).spawn() {
            Ok(sfdisk) => sfdisk,
            Err(why) => return skipped_without_root(format!("sfdisk: {why}")),
        };
    std::io::Write::write_all(&mut sfdisk.stdin.take().expect("its input"), table.as_bytes())
        .expect("a pipe");
    assert!(sfdisk.wait().expect("its end").success());
    let _ = Command::new("partx").args(["--update"]).arg(&loops[0].path).status();
    let part = format!("{}p1", loops[0].path.display());
    if !Path::new(&part).exists() {
        return skipped_without_root(format!("{part} does not appear"));
    }
    let allow = here.join("devices.toml");
    let disk = disklab_block_devices::Disk::find(Path::new(&part)).expect("it was just made");
    fs::write(&allow, disklab_block_devices::allow::lines(&disk)).expect("a file");
    let before = loops[0].queue("scheduler");
    let asked =
        ["--devices", &part, "--allow", &allow.display().to_string(), "--array", "constant-ext4"];
    let done = run(here, &[&asked[..], &["--set", "scheduler=bfq", "--out", "a"]].concat());
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let raw =
        fs::read_dir(here.join("a/raw")).expect("raw").next().expect("a trial").expect("a folder");
    let steps = fs::read_to_string(raw.path().join("guest.jsonl")).expect("steps");
    assert!(steps.contains(&format!("/sys/block/{}/queue/scheduler", loops[0].name())), "{steps}");
    assert_eq!(loops[0].queue("scheduler"), before);
    let _ = Command::new("partx").args(["--delete"]).arg(&loops[0].path).status();
    drop(OpenOptions::new().read(true).open(&loops[0].path));
}

//! Tests `run --on host` on disks that vanish, fail, or are held or written by others meanwhile, on
//! loop devices, as root.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use disklab_results::Remark;
use disklab_results::remark::Others;

use crate::loops::{LoopDisk, loops};
use crate::on_host::{devices, is_as_before, journals, outcomes, schedulers, suite};
use crate::on_host_harmed::{clean, lines, resting, seeds, start, wait_until};
use crate::{disklab, done};

/// Returns true while a load is measured.
fn is_measuring(here: &Path) -> bool {
    let trial = fs::read_dir(here.join("a/raw")).into_iter().flatten().flatten().next();
    trial.is_some_and(|trial| {
        fs::read_to_string(trial.path().join("marks.jsonl"))
            .is_ok_and(|marks| marks.contains("measure"))
    })
}

/// Declares the device to be rotating, so that it is measured bare. Returns the old value.
fn turning(device: &LoopDisk) -> String {
    let was = device.queue("rotational");
    spin(device, "1");
    was
}

fn spin(device: &LoopDisk, value: &str) {
    let rotational = Path::new("/sys/block").join(device.name()).join("queue/rotational");
    fs::write(&rotational, value).expect("sysfs");
}

#[test]
fn a_disk_that_goes_between_trials_is_not_written_and_not_forgotten() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    seeds(here, 3, "");
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let mut run = resting(here, &["--devices", &names, "--allow", &allow, "--out", "a"]);
    // Before the second trial, the run finds its disks, and then rests without holding them.
    // Meanwhile, another disk takes the name of one of them.
    wait_until(&mut run, "the second trial", || {
        fs::read_dir(here.join("a/raw")).is_ok_and(|trials| trials.count() == 2)
    });
    let other = here.join("other.img");
    fs::File::create(&other).and_then(|file| file.set_len(512 << 20)).expect("a file");
    let losetup = |arguments: &[&str], file: &Path| {
        let done = Command::new("losetup").args(arguments).arg(&loops[1].path).arg(file).status();
        assert!(done.expect("losetup").success());
    };
    assert!(
        Command::new("losetup")
            .arg("--detach")
            .arg(&loops[1].path)
            .status()
            .expect("losetup")
            .success()
    );
    losetup(&[], &other);
    let end = run.wait_with_output().expect("its end");
    assert_ne!(end.status.code(), Some(0));
    let said = String::from_utf8_lossy(&end.stderr);
    assert!(said.contains("the remaining trials can run when that disk is back"), "{said}");
    let ended = outcomes(&here.join("a"));
    assert_eq!(ended.len(), 2, "the third is not tried");
    let reasons: Vec<String> = ended.into_iter().filter_map(|outcome| outcome.reason).collect();
    assert!(reasons.iter().any(|reason| reason.contains("no longer the disk")), "{reasons:?}");
    assert!(loops[1].is_blank(), "the other disk was written");
    // The changes on the vanished disk are still noted, and reported.
    assert_eq!(journals(here), 1);
    let said = clean(here);
    assert!(said.out.contains("plug it in"), "{}{}", said.out, said.err);
    assert_eq!((said.status, journals(here)), (Some(5), 1));
    assert!(
        Command::new("losetup")
            .arg("--detach")
            .arg(&loops[1].path)
            .status()
            .expect("losetup")
            .success()
    );
    losetup(&[], &here.join("1.img"));
    assert!(!loops[1].is_blank(), "it came back as it was");
    let said = clean(here);
    assert_eq!(said.status, Some(0), "{}{}", said.out, said.err);
    is_as_before(here, &loops, &before);
}

/// The disk is named by a link, as udev makes them, and the link vanishes with the disk.
#[test]
fn a_disk_whose_name_goes_ends_the_run_and_is_given_back() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    seeds(here, 3, "");
    let before = schedulers(&loops);
    let link = here.join("by-id");
    symlink(&loops[1].path, &link).expect("a link");
    let names = format!("{},{}", loops[0].path.display(), link.display());
    let asked = ["--devices", &names, "--allow", &allow.display().to_string(), "--out", "a"];
    let mut run = resting(here, &asked);
    wait_until(&mut run, "a trial", || lines(&here.join("a/trials.jsonl")) == 1);
    fs::remove_file(&link).expect("a link");
    let end = run.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&end.stderr);
    assert!(
        end.status.code() != Some(0) && said.contains("the disk existed when the run began"),
        "{said}"
    );
    assert!(outcomes(&here.join("a")).len() < 3, "the others can follow");
    is_as_before(here, &loops, &before);
}

/// A disk that cannot be read does not count as empty: neither for the run nor for `clean`.
#[test]
fn a_disk_that_fails_while_it_is_measured_is_not_forgotten() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let text = fs::read_to_string(here.join("mine.toml")).expect("a suite");
    fs::write(here.join("mine.toml"), text.replace("300ms", "3s")).expect("a file");
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let mut run = start(here, &["--devices", &names, "--allow", &allow, "--out", "a"]);
    wait_until(&mut run, "a measurement", || is_measuring(here));
    let image = here.join("1.img");
    let copy = here.join("kept.img");
    assert!(
        Command::new("cp")
            .args(["--sparse=always"])
            .args([&image, &copy])
            .status()
            .expect("cp")
            .success()
    );
    fs::File::options().write(true).open(&image).and_then(|file| file.set_len(0)).expect("cut");
    let end = run.wait_with_output().expect("its end");
    assert_ne!(end.status.code(), Some(0));
    assert_eq!(journals(here), 1, "{}", String::from_utf8_lossy(&end.stderr));
    let said = clean(here);
    assert_eq!((said.status, journals(here)), (Some(5), 1), "{}{}", said.out, said.err);
    assert!(said.out.contains("cannot be read"), "{}{}", said.out, said.err);
    // The disk comes back, as a disk on a loose cable does.
    let back = fs::read(&copy).expect("the copy");
    fs::write(&image, back).expect("written");
    let _ = Command::new("blockdev").arg("--flushbufs").arg(&loops[1].path).status();
    assert!(!loops[1].is_blank(), "what was made is still on it");
    let said = clean(here);
    assert_eq!(said.status, Some(0), "{}{}", said.out, said.err);
    is_as_before(here, &loops, &before);
}

/// Opens the device exclusively, or returns the kernel's error.
fn alone(device: &LoopDisk) -> std::io::Result<fs::File> {
    let exclusive = rustix::fs::OFlags::EXCL.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(exclusive).open(&device.path)
}

/// A filesystem whose namespace has just ended is written out first. By then, another program's
/// mark may be beside disklab's.
#[test]
fn a_disk_that_is_still_in_use_is_waited_for() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let before = schedulers(&loops);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let mut run = resting(here, &["--devices", &names, "--allow", &allow, "--out", "a"]);
    // The disks are prepared and released: the trial has a folder, and the run rests before it.
    wait_until(&mut run, "a rest", || {
        fs::read_dir(here.join("a/raw")).is_ok_and(|all| all.count() == 1)
    });
    run.kill().expect("it runs");
    run.wait().expect("its end");
    let disk = OpenOptions::new().write(true).open(&loops[1].path).expect("it is there");
    disk.write_all_at(b"SWAPSPACE2", 4086).expect("written");
    drop(disk);
    let held = alone(&loops[0]).expect("it is let go");
    let mut clean = disklab(here);
    clean
        .env("DISKLAB_STATE", here.join("state"))
        .arg("clean")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let clean = clean.spawn().expect("it starts");
    sleep(Duration::from_millis(3500));
    drop(held);
    let end = done(clean.wait_with_output().expect("its end"));
    assert_eq!(end.status, Some(0), "{}{}", end.out, end.err);
    assert!(
        end.err.contains("waiting: ") && end.err.contains("still in use"),
        "{}{}",
        end.out,
        end.err
    );
    is_as_before(here, &loops, &before);
}

#[test]
fn a_bare_disk_is_kept_while_it_is_measured() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 1) else { return };
    suite(here);
    let was = turning(&loops[0]);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    let mut run = start(
        here,
        &["--devices", &names, "--allow", &allow, "--array", "single-constant", "--out", "a"],
    );
    wait_until(&mut run, "a measurement", || is_measuring(here));
    let busy = alone(&loops[0]).map(drop).map_err(|error| error.kind());
    let end = run.wait_with_output().expect("its end");
    spin(&loops[0], &was);
    assert_eq!(end.status.code(), Some(0), "{}", String::from_utf8_lossy(&end.stderr));
    assert_eq!(busy, Err(std::io::ErrorKind::ResourceBusy));
    drop(alone(&loops[0]).expect("it is let go in the end"));
}

/// The trial's own filesystem writes a little now and then, which must not count as use by others.
#[test]
fn others_that_write_a_disk_while_it_is_read_are_seen() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 1) else { return };
    suite(here);
    let was = turning(&loops[0]);
    let (names, allow) = (devices(&loops), allow.display().to_string());
    for (record, array, writes) in [("a", "single-constant", true), ("b", "constant-ext4", false)] {
        let mut run = start(
            here,
            &["--devices", &names, "--allow", &allow, "--array", array, "--out", record],
        );
        if writes {
            wait_until(&mut run, "a measurement", || is_measuring(here));
            let direct = rustix::fs::OFlags::DSYNC.bits().cast_signed();
            let disk = OpenOptions::new()
                .write(true)
                .custom_flags(direct)
                .open(&loops[0].path)
                .expect("it");
            while run.try_wait().expect("its state").is_none() {
                disk.write_all_at(&[1; 4096], 400 << 20).expect("written");
            }
        }
        let end = run.wait_with_output().expect("its end");
        assert_eq!(end.status.code(), Some(0), "{}", String::from_utf8_lossy(&end.stderr));
        let outcome = outcomes(&here.join(record)).remove(0);
        let wrote =
            |remark: &Remark| matches!(remark, Remark::Disturbed { others: Others::Wrote, .. });
        assert_eq!(outcome.remarks.iter().any(wrote), writes, "{:?}", outcome.remarks);
    }
    spin(&loops[0], &was);
}

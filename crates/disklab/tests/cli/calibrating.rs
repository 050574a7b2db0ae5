//! Tests `disklab calibrate` on files, which it must not change, and on published results. Also
//! tests `disklab array new`.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::{Done, disklab, done, run};

/// Makes a folder that is not in /tmp. /tmp may be a tmpfs, which cannot be read past the page
/// cache.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Makes a sparse file of 1 GiB with these bytes at an offset.
fn disk(here: &Path, bytes: &[u8], at: u64) {
    let file = File::create(here.join("disk")).unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

/// Asserts that the file is unchanged since [`disk`] made it.
fn assert_untouched(here: &Path, bytes: &[u8], at: u64) {
    let held = fs::read(here.join("disk")).unwrap();
    let (before, rest) = held.split_at(at as usize);
    let (there, behind) = rest.split_at(bytes.len());
    assert!(
        there == bytes && before.iter().chain(behind).all(|&byte| byte == 0),
        "it was written to"
    );
}

#[test]
fn a_file_is_measured_and_left_alone() {
    let place = place();
    let here = place.path();
    disk(here, b"mine", 4096);
    let measure = || {
        let words =
            ["calibrate", "disk", "--name", "a \"hole\"", "-o", "hole.toml", "--time", "10s"];
        let done = run(here, &words);
        assert_untouched(here, b"mine", 4096);
        done
    };
    // The test measures the machine's own disk, and other programs use that disk too. In that case,
    // calibrate says so and writes no file.
    let busy = |done: &Done| done.err.contains("is another program using");
    let mut done = measure();
    for _ in 0..5 {
        if !busy(&done) {
            break;
        }
        assert!(done.status == Some(5) && !here.join("hole.toml").exists(), "{}", done.err);
        done = measure();
    }
    if busy(&done) {
        disklab_testkit::skipped(format!("the disk is too busy to be measured: {}", done.err));
        return;
    }
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{}", done.out);
    let text = fs::read_to_string(here.join("hole.toml")).unwrap();
    assert!(text.contains("# reads only") && text.contains("by `disklab calibrate disk"), "{text}");
    let device = disklab_calibrate::read_back("hole", &text)
        .unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
    assert!(device.bytes.0 == 1 << 30 && device.summary.starts_with("a \"hole\" ("), "{device:?}");
    // Numbers that cannot be measured are named, and an existing file is kept.
    assert!(
        done.out.contains("write_buffer was not measured: it was only read (--write)"),
        "{}",
        done.out
    );
    let again = run(here, &["calibrate", "disk", "-o", "hole.toml"]);
    assert_eq!(again.status, Some(2));
    assert!(
        again.err.contains("hole.toml exists already; name a new file with -o"),
        "{}",
        again.err
    );
    assert_eq!(fs::read_to_string(here.join("hole.toml")).unwrap(), text);
}

#[test]
fn what_is_not_named_twice_or_may_be_somebodys_is_not_written() {
    let place = place();
    let here = place.path();
    disk(here, b"\x53\xef", 0x438);
    fs::write(here.join("other"), "mine").unwrap();
    for (again, said) in [
        (
            "other",
            "disk is not written: --write names other, which is another disk; name the same one",
        ),
        (
            "./disk",
            "disk is not written: it holds an ext filesystem; if that is not needed, run \
             `wipefs --all disk`",
        ),
        ("none", "--write none: cannot be opened"),
    ] {
        let done = run(here, &["calibrate", "disk", "--write", again, "-o", "new.toml"]);
        assert_eq!(done.status, Some(2), "{}", done.err);
        assert!(done.err.contains(said), "{}", done.err);
    }
    assert_untouched(here, b"\x53\xef", 0x438);
    assert!(!here.join("new.toml").exists());
    assert_eq!(fs::read_to_string(here.join("other")).unwrap(), "mine");
}

#[test]
fn what_is_no_disk_is_refused() {
    let place = place();
    let here = place.path();
    fs::write(here.join("small"), vec![0; 8192]).unwrap();
    for (device, status, said) in [
        ("/dev/null", 5, "it is neither a block device nor a file; name a disk"),
        ("missing", 5, "missing: cannot open it: No such file"),
        ("small", 2, "small: it has 8 KiB, and measuring needs 1 GiB at least; name"),
    ] {
        let done = run(here, &["calibrate", device]);
        assert_eq!(done.status, Some(status), "{}", done.err);
        assert!(done.err.contains(said), "{}", done.err);
    }
}

/// Waits until the child handles interrupts, however slow the machine is.
fn wait_until_it_catches_interrupts(child: &std::process::Child) {
    let catches = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() >> (Signal::INT.as_raw() - 1) & 1 == 1
    };
    for _ in 0..6_000 {
        if catches() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never caught interrupts");
}

#[test]
fn an_interrupted_one_leaves_nothing() {
    let place = place();
    let here = place.path();
    disk(here, b"", 0);
    let mut command = disklab(here);
    command.args(["calibrate", "disk", "-o", "new.toml", "--time", "10min"]);
    let child = command
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until_it_catches_interrupts(&child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let done = done(child.wait_with_output().unwrap());
    assert_eq!(done.status, Some(130), "{}", done.err);
    assert!(done.err.contains("interrupted; no file was written"), "{}", done.err);
    assert_eq!(fs::read_dir(here).unwrap().count(), 1, "the disk alone");
}

/// Random reads of an ST2000DM006, from docs/VALIDATION.md of lumir-sliva/ublk-disksim.
const PUBLISHED: &str = "drive,rw,depth,iops,source\n\
    ST2000DM006,randread,1,57.6,ublk-disksim\n\
    ST2000DM006,randread,4,71.2,ublk-disksim\n\
    ST2000DM006,randread,8,78.6,ublk-disksim\n\
    ST2000DM006,randread,32,93.6,ublk-disksim\n";

/// Returns the file with each comment on one line.
fn with_whole_comments(file: &str) -> String {
    let mut whole = String::new();
    for line in file.lines() {
        match line.trim_start().strip_prefix("# ") {
            Some(rest) if !whole.is_empty() => whole.extend([" ", rest]),
            _ => whole.extend(["\n", line]),
        }
    }
    whole
}

#[test]
fn a_device_is_made_of_published_results() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    fs::write(here.join("published.csv"), PUBLISHED).unwrap();
    let arguments = ["calibrate", "--from-fio", "published.csv", "--like", "desktop-1tb"];
    let sheet = ["--sheet", "size=2 TB", "rpm=7200", "seek_average=8.5 ms", "cache=64 MiB"];
    let output = ["-o", "st2000.toml", "--json"];
    let made = run(here, &[&arguments[..], &sheet, &output].concat());
    assert_eq!((made.status, made.err.as_str()), (Some(0), ""), "{}", made.out);
    assert_eq!(crate::schemas::checked(here, &made), "calibrate");
    let document: serde_json::Value = serde_json::from_str(&made.out).unwrap();
    let number = |key: &str| {
        let numbers = document["numbers"].as_array().unwrap();
        numbers.iter().find(|number| number["key"] == key).unwrap().clone()
    };
    assert_eq!(number("cache")["how"], "of the data sheet");
    let seek = number("seek_average");
    assert!(seek["error"].as_f64().unwrap() < 0.5 && seek["seen"] == true, "{seek}");
    assert!(number("zones")["why"].as_str().unwrap().ends_with("as desktop-1tb"));
    // Four rates determine only two numbers. The other numbers are those of the class.
    let unknown = document["fit"]["not_determined"].as_array().unwrap();
    let unknown: Vec<&str> = unknown.iter().map(|number| number["key"].as_str().unwrap()).collect();
    assert!(unknown.contains(&"write_window") && unknown.len() > 3, "{unknown:?}");
    let crossed = &document["fit"]["cross_validation"];
    assert_eq!((&crossed[0]["fitted"][1], &crossed[1]["scored"][0]), (&32.into(), &1.into()));
    let file = fs::read_to_string(here.join("st2000.toml")).unwrap();
    assert!(file.lines().all(|line| line.chars().count() <= 100), "{file}");
    let file = with_whole_comments(&file);
    for said in [
        "cross-validated, randread: fitted to depths 1 and 32 and scored at depths 4 and 8: ",
        "not known: zones and rates",
        "not determined by the results, and not changed: write_settle: no random writes",
        "size = \"2000000000000 B\" # [sheet]",
        "[fit] ±",
        "; instead of the data sheet's 8.5 ms",
        "cache = \"64 MiB\"",
        "# [est] not determined: no random writes were measured; as desktop-1tb",
        // The file has ranges of fitted numbers, and of others.
        "\nseek_average = [\"",
        "\nqueue_error = [\"",
        "\nqueue_patience = [\"",
        "\nwrite_settle = [\"0.5 ms\", \"1.5 ms\"]",
        "\nwrite_window = [8, 32]",
    ] {
        assert!(file.contains(said), "{said}: {file}");
    }
    // The device gives the measured results.
    let scored = run(here, &["validate", "published.csv", "--device", "./st2000.toml"]);
    assert_eq!((scored.status, scored.err.as_str()), (Some(0), ""), "{}", scored.out);
}

/// The terminal, the document and the file name the files that were left out, and the numbers that
/// differ much.
#[test]
fn a_device_that_does_not_describe_its_drive_is_said_to() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    fs::create_dir(here.join("found")).unwrap();
    // The second of two depths does not fit. A fit of more depths takes longer and says the same.
    let two: Vec<&str> = PUBLISHED.split_inclusive('\n').take(3).collect();
    fs::write(here.join("found/points.csv"), two.concat().replace("71.2", "9.5")).unwrap();
    let whole = crate::validating::report(16, 1, 90.0);
    fs::write(here.join("found/cut.json"), &whole[..whole.len() / 2]).unwrap();
    let failed = whole.replace("\"error\":0", "\"error\":5");
    fs::write(here.join("found/failed.json"), failed).unwrap();
    let arguments = ["calibrate", "--from-fio", "found", "--like", "desktop-1tb", "-o"];
    let made = run(here, &[&arguments[..], &["bad.toml"]].concat());
    assert_eq!(made.status, Some(0), "{}", made.err);
    let file = fs::read_to_string(here.join("bad.toml")).unwrap().replace("\n# ", " ");
    for said in [
        "skipped: found/cut.json",
        "skipped: found/failed.json",
        "`error` is 5",
        "the device does not describe the drive: its IOPS are off by ",
    ] {
        assert!(made.err.contains(said), "{said}: {}", made.err);
        assert!(file.contains(said), "{said}: {file}");
    }
    assert!(made.out.contains("randread, 4 in flight: error of IOPS "), "{}", made.out);
    let made = run(here, &[&arguments[..], &["again.toml", "--json"]].concat());
    let document: serde_json::Value = serde_json::from_str(&made.out).unwrap();
    assert_eq!(document["fit"]["passed_over"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["fit"]["depths"][1]["missed"][1], "worst IOPS", "{document}");
}

#[test]
fn published_results_that_do_not_fit_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    let several = format!("{PUBLISHED}other,randread,1,100,me\n");
    fs::write(here.join("several.csv"), several).unwrap();
    fs::write(here.join("mixed.csv"), "drive,rw,depth,iops\nx,randrw,1,50\n").unwrap();
    for (arguments, said) in [
        (
            &["several.csv", "--like", "desktop-1tb"][..],
            "has several drives: ST2000DM006 and other",
        ),
        (&["several.csv"], "--like <DEVICE>"),
        (&["several.csv", "--like", "none", "--drive", "other"], "--like: unknown device `none`"),
        (&["several.csv", "--like", "constant-50us", "--drive", "other"], "neither a hard disk"),
        (&["several.csv", "--like", "desktop-1tb", "--drive", "o"], "unknown drive `o`"),
        (
            &["several.csv", "--like", "desktop-1tb", "--drive", "other", "--sheet", "rmp=7200"],
            "did you mean `rpm`?",
        ),
        (
            &["several.csv", "--like", "desktop-1tb", "--drive", "other", "--sheet", "rpm"],
            "--sheet rpm: write KEY=VALUE",
        ),
        (
            &[
                "several.csv",
                "--like",
                "desktop-1tb",
                "--drive",
                "other",
                "--sheet",
                "rpm=7200",
                "rpm=5400",
            ],
            "`rpm` is given twice",
        ),
        (&["mixed.csv", "--like", "desktop-1tb"], "nothing to fit: 1 points are not fitted"),
    ] {
        let done = run(here, &[&["calibrate", "--from-fio"], arguments].concat());
        assert_eq!(done.status, Some(2), "{}", done.err);
        assert!(done.err.contains(said), "{said}: {}", done.err);
    }
}

/// Messages name the typed option, or the file and the row, and the contradiction.
#[test]
fn results_and_options_that_contradict_each_other_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    let head = "drive,rw,depth,iops,p50_ms,p99_ms\n";
    for (name, row) in [
        ("hdd.csv", "F,randread,1,72,13.8,22"),
        ("ssd.csv", "F,randread,1,9000,0.1,0.2"),
        ("impossible.csv", "F,randread,1,72,20,5"),
        ("deep.csv", "F,randread,32,131,180,870"),
    ] {
        fs::write(here.join(name), format!("{head}{row}\n")).unwrap();
    }
    for (arguments, said) in [
        (
            &["--from-fio", "hdd.csv", "--like", "sata-ssd-1tb"][..],
            "--like: sata-ssd-1tb is an SSD, and the drive in hdd.csv is a hard disk: its lone \
             random reads take 13.8 ms, which is the time of a seek",
        ),
        (
            &["--from-fio", "ssd.csv", "--like", "desktop-1tb"],
            "--like: desktop-1tb is a hard disk, and the drive in ssd.csv is not a hard disk",
        ),
        (
            &["--from-fio", "hdd.csv", "--like", "desktop-1tb", "--sheet", "hdd.rpm=fast"],
            "error: --sheet hdd.rpm=fast: expected a whole number, found a string",
        ),
        (&["--like", "desktop-1tb"], "--like is for fitting a device to published results"),
        (&["disk", "--sheet", "rpm=7200"], "or leave --sheet out to measure a disk"),
        (
            &["--from-fio", "hdd.csv", "--like", "desktop-1tb", "--name", "a\nb"],
            "write a name of one line, without control characters",
        ),
        (
            &["--from-fio", "impossible.csv", "--like", "desktop-1tb"],
            "no results of F can be used for the fit: impossible.csv, line 2: its numbers cannot \
             be true together: p99 is 5 ms, below p50, which is 20 ms",
        ),
        (
            &["--from-fio", "deep.csv", "--like", "desktop-1tb"],
            "deep.csv: these results determine no number of the device",
        ),
    ] {
        let done = run(here, &[&["calibrate"], arguments].concat());
        assert_eq!(done.status, Some(2), "{}", done.err);
        assert!(done.err.contains(said), "{said}: {}", done.err);
        assert!(!done.err.contains("[hdd]"), "no file is shown: {}", done.err);
    }
}

/// Makes a command for a machine whose only tools are an lsblk and a btrfs with given output.
fn with_tools(here: &Path) -> std::process::Command {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/src/array/draft");
    for (tool, said) in [("lsblk", "lsblk.json"), ("btrfs", "btrfs.txt")] {
        let path = here.join(tool);
        fs::write(&path, format!("#!/bin/sh\nexec /bin/cat '{fixtures}/{said}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = disklab(here);
    command.env("PATH", here).args(["array", "new", "--from-machine"]);
    command
}

#[test]
fn an_array_is_drafted_from_what_the_machine_has() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    let drafted = done(with_tools(here).output().unwrap());
    assert_eq!((drafted.status, drafted.err.as_str()), (Some(0), ""));
    for said in [
        "# Drafted by `disklab array new --from-machine`: btrfs pool; disklab does not know \
         its profile",
        "# not asked: mdadm is not installed\n# not asked: zpool is not installed\n",
        "join = \"btrfs-raid1\"\ndevices = [\n    \"nas-12tb\", # /dev/sdc: ST12000VN0008",
    ] {
        assert!(drafted.out.contains(said), "{}", drafted.out);
    }
    let written = done(with_tools(here).args(["-o", "mine.toml"]).output().unwrap());
    assert_eq!((written.status, written.out.as_str()), (Some(0), ""), "{}", written.err);
    assert_eq!(fs::read_to_string(here.join("mine.toml")).unwrap(), drafted.out);
    let again = done(with_tools(here).args(["-o", "mine.toml"]).output().unwrap());
    assert_eq!(again.status, Some(2));
    assert!(
        again.err.contains("mine.toml exists already; name a new file with -o"),
        "{}",
        again.err
    );
    fs::remove_file(here.join("lsblk")).unwrap();
    let none = done(
        disklab(here).env("PATH", here).args(["array", "new", "--from-machine"]).output().unwrap(),
    );
    assert_eq!(none.status, Some(5));
    assert!(
        none.err.contains("cannot list disks: lsblk is not installed; install util-linux"),
        "{}",
        none.err
    );
}

//! Tests `run --on host --at`: settings that a filesystem in use cannot have are refused first, and
//! btrfs's counts of device errors are reported. The tests need root, and use loop devices.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use disklab_record::Status;
use disklab_results::Remark;

use crate::guests;
use crate::loops::loops;
use crate::on_host::{made_and_mounted, on_host, outcomes, run, suite};
use crate::{done, starting};

#[test]
fn what_is_for_disks_and_places_that_may_not_be_used_are_refused_at_once() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 1) else { return };
    suite(here);
    let pool = here.join("pool");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q", "-F"], &loops, &pool);
    let at = pool.display().to_string();
    let refused = |more: &[&str], words: &[&str]| {
        for dry in [&[][..], &["--dry-run"]] {
            let done = run(here, &[&["--at", &at], more, dry].concat());
            assert_eq!(done.status, Some(2), "{more:?}: {}{}", done.out, done.err);
            assert!(words.iter().all(|word| done.err.contains(word)), "{more:?}: {}", done.err);
            assert!(!here.join("records").exists() && !here.join("state").exists(), "{more:?}");
        }
    };
    refused(&["--allow", &allow.display().to_string()], &["--allow is for disks"]);
    refused(&["--overwrite", "/dev/null"], &["--overwrite is for disks"]);
    refused(&["--array", "hdd-raid1"], &["--array is for disks"]);
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&pool).status();
    assert!(remounted.expect("mount").success());
    refused(&[], &[&at, "Read-only", "disklab makes a folder in it"]);
}

/// Changes a byte in every second block of a file in a disk's image; the file is `byte` throughout.
/// Returns the number of changed blocks.
fn spoil(image: &Path, byte: u8, which: usize) -> usize {
    let file = fs::OpenOptions::new().read(true).write(true).open(image).expect("a disk's file");
    let contents = fs::read(image).expect("a disk's file");
    let blocks = contents
        .chunks_exact(4096)
        .enumerate()
        .filter(|(_, block)| block.iter().all(|known| *known == byte));
    let mut spoilt = 0;
    for (at, _) in blocks.filter(|(at, _)| at % 2 == which) {
        file.write_all_at(&[byte + 1; 4096], at as u64 * 4096).expect("a disk's file");
        spoilt += 1;
    }
    spoilt
}

#[test]
fn errors_that_btrfs_counts_are_told_by_device() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 2) else { return };
    suite(here);
    let pool = here.join("pool");
    let _mounted =
        made_and_mounted(&["mkfs.btrfs", "-q", "-d", "raid1", "-m", "raid1"], &loops, &pool);
    let file = pool.join("large");
    fs::write(&file, vec![7; 64 << 20]).expect("a file");
    fs::File::open(&file).and_then(|file| file.sync_all()).expect("it is on the disks");
    let at = file.display().to_string();
    let told = |record: &str| {
        let done = run(here, &["--at", &at, "--out", record]);
        let outcome = outcomes(&here.join(record)).remove(0);
        assert_eq!(outcome.status, Status::Ok, "{}{}", done.out, done.err);
        let errors = |remark: &Remark| match remark {
            Remark::DeviceErrors { device_id, what, errors } => {
                Some((*device_id, what.clone(), *errors))
            }
            _ => None,
        };
        outcome.remarks.iter().filter_map(errors).collect::<Vec<_>>()
    };
    // A dry run tries no policy, and reads which ones exist.
    let dry = |policy: &str| {
        run(here, &["--at", &at, "--set", &format!("policy={policy}"), "--dry-run"]).out
    };
    let lacks =
        |said: &str| said.lines().any(|line| line.contains("left out: the kernel that runs"));
    assert!(lacks(&dry("queue")) && !lacks(&dry("pid")), "{}", dry("queue"));
    assert_eq!(told("a"), []);
    // No block is bad on both disks.
    let spoilt = [0, 1].map(|disk| spoil(&here.join(format!("{disk}.img")), 7, disk));
    assert!(spoilt.iter().all(|blocks| *blocks > 1000), "{spoilt:?}");
    let errors = told("b");
    assert!(!errors.is_empty(), "no errors are told");
    for (device, what, count) in errors {
        assert!(
            matches!(device, 1 | 2) && what == "corruption_errs" && count > 0,
            "{device} {what} {count}"
        );
    }
}

#[test]
fn a_file_with_holes_is_refused_and_a_filesystem_in_use_is_predicted() {
    let Some(place) = guests::place() else { return };
    let here = place.path();
    let Some((loops, _)) = loops(here, 2) else { return };
    suite(here);
    let pool = here.join("pool");
    let _mounted =
        made_and_mounted(&["mkfs.btrfs", "-q", "-d", "raid1", "-m", "raid1"], &loops, &pool);
    let sparse = pool.join("sparse");
    let file = fs::File::create(&sparse).expect("a file");
    file.write_all_at(&vec![7; 1 << 20], 0)
        .and_then(|()| file.set_len(64 << 20))
        .expect("a file with a hole");
    let refused = run(here, &["--at", &sparse.display().to_string()]);
    assert_eq!(refused.status, Some(2), "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("from 1 MiB on, are read from no disk"), "{}", refused.err);
    let done = run(here, &["--at", &pool.display().to_string(), "--out", "a"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let asked = ["--json", "predict", "./a", "--devices", "constant-50us"];
    let refused = crate::run(here, &asked);
    assert_eq!(refused.status, Some(2), "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("--array NAME"), "{}", refused.err);
    let done = crate::run(here, &[&asked[..], &["--array", "constant-raid1"]].concat());
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let told: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let iops = told["cells"].as_array().into_iter().flatten().find(|row| row["metric"] == "IOPS");
    // The model's disks serve four requests at a time, each in 50 us.
    let predicted = iops.and_then(|row| row["predicted"].as_f64()).expect("IOPS");
    assert!((70_000.0..=80_000.0).contains(&predicted), "{told}");
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("/proc");
    assert_eq!(told["kernels"]["measured"], release.trim());
    assert!(
        told["kernels"]["predicted"].as_str().is_some_and(|kernel| !kernel.is_empty()),
        "{told}"
    );
}

#[test]
fn what_stays_in_our_folder_runs_beside_a_trial_in_it() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    suite(here);
    let home = starting::home(here);
    let copies = "summary = \"copies\"\n\
        lead = { rotational = \"100ms\", solid_state = \"100ms\" }\n\
        room = \"4 MiB\"\n[[process]]\ncommand = [\"dd\", \"if=/dev/zero\", \
        \"of={pool}/theirs\", \"bs=1M\", \"count=4\", \"conv=fsync\", \"status=none\"]\n";
    fs::write(home.join("lab/backgrounds/copies.toml"), copies).expect("a file");
    let pool = here.join("pool");
    let _mounted = made_and_mounted(&["mkfs.btrfs", "-q"], &loops, &pool);
    let at = pool.display().to_string();
    let mut command =
        on_host(here, &["--at", &at, "--set", "background=copies,scrub", "--out", "a"]);
    let done = done(command.env("DISKLAB_HOME", &home).output().expect("it starts"));
    assert!(here.join("a").exists(), "{}{}", done.out, done.err);
    let outcomes = outcomes(&here.join("a"));
    let of = |name: &str| {
        outcomes
            .iter()
            .find(|outcome| outcome.cell.value("background") == Some(name))
            .expect("its trial")
    };
    assert_eq!(of("copies").status, Status::Ok, "{}{}", done.out, done.err);
    let sample = of("copies").sample.clone().expect("fio's numbers");
    assert!(sample.devices[0].write_bytes >= 4 << 20, "{} bytes", sample.devices[0].write_bytes);
    assert_eq!(of("scrub").status, Status::Skipped);
    assert!(of("scrub").reason.as_ref().is_some_and(|why| why.contains("the whole filesystem")));
    assert_eq!(fs::read_dir(&pool).expect("it").count(), 0);
}

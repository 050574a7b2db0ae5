//! Tests `device new`: a device from the numbers of a data sheet.

use std::fs;
use std::path::Path;

use crate::input::refused;
use crate::{HOME, disklab, done, json, run};

const IRONWOLF: [&str; 15] = [
    "device",
    "new",
    "ironwolf-10tb",
    "--like",
    "nas-4tb",
    "--size",
    "10TB",
    "--rpm",
    "7200",
    "--rate",
    "210MB/s",
    "--seek",
    "8ms",
    "--cache",
    "256MiB",
];

/// Makes a copy of the installation's data with a lab that may be written.
fn home(here: &Path) -> std::path::PathBuf {
    let home = here.join("home");
    fs::create_dir(&home).expect("a folder");
    for folder in ["guest-kernel", "read-policies"] {
        std::os::unix::fs::symlink(Path::new(HOME).join(folder), home.join(folder))
            .expect("a link");
    }
    let copied = std::process::Command::new("cp")
        .args(["-r", &format!("{HOME}/lab"), &home.display().to_string()])
        .status();
    assert!(copied.expect("it starts").success());
    home
}

#[test]
fn a_device_is_written_to_the_lab_and_fits_its_sheet() {
    let here = tempfile::tempdir().expect("a folder");
    let home = home(here.path());
    let own = |arguments: &[&str]| {
        done(
            disklab(here.path())
                .env("DISKLAB_HOME", &home)
                .args(arguments)
                .output()
                .expect("it starts"),
        )
    };
    let made = own(&IRONWOLF);
    assert_eq!((made.status, made.err.as_str()), (Some(0), ""));
    for part in ["average seek", "Inherited from nas-4tb", "cache_segments", "random reads"] {
        assert!(made.out.contains(part), "{part}: {}", made.out);
    }
    let path = home.join("lab/devices/ironwolf-10tb.toml");
    let file = fs::read_to_string(&path).expect("a device file");
    assert!(file.contains("like = \"nas-4tb\"") && file.contains("\n[estimated]"), "{file}");
    assert!(file.contains("queue_patience = [\"2 s\", \"10 s\"]"), "{file}");
    let listed = own(&["list", "devices"]);
    assert!(listed.out.contains("ironwolf-10tb"), "{}{}", listed.out, listed.err);
    // A second run does not replace the file without --overwrite.
    let again = own(&IRONWOLF);
    assert_eq!(again.status, Some(2));
    assert!(again.err.contains("exists already") && again.err.contains("--overwrite"));
    let replaced: Vec<&str> = IRONWOLF.iter().copied().chain(["--overwrite"]).collect();
    assert_eq!(own(&replaced).status, Some(0));
}

#[test]
fn the_model_is_near_to_its_sheet() {
    let here = tempfile::tempdir().expect("a folder");
    let with = |arguments: &[&str]| {
        let words: Vec<&str> = arguments.iter().copied().chain(["-o", "-", "--json"]).collect();
        json(here.path(), &words)
    };
    let ssd = [
        "device",
        "new",
        "flash",
        "--like",
        "sata-ssd-1tb",
        "--size",
        "2TB",
        "--rate",
        "550MB/s",
        "--write-rate",
        "500MB/s",
        "--read-iops",
        "90000",
        "--read-latency",
        "100us",
    ];
    for (arguments, given, most) in [(&IRONWOLF[..], 2, 3.0), (&ssd[..], 4, 8.0)] {
        let document = with(arguments);
        let numbers = document["numbers"].as_array().expect("numbers");
        let off: Vec<f64> =
            numbers.iter().filter_map(|number| number["off_percent"].as_f64()).collect();
        assert_eq!(off.len(), given, "{document}");
        assert!(off.iter().all(|off| off.abs() < most), "{off:?}: {document}");
    }
}

/// The lab has a SATA and an NVMe SSD of 1 TB.
#[test]
fn an_ssd_is_like_one_with_a_similar_link() {
    let here = tempfile::tempdir().expect("a folder");
    for (rate, like) in [("560MB/s", "sata-ssd-1tb"), ("3.4GB/s", "nvme-1tb")] {
        let words = ["device", "new", "flash", "--size", "960GB", "--rate", rate, "--json"];
        let document = json(here.path(), &[&words[..], &["-o", "-"]].concat());
        assert_eq!(document["like"], like, "{document}");
    }
}

#[test]
fn numbers_that_make_no_device_are_refused() {
    let here = tempfile::tempdir().expect("a folder");
    let wrong = |arguments: &[&str]| {
        let words: Vec<&str> =
            ["device", "new", "x", "-o", "x.toml"].iter().chain(arguments).copied().collect();
        refused(run(here.path(), &words))
    };
    assert!(wrong(&[]).contains("--size is missing"));
    assert!(wrong(&["--like", "nas-4bt"]).contains("did you mean `nas-4tb`?"));
    assert!(
        wrong(&["--like", "nas-4tb", "--read-iops", "90000"]).contains("are for SSDs, and nas-4tb")
    );
    assert!(wrong(&["--like", "sata-ssd-1tb", "--rpm", "7200"]).contains("are for hard disks"));
    let physics = wrong(&["--like", "nas-4tb", "--seek", "90ms"]);
    assert!(physics.contains("hdd.seek_average: 90 ms"), "{physics}");
    assert!(wrong(&["--like", "sata-ssd-1tb", "--read-latency", "5us"]).contains("leaves no time"));
    assert!(!here.path().join("x.toml").exists());
    let named = run(here.path(), &["device", "new", "../x", "--size", "1TB"]);
    assert!(named.status == Some(2) && named.err.contains("lower-case letters"), "{}", named.err);
}

//! Tests the host executor in a guest, on modelled disks in virtual time. It must measure the same
//! as the kernel executor for the same trial, also on md.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use disklab_config::{Lab, Suite, Trial};
use disklab_kernels::{Btrfs, Cache, Share, find};
use disklab_protocol::action::{Action, Pids, Plan};
use disklab_protocol::machine::{GuestMachine, MachineDisk};
use disklab_protocol::measure::{Measure, Measured};
use disklab_protocol::names;
use disklab_record::{Outcome, Record, Status};
use disklab_runner::evidence::{self, Who};
use disklab_runner::guest::Guest;
use disklab_runner::{Installation, Timeouts};
use disklab_units::{Bytes, Nanos, Seed};

use crate::{HOME, guests};

const SUITE: &str = r#"
question = "Does the host executor do what the kernel executor does?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "100ms", solid_state = "100ms" }
[axes]
array = ["ARRAY"]
workload = ["smoke-randread"]
scheduler = ["mq-deadline"]
"#;

static STOP: AtomicBool = AtomicBool::new(false);

#[test]
fn it_measures_what_the_kernel_executor_measures() {
    alike("constant-raid1", "[axes]", "[axes]\npolicy = [\"round-robin:4k\"]", 0.01);
}

#[test]
fn of_md_too() {
    alike("nvme-md-raid1-ext4", "", "", 0.05);
}

/// A calibrated model of a disk predicts the results of a filesystem on that disk.
#[test]
fn a_disk_that_was_calibrated_is_predicted() {
    let Some(here) = guests::place() else { return };
    let text = SUITE.replace("ARRAY", "ssd-xfs");
    let lab = Lab::load(&Path::new(HOME).join("lab")).expect("the lab");
    let trials = Suite::of_text("mine", "mine.toml", &text, &[])
        .and_then(|suite| suite.trials(&lab))
        .expect("trials");
    let [calibrated, measured] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let program = env!("CARGO_BIN_EXE_disklab");
    let file = "/mnt/trial/measured.toml";
    let command =
        [program, "calibrate", "/dev/vda", "--write", "/dev/vda", "-o", file, "--time", "3min"];
    run_in_guest(calibrated.path(), disks(&trials[0]), &command.map(str::to_owned));
    in_guest(measured.path(), &trials[0], &text);
    let home = crate::starting::home(here.path());
    fs::copy(calibrated.path().join("measured.toml"), home.join("lab/devices/measured.toml"))
        .expect("it");
    let record = measured.path().join("record").display().to_string();
    let mut predict = crate::disklab(here.path());
    predict.env("DISKLAB_HOME", &home).args([
        "--json",
        "predict",
        &record,
        "--devices",
        "measured",
    ]);
    let done = crate::done(predict.output().expect("it starts"));
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let told: serde_json::Value = serde_json::from_str(&done.out).expect("one JSON document");
    for cell in told["cells"].as_array().expect("cells") {
        let error = cell["error"].as_f64().expect("an error");
        assert!(error.abs() <= 0.05, "{told}");
    }
}

/// Asserts that the numbers of a trial by both executors differ by at most this share.
fn alike(array: &str, from: &str, to: &str, within: f64) {
    let Some(here) = guests::place() else { return };
    let text = SUITE.replace("ARRAY", array);
    let text = if from.is_empty() { text } else { text.replacen(from, to, 1) };
    fs::write(here.path().join("mine.toml"), &text).expect("a file");
    let run = crate::run(here.path(), &["run", "mine.toml", "--out", "kernel"]);
    assert_eq!(run.status, Some(0), "{}{}", run.out, run.err);
    let lab = Lab::load(&Path::new(HOME).join("lab")).expect("the lab");
    let trials = Suite::of_text("mine", "mine.toml", &text, &[])
        .and_then(|suite| suite.trials(&lab))
        .expect("trials");
    let guest = tempfile::tempdir().expect("a folder");
    in_guest(guest.path(), &trials[0], &text);
    let [by_kernel, by_host] =
        [here.path().join("kernel"), guest.path().join("record")].map(|record| only(&record));
    let [kernel, host] = [&by_kernel, &by_host]
        .map(|outcome| outcome.sample.clone().unwrap_or_else(|| panic!("{:?}", outcome.reason)));
    assert_eq!(by_host.status, Status::Ok, "{:?}", by_host.reason);
    assert_eq!((&by_kernel.trial, &by_kernel.cell), (&by_host.trial, &by_host.cell));
    let near = |what: &str, one: f64, other: f64| {
        assert!((one / other - 1.0).abs() <= within, "{what}: kernel {one}, host {other}");
    };
    near("IOPS", kernel.iops, host.iops);
    near("mean latency", kernel.lat_mean_ns, host.lat_mean_ns);
    near("p50", kernel.p50_ns.expect("p50").0 as f64, host.p50_ns.expect("p50").0 as f64);
    // About one in a hundred answers of md waits for another one, so that p99 is at this edge; see
    // `predicted`.
    if within < 0.02 {
        near("p99", kernel.p99_ns.expect("p99").0 as f64, host.p99_ns.expect("p99").0 as f64);
    }
    assert_eq!(kernel.devices.len(), host.devices.len());
    for (kernel, host) in kernel.devices.iter().zip(&host.devices) {
        assert_eq!(kernel.name, host.name);
        near("reads", kernel.reads as f64, host.reads as f64);
        near("busy", kernel.utilisation, host.utilisation);
        near("depth", kernel.depth_mean.expect("a depth"), host.depth_mean.expect("a depth"));
    }
    let raw = guest.path().join("record").join(by_host.raw.expect("raw output"));
    assert!(
        disklab_trace::find(&raw).is_some(),
        "the kernel's events are a trace: {:?}",
        by_host.remarks
    );
    predicted(here.path(), &guest.path().join("record"), &trials[0], within);
}

/// Asserts that models of the record's disks predict the measured results.
fn predicted(here: &Path, record: &Path, trial: &Trial, within: f64) {
    let models: Vec<&str> = trial.devices.iter().map(|device| device.name.as_str()).collect();
    let record = record.display().to_string();
    let asked =
        ["--json", "predict", &record, "--devices", &models.join(","), "--out", "predicted"];
    let done = crate::run(here, &asked);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let told: serde_json::Value = serde_json::from_str(&done.out).expect("one JSON document");
    let cells = told["cells"].as_array().expect("cells");
    let metrics: Vec<&str> = cells.iter().filter_map(|cell| cell["metric"].as_str()).collect();
    assert_eq!(metrics, ["IOPS", "mean", "p50", "p99"], "{told}");
    for cell in cells {
        let error = cell["error"].as_f64().expect("an error");
        // If the models' answers vary, about one request in a hundred waits for another one: 130 us
        // instead of 80. p99 is at this edge.
        let within = if within > 0.02 && cell["metric"] == "p99" { 0.7 } else { within };
        assert!(error.abs() <= within, "{cell}");
    }
    // Disks that are ten times slower give other results.
    let slow = vec!["desktop-2tb"; models.len()].join(",");
    let done =
        crate::run(here, &["--json", "predict", &record, "--devices", &slow, "--out", "slow"]);
    let told: serde_json::Value = serde_json::from_str(&done.out).expect("one JSON document");
    assert!(told["worst_error"].as_f64().is_some_and(|worst| worst > 0.5), "{told}{}", done.err);
}

fn only(record: &Path) -> Outcome {
    let record = Record::open(record).expect("a record");
    let outcomes = record.outcomes();
    assert_eq!(outcomes.len(), 1);
    outcomes[0].1.expect("it has run").clone()
}

fn disks(trial: &Trial) -> Vec<MachineDisk> {
    let disk = |(number, device): (usize, &disklab_config::Device)| MachineDisk {
        device: device.name.clone(),
        bytes: device.used,
        size: device.bytes,
        model: device.model.clone(),
        image: format!("{number}.img"),
    };
    trial.devices.iter().enumerate().map(disk).collect()
}

/// Runs `disklab run --on host` in a guest with the trial's disks.
pub fn in_guest(folder: &Path, trial: &Trial, suite: &str) {
    let program = env!("CARGO_BIN_EXE_disklab");
    fs::write(folder.join("mine.toml"), suite).expect("a file");
    let disks = disks(trial);
    allow(folder, &disks);
    let names: Vec<String> = trial.places.disks.iter().map(|name| format!("/dev/{name}")).collect();
    let home = format!("DISKLAB_HOME={HOME}");
    let command = [
        "env",
        &home,
        "DISKLAB_STATE=/mnt/trial/state",
        program,
        "run",
        "/mnt/trial/mine.toml",
        "--on",
        "host",
        "--devices",
        &names.join(","),
        "--allow",
        "/mnt/trial/devices.toml",
        "--out",
        "/mnt/trial/record",
        "--rest",
        "0 s",
        "--warm-up",
        "0 s",
        "--no-pairs",
    ];
    run_in_guest(folder, disks, &command.map(str::to_owned));
}

/// Writes an allow file with all disks of a guest.
pub fn allow(folder: &Path, disks: &[MachineDisk]) {
    let allowed = |(number, disk): (usize, &MachineDisk)| {
        let name = disklab_config::places::disk_name(number);
        format!(
            "[[device]]\npath = \"/dev/{name}\"\nserial = \"none\"\nsize = \"{}\"\n",
            disk.bytes.0
        )
    };
    let allow: String = disks.iter().enumerate().map(allowed).collect();
    fs::write(folder.join("devices.toml"), allow).expect("a file");
    for path in [folder.to_owned(), folder.join("devices.toml")] {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("chmod");
    }
}

/// Runs a command in a guest with these disks. The command must succeed.
pub fn run_in_guest(folder: &Path, disks: Vec<MachineDisk>, command: &[String]) {
    let program = env!("CARGO_BIN_EXE_disklab");
    let found = Installation::find().expect("the disk library beside the tests");
    let installation = Installation { init: program.into(), ..found };
    let what = Measured::Program { command: command.to_vec(), gate: None };
    let phase = "measure".to_owned();
    let measure = Measure { what, phase, ramp_ns: 0, sync_every_ns: None };
    let plan = Plan::new([Action::Pids(Pids::Align), Action::Measure(measure)]);
    let machine = GuestMachine {
        build: disklab_guest::BUILD.to_owned(),
        seed: Seed(1),
        disks,
        controller: None,
        host: None,
        trace: false,
        power_cuts: None,
    };
    fs::write(folder.join(names::MACHINE), serde_json::to_vec(&machine).expect("plain data"))
        .expect("a file");
    fs::write(folder.join(names::PLAN), serde_json::to_vec(&plan).expect("plain data"))
        .expect("a file");
    let share = Share::open(Path::new(HOME)).expect("this work tree");
    let kernel = find(&Cache::open().expect("a cache"), &share, Btrfs::Policies, "newest")
        .expect("looked at before");
    let guest = Guest {
        kernel: &kernel.path,
        installation: &installation,
        folder,
        memory: Bytes::mib(512),
        guests: 1,
        parameters: &[],
    };
    let end = guest
        .run(&Timeouts::default(), Nanos::from_secs(3600), &STOP, &mut |_| ())
        .expect("a guest");
    let steps = fs::read_to_string(folder.join(names::STEPS)).unwrap_or_default();
    if let Err(why) = evidence::judge(folder, &end, Who::Guest) {
        panic!("{why}\n{steps}");
    }
}

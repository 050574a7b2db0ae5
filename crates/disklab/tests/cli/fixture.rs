//! Makes a small record with one trial of each status, without any guest.

use std::fs;
use std::path::{Path, PathBuf};

use disklab_protocol::digest::sha256_hex;
use disklab_record::manifest::{Fact, Suite};
use disklab_record::{Manifest, Outcome, Record, Status, Writer};
use disklab_results::sample::{DeviceSample, LatencyKind};
use disklab_results::{Remark, Sample};
use disklab_testkit::{CLOSING, requests};
use disklab_units::Nanos;

pub const NAME: &str = "quick-20261121-210000";

const SUITE: &str = r#"
question = "Which policy serves which disks?"
seeds = 2
memory = "256 MiB"
runtime = { rotational = "20s", solid_state = "300ms" }
kernel = "newest"
baseline = { policy = "pid" }

[axes]
array = ["hdd-raid1", "ssd-raid10"]
workload = ["randread-4k-qd1"]
policy = ["pid", "round-robin:4k", "devid"]
"#;

/// Values of the cells, in the order of the suite.
const CELLS: [[&str; 3]; 6] = [
    ["hdd-raid1", "randread-4k-qd1", "pid"],
    ["hdd-raid1", "randread-4k-qd1", "round-robin:4096"],
    ["hdd-raid1", "randread-4k-qd1", "devid"],
    ["ssd-raid10", "randread-4k-qd1", "pid"],
    ["ssd-raid10", "randread-4k-qd1", "round-robin:4096"],
    ["ssd-raid10", "randread-4k-qd1", "devid"],
];

fn id(cell: [&str; 3], seed: u32) -> String {
    format!("{}+s{seed}", cell.join("+").replace(':', "="))
}

/// Makes a complete record in `here/records`, in which one trial failed, one could not run and two
/// never began.
pub fn record(here: &Path) -> PathBuf {
    let writer = begin(here, NAME, 2);
    for (number, id) in writer.remaining().iter().enumerate() {
        let cell = CELLS[number % CELLS.len()];
        let seed = number as u32 / CELLS.len() as u32 + 1;
        let mut outcome = outcome(cell, seed);
        match (cell[0], cell[2], seed) {
            ("hdd-raid1", "devid", 1) => {
                outcome.status = Status::Failed;
                outcome.reason =
                    Some("the guest kernel panicked: sysrq triggered crash".to_owned());
                outcome.sample = None;
            }
            ("ssd-raid10", "round-robin:4096", 1) => {
                outcome.status = Status::Skipped;
                outcome.reason = Some("no room".to_owned());
                outcome.sample = None;
                writer.note(outcome).expect("a recorded trial");
                continue;
            }
            ("ssd-raid10", "devid", _) => continue,
            ("ssd-raid10", "pid", 1) => {
                outcome.remarks.push(Remark::FewRequests { requests: 431, what: None });
            }
            _ => {}
        }
        finish(&writer, id, outcome, 0);
    }
    writer.folder().to_owned()
}

/// Makes a record of a single trial, whose only request begins at `sector`.
pub fn small_record(here: &Path, name: &str, sector: u64) -> PathBuf {
    let writer = begin(here, name, 2);
    finish(&writer, &id(CELLS[0], 1), outcome(CELLS[0], 1), sector);
    writer.folder().to_owned()
}

/// Begins a record that is still being written, with nothing in it.
pub fn begun(here: &Path, name: &str) -> Writer {
    begin(here, name, 2)
}

/// Begins a record whose trials have keys. The trials have the same names for each `runtime`, which
/// their keys depend on.
pub fn begun_with_keys(here: &Path, name: &str, runtime: &str) -> Writer {
    let mut manifest = manifest(2, &SUITE.replace("20s", runtime));
    let key = |trial: &String| sha256_hex(format!("{trial} {runtime}").as_bytes())[..32].to_owned();
    manifest.keys = manifest.trials.iter().map(key).collect();
    Record::create(&here.join("records"), name, &manifest).expect("a record")
}

/// Records the next successful trial of a record that [`begun`] has made.
pub fn go_on(writer: &Writer, number: usize) {
    let (cell, seed) = (CELLS[number % CELLS.len()], (number / CELLS.len()) as u32 + 1);
    finish(writer, &id(cell, seed), outcome(cell, seed), 0);
}

/// Makes a record with this number of seeds, in which every trial succeeds. Latencies are `factor`
/// times those of [`record`].
pub fn seeds_record(here: &Path, name: &str, seeds: u32, factor: f64) -> PathBuf {
    let writer = begin(here, name, seeds);
    for seed in 1..=seeds {
        // Trials that run side by side end in any order.
        for cell in CELLS.into_iter().rev() {
            let mut outcome = outcome(cell, seed);
            let sample = outcome.sample.as_mut().expect("a sample");
            sample.lat_mean_ns *= factor;
            sample.iops /= factor;
            finish(&writer, &id(cell, seed), outcome, 0);
        }
    }
    writer.folder().to_owned()
}

fn begin(here: &Path, name: &str, seeds: u32) -> Writer {
    Record::create(&here.join("records"), name, &manifest(seeds, SUITE)).expect("a record")
}

fn manifest(seeds: u32, suite: &str) -> Manifest {
    let trials = (1..=seeds).flat_map(|seed| CELLS.map(|cell| id(cell, seed))).collect();
    let suite = Suite::new("quick", suite, vec!["kernel=7.3".to_owned()]);
    let mut manifest =
        Manifest::new(env!("CARGO_PKG_VERSION"), "2026-11-21T21:00:00Z", suite, trials);
    manifest.kernels.push(disklab_testkit::kernel("7.3", "7.3.4"));
    manifest.tools.push(Fact::new("fio", "fio-3.39, sha256 0123456789abcdef"));
    manifest
}

fn outcome(cell: [&str; 3], seed: u32) -> Outcome {
    let [array, workload, policy] = cell;
    let values = [("array", array), ("workload", workload), ("policy", policy)];
    Outcome {
        virtual_ns: Some(Nanos(20_300_000_000)),
        wall_ms: 1400,
        sample: Some(sample(cell, seed)),
        ..disklab_testkit::outcome(id(cell, seed), &values, seed)
    }
}

/// Returns the numbers of a trial. Those of `pid` depend on the seed; round-robin is a little
/// better on hard disks for every seed.
fn sample(cell: [&str; 3], seed: u32) -> Sample {
    let seeded = f64::from(seed);
    let (disks, device, latency) = match cell[0] {
        "hdd-raid1" => (2, "nas-4tb", 8_400_000.0),
        _ => (4, "sata-ssd-1tb", 92_000.0),
    };
    let (latency, even) = match cell[2] {
        "pid" => (latency + seeded * 100_000.0, false),
        _ => (latency, true),
    };
    let time = |factor: f64| Some(Nanos((latency * factor) as u64));
    let disk = |index: u32| DeviceSample {
        name: format!("vd{}", char::from(b'a' + index as u8)),
        device: Some(device.to_owned()),
        reads: 100,
        writes: 0,
        read_share: Some(if even {
            1.0 / f64::from(disks)
        } else {
            f64::from(u8::from(index + 1 == seed))
        }),
        utilisation: if even { 0.5 } else { 0.97 },
        ..DeviceSample::default()
    };
    Sample {
        iops: 1e9 / latency,
        bw_bytes: (4096e9 / latency) as u64,
        requests: 2380,
        lat_mean_ns: latency,
        percentiles_of: Some(LatencyKind::Clat),
        p50_ns: time(0.98),
        p99_ns: time(1.9),
        p99_9_ns: time(2.04),
        devices: (0..disks).map(disk).collect(),
        ..Sample::default()
    }
}

fn finish(writer: &Writer, trial: &str, outcome: Outcome, sector: u64) {
    let raw = writer.begin(trial).expect("a folder");
    let write =
        |name: &str, text: &[u8]| fs::write(raw.path().join(name), text).expect("raw output");
    write("fio.json", b"{}\n");
    write("console.log", b"disklab: hello\n\x1b[31mred\n");
    write("guest.jsonl", STEPS.as_bytes());
    write(
        "disks.json",
        format!("{CLOSING}\nsha256 {}\n", sha256_hex(CLOSING.as_bytes())).as_bytes(),
    );
    write(disklab_trace::PLAIN, &requests(sector));
    disklab_trace::pack(raw.path()).expect("a packed trace");
    writer.finish(raw, outcome).expect("a recorded trial");
}

const STEPS: &str = concat!(
    r#"{"step":"set","path":"/sys/block/vda/queue/scheduler","value":"none","#,
    r#""says":"[none] mq-deadline"}
{"step":"mounted","filesystem":"btrfs"}
{"step":"measure","command":["fio","--name=a"],"status":"exit status: 0","said":"a warning"}
{"step":"finished"}
{"step":"cut o"#
);

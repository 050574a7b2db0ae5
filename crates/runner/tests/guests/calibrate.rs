//! Tests that a disk measured from within the guest is recognized, and that its calibrated copy
//! serves fio alike.

use std::fs;

use disklab_config::device::{Device, Hdd, Model};
use disklab_config::read::TomlReader;
use disklab_disks::Travel;
use disklab_protocol::machine::MachineDisk;
use disklab_protocol::places::TRIAL;
use disklab_units::Nanos;
use libtest_mimic::Trial;
use serde_json::Value;

use crate::place::{self, TestGuest};

pub fn tests() -> Vec<Trial> {
    vec![
        crate::test("calibrate_finds_a_hard_disk_again", finds_a_hard_disk),
        crate::test("calibrate_finds_an_ssd_again", finds_an_ssd),
    ]
}

fn read(name: &str, text: &str) -> Device {
    let device = TomlReader::new(name, text).read(|table| Device::read(name, table));
    device.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"))
}

fn lab(name: &str) -> Device {
    read(
        name,
        &fs::read_to_string(place::share().lab().join(format!("devices/{name}.toml"))).unwrap(),
    )
}

/// Makes a guest with this disk and its program.
fn guest(device: &Device, command: &[&str]) -> TestGuest {
    let mut place = TestGuest::new(command);
    place.machine.disks = vec![MachineDisk {
        device: device.name.clone(),
        bytes: device.bytes,
        size: device.bytes,
        model: device.model.clone(),
        image: "0.img".to_owned(),
    }];
    place.machine.trace = false;
    // The measurement takes some minutes of the disk's time.
    place.limit = Nanos::from_secs(3600);
    place
}

/// Runs `disklab calibrate --write` in a guest, and returns the device in its file.
fn measured(original: &Device) -> Device {
    let disklab = std::env::current_exe().unwrap().parent().unwrap().join("../disklab");
    let disklab = disklab
        .canonicalize()
        .expect("disklab is not built: cargo build --workspace, as `make test` does");
    let file = format!("{TRIAL}/measured.toml");
    let program = format!("{TRIAL}/program");
    let place = guest(
        original,
        &[&program, "calibrate", "/dev/vda", "--write", "/dev/vda", "-o", &file, "--time", "10min"],
    );
    // The guest has its own /tmp, which may hide this repository. It always sees the trial's
    // folder.
    fs::copy(disklab, place.path("program")).unwrap();
    place.run().unwrap_or_else(|reason| panic!("{reason}"));
    let text = fs::read_to_string(place.path("measured.toml"))
        .unwrap_or_else(|error| panic!("{error}; {}", place.said()));
    println!("{text}");
    read("measured", &text)
}

/// Returns fio's requests per second on the bare disk.
fn iops(device: &Device, load: &[&str], depth: u32, times: [&str; 2]) -> f64 {
    let output = format!("--output={TRIAL}/fio.json");
    let depth = format!("--iodepth={depth}");
    let mut command = vec![
        "fio",
        "--name=load",
        "--filename=/dev/vda",
        "--direct=1",
        "--ioengine=libaio",
        "--thread",
        "--time_based",
        "--output-format=json",
        "--randrepeat=0",
        "--randseed=7",
        "--norandommap",
        "--clocksource=clock_gettime",
        &output,
        &depth,
    ];
    command.extend(times);
    command.extend(load);
    let place = guest(device, &command);
    place.run().unwrap_or_else(|reason| panic!("{reason}"));
    let report: Value = serde_json::from_slice(&fs::read(place.path("fio.json")).unwrap()).unwrap();
    let job = &report["jobs"][0];
    ["read", "write"].iter().filter_map(|way| job[way]["iops"].as_f64()).sum()
}

fn predicts_fio(original: &Device, copy: &Device, times: [&str; 2]) {
    let loads: [&[&str]; 3] = [
        &["--rw=randread", "--bs=4k"],
        &["--rw=read", "--bs=128k", "--offset=20%"],
        &["--rw=randrw", "--rwmixread=70", "--bs=4k"],
    ];
    for load in loads {
        for depth in [1, 8, 32] {
            let (wanted, found) =
                (iops(original, load, depth, times), iops(copy, load, depth, times));
            println!("{load:?} at depth {depth}: {found:.1} instead of {wanted:.1} a second");
            assert!(
                (found / wanted - 1.0).abs() < 0.1,
                "{load:?} at depth {depth}: {found:.1}, not {wanted:.1} a second"
            );
        }
    }
}

fn near(what: &str, found: f64, wanted: f64, within: f64) {
    assert!((found / wanted - 1.0).abs() <= within, "{what}: {found} instead of {wanted}");
}

fn finds_a_hard_disk() {
    let original = lab("desktop-2tb");
    let copy = measured(&original);
    let (Model::Hdd(model), Model::Hdd(found)) = (&original.model, &copy.model) else {
        panic!("{copy:?}")
    };
    assert_eq!(original.bytes, copy.bytes);
    assert_eq!(found.rpm, model.rpm);
    let travel = |hdd: &Hdd| Travel::new(hdd, original.bytes);
    let (travel, its) = (travel(model), travel(found));
    let sectors = original.bytes.sectors().0;
    for step in 0..100 {
        let distance = (sectors as f64 * 0.99 * 10_f64.powf(-5.0 * f64::from(step) / 100.0)) as u64;
        let time = |travel: &Travel| travel.time(sectors / 200, sectors / 200 + distance).0 as f64;
        near(&format!("seek over {distance} sectors"), time(&its), time(&travel), 0.05);
    }
    let numbers = |hdd: &Hdd| {
        let rates = [hdd.rate_outer.0, hdd.rate_inner.0].map(|rate| (rate, 0.03));
        let times = [hdd.command_overhead.0, hdd.head_switch.0, hdd.write_settle.0]
            .map(|time| (time, 0.05));
        let sizes = [hdd.look_ahead.0, hdd.cache.0, hdd.link.0].map(|size| (size, 0.05));
        [rates.to_vec(), times.to_vec(), sizes.to_vec()].concat()
    };
    for ((found, within), (wanted, _)) in numbers(found).into_iter().zip(numbers(model)) {
        near("a number of the file", found as f64, wanted as f64, within);
    }
    predicts_fio(&original, &copy, ["--ramp_time=1", "--runtime=20"]);
}

fn finds_an_ssd() {
    let original = lab("sata-ssd-1tb");
    let copy = measured(&original);
    let (Model::Ssd(model), Model::Ssd(found)) = (&original.model, &copy.model) else {
        panic!("{copy:?}")
    };
    assert_eq!(
        (found.page, found.channels * found.dies_per_channel),
        (model.page, model.channels * model.dies_per_channel)
    );
    near("read_page", found.read_page[0].0 as f64, model.read_page[0].0 as f64, 0.05);
    near(
        "command_overhead",
        found.command_overhead.0 as f64,
        model.command_overhead.0 as f64,
        0.05,
    );
    near("link", found.link.0 as f64, model.link.0 as f64, 0.05);
    near("flush", found.flush.0 as f64, model.flush.0 as f64, 0.05);
    predicts_fio(&original, &copy, ["--ramp_time=20ms", "--runtime=200ms"]);
}

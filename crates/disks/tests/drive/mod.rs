//! Drives a disk through virtual time, for the tests.
#![allow(dead_code, reason = "each test file uses a part of it")]

use disklab_config::device::{Device, Hdd, Model, Ssd};
use disklab_config::read::TomlReader;
use disklab_disks::{Completion, Disk, Op, Request, build_checked as build};
use disklab_units::{Bytes, Nanos, Rate, Sectors, Seed};

/// Returns a device of `lab/devices`.
pub fn device(name: &str) -> Device {
    let file = format!("{}/../../lab/devices/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let source =
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("reading {file}: {error}"));
    TomlReader::new(&file, &source)
        .read(|table| Device::read(name, table))
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// Returns the names of all hard disks of `lab/devices`.
pub fn hdds() -> Vec<String> {
    let folder = format!("{}/../../lab/devices", env!("CARGO_MANIFEST_DIR"));
    let files =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("reading {folder}: {error}"));
    let names =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    let mut hdds: Vec<String> =
        names.filter(|name| matches!(device(name).model, Model::Hdd(_))).collect();
    hdds.sort_unstable();
    assert!(!hdds.is_empty());
    hdds
}

/// Returns the nominal time of one revolution.
pub fn revolution(model: &Hdd) -> Nanos {
    Nanos(60_000_000_000 / u64::from(model.rpm))
}

pub fn hdd(name: &str) -> (Hdd, Bytes) {
    let device = device(name);
    match device.model {
        Model::Hdd(hdd) => (hdd, device.bytes),
        other => panic!("{name} is not a hard disk: {other:?}"),
    }
}

pub fn ssd(name: &str) -> (Ssd, Bytes) {
    let device = device(name);
    match device.model {
        Model::Ssd(ssd) => (ssd, device.bytes),
        other => panic!("{name} is not an SSD: {other:?}"),
    }
}

pub fn open(name: &str, seed: u64) -> (Box<dyn Disk>, u64) {
    let device = device(name);
    (build(&device.model, device.bytes, Seed(seed)), device.bytes.sectors().0)
}

pub fn read(sector: u64, sectors: u32) -> Request {
    Request { id: 0, op: Op::Read, sector, sectors, fua: false }
}

pub fn write(sector: u64, sectors: u32) -> Request {
    Request { op: Op::Write, ..read(sector, sectors) }
}

pub fn flush() -> Request {
    Request { op: Op::Flush, ..read(0, 0) }
}

/// A request that completed, and its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedRequest {
    pub request: Request,
    pub submitted: Nanos,
    pub started: Nanos,
    pub at: Nanos,
}

impl ServedRequest {
    pub fn latency(&self) -> Nanos {
        self.at - self.submitted
    }
}

/// Submits requests at given times, in order. Returns them in order of completion.
pub fn open_loop(
    disk: &mut dyn Disk,
    arrivals: impl IntoIterator<Item = (Nanos, Request)>,
) -> Vec<ServedRequest> {
    let mut run = DriveRun::default();
    for (at, request) in arrivals {
        while let Some(next) = disk.next_event().filter(|&next| next <= at) {
            run.advance(disk, next);
        }
        run.submit(disk, at, request);
    }
    run.finish(disk);
    run.served
}

/// Keeps `depth` requests under way from `start` on until `count` have been submitted, and waits
/// for the last. A new request is submitted at the time at which one completes.
pub fn closed_loop(
    disk: &mut dyn Disk,
    start: Nanos,
    depth: usize,
    count: usize,
    mut next: impl FnMut(usize) -> Request,
) -> Vec<ServedRequest> {
    let mut run = DriveRun::default();
    for i in 0..depth.min(count) {
        run.submit(disk, start, next(i));
    }
    for i in depth..count {
        while run.under_way >= depth {
            let at = disk.next_event().expect("requests are under way");
            run.advance(disk, at);
        }
        run.submit(disk, run.now.max(start), next(i));
    }
    run.finish(disk);
    run.served
}

/// Serves a request alone and returns the time at which it completes.
pub fn serve(disk: &mut dyn Disk, at: Nanos, request: Request) -> Nanos {
    open_loop(disk, [(at, request)])[0].at
}

#[derive(Default)]
struct DriveRun {
    now: Nanos,
    submitted: Vec<(Nanos, Request)>,
    under_way: usize,
    done: Vec<Completion>,
    served: Vec<ServedRequest>,
}

impl DriveRun {
    fn submit(&mut self, disk: &mut dyn Disk, at: Nanos, request: Request) {
        assert!(at >= self.now);
        self.now = at;
        disk.submit(at, Request { id: self.submitted.len() as u32, ..request });
        self.submitted.push((at, request));
        self.under_way += 1;
    }

    /// Advances the disk to `at` and checks the rules that hold for every disk.
    fn advance(&mut self, disk: &mut dyn Disk, at: Nanos) {
        assert!(at >= self.now, "the disk asks for {at} at {}", self.now);
        self.now = at;
        disk.advance(at, &mut self.done);
        for Completion { id, at, started } in self.done.drain(..) {
            let (submitted, request) = self.submitted[id as usize];
            assert_eq!(at, self.now, "request {id} completes when the disk said something would");
            assert!(
                submitted <= started && started <= at,
                "{request:?}: {submitted}, {started}, {at}"
            );
            self.served.push(ServedRequest { request, submitted, started, at });
            self.under_way -= 1;
        }
    }

    fn finish(&mut self, disk: &mut dyn Disk) {
        while let Some(at) = disk.next_event() {
            self.advance(disk, at);
        }
        assert_eq!(self.under_way, 0, "every request completes");
        assert_eq!(disk.violation(), None);
    }
}

pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.into_iter().fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

pub fn mean_latency(served: &[ServedRequest]) -> f64 {
    mean(served.iter().map(|served| served.latency().0 as f64))
}

/// Returns the IOPS over the whole run.
pub fn iops(served: &[ServedRequest]) -> f64 {
    served.len() as f64 / span(served).as_secs_f64()
}

pub fn throughput(served: &[ServedRequest]) -> Rate {
    let bytes: u64 =
        served.iter().map(|served| u64::from(served.request.sectors) * Sectors::SIZE).sum();
    Rate((bytes as f64 / span(served).as_secs_f64()) as u64)
}

fn span(served: &[ServedRequest]) -> Nanos {
    let first = served.iter().map(|served| served.submitted).min().expect("something was served");
    served.last().expect("something was served").at - first
}

pub fn assert_near(what: &str, value: f64, wanted: f64, within: f64) {
    let off = (value - wanted).abs() / wanted.abs();
    assert!(
        off <= within,
        "{what}: {value} is {:.2} % off {wanted}, more than {:.2} %",
        off * 100.0,
        within * 100.0
    );
}

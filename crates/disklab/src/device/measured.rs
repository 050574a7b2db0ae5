//! Measures the numbers of a data sheet on the model.

use disklab_config::device::{Device, Hdd, Model};
use disklab_disks::{Completion, Disk, Op, Request, build};
use disklab_units::{Nanos, Sectors, Seed};
use serde::Serialize;

use super::sheet::Numbers;

/// Sizes of the measurements: random reads, sequential reads, and MiB written.
const RANDOM: usize = 4000;
const SEQUENTIAL: usize = 128;
const WRITTEN: usize = 4096;
/// Size of a sequential request, in bytes.
const MIB: u64 = 1 << 20;
/// Queue depth of the measurements with a deep queue.
const DEEP: usize = 32;

/// A number of the sheet and the model's number for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SheetNumber {
    pub what: &'static str,
    /// Unit: `1/s`, `bytes/s` or `ns`.
    unit: &'static str,
    /// The number of the sheet, or None if it was not given.
    sheet: Option<f64>,
    model: f64,
    /// Difference of the model's number from the sheet's, in per cent of the sheet's.
    off_percent: Option<f64>,
}

impl SheetNumber {
    fn new(what: &'static str, unit: &'static str, sheet: Option<f64>, model: f64) -> Self {
        let off_percent = sheet.map(|sheet| 100.0 * (model / sheet - 1.0));
        Self { what, unit, sheet, model, off_percent }
    }

    /// Returns the number of the sheet, the number of the model, and their difference.
    pub fn columns(&self) -> [String; 3] {
        let value = |value: f64| disklab_compare::answer::value(value, self.unit);
        let dash = || "-".to_owned();
        [
            self.sheet.map_or_else(dash, value),
            value(self.model),
            self.off_percent.map_or_else(dash, |off| format!("{off:+.1} %")),
        ]
    }

    pub fn in_words(&self) -> String {
        let [sheet, model, off] = self.columns();
        format!("{}: sheet {sheet}, model {model}, off {off}", self.what)
    }
}

/// Runs the model for each number that a sheet may have.
pub fn measure(device: &Device, numbers: &Numbers) -> Vec<SheetNumber> {
    let bytes = |rate: Option<disklab_units::Rate>| rate.map(|rate| rate.0 as f64);
    let time = |time: Option<Nanos>| time.map(|time| time.0 as f64);
    let lone = lone_read(device);
    let a_second = 1e9 / lone.0.max(1) as f64;
    let end = (device.bytes.0 / MIB).saturating_sub(SEQUENTIAL as u64 + 1);
    match &device.model {
        Model::Hdd(hdd) => vec![
            SheetNumber::new("average seek", "ns", time(numbers.seek), seek(hdd, lone)),
            SheetNumber::new(
                "sequential reads, outer edge",
                "bytes/s",
                bytes(numbers.rate),
                sequential(device, Op::Read, 0, SEQUENTIAL),
            ),
            SheetNumber::new(
                "sequential reads, inner edge",
                "bytes/s",
                None,
                sequential(device, Op::Read, end, SEQUENTIAL),
            ),
            SheetNumber::new("random reads of 4 KiB, one at a time", "1/s", None, a_second),
        ],
        _ => vec![
            SheetNumber::new(
                "sequential reads",
                "bytes/s",
                bytes(numbers.rate),
                sequential(device, Op::Read, 0, SEQUENTIAL),
            ),
            SheetNumber::new(
                "sequential writes",
                "bytes/s",
                bytes(numbers.write_rate),
                sequential(device, Op::Write, 0, WRITTEN),
            ),
            SheetNumber::new(
                "a random read of 4 KiB",
                "ns",
                time(numbers.read_latency),
                lone.0 as f64,
            ),
            SheetNumber::new("random reads of 4 KiB, one at a time", "1/s", None, a_second),
            SheetNumber::new(
                "random reads of 4 KiB, queue of 32",
                "1/s",
                numbers.read_iops.map(f64::from),
                deep_reads(device),
            ),
        ],
    }
}

/// Returns the mean time of a single random read of 4 KiB.
pub fn lone_read(device: &Device) -> Nanos {
    let mut disk = disk(device);
    let (_, waited) = closed_loop(&mut *disk, 1, RANDOM, random(device));
    Nanos(waited.0 / RANDOM as u64)
}

/// Returns the rate of random reads with [`DEEP`] of them in flight, per second.
fn deep_reads(device: &Device) -> f64 {
    let mut disk = disk(device);
    let (took, _) = closed_loop(&mut *disk, DEEP, RANDOM, random(device));
    RANDOM as f64 * 1e9 / took.0.max(1) as f64
}

/// Returns the average seek: the time of a random read without half a revolution, the command, and
/// the transfer from the medium and over the link.
fn seek(hdd: &Hdd, lone: Nanos) -> f64 {
    let turn = 60e9 / f64::from(hdd.rpm.max(1));
    // A track is chosen in proportion to the data on it, and outer tracks hold more.
    let media = 4096e9 * 2.0 / (hdd.rate_outer.0 + hdd.rate_inner.0).max(1) as f64;
    let link = 4096e9 / hdd.link.0.max(1) as f64;
    lone.0 as f64 - turn / 2.0 - hdd.command_overhead.0 as f64 - media - link
}

/// Returns the rate of sequential requests from an offset in MiB, in bytes per second. Several are
/// in flight, as with the kernel's read-ahead.
fn sequential(device: &Device, op: Op, from: u64, count: usize) -> f64 {
    let mut disk = disk(device);
    let room = device.bytes.0 / MIB;
    let next = move |number: usize| {
        let place = (from + number as u64) % room.max(1);
        request(op, place * MIB / Sectors::SIZE, MIB / Sectors::SIZE)
    };
    let (took, _) = closed_loop(&mut *disk, 4, count, next);
    (count as u64 * MIB) as f64 * 1e9 / took.0.max(1) as f64
}

fn disk(device: &Device) -> Box<dyn Disk> {
    build(&device.model, device.bytes, Seed(1))
}

fn request(op: Op, sector: u64, sectors: u64) -> Request {
    Request { id: 0, op, sector, sectors: sectors as u32, fua: false }
}

/// Returns random reads of 4 KiB, spread over the whole disk.
fn random(device: &Device) -> impl FnMut(usize) -> Request + use<> {
    let blocks = (device.bytes.0 / 4096).max(1);
    move |number| {
        // SplitMix64 gives independent positions.
        let mut mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let block = (u128::from(mixed) * u128::from(blocks)) >> 64;
        request(Op::Read, block as u64 * 8, 8)
    }
}

/// Keeps `depth` requests in flight until `count` are done. Returns the elapsed time, and the sum
/// of the latencies.
fn closed_loop(
    disk: &mut dyn Disk,
    depth: usize,
    count: usize,
    mut next: impl FnMut(usize) -> Request,
) -> (Nanos, Nanos) {
    let mut now = Nanos(0);
    let mut submitted: Vec<Nanos> = Vec::with_capacity(count);
    let (mut done, mut ended, mut waited) = (Vec::<Completion>::new(), 0, 0);
    while ended < count {
        while submitted.len() < count && submitted.len() - ended < depth {
            let id = submitted.len() as u32;
            disk.submit(now, Request { id, ..next(submitted.len()) });
            submitted.push(now);
        }
        // A disk with requests in flight always has a next event.
        let Some(at) = disk.next_event() else { break };
        now = at;
        disk.advance(now, &mut done);
        for completion in done.drain(..) {
            ended += 1;
            waited += (completion.at - submitted[completion.id as usize]).0;
        }
    }
    (now, Nanos(waited))
}

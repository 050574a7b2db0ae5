//! Tests with random devices, whose numbers are any that the reader accepts. The models serve them
//! and the checkers watch.
//!
//! A failure names its device by a number; `DISKLAB_RANDOM_DEVICE=NUMBER` runs that one alone.

mod drawn;

use disklab_config::device::{Device, Model};
use disklab_units::Random;

use self::drawn::{read, source};
use super::*;
use crate::hdd::mechanics::Mechanics;
use crate::plant::Bug;
use crate::{Op, build_checked};

const DEVICES: usize = 10_000;

/// Number of the only device to be run, if the environment of the build names one.
const ONE: Option<&str> = option_env!("DISKLAB_RANDOM_DEVICE");

/// Draws a request of any kind, with many sizes and places, some of them beyond the disk's end.
fn request(random: &mut Random, id: u32, bytes: Bytes, last: u64) -> Request {
    let blocks = bytes.0 / 4096;
    let op = match random.below(40) {
        0..20 => Op::Read,
        20..37 => Op::Write,
        37 => Op::Flush,
        38 => Op::Discard,
        _ => Op::WriteZeroes,
    };
    let sector = match random.below(16) {
        // Half of the places are near each other, so that caches and buffers are used.
        0..6 => random.below(blocks.min(500)) * 8,
        6..8 => last,
        8 => (blocks * 8).saturating_sub(random.below(200)),
        _ => random.below(blocks) * 8,
    };
    let sectors = match random.below(40) {
        0 => 1 + random.below(4_000) as u32,
        1..4 => 1 + random.below(300) as u32,
        _ => 8 << random.below(3),
    };
    let (sectors, fua) = (if op == Op::Flush { 0 } else { sectors }, random.below(8) == 0);
    Request { id, op, sector, sectors, fua: fua && op == Op::Write }
}

/// Serves requests at several depths, at each as many as the depth plus `count`. Returns the first
/// violation.
fn objection(device: &Device, random: &mut Random, count: u32) -> Option<String> {
    let mut disk = build_checked(&device.model, device.bytes, Seed(random.next_u64()));
    let (mut now, mut done, mut last) = (Nanos::ZERO, Vec::new(), 0);
    for depth in [1, 3, 12, 40] {
        let (mut submitted, mut completed) = (0, 0);
        let all = depth + count;
        while completed < all {
            if submitted < all && submitted - completed < depth {
                let request = request(random, submitted, device.bytes, last);
                last = request.sector + u64::from(request.sectors);
                disk.submit(now, request);
                submitted += 1;
                continue;
            }
            let Some(next) = disk.next_event() else {
                let waiting = submitted - completed;
                return Some(format!("{waiting} requests wait for nothing at {now}"));
            };
            if next < now {
                return Some(format!("the next event is at {next}, and it is {now}"));
            }
            now = next;
            disk.advance(now, &mut done);
            completed += done.len() as u32;
            done.clear();
        }
        // The drive rests, which lets it do the work that it postponed.
        now += Nanos::from_millis(random.below(400));
        disk.advance(now, &mut done);
    }
    disk.violation().map(str::to_owned)
}

/// Returns the first `count` devices that the reader accepts, with their numbers, sources and
/// random streams. If the environment names a device, returns only that one.
fn devices(count: usize) -> impl Iterator<Item = (u64, String, Device, Random)> {
    let one = ONE.map(|number| number.parse::<u64>().expect("a number"));
    let numbers = one.map_or(0..u64::MAX, |one| one..one + 1);
    let accepted = numbers.filter_map(move |number| {
        let (source, random) = source(number);
        match read(&source) {
            Ok(device) => Some((number, source, device, random)),
            Err(mistakes) => {
                assert!(one.is_none(), "{source}device {number} is refused: {mistakes}");
                None
            }
        }
    });
    accepted.take(count)
}

#[test]
fn no_random_device_is_objected_to() {
    for (number, source, device, mut random) in devices(DEVICES) {
        if let Some(found) = objection(&device, &mut random, 20) {
            panic!("{found}\n{source}DISKLAB_RANDOM_DEVICE={number} repeats this");
        }
    }
}

/// A bug, the devices that can show it, and the percentage of these on which it must be found. With
/// so few requests, some devices never come into the situation.
type Planted = (Bug, fn(&Device) -> bool, usize);

fn is_hdd(device: &Device) -> bool {
    matches!(device.model, Model::Hdd(_))
}

/// Returns whether this is a hard disk with more than 100 cylinders, so that its arm has some way
/// to travel.
fn seeks(device: &Device) -> bool {
    let Model::Hdd(hdd) = &device.model else { return false };
    Mechanics::new(hdd, device.bytes, Seed(1)).geometry.cylinders > 100
}

/// Returns whether a drive chooses among many commands and has little patience.
fn hurries(device: &Device) -> bool {
    let Model::Hdd(hdd) = &device.model else { return false };
    let decoding = Nanos(hdd.command_overhead.0 * 40);
    seeks(device) && hdd.queue_depth >= 40 && hdd.queue_patience + decoding < Nanos::from_millis(60)
}

/// Returns whether a drive chooses well among many commands and has so much patience that age has
/// no effect.
fn chooses_well(device: &Device) -> bool {
    let Model::Hdd(hdd) = &device.model else { return false };
    seeks(device)
        && hdd.queue_depth >= 12
        && hdd.queue_error < Nanos::from_millis(2)
        && hdd.command_overhead < Nanos::from_micros(100)
        && hdd.queue_patience > Nanos::from_secs(5)
}

fn has_batches(device: &Device) -> bool {
    let Model::Hdd(hdd) = &device.model else { return false };
    hdd.queue_depth >= 40 && (2..=8).contains(&hdd.completion_batch)
}

fn answers_at_once(device: &Device) -> bool {
    matches!(&device.model, Model::Hdd(hdd) if hdd.completion_batch == 1)
}

fn keeps_batches(device: &Device) -> bool {
    let Model::Hdd(hdd) = &device.model else { return false };
    hdd.completion_batch > 1
}

/// Returns whether a device completes writes before they are on the medium.
fn buffers(device: &Device) -> bool {
    device.model.volatile() >= Bytes::mib(1)
}

fn is_ssd(device: &Device) -> bool {
    matches!(device.model, Model::Ssd(_))
}

fn has_a_link(device: &Device) -> bool {
    !matches!(device.model, Model::Constant(_))
}

const PLANTED: [Planted; 13] = [
    (Bug::SkippedRotation, is_hdd, 100),
    (Bug::InstantSeek, seeks, 100),
    (Bug::ShortSeeks, seeks, 100),
    (Bug::ForgottenWait, hurries, 70),
    (Bug::MisjudgedWay, chooses_well, 100),
    (Bug::EndlessBatch, has_batches, 100),
    (Bug::KeptBatch, keeps_batches, 100),
    (Bug::EarlyAnswer, answers_at_once, 100),
    (Bug::LostFlush, buffers, 95),
    (Bug::LostFua, buffers, 95),
    (Bug::DieUsedTwice, is_ssd, 85),
    (Bug::HalfATransfer, has_a_link, 95),
    (Bug::TimeOfNoPage, is_ssd, 100),
];

#[test]
fn planted_bugs_are_found_on_random_devices() {
    for (bug, shows, percent) in PLANTED {
        let shown = devices(600).filter(|(_, _, device, _)| shows(device)).take(100);
        let found: Vec<(u64, bool)> = shown
            .map(|(number, _, device, mut random)| {
                (number, bug.plant(|| objection(&device, &mut random, 60)).is_some())
            })
            .collect();
        let missed: Vec<u64> =
            found.iter().filter(|(_, found)| !found).map(|(number, _)| *number).collect();
        let shown = found.len();
        assert!(shown >= 20 || ONE.is_some(), "{bug:?}: {shown} devices show it");
        assert!(
            (shown - missed.len()) * 100 >= shown * percent,
            "{bug:?} is missed on {} of {shown} devices: DISKLAB_RANDOM_DEVICE is one of \
             {missed:?}",
            missed.len()
        );
    }
}

use disklab_config::device::Device;
use disklab_config::host::HostTime;
use disklab_config::read::TomlReader;
use disklab_units::Random;

use super::*;
use crate::plant::Bug;
use crate::{Bank, Op, build_checked};

fn device(source: &str) -> Device {
    let read = TomlReader::new("d", source).read(|table| Device::read("d", table));
    read.unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// Returns the first violation in 4,000 reads and writes, sixteen at a time, with a flush whenever
/// 40 are done.
fn found(source: &str) -> Option<String> {
    let device = device(source);
    let mut disk = build_checked(&device.model, device.bytes, Seed(1));
    let mut random = Random::new(Seed(2));
    let (mut now, mut done) = (Nanos(0), Vec::new());
    for _ in 0..100 {
        for id in 0..40 {
            let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
            // Half of the places are near each other, so that caches and buffers are used.
            let blocks = if random.below(2) == 0 { 2_000 } else { device.bytes.0 / 4096 - 100 };
            let request = Request {
                id,
                op,
                sector: random.below(blocks) * 8,
                sectors: 8 << random.below(4),
                fua: op == Op::Write && random.below(8) == 0,
            };
            disk.submit(now, request);
            while disk.next_event().is_some() && id >= 16 && done.len() + 16 < id as usize {
                now = disk.next_event().unwrap_or(now);
                disk.advance(now, &mut done);
            }
        }
        finish(disk.as_mut(), &mut now);
        done.clear();
        disk.submit(now, Request { id: 40, op: Op::Flush, sector: 0, sectors: 0, fua: false });
        finish(disk.as_mut(), &mut now);
    }
    disk.violation().map(str::to_owned)
}

fn finish(disk: &mut dyn Disk, now: &mut Nanos) {
    while let Some(next) = disk.next_event() {
        *now = next;
        disk.advance(next, &mut Vec::new());
    }
}

const HDD: &str = include_str!("../../../../lab/devices/desktop-2tb.toml");
const NAS: &str = include_str!("../../../../lab/devices/nas-12tb.toml");
const NAS_4TB: &str = include_str!("../../../../lab/devices/nas-4tb.toml");
const FAST: &str = include_str!("../../../../lab/devices/enterprise-15k.toml");
const SSD: &str = include_str!("../../../../lab/devices/sata-ssd-1tb.toml");
const CARD: &str = include_str!("../../../../lab/devices/transcend-microsdhc.toml");
const EMMC: &str = include_str!("../../../../lab/devices/sandisk-emmc.toml");
const NVME: &str = include_str!("../../../../lab/devices/nvme-tlc-1920gb.toml");

/// Returns a hard disk with little patience that reports completions in batches.
fn impatient(source: &str) -> String {
    let changed = |line| match line {
        line if str::starts_with(line, "queue_patience = \"") => {
            "queue_patience = \"40 ms\"\ncompletion_batch = 4"
        }
        line => line,
    };
    source.lines().map(changed).collect::<Vec<_>>().join("\n")
}

/// Returns an SSD with all optional keys, whose buffer is soon full.
fn stalling() -> String {
    NVME.replace(
        "write_buffer = \"64 MiB\"",
        "link_command_read = \"5 us\"\nwrite_drain = \"48 KiB\"\nwrite_buffer = \"64 KiB\"",
    )
}

/// Returns the first violation of the host's times while two disks behind it serve reads.
fn found_of_host() -> Option<(usize, String)> {
    let host = HostTime {
        submit: Nanos::from_micros(8),
        complete: Nanos::from_micros(5),
        requests_per_second: Some(50_000),
        link: None,
    };
    let device = device(SSD);
    let disk = |seed| build_checked(&device.model, device.bytes, Seed(seed));
    let mut bank = Bank::new(vec![disk(1), disk(2)], None, Some(host));
    let (mut random, mut now, mut done) = (Random::new(Seed(3)), Nanos(0), Vec::new());
    for id in 0..400 {
        let sector = random.below(device.bytes.0 / 4096) * 8;
        let request = Request { id, op: Op::Read, sector, sectors: 8, fua: false };
        bank.submit(now, id as usize % 2, request);
        while done.len() + 24 < id as usize
            && let Some(next) = bank.next_event()
        {
            now = next;
            bank.advance(now, &mut done);
        }
    }
    bank.violations().map(|(disk, what)| (disk, what.to_owned())).next()
}

#[test]
fn the_host_takes_its_time() {
    assert_eq!(found_of_host(), None);
    let (_, found) = Bug::TwoRequestsAtOnce.plant(found_of_host).expect("a violation");
    assert!(found.contains("the host's processor takes"), "{found}");
}

/// Returns a device whose full stroke takes `full`.
fn with_full_stroke(source: &str, full: &str) -> String {
    let changed = |line| match line {
        line if str::starts_with(line, "seek_full = \"") => format!("seek_full = \"{full}\""),
        line => line.to_owned(),
    };
    source.lines().map(changed).collect::<Vec<_>>().join("\n")
}

/// With a full stroke of more than twice the average, the curve bends up: a third of the stroke
/// takes less than the average.
#[test]
fn a_slow_full_stroke_is_no_bug() {
    for full in ["8.5 ms", "10 ms", "30 ms", "100 ms"] {
        let slow = with_full_stroke(NAS_4TB, full);
        assert_eq!(found(&slow), None, "with {full}");
        let found = Bug::ShortSeeks.plant(|| found(&slow)).unwrap_or_default();
        assert!(found.contains("the data sheet says"), "with {full}: {found}");
    }
}

#[test]
fn models_keep_to_physics() {
    for source in [HDD, NAS, FAST, SSD, NVME, CARD, EMMC, &stalling()] {
        assert_eq!(found(source), None);
    }
    for source in [HDD, NAS, FAST] {
        assert_eq!(found(&impatient(source)), None);
    }
}

#[test]
fn planted_bugs_are_found() {
    let hasty = impatient(HDD);
    let stalling = stalling();
    for (bug, source, words) in [
        (Bug::SkippedRotation, HDD, "the platters are"),
        (Bug::InstantSeek, HDD, "the arm is there"),
        (Bug::ShortSeeks, HDD, "the data sheet says"),
        (Bug::ForgottenWait, &hasty, "went before it"),
        (Bug::MisjudgedWay, HDD, "the drive chooses an access"),
        (Bug::EndlessBatch, &hasty, "a batch is 4"),
        (Bug::KeptBatch, &hasty, "nothing is due"),
        (Bug::EarlyAnswer, HDD, "its data passed the head until"),
        (Bug::LostFlush, HDD, "a flush is done"),
        (Bug::LostFlush, SSD, "a flush is done"),
        (Bug::LostFua, HDD, "a write with FUA is done"),
        (Bug::LostFua, SSD, "a write with FUA is done"),
        (Bug::HalfATransfer, CARD, "could not take less"),
        (Bug::DieUsedTwice, SSD, "does Program in"),
        (Bug::HalfATransfer, HDD, "over the cable"),
        (Bug::HalfATransfer, SSD, "over the cable"),
        (Bug::TimeOfNoPage, NVME, "its pages take one of"),
        (Bug::TimeOfNoPage, &stalling, "its pages take one of"),
    ] {
        let found = bug.plant(|| found(source)).unwrap_or_default();
        assert!(found.contains(words), "{bug:?} in {}: {found}", device(source).summary);
    }
}

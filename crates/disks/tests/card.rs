//! Tests of memory cards and eMMC: fast in order, slow where units must be copied.

mod drive;

use disklab_config::device::{Card, Model};
use disklab_disks::{Disk, Op, Request, build_checked as build};
use disklab_units::{Bytes, Nanos, Random, Rate, Seed};
use drive::{
    ServedRequest, assert_near, closed_loop, device, iops, open, read, serve, throughput, write,
};

fn card(name: &str) -> (Card, Bytes) {
    let device = device(name);
    match device.model {
        Model::Card(card) => (card, device.bytes),
        other => panic!("{name} is not a card: {other:?}"),
    }
}

fn microsd_with(change: impl FnOnce(&mut Card)) -> Box<dyn Disk> {
    let (mut model, bytes) = card("transcend-microsdhc");
    change(&mut model);
    build(&Model::Card(model), bytes, Seed(1))
}

/// Returns the throughput of writes of 128 KiB to `streams` places 100 MiB apart in turn.
fn streams(disk: &mut dyn Disk, streams: u64) -> Rate {
    let next = |i: usize| write((i as u64 % streams) * 204_800 + i as u64 / streams * 256, 256);
    throughput(&closed_loop(disk, Nanos(0), 1, 1_000, next))
}

#[test]
fn a_card_of_class_6_writes_6_megabytes_a_second_and_reads_15_to_20() {
    let (mut disk, _) = open("transcend-microsdhc", 1);
    let written = streams(disk.as_mut(), 1);
    assert!((Rate(6_000_000)..Rate(9_000_000)).contains(&written), "{written}");
    let next = |i: usize| read(i as u64 * 256, 256);
    let rate = throughput(&closed_loop(disk.as_mut(), Nanos::from_secs(100), 1, 500, next));
    assert!((Rate(15_000_000)..Rate(20_000_000)).contains(&rate), "{rate}");
}

/// According to the survey, reads of 4 KiB take 0.5 to 1 ms anywhere, and a card does one to some
/// tens of random writes a second.
#[test]
fn random_reads_are_cheap_and_random_writes_are_not() {
    for (name, least, most) in [("transcend-microsdhc", 1.0, 5.0), ("sandisk-emmc", 2.0, 40.0)] {
        let (mut disk, sectors) = open(name, 1);
        let mut random = Random::new(Seed(2));
        let mut any = |op| Request { op, ..read(random.below(sectors / 8) * 8, 8) };
        let reads = iops(&closed_loop(disk.as_mut(), Nanos(0), 1, 200, |_| any(Op::Read)));
        assert!((1_000.0..4_000.0).contains(&reads), "{name}: {reads} reads a second");
        let start = Nanos::from_secs(10);
        let writes = iops(&closed_loop(disk.as_mut(), start, 1, 200, |_| any(Op::Write)));
        assert!((least..most).contains(&writes), "{name}: {writes} writes a second");
    }
}

/// Streams up to the number of open units are as fast as one stream. With one stream more, each
/// change of stream costs a copy.
#[test]
fn one_stream_more_than_open_units_is_a_cliff() {
    for open_units in [2, 5] {
        let rate = |count| {
            let mut disk =
                microsd_with(|model| (model.open_units, model.any_order) = (open_units, true));
            streams(disk.as_mut(), count).0 as f64
        };
        let alone = rate(1);
        assert_near("as many as can be open", rate(u64::from(open_units)), alone, 0.05);
        assert!(
            rate(u64::from(open_units) + 1) < alone / 8.0,
            "{open_units}: {}",
            rate(u64::from(open_units) + 1)
        );
    }
}

#[test]
fn going_back_costs_a_copy_unless_any_order_will_do() {
    let (model, _) = card("transcend-microsdhc");
    let unit = model.allocation_unit;
    let time = |any_order| {
        let mut disk = microsd_with(|model| model.any_order = any_order);
        let now = serve(disk.as_mut(), Nanos(0), write(2_048, 32));
        serve(disk.as_mut(), now, write(1_024, 32)) - now
    };
    let page = model.write_access + model.write_rate.time_for(model.page);
    assert_eq!(time(true), page);
    // Closing the unit copies all but the pages that were written or copied on the way. Then the
    // unit is opened and copied up to the new place.
    let passed = Bytes::kib(512);
    let closing = model.copy_rate.time_for(unit - Bytes::mib(1) - model.page) + model.erase_unit;
    assert_eq!(time(false), page + closing + model.copy_rate.time_for(passed));
}

/// Small writes in order continue in the page that they began, and do not count as out of order.
#[test]
fn small_writes_in_order_are_no_disorder() {
    let mut disk = microsd_with(|_| ());
    let served = closed_loop(disk.as_mut(), Nanos(10), 1, 1_000, |i| write(i as u64 * 8, 8));
    let (model, _) = card("transcend-microsdhc");
    let page = model.write_access + model.write_rate.time_for(model.page);
    let longest = served.iter().map(ServedRequest::latency).max().unwrap();
    assert_eq!(longest, page);
    assert_eq!(disk.counters().moved_sectors, 0);
}

/// Every byte of a closed unit was either written or copied, and none was counted twice.
#[test]
fn what_is_not_written_anew_is_copied() {
    let mut disk = microsd_with(|model| (model.open_units, model.any_order) = (1, true));
    let mut now = Nanos(0);
    for unit in 0..20 {
        now =
            serve(disk.as_mut(), now, write(unit * 8_192 + unit * 32, 32 * (unit as u32 % 3 + 1)));
    }
    let counters = disk.counters();
    let closed = 19;
    assert_eq!(counters.erased_blocks, closed);
    let last = 32 * (19 % 3 + 1);
    assert_eq!(counters.media_written_sectors - last, closed * 8_192);
}

#[test]
fn what_was_trimmed_is_not_copied() {
    let mut disk = microsd_with(|model| model.open_units = 1);
    let trim = Request { op: Op::Discard, ..write(0, 8_192 * 4) };
    let mut now = serve(disk.as_mut(), Nanos(0), trim);
    for unit in [0, 1, 2, 3] {
        now = serve(disk.as_mut(), now, write(unit * 8_192 + 800, 32));
    }
    assert_eq!(disk.counters().moved_sectors, 0);
    now = serve(disk.as_mut(), now, write(4 * 8_192, 32));
    serve(disk.as_mut(), now, write(0, 32));
    assert_eq!(disk.counters().moved_sectors, 8_192 - 32, "unit 4 was full");
}

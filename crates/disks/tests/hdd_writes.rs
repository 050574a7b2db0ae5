//! Tests of the write buffer of hard disks: early completion, destaging, flush.

mod drive;

use disklab_config::device::{Hdd, Model};
use disklab_disks::{Disk, Op, Request, build_checked as build};
use disklab_units::{Bytes, Nanos, Random, Rate, Seed};
use drive::{
    ServedRequest, assert_near, closed_loop, flush, hdd, iops, mean_latency, open, open_loop, read,
    revolution, serve, write,
};

fn model() -> Hdd {
    hdd("nas-4tb").0
}

fn build_with(change: impl FnOnce(&mut Hdd)) -> Box<dyn Disk> {
    let (mut model, bytes) = hdd("nas-4tb");
    change(&mut model);
    build(&Model::Hdd(model), bytes, Seed(1))
}

fn random_writes(disk: &mut dyn Disk, depth: usize, count: usize) -> Vec<ServedRequest> {
    let sectors = hdd("nas-4tb").1.sectors().0;
    let mut random = Random::new(Seed(3));
    closed_loop(disk, Nanos(0), depth, count, |_| write(random.below(sectors / 8) * 8, 8))
}

/// With a window of 1 a buffer is emptied in order of age, which is no faster than without a
/// buffer.
#[test]
fn a_write_cache_may_be_of_no_help() {
    let pace = |window, cache| {
        let mut disk = build_with(|model| {
            (model.write_window, model.write_cache) = (window, cache);
            model.write_buffer = Bytes::mib(1);
        });
        iops(&random_writes(disk.as_mut(), 1, 3_000)[1_000..])
    };
    let (helpful, useless, none) = (pace(64, true), pace(1, true), pace(1, false));
    assert!(helpful > useless * 1.8, "{helpful} and {useless}");
    assert_near("writes a second", useless, none, 0.05);
}

/// The time of a 4 KiB command that does not touch the medium.
fn buffered() -> Nanos {
    model().command_overhead + model().link.time_for(Bytes::kib(4))
}

#[test]
fn a_burst_is_taken_at_once_and_then_the_medium_sets_the_pace() {
    let mut disk = build_with(|model| model.write_buffer = Bytes::mib(4));
    let served = random_writes(disk.as_mut(), 1, 6_000);
    let (burst, stalled) = served.split_at(1_024);
    assert!(burst.iter().all(|served| served.latency() == buffered()), "4 MiB fit");
    let steady = iops(&stalled[2_000..]);
    assert!((120.0..400.0).contains(&steady), "{steady} writes a second");
    assert!(disk.counters().destages >= 4_900);
}

#[test]
fn sequential_writes_run_at_the_rate_of_their_zone() {
    for (depth, sectors) in [(1, 256), (1, 2048), (16, 2048)] {
        let mut disk = build_with(|_| ());
        let next = |i| write(i as u64 * u64::from(sectors), sectors);
        let served =
            closed_loop(disk.as_mut(), Nanos(0), depth, 2_000_000 / sectors as usize, next);
        let start = served.last().unwrap().at;
        let end = serve(disk.as_mut(), start, flush());
        let rate = Rate((2_000_000.0 * 512.0 / end.as_secs_f64()) as u64);
        assert_near("rate", rate.0 as f64, model().rate_outer.0 as f64, 0.03);
    }
}

#[test]
fn a_flush_waits_until_everything_is_on_the_medium() {
    let mut disk = build_with(|_| ());
    let served = random_writes(disk.as_mut(), 1, 100);
    let now = served.last().unwrap().at;
    assert!(disk.counters().destages < 5, "most of it is in the buffer");
    let done = serve(disk.as_mut(), now, flush());
    let counters = disk.counters();
    assert_eq!(
        (counters.destages, counters.media_written_sectors, counters.flushes),
        (100, 800, 1)
    );
    // Each of 100 scattered writes takes some milliseconds in a good order.
    assert!((200..900).contains(&((done - now).0 / 1_000_000)), "{}", done - now);
    let again = serve(disk.as_mut(), done, flush());
    assert_eq!(again - done, model().command_overhead, "now there is nothing to flush");
}

#[test]
fn nothing_passes_a_flush() {
    let mut disk = build_with(|_| ());
    let at = Nanos(0);
    let far = 4_000_000_000;
    let requests = [read(far, 8), write(far / 2, 8), flush(), read(0, 8), write(8, 8)];
    let served = open_loop(disk.as_mut(), requests.map(|request| (at, request)));
    let position = |request| served.iter().position(|served| served.request == request).unwrap();
    let order = requests.map(position);
    assert!(order[0] < order[2] && order[1] < order[2], "{order:?}");
    assert!(order[2] < order[3] && order[2] < order[4], "{order:?}");
    assert!(served[order[3]].started >= served[order[2]].at, "nothing is served beside a flush");
}

#[test]
fn what_was_written_is_read_from_the_buffer() {
    let mut disk = build_with(|_| ());
    // A first write keeps the mechanism busy.
    let requests = [write(0, 8), write(4_000_000_000, 64), read(4_000_000_008, 8)];
    let served = open_loop(disk.as_mut(), requests.map(|request| (Nanos(0), request)));
    assert!(served.iter().all(|served| served.at < Nanos::from_millis(1)), "{served:?}");
    let counters = disk.counters();
    assert_eq!((counters.cache_hits, counters.media_read_sectors), (1, 0));
}

#[test]
fn neighbours_go_to_the_medium_together_and_rewrites_once() {
    let mut disk = build_with(|_| ());
    let first = [write(4_000_000_000, 8)];
    let neighbours = (0..64).map(|i| write(i * 8, 8));
    let rewrites = (0..100).map(|_| write(1_000_000, 8));
    let all = first.into_iter().chain(neighbours).chain(rewrites).chain([flush()]);
    open_loop(disk.as_mut(), all.map(|request| (Nanos(0), request)));
    let counters = disk.counters();
    assert_eq!((counters.destages, counters.media_written_sectors), (3, 8 + 64 * 8 + 8));
}

#[test]
fn without_the_cache_or_with_fua_a_write_takes_its_access_time() {
    let model = model();
    let turn = revolution(&model);
    let sheet = model.command_overhead + model.seek_average + model.write_settle + turn / 2;

    let mut off = build_with(|model| model.write_cache = false);
    let served = random_writes(off.as_mut(), 1, 10_000);
    assert_near("cache off", mean_latency(&served), sheet.0 as f64, 0.02);
    assert_eq!(off.counters().media_written_sectors, 80_000);

    let mut fua = build_with(|_| ());
    let mut random = Random::new(Seed(3));
    let next = |_| Request { fua: true, ..write(random.below(970_000_000) * 8, 8) };
    let served = closed_loop(fua.as_mut(), Nanos(0), 1, 10_000, next);
    assert_near("FUA", mean_latency(&served), sheet.0 as f64, 0.02);
    assert_eq!(fua.counters().destages, 0);
}

/// Reads are served before the buffer is emptied, while no write waits for room.
#[test]
fn the_buffer_empties_when_the_disk_is_idle() {
    let mut disk = build_with(|_| ());
    random_writes(disk.as_mut(), 1, 50);
    let mut done = Vec::new();
    assert_eq!(disk.next_event(), None, "nobody waits for it");
    disk.advance(Nanos::from_secs(10), &mut done);
    assert_eq!((done.len(), disk.counters().destages), (0, 50));
}

#[test]
fn writes_beside_reads_do_not_starve() {
    let mut disk = build_with(|model| model.write_buffer = Bytes::kib(256));
    let mut random = Random::new(Seed(9));
    let next = |i| {
        let sector = random.below(900_000_000) * 8;
        if i % 2 == 0 { read(sector, 8) } else { write(sector, 8) }
    };
    let served = closed_loop(disk.as_mut(), Nanos(0), 32, 6_000, next);
    let longest = served.iter().map(ServedRequest::latency).max().unwrap();
    assert!(longest < Nanos::from_millis(2_500), "{longest}");
}

#[test]
fn zeroes_and_discards() {
    let (mut disk, sectors) = open("nas-4tb", 1);
    let zeroes = |sectors| Request { op: Op::WriteZeroes, ..write(0, sectors) };
    let done = serve(disk.as_mut(), Nanos(0), zeroes(2_000_000));
    let rate = Rate((2_000_000.0 * 512.0 / done.as_secs_f64()) as u64);
    assert_near("zeroes at the medium's rate", rate.0 as f64, model().rate_outer.0 as f64, 0.03);
    let discard = Request { op: Op::Discard, ..write(0, 2_000_000) };
    assert_eq!(serve(disk.as_mut(), done, discard) - done, model().command_overhead);
    // Beyond the end there is nothing to do.
    let now = done + Nanos::from_secs(1);
    assert_eq!(serve(disk.as_mut(), now, read(sectors, 8)) - now, model().command_overhead);
    assert_eq!(
        serve(disk.as_mut(), now, write(u64::MAX, u32::MAX)) - now,
        model().command_overhead * 2
    );
}

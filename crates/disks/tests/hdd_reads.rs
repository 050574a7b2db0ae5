//! Tests that reads of hard disks take the times of their data sheets.

mod drive;

use disklab_config::device::{Hdd, Model, Retries};
use disklab_disks::build_checked as build;
use disklab_units::{Bytes, Nanos, Random, Rate, Seed};
use drive::{
    ServedRequest, assert_near, closed_loop, hdd, hdds, iops, mean_latency, open, open_loop, read,
    revolution, serve, throughput,
};

/// Serves random reads of 4 KiB over the whole disk.
fn random_reads(name: &str, depth: usize, count: usize) -> Vec<ServedRequest> {
    let (mut disk, sectors) = open(name, 1);
    let mut random = Random::new(Seed(3));
    closed_loop(disk.as_mut(), Nanos(0), depth, count, |_| read(random.below(sectors / 8) * 8, 8))
}

#[test]
fn a_random_read_takes_overhead_seek_half_a_turn_and_transfer() {
    for name in &hdds() {
        let (model, _) = hdd(name);
        let rate = Rate(u64::midpoint(model.rate_outer.0, model.rate_inner.0));
        let transfer = rate.time_for(Bytes::kib(4));
        let sheet = model.command_overhead + model.seek_average + revolution(&model) / 2 + transfer;
        assert_near(name, mean_latency(&random_reads(name, 1, 20_000)), sheet.0 as f64, 0.02);
    }
}

#[test]
fn a_full_queue_gains_what_such_disks_gain() {
    // The first two ranges are from measurements of such disks; the gains of the others are not
    // known.
    for (name, least, most) in [
        ("nas-4tb", 2.2, 2.5),
        ("desktop-2tb", 1.6, 1.7),
        ("enterprise-8tb", 2.0, 2.7),
        ("enterprise-6tb", 2.0, 2.7),
    ] {
        let gain = iops(&random_reads(name, 32, 20_000)) / iops(&random_reads(name, 1, 20_000));
        assert!((least..=most).contains(&gain), "{name}: {gain} times");
    }
}

#[test]
fn sequential_reads_run_at_the_rate_of_their_zone() {
    for name in &hdds() {
        let (model, bytes) = hdd(name);
        for (depth, kib) in [(1, 128), (1, 1024), (4, 1024), (16, 1024)] {
            let sectors = kib * 2;
            let count = 1_000_000 / sectors;
            let from = |start: u64| {
                let (mut disk, _) = open(name, 1);
                let next = |i| read(start + i as u64 * u64::from(sectors), sectors);
                throughput(&closed_loop(disk.as_mut(), Nanos(0), depth, count as usize, next))
            };
            let what = format!("{name}, {kib} KiB at depth {depth}");
            assert_near(&what, from(0).0 as f64, model.rate_outer.0 as f64, 0.03);
            let inner = bytes.sectors().0 - 1_100_000;
            assert_near(&what, from(inner).0 as f64, model.rate_inner.0 as f64, 0.03);
        }
    }
}

/// The disk reads ahead while the reader thinks, so that each next read finds its data.
#[test]
fn a_slow_sequential_reader_never_waits_for_the_medium() {
    let (model, _) = hdd("nas-4tb");
    let (mut disk, _) = open("nas-4tb", 1);
    let hit = model.command_overhead + model.link.time_for(Bytes::kib(64));
    let (mut now, mut waited) = (serve(disk.as_mut(), Nanos(0), read(0, 128)), 0);
    for i in 1..2_000 {
        now += Nanos::from_micros(500);
        let done = serve(disk.as_mut(), now, read(i * 128, 128));
        waited += u32::from(done - now > hit);
        now = done;
    }
    assert!(waited <= 1, "{waited} of 2000 reads waited");
    assert!(disk.counters().cache_hits >= 1_998);
}

/// The look-ahead alternates between the readers' segments.
#[test]
fn several_slow_sequential_readers_hardly_wait() {
    let (model, _) = hdd("nas-4tb");
    let (mut disk, _) = open("nas-4tb", 1);
    let hit = model.command_overhead + model.link.time_for(Bytes::kib(64));
    let (mut now, mut waited) = (Nanos(0), 0);
    for i in 0..4_000 {
        let (reader, turn) = (i % 4, i / 4);
        let start = now + Nanos::from_millis(1);
        now = serve(disk.as_mut(), start, read(reader * 1_000_000_000 + turn * 128, 128));
        waited += u32::from(now - start > hit);
    }
    assert!(waited < 100, "{waited} of 4000 reads waited");
}

#[test]
fn what_was_read_is_in_the_cache() {
    let (model, _) = hdd("nas-4tb");
    let (mut disk, _) = open("nas-4tb", 1);
    let hit = model.command_overhead + model.link.time_for(Bytes::kib(4));
    let far = 4_000_000_000;
    let mut now = serve(disk.as_mut(), Nanos(0), read(far, 8));
    now = serve(disk.as_mut(), now, read(0, 8));
    assert_eq!(serve(disk.as_mut(), now, read(far, 8)) - now, hit);
    now += hit;
    // The cache also has the sectors that the look-ahead read behind it, if it had the time.
    let behind = serve(disk.as_mut(), now, read(16, 8)) - now;
    assert_eq!(behind, hit);
    assert_eq!(disk.counters().cache_hits, 2);
}

/// Sectors behind the end of the look-ahead are not in the cache, not even those that it would have
/// reached by now had it continued.
#[test]
fn what_the_look_ahead_did_not_come_to_is_not_in_the_cache() {
    let (model, _) = hdd("nas-4tb");
    let reads = 40;
    let beyond = model.look_ahead.sectors().0 + 64;
    let waited = |index: u64| {
        let (mut disk, _) = open("nas-4tb", index);
        let now = serve(disk.as_mut(), Nanos(0), read(0, 8)) + Nanos::from_millis(200);
        serve(disk.as_mut(), now, read(beyond + index * 333, 8)) - now
    };
    let mean = (0..reads).map(|index| waited(index).0).sum::<u64>() / reads;
    // The platters are at any angle, so the wait is half a turn on average.
    let half = revolution(&model).0 / 2;
    assert!(mean > half / 2, "{} on average, half a turn is {}", Nanos(mean), Nanos(half));
}

/// A read that begins in the cache and ends beyond it needs the rest only.
#[test]
fn a_read_half_in_the_cache_waits_for_the_other_half() {
    let (model, bytes) = hdd("nas-4tb");
    let model = Hdd { look_ahead: Bytes(0), ..model };
    let mut disk = build(&Model::Hdd(model.clone()), bytes, Seed(1));
    let now = serve(disk.as_mut(), Nanos(0), read(0, 1_000));
    let done = serve(disk.as_mut(), now, read(500, 1_000));
    // The data passes again after a turn, minus the time of the overhead and of 500 sectors.
    let turn = revolution(&model);
    assert!(done - now < turn + turn / 4, "{}", done - now);
    assert_eq!(disk.counters().media_read_sectors, 1_500);
}

/// A sequential stream is served in order even where a change of track makes a later command a
/// little nearer than the next one.
#[test]
fn a_sequential_stream_is_served_in_order() {
    for name in &hdds() {
        let (mut disk, _) = open(name, 1);
        let served =
            closed_loop(disk.as_mut(), Nanos(0), 16, 1_000, |i| read(i as u64 * 2048, 2048));
        assert!(served.is_sorted_by_key(|served| served.request.sector), "{name}");
    }
}

#[test]
fn data_is_read_once_for_all_who_wait_for_it() {
    let (mut disk, _) = open("nas-4tb", 1);
    let requests = [read(4_000_000_000, 8), read(0, 8), read(0, 8), read(4, 8)];
    let served = open_loop(disk.as_mut(), requests.map(|request| (Nanos(0), request)));
    let near = |served: &&ServedRequest| served.request.sector < 8;
    let (first, last) = (served.iter().find(near).unwrap(), served.iter().rfind(near).unwrap());
    assert!(last.at - first.at < Nanos::from_micros(200), "{} and {}", first.at, last.at);
    assert_eq!(served.len(), 4);
}

/// If there are always requests nearby, a distant one waits about as long as the patience and no
/// longer.
#[test]
fn nobody_starves_beyond_the_patience() {
    let (model, bytes) = hdd("nas-4tb");
    let far = |queue_patience| {
        let model = Hdd { queue_patience, ..model.clone() };
        let mut disk = build(&Model::Hdd(model), bytes, Seed(1));
        let mut random = Random::new(Seed(5));
        let served = closed_loop(disk.as_mut(), Nanos(0), 32, 3_000, |i| {
            if i == 40 { read(7_000_000_000, 8) } else { read(random.below(100_000) * 8, 8) }
        });
        let longest = served.iter().map(ServedRequest::latency).max().unwrap();
        let far =
            served.iter().find(|served| served.request.sector == 7_000_000_000).unwrap().latency();
        (far, longest)
    };
    let limit = Nanos::from_millis(300);
    let (latency, longest) = far(limit);
    let one_service = model.seek_full + revolution(&model) * 2;
    assert!(latency > limit / 4 && latency < limit + one_service * 32, "far: {latency}");
    assert!(longest < limit + one_service * 32, "longest: {longest}");
    let (patient, _) = far(Nanos::from_secs(60));
    assert!(patient > Nanos::from_secs(2), "without the limit it would have waited: {patient}");
}

/// Returns the IOPS and the sorted latencies of random reads over the whole disk.
fn queued_reads(model: Hdd, bytes: Bytes, depth: usize) -> (f64, Vec<Nanos>) {
    let mut disk = build(&Model::Hdd(model), bytes, Seed(1));
    let mut random = Random::new(Seed(3));
    let next = |_| read(random.below(bytes.0 / 4096) * 8, 8);
    let served = closed_loop(disk.as_mut(), Nanos(0), depth, 6_000, next);
    let mut latencies: Vec<Nanos> = served.iter().map(ServedRequest::latency).collect();
    latencies.sort_unstable();
    (iops(&served), latencies)
}

/// The more a drive errs about the time to reach its commands, the less it gains by choosing.
/// Without a choice it loses nothing. If the arm hardly moves, the error is small.
#[test]
fn errors_cost_a_drive_its_choice() {
    let (model, bytes) = hdd("desktop-1tb");
    let model = Hdd { queue_patience: Nanos::from_secs(60), ..model };
    let with = |ms, bytes, depth| {
        let model = Hdd { queue_error: Nanos::from_millis(ms), ..model.clone() };
        queued_reads(model, bytes, depth).0
    };
    let gain = |ms, bytes| with(ms, bytes, 32) / with(0, bytes, 1);
    let [none, some, more] = [0, 8, 24].map(|ms| gain(ms, bytes));
    assert!(none > some * 1.1 && some > more * 1.1, "{none}, {some}, {more}");
    assert_near("no choice", with(24, bytes, 1), with(0, bytes, 1), 0.001);
    let short = |ms| within(&Hdd { queue_error: Nanos::from_millis(ms), ..model.clone() }, bytes);
    assert_near("short ways", short(500), short(24), 0.1);
}

/// Returns the IOPS of a disk at depth 32 within its first 1 GiB.
fn within(model: &Hdd, bytes: Bytes) -> f64 {
    let mut disk = build(&Model::Hdd(model.clone()), bytes, Seed(1));
    let mut random = Random::new(Seed(3));
    let next = |_| read(random.below(1 << 18) * 8, 8);
    iops(&closed_loop(disk.as_mut(), Nanos(0), 32, 6_000, next))
}

/// Less patience shortens the longest waits and costs IOPS, gradually, down to the order of
/// arrival.
#[test]
fn patience_bounds_waits_without_a_cliff() {
    let (model, bytes) = hdd("nas-4tb");
    let model = Hdd { queue_error: Nanos::ZERO, ..model };
    let with = |ms| {
        let queue_patience = Nanos::from_millis(ms);
        let (iops, waits) = queued_reads(Hdd { queue_patience, ..model.clone() }, bytes, 32);
        let percentile = |percent: usize| waits[(waits.len() - 1) * percent / 100].0 as f64;
        (iops, percentile(99), percentile(99) / percentile(50))
    };
    let steps = [20_000, 5_000, 2_000, 1_000, 500, 250, 120, 60, 30].map(with);
    for pair in steps.windows(2) {
        let [(faster, _, wide), (slower, _, narrow)] = pair else { unreachable!("windows of two") };
        assert!(slower < &(faster * 1.02) && slower > &(faster * 0.75), "{steps:?}");
        assert!(narrow < &(wide * 1.02), "{steps:?}");
    }
    assert!(steps[0].0 > steps[8].0 * 1.8, "{steps:?}");
    assert!(steps[0].1 > steps[4].1 * 1.5, "{steps:?}");
    assert!(steps[8].2 < 1.3, "{steps:?}");
}

/// At depth 8, all eight commands are reported at one time, so that each waits for all.
#[test]
fn a_batch_is_reported_at_once() {
    let (model, bytes) = hdd("desktop-1tb");
    let latencies = |completion_batch, depth| {
        queued_reads(Hdd { completion_batch, ..model.clone() }, bytes, depth).1
    };
    let spread = |latencies: &[Nanos]| {
        latencies[latencies.len() * 9 / 10].0 as f64 / latencies[latencies.len() / 10].0 as f64
    };
    let (at_once, one_by_one) = (spread(&latencies(11, 8)), spread(&latencies(1, 8)));
    assert!(at_once < 1.4 && one_by_one > 3.0, "{at_once} and {one_by_one}");
    assert_eq!(latencies(11, 1), latencies(1, 1), "none waits for others that are not there");
}

#[test]
fn two_disks_of_a_kind_turn_differently() {
    let latencies = |seed| {
        let (mut disk, sectors) = open("nas-4tb", seed);
        let mut random = Random::new(Seed(3));
        let served =
            closed_loop(disk.as_mut(), Nanos(0), 1, 500, |_| read(random.below(sectors), 8));
        served.iter().map(ServedRequest::latency).collect::<Vec<_>>()
    };
    let (one, same, other) = (latencies(1), latencies(1), latencies(2));
    assert_eq!(one, same);
    assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 5);
}

/// The disk needs one call for each request, not one for each step inside it.
#[test]
fn a_lone_request_wakes_its_caller_once() {
    let (mut disk, sectors) = open("nas-4tb", 1);
    let mut random = Random::new(Seed(3));
    let mut now = Nanos(0);
    let mut done = Vec::new();
    for _ in 0..1_000 {
        disk.submit(now, read(random.below(sectors), 8));
        now = disk.next_event().expect("a request is under way");
        disk.advance(now, &mut done);
        assert_eq!(done.drain(..).count(), 1);
    }
    assert_eq!(disk.next_event(), None);
}

/// About a hundredth of the reads takes some turns more, and the others take the same time as
/// without retries.
#[test]
fn retries_are_rare_and_take_whole_turns() {
    let (model, bytes) = hdd("nas-4tb");
    let latencies = |retries| {
        let model = Hdd { look_ahead: Bytes::ZERO, retries, ..model.clone() };
        let mut disk = build(&Model::Hdd(model), bytes, Seed(1));
        let mut random = Random::new(Seed(2));
        let sectors: Vec<u64> = (0..20_000).map(|_| random.below(bytes.0 / 4096) * 8).collect();
        // The reads are so far apart that no retry affects a later read.
        let at = |i: usize| Nanos::from_secs(i as u64);
        let served = open_loop(
            disk.as_mut(),
            sectors.iter().enumerate().map(|(i, &sector)| (at(i), read(sector, 8))),
        );
        served.iter().map(ServedRequest::latency).collect::<Vec<_>>()
    };
    let (plain, tried) = (latencies(None), latencies(Some(Retries { one_in: 100, turns: 4 })));
    let more: Vec<Nanos> =
        plain.iter().zip(&tried).filter(|(a, b)| a != b).map(|(&a, &b)| b - a).collect();
    assert!((150..250).contains(&more.len()), "{} of 20000", more.len());
    let turn = *more.iter().min().unwrap();
    assert_near("a turn", turn.0 as f64, revolution(&model).0 as f64, 0.001);
    for turns in 1..=4 {
        let count = more.iter().filter(|&&time| time == turn * turns).count();
        assert!((25..80).contains(&count), "{count} times {turns} turns");
    }
}

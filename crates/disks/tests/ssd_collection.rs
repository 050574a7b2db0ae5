//! Tests of how an SSD makes room for writes (garbage collection, trim, the SLC cache), and of its
//! reads meanwhile.

mod drive;

use disklab_config::device::{Device, Model, Preconditioned, Slc, Ssd};
use disklab_config::read::TomlReader;
use disklab_disks::{Counters, Disk, Op, Request, build_checked as build};
use disklab_units::{Bytes, Nanos, Random, Rate, Seed};
use drive::{
    ServedRequest, assert_near, closed_loop, flush, iops, read, serve, ssd, throughput, write,
};

const SIZE: Bytes = Bytes::gib(1);
const BLOCKS_OF_4K: u64 = SIZE.0 / 4096;

/// Returns a small drive that is soon full: 8 dies of 160 blocks of 1 MiB.
fn small() -> Ssd {
    Ssd {
        channels: 4,
        dies_per_channel: 2,
        pages_per_block: 64,
        raw_size: Bytes::mib(1280),
        write_buffer: Bytes::mib(4),
        link: Rate(8_000_000_000),
        link_command: Nanos(100),
        ..ssd("sata-ssd-1tb").0
    }
}

fn build_with(change: impl FnOnce(&mut Ssd)) -> Box<dyn Disk> {
    let mut model = small();
    change(&mut model);
    build(&Model::Ssd(model), SIZE, Seed(1))
}

fn since(disk: &dyn Disk, before: Counters) -> (u64, u64) {
    let now = disk.counters();
    (
        now.media_written_sectors - before.media_written_sectors,
        now.moved_sectors - before.moved_sectors,
    )
}

/// Serves random writes of 4 KiB, `times` the disk's size in total.
fn random_writes(disk: &mut dyn Disk, start: Nanos, times: f64, seed: u64) -> Vec<ServedRequest> {
    let mut random = Random::new(Seed(seed));
    let count = (BLOCKS_OF_4K as f64 * times) as usize;
    closed_loop(disk, start, 32, count, |_| write(random.below(BLOCKS_OF_4K) * 8, 8))
}

/// Returns the write amplification since `before`: sectors written to the medium, divided by those
/// that the host wrote in `served`.
fn amplification(disk: &dyn Disk, before: Counters, served: &[ServedRequest]) -> f64 {
    let host: u64 = served.iter().map(|served| u64::from(served.request.sectors)).sum();
    since(disk, before).0 as f64 / host as f64
}

/// Returns the write amplification of greedy collection under uniform random writes in its steady
/// state. If the fraction `rho` of the blocks in use is valid, and `u` of the chosen block, then
/// rho = (u - 1) / ln u, and each page of the host costs 1 / (1 - u) (Desnoyers, "Analytic modeling
/// of SSD write performance", 2012).
fn theory(rho: f64) -> f64 {
    let (mut low, mut high) = (1e-9, 1.0 - 1e-9);
    for _ in 0..200 {
        let u: f64 = f64::midpoint(low, high);
        if (u - 1.0) / u.ln() < rho { low = u } else { high = u }
    }
    1.0 / (1.0 - low)
}

/// Returns the expected write amplification for `flash_mib` of flash. In each die four blocks of 1
/// MiB are not in use: three are empty, and one half-written and one half-moved block count as one.
fn amplification_expected(flash_mib: u64) -> f64 {
    theory(SIZE.0 as f64 / Bytes::mib(flash_mib - 8 * 4).0 as f64)
}

#[test]
fn random_writes_are_amplified_as_theory_says() {
    for flash in [1_280, 1_160] {
        let mut disk = build_with(|model| model.raw_size = Bytes::mib(flash));
        let warm = random_writes(disk.as_mut(), Nanos(0), 3.0, 1);
        let before = disk.counters();
        let served = random_writes(disk.as_mut(), warm.last().unwrap().at, 1.0, 2);
        let found = amplification(disk.as_ref(), before, &served);
        assert_near(&format!("{flash} MiB"), found, amplification_expected(flash), 0.05);
    }
}

/// A disk preconditioned at random is in the state to which long random writing leads.
#[test]
fn a_preconditioned_disk_is_in_the_steady_state_from_the_start() {
    let at_random = |model: &mut Ssd| model.preconditioned = Preconditioned::AtRandom;
    let mut disk = build_with(at_random);
    let before = disk.counters();
    let served = random_writes(disk.as_mut(), Nanos(0), 0.3, 1);
    let amplification = amplification(disk.as_ref(), before, &served);
    assert_near("amplification", amplification, amplification_expected(1_280), 0.05);

    let mut written = build_with(|_| ());
    let warm = random_writes(written.as_mut(), Nanos(0), 3.0, 1);
    let later = random_writes(written.as_mut(), warm.last().unwrap().at, 0.3, 2);
    assert_near("writes a second", iops(&served), iops(&later), 0.05);
}

#[test]
fn sequential_writes_are_not_amplified() {
    let mut disk = build_with(|_| ());
    let whole = SIZE.sectors().0;
    let next = |i: usize| write(i as u64 * 256 % whole, 256);
    let count = (whole / 256 * 3) as usize;
    let served = closed_loop(disk.as_mut(), Nanos(0), 8, count, next);
    let amplification = amplification(disk.as_ref(), Counters::default(), &served);
    assert!(amplification < 1.01, "{amplification}");
    let erased = disk.counters().erased_blocks;
    assert!(erased > 2 * 1024, "{erased} blocks of 1 MiB were used again");
}

/// Writing slows down gradually as collection sets in, and never stops for long.
#[test]
fn the_onset_of_collection_is_gradual() {
    let mut disk = build_with(|_| ());
    let served = random_writes(disk.as_mut(), Nanos(0), 2.0, 1);
    let (fresh, steady) = (&served[2_000..40_000], &served[served.len() - 100_000..]);
    let slower = iops(fresh) / iops(steady);
    assert!((3.0..6.0).contains(&slower), "slower by {slower}");
    let longest = served.iter().map(ServedRequest::latency).max().unwrap();
    assert!(longest < Nanos::from_millis(50), "{longest}");
}

#[test]
fn what_was_trimmed_is_not_moved() {
    let mut disk = build_with(|_| ());
    let warm = random_writes(disk.as_mut(), Nanos(0), 1.5, 1);
    let half = SIZE.sectors().0 / 2;
    let trim = Request { op: Op::Discard, ..write(half, half as u32) };
    let now = serve(disk.as_mut(), warm.last().unwrap().at, trim);
    // Only half of the disk is in use now. Collection has as much room as if the disk were half as
    // large.
    let mut random = Random::new(Seed(2));
    let mut half_of_it = |disk: &mut dyn Disk, now, count| {
        closed_loop(disk, now, 32, count, |_| write(random.below(BLOCKS_OF_4K / 2) * 8, 8))
    };
    let warm = half_of_it(disk.as_mut(), now, 500_000);
    let before = disk.counters();
    let served = half_of_it(disk.as_mut(), warm.last().unwrap().at, 100_000);
    let found = amplification(disk.as_ref(), before, &served);
    assert_near("amplification", found, theory(512.0 / (1_280.0 - 32.0)), 0.05);
    // Trimmed sectors are not read from the medium.
    let read_before = disk.counters().media_read_sectors;
    let now = serve(disk.as_mut(), served.last().unwrap().at, read(half + 800, 8));
    assert_eq!(disk.counters().media_read_sectors, read_before);
    serve(disk.as_mut(), now, read(800, 8));
    assert_eq!(disk.counters().media_read_sectors, read_before + 8);
}

#[test]
fn what_is_in_the_buffer_is_read_from_there() {
    let mut disk = build_with(|_| ());
    let now = serve(disk.as_mut(), Nanos(0), write(800, 8));
    let done = serve(disk.as_mut(), now, read(800, 8));
    assert!(done - now < small().read_page[0], "{}", done - now);
    assert_eq!(disk.counters().cache_hits, 1);
    let flushed = serve(disk.as_mut(), done, flush());
    let later = serve(disk.as_mut(), flushed, read(800, 8));
    assert!(later - flushed > small().read_page[0]);
}

fn with_slc(model: &mut Ssd) {
    let (read_page, program_page) = (Nanos::from_micros(20), Nanos::from_micros(100));
    // There is so much flash that nothing else is collected.
    model.raw_size = Bytes::gib(2);
    model.program_page = Nanos::from_millis(2);
    model.slc = Some(Slc { cache: Bytes::mib(48), cell_bits: 3, read_page, program_page });
}

#[test]
fn the_slc_cache_is_fast_until_it_is_full_and_again_after_a_rest() {
    let mut disk = build_with(with_slc);
    let row = Bytes::kib(16).0 as f64 * 8.0;
    let mut next_sector = 0;
    let mut burst = |disk: &mut dyn Disk, start: Nanos, mib: u64| {
        let served = closed_loop(disk, start, 8, (mib * 8) as usize, |i| {
            write(next_sector + i as u64 * 256, 256)
        });
        next_sector += mib * 2048;
        served
    };
    let transfer = small().channel.time_for(Bytes::kib(16)).as_secs_f64();
    let served = burst(disk.as_mut(), Nanos(0), 150);
    // The buffer of 4 MiB takes the first writes at once, so these are left out.
    let fast = throughput(&served[8 * 8..44 * 8]).0 as f64;
    assert_near("in the cache", fast, row / (100e-6 + transfer), 0.05);
    let slow = throughput(&served[60 * 8..]).0 as f64;
    assert_near("behind it", slow, row / (2e-3 + transfer), 0.05);

    let end = served.last().unwrap().at;
    let at_once = throughput(&burst(disk.as_mut(), end, 20)[8 * 8..]).0 as f64;
    assert_near("without a rest", at_once, row / (2e-3 + transfer), 0.1);
    let rested = end + Nanos::from_secs(10);
    let again = throughput(&burst(disk.as_mut(), rested, 40)[8 * 8..]).0 as f64;
    assert_near("after a rest", again, row / (100e-6 + transfer), 0.05);
    let moved = disk.counters().moved_sectors as f64;
    assert_near("moved: all that was in the cache", moved, Bytes::mib(48).sectors().0 as f64, 0.05);
}

#[test]
fn slc_pages_are_read_in_their_own_time() {
    let mut disk = build_with(with_slc);
    let written = serve(disk.as_mut(), Nanos(0), write(0, 32));
    let now = serve(disk.as_mut(), written, flush());
    let time = |disk: &mut dyn Disk, now, sector| serve(disk, now, read(sector, 8)) - now;
    let fast = time(disk.as_mut(), now, 0);
    let slow = time(disk.as_mut(), now + Nanos::from_millis(10), 80_000);
    assert_eq!(slow - fast, small().read_page[0] - Nanos::from_micros(20));
}

/// A read during a program operation waits for its end, or for as long as an interruption takes.
#[test]
fn reads_interrupt_programs_where_they_can() {
    let longest = |suspend| {
        let mut disk = build_with(|model| {
            (model.channels, model.dies_per_channel) = (1, 1);
            (model.program_page, model.suspend) = (Nanos::from_millis(2), suspend);
        });
        let now = serve(disk.as_mut(), Nanos(0), write(0, 32));
        let at = now + Nanos::from_micros(300);
        serve(disk.as_mut(), at, read(8_000, 8)) - at
    };
    let suspend = Nanos::from_micros(20);
    let alone = small().read_page[0];
    let (waits, interrupts) = (longest(None), longest(Some(suspend)));
    assert!(waits > Nanos::from_micros(1_600), "{waits}");
    assert!(interrupts > alone + suspend && interrupts < alone * 2 + suspend, "{interrupts}");
}

/// An interrupted program operation makes progress: it runs for as long as it was stopped.
#[test]
fn reads_do_not_hold_up_a_program_for_ever() {
    let mut disk = build_with(|model| {
        (model.channels, model.dies_per_channel) = (1, 1);
        (model.program_page, model.suspend) = (Nanos::from_millis(2), Some(Nanos::from_micros(20)));
    });
    let now = serve(disk.as_mut(), Nanos(0), write(0, 32));
    closed_loop(disk.as_mut(), now, 16, 200, |i| read(8_000 + i as u64 * 32, 8));
    assert_eq!(disk.counters().destages, 1, "programmed beside 200 reads");
}

#[test]
fn a_protected_buffer_has_nothing_to_flush() {
    let mut disk =
        build_with(|model| (model.power_loss_protection, model.flush) = (true, Nanos(0)));
    let now = serve(disk.as_mut(), Nanos(0), Request { fua: true, ..write(0, 8) });
    let done = serve(disk.as_mut(), now, flush());
    assert_eq!(disk.counters().destages, 0);
    let overhead = small().command_overhead + small().link_command;
    assert_eq!(done - now, overhead);
    assert!(now < overhead * 2, "{now}");
}

/// A read gets the data written last, whatever older copy is left in the buffer.
#[test]
fn what_was_written_last_counts() {
    let mut disk = build_with(|model| model.channels = 1);
    serve(disk.as_mut(), Nanos(0), write(0, 32));
    // The row of the first write goes to the medium; the second write stays in the buffer, because
    // it is a part of a row.
    let now = serve(disk.as_mut(), Nanos::from_micros(100), write(0, 8)) + Nanos::from_millis(5);
    let done = serve(disk.as_mut(), now, read(0, 8));
    assert_eq!(disk.counters().cache_hits, 1, "{}", done - now);
}

/// A read that may not interrupt at once does so as soon as it may.
#[test]
fn a_second_read_waits_until_a_program_has_got_on() {
    let mut disk = build_with(|model| {
        (model.channels, model.dies_per_channel) = (1, 1);
        (model.program_page, model.suspend) = (Nanos::from_millis(2), Some(Nanos::from_micros(20)));
    });
    let now = serve(disk.as_mut(), Nanos(0), write(0, 32));
    let first = serve(disk.as_mut(), now + Nanos::from_micros(300), read(8_000, 8));
    let at = first + Nanos::from_micros(10);
    let second = serve(disk.as_mut(), at, read(16_000, 8)) - at;
    // The program runs for as long as it was stopped: the time of the first read and of the
    // interruption.
    assert!(second < small().read_page[0] * 4, "{second}");
}

/// A device with the least room that the reader accepts never stops.
#[test]
fn the_least_room_is_enough() {
    let (block, dies) = (Bytes::mib(4), 1);
    for (blocks, at_random) in [(300, false), (60, true)] {
        let bytes = Bytes(block.0 * blocks * dies);
        let source = |raw: u64| {
            let text = std::fs::read_to_string(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../lab/devices/sata-ssd-1tb.toml"
            ))
            .unwrap();
            let sizes = [
                ("size = \"1 TB\"", format!("size = \"{} B\"", bytes.0)),
                ("raw_size = \"1024 GiB\"", format!("planes = 4\nraw_size = \"{} MiB\"", raw * 4)),
                ("pages_per_block = 2048", "pages_per_block = 64".into()),
                ("channels = 8", "channels = 1".into()),
                ("dies_per_channel = 2", "dies_per_channel = 1".into()),
            ];
            sizes.iter().fold(text, |text, (old, new)| {
                assert!(text.contains(old));
                text.replacen(old, new, 1)
            })
        };
        let read = |raw| TomlReader::new("d", &source(raw)).read(|table| Device::read("d", table));
        let least = (blocks..blocks * 2).find(|&raw| read(raw).is_ok()).unwrap();
        let Ok(Device { model: Model::Ssd(mut model), .. }) = read(least) else { panic!("an SSD") };
        if at_random {
            model.preconditioned = Preconditioned::AtRandom;
        }
        let mut disk = build(&Model::Ssd(model), bytes, Seed(1));
        let mut random = Random::new(Seed(2));
        let next = |_| write(random.below(bytes.0 / 4096) * 8, 8);
        closed_loop(disk.as_mut(), Nanos(0), 32, 60_000, next);
    }
}

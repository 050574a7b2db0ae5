//! Tests of the properties that every disk has under any requests.

mod drive;

use disklab_config::device::{Model, Preconditioned, Slc};
use disklab_disks::{Completion, Disk, Op, Request, build_checked as build};
use disklab_units::{Bytes, Nanos, Seed};
use drive::{device, flush};
use proptest::prelude::*;

const DEVICES: [&str; 6] = [
    "nas-4tb",
    "laptop-1tb",
    "sata-ssd-1tb",
    "transcend-microsdhc",
    "sandisk-emmc",
    "constant-50us",
];

const SMALL: Bytes = Bytes::mib(1_000);

/// Returns a device with small buffers and queues, which short sequences of requests fill.
fn cramped(name: &str, kind: u8) -> (Model, Bytes) {
    let mut device = device(name);
    match &mut device.model {
        Model::Hdd(hdd) => {
            hdd.write_buffer = Bytes::kib(64);
            hdd.cache = Bytes::mib(1);
            hdd.cache_segments = 3;
            hdd.queue_depth = 6;
            hdd.queue_patience = Nanos::from_millis(40);
            if kind & 1 > 0 {
                hdd.queue_error = Nanos::from_millis(10);
                hdd.completion_batch = 3;
            }
        }
        Model::Ssd(ssd) => {
            ssd.write_buffer = Bytes::kib(64);
            // The counting allocator of these tests fills a map with zeros, which takes long on a
            // large disk.
            device.bytes = SMALL;
            ssd.raw_size = Bytes(SMALL.0 / 4 * 5);
            ssd.pages_per_block = 64;
            ssd.suspend = Some(Nanos::from_micros(20));
            ssd.queue_depth = 6;
            ssd.queued_flush = kind & 1 > 0;
            ssd.preconditioned =
                if kind & 2 > 0 { Preconditioned::AtRandom } else { Preconditioned::InOrder };
            ssd.slc = (kind & 4 > 0).then(|| Slc {
                cache: Bytes::mib(1),
                cell_bits: 3,
                read_page: Nanos::from_micros(20),
                program_page: Nanos::from_micros(100),
            });
            ssd.read_page = [50, 80, 110].map(Nanos::from_micros).to_vec();
        }
        Model::Card(_) | Model::Constant(_) => {}
    }
    (device.model, device.bytes)
}

/// Draws a request and the pause before it, in ns.
fn request() -> impl Strategy<Value = (u64, Request)> {
    let op = prop_oneof![
        6 => Just(Op::Read),
        6 => Just(Op::Write),
        1 => Just(Op::Flush),
        1 => Just(Op::Discard),
        1 => Just(Op::WriteZeroes),
    ];
    // There are few places, so that requests overlap. Some are at the end of the disk or beyond.
    let sector = prop_oneof![
        6 => 0..3_000_u64,
        2 => (0..40_u64).prop_map(|block| block * 40_000_000),
        1 => 1_953_525_000..1_953_525_400_u64,
        1 => SMALL.sectors().0 - 200..SMALL.sectors().0 + 200,
        1 => any::<u64>(),
    ];
    let sectors = prop_oneof![8 => 1..300_u32, 1 => 0..4_000_u32];
    let pause = prop_oneof![4 => Just(0), 4 => 0..300_000_u64, 2 => 0..60_000_000_u64];
    (pause, op, sector, sectors, prop::bool::weighted(0.1)).prop_map(
        |(pause, op, sector, sectors, fua)| {
            let sectors = if op == Op::Flush { 0 } else { sectors };
            (pause, Request { id: 0, op, sector, sectors, fua })
        },
    )
}

/// Serves the requests as they come. Calls the disk when it asks for that, and also after the times
/// in `extra` (ns, in turn). Checks every call.
fn run(
    disk: &mut dyn Disk,
    requests: &[(u64, Request)],
    extra: &[u64],
) -> Result<Vec<Completion>, TestCaseError> {
    let mut now = 0;
    let mut all: Vec<Completion> = Vec::new();
    let mut submitted = Vec::new();
    let mut extra = extra.iter().cycle();
    let mut advance = |disk: &mut dyn Disk, now: u64, submitted: &[u64]| {
        let promised = disk.next_event();
        let before = all.len();
        disk.advance(Nanos(now), &mut all);
        for completion in &all[before..] {
            let Completion { id, at, started } = *completion;
            prop_assert!(
                promised.is_some_and(|promised| promised <= at),
                "{at} was not announced: {promised:?}"
            );
            prop_assert!(at.0 <= now);
            prop_assert!(submitted[id as usize] <= started.0 && started <= at);
        }
        prop_assert!(all.is_sorted_by_key(|completion| completion.at));
        prop_assert!(
            disk.next_event().is_none_or(|next| next.0 > now),
            "what was due has been done"
        );
        Ok(all.clone())
    };
    for (id, &(pause, request)) in requests.iter().enumerate() {
        let arrival = now + pause;
        loop {
            let due = disk.next_event().map_or(u64::MAX, |next| next.0);
            let step = due.min(now.saturating_add(*extra.next().unwrap_or(&u64::MAX)));
            if step >= arrival {
                break;
            }
            now = now.max(step);
            advance(disk, now, &submitted)?;
        }
        now = arrival;
        submitted.push(now);
        disk.submit(Nanos(now), Request { id: id as u32, ..request });
    }
    let mut rounds = 0;
    while let Some(next) = disk.next_event() {
        now = now.max(next.0);
        advance(disk, now, &submitted)?;
        rounds += 1;
        prop_assert!(rounds < 1_000_000, "the disk never comes to an end");
    }
    let all = advance(disk, now, &submitted)?;
    let mut ids: Vec<u32> = all.iter().map(|completion| completion.id).collect();
    ids.sort_unstable();
    prop_assert!(ids.into_iter().eq(0..requests.len() as u32), "each request completes once");
    prop_assert_eq!(disk.violation(), None);
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every request completes once, not before its submission, in order of time, at the announced
    /// time. Additional calls make no difference, and only the seed does.
    #[test]
    fn serves_everything_once_and_always_the_same(
        requests in prop::collection::vec(request(), 1..60),
        extra in prop::collection::vec(1..2_000_000_u64, 1..20),
        seed in any::<u64>(),
    ) {
        for name in DEVICES {
            let (model, bytes) = cramped(name, seed as u8);
            let new = || build(&model, bytes, Seed(seed));
            let (mut one, mut two, mut three) = (new(), new(), new());
            let quiet = run(one.as_mut(), &requests, &[])?;
            let restless = run(two.as_mut(), &requests, &extra)?;
            prop_assert_eq!(&quiet, &restless, "{}: calls in between changed something", name);
            prop_assert_eq!(&quiet, &run(three.as_mut(), &requests, &[])?);

            // After a long idle time, all disks have done the same work.
            let rest = Nanos::from_secs(1_000_000_000);
            let counters = [&mut one, &mut two, &mut three].map(|disk| {
                disk.advance(rest, &mut Vec::new());
                disk.counters()
            });
            let alike = counters[0] == counters[1] && counters[1] == counters[2];
            prop_assert!(alike, "{}: {:?}", name, counters);
        }
    }

    /// Before a flush completes, everything written before it is on the medium.
    #[test]
    fn a_flush_leaves_nothing_behind(
        requests in prop::collection::vec(request(), 1..40),
        queued: bool,
    ) {
        for name in ["nas-4tb", "sata-ssd-1tb"] {
            let (model, bytes) = cramped(name, u8::from(queued));
            let mut disk = build(&model, bytes, Seed(1));
            let done = run(disk.as_mut(), &requests, &[])?;
            let submitted = Nanos(requests.iter().map(|request| request.0).sum());
            let now = done.last().map_or(Nanos(0), |last| last.at).max(submitted);
            disk.submit(now, flush());
            while let Some(next) = disk.next_event() {
                disk.advance(next, &mut Vec::new());
            }
            let written = disk.counters().media_written_sectors;
            disk.advance(now + Nanos::from_secs(1_000_000), &mut Vec::new());
            prop_assert_eq!(written, disk.counters().media_written_sectors, "{}", name);
        }
    }
}

/// Submits requests as they come, the first with number `first`. Returns the time of the last
/// submission.
fn submit(
    disk: &mut dyn Disk,
    mut now: Nanos,
    requests: &[(u64, Request)],
    first: u32,
    done: &mut Vec<Completion>,
) -> Nanos {
    for ((pause, request), id) in requests.iter().zip(first..) {
        now += Nanos(*pause);
        disk.advance(now, done);
        disk.submit(now, Request { id, ..*request });
    }
    now
}

fn finish(disk: &mut dyn Disk, done: &mut Vec<Completion>) {
    while let Some(next) = disk.next_event() {
        disk.advance(next, done);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A copy continues as the disk would, and requests to the copy do not affect the disk.
    #[test]
    fn a_copy_is_a_disk_of_its_own(
        before in prop::collection::vec(request(), 1..40),
        after in prop::collection::vec(request(), 1..40),
        seed in any::<u64>(),
    ) {
        for name in DEVICES {
            let (model, bytes) = cramped(name, seed as u8);
            let [mut alone, mut copied] = [(); 2].map(|()| build(&model, bytes, Seed(seed)));
            let (mut wanted, mut done) = (Vec::new(), Vec::new());
            let now = submit(alone.as_mut(), Nanos(0), &before, 0, &mut wanted);
            submit(copied.as_mut(), Nanos(0), &before, 0, &mut done);

            let mut copy = copied.copy();
            let mut other = copied.copy();
            let (mut of_copy, mut of_other) = (done.clone(), done.clone());
            submit(copy.as_mut(), now, &after, before.len() as u32, &mut of_copy);
            finish(copy.as_mut(), &mut of_copy);
            finish(other.as_mut(), &mut of_other);
            submit(copied.as_mut(), now, &after, before.len() as u32, &mut done);
            finish(copied.as_mut(), &mut done);
            prop_assert_eq!(&of_copy, &done, "{}: as the disk with the same requests", name);

            finish(alone.as_mut(), &mut wanted);
            prop_assert_eq!(&of_other, &wanted, "{}: without them", name);
        }
    }
}

#[test]
fn nothing_is_allocated_once_warm() {
    for name in DEVICES {
        let device = device(name);
        let mut disk = disklab_disks::build(&device.model, device.bytes, Seed(1));
        let mut random = disklab_units::Random::new(Seed(2));
        let mut done = Vec::with_capacity(64);
        let mut now = Nanos(0);
        let blocks = device.bytes.0 / 4096;
        let mut serve = |count: u32| {
            for i in 0..count {
                let op = match i % 50 {
                    0 => Op::Flush,
                    1..=24 => Op::Write,
                    _ => Op::Read,
                };
                let sectors = if op == Op::Flush { 0 } else { 8 << random.below(6) };
                disk.submit(
                    now,
                    Request { id: 0, op, sector: random.below(blocks) * 8, sectors, fua: false },
                );
                if i % 32 < 31 {
                    continue;
                }
                while let Some(next) = disk.next_event() {
                    now = next;
                    disk.advance(now, &mut done);
                    done.clear();
                }
            }
        };
        serve(3_200);
        let allocations = allocation_counter::measure(|| serve(3_200));
        assert_eq!(allocations.count_total, 0, "{name}");
    }
}

//! Tests the answers of each policy, worked out by hand from facts about the originals. Each line
//! is a case.

use disklab_read_policies::{Choice, Mirror, Request};

use crate::{choice, disk, flash, missing, request};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A request, the expected answer, and the reason for it.
type Case = (Request, usize, &'static str);

fn check(policy: &str, cases: &[Case]) {
    for (request, answer, why) in cases {
        assert_eq!(choice(policy).decide(request), *answer, "{policy}: {why}: {request:#?}");
    }
}

/// Returns a mirror whose recent reads took `mean` ns on average.
fn slow(devid: u64, mean: u64) -> Mirror {
    Mirror { recent_ios: 10, recent_wait: 10 * mean, ..disk(devid) }
}

fn queued(devid: u64, reads: u32, writes: u32) -> Mirror {
    Mirror { reads_in_flight: reads, writes_in_flight: writes, ..disk(devid) }
}

#[test]
fn pid() {
    let of = |count: u64, pid| request(&(1..=count).map(disk).collect::<Vec<_>>()).by(pid);
    let cases = [
        (of(1, 7), 0, "the only one"),
        (of(2, 7), 1, "7 % 2"),
        (of(3, 7), 1, "7 % 3"),
        (of(4, 7), 3, "7 % 4"),
        (request(&[disk(1), missing(disk(2))]).by(7), 0, "its own is missing: the first live one"),
        (
            request(&[missing(disk(1)), disk(2), disk(3)]).by(6),
            1,
            "its own is missing: the first live one",
        ),
        (
            request(&[missing(disk(1)), missing(disk(2))]).by(7),
            1,
            "none is live: its own, and that fails",
        ),
    ];
    check("pid", &cases);
}

#[test]
fn round_robin() {
    // The order is by ascending id: the second, the third, the first.
    let after = |blocks| request(&[disk(3), disk(1), disk(2)]).after(blocks);
    let cases = [
        (after(0), 1, "the lowest id begins"),
        (after(63), 1, "256 KiB are 64 blocks of 4 KiB"),
        (after(64), 2, "the next id's turn"),
        (after(128), 0, "the last's"),
        (after(192), 1, "from the beginning"),
        (after(u32::MAX), 1, "67108863 turns, a multiple of 3"),
        (
            request(&[disk(1), missing(disk(2))]).after(64),
            0,
            "a missing one's turn is the first live one's",
        ),
    ];
    check("round-robin", &cases);
    check("round-robin:4k", &[(after(1), 2, "a block each"), (after(2), 0, "a block each")]);
    check(
        "round-robin:5000",
        &[(after(1), 1, "5000 bytes are 2 blocks"), (after(2), 2, "the next two")],
    );
    let large = Request::new(&[disk(1), disk(2)], 16).unwrap();
    let turns = Choice::parse("round-robin:4k", 16).unwrap();
    assert_eq!(turns.values(), [64 * KIB], "rounded up to a block");
    assert_eq!((turns.decide(&large), turns.decide(&large.after(1))), (0, 1));
}

#[test]
fn devid() {
    let three = request(&[disk(5), disk(2), disk(9)]);
    let cases = [
        (three, 1, "where it is"),
        (request(&[disk(5), disk(9)]), 0, "it holds no mirror of this: the first"),
        (request(&[disk(5), missing(disk(2))]), 0, "it is missing: the first live one"),
        (request(&[missing(disk(5)), disk(9)]), 1, "neither: the first live one"),
    ];
    check("devid:2", &cases);
    check("devid", &[(three, 0, "the kernel puts in a device; no device has the id 0")]);
}

#[test]
fn latency() {
    let fresh = |age| Mirror { age, ..slow(2, 9000) };
    let cases = [
        (request(&[slow(1, 9000), slow(2, 8000)]), 1, "the lower mean"),
        (request(&[slow(1, 8000), slow(2, 8000), slow(3, 8000)]), 0, "of equal ones the first"),
        (request(&[slow(1, 8000), disk(2)]), 1, "nothing is known of the second: 0"),
        (request(&[slow(1, 8000), fresh(0)]), 0, "out of the window it is slow"),
        (request(&[slow(1, 8000), fresh(-1)]), 1, "in the window nothing counts against it"),
        (request(&[slow(1, 8000), fresh(-100)]), 1, "from its first step on"),
        (request(&[slow(1, 9000), missing(slow(2, 8000))]), 0, "the faster one is missing"),
        (request(&[missing(slow(1, 1)), missing(slow(2, 1))]), 0, "none is live"),
    ];
    check("latency", &cases);
}

#[test]
fn latency_rr() {
    let after = |mirrors: &[Mirror], blocks| request(mirrors).after(blocks);
    let three = [slow(1, 100), slow(2, 125), slow(3, 126)];
    let cases = [
        (after(&three, 0), 0, "125 % of 100 is 125: the first two take part"),
        (after(&three, 64), 1, "the second's turn"),
        (after(&three, 128), 0, "the third is too slow"),
        (after(&[slow(1, 100), disk(2), slow(3, 9000)], 128), 2, "one is unknown: all take part"),
        (
            after(&[missing(slow(1, 50)), slow(2, 100), slow(3, 125)], 64),
            2,
            "a missing one sets no mark",
        ),
        (after(&[slow(1, 100), missing(slow(2, 100)), slow(3, 100)], 64), 2, "nor has it a turn"),
        (after(&[missing(disk(1)), missing(disk(2))], 64), 0, "none is live"),
    ];
    check("latency-rr", &cases);
    check("latency-rr:120", &[(after(&three, 64), 0, "only the first is within 120 %")]);
    check("latency-rr:126", &[(after(&three, 128), 2, "all are within 126 %")]);
    check("latency-rr:bytes=4k", &[(after(&three, 1), 1, "a block each")]);
}

#[test]
fn queue() {
    let (longer, shorter) = (queued(1, 2, 0), queued(2, 1, 2));
    let equal = [queued(1, 2, 0), queued(2, 0, 1), queued(3, 2, 0), queued(4, 1, 0)];
    check("queue", &[(request(&[longer, shorter]), 0, "2 and 0, before 1 and 2")]);
    check("queue:reads", &[(request(&[longer, shorter]), 1, "1 before 2")]);
    let cases = [
        (request(&equal), 1, "of two with one each the first"),
        (request(&equal).place(2 * MIB, 4096), 1, "wherever it is"),
        (request(&[missing(queued(1, 0, 0)), queued(2, 9, 9)]), 1, "the idle one is missing"),
        (request(&[missing(disk(1)), missing(disk(2))]), 0, "none is live"),
    ];
    check("queue", &cases);
    let cases = [
        (request(&equal), 1, "the first region"),
        (request(&equal).place(2 * MIB - 1, 4096), 1, "to its end"),
        (request(&equal).place(2 * MIB, 4096), 3, "the second region"),
        (request(&equal).place(4 * MIB, 4096), 1, "the third"),
    ];
    check("queue:ties=spread", &cases);
}

/// Returns a mirror that the read would continue on: its reads ran from `start` to where this one
/// begins.
fn running(mirror: Mirror, start: u64, pending: u32) -> Mirror {
    let next_read = mirror.physical;
    Mirror { next_read, run_start: start, reads_in_flight: pending, ..mirror }
}

fn placed(mirror: Mirror, physical: u64, head: u64) -> Mirror {
    // The read does not continue at this place, unless a test says so.
    Mirror { physical, head, next_read: u64::MAX, ..mirror }
}

#[test]
fn streams() {
    let loaded = |mirror: Mirror, reads| Mirror { reads_in_flight: reads, ..mirror };
    let of = |mirrors: &[Mirror]| request(mirrors);
    // A run of `mib` MiB on a disk ends where the read begins; 16 reads are in flight there.
    let run = |mirror: Mirror, mib: u64| Mirror {
        physical: 64 * MIB,
        next_read: 64 * MIB,
        run_start: (64 - mib) * MIB,
        reads_in_flight: 16,
        ..mirror
    };
    let cases = [
        (of(&[disk(1), run(disk(2), 7)]), 1, "a stream stays below 8 MiB"),
        (of(&[disk(1), run(disk(2), 8)]), 0, "then it goes where less is in flight"),
        (of(&[flash(1), run(flash(2), 7)]), 0, "flash has no head to move"),
        (of(&[disk(1), missing(run(disk(2), 7))]), 0, "a stream cannot stay on a missing disk"),
        (of(&[slow(1, 5000), slow(2, 100)]), 1, "50 times as fast"),
        (of(&[slow(1, 5000), loaded(slow(2, 100), 48)]), 1, "49 times 100 ns are less than 5,000"),
        (of(&[slow(1, 5000), loaded(slow(2, 100), 50)]), 0, "51 times 100 ns are more"),
        (of(&[slow(1, 190), loaded(slow(2, 100), 1)]), 0, "within the margin: the shorter queue"),
        (of(&[disk(1), loaded(slow(2, 100), 1)]), 0, "of the first nothing is known"),
    ];
    check("streams", &cases);
}

#[test]
fn md_raid1_on_disks() {
    let busy = |mirror: Mirror, reads| Mirror { reads_in_flight: reads, ..mirror };
    let (near, far) = (placed(disk(1), 100, 90), placed(disk(2), 100, 500));
    let behind = placed(disk(3), 100, 105);
    let cases = [
        (request(&[near, running(far, 0, 5)]), 1, "it continues there, however busy"),
        (request(&[near, busy(placed(disk(2), 100, 100), 5)]), 1, "the head is just there"),
        (request(&[busy(near, 1), far]), 1, "an idle one before a near one"),
        (request(&[near, far]), 0, "of idle ones the first"),
        (request(&[busy(near, 9), busy(far, 1)]), 0, "all are busy: the nearest head"),
        (request(&[busy(near, 9), busy(far, 1), busy(behind, 3)]), 2, "from either side"),
        (request(&[missing(near), busy(far, 1)]), 1, "the nearest is missing"),
        (request(&[missing(near), missing(far)]), 0, "none is live"),
        (
            request(&[busy(near, 2), busy(far, 1), missing(placed(flash(3), 100, 0))]),
            0,
            "a missing one is no flash",
        ),
        (
            request(&[busy(near, 2), busy(far, 1), busy(placed(flash(3), 100, 0), 3)]),
            1,
            "flash: the shorter queue",
        ),
    ];
    check("md-raid1", &cases);
}

#[test]
fn md_raid1_on_flash() {
    let busy = |mirror: Mirror, reads| Mirror { reads_in_flight: reads, ..mirror };
    let one = |physical| Mirror { optimal_io: 64 * KIB, ..placed(flash(1), physical, 0) };
    let other = |physical| Mirror { optimal_io: 64 * KIB, ..placed(flash(2), physical, 0) };
    let long = running(one(128 * KIB), 0, 0);
    let cases = [
        (request(&[busy(one(8), 2), busy(other(8), 1)]), 1, "the shorter queue"),
        (request(&[busy(one(8), 1), busy(placed(disk(2), 8, 500), 0)]), 1, "or the idle one"),
        (
            request(&[running(one(128 * KIB), 96 * KIB, 3), other(128 * KIB)]),
            0,
            "a run of 32 KiB stays",
        ),
        (
            request(&[long, other(128 * KIB)]),
            1,
            "one of 128 KiB is longer than 64: to the idle one",
        ),
        (request(&[long, busy(other(128 * KIB), 1)]), 0, "or stays where the other is busy too"),
        (
            request(&[running(one(128 * KIB), 0, 7), busy(other(128 * KIB), 1)]),
            0,
            "even with a longer queue",
        ),
        (
            request(&[running(one(64 * KIB), 0, 3), other(64 * KIB)]),
            0,
            "md wants more than 64 KiB before it",
        ),
        (
            request(&[Mirror { optimal_io: 0, ..running(one(128 * KIB), 0, 3) }, other(128 * KIB)]),
            0,
            "the device does not say what it likes: the run stays",
        ),
    ];
    check("md-raid1", &cases);
}

#[test]
fn zfs_mirror() {
    let place = 10 * MIB;
    let sent = |mirror: Mirror, sent, reads| Mirror {
        physical: place,
        sent,
        reads_in_flight: reads,
        ..mirror
    };
    let pair = |a, b| request(&[a, b]);
    let far = |mirror, reads| sent(mirror, 0, reads);
    let cases = [
        (
            pair(far(disk(1), 0), sent(disk(2), place, 4)),
            1,
            "4 that follow on (4) before a seek (5)",
        ),
        (pair(far(disk(1), 0), sent(disk(2), place, 6)), 0, "6 are more than a seek"),
        (
            pair(sent(disk(1), place - MIB + 1, 0), sent(disk(2), place, 3)),
            0,
            "within 1 MiB costs 2",
        ),
        (pair(sent(disk(1), place + MIB - 1, 0), sent(disk(2), place, 3)), 0, "on either side"),
        (pair(sent(disk(1), place - MIB, 0), sent(disk(2), place, 3)), 1, "1 MiB away costs 5"),
        (pair(far(flash(1), 1), sent(disk(2), place, 1)), 1, "flash pays 1 for not following on"),
        (pair(sent(flash(1), place, 1), far(flash(2), 1)), 0, "and nothing for following on"),
        (pair(missing(sent(disk(1), place, 0)), far(disk(2), 9)), 1, "the best is missing"),
        (pair(missing(disk(1)), missing(disk(2))), 0, "none is live"),
        (
            pair(Mirror { writes_in_flight: 3, ..far(disk(1), 0) }, far(disk(2), 2)),
            1,
            "writes count as reads do",
        ),
    ];
    check("zfs-mirror", &cases);
    let equal = [far(disk(1), 0), far(disk(2), 1), far(disk(3), 0)];
    let cases = [
        (request(&equal), 0, "the first region of 2 MiB"),
        (request(&equal).place(2 * MIB - 1, 4096), 0, "to its end"),
        (request(&equal).place(2 * MIB, 4096), 2, "the second of the two equal ones"),
        (request(&equal).place(4 * MIB, 4096), 0, "and the first again"),
    ];
    check("zfs-mirror", &cases);
}

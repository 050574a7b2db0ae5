//! Tests surveys and timelines: hand-made traces with exact numbers, and any trace compared with
//! counts from the whole trace at once.

use disklab_disks::Op;
use disklab_trace::timeline::{Shape, TimelineBin};
use disklab_trace::{Error, Served, Survey, Timeline, TraceEntry, TracePhase};
use proptest::prelude::*;

const SHAPE: Shape = Shape { bins: 4, columns: 2, rows: 2 };

fn read(submitted: u64, ended: u64, sector: u64) -> Served {
    Served {
        disk: 0,
        op: Op::Read,
        fua: false,
        sector,
        sectors: 8,
        submitted,
        started: submitted,
        ended,
    }
}

fn ok(entries: &[TraceEntry]) -> impl Iterator<Item = Result<TraceEntry, Error>> {
    entries.iter().cloned().map(Ok)
}

fn mark(at: u64, text: &str) -> TraceEntry {
    TraceEntry::Mark { at, text: text.to_owned() }
}

fn timeline(requests: &[Served], begin: u64, end: u64, shape: Shape) -> Timeline {
    let entries: Vec<_> = requests.iter().copied().map(TraceEntry::Served).collect();
    let survey = Survey::read(ok(&entries));
    let phase = TracePhase {
        name: "measure".to_owned(),
        begin,
        end,
        ramp: 1,
        entries: 0..u64::MAX,
        cut: false,
    };
    Timeline::read(ok(&entries), &survey, &phase, shape).unwrap()
}

#[test]
fn a_phase_is_from_its_ramp_behind_the_first_request_to_the_last_end() {
    let first = Served { disk: 1, ..read(130, 180, 8) };
    let entries = [
        // The request is at the disk since before the announcement, so that it is not the first one
        // after it.
        TraceEntry::Served(read(0, 50, 0)),
        mark(100, "begin measure 1000"),
        TraceEntry::Served(read(90, 160, 0)),
        TraceEntry::Served(first),
        TraceEntry::Served(read(1200, 1250, 992)),
        mark(1300, "end"),
        TraceEntry::Served(read(1280, 1400, 8)),
        // This phase was announced and had no request. The other marks announce no phase.
        mark(1500, "begin another 7"),
        mark(1501, "begin"),
        mark(1502, "begin a -1"),
    ];
    let survey = Survey::read(ok(&entries));
    assert_eq!(
        survey.phases,
        [TracePhase {
            name: "measure".to_owned(),
            begin: 1130,
            end: 1250,
            ramp: 1000,
            entries: 1..5,
            cut: false
        }]
    );
    assert_eq!(survey.measure().as_ref(), survey.phases.first());
    let reach: Vec<_> = survey.disks.iter().map(|disk| disk.touched).collect();
    assert_eq!(reach, [Some((0, 1000)), Some((8, 16))]);
}

#[test]
fn phases_are_measured_from_the_first_to_the_last() {
    let entries = [
        // One request comes before the phases, and one between two of them.
        TraceEntry::Served(read(0, 50, 5000)),
        mark(100, "begin create 0"),
        TraceEntry::Served(read(110, 160, 0)),
        mark(200, "end"),
        TraceEntry::Served(read(210, 240, 9000)),
        mark(300, "begin read 0"),
        TraceEntry::Served(read(310, 400, 64)),
        mark(500, "end"),
    ];
    let survey = Survey::read(ok(&entries));
    let names: Vec<&str> = survey.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["create", "read"]);
    let whole = survey.measure().unwrap();
    assert_eq!((whole.begin, whole.end, whole.entries, whole.cut), (110, 400, 1..7, false));
    assert_eq!(survey.disks[0].touched, Some((0, 72)));
}

#[test]
fn a_request_is_split_over_time_and_counted_where_it_ended() {
    // The bins have 100 ns from 1000 on. The disk is busy from 1050 to 1250 with two overlapping
    // requests, and from 1390 beyond the end.
    let requests = [
        read(900, 950, 0),
        Served { op: Op::Write, ..read(1050, 1150, 8) },
        read(1100, 1250, 100),
        Served { op: Op::Flush, sector: 0, sectors: 0, ..read(1250, 1250, 0) },
        read(1390, 1500, 200),
    ];
    let line = timeline(&requests, 1000, 1400, SHAPE);
    let bin = |requests, read_bytes, write_bytes, seeks, depth, busy| TimelineBin {
        length: 100,
        requests,
        read_bytes,
        write_bytes,
        seeks,
        depth,
        busy,
    };
    let bins = [
        bin(0, 0, 2048, 0, 50, 50),
        bin(1, 2730, 2048, 0, 50 + 100, 100),
        bin(2, 4096 - 2730, 0, 1, 50, 50),
        bin(0, 0, 0, 0, 10, 10),
    ];
    assert_eq!(line.disks[0].bins, bins);
    assert!(
        (bins[1].mean_depth() - 1.5).abs() < 1e-12 && (bins[0].utilisation() - 0.5).abs() < 1e-12
    );
    assert!((bins[1].per_second(bins[1].write_bytes) - 2048.0 / 100e-9).abs() < 1.0);
    // The sectors go up to 208, so the rows are 0 to 103 and 104 to 207. The write ended in the
    // first half, the read in the second.
    let disk = &line.disks[0];
    assert_eq!(
        (&disk.writes.cells[..], &disk.reads.cells[..]),
        (&[1, 0, 0, 0][..], &[0, 0, 1, 0][..])
    );
    assert_eq!(disk.reads.requests(1, 0), 1);
}

/// Two requests that end first are joined by a third that was there before both.
#[test]
fn busy_stretches_are_joined_by_one_that_ends_later() {
    let requests = [read(20, 30, 0), read(60, 70, 0), read(10, 100, 0), read(300, 400, 0)];
    let line = timeline(&requests, 0, 400, SHAPE);
    let busy: Vec<_> = line.disks[0].bins.iter().map(|bin| bin.busy).collect();
    assert_eq!(busy, [90, 0, 0, 100]);
}

/// A read of 100 ns has 20 ns in the first bin and 30 ns in the last. Bytes that moved before the
/// phase count as moved within it.
#[test]
fn bytes_are_where_they_were_moved() {
    let long = |started, ended| Served { started, sectors: 1000, ..read(0, ended, 0) };
    let bytes = |one: Served| -> Vec<u64> {
        timeline(&[one], 0, 200, SHAPE).disks[0].bins.iter().map(|bin| bin.read_bytes).collect()
    };
    assert_eq!(bytes(long(30, 130)), [102_400, 256_000, 153_600, 0]);
    assert_eq!(bytes(long(60, 60)), [0, 512_000, 0, 0]);
}

#[test]
fn the_end_of_a_phase_is_part_of_it() {
    let line =
        timeline(&[read(5, 9, 0), read(5, 10, 0), read(5, 20, 0), read(5, 21, 0)], 10, 20, SHAPE);
    let requests: Vec<_> = line.disks[0].bins.iter().map(|bin| bin.requests).collect();
    assert_eq!(requests, [1, 0, 0, 1]);
}

/// A request whose end lets the first one of the phase arrive came before it. After a ramp there is
/// no such order.
#[test]
fn what_ends_as_the_first_request_arrives_is_not_of_the_phase() {
    for (ramp, expected) in [(0, 2), (10, 1)] {
        let entries = [
            mark(3, &format!("begin measure {ramp}")),
            TraceEntry::Served(read(0, 10, 0)),
            TraceEntry::Served(read(10, 20, 8)),
            TraceEntry::Served(read(20, 30, 0)),
            mark(40, "end"),
        ];
        let survey = Survey::read(ok(&entries));
        let line = Timeline::read(ok(&entries), &survey, &survey.phases[0], SHAPE).unwrap();
        let counted = TimelineBin::joined(&line.disks[0].bins).requests;
        assert_eq!((survey.phases[0].begin, counted), (10 + ramp, expected + ramp / 10));
    }
}

/// Tests a request that ended at 20, like the last one of the phase, but whose entry follows the
/// announcement of the end. The closing record does not count it.
#[test]
fn what_ends_in_the_last_moment_is_of_the_phase_only_before_its_end_is_announced() {
    let entries = [
        mark(0, "begin measure 0"),
        TraceEntry::Served(read(5, 20, 0)),
        mark(20, "end"),
        TraceEntry::Served(Served { disk: 1, ..read(10, 20, 0) }),
    ];
    let survey = Survey::read(ok(&entries));
    let line = Timeline::read(ok(&entries), &survey, &survey.phases[0], SHAPE).unwrap();
    let sums: Vec<_> = line.disks.iter().map(|disk| TimelineBin::joined(&disk.bins)).collect();
    assert_eq!([sums[0].requests, sums[1].requests], [1, 0]);
    assert_eq!([sums[0].busy, sums[1].busy], [15, 10], "but it was there");
}

#[test]
fn a_phase_of_no_length_is_a_nanosecond() {
    let line = timeline(&[read(5, 9, 0)], 9, 9, SHAPE);
    assert_eq!(
        (line.bins.count, line.disks[0].bins[0].requests, line.disks[0].bins[0].busy),
        (1, 1, 0)
    );
}

/// The trace is cut off in the measured phase: by an error, and at the end of an entry.
#[test]
fn a_trace_that_is_cut_off_is_told_of_as_far_as_it_goes() {
    let error = || Err(Error::Damaged { at: 9, what: "cut off" });
    let whole = [
        mark(0, "begin measure 100"),
        TraceEntry::Served(read(0, 200, 0)),
        TraceEntry::Served(read(200, 300, 8)),
        TraceEntry::Served(read(300, 400, 16)),
        mark(400, "end"),
    ];
    for (last, cut) in
        [(vec![error()], true), (vec![], true), (vec![Ok(mark(300, "end")), error()], false)]
    {
        let damaged = last.iter().any(Result::is_err);
        let entries = || {
            let last = last
                .iter()
                .map(|entry| entry.as_ref().map_or_else(|_| error(), |entry| Ok(entry.clone())));
            ok(&whole[..3]).chain(last).collect::<Vec<_>>().into_iter()
        };
        let survey = Survey::read(entries());
        assert_eq!(survey.error.is_some(), damaged);
        let entries_of = 0..if cut { u64::MAX } else { 3 };
        let phase = TracePhase {
            name: "measure".to_owned(),
            begin: 100,
            end: 300,
            ramp: 100,
            entries: entries_of,
            cut,
        };
        assert_eq!(survey.phases, [phase]);
        let line = Timeline::read(entries(), &survey, &survey.phases[0], SHAPE).unwrap();
        assert_eq!(
            (line.bins.end, line.disks[0].bins.iter().map(|bin| bin.requests).sum()),
            (300, 2)
        );
    }
    assert!(Survey::read(ok(&whole[..1])).measure().is_none(), "nothing of it is there");
}

#[test]
fn a_trace_that_was_whole_and_is_not_any_more_is_an_error() {
    let survey = Survey::read(ok(&[TraceEntry::Served(read(0, 1, 0))]));
    let damaged =
        [Ok(TraceEntry::Served(read(0, 1, 0))), Err(Error::Damaged { at: 9, what: "cut off" })]
            .into_iter();
    let phase = TracePhase {
        name: String::new(),
        begin: 0,
        end: 9,
        ramp: 1,
        entries: 0..u64::MAX,
        cut: false,
    };
    assert!(Timeline::read(damaged, &survey, &phase, SHAPE).is_err());
}

fn any_requests() -> impl Strategy<Value = Vec<Served>> {
    let one = (0..3usize, 0..3u8, 0..5000u64, 0..300u64, 0..300u64, 0..1u64 << 40).prop_map(
        |(disk, op, submitted, wait, service, sector)| {
            let op = [Op::Read, Op::Write, Op::Flush][op as usize];
            let sectors = if op == Op::Flush { 0 } else { 8 };
            let (started, ended) = (submitted + wait, submitted + wait + service);
            Served { disk, op, fua: false, sector, sectors, submitted, started, ended }
        },
    );
    (prop::collection::vec(one, 1..80), any::<bool>()).prop_map(|(mut all, sorted)| {
        if sorted {
            all.sort_by_key(|one| one.ended);
        }
        all
    })
}

proptest! {
    #[test]
    fn bins_add_up_to_the_whole(
        requests in any_requests(),
        begin in 0..3000u64,
        length in 1..4000u64,
        bins in 1..50usize,
        columns in 1..20usize,
        rows in 1..20usize,
    ) {
        let end = begin + length;
        let line = timeline(&requests, begin, end, Shape { bins, columns, rows });
        for (index, disk) in line.disks.iter().enumerate() {
            let own: Vec<_> = requests.iter().filter(|one| one.disk == index).collect();
            let own_within = own.iter().filter(|one| (begin..=end).contains(&one.ended));
            let within: Vec<_> = own_within.collect();
            let bytes = |op: Op| within.iter().filter(|one| one.op == op).count() as u64 * 4096;
            let sum = |what: &dyn Fn(&TimelineBin) -> u128| -> u128 {
                disk.bins.iter().map(what).sum()
            };
            prop_assert_eq!(sum(&|bin| bin.length.into()), u128::from(length));
            prop_assert_eq!(sum(&|bin| bin.requests.into()), within.len() as u128);
            prop_assert_eq!(sum(&|bin| bin.read_bytes.into()), bytes(Op::Read).into());
            prop_assert_eq!(sum(&|bin| bin.write_bytes.into()), bytes(Op::Write).into());
            let is_there = |one: &&Served, at: u64| one.submitted <= at && at < one.ended;
            let there = |at: u64| own.iter().filter(|one| is_there(one, at)).count();
            // The loop counts ns by ns.
            let depth: usize = (begin..end).map(there).sum();
            prop_assert_eq!(sum(&|bin| bin.depth), depth as u128);
            let mut edge = begin;
            for bin in &disk.bins {
                let busy = (edge..edge + bin.length).filter(|&at| there(at) > 0).count();
                prop_assert_eq!(bin.busy, busy as u64);
                edge += bin.length;
            }
            let cells: u32 = disk.reads.cells.iter().chain(&disk.writes.cells).sum();
            prop_assert_eq!(u64::from(cells) * 4096, bytes(Op::Read) + bytes(Op::Write));
        }
    }
}

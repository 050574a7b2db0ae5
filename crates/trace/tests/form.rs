//! Tests that written entries are read back, in both forms, and that damage is an error with its
//! place.

use std::io::Read;

use disklab_disks::Op;
use disklab_trace::{Arrived, Error, Served, TraceEntry, TraceReader, TraceWriter, WINDOW};
use proptest::prelude::*;

fn any_entry() -> impl Strategy<Value = TraceEntry> {
    let served = (
        0..8usize,
        0..5u8,
        any::<bool>(),
        0..1u64 << 40,
        0..1u32 << 16,
        0..1u64 << 50,
        0..1u64 << 40,
        0..1u64 << 40,
    )
        .prop_map(|(disk, op, fua, sector, sectors, submitted, wait, service)| {
            let op = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::WriteZeroes][op as usize];
            let (started, ended) = (submitted + wait, submitted + wait + service);
            TraceEntry::Served(Served { disk, op, fua, sector, sectors, submitted, started, ended })
        });
    let mark = (0..1u64 << 50, "[a-z ]{0,20}").prop_map(|(at, text)| TraceEntry::Mark { at, text });
    prop_oneof![9 => served, 1 => mark]
}

/// Writes a trace in which each request arrives at an entry before it, picked by `arrivals`.
fn dlt2(entries: &[TraceEntry], arrivals: &[prop::sample::Index]) -> Vec<u8> {
    let mut writer = TraceWriter::new(8);
    let mut stood: Vec<Arrived> = vec![writer.arrived()];
    for (entry, arrival) in entries.iter().zip(arrivals.iter().cycle()) {
        match entry {
            TraceEntry::Served(served) => writer.served(served, *arrival.get(&stood)),
            TraceEntry::Mark { at, text } => writer.mark(*at, text),
        }
        stood.push(writer.arrived());
    }
    writer.pending().to_vec()
}

/// Writes the older form, which disklab wrote before `DLT2`.
fn dlt1(entries: &[TraceEntry]) -> Vec<u8> {
    fn number(bytes: &mut Vec<u8>, mut value: u64) {
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }
    let z = |value: u64, before: u64| {
        let d = value.wrapping_sub(before).cast_signed();
        ((d << 1) ^ (d >> 63)).cast_unsigned()
    };
    let (mut bytes, mut last, mut ends) = (b"DLT1".to_vec(), 0, [0; 8]);
    for entry in entries {
        match entry {
            TraceEntry::Served(s) => {
                let op = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::WriteZeroes]
                    .iter()
                    .position(|op| *op == s.op);
                number(&mut bytes, s.disk as u64 * 8 + op.unwrap() as u64);
                number(&mut bytes, z(s.submitted, last));
                number(&mut bytes, s.started - s.submitted);
                number(&mut bytes, s.ended - s.started);
                number(&mut bytes, z(s.sector, ends[s.disk]));
                number(&mut bytes, u64::from(s.sectors) * 2 + u64::from(s.fua));
                (last, ends[s.disk]) = (s.submitted, s.sector + u64::from(s.sectors));
            }
            TraceEntry::Mark { at, text } => {
                number(&mut bytes, 7);
                number(&mut bytes, z(*at, last));
                number(&mut bytes, text.len() as u64);
                bytes.extend_from_slice(text.as_bytes());
                last = *at;
            }
        }
    }
    bytes
}

fn read(bytes: &[u8]) -> Result<Vec<TraceEntry>, Error> {
    TraceReader::new(bytes)?.collect()
}

/// An input that returns one byte at a time.
struct Dribble<'a>(&'a [u8]);

impl Read for Dribble<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let few = into.len().min(1);
        self.0.read(&mut into[..few])
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        all in prop::collection::vec(any_entry(), 0..50),
        arrivals in prop::collection::vec(any::<prop::sample::Index>(), 1..50),
    ) {
        for bytes in [dlt1(&all), dlt2(&all, &arrivals)] {
            prop_assert_eq!(read(&bytes).unwrap(), all.clone());
            let dribbled: Result<Vec<_>, _> = TraceReader::new(Dribble(&bytes)).unwrap().collect();
            prop_assert_eq!(dribbled.unwrap(), all.clone());
            // From an input that is cut anywhere, it returns the whole entries before the cut, and
            // at most one error, at the end.
            for cut in 4..bytes.len() {
                let part: Vec<_> = TraceReader::new(&bytes[..cut]).unwrap().collect();
                let good = part.iter().take_while(|e| e.is_ok()).count();
                prop_assert!(part.len() <= good + 1 && good < all.len());
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        two in any::<bool>(),
    ) {
        let mut all = if two { b"DLT2".to_vec() } else { b"DLT1".to_vec() };
        all.extend(bytes);
        prop_assert!(TraceReader::new(all.as_slice()).unwrap().count() <= all.len());
    }
}

fn served(submitted: u64, ended: u64) -> Served {
    Served {
        disk: 0,
        op: Op::Read,
        fua: false,
        sector: 8,
        sectors: 8,
        submitted,
        started: submitted,
        ended,
    }
}

/// A request waits while more others end than a reader remembers, and the trace is longer than a
/// reader's buffer.
#[test]
fn a_request_may_wait_for_any_number_of_others() {
    for others in [WINDOW as u64 - 1, WINDOW as u64, 50_000] {
        let mut writer = TraceWriter::new(1);
        let waits = writer.arrived();
        let mut all: Vec<_> = (0..others).map(|at| served(at * 1000, at * 1000 + 900)).collect();
        for one in &all {
            writer.served(one, writer.arrived());
        }
        all.push(served(5, others * 1000));
        writer.served(&all[others as usize], waits);
        let all: Vec<_> = all.into_iter().map(TraceEntry::Served).collect();
        assert!(read(writer.pending()).unwrap() == all, "{others}");
    }
}

/// Requests come one after the other, each at the end of the one before, so only the service time
/// is new.
#[test]
fn a_sequential_run_takes_nine_bytes_a_request() {
    let mut writer = TraceWriter::new(1);
    for n in 1..=1000 {
        let one = Served { sector: n * 8, ..served(n * 50_000, (n + 1) * 50_000) };
        writer.served(&one, writer.arrived());
    }
    // Disk and operation, between, submitted, started, sector and size take one byte each; 50 000
    // ns take three.
    let first = 2;
    assert_eq!(writer.pending().len(), 4 + 9 * 1000 + first);
}

#[test]
fn damage_is_told_with_its_place() {
    let mut writer = TraceWriter::new(2);
    writer.served(&served(0, 9), writer.arrived());
    let whole = writer.pending().len() as u64;
    let said = |more: &[u8]| {
        let bytes = [writer.pending(), more].concat();
        let all: Vec<_> = TraceReader::new(bytes.as_slice()).unwrap().collect();
        assert!(all.len() == 2 && all[0].is_ok());
        match &all[1] {
            Err(Error::Damaged { at, what }) if *at == whole => (*what).to_owned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(said(&[0]), "cut off");
    assert_eq!(said(&[5]), "an unknown operation");
    assert_eq!(said(&[0x80, 0x08]), "an impossible disk");
    assert_eq!(said(&[0, 2, 0, 0, 0, 0, 0]), "a reference to what is not there");
    assert_eq!(said(&[0, 0, 0, 1, 0, 0, 0]), "an impossible time");
    assert_eq!(said(&[7, 0, 0x81, 0x20]), "a mark that is too long");
    assert_eq!(said(&[7, 0, 1, 0xff]), "a mark that is not text");
    assert_eq!(said(&[0xff; 12]), "a number that does not end");
    let none = TraceReader::new(&b"DLT3"[..]).map(drop).unwrap_err().to_string();
    assert_eq!(
        none,
        "not a trace of requests, or a damaged one: neither `DLT1` nor `DLT2` at byte 0"
    );
}

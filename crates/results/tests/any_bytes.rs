//! Tests that no bytes make a parser panic, and that every accepted report can be joined and
//! written.

use disklab_protocol::{closing, digest};
use disklab_results::integrity::Clock;
use disklab_results::sample::{RequestedLoad, Sample, join};
use disklab_results::{Remark, fio};
use disklab_units::Nanos;
use proptest::prelude::*;

const REPORTS: [&[u8]; 3] = [
    include_bytes!("data/randrw-grouped.json"),
    include_bytes!("data/two-jobs.json"),
    include_bytes!("data/failed.json"),
];
const CLOSING: &str = concat!(
    r#"{"schema":1,"complete":true,"virtual_ns":9,"requests":3,"phases":["#,
    r#"{"name":"measure","begin_ns":2,"end_ns":8,"#,
    r#""devices":[{"name":"vda","reads":3,"writes":0,"read_bytes":12288,"write_bytes":0,"#,
    r#""busy_ns":5,"wait_ns":7,"service_ns":4,"model":{"seeks":2}}]}]}"#
);

fn sealed(json: &[u8]) -> Vec<u8> {
    [json, b"\nsha256 ", digest::sha256_hex(json).as_bytes(), b"\n"].concat()
}

/// Returns `original` with some bytes replaced, cut at both ends.
fn damaged(original: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(b'9'), Just(b'{'), Just(b'"'), Just(b'-'), Just(b'e'), any::<u8>()];
    let changes = prop::collection::vec((0..original.len(), byte), 0..8);
    (changes, 0..original.len() / 8, 0..original.len() / 8).prop_map(
        move |(changes, front, back)| {
            let mut bytes = original.to_vec();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            // Most inputs are whole at one end, so that parsers get past the first brace.
            if front % 2 == 0 {
                bytes.drain(..front);
            }
            if back % 2 == 0 {
                bytes.truncate(bytes.len() - back);
            }
            bytes
        },
    )
}

fn whole_closing() -> Vec<u8> {
    sealed(CLOSING.as_bytes())
}

/// Checks that every report that can be read can also be joined, shown, written and read back, so
/// that no number becomes infinite on the way.
fn join_if_readable(fio_bytes: &[u8], closing_bytes: &[u8]) -> bool {
    let (Ok(fio), Ok(closing)) = (fio::parse(fio_bytes), closing::parse(closing_bytes)) else {
        return false;
    };
    let asked = RequestedLoad {
        clock: Clock::Virtual,
        in_flight: Some(u32::MAX),
        direct: true,
        alone: true,
        runtime: Nanos(u64::MAX),
        jobs: 1,
        has_one_window: false,
        block: Some(0),
        besides: u64::MAX,
    };
    let (sample, remarks) = join(&fio, &closing, &asked);
    assert!(remarks.iter().all(|remark| !remark.to_string().is_empty()));
    let text = serde_json::to_string(&(&sample, &remarks)).expect("plain numbers");
    let back: (Sample, Vec<Remark>) = serde_json::from_str(&text).expect("its own text");
    assert_eq!(back, (sample, remarks));
    true
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        join_if_readable(&bytes, &bytes);
        let _ = closing::parse(&sealed(&bytes));
    }

    #[test]
    fn damaged_reports(bytes in (0..REPORTS.len()).prop_flat_map(|at| damaged(REPORTS[at]))) {
        join_if_readable(&bytes, &whole_closing());
    }

    #[test]
    fn damaged_closing_records(json in damaged(CLOSING.as_bytes())) {
        join_if_readable(REPORTS[0], &sealed(&json));
        prop_assert!(closing::parse(&json).is_err(), "nothing vouches for it");
    }
}

/// Returns `text` with every number that follows one of `keys` replaced.
fn with_numbers(text: &str, keys: &[&str], number: &str) -> String {
    let mut text = text.to_owned();
    for key in keys {
        let mut pieces = text.split(key);
        let mut out = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let from = piece.find(|char: char| char.is_ascii_digit()).expect("a number");
            let rest =
                piece[from..].trim_start_matches(|char: char| char.is_ascii_digit() || char == '.');
            out.extend([key, &piece[..from], number, rest]);
        }
        text = out;
    }
    text
}

#[test]
fn the_largest_numbers() {
    let report = String::from_utf8_lossy(REPORTS[0]);
    let counts = [
        "\"total_ios\"",
        "\"io_bytes\"",
        "\"bw_bytes\"",
        "\"max\"",
        "\"N\"",
        "\"runtime\" ",
        "\"short_ios\"",
    ];
    let report = with_numbers(&report, &counts, "18446744073709551615");
    let report = with_numbers(&report, &["\"iops\"", "\"mean\""], "1e18");
    let counts = [
        "reads\"",
        "writes\"",
        "read_bytes\"",
        "write_bytes\"",
        "busy_ns\"",
        "wait_ns\"",
        "end_ns\"",
    ];
    let closing = with_numbers(CLOSING, &counts, "18446744073709551615");
    assert!(join_if_readable(report.as_bytes(), &sealed(closing.as_bytes())));
}

#[test]
fn the_originals_are_readable() {
    for report in REPORTS {
        assert!(join_if_readable(report, &whole_closing()));
    }
}

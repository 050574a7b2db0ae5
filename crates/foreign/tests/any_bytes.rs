//! Tests that no bytes make a reader of foreign results panic, and that every accepted result can
//! be checked, shown and written.

use std::fs;
use std::path::Path;

use disklab_foreign::ResultRow;
use disklab_foreign::{FORMATS, File, format_of};
use disklab_results::integrity;
use proptest::prelude::*;

const COMPARISON: &str = "btrfs test results\ntest results\n metric baseline current stdev diff\n\
    =====\n\
    write_bw_bytes 42935768.20 64318451.10 1609415.05 49.80% *\n\
    write_lat_ns_max 1.01e+08 90516129 3910102.06 -10.29%\n";
const EXPORTED: &str =
    "id,name,read_iops,read_lat_ns_mean,write_iops,write_lat_ns_mean\n7,x,1000.5,20000,0,0\n";
const TABLE: &str = "dbench4\n   5.8.0-rc1   5.8.0-rc1\n  vanilla   v1r1\n\
    Amean     1        64.29 (   0.00%)       73.11 * -13.70%*\n\
    Hmean     64     1828.72 (   0.00%)     1865.99 (   2.04%)\n";
const DBENCH: &str = " Operation      Count    AvgLat    MaxLat\n ----\n \
    Flush           8564    44.629   180.862\n\n\
    Throughput 124.27 MB/sec (sync open)  32 clients  16 procs  max_latency=180.919 ms\n";
const FS_MARK: &str = "# 3.3, 16 thread(s) starting\n\
    FSUse%  Count  Size  Files/sec  App Overhead\n \
    0 1600000 4096 1000.0 11654020\n";
const READ_STATS: &str = "--- Timestamp: 1 ---\n\
    /d/devinfo/1/read_stats:cumulative ios 10 wait 1000 avg 100 \
    checkpoint ios 4 wait 480 avg 120 age 3 count 1 ignored 7\n\
    --- End Stats ---\n--- Timestamp: 2 ---\n\
    /d/devinfo/1/read_stats:cumulative ios 30 wait 9000 avg 300 \
    checkpoint ios 2 wait 100 avg 50 age 5 count 2 ignored 9\n";
const LOG: &str = "1 - ===== Starting tests with Defrag off =====\n\
    1 - Setting read policy to: pid\n1 - Current policy: pid [queue]\n";

const POLICY_TEXT: &str = "defrag_off_policy_pid_fio_randread_4k_qd1_fio.txt";

/// Returns a file of each format: name and bytes.
fn originals() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/3.41");
    let real = |name: &str| fs::read(folder.join(name)).expect("a file of the data");
    let names = [
        "mixed.txt",
        "both.txt",
        "mixed.terse",
        "terse5.terse",
        "each_bw.1.log",
        "mean_lat.1.log",
        "both.json",
    ];
    let mut all: Vec<_> = names.map(|name| (name.to_owned(), real(name))).to_vec();
    all.push((POLICY_TEXT.to_owned(), real("randread.txt")));
    let texts = [COMPARISON, EXPORTED, TABLE, DBENCH, FS_MARK];
    all.extend(texts.map(|text| ("results.txt".to_owned(), text.as_bytes().to_vec())));
    all
}

/// Reads a file with every format, and checks the rows of those that accept it.
fn read_by_all(name: &str, bytes: &[u8], beside: &[u8]) {
    let other = |name: &str| match name {
        "benchmark.log" => Some(LOG.as_bytes().to_vec()),
        _ => Some(beside.to_vec()),
    };
    let file = File { path: name, bytes, beside: &other };
    let _ = format_of(&file);
    for format in FORMATS {
        for row in (format.read)(&file).unwrap_or_default() {
            assert_sound(&row);
        }
    }
}

fn assert_sound(row: &ResultRow) {
    for remark in row.remarks.iter().chain(&integrity::check(&row.claim)) {
        assert!(!remark.to_string().is_empty());
    }
    assert!(row.measures.values().all(|measure| measure.value.is_finite()), "{row:?}");
    let text = serde_json::to_string(&(&row.sample, &row.measures)).expect("plain numbers");
    assert!(!text.contains("iops\":null"), "{text}");
}

fn damaged() -> impl Strategy<Value = (String, Vec<u8>)> {
    let originals = originals();
    let byte = prop_oneof![
        Just(b'9'),
        Just(b'-'),
        Just(b'e'),
        Just(b'.'),
        Just(b'\n'),
        Just(b'%'),
        any::<u8>()
    ];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), byte), 0..8);
    (0..originals.len(), changes, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        move |(which, changes, cut, cuts)| {
            let (name, mut bytes) = originals[which].clone();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if cuts {
                bytes.truncate(cut.index(bytes.len()));
            }
            (name, bytes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        name in "(a_lat.1.log|a.csv|a)"
    ) {
        read_by_all(&name, &bytes, &bytes);
    }

    #[test]
    fn any_lines(text in "([a-z:=(]{0,9}[ ,;%]{1,2}[0-9.]{0,6}[)*%;\n]{0,2}){0,60}") {
        read_by_all(POLICY_TEXT, text.as_bytes(), READ_STATS.as_bytes());
    }

    #[test]
    fn damaged_files((name, bytes) in damaged()) {
        read_by_all(&name, &bytes, READ_STATS.as_bytes());
    }

    #[test]
    fn the_largest_numbers(
        which in 0_usize..13,
        number in "(99999999999999999999|18446744073709551615|1e300|1e18|0|nan)"
    ) {
        let (name, bytes) = originals().swap_remove(which);
        let text = String::from_utf8_lossy(&bytes);
        let digit = |letter: char| letter.is_ascii_digit();
        let mut out = String::new();
        let mut rest = text.as_ref();
        while let Some(at) = rest.find(digit) {
            out.push_str(&rest[..at]);
            let from = &rest[at..];
            let end = from.find(|letter: char| !digit(letter)).unwrap_or(from.len());
            // Short numbers are names and percents.
            out.push_str(if end > 2 { &number } else { &from[..end] });
            rest = &from[end..];
        }
        out.push_str(rest);
        read_by_all(&name, out.as_bytes(), out.as_bytes());
    }
}

#[test]
fn cut_anywhere() {
    for (name, bytes) in originals() {
        for point in 0..=200 {
            read_by_all(&name, &bytes[..bytes.len() * point / 200], &bytes);
        }
    }
}

#[test]
fn each_is_claimed_by_its_format() {
    let named = |(name, bytes): &(String, Vec<u8>)| {
        let file = File { path: name, bytes, beside: &|_| None };
        let (format, _) = format_of(&file);
        let rows = format.map(|format| (format.read)(&file).map(|rows| rows.len()));
        (format.map(|format| format.name), rows)
    };
    let found: Vec<_> = originals().iter().map(named).collect();
    let expected = [
        ("fio text", 1),
        ("fio text", 1),
        ("fio terse", 1),
        ("fio terse", 1),
        ("fio logs", 1),
        ("fio logs", 1),
        ("fio JSON", 1),
        ("btrfs read policy benchmarks", 1),
        ("fsperf", 2),
        ("fsperf's database", 1),
        ("MMTests", 2),
        ("dbench", 1),
        ("fs_mark", 1),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(name, rows)| (Some(name), Some(Ok(rows)))).collect();
    assert_eq!(found, expected);
}

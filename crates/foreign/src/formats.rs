//! Which results a file holds, whoever made it. Adding a format is adding its module and a line
//! here.

use disklab_results::measure::BenchmarkRun;
use disklab_results::{dbench, fio, fs_mark};

use crate::format::{Claimed, File, Format};
use crate::row::Row;
use crate::{csv, fio_json, fio_log, fio_terse, fio_text, fsperf, mmtests, policy_script};

/// The first one that claims a file reads it.
pub static FORMATS: &[Format] = &[
    Format {
        name: "fio JSON",
        tells_cells: false,
        claims: |file| results_if(contains(file.head(), "\"fio version\"")),
        read: |file| read(fio::parse(file.bytes).map(|report| fio_json::rows(&report))),
    },
    Format {
        name: "btrfs read policy benchmarks",
        tells_cells: true,
        claims: policy_script::claims,
        read: policy_script::read,
    },
    Format {
        name: "fio text",
        tells_cells: false,
        claims: |file| results_if(fio_text::is_text(file.head())),
        read: |file| read(fio_text::parse(file.bytes)),
    },
    Format {
        name: "fio terse",
        tells_cells: false,
        claims: |file| results_if(fio_terse::is_terse(file.head())),
        read: |file| read(fio_terse::parse(file.bytes)),
    },
    Format { name: "fio logs", tells_cells: false, claims: fio_log::claims, read: fio_log::read },
    Format {
        name: "dbench",
        tells_cells: false,
        claims: |file| results_if(dbench::is_dbench(file.bytes)),
        read: |file| read(dbench::parse(file.bytes).map(benchmark_rows)),
    },
    Format {
        name: "fs_mark",
        tells_cells: false,
        claims: |file| results_if(fs_mark::is_fs_mark(file.head())),
        read: |file| read(fs_mark::parse(file.bytes).map(benchmark_rows)),
    },
    Format {
        name: "MMTests",
        tells_cells: false,
        claims: |file| results_if(mmtests::is_mmtests(file.head())),
        read: |file| read(mmtests::parse(file.bytes)),
    },
    Format {
        name: "fsperf",
        tells_cells: false,
        claims: |file| results_if(fsperf::is_comparison(file.head())),
        read: |file| read(fsperf::comparison(file.bytes)),
    },
    Format {
        name: "fsperf's database",
        tells_cells: false,
        claims: |file| results_if(fsperf::is_exported(file.head())),
        read: |file| read(fsperf::exported(file.bytes)),
    },
    Format {
        name: "CSV",
        tells_cells: true,
        claims: |file| results_if(file.name().to_ascii_lowercase().ends_with(".csv")),
        read: |file| read(csv::parse(file.bytes)),
    },
];

pub fn format_of(file: &File) -> (Option<&'static Format>, Claimed) {
    for format in FORMATS {
        match (format.claims)(file) {
            Claimed::No => {}
            claimed => return (Some(format), claimed),
        }
    }
    (None, Claimed::No)
}

fn results_if(is: bool) -> Claimed {
    if is { Claimed::Results } else { Claimed::No }
}

fn contains(bytes: &[u8], what: &str) -> bool {
    bytes.windows(what.len()).any(|window| window == what.as_bytes())
}

fn benchmark_rows(runs: Vec<BenchmarkRun>) -> Vec<Row> {
    runs.into_iter().map(Row::from).collect()
}

fn read(rows: Result<Vec<Row>, impl std::fmt::Display>) -> Result<Vec<Row>, String> {
    rows.map_err(|error| error.to_string())
}

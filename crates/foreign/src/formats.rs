//! The list of all formats. To add a format, add its module and a line here.

use std::fmt::Display;

use disklab_results::measure::BenchmarkRun;
use disklab_results::{dbench, fio, fs_mark};

use crate::format::{Claimed, File, ResultFormat, Rows, Unreadable};
use crate::row::ResultRow;
use crate::{csv, fio_json, fio_log, fio_terse, fio_text, fsperf, mmtests, policy_script};

/// Defines a format whose files are read alone and recognised by their first bytes.
macro_rules! by_head {
    ($name:literal, $is:path, $parse:path) => {
        ResultFormat {
            name: $name,
            tells_cells: false,
            claims: |file| results_if($is(file.head())),
            read: |file| $parse(file.bytes),
        }
    };
}

/// All formats. The first one that claims a file reads it.
pub static FORMATS: &[ResultFormat] = &[
    by_head!("fio JSON", fio_json::is_report, fio_json_rows),
    ResultFormat {
        name: "btrfs read policy benchmarks",
        tells_cells: true,
        claims: policy_script::claims,
        read: policy_script::read,
    },
    by_head!("fio text", fio_text::is_text, fio_text::parse),
    by_head!("fio terse", fio_terse::is_terse, fio_terse::parse),
    ResultFormat {
        name: "fio logs",
        tells_cells: false,
        claims: fio_log::claims,
        read: fio_log::read,
    },
    ResultFormat {
        name: "dbench",
        tells_cells: false,
        // The result is at the end of the file.
        claims: |file| results_if(dbench::is_dbench(file.bytes)),
        read: |file| benchmark_rows(dbench::parse(file.bytes)),
    },
    by_head!("fs_mark", fs_mark::is_fs_mark, fs_mark_rows),
    by_head!("MMTests", mmtests::is_mmtests, mmtests::parse),
    by_head!("fsperf", fsperf::is_comparison, fsperf::comparison),
    by_head!("fsperf's database", fsperf::is_exported, fsperf::exported),
    ResultFormat {
        name: "CSV",
        tells_cells: true,
        claims: |file| results_if(file.name().to_ascii_lowercase().ends_with(".csv")),
        read: |file| csv::parse(file.bytes),
    },
];

pub fn format_of(file: &File) -> (Option<&'static ResultFormat>, Claimed) {
    let mut claimed = FORMATS.iter().map(|format| (Some(format), (format.claims)(file)));
    claimed.find(|(_, claimed)| *claimed != Claimed::No).unwrap_or((None, Claimed::No))
}

fn results_if(is: bool) -> Claimed {
    if is { Claimed::Results } else { Claimed::No }
}

fn fio_json_rows(bytes: &[u8]) -> Rows {
    fio::parse(bytes).map(|report| fio_json::rows(&report)).map_err(whole)
}

fn fs_mark_rows(bytes: &[u8]) -> Rows {
    benchmark_rows(fs_mark::parse(bytes))
}

fn benchmark_rows(runs: Result<Vec<BenchmarkRun>, impl Display>) -> Rows {
    runs.map(|runs| runs.into_iter().map(ResultRow::from).collect()).map_err(whole)
}

fn whole(error: impl Display) -> Unreadable {
    Unreadable::whole(error.to_string())
}

//! Which results a file holds, whoever made it. Adding a format is adding its module and a line
//! here.

use disklab_results::{dbench, fio, fs_mark};

use crate::format::{Claimed, File, FormatReader, Parse, ResultFormat, Unreadable};
use crate::row::ResultRow;
use crate::{csv, fio_json, fio_log, fio_terse, fio_text, fsperf, mmtests, policy_script};

/// The first one that claims a file reads it.
pub static FORMATS: &[ResultFormat] = &[
    by_head("fio JSON", fio_json::is_report, |bytes| {
        let report = fio::parse(bytes).map_err(whole)?;
        Ok(fio_json::rows(&report))
    }),
    ResultFormat {
        name: "btrfs read policy benchmarks",
        tells_cells: true,
        reader: FormatReader::Folder { claims: policy_script::claims, read: policy_script::read },
    },
    by_head("fio text", fio_text::is_text, fio_text::parse),
    by_head("fio terse", fio_terse::is_terse, fio_terse::parse),
    ResultFormat {
        name: "fio logs",
        tells_cells: false,
        reader: FormatReader::Folder { claims: fio_log::claims, read: fio_log::read },
    },
    ResultFormat {
        name: "dbench",
        tells_cells: false,
        reader: FormatReader::Folder {
            // Its result is at the end.
            claims: |file| results_if(dbench::is_dbench(file.bytes)),
            read: |file| {
                let runs = dbench::parse(file.bytes).map_err(whole)?;
                Ok(runs.into_iter().map(ResultRow::from).collect())
            },
        },
    },
    by_head("fs_mark", fs_mark::is_fs_mark, |bytes| {
        let runs = fs_mark::parse(bytes).map_err(whole)?;
        Ok(runs.into_iter().map(ResultRow::from).collect())
    }),
    by_head("MMTests", mmtests::is_mmtests, mmtests::parse),
    by_head("fsperf", fsperf::is_comparison, fsperf::comparison),
    by_head("fsperf's database", fsperf::is_exported, fsperf::exported),
    ResultFormat {
        name: "CSV",
        tells_cells: true,
        reader: FormatReader::Folder {
            claims: |file| results_if(file.name().to_ascii_lowercase().ends_with(".csv")),
            read: |file| csv::parse(file.bytes),
        },
    },
];

const fn by_head(name: &'static str, is: fn(&[u8]) -> bool, parse: Parse) -> ResultFormat {
    ResultFormat { name, tells_cells: false, reader: FormatReader::Head { is, parse } }
}

pub fn format_of(file: &File) -> (Option<&'static ResultFormat>, Claimed) {
    let mut claimed = FORMATS.iter().map(|format| (Some(format), format.claims(file)));
    claimed.find(|(_, claimed)| *claimed != Claimed::No).unwrap_or((None, Claimed::No))
}

fn results_if(is: bool) -> Claimed {
    if is { Claimed::Results } else { Claimed::No }
}

fn whole(error: impl std::fmt::Display) -> Unreadable {
    Unreadable::whole(error.to_string())
}

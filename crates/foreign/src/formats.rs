//! Which results a file holds, whoever made it. Adding a format is adding its module and a line
//! here.

use disklab_results::{dbench, fio, fs_mark};

use crate::format::{Claimed, File, Format, Parse, Reader, Unreadable};
use crate::row::Row;
use crate::{csv, fio_json, fio_log, fio_terse, fio_text, fsperf, mmtests, policy_script};

/// The first one that claims a file reads it.
pub static FORMATS: &[Format] = &[
    by_head("fio JSON", fio_json::is_report, |bytes| {
        let report = fio::parse(bytes).map_err(whole)?;
        Ok(fio_json::rows(&report))
    }),
    Format {
        name: "btrfs read policy benchmarks",
        tells_cells: true,
        reader: Reader::Folder { claims: policy_script::claims, read: policy_script::read },
    },
    by_head("fio text", fio_text::is_text, fio_text::parse),
    by_head("fio terse", fio_terse::is_terse, fio_terse::parse),
    Format {
        name: "fio logs",
        tells_cells: false,
        reader: Reader::Folder { claims: fio_log::claims, read: fio_log::read },
    },
    Format {
        name: "dbench",
        tells_cells: false,
        reader: Reader::Folder {
            // Its result is at the end.
            claims: |file| results_if(dbench::is_dbench(file.bytes)),
            read: |file| {
                let runs = dbench::parse(file.bytes).map_err(whole)?;
                Ok(runs.into_iter().map(Row::from).collect())
            },
        },
    },
    by_head("fs_mark", fs_mark::is_fs_mark, |bytes| {
        let runs = fs_mark::parse(bytes).map_err(whole)?;
        Ok(runs.into_iter().map(Row::from).collect())
    }),
    by_head("MMTests", mmtests::is_mmtests, mmtests::parse),
    by_head("fsperf", fsperf::is_comparison, fsperf::comparison),
    by_head("fsperf's database", fsperf::is_exported, fsperf::exported),
    Format {
        name: "CSV",
        tells_cells: true,
        reader: Reader::Folder {
            claims: |file| results_if(file.name().to_ascii_lowercase().ends_with(".csv")),
            read: |file| csv::parse(file.bytes),
        },
    },
];

const fn by_head(name: &'static str, is: fn(&[u8]) -> bool, parse: Parse) -> Format {
    Format { name, tells_cells: false, reader: Reader::Head { is, parse } }
}

pub fn format_of(file: &File) -> (Option<&'static Format>, Claimed) {
    let mut claimed = FORMATS.iter().map(|format| (Some(format), format.claims(file)));
    claimed.find(|(_, claimed)| *claimed != Claimed::No).unwrap_or((None, Claimed::No))
}

fn results_if(is: bool) -> Claimed {
    if is { Claimed::Results } else { Claimed::No }
}

fn whole(error: impl std::fmt::Display) -> Unreadable {
    Unreadable::whole(error.to_string())
}

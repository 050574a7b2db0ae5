//! Which results a file holds, whoever made it. Adding a format is adding its module and a line
//! here.

use crate::found::Row;
use crate::{
    csv, dbench, fio, fio_log, fio_terse, fio_text, fs_mark, fsperf, mmtests, policy_script,
};

/// A file that may hold results.
pub struct File<'a> {
    /// From the folder that was named, with `/`.
    pub path: &'a str,
    pub bytes: &'a [u8],
    /// The bytes of a file in the same folder, by its name.
    pub beside: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl<'a> File<'a> {
    pub fn name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The first bytes, as far as they are needed to tell what it is.
    pub fn head(&self) -> &'a [u8] {
        &self.bytes[..self.bytes.len().min(HEAD)]
    }
}

/// fio's complaints may stand before its report.
const HEAD: usize = 64 << 10;

/// What a format makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// It holds results.
    Results,
    /// It is read together with another one.
    Beside,
    No,
}

pub struct Format {
    /// As people call it.
    pub name: &'static str,
    /// Whether its rows say all that tells their cells apart, so that the name of the file does
    /// not.
    pub tells_cells: bool,
    pub claims: fn(&File) -> Claimed,
    /// The rows of a file that it claims; or what is wrong with it, and where.
    pub read: fn(&File) -> Result<Vec<Row>, String>,
}

/// The first one that claims a file reads it.
pub static FORMATS: &[Format] = &[
    Format {
        name: "fio JSON",
        tells_cells: false,
        claims: |file| results_if(contains(file.head(), "\"fio version\"")),
        read: |file| told(fio::parse(file.bytes).map(|report| fio::rows::rows(&report))),
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
        read: |file| told(fio_text::parse(file.bytes)),
    },
    Format {
        name: "fio terse",
        tells_cells: false,
        claims: |file| results_if(fio_terse::is_terse(file.head())),
        read: |file| told(fio_terse::parse(file.bytes)),
    },
    Format { name: "fio logs", tells_cells: false, claims: fio_log::claims, read: fio_log::read },
    Format {
        name: "dbench",
        tells_cells: false,
        claims: |file| results_if(dbench::is_dbench(file.bytes)),
        read: |file| told(dbench::parse(file.bytes)),
    },
    Format {
        name: "fs_mark",
        tells_cells: false,
        claims: |file| results_if(fs_mark::is_fs_mark(file.head())),
        read: |file| told(fs_mark::parse(file.bytes)),
    },
    Format {
        name: "MMTests",
        tells_cells: false,
        claims: |file| results_if(mmtests::is_mmtests(file.head())),
        read: |file| told(mmtests::parse(file.bytes)),
    },
    Format {
        name: "fsperf",
        tells_cells: false,
        claims: |file| results_if(fsperf::is_comparison(file.head())),
        read: |file| told(fsperf::comparison(file.bytes)),
    },
    Format {
        name: "fsperf's database",
        tells_cells: false,
        claims: |file| results_if(fsperf::is_exported(file.head())),
        read: |file| told(fsperf::exported(file.bytes)),
    },
    Format {
        name: "CSV",
        tells_cells: true,
        claims: |file| results_if(file.name().to_ascii_lowercase().ends_with(".csv")),
        read: |file| told(csv::parse(file.bytes)),
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

fn told(rows: Result<Vec<Row>, impl std::fmt::Display>) -> Result<Vec<Row>, String> {
    rows.map_err(|error| error.to_string())
}

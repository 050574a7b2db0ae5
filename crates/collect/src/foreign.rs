//! Which results a file holds, whoever made it. Adding a format is adding its module and a line here.

use crate::found::Row;
use crate::{csv, fio, fio_log, fio_terse, fio_text, policy_script};

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
    pub claims: fn(&File) -> Claimed,
    /// The rows of a file that it claims; or what is wrong with it, and where.
    pub read: fn(&File) -> Result<Vec<Row>, String>,
}

/// The first one that claims a file reads it.
pub static FORMATS: [Format; 6] = [
    Format { name: "fio JSON", claims: is_fio_json, read: fio_json },
    Format { name: "btrfs read policy benchmarks", claims: policy_script::claims, read: policy_script::read },
    Format { name: "fio text", claims: is_fio_text, read: read_fio_text },
    Format { name: "fio terse", claims: is_fio_terse, read: read_fio_terse },
    Format { name: "fio logs", claims: fio_log::claims, read: fio_log::read },
    Format { name: "CSV", claims: is_csv, read: read_csv },
];

pub fn format_of(file: &File) -> (Option<&'static Format>, Claimed) {
    for format in &FORMATS {
        match (format.claims)(file) {
            Claimed::No => {}
            claimed => return (Some(format), claimed),
        }
    }
    (None, Claimed::No)
}

fn contains(bytes: &[u8], what: &str) -> bool {
    bytes.windows(what.len()).any(|window| window == what.as_bytes())
}

fn is_fio_json(file: &File) -> Claimed {
    let is = contains(file.head(), "\"fio version\"");
    if is { Claimed::Results } else { Claimed::No }
}

fn fio_json(file: &File) -> Result<Vec<Row>, String> {
    let report = fio::parse(file.bytes).map_err(|error| error.to_string())?;
    Ok(fio::rows::rows(&report))
}

fn is_fio_text(file: &File) -> Claimed {
    if fio_text::is_text(file.head()) { Claimed::Results } else { Claimed::No }
}

fn read_fio_text(file: &File) -> Result<Vec<Row>, String> {
    fio_text::parse(file.bytes).map_err(|error| error.to_string())
}

fn is_fio_terse(file: &File) -> Claimed {
    if fio_terse::is_terse(file.head()) { Claimed::Results } else { Claimed::No }
}

fn read_fio_terse(file: &File) -> Result<Vec<Row>, String> {
    fio_terse::parse(file.bytes).map_err(|error| error.to_string())
}

fn is_csv(file: &File) -> Claimed {
    let named = file.name().to_ascii_lowercase().ends_with(".csv");
    if named { Claimed::Results } else { Claimed::No }
}

fn read_csv(file: &File) -> Result<Vec<Row>, String> {
    csv::parse(file.bytes).map_err(|error| error.to_string())
}

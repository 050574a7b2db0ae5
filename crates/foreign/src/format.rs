//! The interface of a format of results: a file in, rows out.

use crate::row::Row;

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

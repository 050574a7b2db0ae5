//! The interface of a format of results: a file in, rows out.

use crate::row::ResultRow;

/// A file that may hold results.
pub struct File<'a> {
    /// The path from the folder that was named, with `/`.
    pub path: &'a str,
    pub bytes: &'a [u8],
    /// Returns the bytes of a file in the same folder, by its name.
    pub beside: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl<'a> File<'a> {
    pub fn name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// Returns the first bytes, as many as are needed to recognise the format.
    pub fn head(&self) -> &'a [u8] {
        &self.bytes[..self.bytes.len().min(HEAD)]
    }
}

/// Bytes to search for a report; fio's complaints may stand before it.
const HEAD: usize = 64 << 10;

/// Whether a format reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// The file holds results.
    Results,
    /// The file is read together with another one.
    Beside,
    /// The file is of another format.
    No,
}

/// A reason why a file of a known format cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct Unreadable {
    /// The line from 1, or None if the whole file is at fault.
    pub line: Option<u64>,
    pub message: String,
}

impl Unreadable {
    pub fn line(line: impl TryInto<u64>, message: impl Into<String>) -> Self {
        Self { line: line.try_into().ok(), message: message.into() }
    }

    pub fn whole(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }
}

/// Returns a line without quotation marks of mail, and without blanks at its end.
pub(crate) fn unquoted(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t']).trim_end()
}

/// The rows of a file of a format, or the reason why it cannot be read.
pub type Rows = Result<Vec<ResultRow>, Unreadable>;

pub struct ResultFormat {
    /// The name that people use.
    pub name: &'static str,
    /// Whether the rows contain everything that distinguishes their cells, so that the name of the
    /// file is not needed.
    pub tells_cells: bool,
    /// Whether a file is of this format.
    pub claims: fn(&File) -> Claimed,
    /// Reads the rows of a file that it claims.
    pub read: fn(&File) -> Rows,
}

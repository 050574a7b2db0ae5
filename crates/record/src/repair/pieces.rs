//! Splits a damaged file into its original lines.

use super::scanned::member;
use crate::chain::Chain;
use crate::outcome;

/// The beginning of every line.
const FIRST: &[u8] = b"{\"schema\":";

/// A line of the old file, or a part of one.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// Offset of the piece in the file.
    pub from: usize,
    pub bytes: &'a [u8],
    pub is_good: bool,
}

impl Piece<'_> {
    pub fn raw(&self) -> Option<String> {
        member::<String>(self.bytes, "raw")
    }
}

/// Splits a file into its original lines, even if a newline was damaged or added.
pub fn pieces(lines: &[u8], mut chain: Chain) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    let mut begin = 0;
    while begin < lines.len() {
        let rest = lines.get(begin..).unwrap_or_default();
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let line = rest.get(..end).unwrap_or_default();
        let is_good = chain.check(line).is_ok() && outcome::parse_line(line).is_ok();
        match pieces.last_mut() {
            // The newline before this part was another letter of the same line.
            Some(Piece { from, bytes, is_good: false }) if !line.starts_with(b"{") => {
                *bytes = lines.get(*from..begin + end).unwrap_or_default();
            }
            _ => pieces.push(Piece { from: begin, bytes: line, is_good }),
        }
        begin += end + 1;
    }
    pieces.into_iter().flat_map(split).collect()
}

/// Splits a damaged piece at a newline between two lines that became another letter.
fn split(piece: Piece<'_>) -> Vec<Piece<'_>> {
    let Piece { from, bytes, is_good } = piece;
    let is_begin =
        |&at: &usize| !is_good && bytes.get(at..).is_some_and(|rest| rest.starts_with(FIRST));
    let ends: Vec<usize> = (1..bytes.len()).filter(is_begin).chain([bytes.len()]).collect();
    let begins = std::iter::once(0).chain(ends.clone());
    let part = |(begin, end)| Piece {
        from: from + begin,
        bytes: bytes.get(begin..end).unwrap_or_default(),
        is_good,
    };
    begins.zip(ends).map(part).collect()
}

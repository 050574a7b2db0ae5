//! Digests that link the lines of `trials.jsonl`, so that no change or removal of one goes unseen.
//!
//! The last member of a line's object is `chain`: the SHA-256 of the `chain` of the line before
//! (nothing, for the first), a newline, and the line up to the comma in front of its own `chain`.

use std::io;
use std::path::Path;

use disklab_protocol::digest::sha256_hex;
use serde::{Deserialize, Serialize};

use crate::sync;

/// The text between a line's last member and its digest.
const KEY: &str = ",\"chain\":\"";
/// The end of a line, after the 64 digits of its digest.
const END: &str = "\"}";
const DIGITS: usize = 64;

/// The state of a chain after some line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    /// Whether lines have digests at all; those of older records have none.
    is_protected: bool,
    /// The digest of the last line, as the line states it.
    stated: String,
    /// The computed digest of the last line. It differs from `stated` if the line was changed.
    computed: String,
    /// Whether the last line has no readable digest.
    is_broken: bool,
    /// The number of lines so far, damaged ones included.
    lines: usize,
}

/// The number of lines and the digest of the last one, as the file `trials.last` has them.
///
/// A line is in `trials.jsonl` before this counts it. So a crash leaves a file with too small a
/// number at worst. If lines are removed from the end of `trials.jsonl`, it has fewer lines than
/// this number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastLine {
    pub lines: usize,
    /// The digest of the last line. It is empty if there is no line.
    pub chain: String,
}

impl LastLine {
    /// Parses the file, which has to be exactly the text of [`LastLine::to_text`].
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let last: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("not the count of a record's lines: {error}"))?;
        let is_whole = (last.lines == 0) == last.chain.is_empty()
            && last.to_text().is_ok_and(|text| text.as_bytes() == bytes);
        if is_whole { Ok(last) } else { Err("it was changed after it was written".to_owned()) }
    }

    /// Replaces the file as a whole. The rename is the last step, so an error leaves the file
    /// unchanged.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        sync::write_whole(path, &self.to_text()?)
    }

    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

impl Chain {
    /// Returns the chain of a file without lines.
    pub fn new(is_protected: bool) -> Self {
        Self { is_protected, ..Self::default() }
    }

    /// Adds its digest to a line, a JSON object without a newline.
    pub fn seal(&mut self, line: String) -> String {
        match line.strip_suffix('}') {
            Some(members) if self.is_protected => {
                let digest = link(&self.stated, members.as_bytes());
                let sealed = format!("{members}{KEY}{digest}{END}");
                (self.computed, self.stated) = (digest.clone(), digest);
                self.lines += 1;
                sealed
            }
            _ => line,
        }
    }

    /// Checks the digest of the next line. After an error the chain continues after that line,
    /// whichever part of it was changed. If that line has no digest, the next one is accepted,
    /// since the error already says that the file is damaged.
    pub fn check(&mut self, line: &[u8]) -> Result<(), String> {
        self.lines += 1;
        let Some((members, stated)) = split(line) else {
            if self.is_protected {
                self.is_broken = true;
                return Err("its digest is missing: the line was changed or is incomplete".into());
            }
            return Ok(());
        };
        let fits = std::mem::take(&mut self.is_broken)
            || [&self.stated, &self.computed].iter().any(|before| link(before, members) == stated);
        self.computed = link(&self.stated, members);
        stated.clone_into(&mut self.stated);
        if fits {
            return Ok(());
        }
        Err("its digest does not fit: this line was changed, or lines before it were removed or \
             added"
            .into())
    }

    /// Returns the count and the digest of the last line, or None if lines have no digests.
    pub fn last(&self) -> Option<LastLine> {
        let last = LastLine { lines: self.lines, chain: self.stated.clone() };
        self.is_protected.then_some(last)
    }

    /// Checks that the last checked line has the digest that `last` has for it.
    pub fn check_last(&self, last: &LastLine) -> Result<(), String> {
        if last.lines != self.lines || [&self.stated, &self.computed].contains(&&last.chain) {
            return Ok(());
        }
        Err("its digest differs from the one in trials.last: lines were removed or added".into())
    }

    /// Returns the digest of the next line, if the line had the members of `bare`, which lacks a
    /// digest, and if there is a proof. The proof is that the damaged line `old` states this
    /// digest, that the digest of the `next` line follows from it, or that `last` has it.
    pub fn proof(
        &self,
        bare: &str,
        old: &[u8],
        next: Option<&[u8]>,
        last: Option<&LastLine>,
    ) -> Option<String> {
        let members = bare.strip_suffix('}').filter(|_| self.is_protected)?.as_bytes();
        let is_proven = |digest: &String| {
            let is_stated = old.windows(DIGITS).any(|bytes| bytes == digest.as_bytes());
            let goes_on =
                next.and_then(split).is_some_and(|(next, stated)| link(digest, next) == stated);
            let is_last = |last: &LastLine| last.lines == self.lines + 1 && last.chain == *digest;
            is_stated || goes_on || last.is_some_and(is_last)
        };
        [&self.stated, &self.computed]
            .map(|before| link(before, members))
            .into_iter()
            .find(is_proven)
    }

    /// Sets the digest of the last checked line.
    pub fn go_on_from(&mut self, digest: String) {
        self.computed.clone_from(&digest);
        self.stated = digest;
        self.is_broken = false;
    }

    /// Returns the number of lines so far, damaged ones included.
    pub const fn lines(&self) -> usize {
        self.lines
    }
}

fn link(before: &str, members: &[u8]) -> String {
    sha256_hex(&[before.as_bytes(), b"\n", members].concat())
}

/// Returns a line without its digest.
pub fn bare(line: &[u8]) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    split(line).map_or_else(|| text(line), |(members, _)| text(members) + "}")
}

/// Splits a line into the part that its digest covers, and the digest. Returns None if it has none.
fn split(line: &[u8]) -> Option<(&[u8], &str)> {
    let rest = line.strip_suffix(END.as_bytes())?;
    let (rest, digest) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    Some((rest.strip_suffix(KEY.as_bytes())?, std::str::from_utf8(digest).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed() -> Vec<String> {
        let mut chain = Chain::new(true);
        (0..4).map(|number| chain.seal(format!("{{\"number\":{number}}}"))).collect()
    }

    fn bad(lines: &[String]) -> Vec<usize> {
        let mut chain = Chain::new(true);
        (0..lines.len()).filter(|&at| chain.check(lines[at].as_bytes()).is_err()).collect()
    }

    #[test]
    fn every_bit_of_a_line_is_covered_and_only_that_line_is_lost() {
        let lines = sealed();
        assert_eq!(bad(&lines), [] as [usize; 0]);
        for bit in 0..lines[1].len() * 8 {
            let mut bytes = lines[1].clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut chain = Chain::new(true);
            chain.check(lines[0].as_bytes()).expect("unchanged");
            assert!(chain.check(&bytes).is_err(), "bit {bit}");
            if split(&bytes).is_some() {
                chain.check(lines[2].as_bytes()).expect("unchanged");
            }
        }
    }

    #[test]
    fn what_is_removed_added_or_moved_shows() {
        let lines = sealed();
        let chosen =
            |places: &[usize]| places.iter().map(|&at| lines[at].clone()).collect::<Vec<_>>();
        assert_eq!(bad(&chosen(&[1, 2, 3])), [0]);
        assert_eq!(bad(&chosen(&[0, 2, 3])), [1]);
        assert_eq!(bad(&chosen(&[0, 1, 1, 2])), [2]);
        assert!(!bad(&chosen(&[0, 2, 1, 3])).is_empty());
        // A line without a digest is invalid in such a file, and valid in an older record.
        assert_eq!(bad(&["{}".to_owned()]), [0]);
        assert_eq!(Chain::new(false).check(b"{}"), Ok(()));
        assert_eq!(Chain::new(false).seal("{}".into()), "{}");
    }
}

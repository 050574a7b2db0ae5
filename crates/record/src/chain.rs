//! Digests that link the lines of `trials.jsonl`, so that no change or removal of one goes unseen.
//!
//! The last member of a line's object is `chain`: the SHA-256 of the `chain` of the line before
//! (nothing, for the first), a newline, and the line up to the comma in front of its own `chain`.

use disklab_protocol::digest::sha256_hex;

/// The text between a line's last member and its digest.
const KEY: &str = ",\"chain\":\"";
/// The end of a line, behind the 64 digits of its digest.
const END: &str = "\"}";
const DIGITS: usize = 64;

/// The state of a chain behind some line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    /// Whether lines have digests at all: those of older records have none.
    is_protected: bool,
    /// The digest of the last line, as the line states it.
    stated: String,
    /// The same, computed. It differs from the stated one if the line was changed.
    computed: String,
    /// The last line has no digest that could be read.
    is_broken: bool,
}

impl Chain {
    /// The chain of a file without lines.
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
                sealed
            }
            _ => line,
        }
    }

    /// Checks the digest of the line that follows. After an error the chain goes on behind that
    /// line, whichever part of it was changed; where that has no digest left, the next line is
    /// believed, since the error says that the file is damaged.
    pub fn check(&mut self, line: &[u8]) -> Result<(), String> {
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
}

fn link(before: &str, members: &[u8]) -> String {
    sha256_hex(&[before.as_bytes(), b"\n", members].concat())
}

/// Splits a line into what its digest covers and the digest; None if it has none.
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
        // Without its digest a line is none of such a file, and is one of an older record.
        assert_eq!(bad(&["{}".to_owned()]), [0]);
        assert_eq!(Chain::new(false).check(b"{}"), Ok(()));
        assert_eq!(Chain::new(false).seal("{}".into()), "{}");
    }
}

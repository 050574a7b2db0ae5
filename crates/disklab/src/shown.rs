//! Makes text safe for a terminal. A record may come from anybody, so that control sequences in it
//! are escaped.

use std::io::{self, Write};

use disklab_units::prose::is_hidden;

/// Control sequences that disklab itself writes ([`crate::screen::Paint`], and those of table
/// heads). All others are escaped.
const PAINTS: [&str; 5] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m"];

/// A writer that escapes control sequences. disklab's own paints pass if there are colours.
#[derive(Debug)]
pub struct TerminalText<W: Write> {
    inner: W,
    color: bool,
    /// First bytes of a letter or of a paint whose rest has not arrived.
    begun: Vec<u8>,
}

/// Escapes text that reaches a terminal in another way than through standard output.
pub fn shown(text: &str, color: bool) -> String {
    let mut out = TerminalText::new(Vec::new(), color);
    // Writing to a vector does not fail.
    let _ = out.show(text);
    String::from_utf8_lossy(&out.inner).into_owned()
}

impl<W: Write> TerminalText<W> {
    pub const fn new(inner: W, color: bool) -> Self {
        Self { inner, color, begun: Vec::new() }
    }

    /// Escapes `text`, except for an incomplete sequence at its end.
    fn pass(&mut self, text: &[u8]) -> io::Result<Vec<u8>> {
        let whole = match std::str::from_utf8(text) {
            Ok(whole) => whole,
            Err(error) if error.error_len().is_none() => {
                // The last letter is incomplete.
                std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => {
                self.show(&String::from_utf8_lossy(text))?;
                return Ok(Vec::new());
            }
        };
        let paint_begun = whole.rfind('\x1b').filter(|at| {
            let rest = &whole[*at..];
            self.color
                && PAINTS.iter().any(|paint| paint.len() > rest.len() && paint.starts_with(rest))
        });
        let sure = paint_begun.unwrap_or(whole.len());
        self.show(&whole[..sure])?;
        Ok(text[sure..].to_vec())
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) =
            rest.find(|letter| is_hidden(letter) && letter != '\n' && letter != '\t')
        {
            let (plain, from) = rest.split_at(at);
            self.inner.write_all(plain.as_bytes())?;
            let paint = PAINTS.iter().find(|paint| self.color && from.starts_with(**paint));
            let length = if let Some(paint) = paint {
                self.inner.write_all(paint.as_bytes())?;
                paint.len()
            } else {
                let Some(letter) = from.chars().next() else { break };
                write!(self.inner, "{}", letter.escape_unicode())?;
                letter.len_utf8()
            };
            rest = &from[length..];
        }
        self.inner.write_all(rest.as_bytes())
    }
}

impl<W: Write> Write for TerminalText<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        // Most text is plain and needs no escaping.
        let plain = |byte: &u8| (b' '..0x7f).contains(byte) || *byte == b'\n';
        if self.begun.is_empty() && text.iter().all(plain) {
            self.inner.write_all(text)?;
            return Ok(text.len());
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(text);
        self.begun = self.pass(&all)?;
        Ok(text.len())
    }

    /// Writes an incomplete sequence as it is, escaped.
    fn flush(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        self.show(&String::from_utf8_lossy(&begun))?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(parts: &[&[u8]], color: bool) -> String {
        let mut out = TerminalText::new(Vec::new(), color);
        for part in parts {
            out.write_all(part).unwrap();
        }
        out.flush().unwrap();
        String::from_utf8(out.inner).unwrap()
    }

    #[test]
    fn escapes_are_text_and_our_paints_are_paint() {
        let text = "\x1b[1;31mbad\x1b[0m \x1b]0;title\x07 \x1b[2J ü\u{202e}\u{9b}31m\tx\n";
        let spelled = "\\u{1b}]0;title\\u{7} \\u{1b}[2J ü\\u{202e}\\u{9b}31m\tx\n";
        assert_eq!(written(&[text.as_bytes()], true), format!("\x1b[1;31mbad\x1b[0m {spelled}"));
        assert_eq!(
            written(&[text.as_bytes()], false),
            format!("\\u{{1b}}[1;31mbad\\u{{1b}}[0m {spelled}")
        );
        assert_eq!(written(&[b"a\xffb"], true), "a\u{fffd}b");
        for color in [true, false] {
            assert_eq!(super::shown(text, color), written(&[text.as_bytes()], color));
        }
    }

    proptest! {
        /// The cuts make no difference.
        #[test]
        fn pieces_make_no_difference(cuts in prop::collection::vec(0_usize..64, 0..6)) {
            let text = "plain \x1b[1mhead\x1b[0m ü€\u{1f600} \x1b[31m\x1b\x1b[32mok\x1b[0m\u{9b}\n";
            let text = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|two| &text[two[0]..two[1]]).collect();
            for color in [true, false] {
                prop_assert_eq!(written(&parts, color), written(&[text], color));
            }
        }
    }
}

//! Output: tables or JSON on standard output, messages and progress on standard error.

use std::collections::BTreeSet;
use std::env;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::ValueEnum;
use disklab_stats::Verdict;
use disklab_units::prose::visible;
use rustix::termios::tcgetwinsize;
use serde::Serialize;

use crate::document;
use crate::exit::{Exit, Failure};
use crate::shown::{TerminalText, shown};
use crate::words;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

/// Width of tables in a pipe or a file.
const USUAL_WIDTH: usize = 120;
/// Width below which terminals wrap lines themselves: some words are longer.
const LEAST_WIDTH: usize = 24;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are answers to separate questions")]
pub struct Screen {
    pub json: bool,
    /// Running verb, which names its documents: `kernel-list`.
    verb: String,
    /// Whether standard output has colours.
    pub color: bool,
    /// Whether standard error has colours.
    color_errors: bool,
    /// Columns of standard output.
    pub width: usize,
    /// Whether progress can be drawn on standard error.
    pub progress: bool,
    /// Remarks that are printed once at most, and were printed.
    remarks: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Clone, Copy)]
pub enum Paint {
    Strong,
    Faint,
    Good,
    Bad,
}

impl From<Verdict> for Paint {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Better => Self::Good,
            Verdict::Worse => Self::Bad,
            Verdict::Same | Verdict::Undecided => Self::Strong,
        }
    }
}

impl Screen {
    pub fn new(json: bool, color: When) -> Self {
        let wanted = |terminal: bool| match color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                terminal
                    && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && can_paint()
            }
        };
        let size = tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_col));
        Self {
            json,
            verb: String::new(),
            color: wanted(io::stdout().is_terminal()),
            color_errors: wanted(io::stderr().is_terminal()),
            width: if size == 0 { USUAL_WIDTH } else { size.max(LEAST_WIDTH) },
            progress: io::stderr().is_terminal() && can_paint(),
            remarks: Mutex::default(),
        }
    }

    /// Returns the screen for a verb, which names its documents.
    #[must_use]
    pub fn of_verb(self, verb: String) -> Self {
        Self { verb, ..self }
    }

    /// Returns a screen of this width, without colours.
    #[cfg(test)]
    pub fn of_width(width: usize) -> Self {
        Self {
            json: false,
            verb: String::new(),
            color: false,
            color_errors: false,
            width,
            progress: false,
            remarks: Mutex::default(),
        }
    }

    /// Returns standard output. Its errors become the right exit status with `?`.
    pub fn out(&self) -> BufWriter<TerminalText<StdoutLock<'static>>> {
        BufWriter::new(TerminalText::new(io::stdout().lock(), self.color))
    }

    /// Prints one JSON document, an object that the verb names.
    pub fn json(&self, document: &impl Serialize) -> Result<(), Failure> {
        self.json_named(&self.verb, document)
    }

    /// Prints one JSON document with another name, for verbs that print several kinds.
    pub fn json_named(&self, name: &str, document: &impl Serialize) -> Result<(), Failure> {
        DOCUMENT_BEGUN.store(true, Ordering::Relaxed);
        let mut out = self.out();
        let document = document::Document { schema: document::name(name), document };
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
        Ok(out.flush()?)
    }

    /// Prints `document` if JSON is wanted, and otherwise the output of `print`.
    pub fn present(
        &self,
        document: &impl Serialize,
        print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json { self.json(document) } else { self.print(print) }
    }

    /// Prints the output of `print`.
    pub fn print(
        &self,
        print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut out = self.out();
        print(&mut out)?;
        Ok(out.flush()?)
    }

    /// Writes prose, wrapped at the screen's width, with each line indented by `indent`.
    pub fn prose(&self, text: &str, indent: &str, out: &mut dyn Write) -> Result<(), Failure> {
        let width = self.width.saturating_sub(indent.len());
        for line in words::filled(text.split_whitespace(), width, "", "  ") {
            writeln!(out, "{indent}{line}")?;
        }
        Ok(())
    }

    pub fn paint(&self, text: &str, paint: Paint) -> String {
        painted(self.color, text, paint)
    }

    /// Makes text from outside safe for a progress bar: control characters are escaped.
    pub fn shown(&self, text: &str) -> String {
        shown(text, self.color)
    }

    /// Prints an error. If standard error is closed, nobody can read it.
    pub fn complain(&self, message: &str) {
        let _ = writeln!(
            io::stderr(),
            "{} {}",
            painted(self.color_errors, "error:", Paint::Bad),
            visible(message)
        );
    }

    /// Prints an error document in place of the verb's document.
    #[expect(clippy::unused_self, reason = "whoever prints does it by leave of the screen")]
    pub fn json_error(&self, exit: Exit, failure: &Failure) {
        if !DOCUMENT_BEGUN.swap(true, Ordering::Relaxed) {
            document::print_error(exit, failure);
        }
    }

    /// Prints a remark, unless the same remark was printed before.
    pub fn remark_once(&self, message: String) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        if !remarks.contains(&message) {
            self.remark(&message);
            remarks.insert(message);
        }
    }

    /// Prints a line on standard error that is not an error.
    #[expect(clippy::unused_self, reason = "whoever prints does it by leave of the screen")]
    pub fn remark(&self, message: &str) {
        let _ = writeln!(io::stderr(), "{}", visible(message));
    }
}

/// Whether a JSON document was begun. No second document may follow it.
pub static DOCUMENT_BEGUN: AtomicBool = AtomicBool::new(false);

/// Returns true if the terminal can move the cursor. Terminals that cannot have TERM=dumb.
fn can_paint() -> bool {
    env::var_os("TERM").is_some_and(|term| term != "dumb" && !term.is_empty())
}

fn painted(color: bool, text: &str, paint: Paint) -> String {
    if !color {
        return text.to_owned();
    }
    let code = match paint {
        Paint::Strong => "1",
        Paint::Faint => "2",
        Paint::Good => "32",
        Paint::Bad => "1;31",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

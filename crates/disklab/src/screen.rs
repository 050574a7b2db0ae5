//! Where words go: tables or JSON to standard output, complaints and progress to standard error.

use std::env;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

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

/// How wide a table may be where nobody says: in a pipe or a file.
const USUAL_WIDTH: usize = 120;
/// Narrower terminals get lines that they wrap themselves: the words are longer than that.
const LEAST_WIDTH: usize = 24;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are answers to separate questions")]
pub struct Screen {
    pub json: bool,
    /// The verb that runs, which names its documents: `kernel-list`.
    verb: String,
    /// On standard output.
    pub color: bool,
    /// On standard error.
    color_errors: bool,
    /// Columns of standard output.
    pub width: usize,
    /// Whether progress can be drawn on standard error.
    pub progress: bool,
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
        }
    }

    /// The screen of a verb, which names its documents.
    #[must_use]
    pub fn of_verb(self, verb: String) -> Self {
        Self { verb, ..self }
    }

    /// Without colours.
    #[cfg(test)]
    pub fn of_width(width: usize) -> Self {
        let verb = String::new();
        Self { json: false, verb, color: false, color_errors: false, width, progress: false }
    }

    /// Standard output. Errors of it become the right exit status with `?`.
    pub fn out(&self) -> BufWriter<TerminalText<StdoutLock<'static>>> {
        BufWriter::new(TerminalText::new(io::stdout().lock(), self.color))
    }

    /// Prints one JSON document, an object that the verb gives its name.
    pub fn json(&self, document: &impl Serialize) -> Result<(), Failure> {
        self.json_named(&self.verb, document)
    }

    /// Prints one JSON document of another name, for verbs that print several kinds.
    pub fn json_named(&self, name: &str, document: &impl Serialize) -> Result<(), Failure> {
        DOCUMENT_BEGUN.store(true, Ordering::Relaxed);
        let mut out = self.out();
        let document = document::Document { schema: document::name(name), document };
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
        Ok(out.flush()?)
    }

    /// Prints `document` where JSON is wanted, and otherwise what `print` writes.
    pub fn present(
        &self,
        document: &impl Serialize,
        print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json { self.json(document) } else { self.print(print) }
    }

    /// Prints what `print` writes.
    pub fn print(
        &self,
        print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut out = self.out();
        print(&mut out)?;
        Ok(out.flush()?)
    }

    /// Writes prose, broken to the screen's width, with all of its lines set in by `indent`.
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

    /// For a progress bar, which is not standard output: names may be anybody's.
    pub fn shown(&self, text: &str) -> String {
        shown(text, self.color)
    }

    /// Says what went wrong. Where standard error is closed there is nobody to tell.
    pub fn complain(&self, message: &str) {
        let _ = writeln!(
            io::stderr(),
            "{} {}",
            painted(self.color_errors, "error:", Paint::Bad),
            visible(message)
        );
    }

    /// Prints why there is no document, in place of it.
    #[expect(clippy::unused_self, reason = "whoever prints does it by leave of the screen")]
    pub fn json_error(&self, exit: Exit, failure: &Failure) {
        if !DOCUMENT_BEGUN.swap(true, Ordering::Relaxed) {
            document::print_error(exit, failure);
        }
    }

    /// A line on standard error that is no complaint.
    #[expect(clippy::unused_self, reason = "whoever prints does it by leave of the screen")]
    pub fn remark(&self, message: &str) {
        let _ = writeln!(io::stderr(), "{}", visible(message));
    }
}

/// Whether a JSON document was begun, after which no other follows.
pub static DOCUMENT_BEGUN: AtomicBool = AtomicBool::new(false);

/// Terminals that cannot move the cursor call themselves dumb.
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

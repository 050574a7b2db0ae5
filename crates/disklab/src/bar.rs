//! A progress bar on standard error, or plain lines if standard error is no terminal.

use std::time::Duration;

use disklab_units::prose::visible;
use indicatif::{ProgressBar, ProgressStyle};

use crate::screen::Screen;

const TICK: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub struct Bar<'a> {
    screen: &'a Screen,
    drawn: Option<ProgressBar>,
}

impl<'a> Bar<'a> {
    /// Begins a bar of `length` parts; a length of None draws none.
    pub fn new(screen: &'a Screen, length: Option<u64>, template: &str) -> Self {
        let drawn = length.filter(|_| screen.progress).map(|length| {
            let drawn = ProgressBar::new(length).with_style(style(template));
            drawn.enable_steady_tick(TICK);
            drawn
        });
        Self { screen, drawn }
    }

    pub fn drawn(&self) -> Option<&ProgressBar> {
        self.drawn.as_ref()
    }

    /// Prints a line that stays: above the bar, if one is drawn.
    pub fn say(&self, text: &str) {
        match &self.drawn {
            Some(bar) => bar.println(visible(text)),
            None => self.screen.remark(text),
        }
    }

    /// Shows a text beside the bar.
    pub fn message(&self, text: &str) {
        self.drawn.iter().for_each(|bar| bar.set_message(text.to_owned()));
    }

    pub fn end(&self) {
        self.drawn.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// Parses a template of this program's own; a wrong one shows as the default style.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

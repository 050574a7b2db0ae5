//! Shows the progress of a kernel's build: a bar on a terminal, or a line every 20 s elsewhere.

use std::time::{Duration, Instant};

use disklab_kernels::BuildStep;

use crate::bar::{Bar, style};
use crate::screen::Screen;
use crate::words;

/// Interval between two lines about the same step.
const NOW_AND_THEN: Duration = Duration::from_secs(20);
/// Parts of a bar. Steps count different things.
const PARTS: u64 = 1000;

#[derive(Debug)]
pub struct BuildProgress<'a> {
    bar: Bar<'a>,
    last: Option<Instant>,
}

impl<'a> BuildProgress<'a> {
    pub fn new(screen: &'a Screen) -> Self {
        Self { bar: Bar::new(screen, Some(PARTS), "{spinner} {msg}"), last: None }
    }

    /// Shows the steps of `build` while it runs.
    pub fn during<T>(screen: &'a Screen, build: impl FnOnce(&mut dyn FnMut(BuildStep)) -> T) -> T {
        let mut progress = Self::new(screen);
        let result = build(&mut |step| progress.step(step));
        progress.end();
        result
    }

    pub fn step(&mut self, step: BuildStep) {
        match step {
            BuildStep::Note(text) => self.bar.say(&text),
            BuildStep::Waiting { lock } => {
                self.begin(&format!("waiting for another disklab, which holds {}", lock.display()));
            }
            BuildStep::Looking { package, suite } => {
                self.begin(&format!("looking for {package} in {suite}"));
            }
            BuildStep::Downloading { package, done, total } => {
                let text = format!("downloading {package}: {done} of {total}");
                self.go_on(part(done.0, total.0), &text);
            }
            BuildStep::Preparing { what } => self.begin(&what),
            BuildStep::Inserting { files, patches } => self.begin(&format!(
                "inserting the disk driver and the clock (files: {files}, patches: {patches})"
            )),
            BuildStep::Compiling { done, total, remaining } => {
                let left = remaining
                    .map_or_else(String::new, |left| format!(", about {} left", words::wall(left)));
                // Per cent, since the total number of commands is a guess.
                let part = part(u64::from(done), u64::from(total));
                self.go_on(part, &format!("compiling: {} %{left}", part * 100 / PARTS));
            }
        }
    }

    pub fn end(&self) {
        self.bar.end();
    }

    /// Shows a new step of unknown length.
    fn begin(&mut self, text: &str) {
        self.last = None;
        self.show("{spinner} {msg}", None, text);
    }

    fn go_on(&mut self, part: u64, text: &str) {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= NOW_AND_THEN);
        if self.bar.drawn().is_some() || is_due {
            self.last = Some(Instant::now());
            self.show("{bar:30} {msg}", Some(part), text);
        }
    }

    fn show(&self, template: &str, part: Option<u64>, text: &str) {
        let Some(bar) = self.bar.drawn() else { return self.bar.say(text) };
        bar.set_style(style(template));
        if let Some(part) = part {
            bar.set_position(part);
        }
        bar.set_message(text.to_owned());
    }
}

fn part(done: u64, total: u64) -> u64 {
    (done.min(total) * PARTS).checked_div(total).unwrap_or(0)
}

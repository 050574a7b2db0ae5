//! How a kernel's build is told: a bar on a terminal, elsewhere a line now and then.

use std::time::{Duration, Instant};

use disklab_kernels::Step;
use indicatif::{ProgressBar, ProgressStyle};

use crate::screen::Screen;
use crate::words;

/// Between two lines about the same thing.
const NOW_AND_THEN: Duration = Duration::from_secs(20);
/// Parts of a bar; what is counted differs from step to step.
const PARTS: u64 = 1000;

#[derive(Debug)]
pub struct Progress<'a> {
    screen: &'a Screen,
    bar: Option<ProgressBar>,
    last: Option<Instant>,
}

impl<'a> Progress<'a> {
    pub fn new(screen: &'a Screen) -> Self {
        let bar = screen.progress.then(|| {
            let bar = ProgressBar::new(PARTS);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { screen, bar, last: None }
    }

    pub fn step(&mut self, step: Step) {
        match step {
            Step::Note(text) => self.say(&text),
            Step::Waiting { lock } => {
                self.begin(&format!("waiting for another disklab, which holds {}", lock.display()));
            }
            Step::Looking { package, suite } => {
                self.begin(&format!("looking for {package} in {suite}"))
            }
            Step::Downloading { package, done, total } => {
                self.go_on(
                    part(done.0, total.0),
                    &format!("downloading {package}: {done} of {total}"),
                );
            }
            Step::Preparing { what } => self.begin(&what),
            Step::Inserting { files, patches } => {
                self.begin(&format!(
                    "putting in the disks and the clock (files: {files}, patches: {patches})"
                ));
            }
            Step::Compiling { done, total, remaining } => {
                let left = remaining
                    .map_or_else(String::new, |left| format!(", about {} left", words::wall(left)));
                // Percent, because nobody counts commands and their total is a guess.
                let part = part(u64::from(done), u64::from(total));
                self.go_on(part, &format!("compiling: {} %{left}", part * 100 / PARTS));
            }
        }
    }

    pub fn end(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(disklab_units::prose::visible(text)),
            None => self.screen.remark(text),
        }
    }

    /// Something new, of unknown length.
    fn begin(&mut self, text: &str) {
        self.last = None;
        match &self.bar {
            Some(bar) => {
                bar.set_style(style("{spinner} {msg}"));
                bar.set_message(text.to_owned());
            }
            None => self.screen.remark(text),
        }
    }

    fn go_on(&mut self, part: u64, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_style(style("{bar:30} {msg}"));
            bar.set_position(part);
            bar.set_message(text.to_owned());
        } else if self.last.is_none_or(|last| last.elapsed() >= NOW_AND_THEN) {
            self.last = Some(Instant::now());
            self.screen.remark(text);
        }
    }
}

fn part(done: u64, total: u64) -> u64 {
    (done.min(total) * PARTS).checked_div(total).unwrap_or(0)
}

/// The templates are ours; a wrong one shows as the default style.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

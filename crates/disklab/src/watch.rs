//! `disklab watch`: shows a record's matrix while a run fills it.

pub mod matrix;

use std::thread::sleep;
use std::time::Duration;

use disklab_record::Record;
use disklab_report::Tally;
use indicatif::ProgressBar;

use crate::bar;
use crate::exit::{Exit, Failure};
use crate::records;
use crate::screen::Screen;
use crate::show;

/// Interval between two drawings.
const PAUSE: Duration = Duration::from_millis(500);

/// Watch a run while it fills its record.
///
/// Watching works from another terminal, and from another machine that can read the record's
/// folder. Each trial is a mark: ● ok, ✗ failed or skipped, ◐ running, · to come, - not needed.
/// When the run ends, watch prints the table of its results and ends too. Ctrl-C ends the watching
/// and not the run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, by its name in ./records or by its path.
    run: String,
}

pub fn watch(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    if screen.json {
        return Err(Failure::mistaken(
            "--json: watch has no end and prints no document; use `disklab show --json`",
        ));
    }
    let folder = records::find(&args.run)?;
    let mut picture = Picture::new(screen);
    let record = loop {
        // A trial that ends between the two calls is then in the record.
        let goes_on = disklab_record::is_written(&folder)?;
        let record = Record::open(&folder)?;
        picture.draw(&record, screen);
        if !goes_on {
            break record;
        }
        sleep(PAUSE);
    };
    picture.end();
    records::remark_on(&record, screen);
    let mut out = screen.out();
    show::cells(&record, screen, &mut out)?;
    let tally = Tally::new(&record);
    if tally.missing() > 0 {
        let name = records::name_in_shell(&folder);
        screen.remark(&format!("the run has stopped; to continue: disklab run --resume {name}"));
    }
    Ok(if tally.is_whole() { Exit::Ok } else { Exit::Failed })
}

/// Draws the matrix over itself on a terminal. Elsewhere, it prints a line whenever trials have
/// ended.
pub struct Picture {
    bar: Option<ProgressBar>,
    told: Option<Tally>,
}

impl Picture {
    pub fn new(screen: &Screen) -> Self {
        let bar = screen.progress.then(|| {
            let bar = ProgressBar::no_length();
            bar.set_style(bar::style("{msg}"));
            bar
        });
        Self { bar, told: None }
    }

    pub fn draw(&mut self, record: &Record, screen: &Screen) {
        if let Some(bar) = &self.bar {
            bar.set_message(matrix::lines(record, screen, 0).join("\n"));
            bar.tick();
            return;
        }
        let tally = Tally::new(record);
        if self.told.replace(tally) != Some(tally) {
            screen.remark(&tally.to_string());
        }
    }

    pub fn end(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

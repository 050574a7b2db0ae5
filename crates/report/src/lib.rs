//! A record as one page that opens anywhere, and the same answers as text.
//!
//! - [`merge`]: a record's trials merged over their seeds; [`tally`]: the progress of a record;
//!   [`measures`]: numbers of imported results;
//! - [`failures`]: why trials have no result; [`notes`]: remarks on those with one;
//! - [`disks`]: the work of a trial's disks;
//! - [`source`]: the data of a report: the readable records, their comparisons and verdicts;
//! - [`panel`]: the form of a panel; the panels are the files of `src/panels`, found by the build;
//! - [`to_watch`]: trials whose disks are shown over time; [`traces`]: their traces; [`watched`]:
//!   such a trial; [`over_time`]: their pictures, with [`addresses`], [`raster`] and [`embedded`];
//! - [`forest`]: all cells in one picture; [`numbers`]: all cells in one table, with the
//!   [`standing`] of each choice; [`title`]: the question; [`limits`]: facts that no record has;
//! - [`chart`]: a picture with its text and its table; [`page`]: the page; [`markdown`]: the text.
//!
//! A report computes nothing: numbers are the record's, or come from `results`, `stats` and
//! `compare`. It reads records and their raw files, and writes nothing: the caller gets a string.

pub mod addresses;
pub mod chart;
pub mod disks;
pub mod embedded;
pub mod failures;
pub mod forest;
pub mod history;
pub mod latency;
pub mod limits;
pub mod markdown;
pub mod measures;
pub mod merge;
pub mod notes;
pub mod numbers;
pub mod over_time;
pub mod page;
pub mod panel;
pub mod pictures;
pub mod raster;
pub mod source;
pub mod standing;
pub mod survival;
pub mod swept;
pub mod tally;
pub mod text;
pub mod title;
pub mod to_watch;
pub mod traces;
pub mod watched;

/// The panels, one file each.
pub mod panels {
    include!(concat!(env!("OUT_DIR"), "/panels.rs"));

    /// Returns the panels in the order of the page.
    pub fn in_order() -> Vec<crate::panel::Panel> {
        let mut all = ALL.to_vec();
        all.sort_by_key(|panel| panel.place);
        all
    }
}

pub use panel::{Nothing, Panel, Piece, Section};
pub use source::{Group, Records, ReportOptions, ReportSource};
pub use tally::Tally;
pub use text::MARKER;

//! A disk as a whole: the plan, and what comes of it.

use std::sync::atomic::AtomicBool;

use disklab_config::Diagnostics;
use disklab_config::device::Device;
use disklab_config::read::TomlReader;
use disklab_units::{Bytes, Nanos};

use crate::bench::{Bench, Watch};
use crate::hdd::tracks::Stream;
use crate::kind::Kind;
use crate::numbers::median;
use crate::sheet::{Mark, Sheet, percent, plain, time};
use crate::target::Target;
use crate::{Error, hdd, kind, ssd};

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// After this, what can be left out is.
    pub time: Nanos,
    /// Whether what is on the disk may be destroyed.
    pub may_write: bool,
    pub hints: Hints,
}

/// What the kernel says of a disk: taken where nothing can be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    pub queue_depth: Option<u32>,
    pub write_cache: Option<bool>,
    /// NVMe: flushes are commands among others.
    pub queued_flush: Option<bool>,
    /// A file on a disk.
    pub file: bool,
}

impl Hints {
    /// Why a flush may end in the kernel, so that its time is not the disk's.
    pub fn flush_is_dropped(&self) -> Option<&'static str> {
        match self {
            Self { file: true, .. } => {
                Some("it is a file: whether a flush reaches the disk is its filesystem's choice")
            }
            Self { write_cache: Some(false), .. } => {
                Some("the kernel knows of no write cache there and passes no flush on")
            }
            _ => None,
        }
    }
}

/// A disk that was measured.
#[derive(Debug, Clone)]
pub struct Calibration {
    pub bytes: Bytes,
    /// `hdd` or `ssd`: the table's name.
    pub family: &'static str,
    /// One line for people.
    pub summary: String,
    pub sheet: Sheet,
    /// What has no place in the file's numbers.
    pub remarks: Vec<String>,
}

impl Calibration {
    /// The device's file; `head` goes before everything.
    pub fn file(&self, head: &[String]) -> String {
        let head: Vec<String> = head.iter().chain(&self.remarks).cloned().collect();
        self.sheet.file(&head, &self.summary, &format!("{} B", self.bytes.0), self.family)
    }

    /// What could not be seen, and why.
    pub fn unseen(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.sheet.lines.iter().filter_map(|line| match &line.mark {
            Mark::NotVisible { why } => Some((line.key, why.as_str())),
            Mark::Measured { .. } | Mark::Derived { .. } => None,
        })
    }

    /// What was reckoned with something that was not measured, and what that is.
    pub fn derived(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.sheet.lines.iter().filter_map(|line| match &line.mark {
            Mark::Derived { if_true, .. } => Some((line.key, if_true.as_str())),
            _ => None,
        })
    }
}

/// The device that a file describes, as the lab reads it.
pub fn read_back(name: &str, file: &str) -> Result<Device, Diagnostics> {
    TomlReader::new(name, file).read(|table| Device::read(name, table))
}

pub(crate) fn calibrate(
    target: &mut dyn Target,
    plan: &Plan,
    watch: Watch<'_>,
    stop: &AtomicBool,
) -> Result<Calibration, Error> {
    let bytes = target.bytes();
    let mut bench = Bench::new(target, plan.time, plan.may_write, watch, stop);
    bench.plan(hdd::STEPS + 4);
    let kind = kind::measure(&mut bench)?;
    let before = pace(&mut bench)?;
    let ((sheet, remarks), family, summary) = match kind {
        Kind::Turns(rotation) => {
            let found = hdd::measure(&mut bench, &rotation, &plan.hints)?;
            let rpm =
                found.0.lines.iter().find(|line| line.key == "rpm").map_or("", |line| &line.value);
            let summary = format!("{bytes}, {rpm} rpm, measured");
            (found, "hdd", summary)
        }
        Kind::Still => {
            bench.plan(ssd::STEPS + 1);
            (ssd::measure(&mut bench, &plan.hints)?, "ssd", format!("{bytes} SSD, measured"))
        }
    };
    bench.step("noise");
    let after = pace(&mut bench)?;
    let mut calibration = Calibration { bytes, family, summary, sheet, remarks };
    calibration.remarks.extend(noise(&before, &after));
    Ok(calibration)
}

/// What each of the same reads in sequence takes, which nothing but somebody else's use of the disk
/// should change.
fn pace(bench: &mut Bench<'_>) -> Result<Vec<f64>, Error> {
    // Not where anything else is read in sequence: a cache would remember it.
    let place = bench.size() * 7 / 16 / 8 * 8;
    Ok(Stream::read(bench, place, 16_384, (256, 2))?.steps)
}

/// Beyond this part, somebody else is likely to have used the disk.
const QUIET: f64 = 0.1;

fn noise(before: &[f64], after: &[f64]) -> Vec<String> {
    let (first, last) = (median(before), median(after));
    let moved = (last / first.max(1.0) - 1.0).abs();
    let mut said = vec![format!(
        "noise: the same reads in sequence took {} each at the beginning and {} at the end, {} % apart",
        plain(&time(first)),
        plain(&time(last)),
        percent(moved)
    )];
    if moved > QUIET {
        said.push(
            "that is much: something else used the disk, and the numbers below are to be doubted"
                .to_owned(),
        );
    }
    said
}

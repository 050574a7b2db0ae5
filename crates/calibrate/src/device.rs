//! The calibration of a whole disk: its plan and its result.

use std::sync::atomic::AtomicBool;

use disklab_config::Diagnostics;
use disklab_config::device::Device;
use disklab_config::read::TomlReader;
use disklab_units::Bytes;

use crate::bench::{OnProgress, TestBench};
use crate::error::{Error, LEAST, Result};
use crate::hdd::rotation::{self, Rotation};
use crate::hdd::tracks::SequentialRead;
use crate::numbers::median;
use crate::plan::CalibrationPlan;
use crate::sheet::{Provenance, Sheet, percent, time};
use crate::target::{Probe, Target, latencies};
use crate::{hdd, ssd};

/// The result of measuring a disk.
#[derive(Debug, Clone)]
pub struct Calibration {
    pub bytes: Bytes,
    /// Name of the device's table: `hdd` or `ssd`.
    pub family: &'static str,
    /// A line that describes the disk to people.
    pub summary: String,
    pub sheet: Sheet,
    /// Findings that have no place in the file's numbers.
    pub remarks: Vec<String>,
}

impl Calibration {
    /// Returns the device's file, which begins with `head`.
    pub fn file(&self, head: &[String]) -> String {
        let head: Vec<String> = head.iter().chain(&self.remarks).cloned().collect();
        let size = format!("\"{} B\" # [meas] as many as can be read", self.bytes.0);
        self.sheet.file(&head, &self.summary, &size, self.family)
    }

    /// Lists the keys that could not be seen, and why.
    pub fn unseen(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sheet.lines.iter().filter_map(|line| match &line.mark {
            Provenance::NotVisible { why } => Some((line.key.as_str(), why.as_str())),
            _ => None,
        })
    }

    /// Lists the keys that were computed from something that was not measured, and what that is.
    pub fn derived(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sheet.lines.iter().filter_map(|line| match &line.mark {
            Provenance::Derived { if_true, .. } => Some((line.key.as_str(), if_true.as_str())),
            _ => None,
        })
    }
}

/// Reads the device that a file describes, as the lab does.
pub fn read_back(name: &str, file: &str) -> Result<Device, Diagnostics> {
    TomlReader::new(name, file).read(|table| Device::read(name, table))
}

/// Measures `target`. `watch` gets the progress. `stop` ends it with [`Error::Interrupted`] after
/// the request that is under way.
pub fn calibrate(
    target: &mut dyn Target,
    plan: &CalibrationPlan,
    watch: OnProgress<'_>,
    stop: &AtomicBool,
) -> Result<Calibration> {
    let bytes = target.bytes();
    if bytes < LEAST {
        return Err(Error::TooSmall { has: bytes });
    }
    let mut bench = TestBench::new(target, plan.time, plan.may_write, watch, stop);
    bench.plan(hdd::STEPS + 4);
    let rotation = rotation(&mut bench)?;
    let before = pace(&mut bench)?;
    let ((sheet, mut remarks), family, summary) = if let Some(rotation) = rotation {
        let found = hdd::measure(&mut bench, &rotation, &plan.hints)?;
        let rpm = found.0.lines.iter().find(|line| line.key == "rpm");
        let rpm = rpm.map_or("", |line| &line.value);
        let summary = format!("{bytes}, {rpm} rpm, measured");
        (found, "hdd", summary)
    } else {
        bench.plan(ssd::STEPS + 1);
        (ssd::measure(&mut bench, plan.hints)?, "ssd", format!("{bytes} SSD, measured"))
    };
    bench.step("noise");
    let after = pace(&mut bench)?;
    remarks.extend(noise(&before, &after));
    Ok(Calibration { bytes, family, summary, sheet, remarks })
}

/// The least median latency of random reads with an arm, in ns.
pub(crate) const ARM: f64 = 1.5e6;
/// The greatest median latency of random reads without an arm, in ns.
pub(crate) const ONLY_ARMS: f64 = 4e6;
const READS: usize = 60;

/// Determines from its latencies whether a disk rotates, and how fast. Returns `None` if it does
/// not rotate. The kernel's facts have no influence.
fn rotation(bench: &mut TestBench<'_>) -> Result<Option<Rotation>> {
    bench.step("check for rotation");
    let probes = bench.blocks(READS, Probe::read);
    let usual = median(&latencies(&bench.serve(1, &probes)?));
    if usual < ARM {
        return Ok(None);
    }
    bench.step("rotation");
    let found = rotation::measure(bench)?;
    if found.is_none() && usual >= ONLY_ARMS {
        return Err(Error::Unclear(format!(
            "the median random read takes {}, as on a hard disk, but the reads show no rotation; \
             is another program using the disk?",
            time(usual)
        )));
    }
    Ok(found)
}

/// Measures the time of each of the same sequential reads. Only another user of the disk should
/// change it.
fn pace(bench: &mut TestBench<'_>) -> Result<Vec<f64>> {
    // No other measurement reads here in sequence, so that no cache holds this place.
    let place = bench.size() * 7 / 16 / 8 * 8;
    Ok(SequentialRead::measure(bench, place, 16_384, (256, 2))?.steps)
}

/// Relative difference of the two paces beyond which somebody else probably used the disk.
const QUIET: f64 = 0.1;

fn noise(before: &[f64], after: &[f64]) -> Vec<String> {
    let (first, last) = (median(before), median(after));
    let moved = (last / first.max(1.0) - 1.0).abs();
    let mut said = vec![format!(
        "noise: the same reads in sequence took {} each at the beginning and {} at the end, \
         {} % apart",
        time(first),
        time(last),
        percent(moved)
    )];
    if moved > QUIET {
        said.push(
            "another program probably used the disk: do not trust the numbers below; measure again"
                .to_owned(),
        );
    }
    said
}

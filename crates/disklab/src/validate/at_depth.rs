//! Compares drives that were measured at several depths and numbers of jobs with their models.

use std::io::Write;

use disklab_calibrate::matrix::score::{
    DEEPEST, DepthScore, IOPS_MEDIAN, IOPS_WORST, LATENCY_MEDIAN, LoadNumbers, PointScore,
    by_depth, score,
};
use disklab_config::Lab;
use disklab_foreign::matrix::MatrixPoint;
use disklab_units::Bytes;
use disklab_units::prose::{count, listed};
use serde_json::{Value, json};

use crate::exit::{Failure, mistaken};
use crate::matrix::{
    DeviceChoice, FoundMatrices, check_choices, contradiction, device_of, parts_json,
};
use crate::screen::{Paint, Screen};
use crate::table::TextTable;
use crate::words::or_dash;

/// A drive and the device that models it.
struct ScoredDrive {
    drive: String,
    device: String,
    class: &'static str,
    scores: Vec<PointScore>,
    /// Points that were not run, each with the reason.
    passed_over: Vec<String>,
}

/// All drives, and the summary of their errors.
pub struct ScoredMatrices {
    drives: Vec<ScoredDrive>,
    summary: Vec<SummaryRow>,
    /// Files and links that could not be read, each with the reason.
    passed_over: Vec<String>,
    left_out: Vec<LeftOutDrive>,
}

/// A drive without a score, and the reason.
struct LeftOutDrive {
    drive: String,
    reason: String,
}

/// Errors of all drives, or of the drives of a class, under one load at one depth.
struct SummaryRow {
    /// Class of the drives. None stands for all drives, to which the bars apply.
    class: Option<&'static str>,
    rw: String,
    block: u64,
    score: DepthScore,
}

impl SummaryRow {
    fn missed(&self) -> Vec<&'static str> {
        if self.class.is_none() { self.score.missed() } else { Vec::new() }
    }
}

impl LeftOutDrive {
    fn line(&self) -> String {
        format!("{}: {}", self.drive, self.reason)
    }
}

impl ScoredMatrices {
    /// Runs all points that were found.
    pub fn run(
        found: FoundMatrices,
        choices: &[DeviceChoice],
        lab: &Lab,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        if found.drives.is_empty() {
            let reasons = found.passed_over.join("\n");
            return Err(mistaken!("no measured numbers could be read:\n{reasons}"));
        }
        check_choices(choices, &found)?;
        let mut matrices = Self {
            drives: Vec::new(),
            summary: Vec::new(),
            passed_over: found.passed_over,
            left_out: Vec::new(),
        };
        for (drive, points) in &found.drives {
            let Some(device) = device_of(drive, points, choices, lab)? else {
                let reason =
                    format!("no device models it; name one with --device '{drive}=DEVICE'");
                matrices.left_out.push(LeftOutDrive { drive: drive.clone(), reason });
                continue;
            };
            let (mut scores, mut passed_over) = (Vec::new(), Vec::new());
            let (doubted, sound): (Vec<MatrixPoint>, Vec<MatrixPoint>) =
                points.iter().cloned().partition(|point| contradiction(point).is_some());
            passed_over.extend(doubted.iter().filter_map(contradiction));
            for (result, point) in score(&device, &sound).into_iter().zip(&sound) {
                match result {
                    Ok(score) => scores.push(score),
                    Err(reason) => passed_over.push(format!("{}: {reason}", point.place)),
                }
            }
            scores.sort_by_key(|score| {
                let point = &score.point;
                (point.rw.clone(), point.block, point.outstanding(), point.jobs)
            });
            let device = device.device;
            let class = device.model.family();
            let (drive, device) = (drive.clone(), device.name);
            if scores.is_empty() {
                let reason = match &passed_over[..] {
                    [only] => only.clone(),
                    all => format!("{}, such as {}", count(all.len(), "point"), all[0]),
                };
                matrices.left_out.push(LeftOutDrive { drive: drive.clone(), reason });
            }
            matrices.drives.push(ScoredDrive { drive, device, class, scores, passed_over });
        }
        if matrices.drives.iter().all(|drive| drive.scores.is_empty()) {
            let left_out = matrices.left_out.iter().map(LeftOutDrive::line);
            let reasons: Vec<String> =
                matrices.passed_over.iter().cloned().chain(left_out).collect();
            return Err(mistaken!("no load could be run:\n{}", reasons.join("\n")));
        }
        for passed_over in &matrices.passed_over {
            screen.remark(&format!("skipped: {passed_over}"));
        }
        matrices.summary = summary(&matrices.drives);
        Ok(matrices)
    }

    /// Returns the files that could not be read, and the drives without a score, each with the
    /// reason.
    pub fn left_out_json(&self) -> (&[String], Vec<Value>) {
        let left_out = self.left_out.iter();
        let left_out = left_out.map(|out| json!({ "drive": out.drive, "reason": out.reason }));
        (&self.passed_over, left_out.collect())
    }

    /// Returns true if a bar is missed.
    pub fn missed(&self) -> bool {
        self.summary.iter().any(|row| !row.missed().is_empty())
    }

    /// Returns the drives, and the summary of their errors at each depth.
    pub fn json(&self) -> (Vec<Value>, Vec<Value>) {
        let drive = |drive: &ScoredDrive| {
            json!({
                "drive": drive.drive, "device": drive.device, "class": drive.class,
                "points": drive.scores.iter().map(point_json).collect::<Vec<_>>(),
                "passed_over": drive.passed_over,
            })
        };
        let row = |row: &SummaryRow| {
            json!({
                "class": row.class, "rw": row.rw, "bs": row.block,
                "outstanding": row.score.outstanding,
                "drives": row.score.drives, "points": row.score.points,
                "drives_with_percentiles": row.score.with_percentiles,
                "median_error": parts_json(&row.score.median),
                "worst_error": parts_json(&row.score.worst), "missed": row.missed(),
            })
        };
        (self.drives.iter().map(drive).collect(), self.summary.iter().map(row).collect())
    }

    pub fn print(&self, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
        for drive in self.drives.iter().filter(|drive| !drive.scores.is_empty()) {
            print_drive(drive, screen, out)?;
            writeln!(out)?;
        }
        let mut table = TextTable::with_heads(SUMMARY, screen.color).with_keys(3);
        for row in &self.summary {
            let DepthScore { outstanding, drives, points, with_percentiles, median, worst } =
                &row.score;
            let missed = row.missed();
            let deep = *outstanding > DEEPEST || row.class.is_some();
            table.row([
                format!("{} {}", row.rw, size(row.block)),
                outstanding.to_string(),
                row.class.unwrap_or("all").to_owned(),
                drives.to_string(),
                points.to_string(),
                or_dash(median.iops.map(percent)),
                or_dash(worst.iops.map(percent)),
                with_percentiles.to_string(),
                or_dash(median.p50.map(percent)),
                or_dash(median.p99.map(percent)),
                or_dash(median.p99_9.map(percent)),
                or_dash(median.mean.map(percent)),
                match (deep, missed.is_empty()) {
                    (true, _) => "-".to_owned(),
                    (false, true) if *with_percentiles == 0 => "IOPS only".to_owned(),
                    (false, true) => "yes".to_owned(),
                    (false, false) => format!("no: {}", listed(&missed)),
                },
            ]);
        }
        table.print(screen, "", out)?;
        for left_out in &self.left_out {
            screen.prose(&format!("left out: {}", left_out.line()), "", out)?;
        }
        writeln!(out)?;
        screen.prose(
            &format!(
                "Errors are per cent of the measured number, without sign. Each drive counts once \
                 at a depth, with the median of its points; `worst` is over all points. Limits for \
                 up to {DEEPEST} requests in flight (iodepth times numjobs): median IOPS {}, worst \
                 IOPS {}, median p50 and p99 {} over the drives that have percentiles. Beyond \
                 {DEEPEST}, the machine's I/O scheduler sorts the waiting requests, and the model \
                 serves them in order.",
                percent(IOPS_MEDIAN),
                percent(IOPS_WORST),
                percent(LATENCY_MEDIAN)
            ),
            "",
            out,
        )
    }
}

/// Returns a row for each load and depth over all drives, and one for each class if there are
/// several.
fn summary(drives: &[ScoredDrive]) -> Vec<SummaryRow> {
    let mut loads: Vec<(String, u64)> = drives
        .iter()
        .flat_map(|drive| &drive.scores)
        .map(|score| (score.point.rw.clone(), score.point.block))
        .collect();
    loads.sort_unstable();
    loads.dedup();
    let mut classes: Vec<&'static str> = drives.iter().map(|drive| drive.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut groups = vec![None];
    if classes.len() > 1 {
        groups.extend(classes.into_iter().map(Some));
    }
    let mut rows = Vec::new();
    for (rw, block) in loads {
        for &class in &groups {
            let scores: Vec<Vec<&PointScore>> = drives
                .iter()
                .filter(|drive| class.is_none_or(|class| drive.class == class))
                .map(|drive| drive.scores.iter())
                .map(|scores| {
                    scores.filter(|score| score.point.rw == rw && score.point.block == block)
                })
                .map(Iterator::collect)
                .collect();
            let lists: Vec<&[&PointScore]> = scores.iter().map(Vec::as_slice).collect();
            let row = |score| SummaryRow { class, rw: rw.clone(), block, score };
            rows.extend(by_depth(&lists).into_iter().map(row));
        }
    }
    rows
}

// Each head is complete, since a narrow screen splits the table.
const HEADS: &str = "load|>depth\nx jobs|>IOPS\nmeasured|>IOPS\nmodel|>IOPS\noff|\
                     >p50, ms\nmeasured|>p50, ms\nmodel|>p50\noff|\
                     >p99, ms\nmeasured|>p99, ms\nmodel|>p99\noff|>p99.9\noff|>mean\noff";
const SUMMARY: &str = "load|>in\nflight|class|>drives|>points|>IOPS\nmedian|>IOPS\nworst|\
                       >drives\nwith p50|>p50\nmedian|>p99\nmedian|>p99.9\nmedian|>mean\nmedian|\
                       \nmet";

fn print_drive(drive: &ScoredDrive, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let title = screen.paint(&drive.drive, Paint::Strong);
    writeln!(out, "{title}, modelled as {}", drive.device)?;
    let mut table = TextTable::with_heads(HEADS, screen.color).with_keys(2);
    for PointScore { point, measured, model, errors } in &drive.scores {
        let iops = |iops: Option<f64>| or_dash(iops.map(digits));
        let ms = |ns: Option<f64>| or_dash(ns.map(|ns| digits(ns / 1e6)));
        let off =
            |error: Option<f64>| or_dash(error.map(|error| format!("{:+.0} %", error * 100.0)));
        table.row([
            format!("{} {}", point.rw, size(point.block)),
            format!("{} x {}", point.depth, point.jobs),
            iops(measured.iops),
            iops(model.iops),
            off(errors.iops),
            ms(measured.p50),
            ms(model.p50),
            off(errors.p50),
            ms(measured.p99),
            ms(model.p99),
            off(errors.p99),
            off(errors.p99_9),
            off(errors.mean),
        ]);
    }
    table.print(screen, "  ", out)?;
    if let Some(first) = drive.passed_over.first() {
        let points = count(drive.passed_over.len(), "point");
        screen.prose(&format!("skipped: {points}, such as {first}"), "  ", out)?;
    }
    Ok(())
}

/// Formats a number with four digits.
fn digits(value: f64) -> String {
    let places = (3.0 - value.abs().max(1e-3).log10().floor()).clamp(0.0, 3.0) as usize;
    format!("{value:.places$}")
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

fn size(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

fn point_json(score: &PointScore) -> Value {
    let PointScore { point, measured, model, errors } = score;
    json!({
        "place": point.place, "rw": point.rw, "bs": point.block, "depth": point.depth,
        "jobs": point.jobs, "outstanding": point.outstanding(), "measured": numbers_json(measured),
        "model": numbers_json(model), "error": parts_json(errors),
    })
}

fn numbers_json(numbers: &LoadNumbers) -> Value {
    let LoadNumbers { iops, mean, p50, p99, p99_9 } = numbers;
    json!({ "iops": iops, "mean_ns": mean, "p50_ns": p50, "p99_ns": p99, "p99_9_ns": p99_9 })
}

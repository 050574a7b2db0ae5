//! Fits a device to published results of fio.

use std::path::{Path, PathBuf};

use disklab_calibrate::matrix::fit::{CrossScore, MatrixFit, fit, turns};
use disklab_calibrate::matrix::score::{DEEPEST, IOPS_WORST, LoadNumbers};
use disklab_calibrate::sheet::percent;
use disklab_calibrate::{Calibration, read_back};
use disklab_config::device::{LIKE, inherited_keys, with_inherited};
use disklab_config::read::unknown;
use disklab_config::{Diagnostic, Diagnostics, Lab};
use disklab_foreign::matrix::MatrixPoint;
use disklab_units::prose::{count, listed};
use jiff::Zoned;
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use super::fitted_file::{FittedFile, time};
use crate::bar::Bar;
use crate::exit::{Failure, cannot, mistaken};
use crate::home::Home;
use crate::matrix::{
    FoundMatrices, contradiction, host_of, host_of_array, parts_json, read_device,
};
use crate::screen::Screen;
use crate::words::command_line;

/// The published results that a device is fitted to, and other known numbers of the device.
#[derive(Debug, clap::Args)]
pub struct FromFioArgs {
    /// Fit the device to published results at several depths, in place of a disk.
    ///
    /// PATH is a folder of fio's reports as fio-plot makes them, or a table (.csv; docs/FORMAT.md
    /// has its columns).
    #[arg(long, value_name = "PATH", conflicts_with_all = ["device", "write", "time"],
          requires = "like")]
    from_fio: Option<PathBuf>,

    /// The device of the lab that gives the numbers which the results and --sheet lack.
    #[arg(long, value_name = "DEVICE")]
    like: Option<String>,

    /// Numbers of the data sheet, by the keys of a device's file.
    ///
    /// Example: size="1 TB" rpm=7200 seek_average="8.9 ms".
    #[arg(long, value_name = "KEY=VALUE", num_args = 1..)]
    sheet: Vec<String>,

    /// The drive of the results, if there are several: its name, or the end of its name.
    #[arg(long)]
    drive: Option<String>,

    /// The array of the lab whose machine the drive was measured in.
    ///
    /// The time that the array's [host] takes is subtracted from the results. [default: the column
    /// `array` of a table]
    #[arg(long)]
    array: Option<String>,
}

/// The results of one drive.
struct DriveResults {
    drive: String,
    points: Vec<MatrixPoint>,
    /// Files that could not be read, each with the reason.
    unreadable: Vec<String>,
    /// Points whose numbers are doubtful, each with the reason.
    doubtful: Vec<String>,
}

impl FromFioArgs {
    /// Returns the path of the results and the name of the similar device. Without results it
    /// returns None, or an error if an option needs results.
    pub fn asked(&self) -> Result<Option<(&PathBuf, &str)>, Failure> {
        if let Some(asked) = self.from_fio.as_ref().zip(self.like.as_deref()) {
            return Ok(Some(asked));
        }
        let options = [
            ("--like", self.like.is_some()),
            ("--sheet", !self.sheet.is_empty()),
            ("--drive", self.drive.is_some()),
            ("--array", self.array.is_some()),
        ];
        match options.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(mistaken!(
                "{option} is for fitting a device to published results, and none were named; add \
                 --from-fio PATH, or leave {option} out to measure a disk"
            )),
            None => Ok(None),
        }
    }

    /// Reads the results, and chooses the drive.
    fn results(&self, path: &Path) -> Result<DriveResults, Failure> {
        let mut found = FoundMatrices::default();
        found.read(path)?;
        let fits = |name: &str| match &self.drive {
            Some(wanted) => name
                .strip_suffix(wanted.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('/')),
            None => true,
        };
        let drives: Vec<String> = found.drives.keys().cloned().collect();
        let chosen: Vec<&String> = drives.iter().filter(|name| fits(name)).collect();
        match (&chosen[..], &self.drive) {
            ([drive], _) => {
                let points = found.drives.swap_remove(*drive).unwrap_or_default();
                let doubtful: Vec<String> = points.iter().filter_map(contradiction).collect();
                let points: Vec<MatrixPoint> =
                    points.into_iter().filter(|point| point.doubts.is_empty()).collect();
                if points.is_empty() {
                    return Err(mistaken!(
                        "no results of {drive} can be used for the fit: {}",
                        points_such_as(&doubtful)
                    ));
                }
                let (drive, unreadable) = ((*drive).clone(), found.passed_over);
                Ok(DriveResults { drive, points, unreadable, doubtful })
            }
            ([], Some(drive)) if !drives.is_empty() => {
                let known = drives.iter().map(String::as_str);
                Err(mistaken!("--drive: {}", unknown("drive", drive, known)))
            }
            ([], _) => Err(mistaken!(
                "{}: found no results of fio at several depths{}",
                path.display(),
                found.passed_over.iter().flat_map(|reason| ["\n", reason]).collect::<String>()
            )),
            (several, _) => Err(mistaken!(
                "{} has several drives: {}; name one with --drive",
                path.display(),
                listed(&several.iter().map(|name| name.as_str()).collect::<Vec<_>>())
            )),
        }
    }

    /// Returns the device file before the fit, and the keys that the data sheet states.
    fn start(&self, name: &str, like: &str, lab: &Lab) -> Result<(Table, Vec<String>), Failure> {
        let base = lab.devices.get(like).ok_or_else(|| {
            mistaken!("--like: {}", unknown("device", like, lab.devices.keys().map(String::as_str)))
        })?;
        let family = base.model.family();
        if !matches!(family, "hdd" | "ssd") {
            return Err(mistaken!("--like: {like} is neither a hard disk nor an SSD"));
        }
        let (mut own, mut numbers) = (Table::new(), Table::new());
        own.insert(
            "summary".to_owned(),
            Value::String(format!("{name}, fitted to results of fio")),
        );
        own.insert(LIKE.to_owned(), Value::String(like.to_owned()));
        let mut stated = Vec::new();
        for text in &self.sheet {
            let (key, value) = text
                .split_once('=')
                .filter(|(key, value)| !key.trim().is_empty() && !value.trim().is_empty())
                .ok_or_else(|| mistaken!("--sheet {text}: write KEY=VALUE, such as rpm=7200"))?;
            let (key, value) = (key.trim(), toml_value(value.trim()));
            let key = key.strip_prefix(&format!("{family}.")).unwrap_or(key);
            if stated.iter().any(|stated| stated == key) {
                return Err(mistaken!("--sheet {text}: `{key}` is given twice"));
            }
            match key {
                "size" | "summary" => own.insert(key.to_owned(), value),
                _ => numbers.insert(key.to_owned(), value),
            };
            stated.push(key.to_owned());
        }
        own.insert(family.to_owned(), Value::Table(numbers));
        let text = own.to_string();
        read_device(name, "--sheet", &text, lab)
            .map_err(|mistakes| self.unfit(&mistakes, like, family))?;
        let taken = inherited_keys(&text, &lab.texts.devices);
        let taken = taken.unwrap_or(Ok(String::new())).map_err(Failure::mistaken)?;
        let whole = with_inherited(&text, &taken).and_then(|whole| whole.parse().ok());
        let whole = whole.ok_or_else(|| {
            cannot!(
                "the numbers of --sheet cannot be added to the file of {like}; name another \
                 device with --like"
            )
        })?;
        Ok((whole, stated))
    }

    /// Reports mistaken numbers of the data sheet. These numbers stand in no file, so that the
    /// message names the option in place of a line.
    fn unfit(&self, mistakes: &Diagnostics, like: &str, family: &str) -> Failure {
        let sentence = |mistake: &Diagnostic| {
            let key = &mistake.place.key;
            let key = key.strip_prefix(&format!("{family}.")).unwrap_or(key);
            let is_of = |text: &&String| {
                let given = text.split_once('=').map_or("", |(given, _)| given.trim());
                given.strip_prefix(&format!("{family}.")).unwrap_or(given) == key
            };
            match self.sheet.iter().find(is_of) {
                Some(text) => format!("--sheet {text}: {}", mistake.message),
                None => format!("--like {like} with --sheet: {key}: {}", mistake.message),
            }
        };
        let said: Vec<String> = mistakes.0.iter().map(sentence).collect();
        mistaken!("{}; {like} is {}", said.join("\n"), kind(family))
    }
}

/// Returns the name of a kind of device for messages.
fn kind(family: &str) -> &'static str {
    if family == "hdd" { "a hard disk" } else { "an SSD" }
}

/// Counts points, and quotes the first one.
fn points_such_as(reasons: &[String]) -> String {
    match reasons {
        [] => String::new(),
        [only] => only.clone(),
        [first, ..] => format!("{}, such as {first}", count(reasons.len(), "point")),
    }
}

/// Refuses results of another kind of drive than `like` is.
fn check_kind(
    points: &[MatrixPoint],
    like: &str,
    family: &str,
    path: &Path,
) -> Result<(), Failure> {
    let Some((turns, ns)) = turns(points).filter(|(turns, _)| *turns != (family == "hdd")) else {
        return Ok(());
    };
    let (drive, arm) = if turns {
        ("a hard disk", "which is the time of a seek")
    } else {
        ("not a hard disk", "which is too short for a seek")
    };
    Err(mistaken!(
        "--like: {like} is {}, and the drive in {} is {drive}: its lone random reads take {}, \
         {arm}; name a device of its kind",
        kind(family),
        path.display(),
        time(ns)
    ))
}

/// Parses a TOML number, boolean or list. Any other text becomes a string.
fn toml_value(text: &str) -> Value {
    let table = format!("value = {text}").parse::<Table>();
    let parsed = table.ok().and_then(|mut table| table.remove("value"));
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// A fitted device, as a file and as a document.
pub struct FittedDevice {
    pub found: Calibration,
    pub file: String,
    pub document: Json,
}

/// Fits a device to the results.
pub fn fitted(
    args: &FromFioArgs,
    path: &Path,
    like: &str,
    name: Option<&str>,
    screen: &Screen,
) -> Result<FittedDevice, Failure> {
    let lab = Home::open()?.lab;
    let DriveResults { drive, points, unreadable, doubtful } = args.results(path)?;
    let name = name.unwrap_or(&drive);
    let (start, stated) = args.start(name, like, &lab)?;
    let family = lab.devices.get(like).map_or("", |device| device.model.family());
    check_kind(&points, like, family, path)?;
    let bar = Bar::new(screen, Some(100), "{bar:30} {percent:>3} % {elapsed} {msg}");
    let mut watch = |what: &str, part: f64| {
        bar.drawn().iter().for_each(|bar| bar.set_position((part * 100.0) as u64));
        bar.message(what);
    };
    let host = match &args.array {
        Some(array) => host_of_array("--array", array, &lab)?,
        None => host_of(&points, &lab)?,
    };
    let fit = fit(name, &start, &points, &stated, host, &mut watch);
    bar.end();
    let fit = fit.map_err(|reason| mistaken!("{}: {reason}", path.display()))?;
    let family = fit.device.model.family();
    let sources = FittedFile::new(&fit, &start, &stated, like, &lab);
    let sheet = sources.sheet();
    let summary = start.get("summary").and_then(Value::as_str).unwrap_or(name).to_owned();
    let mut remarks = remarks(&fit, family, host.is_some());
    remarks.extend(fit.remarks.iter().cloned());
    remarks.extend(fit.numbers.iter().filter_map(|number| {
        let why = number.found.as_ref().err()?;
        Some(format!("not determined by the results, and not changed: {}: {why}", number.key))
    }));
    let mut warnings: Vec<String> =
        unreadable.iter().map(|reason| format!("skipped: {reason}")).collect();
    if !doubtful.is_empty() {
        warnings.push(format!("skipped: {}", points_such_as(&doubtful)));
    }
    warnings.extend(does_not_describe(&fit));
    for warning in &warnings {
        screen.remark(warning);
    }
    let found = Calibration { bytes: fit.device.bytes, family, summary, sheet, remarks };
    let mut head = head(&drive, path, &points, like);
    head.extend(warnings);
    head.extend(found.remarks.iter().cloned());
    let passed_over = [unreadable, doubtful].concat();
    let document = json!({
        "drive": drive, "like": like, "points": points.len(), "passed_over": passed_over,
        "not_determined": fit.numbers.iter().filter_map(|number| {
            let why = number.found.as_ref().err()?;
            Some(json!({ "key": number.key, "why": why }))
        }).collect::<Vec<_>>(),
        "depths": fit.scores.iter().map(|(rw, score)| json!({
            "rw": rw, "outstanding": score.outstanding, "points": score.points,
            "median_error": parts_json(&score.median), "worst_error": parts_json(&score.worst),
            "missed": score.missed(),
        })).collect::<Vec<_>>(),
        "host": fit.host,
        "cross_validation": fit.crossed.iter().map(|cross| json!({
            "rw": cross.rw, "fitted": cross.fitted, "scored": cross.scored,
            "median_error": parts_json(&cross.median), "worst_error": parts_json(&cross.worst),
        })).collect::<Vec<_>>(),
    });
    let size = if stated.iter().any(|key| key == "size") {
        "[sheet]"
    } else {
        "as in the device of --like"
    };
    let size = format!("\"{} B\" # {size}", found.bytes.0);
    let plain = found.sheet.file(&head, &found.summary, &size, family);
    let file = format!("{plain}{}{}", sources.ranges(), sources.host());
    if let Err(mistakes) = read_back(name, &file) {
        return Err(cannot!(
            "{}: the lab refuses the device that was fitted to these results, and no file was \
             written; give the refused numbers with --sheet, or name another device with \
             --like:\n{mistakes}\nThe refused file:\n{file}",
            path.display()
        ));
    }
    Ok(FittedDevice { found, file, document })
}

/// Returns the head of the file: the drive, the date, the method and the results.
fn head(drive: &str, path: &Path, points: &[MatrixPoint], like: &str) -> Vec<String> {
    vec![
        format!("{drive}, fitted {} by `{}`", Zoned::now().strftime("%Y-%m-%d"), command_line()),
        format!("to {} of {}", count(points.len(), "point"), path.display()),
        format!(
            "[fit] found by a search for the values with which the model gives the measured \
             results; any value within the error fits about as well. [sheet] from the data sheet. \
             [est] derived, not visible in the results or not determined by them, with the reason; \
             the value is that of {like} unless another source is named."
        ),
    ]
}

/// Says how well the device fits, how well fits to some depths predict the others, and which
/// numbers cannot be known.
fn remarks(fit: &MatrixFit, family: &str, hosted: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (rw, score) in &fit.scores {
        lines.push(format!("{rw}, {} in flight: {}", score.outstanding, errors(&score.median)));
    }
    lines.extend(fit.crossed.iter().map(cross_words));
    if fit.crossed.is_empty() {
        lines.push("not cross-validated, since that needs three depths".to_owned());
    }
    let hidden = match family {
        "hdd" => {
            "zones and rates, surfaces, cache, read-ahead and the write buffer: a matrix of random \
             requests shows none of them. Short strokes, flushes and mixed loads are not tested"
        }
        _ => {
            "channels, planes and blocks, garbage collection, flushes and mixed loads: a matrix of \
             random requests cannot separate them"
        }
    };
    lines.push(format!("not known: {hidden}"));
    if family == "ssd" && !hosted {
        let line = match fit.host {
            Some(host) => format!(
                "the measuring machine takes {} until a read is submitted ([host]); the rest of \
                 its time is part of the drive's numbers",
                time(host.submit.0 as f64)
            ),
            None => "the measuring machine's own time is part of the numbers, since no array with \
                     a [host] was named, and lone reads have no percentiles that show it"
                .to_owned(),
        };
        lines.push(line);
    }
    lines
}

/// Warns if the rate of a load differs by more than the bar that `validate` has for any point.
fn does_not_describe(fit: &MatrixFit) -> Option<String> {
    let off: Vec<String> = fit
        .scores
        .iter()
        .filter(|(_, score)| score.outstanding <= DEEPEST)
        .filter_map(|(rw, score)| {
            let worst = score.worst.iops.filter(|worst| *worst > IOPS_WORST)?;
            Some(format!("{} for {rw} with {} in flight", rounded(worst), score.outstanding))
        })
        .collect();
    let listed = listed(&off.iter().map(String::as_str).collect::<Vec<_>>());
    (!off.is_empty()).then(|| {
        format!(
            "the device does not describe the drive: its IOPS are off by {listed}, and `validate` \
             accepts {} at most",
            rounded(IOPS_WORST)
        )
    })
}

fn cross_words(cross: &CrossScore) -> String {
    let depths = |depths: &[u32]| {
        let depths: Vec<String> = depths.iter().map(u32::to_string).collect();
        listed(&depths.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let worst = cross.worst.iops.map_or_else(|| "-".to_owned(), rounded);
    format!(
        "cross-validated, {}: fitted to depths {} and scored at depths {}: median {}; worst error \
         of IOPS {worst}",
        cross.rw,
        depths(&cross.fitted),
        depths(&cross.scored),
        errors(&cross.median)
    )
}

fn errors(numbers: &LoadNumbers) -> String {
    let all = [("IOPS", numbers.iops), ("p50", numbers.p50), ("p99", numbers.p99)];
    let known =
        all.iter().filter_map(|(name, error)| Some(format!("{name} {}", rounded((*error)?))));
    format!("error of {}", known.collect::<Vec<_>>().join(", "))
}

fn rounded(part: f64) -> String {
    format!("{} %", percent(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_sheet_are_toml_or_text() {
        assert_eq!(toml_value("7200"), Value::Integer(7200));
        assert_eq!(toml_value("8.9 ms"), Value::String("8.9 ms".to_owned()));
        assert_eq!(toml_value("true"), Value::Boolean(true));
        assert!(toml_value("[\"50 us\", \"80 us\"]").is_array());
    }
}

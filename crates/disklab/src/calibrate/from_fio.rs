//! A device from published results of fio.

use std::path::{Path, PathBuf};

use disklab_calibrate::matrix::fit::{CrossScore, MatrixFit, fit};
use disklab_calibrate::matrix::score::{DEEPEST, IOPS_WORST, LoadNumbers};
use disklab_calibrate::sheet::{Provenance, Sheet, SheetLine, percent};
use disklab_calibrate::{Calibration, read_back};
use disklab_config::Lab;
use disklab_config::device::{LIKE, inherited_keys, with_inherited};
use disklab_config::read::unknown;
use disklab_foreign::matrix::MatrixPoint;
use disklab_units::prose::{count, listed};
use jiff::Zoned;
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use crate::bar::Bar;
use crate::exit::{Failure, cannot, mistaken};
use crate::home::Home;
use crate::matrix::{FoundMatrices, host_of, host_of_array, parts_json, read_device};
use crate::screen::Screen;
use crate::words::command_line;

/// The results that a device is fitted to, and what is known of it besides.
#[derive(Debug, clap::Args)]
pub struct FromFioArgs {
    /// Instead of a disk: published results at several depths, a folder of fio's reports as
    /// fio-plot makes them, or a table (.csv; docs/FORMAT.md has its columns). The device is fitted
    /// to them.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["device", "write", "time"],
          requires = "like")]
    from_fio: Option<PathBuf>,

    /// The device of the lab that has all numbers which neither the results nor --sheet give.
    #[arg(long, value_name = "DEVICE", requires = "from_fio")]
    like: Option<String>,

    /// Numbers of the data sheet, by the keys of a device's file: size="1 TB" rpm=7200
    /// seek_average="8.9 ms".
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., requires = "from_fio")]
    sheet: Vec<String>,

    /// The drive of the results, if there are several: its name, or the end of it.
    #[arg(long, requires = "from_fio")]
    drive: Option<String>,

    /// The array of the lab whose machine the drive was measured in: the time that its [host] takes
    /// is no part of the device. Without it, the column `array` of a table decides.
    #[arg(long, requires = "from_fio")]
    array: Option<String>,
}

impl FromFioArgs {
    /// The path of the results, and the name of the device that is to be like.
    pub fn asked(&self) -> Option<(&PathBuf, &str)> {
        self.from_fio.as_ref().zip(self.like.as_deref())
    }

    /// The drive, its points, and the files that could not be read, each with the reason.
    fn points(&self, path: &Path) -> Result<(String, Vec<MatrixPoint>, Vec<String>), Failure> {
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
                Ok(((*drive).clone(), points, found.passed_over))
            }
            ([], Some(drive)) if !drives.is_empty() => {
                let known = drives.iter().map(String::as_str);
                Err(mistaken!("--drive: {}", unknown("drive", drive, known)))
            }
            ([], _) => Err(mistaken!(
                "{}: no results of fio at several depths are in it{}",
                path.display(),
                found.passed_over.iter().flat_map(|reason| ["\n", reason]).collect::<String>()
            )),
            (several, _) => Err(mistaken!(
                "{} has several drives: {}; name one by --drive",
                path.display(),
                listed(&several.iter().map(|name| name.as_str()).collect::<Vec<_>>())
            )),
        }
    }

    /// The file of the device before it is fitted, and the keys that the data sheet states.
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
        read_device(name, "--sheet", &text, lab)?;
        let taken = inherited_keys(&text, &lab.texts.devices);
        let taken = taken.unwrap_or(Ok(String::new())).map_err(Failure::mistaken)?;
        let whole = with_inherited(&text, &taken).and_then(|whole| whole.parse().ok());
        let whole = whole.ok_or_else(|| cannot!("the file of {like} cannot be read again"))?;
        Ok((whole, stated))
    }
}

/// A number, a truth value or a list as TOML has it, else a text.
fn toml_value(text: &str) -> Value {
    let table = format!("value = {text}").parse::<Table>();
    let parsed = table.ok().and_then(|mut table| table.remove("value"));
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// A device that was fitted, as a file and as a document.
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
    let (drive, points, passed_over) = args.points(path)?;
    let name = name.unwrap_or(&drive);
    let (start, stated) = args.start(name, like, &lab)?;
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
    let sheet = sheet(&fit, &start, &stated, like, &lab);
    let summary = start.get("summary").and_then(Value::as_str).unwrap_or(name).to_owned();
    let mut remarks = remarks(&fit, family, host.is_some());
    remarks.extend(fit.remarks.iter().cloned());
    let mut warnings: Vec<String> =
        passed_over.iter().map(|reason| format!("passed over: {reason}")).collect();
    warnings.extend(does_not_describe(&fit));
    for warning in &warnings {
        screen.remark(warning);
    }
    let found = Calibration { bytes: fit.device.bytes, family, summary, sheet, remarks };
    let mut head = head(&drive, path, &points, like);
    head.extend(warnings);
    head.extend(found.remarks.iter().cloned());
    let document = json!({
        "drive": drive, "like": like, "points": points.len(), "passed_over": passed_over,
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
        "as the device that it is like"
    };
    let size = format!("\"{} B\" # {size}", found.bytes.0);
    let plain = found.sheet.file(&head, &found.summary, &size, family);
    let file = with_host(&with_ranges(&plain, &fit, family, name), &fit);
    if let Err(mistakes) = read_back(name, &file) {
        return Err(cannot!("what was fitted makes no device:\n{mistakes}\nof:\n{file}"));
    }
    Ok(FittedDevice { found, file, document })
}

/// Adds the ranges of the numbers that were taken over, if the device may have them.
fn with_ranges(plain: &str, fit: &MatrixFit, family: &str, name: &str) -> String {
    const ESTIMATED: &str = "estimated";
    let mut ranges =
        fit.table.get(ESTIMATED).and_then(Value::as_table).cloned().unwrap_or_default();
    let fitted = fit.numbers.iter().flat_map(|number| number.with.iter().chain([&number.key]));
    for key in fitted {
        ranges.remove(*key);
    }
    let known = fit.table.get(family).and_then(Value::as_table);
    ranges.retain(|key, _| known.is_some_and(|known| known.contains_key(key)));
    if ranges.is_empty() {
        return plain.to_owned();
    }
    let lines: Vec<String> =
        ranges.iter().map(|(key, range)| format!("{key} = {range}\n")).collect();
    let lines = lines.concat();
    let whole = format!(
        "{plain}\n[{ESTIMATED}] # taken over, and the ranges in which they may be\n{lines}"
    );
    if read_back(name, &whole).is_ok() { whole } else { plain.to_owned() }
}

/// Adds the time of the machine that measured, if the results showed it.
fn with_host(plain: &str, fit: &MatrixFit) -> String {
    let Some(host) = fit.host else { return plain.to_owned() };
    format!(
        "{plain}\n[host] # the machine that measured; `validate` adds it, a trial does not\n\
         submit = \"{}\" # [fit] lone reads: their rate against their completion latencies\n",
        time(host.submit.0 as f64)
    )
}

/// Every number of the device, with where it is from.
fn sheet(fit: &MatrixFit, start: &Table, stated: &[String], like: &str, lab: &Lab) -> Sheet {
    let family = fit.device.model.family();
    let text = lab.texts.devices.get(like).map_or("", String::as_str);
    let numbers =
        |table: &Table| table.get(family).and_then(Value::as_table).cloned().unwrap_or_default();
    let before = numbers(start);
    let mut keys: Vec<(String, Value)> = numbers(&fit.table).into_iter().collect();
    keys.sort_by_key(|(key, _)| text.find(&format!("\n{key} =")).unwrap_or(usize::MAX));
    let number = |(key, value): (String, Value)| {
        let is_stated = stated.contains(&key);
        let source = if is_stated { "the data sheet" } else { like };
        let was = before.get(&key).filter(|was| **was != value);
        let was = was.map(|was| format!("; {source} has {}", plain(was))).unwrap_or_default();
        let fitted = fit.numbers.iter().find(|number| number.key == key);
        let kept = fit.numbers.iter().find(|number| number.with.contains(&key.as_str()));
        let error = fitted.and_then(|number| number.error);
        let mark = if let Some((number, error)) = fitted.zip(error) {
            Provenance::Fitted { error, how: format!("{}{was}", number.how) }
        } else if let Some(number) = kept.filter(|number| number.error.is_some()) {
            Provenance::Derived {
                how: format!("as many times {} as in {source}", number.key),
                if_true: match family {
                    "hdd" => "its seek curve has the same shape".to_owned(),
                    _ => "all its dies together write as fast".to_owned(),
                },
            }
        } else if is_stated {
            Provenance::Stated
        } else if fitted.is_some() {
            Provenance::NotVisible { why: format!("results hardly change with it; as {like}") }
        } else {
            Provenance::NotVisible { why: format!("results by depth do not show it; as {like}") }
        };
        SheetLine { key, value: readable(&value), mark }
    };
    Sheet { lines: keys.into_iter().map(number).collect() }
}

/// A value as a file has it, with times in the largest unit that leaves them four digits.
fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => match text.strip_suffix(" ns").and_then(|ns| ns.parse().ok()) {
            Some(ns) => format!("\"{}\"", time(ns)),
            None => value.to_string(),
        },
        Value::Array(values) => {
            format!("[{}]", values.iter().map(readable).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A time with four digits.
fn time(ns: f64) -> String {
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let (unit, size) = units.into_iter().find(|(_, size)| ns >= *size).unwrap_or(("us", 1e3));
    let value = ns / size;
    let places = (3.0 - value.max(1e-3).log10().floor()).clamp(0.0, 3.0) as usize;
    let digits = format!("{value:.places$}");
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{digits} {unit}")
}

fn plain(value: &Value) -> String {
    readable(value).replace('"', "")
}

/// The head of the file: what was fitted, when, how, and to what.
fn head(drive: &str, path: &Path, points: &[MatrixPoint], like: &str) -> Vec<String> {
    vec![
        format!("{drive}, fitted {} by `{}`", Zoned::now().strftime("%Y-%m-%d"), command_line()),
        format!("to {} of {}", count(points.len(), "point"), path.display()),
        format!(
            "[fit] searched for until the model does what was measured; with any value within the \
             error it does about as well. [sheet] of the data sheet. [est] derived, or not \
             visible, with the reason: as {like}."
        ),
    ]
}

/// How well the device fits, how fits to some depths do at others, and what cannot be known.
fn remarks(fit: &MatrixFit, family: &str, hosted: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (rw, score) in &fit.scores {
        lines.push(format!("{rw}, {} under way: {}", score.outstanding, errors(&score.median)));
    }
    lines.extend(fit.crossed.iter().map(cross_words));
    if fit.crossed.is_empty() {
        lines.push("not cross-validated: that needs three depths at least".to_owned());
    }
    let hidden = match family {
        "hdd" => {
            "zones and rates, surfaces, cache, read-ahead and the write buffer: a matrix of random \
             requests shows none of them. Short strokes, flushes and mixed loads are not tested"
        }
        _ => {
            "channels, planes and blocks, collection of garbage, flushes and mixed loads: a matrix \
             does not tell them apart"
        }
    };
    lines.push(format!("not known: {hidden}"));
    if family == "ssd" && !hosted {
        let line = match fit.host {
            Some(host) => format!(
                "the machine that measured takes {} until a read is submitted ([host]); what else \
                 it takes is in the drive's numbers",
                time(host.submit.0 as f64)
            ),
            None => "the time of the machine that measured is in the numbers: no array with a \
                     [host] was named for it, and lone reads have no percentiles that show it"
                .to_owned(),
        };
        lines.push(line);
    }
    lines
}

/// A warning where the rate of a load is further off than the bar of `validate` for any point.
fn does_not_describe(fit: &MatrixFit) -> Option<String> {
    let off: Vec<String> = fit
        .scores
        .iter()
        .filter(|(_, score)| score.outstanding <= DEEPEST)
        .filter_map(|(rw, score)| {
            let worst = score.worst.iops.filter(|worst| *worst > IOPS_WORST)?;
            Some(format!("{} for {rw} with {} under way", rounded(worst), score.outstanding))
        })
        .collect();
    let listed = listed(&off.iter().map(String::as_str).collect::<Vec<_>>());
    (!off.is_empty()).then(|| {
        format!(
            "the device does not describe the drive: its IOPS are off by {listed}, and {} is the \
             most that `validate` takes",
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
        "cross-validated, {}: fitted to {} and scored at {}, medians: {}; worst IOPS {worst}",
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

    #[test]
    fn times_are_readable() {
        let value = |text: &str| readable(&Value::String(text.to_owned()));
        assert_eq!(value("12345678 ns"), "\"12.35 ms\"");
        assert_eq!(value("37131366000 ns"), "\"37.13 s\"");
        assert_eq!(value("2900 ns"), "\"2.9 us\"");
        assert_eq!(value("550 MB/s"), "\"550 MB/s\"");
    }
}

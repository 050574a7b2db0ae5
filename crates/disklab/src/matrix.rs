//! Reads published matrices of drives from files, and finds the devices that model the drives.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use disklab_calibrate::matrix::run::HostedDevice;
use disklab_calibrate::matrix::score::LoadNumbers;
use disklab_config::device::{Device, LIKE, inherited_keys};
use disklab_config::host::HostTime;
use disklab_config::read::{TomlReader, unknown};
use disklab_config::{Diagnostics, Lab};
use disklab_foreign::fio_json;
use disklab_foreign::matrix::{self, MatrixPoint};
use disklab_results::Remark;
use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::exit::{Failure, mistaken};
use crate::home::paths_in;

/// Number of first bytes that identify a file, at most.
const HEAD: usize = 64 << 10;
/// Ending of the name of a device's file.
const TOML: &str = ".toml";
/// Depth of folders beyond which no results are looked for.
const DEEPEST: usize = 32;

/// Points of all files, by drive, in the order in which they were found.
#[derive(Debug, Default)]
pub struct FoundMatrices {
    pub drives: IndexMap<String, Vec<MatrixPoint>>,
    /// Files with results that could not be read, each with the reason.
    pub passed_over: Vec<String>,
}

impl FoundMatrices {
    /// Reads a file, which must be a matrix, or all matrices at and below a folder. Returns true if
    /// there was a matrix, readable or not.
    pub fn read(&mut self, path: &Path) -> Result<bool, Failure> {
        let mut found = Self::default();
        if path.is_dir() {
            found.read_folder(path, path, 0)?;
        } else {
            let points = points_of(path, true).map_err(Failure::mistaken)?;
            found.add(points.unwrap_or_default(), &drive_of(path, path));
        }
        let any = !found.is_empty();
        for (drive, points) in found.drives {
            self.drives.entry(drive).or_default().extend(points);
        }
        self.passed_over.extend(found.passed_over);
        Ok(any)
    }

    /// Returns true if there are neither points nor unreadable files.
    pub fn is_empty(&self) -> bool {
        self.drives.is_empty() && self.passed_over.is_empty()
    }

    fn read_folder(&mut self, root: &Path, folder: &Path, depth: usize) -> Result<(), Failure> {
        let unreadable = |error| mistaken!("{}: cannot be read: {error}", folder.display());
        for path in paths_in(folder).map_err(unreadable)? {
            let hidden =
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let Ok(kind) = fs::symlink_metadata(&path) else { continue };
            if hidden {
                continue;
            }
            if kind.is_dir() {
                if depth < DEEPEST {
                    self.read_folder(root, &path, depth + 1)?;
                }
            } else if kind.is_symlink() {
                self.passed_over.push(format!("{}: {}", path.display(), disklab_files::LINK));
            } else if kind.is_file() {
                match points_of(&path, false) {
                    Ok(points) => self.add(points.unwrap_or_default(), &drive_of(root, &path)),
                    Err(reason) => self.passed_over.push(reason),
                }
            }
        }
        Ok(())
    }

    /// Adds points. `drive` is the name for points without one.
    fn add(&mut self, points: Vec<MatrixPoint>, drive: &str) {
        for mut point in points {
            if point.drive.is_empty() {
                drive.clone_into(&mut point.drive);
            }
            self.drives.entry(point.drive.clone()).or_default().push(point);
        }
    }
}

/// Returns the name of a drive whose reports are in a folder: the path from the named folder, or
/// the named folder's own name.
fn drive_of(root: &Path, file: &Path) -> String {
    let folder = file.parent().unwrap_or(Path::new(""));
    let below = folder.strip_prefix(root).unwrap_or(Path::new(""));
    if !below.as_os_str().is_empty() {
        return below.display().to_string();
    }
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(|| "drive".to_owned(), |name| name.to_string_lossy().into())
}

/// Reads the points of a file. None means that it is not a matrix, which is an error only if
/// `must`.
fn points_of(path: &Path, must: bool) -> Result<Option<Vec<MatrixPoint>>, String> {
    let shown = path.display();
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let is_csv = extension.as_deref() == Some("csv");
    if !must && !is_csv && extension.as_deref() != Some("json") {
        return Ok(None);
    }
    let bytes = disklab_files::read(path, &disklab_files::MEASURED).map_err(|error| {
        let help = match error.kind() {
            ErrorKind::NotFound => "; name a fio report, a folder of reports, or a .csv table",
            _ => "",
        };
        format!("{shown}: cannot be read: {error}{help}")
    })?;
    let head = &bytes[..bytes.len().min(HEAD)];
    let points = if fio_json::is_report(head) {
        matrix::from_json(&bytes, &shown.to_string())
    } else if is_csv && (must || matrix::is_matrix(head)) {
        matrix::from_csv(&bytes)
    } else if must {
        return Err(format!(
            "{shown}: neither a report of fio (JSON) nor a table (.csv) of measured numbers"
        ));
    } else {
        return Ok(None);
    };
    let points = points.map_err(|error| format!("{shown}: {error}"))?;
    // A table names device files relative to its own folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let beside = |device: String| {
        let is_file = Path::new(&device).extension().is_some_and(|ending| ending == "toml");
        if is_file { folder.join(device).display().to_string() } else { device }
    };
    let placed = |point: MatrixPoint| MatrixPoint {
        place: format!("{shown}, {}", point.place),
        device: point.device.map(beside),
        ..point
    };
    Ok(Some(points.into_iter().map(placed).collect()))
}

/// A device for one drive or for all drives, and the array whose machine it is in.
#[derive(Debug, Clone)]
pub struct DeviceChoice {
    drive: Option<String>,
    device: String,
    array: Option<String>,
}

impl std::str::FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (drive, device) = match text.split_once('=') {
            Some((drive, device)) => (Some(drive.trim().to_owned()), device.trim()),
            None => (None, text.trim()),
        };
        let (device, array) = match device.split_once('@') {
            Some((device, array)) => (device, Some(array.to_owned())),
            None => (device, None),
        };
        if device.is_empty() || drive.as_deref() == Some("") || array.as_deref() == Some("") {
            return Err("expected DEVICE, DRIVE=DEVICE or DRIVE=DEVICE@ARRAY".to_owned());
        }
        Ok(Self { drive, device: device.to_owned(), array })
    }
}

impl DeviceChoice {
    /// Returns true if the device is for this drive: by its whole name, or by the end of it after a
    /// `/`.
    fn is_for(&self, drive: &str) -> bool {
        let Some(wanted) = &self.drive else { return true };
        drive
            .strip_suffix(wanted.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    }
}

/// Refuses choices for unknown drives, and two choices for the same drive.
pub fn check_choices(choices: &[DeviceChoice], found: &FoundMatrices) -> Result<(), Failure> {
    for (index, choice) in choices.iter().enumerate() {
        if let Some(drive) = &choice.drive
            && choices[..index].iter().any(|earlier| earlier.drive.as_ref() == Some(drive))
        {
            return Err(mistaken!("--device: {drive} has two devices; name only one"));
        }
        if let Some(drive) = &choice.drive
            && !found.drives.keys().any(|name| choice.is_for(name))
        {
            let known = found.drives.keys().map(String::as_str);
            return Err(mistaken!("--device: {}", unknown("drive", drive, known)));
        }
    }
    Ok(())
}

/// Returns the device of a drive: the last choice for this drive, or else the choice for all
/// drives, or else the device that its points name. The machine is that of the array which the
/// choice or the points name. None means that nothing names a device.
pub fn device_of(
    drive: &str,
    points: &[MatrixPoint],
    choices: &[DeviceChoice],
    lab: &Lab,
) -> Result<Option<HostedDevice>, Failure> {
    let chosen = |own: bool| {
        choices.iter().rev().find(|choice| choice.drive.is_some() == own && choice.is_for(drive))
    };
    let choice = chosen(true).or_else(|| chosen(false));
    let device = if let Some(choice) = choice {
        find_device(&choice.device, lab)?
    } else if let Some(point) = points.iter().find(|point| point.device.is_some()) {
        let name = point.device.as_deref().unwrap_or_default();
        find_device(name, lab).map_err(|failure| mistaken!("{}: {failure}", point.place))?
    } else {
        return Ok(None);
    };
    let host = match choice.and_then(|choice| choice.array.as_deref()) {
        Some(array) => host_of_array("--device", array, lab)?,
        None => host_of(points, lab)?.or(device.host),
    };
    Ok(Some(HostedDevice { device, host }))
}

/// Returns the machine's time for a drive, if its points name an array that has such a time.
pub fn host_of(points: &[MatrixPoint], lab: &Lab) -> Result<Option<HostTime>, Failure> {
    let Some(point) = points.iter().find(|point| point.array.is_some()) else { return Ok(None) };
    host_of_array(&point.place, point.array.as_deref().unwrap_or_default(), lab)
}

/// Returns the `[host]` of an array; `place` is the place that names the array.
pub fn host_of_array(place: &str, name: &str, lab: &Lab) -> Result<Option<HostTime>, Failure> {
    let array = lab.arrays.get(name).ok_or_else(|| {
        let known = lab.arrays.keys().map(String::as_str);
        mistaken!("{place}: {}", unknown("array", name, known))
    })?;
    Ok(array.host)
}

/// Finds a device of the lab by its name, or reads a file.
fn find_device(name: &str, lab: &Lab) -> Result<Device, Failure> {
    if let Some(device) = lab.devices.get(name) {
        return Ok(device.clone());
    }
    if !name.contains('/') && !name.ends_with(TOML) {
        let known = lab.devices.keys().map(String::as_str);
        return Err(mistaken!("{}", unknown("device", name, known)));
    }
    let path = PathBuf::from(name);
    let text = disklab_files::read_text(&path, &disklab_files::LAB)
        .map_err(|error| mistaken!("{}: cannot be read: {error}", path.display()))?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(read_device(&stem.unwrap_or_default(), name, &text, lab)?)
}

/// Reads a device by the lab's rules; messages call it `file`.
pub fn read_device(name: &str, file: &str, text: &str, lab: &Lab) -> Result<Device, Diagnostics> {
    let inherited = inherited_keys(text, &lab.texts.devices);
    let mut reader = TomlReader::new(file, text);
    if let Some(inherited) = &inherited {
        reader = reader.inheriting(LIKE, inherited);
    }
    reader.read(|table| Device::read(name, table))
}

/// Returns why the numbers of a point are doubtful, and its place, or None if they are sound.
pub fn contradiction(point: &MatrixPoint) -> Option<String> {
    let doubts: Vec<String> = point.doubts.iter().map(ToString::to_string).collect();
    (!doubts.is_empty()).then(|| {
        let are_possible = point.doubts.iter().all(Remark::is_implausible);
        let verdict = if are_possible { "" } else { "its numbers cannot be true together: " };
        format!("{}: {verdict}{}", point.place, doubts.join("; "))
    })
}

/// Formats errors for a document, as shares of the measured numbers.
pub fn parts_json(errors: &LoadNumbers) -> Value {
    let LoadNumbers { iops, mean, p50, p99, p99_9 } = errors;
    json!({ "iops": iops, "mean": mean, "p50": p50, "p99": p99, "p99_9": p99_9 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_for_whole_names() {
        let choice = |text: &str| text.parse::<DeviceChoice>().unwrap();
        assert!(choice("PM883=x").is_for("IBM/PM883") && choice("PM883=x").is_for("PM883"));
        assert!(!choice("M883=x").is_for("IBM/PM883") && choice("x").is_for("any"));
        assert!("=x".parse::<DeviceChoice>().is_err() && "a=".parse::<DeviceChoice>().is_err());
    }

    #[test]
    fn folders_are_drives() {
        let name = |file: &str| drive_of(Path::new("all"), Path::new(file));
        assert_eq!(name("all/host/F1/randread-1-1.json"), "host/F1");
        assert_eq!(name("all/x.json"), "all");
    }
}

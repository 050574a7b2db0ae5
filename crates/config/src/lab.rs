//! The lab folder: everything that suites can name.
//!
//! ```text
//! lab/devices/*.toml    arrays/*.toml   workloads/*.toml  backgrounds/*.toml
//!     policies/*.toml   kernels/*.toml  suites/*.toml
//! ```
//!
//! This is the only module of the crate that reads files.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use disklab_units::Bytes;

use crate::array::Array;
use crate::background::{Background, Workloads};
use crate::device::Device;
use crate::kernel::Kernel;
use crate::member::Devices;
use crate::policy::Policy;
use crate::read::{Diagnostic, Diagnostics, SourcePlace, TomlReader, TomlTable, unknown};
use crate::suite::Suite;
use crate::workload::Workload;

/// All that is in a lab folder, each thing under its file's name. Suites are read when they are
/// asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Lab {
    /// Where it was loaded from.
    pub folder: PathBuf,
    pub devices: BTreeMap<String, Device>,
    pub arrays: BTreeMap<String, Array>,
    pub workloads: BTreeMap<String, Workload>,
    pub backgrounds: BTreeMap<String, Background>,
    pub policies: BTreeMap<String, Policy>,
    /// The most preferred first.
    pub kernels: Vec<Kernel>,
    /// Where each suite is.
    pub suites: BTreeMap<String, PathBuf>,
    /// What suites can change single keys of.
    pub texts: Texts,
}

/// Files as they are, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    pub devices: BTreeMap<String, String>,
    pub workloads: BTreeMap<String, String>,
}

/// A file that was read and is not yet understood.
struct LabFile {
    /// For messages.
    path: String,
    /// Without `.toml`.
    name: String,
    text: String,
}

impl Lab {
    /// Loads a lab folder, but for its suites. The error holds the mistakes of all files.
    pub fn load(folder: &Path) -> Result<Self, Diagnostics> {
        if !folder.is_dir() {
            let place = SourcePlace::of_file(&folder.display().to_string());
            return Err(place
                .diagnostic("no such folder; a lab is a folder with devices, arrays and workloads")
                .into());
        }
        let mut mistakes = Vec::new();
        let device_files = files(&folder.join("devices"), &mut mistakes);
        let mut texts = Texts { devices: self::texts(&device_files), ..Texts::default() };
        let devices: Devices = read_all(device_files, &mut mistakes, Device::read);
        let array_files = files(&folder.join("arrays"), &mut mistakes);
        let arrays =
            read_all(array_files, &mut mistakes, |name, table| Array::read(name, table, &devices));
        let workload_files = files(&folder.join("workloads"), &mut mistakes);
        texts.workloads = self::texts(&workload_files);
        let workloads: Workloads = read_all(workload_files, &mut mistakes, Workload::read);
        let background_files = files(&folder.join("backgrounds"), &mut mistakes);
        let backgrounds = read_all(background_files, &mut mistakes, |name, table| {
            Background::read(name, table, &workloads)
        });
        let policies =
            read_all(files(&folder.join("policies"), &mut mistakes), &mut mistakes, Policy::read);
        let kernels =
            read_all(files(&folder.join("kernels"), &mut mistakes), &mut mistakes, Kernel::read);
        let kernels = order_kernels(&folder.join("kernels"), kernels, &mut mistakes);
        let suites = paths(&folder.join("suites"), &mut mistakes);
        if !mistakes.is_empty() {
            return Err(Diagnostics(mistakes));
        }
        Ok(Self {
            folder: folder.to_owned(),
            devices: present(devices),
            arrays: present(arrays),
            workloads: present(workloads),
            backgrounds: present(backgrounds),
            policies: present(policies),
            kernels,
            suites: suites.into_iter().collect(),
            texts,
        })
    }

    /// A suite by its name in the lab, or by its path: what ends in `.toml` or has a `/` is a path.
    pub fn suite(&self, name_or_path: &str) -> Result<Suite, Diagnostics> {
        let is_path = name_or_path.contains('/') || has_toml_ending(Path::new(name_or_path));
        let path = if is_path {
            PathBuf::from(name_or_path)
        } else if let Some(path) = self.suites.get(name_or_path) {
            path.clone()
        } else {
            let place = SourcePlace::of_file(&self.folder.join("suites").display().to_string());
            let known = self.suites.keys().map(String::as_str);
            return Err(place.diagnostic(unknown("suite", name_or_path, known)).into());
        };
        let file = read_file(&path)?;
        TomlReader::new(&file.path, &file.text).read(|table| Suite::read(&file.name, table))
    }

    /// The disks of an array, then its cache, its spares and the disks of its replica, if it has
    /// them, each cut to the part of it that is used.
    ///
    /// A name that the lab does not have is left out; arrays of this lab have none such.
    pub fn devices_of(&self, array: &Array) -> Vec<Device> {
        let joined = array.devices.iter().map(|name| (name, array.partition_size));
        let cache = array.cache.iter().map(|cache| (&cache.device, cache.partition_size));
        let spares = array.spares.iter().map(|name| (name, array.partition_size));
        let replica = array.replica.iter();
        let replica = replica
            .flat_map(|replica| replica.devices.iter().map(|name| (name, replica.partition_size)));
        let named = joined.chain(cache).chain(spares).chain(replica);
        let cut = |(name, part): (&String, Option<Bytes>)| {
            let device = self.devices.get(name)?;
            let used = part.unwrap_or(device.bytes).min(device.bytes);
            Some(Device { used, ..device.clone() })
        };
        named.filter_map(cut).collect()
    }
}

fn texts(files: &[LabFile]) -> BTreeMap<String, String> {
    files.iter().map(|file| (file.name.clone(), file.text.clone())).collect()
}

/// Reads each file, keeping the names of those with mistakes so that nobody takes them for unknown.
fn read_all<T>(
    files: Vec<LabFile>,
    mistakes: &mut Vec<Diagnostic>,
    read: impl Fn(&str, &TomlTable<'_, '_>) -> Option<T>,
) -> BTreeMap<String, Option<T>> {
    files
        .into_iter()
        .map(|file| {
            let thing =
                TomlReader::new(&file.path, &file.text).read(|table| read(&file.name, table));
            (file.name, thing.map_err(|new| mistakes.extend(new.0)).ok())
        })
        .collect()
}

fn present<T>(things: BTreeMap<String, Option<T>>) -> BTreeMap<String, T> {
    things.into_iter().filter_map(|(name, thing)| Some((name, thing?))).collect()
}

fn order_kernels(
    folder: &Path,
    kernels: BTreeMap<String, Option<Kernel>>,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<Kernel> {
    let mut kernels: Vec<_> = kernels.into_values().flatten().collect();
    kernels.sort_by_key(|kernel| kernel.preference);
    for pair in kernels.windows(2).filter(|pair| pair[0].preference == pair[1].preference) {
        let message = format!("{} and {} have the same preference", pair[0].series, pair[1].series);
        mistakes.push(SourcePlace::of_file(&folder.display().to_string()).diagnostic(message));
    }
    kernels
}

/// The contents of a folder's TOML files, in the order of their names.
fn files(folder: &Path, mistakes: &mut Vec<Diagnostic>) -> Vec<LabFile> {
    let mut files = Vec::new();
    for (_, path) in paths(folder, mistakes) {
        match read_file(&path) {
            Ok(file) => files.push(file),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    files
}

/// Name and path of a folder's TOML files, in the order of their names. A folder that is not there
/// has none.
fn paths(folder: &Path, mistakes: &mut Vec<Diagnostic>) -> Vec<(String, PathBuf)> {
    let place = SourcePlace::of_file(&folder.display().to_string());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            mistakes.push(place.diagnostic(format!("cannot be listed: {error}")));
            return Vec::new();
        }
    };
    let mut paths = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => paths.push(entry.path()),
            Err(error) => mistakes.push(place.diagnostic(format!("cannot be listed: {error}"))),
        }
    }
    paths.retain(|path| has_toml_ending(path));
    paths.sort();
    paths.into_iter().map(|path| (stem(&path), path)).collect()
}

/// Editors leave `.#x.toml` and the like behind, which are no things of the lab.
fn has_toml_ending(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !hidden && path.extension().is_some_and(|ending| ending == "toml")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_file(path: &Path) -> Result<LabFile, Diagnostic> {
    let place = SourcePlace::of_file(&path.display().to_string());
    let name = stem(path);
    if !is_name(&name) {
        return Err(place.diagnostic(
            "a name has only lower-case letters, digits, `-`, `_` and `.`, \
                                     and begins with a letter or a digit",
        ));
    }
    // To open a pipe would wait for somebody to write.
    if path.metadata().is_ok_and(|meta| !meta.is_file()) {
        return Err(place.diagnostic("is not a file; give a TOML file, or remove this"));
    }
    match fs::read_to_string(path) {
        Ok(text) => Ok(LabFile { path: path.display().to_string(), name, text }),
        Err(error) => Err(place.diagnostic(format!("cannot be read: {error}"))),
    }
}

/// Names become parts of trial ids, which are file names.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(plain)
        && name.bytes().all(|byte| plain(byte) || b"-_.".contains(&byte))
}

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
use std::path::{Component, Path, PathBuf};

use disklab_units::Bytes;

use crate::array::Array;
use crate::background::{Background, Workloads};
use crate::device::{Device, LIKE, inherited_keys, with_inherited};
use crate::kernel::Kernel;
use crate::member::Devices;
use crate::policy::Policy;
use crate::read::{Diagnostic, Diagnostics, SourcePlace, TomlReader, TomlTable, lookup};
use crate::suite::Suite;
use crate::workload::Workload;

/// The ending of fio's own job files.
pub const JOB_FILE: &str = ".fio";
const LONGEST_PATH: usize = 120;

/// The contents of a lab folder, each under the name of its file. A suite is read only when it is
/// asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Lab {
    /// The folder that the lab was loaded from.
    pub folder: PathBuf,
    pub devices: BTreeMap<String, Device>,
    pub arrays: BTreeMap<String, Array>,
    pub workloads: BTreeMap<String, Workload>,
    pub backgrounds: BTreeMap<String, Background>,
    pub policies: BTreeMap<String, Policy>,
    /// The kernels, the most preferred first.
    pub kernels: Vec<Kernel>,
    /// Paths of the suites by name.
    pub suites: BTreeMap<String, PathBuf>,
    /// The texts of devices and workloads, in which suites can change single keys.
    pub texts: Texts,
}

/// The texts of files by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    pub devices: BTreeMap<String, String>,
    pub workloads: BTreeMap<String, String>,
}

/// A file that was read and is not yet parsed.
struct LabFile {
    /// Path for messages.
    path: String,
    /// Name of the file without `.toml`.
    name: String,
    text: String,
}

/// Adds disklab's own policies under their names in sysfs, which no kernel gives to a policy of its
/// own.
fn with_prefixed(mut policies: BTreeMap<String, Policy>) -> BTreeMap<String, Policy> {
    let prefixed: Vec<Policy> = policies.values().filter_map(Policy::prefixed).collect();
    for policy in prefixed {
        policies.entry(policy.name.clone()).or_insert(policy);
    }
    policies
}

impl Lab {
    /// Loads a lab folder except for its suites. The error holds the mistakes of all files.
    pub fn load(folder: &Path) -> Result<Self, Diagnostics> {
        let (lab, mistakes) = Self::load_valid(folder)?;
        if mistakes.0.is_empty() { Ok(lab) } else { Err(mistakes) }
    }

    /// Loads those files of a lab folder that have no mistake, and returns the mistakes of the
    /// others. Arrays are left out if one of their devices is.
    pub fn load_valid(folder: &Path) -> Result<(Self, Diagnostics), Diagnostics> {
        if !folder.is_dir() {
            let message = "no such folder; a lab is a folder with devices, arrays and workloads";
            return Err(SourcePlace::of_file(folder.display()).diagnostic(message).into());
        }
        let mut loader = Loader { folder, mistakes: Vec::new() };
        let (devices, device_texts) = loader.read_devices();
        let (arrays, _) = loader.read("arrays", |name, table| Array::read(name, table, &devices));
        let (workloads, workload_texts) = loader.read_workloads();
        let (backgrounds, _) =
            loader.read("backgrounds", |name, table| Background::read(name, table, &workloads));
        let (policies, _) = loader.read("policies", Policy::read);
        let (kernels, _) = loader.read("kernels", Kernel::read);
        let kernels = loader.order_kernels(kernels);
        let suites = loader.paths("suites").into_iter().collect();
        let mut lab = Self {
            folder: folder.to_owned(),
            devices: present(devices),
            arrays: present(arrays),
            workloads: present(workloads),
            backgrounds: present(backgrounds),
            policies: with_prefixed(present(policies)),
            kernels,
            suites,
            texts: Texts { devices: device_texts, workloads: workload_texts },
        };
        let mut arrays = std::mem::take(&mut lab.arrays);
        arrays.retain(|_, array| lab.devices_of(array).len() == array.replica_disks().end);
        lab.arrays = arrays;
        Ok((lab, Diagnostics(loader.mistakes)))
    }

    /// Returns a suite by its name in the lab or by its path: a word that ends in `.toml` or has a
    /// `/` is a path.
    pub fn suite(&self, name_or_path: &str) -> Result<Suite, Diagnostics> {
        let is_path = name_or_path.contains('/') || has_toml_ending(Path::new(name_or_path));
        let path = if is_path {
            PathBuf::from(name_or_path)
        } else {
            let place = SourcePlace::of_file(self.folder.join("suites").display());
            let known = lookup("suite", &self.suites, name_or_path);
            known.map_err(|message| place.diagnostic(message))?.clone()
        };
        let file = read_file(&path).map_err(|mut mistake| {
            if is_path && !path.exists() {
                mistake.message += "; name a suite's file, or a suite that `disklab list` prints";
            }
            mistake
        })?;
        TomlReader::new(&file.path, &file.text).read(|table| Suite::read(&file.name, table))
    }

    /// Reads one of fio's own job files, at `path`, as a workload. The lab does not contain it.
    pub fn job_file(path: &str) -> Result<Workload, String> {
        let is_plain = |letter: char| !letter.is_control() && !"+,=:%".contains(letter);
        if path.len() > LONGEST_PATH || !path.chars().all(is_plain) {
            return Err(format!(
                "a job file's path becomes part of trial ids: it has at most {LONGEST_PATH} \
                 letters, and no `+`, `,`, `=`, `:` and `%`"
            ));
        }
        let text = disklab_files::read_text(Path::new(path), &disklab_files::LAB)
            .map_err(|error| format!("the job file `{path}` cannot be read: {error}"))?;
        let workload = Workload::of_job_file(path, &text);
        workload.map_err(|mistakes| format!("the job file `{path}`: {mistakes}"))
    }

    /// Returns the disks of an array, then its cache, its spares and the disks of its replica, each
    /// cut to its used part.
    ///
    /// The result has no disk for a name that the lab lacks; arrays of this lab have no such name.
    pub fn devices_of(&self, array: &Array) -> Vec<Device> {
        let joined = array.devices.iter().map(|name| (name, array.partition_size));
        let cache = array.cache.iter().map(|cache| (&cache.device, cache.partition_size));
        let spares = array.spares.iter().map(|name| (name, array.partition_size));
        let replicas =
            array.replica.iter().map(|replica| (&replica.devices, replica.partition_size));
        let replicas =
            replicas.flat_map(|(names, part)| names.iter().map(move |name| (name, part)));
        let named = joined.chain(cache).chain(spares).chain(replicas);
        let cut = |(name, part): (&String, Option<Bytes>)| {
            let device = self.devices.get(name)?;
            let used = part.unwrap_or(device.bytes).min(device.bytes);
            Some(Device { used, ..device.clone() })
        };
        named.filter_map(cut).collect()
    }
}

/// Reads the folders of a lab, and collects the mistakes of their files.
struct Loader<'a> {
    folder: &'a Path,
    mistakes: Vec<Diagnostic>,
}

impl Loader<'_> {
    /// Reads each file of a folder and returns its text too. The names of files with mistakes are
    /// kept, so that no message calls them unknown.
    fn read<T>(
        &mut self,
        kind: &str,
        read: impl Fn(&str, &TomlTable<'_, '_>) -> Option<T>,
    ) -> (BTreeMap<String, Option<T>>, BTreeMap<String, String>) {
        let (mut things, mut texts) = (BTreeMap::new(), BTreeMap::new());
        for LabFile { path, name, text } in self.files(kind) {
            let thing = TomlReader::new(&path, &text).read(|table| read(&name, table));
            let thing = thing.map_err(|mistakes| self.mistakes.extend(mistakes.0)).ok();
            things.insert(name.clone(), thing);
            texts.insert(name, text);
        }
        (things, texts)
    }

    fn read_workloads(&mut self) -> (Workloads, BTreeMap<String, String>) {
        let folder = self.folder.join("workloads");
        let open = |path: &str| read_job_file(&folder, path);
        self.read("workloads", |name, table| Workload::read_with(name, table, &open))
    }

    /// Reads the devices. The text of a device that is like another has the inherited keys too.
    fn read_devices(&mut self) -> (Devices, BTreeMap<String, String>) {
        let files = self.files("devices");
        let all: BTreeMap<String, String> =
            files.iter().map(|file| (file.name.clone(), file.text.clone())).collect();
        let (mut devices, mut texts) = (BTreeMap::new(), BTreeMap::new());
        for LabFile { path, name, text } in files {
            let inherited = inherited_keys(&text, &all);
            let mut reader = TomlReader::new(&path, &text);
            if let Some(inherited) = &inherited {
                reader = reader.inheriting(LIKE, inherited);
            }
            let device = reader.read(|table| Device::read(&name, table));
            let device = device.map_err(|mistakes| self.mistakes.extend(mistakes.0)).ok();
            let whole =
                inherited.and_then(Result::ok).and_then(|taken| with_inherited(&text, &taken));
            texts.insert(name.clone(), whole.unwrap_or(text));
            devices.insert(name, device);
        }
        (devices, texts)
    }

    /// Returns the readable files of a folder, in the order of their names.
    fn files(&mut self, kind: &str) -> Vec<LabFile> {
        let mut files = Vec::new();
        for (_, path) in self.paths(kind) {
            files.extend(read_file(&path).map_err(|mistake| self.mistakes.push(mistake)));
        }
        files
    }

    /// Returns name and path of a folder's TOML files, in the order of their names. A missing
    /// folder has no files.
    fn paths(&mut self, kind: &str) -> Vec<(String, PathBuf)> {
        let folder = self.folder.join(kind);
        let place = SourcePlace::of_file(folder.display());
        let unlisted = |error| place.diagnostic(format!("cannot be listed: {error}"));
        let mut paths = Vec::new();
        match fs::read_dir(&folder) {
            Ok(entries) => {
                for entry in entries {
                    let path = entry.map(|entry| entry.path());
                    paths.extend(path.map_err(|error| self.mistakes.push(unlisted(error))));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.mistakes.push(unlisted(error)),
        }
        paths.retain(|path| has_toml_ending(path));
        paths.sort();
        paths.into_iter().map(|path| (stem(&path), path)).collect()
    }

    fn order_kernels(&mut self, kernels: BTreeMap<String, Option<Kernel>>) -> Vec<Kernel> {
        let mut kernels: Vec<_> = kernels.into_values().flatten().collect();
        kernels.sort_by_key(|kernel| kernel.preference);
        let place = SourcePlace::of_file(self.folder.join("kernels").display());
        for pair in kernels.windows(2).filter(|pair| pair[0].preference == pair[1].preference) {
            let (one, other) = (&pair[0].series, &pair[1].series);
            let message = format!("{one} and {other} have the same preference");
            self.mistakes.push(place.diagnostic(message));
        }
        kernels
    }
}

fn present<T>(things: BTreeMap<String, Option<T>>) -> BTreeMap<String, T> {
    things.into_iter().filter_map(|(name, thing)| Some((name, thing?))).collect()
}

/// Returns whether a path is a TOML file of the lab. Hidden files such as `.#x.toml`, which editors
/// leave behind, are not.
fn has_toml_ending(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !hidden && path.extension().is_some_and(|ending| ending == "toml")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_file(path: &Path) -> Result<LabFile, Diagnostic> {
    let place = SourcePlace::of_file(path.display());
    let name = stem(path);
    if !is_name(&name) {
        let letters = "lower-case letters, digits, `-`, `_` and `.`";
        let message = format!("a name has only {letters}, and begins with a letter or a digit");
        return Err(place.diagnostic(message));
    }
    match disklab_files::read_text(path, &disklab_files::LAB) {
        Ok(text) => Ok(LabFile { path: path.display().to_string(), name, text }),
        Err(error) => Err(place.diagnostic(format!("cannot be read: {error}"))),
    }
}

/// Reads a job file that a workload names. The path must stay inside the lab, because the lab may
/// be somebody else's.
fn read_job_file(folder: &Path, path: &str) -> Result<String, String> {
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside || !path.ends_with(JOB_FILE) {
        return Err(format!("a job file is `NAME{JOB_FILE}`, beside its workload or below"));
    }
    disklab_files::read_text(&folder.join(path), &disklab_files::LAB)
        .map_err(|error| format!("cannot be read: {error}"))
}

/// Returns whether a word can be a name. Names become parts of trial ids, which are file names.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(plain)
        && name.bytes().all(|byte| plain(byte) || b"-_.".contains(&byte))
}

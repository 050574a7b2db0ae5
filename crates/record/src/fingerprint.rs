//! Checks whether two runs of the same trials are the same, byte for byte.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use disklab_files::{FileKind, TRACE};
use disklab_protocol::{digest, names};

use crate::error::RecordError;
use crate::outcome::{FoundAt, Outcome, Status};
use crate::record::Record;

/// The raw files that the same suite, seed and kernel must give again, in this order. Only trials
/// with such a workload have [`names::FSLOAD`] and [`names::PHASES`].
pub const REPEATABLE: [&str; 6] =
    [names::CLOSING, names::FIO, names::FSLOAD, names::STEPS, names::PHASES, names::REQUESTS];

/// Returns the names of the [`REPEATABLE`] files in this raw folder.
fn repeatable(raw: &Path) -> Result<[&'static str; 6], RecordError> {
    let path = raw.join(names::REQUESTS_PACKED);
    let packed = path.try_exists().map_err(RecordError::io("look for", &path))?;
    let name = |file| if file == names::REQUESTS && packed { names::REQUESTS_PACKED } else { file };
    Ok(REPEATABLE.map(name))
}

/// Returns the SHA-256 of everything in a record that must repeat, whatever the order of the trials
/// was.
///
/// It covers one line per trial and file, sorted by trial, each with its newline: `<SHA-256 or
/// "absent"> <trial>/<file>` for every trial that is ok, and `<status or "missing"> <trial>` for
/// every other.
pub fn fingerprint(folder: &Path) -> Result<String, RecordError> {
    let mut lines = Vec::new();
    for (trial, (status, raw)) in &trials(folder)? {
        let Some(raw) = raw else {
            lines.push(format!("{}  {trial}\n", shown(*status)));
            continue;
        };
        for file in repeatable(raw)? {
            let path = raw.join(file);
            let sha256 = sha256_of(&path, &TRACE).map_err(RecordError::io("read", &path))?;
            if matches!(file, names::FSLOAD | names::PHASES) && sha256.is_none() {
                // Without these lines, records from before these files keep their fingerprints.
                continue;
            }
            lines.push(format!("{}  {trial}/{file}\n", sha256.as_deref().unwrap_or("absent")));
        }
    }
    Ok(digest::sha256_hex(lines.concat().as_bytes()))
}

/// Returns the SHA-256 of each of the [`REPEATABLE`] files that exists, by name.
pub(crate) fn digests(raw: &Path) -> Result<BTreeMap<String, String>, RecordError> {
    let mut digests = BTreeMap::new();
    for file in repeatable(raw)? {
        let sha256 = read_sha256(&raw.join(file), &TRACE)?;
        digests.extend(sha256.map(|sha256| (file.to_owned(), sha256)));
    }
    Ok(digests)
}

/// Returns the SHA-256 of each other file in a trial's raw folder, by its path there: the console,
/// the descriptions that the guest got, the disks after power cuts. Links have none.
pub(crate) fn other_digests(raw: &Path) -> Result<BTreeMap<String, String>, RecordError> {
    let mut digests = BTreeMap::new();
    add_digests(raw, "", &mut digests)?;
    let repeatable = repeatable(raw)?;
    digests.retain(|file, _| !repeatable.contains(&file.as_str()));
    Ok(digests)
}

fn add_digests(
    folder: &Path,
    above: &str,
    digests: &mut BTreeMap<String, String>,
) -> Result<(), RecordError> {
    for entry in fs::read_dir(folder).map_err(RecordError::io("read", folder))? {
        let entry = entry.map_err(RecordError::io("read", folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(RecordError::io("read", &path))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = format!("{above}{name}");
        if kind.is_dir() {
            add_digests(&path, &format!("{name}/"), digests)?;
        } else if kind.is_file() {
            digests.extend(read_sha256(&path, &TRACE)?.map(|sha256| (name, sha256)));
        }
    }
    Ok(())
}

/// Returns the path of a raw file that a line names, or None if the path leads out of the folder,
/// or to anything but a file.
fn inside(raw: &Path, file: &str) -> Result<Option<PathBuf>, RecordError> {
    let mut path = raw.to_owned();
    let mut kind = None;
    for name in file.split('/') {
        if ["", ".", ".."].contains(&name) {
            return Ok(None);
        }
        path.push(name);
        kind = disklab_files::type_at(&path).map_err(RecordError::io("look for", &path))?;
        if kind.is_none_or(|kind| kind.is_symlink()) {
            return Ok(None);
        }
    }
    Ok(kind.is_some_and(|kind| kind.is_file()).then_some(path))
}

/// Returns the raw files of a trial that were changed or removed since it was recorded, so that its
/// numbers are from other files.
pub fn changed(record: &Record, outcome: &Outcome) -> Result<Vec<String>, RecordError> {
    RawFiles::new(record).changed(outcome)
}

/// The raw files of a record, to be compared with the recorded digests trial by trial.
#[derive(Debug)]
pub struct RawFiles<'a> {
    record: &'a Record,
    /// Digests of imported files. All rows of a table name the same file.
    imported: HashMap<&'a str, Option<String>>,
}

impl<'a> RawFiles<'a> {
    pub fn new(record: &'a Record) -> Self {
        Self { record, imported: HashMap::new() }
    }

    /// Does the same as [`changed`].
    pub fn changed(&mut self, outcome: &'a Outcome) -> Result<Vec<String>, RecordError> {
        self.changed_among(outcome, |_| true)
    }

    /// Returns the same, without the trace. The trace is by far the largest file, and its reader
    /// detects damage.
    pub fn changed_beside_trace(
        &mut self,
        outcome: &'a Outcome,
    ) -> Result<Vec<String>, RecordError> {
        self.changed_among(outcome, |file| {
            file != names::REQUESTS && file != names::REQUESTS_PACKED
        })
    }

    fn changed_among(
        &mut self,
        outcome: &'a Outcome,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, RecordError> {
        if let Some(FoundAt { file, .. }) = &outcome.found {
            let now = match self.imported.entry(file) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let path = self.record.folder().join(file);
                    place.insert(read_sha256(&path, &TRACE.inside(1))?)
                }
            };
            let same = outcome.files.get(file) == now.as_ref();
            return Ok(if same { Vec::new() } else { vec![file.clone()] });
        }
        let Some(raw) = self.record.raw(outcome) else { return Ok(Vec::new()) };
        let mut other = Vec::new();
        let files = outcome.files.iter().chain(&outcome.other_files);
        for (file, recorded) in files.filter(|(file, _)| wanted(file)) {
            // A record may name anything, so only files in this folder are read.
            let now = match inside(&raw, file)? {
                Some(path) => read_sha256(&path, &TRACE)?,
                None => None,
            };
            if now.as_ref() != Some(recorded) {
                other.push(file.clone());
            }
        }
        Ok(other)
    }
}

/// A difference between two records that should be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A trial is not ok in both records; `None` is a trial that has not run.
    Status { trial: String, first: Option<Status>, second: Option<Status> },
    /// A file is only in the first record.
    OnlyInFirst { trial: String, file: &'static str },
    /// A file is only in the second record.
    OnlyInSecond { trial: String, file: &'static str },
    /// A file's bytes are the same up to `offset`, and differ there or end in one record.
    Bytes { trial: String, file: &'static str, offset: u64 },
}

impl Difference {
    /// Returns the id of the trial that differs.
    pub fn trial(&self) -> &str {
        match self {
            Self::Status { trial, .. }
            | Self::OnlyInFirst { trial, .. }
            | Self::OnlyInSecond { trial, .. }
            | Self::Bytes { trial, .. } => trial,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Status { trial, first, second } => {
                let [first, second] = [*first, *second].map(shown);
                write!(out, "{trial}: {first} in the first, {second} in the second")
            }
            Self::OnlyInFirst { trial, file } => write!(out, "{trial}/{file}: only in the first"),
            Self::OnlyInSecond { trial, file } => write!(out, "{trial}/{file}: only in the second"),
            Self::Bytes { trial, file, offset } => {
                write!(out, "{trial}/{file}: differs at byte {offset}")
            }
        }
    }
}

/// Compares the files of two records that must repeat, trial by trial. If the result is empty, the
/// runs are the same. Trials that failed in both are equal, whatever files they left.
pub fn compare(first: &Path, second: &Path) -> Result<Vec<Difference>, RecordError> {
    let (first, second) = (trials(first)?, trials(second)?);
    let mut differences = Vec::new();
    for trial in first.keys().chain(second.keys()).collect::<BTreeSet<_>>() {
        let [(first, raw_1), (second, raw_2)] =
            [&first, &second].map(|trials| trials.get(trial).cloned().unwrap_or_default());
        if first != second {
            differences.push(Difference::Status { trial: trial.clone(), first, second });
        }
        if let (Some(raw_1), Some(raw_2)) = (raw_1, raw_2) {
            differences.extend(compare_raw(trial, &raw_1, &raw_2)?);
        }
    }
    Ok(differences)
}

/// Compares the files of one trial, whose raw output is in these folders.
pub(crate) fn compare_raw(
    trial: &str,
    raw_1: &Path,
    raw_2: &Path,
) -> Result<Vec<Difference>, RecordError> {
    // A trace that only one record has packed is compared under both of its names.
    let files: BTreeSet<_> = repeatable(raw_1)?.into_iter().chain(repeatable(raw_2)?).collect();
    let compared = files
        .into_iter()
        .map(|file| compare_file(trial, file, &raw_1.join(file), &raw_2.join(file)));
    compared.filter_map(Result::transpose).collect()
}

fn shown(status: Option<Status>) -> String {
    status.map_or_else(|| "missing".to_owned(), |status| status.to_string())
}

/// The status of each trial, and the folder of its raw output if it is ok.
type Trials = BTreeMap<String, (Option<Status>, Option<PathBuf>)>;

fn trials(folder: &Path) -> Result<Trials, RecordError> {
    let record = Record::open(folder)?;
    let ended = record.outcomes().into_iter().map(|(trial, outcome)| {
        let status = outcome.map(|outcome| outcome.status);
        let raw = outcome
            .filter(|outcome| outcome.status == Status::Ok)
            .and_then(|outcome| record.raw(outcome));
        (trial.to_owned(), (status, raw))
    });
    Ok(ended.collect())
}

fn compare_file(
    trial: &str,
    file: &'static str,
    first: &Path,
    second: &Path,
) -> Result<Option<Difference>, RecordError> {
    let opened_1 = open(first).map_err(RecordError::io("read", first))?;
    let opened_2 = open(second).map_err(RecordError::io("read", second))?;
    let trial = trial.to_owned();
    Ok(match (opened_1, opened_2) {
        (None, None) => None,
        (Some(_), None) => Some(Difference::OnlyInFirst { trial, file }),
        (None, Some(_)) => Some(Difference::OnlyInSecond { trial, file }),
        (Some(opened_1), Some(opened_2)) => {
            let offset =
                first_difference(opened_1, opened_2).map_err(RecordError::io("compare", first))?;
            offset.map(|offset| Difference::Bytes { trial, file, offset })
        }
    })
}

fn open(path: &Path) -> io::Result<Option<BufReader<File>>> {
    if_there(disklab_files::open(path, &TRACE).map(|file| BufReader::with_capacity(1 << 16, file)))
}

/// Returns the result of an operation on a file, or None if there is no such file.
fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Returns the SHA-256 of a file of a kind, or None if there is no file.
pub fn sha256_of(path: &Path, kind: &FileKind) -> io::Result<Option<String>> {
    if_there(digest::sha256_of_file(path, kind))
}

fn read_sha256(path: &Path, kind: &FileKind) -> Result<Option<String>, RecordError> {
    sha256_of(path, kind).map_err(RecordError::io("read", path))
}

fn first_difference(mut first: impl BufRead, mut second: impl BufRead) -> io::Result<Option<u64>> {
    let mut offset = 0;
    loop {
        let (bytes_1, bytes_2) = (first.fill_buf()?, second.fill_buf()?);
        let both = bytes_1.len().min(bytes_2.len());
        if bytes_1[..both] != bytes_2[..both] {
            let at = bytes_1.iter().zip(bytes_2).position(|(one, other)| one != other);
            return Ok(at.map(|at| offset + at as u64));
        }
        if both == 0 {
            return Ok((bytes_1.len() != bytes_2.len()).then_some(offset));
        }
        offset += both as u64;
        first.consume(both);
        second.consume(both);
    }
}

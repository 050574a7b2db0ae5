//! Finds the files below the named paths, and reads their results.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use disklab_files::RESULTS;
use disklab_foreign::ResultRow;
use disklab_foreign::{Claimed, File, ResultFormat, format_of};
use disklab_protocol::digest::sha256_hex;
use disklab_results::integrity;
use disklab_units::prose::visible;

use crate::exit::{Failure, cannot, mistaken};
use crate::home::paths_in;

/// Depth of folders beyond which no results are looked for.
const DEEPEST: usize = 32;

/// A file whose results were read.
pub struct ReadFile {
    pub path: PathBuf,
    /// Path relative to the named folder, with `/`; for a named file its name.
    pub short: String,
    pub format: &'static ResultFormat,
    pub sha256: String,
    /// Rows of the file, each with its contradictions.
    pub rows: Vec<ResultRow>,
}

/// Outcome of the search.
#[derive(Default)]
pub struct FoundFiles {
    pub read: Vec<ReadFile>,
    /// Files with results that could not be read: file and reason.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Files with the same bytes as a file that was read, and that file: a copy is not a repeat.
    pub copies: Vec<(PathBuf, PathBuf)>,
    /// Files of no known format.
    pub unknown: Vec<PathBuf>,
}

impl FoundFiles {
    /// Lists the files that were left out, each with the reason.
    pub fn passed_over(&self) -> Vec<String> {
        let unreadable =
            self.unreadable.iter().map(|(path, reason)| format!("{}: {reason}", path.display()));
        let copy = |(path, of): &(PathBuf, PathBuf)| {
            format!(
                "{}: the same bytes as {}: a copy is not a repeat",
                path.display(),
                of.display()
            )
        };
        unreadable.chain(self.copies.iter().map(copy)).collect()
    }
}

/// Reads all results at and below `paths`, several files at a time.
pub fn look(paths: &[PathBuf]) -> Result<FoundFiles, Failure> {
    let mut looked = FoundFiles::default();
    let mut files = Vec::new();
    for path in paths {
        let kind = fs::metadata(path).map_err(|error| {
            mistaken!(
                "{}: cannot be opened: {error}; name files with results, or folders that have them",
                path.display()
            )
        })?;
        if kind.is_dir() {
            below(path, path, 0, &mut files, &mut looked)?;
        } else {
            let short = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push(NamedFile { path: path.clone(), short, named: true });
        }
    }
    for (there, what) in files.iter().zip(read_all(&files)) {
        match what {
            FileContent::Results(read) => {
                match looked.read.iter().find(|known| known.sha256 == read.sha256) {
                    Some(known) => looked.copies.push((there.path.clone(), known.path.clone())),
                    None => looked.read.push(read),
                }
            }
            FileContent::Unreadable(reason) => looked.unreadable.push((there.path.clone(), reason)),
            FileContent::Unknown => looked.unknown.push(there.path.clone()),
            FileContent::Beside => {}
        }
    }
    Ok(looked)
}

/// A file that may hold results.
#[derive(Debug)]
struct NamedFile {
    path: PathBuf,
    short: String,
    /// Whether the user named the file, and is to get a message about it in any case.
    named: bool,
}

/// Classification of a file.
enum FileContent {
    Results(ReadFile),
    Unreadable(String),
    Unknown,
    /// The file is read together with another one.
    Beside,
}

/// Lists files sorted by name, without hidden files and without links to folders.
fn below(
    root: &Path,
    folder: &Path,
    depth: usize,
    files: &mut Vec<NamedFile>,
    looked: &mut FoundFiles,
) -> Result<(), Failure> {
    let unreadable = |error| cannot!("cannot list {}: {error}", folder.display());
    for path in paths_in(folder).map_err(unreadable)? {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let Ok(kind) = fs::symlink_metadata(&path) else { continue };
        if hidden {
            continue;
        }
        if kind.is_dir() {
            if depth < DEEPEST {
                below(root, &path, depth + 1, files, looked)?;
            } else {
                looked.unreadable.push((path, format!("it is more than {DEEPEST} folders down")));
            }
        } else if kind.is_symlink() {
            looked.unreadable.push((path, disklab_files::LINK.to_owned()));
        } else if !kind.is_file() {
            looked.unreadable.push((path, "it is not a regular file".to_owned()));
        } else {
            let short = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            files.push(NamedFile { path, short, named: false });
        }
    }
    Ok(())
}

/// Reads the files. The results have the order of `files`.
fn read_all(files: &[NamedFile]) -> Vec<FileContent> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(files.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { break };
            let what = read(file).unwrap_or_else(FileContent::Unreadable);
            found.lock().unwrap_or_else(PoisonError::into_inner).push((index, what));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If no thread can be started, the remaining threads do the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, what)| what).collect()
}

/// Reads a file. The error gives the reason.
fn read(there: &NamedFile) -> Result<FileContent, String> {
    let NamedFile { path, short, named } = there;
    let kind = if *named { RESULTS } else { RESULTS.inside(0) };
    let bytes = disklab_files::read(path, &kind).map_err(|error| error.to_string())?;
    let beside =
        |name: &str| disklab_files::read(&path.with_file_name(name), &RESULTS.inside(0)).ok();
    let file = File { path: short, bytes: &bytes, beside: &beside };
    let format = match format_of(&file) {
        (_, Claimed::Beside) => return Ok(FileContent::Beside),
        (Some(format), Claimed::Results) => format,
        _ if *named => {
            return Err(
                "the format is unknown; `disklab import --help` lists the known formats".to_owned()
            );
        }
        _ => return Ok(FileContent::Unknown),
    };
    let mut rows = (format.read)(&file).map_err(|reason| format!("{}: {reason}", format.name))?;
    for row in &mut rows {
        let found = integrity::check(&row.claim);
        row.remarks.extend(found);
        // Control characters could command the terminal.
        for (axis, value) in &mut row.cell {
            *axis = one_line(axis);
            *value = one_line(value);
        }
    }
    let sha256 = sha256_hex(&bytes);
    Ok(FileContent::Results(ReadFile {
        path: path.clone(),
        short: one_line(short),
        format,
        sha256,
        rows,
    }))
}

fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

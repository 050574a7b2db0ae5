//! Which files there are below the paths that were named, and what is in them.

use std::fs;
use std::path::{Path, PathBuf};

use disklab_collect::digest::sha256_hex;
use disklab_collect::foreign::{Claimed, File, format_of};
use disklab_collect::found::Row;
use disklab_collect::integrity;

use crate::exit::Failure;

/// Larger ones are passed over: their numbers would not fit the memory of small machines.
const LARGEST_FILE: u64 = 1 << 30;
/// More folders within folders than results have.
const DEEPEST: usize = 32;

/// A file that was read.
#[derive(Debug)]
pub struct Read {
    pub path: PathBuf,
    /// From what was named, with `/`; of a file that was named, its name.
    pub short: String,
    pub format: &'static str,
    pub sha256: String,
    /// With what is wrong with each.
    pub rows: Vec<Row>,
}

/// What came of looking.
#[derive(Debug, Default)]
pub struct Looked {
    pub read: Vec<Read>,
    /// Files that hold results, and could not be read: file and reason.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Files that are none of the formats known here.
    pub unknown: Vec<PathBuf>,
}

/// Reads all that holds results at and below `paths`.
pub fn look(paths: &[PathBuf]) -> Result<Looked, Failure> {
    let mut looked = Looked::default();
    for path in paths {
        let kind =
            fs::metadata(path).map_err(|error| Failure::mistaken(format!("{}: {error}", path.display())))?;
        if kind.is_dir() {
            below(path, path, 0, &mut looked)?;
        } else {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            one(path, name, true, &mut looked);
        }
    }
    Ok(looked)
}

/// In the order of names; what is hidden, and links to folders, are left out.
fn below(root: &Path, folder: &Path, depth: usize, looked: &mut Looked) -> Result<(), Failure> {
    let unreadable = |error| Failure::cannot(format!("cannot list {}: {error}", folder.display()));
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<_, _>>().map_err(unreadable)?;
    paths.sort_unstable();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let Ok(kind) = fs::symlink_metadata(&path) else { continue };
        if hidden {
            continue;
        }
        if kind.is_dir() {
            if depth < DEEPEST {
                below(root, &path, depth + 1, looked)?;
            } else {
                looked.unreadable.push((path, format!("it is more than {DEEPEST} folders down")));
            }
        } else if path.is_file() {
            let short = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            one(&path, short, false, looked);
        }
    }
    Ok(())
}

/// `named`: by the user, who wants to hear about it whatever it is.
fn one(path: &Path, short: String, named: bool, looked: &mut Looked) {
    let mut fail = |reason: String| looked.unreadable.push((path.to_owned(), reason));
    match fs::metadata(path) {
        Err(error) => return fail(error.to_string()),
        Ok(meta) if meta.len() > LARGEST_FILE => {
            return fail(format!("{} bytes; files of more than {LARGEST_FILE} are not read", meta.len()));
        }
        Ok(_) => {}
    }
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return fail(error.to_string()),
    };
    let beside = |name: &str| fs::read(path.with_file_name(name)).ok();
    let file = File { path: &short, bytes: &bytes, beside: &beside };
    let (format, claimed) = format_of(&file);
    let Some(format) = format else {
        if named {
            return fail(
                "it is none of the formats known here; `disklab import --help` lists them".to_owned(),
            );
        }
        looked.unknown.push(path.to_owned());
        return;
    };
    if claimed == Claimed::Beside {
        return;
    }
    match (format.read)(&file) {
        Err(reason) => fail(format!("{}: {reason}", format.name)),
        Ok(mut rows) => {
            for row in &mut rows {
                let found = integrity::check(&row.claim);
                row.remarks.extend(found);
            }
            let sha256 = sha256_hex(&bytes);
            looked.read.push(Read { path: path.to_owned(), short, format: format.name, sha256, rows });
        }
    }
}

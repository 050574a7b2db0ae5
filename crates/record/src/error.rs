//! Errors of all work with a record, with advice on what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::manifest::SETTINGS;
use crate::mismatch::{Mismatch, listed};
use crate::name::{self, UnfitName};

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },

    #[error("{}", no_manifest(folder))]
    NoManifest { folder: PathBuf },

    #[error(
        "{0} is gone, a file that every record has: restore it from a copy of the record, or see \
         what is left with `disklab report`{advice}",
        path.display(), advice = repair_of(path)
    )]
    Gone { path: PathBuf },

    #[error("{}: {message}", path.display())]
    Manifest { path: PathBuf, message: String },

    #[error("{}: {message}; `disklab repair` writes it again", path.display())]
    LastLine { path: PathBuf, message: String },

    #[error(
        "{}, line {line}: {message}; nothing was changed: `disklab repair` makes lines again from \
         raw files",
        path.display()
    )]
    Line { path: PathBuf, line: usize, message: String },

    #[error(
        "{}, line {line}: {message}; nothing was changed: restore that file from a copy of this \
         record",
        path.display()
    )]
    OtherRecord { path: PathBuf, line: usize, message: String },

    #[error(
        "{} is being written by another disklab ({holder}); wait for it, or stop it",
        folder.display()
    )]
    Busy { folder: PathBuf, holder: String },

    #[error("{} exists; resume it, or name another folder", folder.display())]
    Exists { folder: PathBuf },

    #[error(
        "{} cannot be continued, for new trials could not be compared with its own:{}\n{}",
        folder.display(), listed(differences), way_out(differences)
    )]
    Mismatch { folder: PathBuf, differences: Vec<Mismatch> },

    #[error(transparent)]
    Name(#[from] UnfitName),

    #[error(
        "trial {trial} is not one that {} waits for: it is not in its manifest, or was recorded \
        before",
        folder.display()
    )]
    Unexpected { trial: String, folder: PathBuf },

    #[error(
        "cannot record trial {trial}: cannot {doing} {}: {source}; \
         the {kept} trials recorded before it are kept in {}: {}",
        path.display(), folder.display(), advice(source)
    )]
    NotRecorded {
        trial: String,
        doing: &'static str,
        path: PathBuf,
        folder: PathBuf,
        /// Number of trials whose lines are on disk.
        kept: usize,
        source: io::Error,
    },
}

impl RecordError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }
}

/// Returns why a folder without a manifest cannot be read. A record that lost its manifest still
/// has lines.
fn no_manifest(folder: &Path) -> String {
    let (shown, lines) = (folder.display(), folder.join(name::TRIALS));
    if lines.metadata().is_ok_and(|lines| lines.len() > 0) {
        format!(
            "{shown}/manifest.toml is gone, a file that every record has: restore it from a copy \
             of the record, or see what is left with `disklab report`"
        )
    } else {
        format!(
            "{shown} is not a record: it has no manifest.toml; if a run was killed before it \
             began, remove the folder"
        )
    }
}

/// Returns advice if a file of a record can be made again from the rest of the record.
fn repair_of(path: &Path) -> &'static str {
    let is_made_again = [name::TRIALS, name::LAST].iter().any(|name| path.ends_with(name));
    if is_made_again { "; `disklab repair` makes it again from the rest of the record" } else { "" }
}

/// Returns advice for differences. A library of another build is the most frequent one for
/// developers, and nothing in their own files explains it.
fn way_out(differences: &[Mismatch]) -> &'static str {
    if differences.iter().any(|difference| difference.what == "tool disk library") {
        "the disk models are in the disk library, and this one is of another build of disklab: \
        build the sources that the record was begun with (`cargo build --release --workspace`), \
        or start a new record with `disklab run`"
    } else if differences
        .iter()
        .any(|difference| difference.what == SETTINGS && difference.now.contains("seeds="))
    {
        "to add seeds to it: disklab run --resume RUN --seeds N; else start a new record with \
        `disklab run`, or restore what was"
    } else {
        "start a new record with `disklab run`, or restore what was"
    }
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, then resume it"
        }
        _ => "resume it when this is mended",
    }
}

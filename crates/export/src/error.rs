use std::io;
use std::path::{Path, PathBuf};

/// A reason why a record's tables could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("cannot {doing} {}: {source}{}", path.display(), advice(source))]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{}: {message}; the record's other tables can be had without it: \
        --table", path.display())]
    Read { path: PathBuf, message: String },
    #[error(
        "{}: {} has the tables of another record of this suite and name ({part}), which was begun \
         on {created}; name another folder with -o, or rename the record's",
        record.display(), to.display()
    )]
    Another { record: PathBuf, to: PathBuf, part: String, created: String },
}

impl ExportError {
    /// Describes, for `map_err`, what was tried on which file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, and export again"
        }
        _ => "",
    }
}

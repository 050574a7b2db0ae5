use std::io;
use std::path::PathBuf;

/// Why a record's tables could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("cannot {doing} {}: {source}{}", path.display(), advice(source))]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot write {}: {message}", path.display())]
    Write { path: PathBuf, message: String },
    #[error("{}: {message}; the record's other tables can be had without it", path.display())]
    Read { path: PathBuf, message: String },
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space, and export again",
        _ => "",
    }
}

use std::io;
use std::path::PathBuf;

/// Why a record's tables could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("cannot {doing} {}: {source}{}", path.display(), advice(source))]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot write {}: {message}", path.display())]
    Write { path: PathBuf, message: String },
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

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, and export again"
        }
        _ => "",
    }
}

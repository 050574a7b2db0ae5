/// The reasons why files do not describe a drive, or why a file is not a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{file}:{line}: {what}")]
    Syntax { file: String, line: usize, what: String },

    #[error("{file}: {reason}")]
    Unreadable { file: String, reason: String },

    #[error(
        "{file}: neither it nor a file that it includes has a block disksim_disk, which describes \
        the drive"
    )]
    NoDisk { file: String },

    #[error("{block}: no `{key}`, which is needed to model the drive")]
    Missing { block: String, key: String },

    #[error("{block}: `{key}` should be {wanted}")]
    Wrong { block: String, key: String, wanted: String },
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn unreadable(file: &str, reason: impl Into<String>) -> Self {
        Self::Unreadable { file: file.to_owned(), reason: reason.into() }
    }
}

//! How the program ends: its exit status, and what it says when something went wrong.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use disklab_config::Mistakes;
use disklab_export::ExportError;
use disklab_kernels::Error as KernelError;
use disklab_record::StoreError;
use disklab_record::merge::MergeError;

use crate::screen::Screen;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Ok = 0,
    /// A trial failed, or two records that were compared differ.
    Failed = 1,
    /// What was typed, or a file that the user wrote, is mistaken.
    Mistaken = 2,
    /// Something got worse by more than was allowed.
    Regression = 3,
    /// Whether it did cannot be said with these trials.
    Undecided = 4,
    /// The input is right and this machine cannot do it: something is missing, full or broken.
    Cannot = 5,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a verb did not get to its end.
#[derive(Debug)]
pub enum Failure {
    Said {
        exit: Exit,
        message: String,
    },
    /// Each line of it begins with its file.
    Mistakes(Mistakes),
    /// Whoever read our output has seen enough.
    NobodyReads,
}

impl Failure {
    pub fn mistaken(message: impl Display) -> Self {
        Self::Said { exit: Exit::Mistaken, message: message.to_string() }
    }

    pub fn cannot(message: impl Display) -> Self {
        Self::Said { exit: Exit::Cannot, message: message.to_string() }
    }

    /// Says it on standard error.
    pub fn report(self, screen: &Screen) -> Exit {
        match self {
            Self::Said { exit, message } => {
                screen.complain(&message);
                exit
            }
            Self::Mistakes(mistakes) => {
                screen.remark(&mistakes.to_string());
                Exit::Mistaken
            }
            Self::NobodyReads => Exit::Ok,
        }
    }
}

/// Of writing to standard output; other files have errors that name them.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::cannot(format!("cannot write to standard output: {error}")),
        }
    }
}

/// Where JSON goes to standard output, the cause is the pipe's.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        Self::Mistakes(mistakes)
    }
}

impl From<disklab_compare::Error> for Failure {
    fn from(error: disklab_compare::Error) -> Self {
        match error {
            disklab_compare::Error::Suite(mistakes) => Self::Mistakes(mistakes),
            error => Self::mistaken(error),
        }
    }
}

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        let exit = match &error {
            KernelError::Interrupted => Exit::Interrupted,
            KernelError::NotASource { .. }
            | KernelError::NotAKernel { .. }
            | KernelError::NotARepository { .. }
            | KernelError::NoRevision { .. }
            | KernelError::WrongOrder { .. }
            | KernelError::NotEmpty { .. }
            | KernelError::WrongDigest { .. }
            | KernelError::UnknownSeries { .. }
            | KernelError::NotGiven { .. }
            | KernelError::NoShare { .. } => Exit::Mistaken,
            _ => Exit::Cannot,
        };
        Self::Said { exit, message: error.to_string() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::Io { .. } | StoreError::Busy { .. } | StoreError::NotRecorded { .. } => {
                Exit::Cannot
            }
            _ => Exit::Mistaken,
        };
        Self::Said { exit, message: error.to_string() }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Read { .. } | ExportError::Another { .. } => Self::mistaken(error),
            ExportError::Io { .. } | ExportError::Write { .. } => Self::cannot(error),
        }
    }
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        let exit = match error {
            MergeError::Store(error) => return error.into(),
            MergeError::Conflicts(_) => Exit::Failed,
            _ => Exit::Mistaken,
        };
        Self::Said { exit, message: error.to_string() }
    }
}

impl From<disklab_block_devices::Error> for Failure {
    fn from(error: disklab_block_devices::Error) -> Self {
        match error {
            disklab_block_devices::Error::Mistakes(mistakes) => Self::Mistakes(mistakes),
            error => Self::mistaken(error),
        }
    }
}

impl From<disklab_runner::key::Collision> for Failure {
    fn from(error: disklab_runner::key::Collision) -> Self {
        Self::mistaken(error)
    }
}

impl From<disklab_runner::Error> for Failure {
    fn from(error: disklab_runner::Error) -> Self {
        match error {
            disklab_runner::Error::Cache(error) => error.into(),
            disklab_runner::Error::Store(error) => error.into(),
            disklab_runner::Error::Interrupted => {
                Self::Said { exit: Exit::Interrupted, message: error.to_string() }
            }
            error => Self::cannot(error),
        }
    }
}

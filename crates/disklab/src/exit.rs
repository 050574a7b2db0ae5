//! The end of the program: its exit statuses, and its messages about failures.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::process::ExitCode;

use disklab_config::Diagnostics;
use disklab_export::ExportError;
use disklab_kernels::Error as KernelError;
use disklab_record::RecordError;
use disklab_record::merge::MergeError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Ok = 0,
    /// A trial failed, or two compared records differ.
    Failed = 1,
    /// The command line or a file that the user wrote is mistaken.
    Mistaken = 2,
    /// A result got worse by more than was allowed.
    Regression = 3,
    /// The trials cannot decide if a result got worse.
    Undecided = 4,
    /// The input is right, and this machine cannot do it: something is missing, full or broken.
    Cannot = 5,
    Interrupted = 130,
}

impl Exit {
    /// Returns the status as JSON documents name it.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Mistaken => "mistaken",
            Self::Regression => "regression",
            Self::Undecided => "undecided",
            Self::Cannot => "cannot",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The reason why a verb stopped early.
#[derive(Debug)]
pub enum Failure {
    /// A message and its exit status.
    Said { exit: Exit, message: String },
    /// Messages about a file; each line begins with the name of the file.
    Diagnostics(Diagnostics),
    /// Standard output, or the file in its place, cannot be written.
    Output(io::Error),
    /// The reader of standard output closed it. This is not an error.
    NobodyReads,
}

impl Failure {
    pub fn said(exit: Exit, message: impl Display) -> Self {
        Self::Said { exit, message: message.to_string() }
    }

    /// Returns the exit status for this failure.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Said { exit, .. } => *exit,
            Self::Diagnostics(_) => Exit::Mistaken,
            Self::Output(_) => Exit::Cannot,
            Self::NobodyReads => Exit::Ok,
        }
    }

    pub fn mistaken(message: impl Display) -> Self {
        Self::said(Exit::Mistaken, message)
    }

    pub fn cannot(message: impl Display) -> Self {
        Self::said(Exit::Cannot, message)
    }
}

impl Display for Failure {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said { message, .. } => out.write_str(message),
            Self::Diagnostics(diagnostics) => diagnostics.fmt(out),
            Self::Output(error) => write!(out, "cannot write to standard output: {error}"),
            Self::NobodyReads => Ok(()),
        }
    }
}

/// Returns a [`Failure`] about the command line or a user's file, with a formatted message.
macro_rules! mistaken {
    ($($message:tt)*) => { $crate::exit::Failure::mistaken(format_args!($($message)*)) };
}

/// Returns a [`Failure`] about this machine, with a formatted message.
macro_rules! cannot {
    ($($message:tt)*) => { $crate::exit::Failure::cannot(format_args!($($message)*)) };
}

pub(crate) use {cannot, mistaken};

/// Converts errors of other crates to failures, kind by kind.
macro_rules! from_error {
    ($($error:ty { $($arms:tt)+ })+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                match error { $($arms)+ }
            }
        }
    )+};
}

from_error! {
    // These errors come from writing a verb's output. Errors of other files carry a name.
    io::Error {
        error if error.kind() == io::ErrorKind::BrokenPipe => Self::NobodyReads,
        error => Self::Output(error),
    }
    // JSON goes to standard output too.
    serde_json::Error {
        error => io::Error::from(error).into(),
    }
    Diagnostics {
        mistakes => Self::Diagnostics(mistakes),
    }
    disklab_compare::Error {
        disklab_compare::Error::Suite(mistakes) => Self::Diagnostics(mistakes),
        error => Self::mistaken(error),
    }
    KernelError {
        error @ KernelError::Interrupted => Self::said(Exit::Interrupted, error),
        error @ (KernelError::NotASource { .. }
        | KernelError::NotAKernel { .. }
        | KernelError::NotARepository { .. }
        | KernelError::NoRevision { .. }
        | KernelError::WrongOrder { .. }
        | KernelError::NotEmpty { .. }
        | KernelError::WrongDigest { .. }
        | KernelError::UnknownSeries { .. }
        | KernelError::NotGiven { .. }
        | KernelError::NoShare { .. }) => Self::mistaken(error),
        error => Self::cannot(error),
    }
    RecordError {
        error @ (RecordError::Io { .. }
        | RecordError::Busy { .. }
        | RecordError::NotRecorded { .. }) => Self::cannot(error),
        error => Self::mistaken(error),
    }
    ExportError {
        error @ (ExportError::Read { .. } | ExportError::Another { .. }) => Self::mistaken(error),
        error => Self::cannot(error),
    }
    MergeError {
        MergeError::Store(error) => error.into(),
        error @ MergeError::Conflicts(_) => Self::said(Exit::Failed, error),
        error => Self::mistaken(error),
    }
    disklab_block_devices::Error {
        disklab_block_devices::Error::Diagnostics(mistakes) => Self::Diagnostics(mistakes),
        error => Self::mistaken(error),
    }
    disklab_runner::key::Collision {
        error => Self::mistaken(error),
    }
    disklab_runner::Error {
        disklab_runner::Error::Cache(error) => error.into(),
        disklab_runner::Error::Store(error) => error.into(),
        error @ disklab_runner::Error::Interrupted => Self::said(Exit::Interrupted, error),
        error => Self::cannot(error),
    }
}

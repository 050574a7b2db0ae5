//! The parsers for the output of a phase's program, and the names of the numbers that they find.

use crate::read::choices;

choices! {
    /// The parser for a program's output.
    pub enum PrintedNumbers: "parser of output" {
        Dbench = "dbench",
        FsMark = "fs_mark",
    }
}

impl PrintedNumbers {
    /// Returns the names of the numbers, without the program's name.
    pub(super) fn metrics(self) -> Vec<String> {
        match self {
            Self::FsMark => ["files", "slowest"].map(str::to_owned).to_vec(),
            Self::Dbench => {
                let each = DBENCH.map(|name| [format!("{name} mean"), format!("{name} max")]);
                ["throughput", "max"].map(str::to_owned).into_iter().chain(each.concat()).collect()
            }
        }
    }
}

/// The operations in dbench's load file.
const DBENCH: [&str; 16] = [
    "NTCreateX",
    "Close",
    "Rename",
    "Unlink",
    "Deltree",
    "Mkdir",
    "Qpathinfo",
    "Qfileinfo",
    "Qfsinfo",
    "Sfileinfo",
    "Find",
    "WriteX",
    "ReadX",
    "LockX",
    "UnlockX",
    "Flush",
];

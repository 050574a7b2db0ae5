//! What reads numbers from what a phase's program prints, and their names.

use crate::read::choices;

choices! {
    /// What reads a program's output.
    pub enum PrintedNumbers: "reader of numbers" {
        Dbench = "dbench",
        FsMark = "fs_mark",
    }
}

impl PrintedNumbers {
    /// The names of its numbers, without the program's.
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

/// What dbench's load file has it do.
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

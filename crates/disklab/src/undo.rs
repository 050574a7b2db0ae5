//! Undoes the changes that killed runs left on this machine.

use std::fmt::Write as _;

use disklab_block_devices::change::{Change, UndoNews, Undone};
use disklab_block_devices::journal::{self, LeftJournal};
use serde::Serialize;

use crate::exit::Failure;
use crate::screen::Screen;

/// Outcome of undoing.
#[derive(Debug, Default, Serialize)]
pub struct UndoneChanges {
    /// Changes that were undone, or with `dry` would be.
    pub undone: Vec<Undone>,
    /// Journals with entries that cannot be read.
    pub unread: Vec<String>,
}

impl UndoneChanges {
    /// Returns true if something is still as a killed run left it.
    pub fn is_open(&self) -> bool {
        !self.unread.is_empty() || self.undone.iter().any(|undone| undone.failed.is_some())
    }

    /// Describes the outcome, one line each.
    pub fn lines(&self, dry: bool) -> Vec<String> {
        let line = |undone: &Undone| {
            let mut line =
                if dry { format!("would be undone: {}", undone.what) } else { undone.what.clone() };
            if let Some(why) = &undone.failed {
                let _ = write!(line, ": not yet, since {why}");
            }
            line
        };
        self.undone.iter().map(line).chain(self.unread.iter().cloned()).collect()
    }
}

/// Undoes the changes of runs that are gone, or with `dry` only lists them. Messages give the
/// reason of a wait.
pub fn left_by_killed_runs(dry: bool, screen: &Screen) -> Result<UndoneChanges, Failure> {
    let folder = journal::folder().map_err(Failure::cannot)?;
    let mut found = UndoneChanges::default();
    for left in LeftJournal::all(&folder).map_err(Failure::cannot)? {
        match left {
            Err(error) => found.unread.push(error.to_string()),
            Ok(left) if dry => {
                found.undone.extend(left.changes().map(described));
                found.unread.extend(left.unreadable().map(|error| error.to_string()));
            }
            Ok(left) => {
                let noted = left.path().display().to_string();
                let told = &mut |news: UndoNews| match news {
                    UndoNews::Waits(what) => screen.remark(&format!("waiting: {what}")),
                    UndoNews::Undone(undone) => {
                        let forget = |why| {
                            format!(
                                "{why}; if it can never be undone, remove {noted}, which notes \
                                     it"
                            )
                        };
                        found.undone.push(Undone {
                            failed: undone.failed.clone().map(forget),
                            ..undone.clone()
                        });
                    }
                };
                match left.undo(told) {
                    Err(error @ journal::Error::Unreadable { .. }) => {
                        found.unread.push(error.to_string());
                    }
                    undone => drop(undone.map_err(Failure::cannot)?),
                }
            }
        }
    }
    Ok(found)
}

fn described(change: &Change) -> Undone {
    Undone { what: change.to_string(), failed: None }
}

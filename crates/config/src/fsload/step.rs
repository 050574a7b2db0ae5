//! The steps of a thread, one per line of its loop.
//!
//! ```text
//! open SET          a file that exists; later steps work on it, until it is closed
//! create SET        a file that does not exist; it is open then, and empty
//! read whole        all of the open file, from its beginning
//! read 4 KiB        at a random place of the file
//! append SIZE       one size, or a distribution
//! write whole       as many bytes as the file had when its set was laid out, replacing all
//! fsync
//! close
//! delete SET        a file that no thread has open
//! stat SET
//! list SET          the folder that a file of the set is in
//! replace SET       all of a file, written beside it under another name and renamed
//! pause 10 ms
//! ```
//!
//! `SET` may be left out if there is only one set. Sets of `per_folder` files are used from within
//! one of their folders:
//!
//! ```text
//! make folder              a new folder; later steps work in it
//! enter folder             any folder that exists; later steps work in it
//! replace any SET          a file of the folder of any number, whether it exists or not
//! replace 1 to 100 SET     the files from a random number of the range down to 1
//! read all SET             from file 1 on, up to the first that does not exist
//! ```
//!
//! A step with a prefix, `50 %: STEP`, runs with that probability.

use disklab_units::{Bytes, Nanos, ParseError};
use serde::{Deserialize, Serialize};

use super::size::{Size, bytes};
use crate::read::unknown;

/// A step, and the probability of running it, in per cent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStep {
    pub percent: u32,
    pub does: FileAction,
}

/// The action of a thread in one step. Sets of files are named by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileAction {
    /// Opens a file that exists. If a later step `writes`, no other thread may have the file open.
    Open { set: usize, writes: bool },
    /// Makes a file that does not exist, and opens it.
    Create { set: usize },
    /// Reads all of the open file.
    ReadWhole,
    /// Reads this number of bytes at a random place of the open file.
    ReadRandom(Bytes),
    /// Appends to the open file.
    Append(Size),
    /// Writes the open file again from its beginning.
    WriteWhole,
    /// Calls fsync(2) on the open file.
    Fsync,
    /// Closes the open file.
    Close,
    /// Deletes a file.
    Delete { set: usize },
    /// Calls stat(2) on a file.
    Stat { set: usize },
    /// Lists the folder of a file.
    List { set: usize },
    /// Writes a file under another name, and renames that.
    Replace { set: usize },
    /// Sleeps for this time.
    Pause(Nanos),
    /// Makes a folder, and enters it.
    MakeFolder,
    /// Enters a folder that exists.
    EnterFolder,
    /// Replaces a file of any number in the folder.
    ReplaceAny { set: usize },
    /// Replaces the files of a drawn number down to 1.
    ReplaceDown { set: usize, from: u32, to: u32 },
    /// Reads the folder's files from number 1 on.
    ReadAll { set: usize },
}

/// The sets that steps may name: the name of each, and whether its files are counted `per_folder`.
pub struct Sets<'a>(pub &'a [(String, bool)]);

impl Sets<'_> {
    fn find(&self, name: &str, in_folders: bool) -> Result<usize, String> {
        let fits = |(_, of_folders): &&(String, bool)| *of_folders == in_folders;
        if name.is_empty() {
            let mut all = self.0.iter().enumerate().filter(|(_, set)| fits(set));
            return match (all.next(), all.next()) {
                (Some((number, _)), None) => Ok(number),
                _ => Err("name the set of files at the end of the step".to_owned()),
            };
        }
        let found = self.0.iter().position(|(known, _)| known == name);
        let names = self.0.iter().map(|(known, _)| known.as_str());
        let number = found.ok_or_else(|| unknown("set of files", name, names))?;
        match (self.0[number].1, in_folders) {
            (false, true) => Err(format!(
                "`{name}` has no `per_folder` files: leave out `any`, `all` or the numbers"
            )),
            (true, false) => Err(format!(
                "`{name}` has `per_folder` files: `replace any`, `replace 1 to 10` and `read all` \
                 are for those"
            )),
            _ => Ok(number),
        }
    }
}

impl FileStep {
    fn parse(text: &str, sets: &Sets<'_>) -> Result<Self, String> {
        let (percent, words) = match text.split_once("%:") {
            None => (100, text),
            Some((percent, words)) => (percent.trim().parse().unwrap_or(0), words),
        };
        if !(1..=100).contains(&percent) {
            return Err(format!("`{text}`: expected 1 to 100 % before the step"));
        }
        let does = FileAction::parse(words.trim(), sets);
        let does = does.map_err(|why| format!("`{text}`: {why}"))?;
        Ok(Self { percent, does })
    }

    /// Parses a whole loop, whose steps have to fit together.
    pub fn parse_all(lines: &[&str], sets: &Sets<'_>) -> Result<Vec<Self>, (usize, String)> {
        let parse =
            |(number, line): (usize, &&str)| Self::parse(line, sets).map_err(|why| (number, why));
        let mut steps = lines.iter().enumerate().map(parse).collect::<Result<Vec<_>, _>>()?;
        check(&steps).map_err(|(number, why)| (number, format!("`{}`: {why}", lines[number])))?;
        for number in 0..steps.len() {
            let until = steps[number + 1..].iter().position(|step| step.does.ends_file());
            let until = until.map_or(steps.len(), |length| number + 1 + length);
            let wrote = steps[number + 1..until].iter().any(|step| step.does.writes());
            if let FileAction::Open { writes, .. } = &mut steps[number].does {
                *writes = wrote;
            }
        }
        Ok(steps)
    }
}

/// Checks that each step has what it needs from the steps before it: an open file, a folder.
fn check(steps: &[FileStep]) -> Result<(), (usize, String)> {
    let (mut open, mut inside) = (false, false);
    for (number, FileStep { percent, does }) in steps.iter().enumerate() {
        let wrong = |why: &str| Err((number, why.to_owned()));
        if does.moves() && *percent < 100 {
            return wrong("later steps need this one: leave out its percentage");
        }
        match does {
            FileAction::Open { .. } | FileAction::Create { .. } if open => {
                return wrong("close the file before that one first");
            }
            FileAction::Open { .. } | FileAction::Create { .. } => open = true,
            FileAction::Close if open => open = false,
            _ if does.needs_file() && !open => {
                return wrong("no file is open then: `open` or `create` one first");
            }
            FileAction::MakeFolder | FileAction::EnterFolder => inside = true,
            FileAction::ReplaceAny { .. }
            | FileAction::ReplaceDown { .. }
            | FileAction::ReadAll { .. }
                if !inside =>
            {
                return wrong("it is in no folder then: `make folder` or `enter folder` first");
            }
            _ => {}
        }
    }
    Ok(())
}

impl FileAction {
    fn parse(text: &str, sets: &Sets<'_>) -> Result<Self, String> {
        let (word, rest) =
            text.split_once(' ').map_or((text, ""), |(word, rest)| (word, rest.trim()));
        let free = |name: &str| sets.find(name, false);
        Ok(match (word, rest) {
            ("open", set) => Self::Open { set: free(set)?, writes: false },
            ("create", set) => Self::Create { set: free(set)? },
            ("delete", set) => Self::Delete { set: free(set)? },
            ("stat", set) => Self::Stat { set: free(set)? },
            ("list", set) => Self::List { set: free(set)? },
            ("read", "whole") => Self::ReadWhole,
            ("read", rest) => match rest.strip_prefix("all") {
                Some(set) => Self::ReadAll { set: sets.find(set.trim(), true)? },
                None => Self::ReadRandom(amount(rest)?),
            },
            ("append", size) => Self::Append(size.parse()?),
            ("write", "whole") => Self::WriteWhole,
            ("fsync", "") => Self::Fsync,
            ("close", "") => Self::Close,
            ("pause", time) => {
                Self::Pause(time.parse().map_err(|error: ParseError| error.to_string())?)
            }
            ("make", "folder") => Self::MakeFolder,
            ("enter", "folder") => Self::EnterFolder,
            ("replace", rest) => Self::replace(rest, sets)?,
            _ => return Err("unknown; docs/FORMAT.md lists what a thread can do".to_owned()),
        })
    }

    fn replace(rest: &str, sets: &Sets<'_>) -> Result<Self, String> {
        if let Some(set) = rest.strip_prefix("any") {
            return Ok(Self::ReplaceAny { set: sets.find(set.trim(), true)? });
        }
        let Some((from, more)) = rest.split_once(" to ") else {
            return Ok(Self::Replace { set: sets.find(rest, false)? });
        };
        let (to, set) = more.trim().split_once(' ').unwrap_or((more, ""));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&number| number > 0);
        match (number(from), number(to)) {
            (Some(from), Some(to)) if from <= to => {
                Ok(Self::ReplaceDown { set: sets.find(set.trim(), true)?, from, to })
            }
            _ => Err("expected two numbers, as in `replace 1 to 100 SET`".to_owned()),
        }
    }

    /// Returns whether the step changes the open file or the folder, on which later steps work.
    fn moves(self) -> bool {
        self.ends_file() || matches!(self, Self::MakeFolder | Self::EnterFolder)
    }

    /// Returns whether the step works on the open file.
    pub fn needs_file(self) -> bool {
        self.writes()
            || matches!(self, Self::ReadWhole | Self::ReadRandom(_) | Self::Fsync | Self::Close)
    }

    fn writes(self) -> bool {
        matches!(self, Self::Append(_) | Self::WriteWhole)
    }

    fn ends_file(self) -> bool {
        matches!(self, Self::Open { .. } | Self::Create { .. } | Self::Close)
    }
}

fn amount(text: &str) -> Result<Bytes, String> {
    let bytes = bytes(text)?;
    if (1..=(1 << 20)).contains(&bytes.0) {
        return Ok(bytes);
    }
    Err(format!("{bytes} at a time is out of range (1 B to 1 MiB)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets() -> Vec<(String, bool)> {
        vec![
            ("mail".to_owned(), false),
            ("articles".to_owned(), true),
            ("pictures".to_owned(), true),
        ]
    }

    fn parse(lines: &[&str]) -> Result<Vec<FileAction>, String> {
        let steps = FileStep::parse_all(lines, &Sets(&sets()))
            .map_err(|(number, why)| format!("{number}: {why}"))?;
        Ok(steps.into_iter().map(|step| step.does).collect())
    }

    #[test]
    fn a_loop_is_read() {
        let acts = parse(&[
            "open",
            "read whole",
            "append 0 B to 16 KiB",
            "fsync",
            "close",
            "open mail",
            "read whole",
        ]);
        let open = |writes| FileAction::Open { set: 0, writes };
        let append = FileAction::Append(Size::Uniform(Bytes(0), Bytes::kib(16)));
        let expected = [
            open(true),
            FileAction::ReadWhole,
            append,
            FileAction::Fsync,
            FileAction::Close,
            open(false),
            FileAction::ReadWhole,
        ]
        .to_vec();
        assert_eq!(acts, Ok(expected));
        let acts = parse(&[
            "make folder",
            "replace 1 to 100 articles",
            "50 %: replace any pictures",
            "read all articles",
        ]);
        let expected = [
            FileAction::MakeFolder,
            FileAction::ReplaceDown { set: 1, from: 1, to: 100 },
            FileAction::ReplaceAny { set: 2 },
            FileAction::ReadAll { set: 1 },
        ];
        assert_eq!(acts, Ok(expected.to_vec()));
    }

    #[test]
    fn steps_that_do_not_fit_together_are_told() {
        let wrong = |lines: &[&str]| parse(lines).unwrap_err();
        assert!(wrong(&["read whole"]).contains("0: `read whole`: no file is open"));
        assert!(wrong(&["open", "close", "fsync"]).starts_with("2: "));
        assert!(wrong(&["open", "open"]).contains("close the file before"));
        assert!(wrong(&["50 %: open"]).contains("leave out its percentage"));
        assert!(wrong(&["0 %: open"]).contains("expected 1 to 100 %"));
        assert!(wrong(&["replace any articles"]).contains("in no folder"));
        assert!(wrong(&["enter folder", "replace any"]).contains("name the set of files"));
        assert!(wrong(&["enter folder", "replace 3 to 1 articles"]).contains("two numbers"));
        assert!(wrong(&["delete articles"]).contains("`per_folder` files"));
        assert!(wrong(&["enter folder", "read all mail"]).contains("no `per_folder` files"));
        assert!(wrong(&["delete nails"]).contains("mail"));
        assert!(wrong(&["open", "read 2 MiB"]).contains("out of range"));
        assert!(wrong(&["dance"]).contains("unknown"));
    }
}

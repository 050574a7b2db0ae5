//! Accesses of a program to its files while it starts: the lines of [`crate::names::PAGES`].
//!
//! `file INODE PATH` lines come first. The other lines are about the thread that the last `thread
//! N` line names: `read INODE FROM END`, `map INODE FROM END`, `around INODE FROM END`, `look
//! INODE`, `starts N`, `wakes N`, `waits N` or `waits any` for a process's end, and `ends`. Threads
//! are numbered in the order in which they are started; the first is 0.

use std::fmt;

/// A line of the file. [`Display`](fmt::Display) writes it, [`Self::read`] reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageLine<'a> {
    /// A file of the program. Later lines name it by its inode.
    File { inode: u64, path: &'a str },
    /// The thread of the lines that follow.
    Thread(u32),
    /// Bytes of a file were accessed.
    Access { how: PageAccess, inode: u64, from: u64, end: u64 },
    /// A name was looked up, and nothing of its file was in memory.
    Look { inode: u64 },
    /// The thread started this one.
    Starts(u32),
    /// The thread woke this one.
    Wakes(u32),
    /// The thread waits for the end of this one, or of any that it started.
    Waits(Option<u32>),
    /// The thread ended.
    Ends,
}

/// The way in which pages of a file were accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageAccess {
    /// The pages were read by read(2).
    Read,
    /// The pages were accessed in a mapping.
    Map,
    /// The pages were accessed in a mapping while neighbouring pages were in memory.
    Around,
}

impl fmt::Display for PageLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { inode, path } => write!(f, "file {inode} {path}"),
            Self::Thread(number) => write!(f, "thread {number}"),
            Self::Access { how, inode, from, end } => {
                let how = match how {
                    PageAccess::Read => "read",
                    PageAccess::Map => "map",
                    PageAccess::Around => "around",
                };
                write!(f, "{how} {inode} {from} {end}")
            }
            Self::Look { inode } => write!(f, "look {inode}"),
            Self::Starts(thread) => write!(f, "starts {thread}"),
            Self::Wakes(thread) => write!(f, "wakes {thread}"),
            Self::Waits(None) => f.write_str("waits any"),
            Self::Waits(Some(thread)) => write!(f, "waits {thread}"),
            Self::Ends => f.write_str("ends"),
        }
    }
}

impl<'a> PageLine<'a> {
    /// Reads a line. Returns None if it is malformed.
    pub fn read(line: &'a str) -> Option<Self> {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        Some(match words[..] {
            ["file", inode, path] => Self::File { inode: inode.parse().ok()?, path },
            ["thread", number] => Self::Thread(number.parse().ok()?),
            ["look", inode] => Self::Look { inode: inode.parse().ok()? },
            ["starts", thread] => Self::Starts(thread.parse().ok()?),
            ["wakes", thread] => Self::Wakes(thread.parse().ok()?),
            ["waits", "any"] => Self::Waits(None),
            ["waits", thread] => Self::Waits(Some(thread.parse().ok()?)),
            ["ends"] => Self::Ends,
            [how, inode, range] => {
                let how = match how {
                    "read" => PageAccess::Read,
                    "map" => PageAccess::Map,
                    "around" => PageAccess::Around,
                    _ => return None,
                };
                let (from, end) = range.split_once(' ')?;
                let (from, end) = (from.parse().ok()?, end.parse().ok()?);
                Self::Access { how, inode: inode.parse().ok()?, from, end }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        for line in [
            "file 12 /usr/lib/a name",
            "thread 3",
            "read 12 0 4096",
            "map 12 4096 8192",
            "around 12 0 4096",
            "look 12",
            "starts 4",
            "wakes 0",
            "waits any",
            "waits 4",
            "ends",
        ] {
            assert_eq!(PageLine::read(line).expect(line).to_string(), line);
        }
        for line in ["", "thread", "thread x", "read 12 0", "sleeps 1", "ends now", "look"] {
            assert_eq!(PageLine::read(line), None, "{line}");
        }
    }
}

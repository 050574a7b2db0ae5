//! Files, folders and links that exist when a program starts.

use std::collections::BTreeMap;

use disklab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A file, folder or link that exists when the program starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartupEntry {
    /// Absolute path of the entry.
    pub path: String,
    pub kind: EntryKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryKind {
    File(Bytes),
    Folder,
    /// A symbolic link to this path.
    Link(String),
}

/// An access to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartupAction {
    /// Reads a part of a file.
    Read { from: u64, bytes: u64 },
    /// Touches a part of a mapped file.
    Map { from: u64, bytes: u64 },
    /// Calls stat(2).
    Look,
    /// Looks up a name that is not in the folder.
    Miss,
    /// Reads a folder.
    List,
}

/// Largest time of a start, and of the computation of one step.
pub(super) const LONGEST: Nanos = Nanos::from_secs(3600);
const LARGEST: u64 = 1 << 40;
/// Largest number of bytes of a name in a folder and of a whole path, as in Linux: NAME_MAX,
/// PATH_MAX.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4000;

impl StartupEntry {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("`{}`: {what}", text.escape_debug());
        let split = text.split_once(' ');
        let (bytes, path) = split.ok_or_else(|| wrong("expected bytes and a path"))?;
        let bytes = bytes.parse::<u64>();
        let bytes = bytes.map_err(|_| wrong("expected a number of bytes before the path"))?;
        if bytes > LARGEST {
            return Err(wrong(&format!("the file is larger than {}", Bytes(LARGEST))));
        }
        let (path, link) =
            path.split_once(" -> ").map_or((path, None), |(path, target)| (path, Some(target)));
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let inner = path.strip_prefix('/');
        let inner = inner.ok_or_else(|| wrong("expected a path that begins with /"))?;
        if !inner.strip_suffix('/').unwrap_or(inner).split('/').all(is_plain) || path.contains('\0')
        {
            return Err(wrong("expected a plain path, without . and .."));
        }
        if path.len() > LONGEST_PATH || inner.split('/').any(|part| part.len() > LONGEST_NAME) {
            return Err(wrong(&format!(
                "a path has at most {LONGEST_PATH} bytes, and a name {LONGEST_NAME}"
            )));
        }
        let kind = match link {
            Some(target) if target.is_empty() || target.contains('\0') => {
                return Err(wrong("expected the target of the link after `->`"));
            }
            Some(target) => EntryKind::Link(target.to_owned()),
            None if path.ends_with('/') => EntryKind::Folder,
            None => EntryKind::File(Bytes(bytes)),
        };
        Ok(Self { path: path.trim_end_matches('/').to_owned(), kind })
    }

    /// Returns the entry if it can be made beside the entries before it. A path may be there once,
    /// and not below a file or a link, so that every path stays on the disk. `seen` has the paths
    /// so far, and whether each is a folder, including folders that only lead to another entry.
    pub(super) fn among(self, seen: &mut BTreeMap<String, bool>) -> Result<Self, String> {
        let wrong = |what: String| Err(format!("`{}`: {what}", self.to_string().escape_debug()));
        for (end, _) in self.path.match_indices('/').skip(1) {
            let above = &self.path[..end];
            if !*seen.entry(above.to_owned()).or_insert(true) {
                return wrong(format!("`{}` is not a folder", above.escape_debug()));
            }
        }
        let is_folder = self.kind == EntryKind::Folder;
        match seen.insert(self.path.clone(), is_folder) {
            Some(was_folder) if !(was_folder && is_folder) => {
                wrong("it is listed already".to_owned())
            }
            _ => Ok(self),
        }
    }
}

impl std::fmt::Display for StartupEntry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            EntryKind::File(bytes) => write!(out, "{} {}", bytes.0, self.path),
            EntryKind::Folder => write!(out, "0 {}/", self.path),
            EntryKind::Link(target) => write!(out, "0 {} -> {target}", self.path),
        }
    }
}

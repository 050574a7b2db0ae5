//! Repairs the unfinished work that a crash left in a record, before the record is continued.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use disklab_files::remove_folder;

use crate::error::RecordError;
use crate::name;
use crate::outcome::Lines;
use crate::sync;

/// The repaired parts. Their trials run again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tidied {
    /// Bytes of a half-written line, moved from `trials.jsonl` to the end of `trials.jsonl.torn`.
    pub torn_bytes: usize,
    /// Folders below `raw` that were removed because their trial had not ended when the run did.
    pub unfinished: Vec<String>,
    /// Folders below `raw` that were removed because no line names them: the run ended between
    /// writing the folder and the line.
    pub unrecorded: Vec<String>,
}

/// Tidies a record. Only the holder of the record's lock may call it.
pub fn tidy(folder: &Path, lines: &Lines) -> Result<Tidied, RecordError> {
    cut_torn_line(folder, lines)?;
    let mut tidied = Tidied { torn_bytes: lines.torn, ..Tidied::default() };
    let recorded: BTreeSet<&str> = lines
        .outcomes
        .iter()
        .filter_map(|outcome| outcome.raw.as_deref()?.strip_prefix("raw/"))
        .collect();
    let raw = folder.join(name::RAW);
    for entry in fs::read_dir(&raw).map_err(RecordError::io("read", &raw))? {
        let entry = entry.map_err(RecordError::io("read", &raw))?;
        let is_folder = entry.file_type().map_err(RecordError::io("read", &entry.path()))?.is_dir();
        let Ok(name) = entry.file_name().into_string() else { continue };
        let list = match name.strip_prefix('.').and_then(|name| name.strip_suffix(".part")) {
            Some(trial) if name::is_fit(trial) => &mut tidied.unfinished,
            None if name::is_attempt(&name) && !recorded.contains(name.as_str()) => {
                &mut tidied.unrecorded
            }
            _ => continue,
        };
        // Other entries are not ours.
        if is_folder {
            let path = entry.path();
            remove_folder(&path).map_err(RecordError::io("remove", &path))?;
            list.push(name);
        }
    }
    tidied.unfinished.sort_unstable();
    tidied.unrecorded.sort_unstable();
    Ok(tidied)
}

/// Moves the torn line to another file before cutting it, so that a crash in between loses nothing.
fn cut_torn_line(folder: &Path, lines: &Lines) -> Result<(), RecordError> {
    if lines.torn == 0 {
        return Ok(());
    }
    let path = folder.join(name::TRIALS);
    let bytes = disklab_files::read(&path, &disklab_files::TRIALS)
        .map_err(RecordError::io("read", &path))?;
    let aside = folder.join("trials.jsonl.torn");
    keep_aside(&aside, bytes.get(lines.whole..).unwrap_or_default())
        .map_err(RecordError::io("write", &aside))?;
    let cut = OpenOptions::new().write(true).open(&path).and_then(|file| {
        file.set_len(lines.whole as u64)?;
        file.sync_all()
    });
    cut.map_err(RecordError::io("cut", &path))
}

fn keep_aside(path: &Path, torn: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(torn)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    path.parent().map_or(Ok(()), sync::folder)
}

//! Writes the folders of a record's tables.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use disklab_record::Record;

use crate::error::ExportError;
use crate::sink::{Format, Sink};
use crate::table::Table;
use crate::{owner, rows};

/// The tables that a user asked for, and their format.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub format: Format,
    /// Names of the tables.
    pub tables: &'a [&'static str],
}

/// A table that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub table: &'static str,
    pub path: PathBuf,
    pub rows: u64,
}

/// Writes the tables of a record below `to`. The tables of an earlier export of the same record are
/// replaced, each once the new one is complete. Fails if another record of the same name has tables
/// there.
pub fn export(record: &Record, to: &Path, wanted: Wanted) -> Result<Vec<Exported>, ExportError> {
    owner::claim(record, to, &own_folder(record))?;
    let tables = rows::ALL.into_iter().filter(|(name, ..)| wanted.tables.contains(name));
    tables
        .map(|(_, columns, fill)| write(record, to, &columns(record), wanted.format, fill))
        .collect()
}

fn write(
    record: &Record,
    to: &Path,
    table: &Table,
    format: Format,
    fill: rows::Fill,
) -> Result<Exported, ExportError> {
    let own = own_folder(record);
    let folder = to.join(table.name).join(&own);
    fs::create_dir_all(&folder).map_err(ExportError::io("create", &folder))?;
    let path = folder.join(format!("data.{}", format.ending()));
    // Readers of such a folder ignore hidden files.
    let part = folder.join(format!(".data.{}.{}.part", format.ending(), std::process::id()));
    let write_whole = || {
        let made = File::create(&part).map_err(ExportError::io("create", &part))?;
        let mut sink = Sink::new(table, format, made, &path)?;
        fill(record, &mut sink)?;
        let (written, rows) = sink.end()?;
        written.sync_all().map_err(ExportError::io("sync", &part))?;
        fs::rename(&part, &path).map_err(ExportError::io("rename", &part))?;
        let synced = File::open(&folder).and_then(|folder| folder.sync_all());
        synced.map_err(ExportError::io("sync", &folder))?;
        Ok(rows)
    };
    let written = write_whole();
    if written.is_err() {
        // The first error is reported. Folders that are empty now are removed.
        let _ = fs::remove_file(&part);
        for folder in folder.ancestors().take(own.iter().count() + 1) {
            let _ = fs::remove_dir(folder);
        }
    }
    Ok(Exported { table: table.name, path, rows: written? })
}

/// Returns the path of a record's partition, relative to the folder of each table.
pub fn own_folder(record: &Record) -> PathBuf {
    let own = record.folder().canonicalize().unwrap_or_else(|_| record.folder().to_owned());
    let run = own.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let suite = &record.manifest().suite.name;
    let suite = if suite.is_empty() { "none" } else { suite };
    Path::new(&format!("suite={}", escaped(suite))).join(format!("run={}", escaped(&run)))
}

/// Escapes characters that could end a name or a value, as Hive does in names of folders.
fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'+' | b',' | b'@' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

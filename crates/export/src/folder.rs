//! Where the tables of a record are, and how they come there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use disklab_record::Record;

use crate::error::ExportError;
use crate::sink::{Format, Sink};
use crate::table::Table;
use crate::{owner, rows};

/// What is wanted of records.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub format: Format,
    /// By their names.
    pub tables: &'a [&'static str],
}

/// What was written of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub table: &'static str,
    pub path: PathBuf,
    pub rows: u64,
}

/// Writes the tables of a record below `to`. Those of an earlier export of the same record are
/// replaced, each when it is whole; where there are those of another record by the same name, that
/// is an error.
pub fn export(record: &Record, to: &Path, wanted: Wanted) -> Result<Vec<Exported>, ExportError> {
    owner::claim(record, to, &own_folder(record))?;
    let tables = rows::ALL.into_iter().filter(|(table, _)| wanted.tables.contains(&table.name));
    tables.map(|(table, fill)| write(record, to, table, wanted.format, fill)).collect()
}

fn write(
    record: &Record,
    to: &Path,
    table: Table,
    format: Format,
    fill: rows::Fill,
) -> Result<Exported, ExportError> {
    let folder = to.join(table.name).join(own_folder(record));
    let error = |doing, path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| ExportError::Io { doing, path, source }
    };
    fs::create_dir_all(&folder).map_err(error("create", &folder))?;
    let path = folder.join(format!("data.{}", format.ending()));
    // No reader of such a folder takes a hidden file for data.
    let part = folder.join(format!(".data.{}.{}.part", format.ending(), std::process::id()));
    let written =
        filled(record, table, format, fill, [part.as_path(), path.as_path()]).and_then(|rows| {
            fs::rename(&part, &path).map_err(error("rename", &part))?;
            File::open(&folder)
                .and_then(|folder| folder.sync_all())
                .map_err(error("sync", &folder))?;
            Ok(rows)
        });
    if written.is_err() {
        // What failed is told. Folders go that have nothing else in them.
        let _ = fs::remove_file(&part);
        for folder in folder.ancestors().take(own_folder(record).iter().count() + 1) {
            let _ = fs::remove_dir(folder);
        }
    }
    Ok(Exported { table: table.name, path, rows: written? })
}

/// Writes a whole file beside its place, and says how many rows it has.
fn filled(
    record: &Record,
    table: Table,
    format: Format,
    fill: rows::Fill,
    [part, path]: [&Path; 2],
) -> Result<u64, ExportError> {
    let error = |doing| move |source| ExportError::Io { doing, path: part.to_owned(), source };
    let made = File::create(part).map_err(error("create"))?;
    let mut sink = Sink::new(table, format, made, path)?;
    fill(record, &mut sink)?;
    let (written, rows) = sink.end()?;
    written.sync_all().map_err(error("sync"))?;
    Ok(rows)
}

/// The folder of a record's part, in that of each table.
pub fn own_folder(record: &Record) -> PathBuf {
    let own = record.folder().canonicalize().unwrap_or_else(|_| record.folder().to_owned());
    let run = own.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let suite = &record.manifest().suite.name;
    let suite = if suite.is_empty() { "none" } else { suite };
    Path::new(&format!("suite={}", escaped(suite))).join(format!("run={}", escaped(&run)))
}

/// As Hive escapes values in names of folders: what could end a name or a value there.
fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'+' | b',' | b'@' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

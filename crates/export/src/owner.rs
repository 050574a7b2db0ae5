//! Keeps the list of records whose tables are in a folder, since two records may have the same
//! name.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use disklab_record::Record;

use crate::error::ExportError;

/// Name of the list's file, beside the tables' folders, where readers of tables do not look.
const FILE: &str = ".records.json";

/// The records by their partition in the tables' folders: the time at which each was begun, and its
/// first trial. These identify a record, also after it was copied or continued.
type Owners = BTreeMap<String, (String, String)>;

/// Notes that this partition belongs to the record. Fails if it belongs to another record.
pub fn claim(record: &Record, to: &Path, part: &Path) -> Result<(), ExportError> {
    let path = to.join(FILE);
    let mut owners: Owners = match disklab_files::read(&path, &disklab_files::SMALL) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| {
            ExportError::io("write", &path)(io::Error::other(format!(
                "the list of the tables' records in it cannot be parsed: {error}; name another \
                 folder, or remove the file"
            )))
        })?,
        Err(error) if error.kind() == ErrorKind::NotFound => Owners::new(),
        Err(error) => return Err(ExportError::io("read", &path)(error)),
    };
    let manifest = record.manifest();
    let own = (manifest.created.clone(), manifest.trials.first().cloned().unwrap_or_default());
    let part = part.display().to_string();
    match owners.get(&part) {
        Some(owner) if *owner == own => return Ok(()),
        Some((created, _)) => {
            return Err(ExportError::Another {
                record: record.folder().to_owned(),
                to: to.to_owned(),
                part,
                created: created.clone(),
            });
        }
        None => _ = owners.insert(part, own),
    }
    fs::create_dir_all(to).map_err(ExportError::io("create", to))?;
    let beside = to.join(format!("{FILE}.{}.part", std::process::id()));
    let text = serde_json::to_vec_pretty(&owners).map_err(io::Error::from);
    let written =
        text.and_then(|text| fs::write(&beside, text)).and_then(|()| fs::rename(&beside, &path));
    written.map_err(|error| {
        // The first error is reported.
        let _ = fs::remove_file(&beside);
        ExportError::io("write", &path)(error)
    })
}

//! The contents of a disk or a file.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{blkid, signature};
use crate::refusal::Why;

/// Returns the contents of a disk or a file, by our list of signatures and by blkid's.
pub(super) fn contents(file: &File, path: &Path) -> io::Result<Result<Option<String>, Why>> {
    if let Some(what) = signature::find(file)? {
        return Ok(Ok(Some(what.to_owned())));
    }
    let found = blkid::find(path)
        .map(|what| what.map(|what| format!("something that blkid knows ({what})")))
        .map_err(|why| {
            Why::Unknown(format!("{why}, so that what it holds is not known; mend that first"))
        });
    Ok(found)
}

//! The file that lists the disks which may be written, and so be destroyed. A user names a disk
//! twice before disklab writes it: first in this file, then on the command line.

mod lines;
mod trust;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use disklab_config::read::{TomlReader, TomlTable};
use disklab_units::Bytes;

use crate::disk::{Disk, number_of};
use crate::error::Error;
use crate::refusal::Why;

use lines::NONE;
pub use lines::lines;

/// The contents of an allow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    /// Path of the file, whether or not the file exists.
    pub file: PathBuf,
    entries: Vec<AllowedDevice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedDevice {
    path: PathBuf,
    serial: String,
    /// Size of the disk. It may be left out if the disk has a serial.
    bytes: Option<Bytes>,
}

impl Allow {
    /// Reads the file that was named, which must exist. If none was named, reads the user's file;
    /// if that does not exist, the list is empty.
    pub fn load(named: Option<&Path>) -> Result<Self, Error> {
        let Some(file) = named else {
            let file = usual(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME"))?;
            return match Self::read(&file) {
                Err(Error::Allow { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    Ok(Self { file, entries: Vec::new() })
                }
                other => other,
            };
        };
        Self::read(file)
    }

    fn read(file: &Path) -> Result<Self, Error> {
        let text = trust::read(file)?;
        Self::parse(file, &text)
    }

    fn parse(file: &Path, text: &str) -> Result<Self, Error> {
        let entries = TomlReader::new(&file.display().to_string(), text).read(|top| {
            let read: Vec<Option<AllowedDevice>> = top.tables("device").iter().map(entry).collect();
            read.into_iter().collect::<Option<Vec<AllowedDevice>>>()
        })?;
        Ok(Self { file: file.to_owned(), entries })
    }

    /// Checks that the disk is listed: by a path that leads to it now, and by its serial.
    pub fn permits(&self, disk: &Disk) -> Result<(), Why> {
        self.permits_by(disk, |path| number_of(path).ok())
    }

    fn permits_by(
        &self,
        disk: &Disk,
        behind: impl Fn(&Path) -> Option<(u32, u32)>,
    ) -> Result<(), Why> {
        let mut why = Why::NotAllowed { file: self.file.clone() };
        let serial = disk.serial.as_deref().unwrap_or(NONE);
        for entry in self.entries.iter().filter(|entry| behind(&entry.path) == Some(disk.number)) {
            let (file, path) = (self.file.clone(), entry.path.clone());
            why = if entry.serial != serial {
                let (given, found) = (entry.serial.clone(), serial.to_owned());
                Why::WrongSerial { file, path, given, found }
            } else if let Some(given) = entry.bytes.filter(|&given| given != disk.bytes) {
                Why::WrongSize { file, path, given, found: disk.bytes }
            } else {
                return Ok(());
            };
        }
        Err(why)
    }
}

fn entry(table: &TomlTable<'_, '_>) -> Option<AllowedDevice> {
    let path: Option<String> = table.required("path");
    let serial: Option<String> = table.required("serial");
    let bytes: Option<Bytes> = table.optional("size");
    // A note for people.
    let _: Option<String> = table.optional("note");
    if path.as_ref().is_some_and(|path| !Path::new(path).is_absolute()) {
        table.wrong("path", "it must begin with `/`, as in \"/dev/disk/by-id/...\"");
        return None;
    }
    if serial.as_ref().is_some_and(|serial| serial.trim().is_empty()) {
        table.wrong("serial", "it is empty; a disk that has none needs \"none\", and its `size`");
        return None;
    }
    if serial.as_deref() == Some(NONE) && !table.has("size") {
        table.wrong(
            "serial",
            "without a serial, the disk is identified by its exact `size`; give both",
        );
        return None;
    }
    Some(AllowedDevice { path: path?.into(), serial: serial?, bytes })
}

/// Returns the path of the user's file. Relative paths in the environment are ignored, as the XDG
/// Base Directory Specification demands.
fn usual(config: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, Error> {
    let absolute =
        |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute(config)
        .or_else(|| Some(absolute(home)?.join(".config")))
        .ok_or(Error::NoConfig)?;
    Ok(folder.join("disklab/devices.toml"))
}

#[cfg(test)]
mod tests;

//! Settings, mounts and test files, which actions and phases both have.

use crate::places::Side;
use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

/// A value to write to a file of sysfs, and how to see that it took effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// A `*` may stand for a folder's name where only one fits (a filesystem's UUID).
    pub path: String,
    pub value: String,
    /// The file lists all choices with the active one in brackets; otherwise it holds just the
    /// value.
    pub choice: bool,
}

/// A mount(2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub on: Side,
    pub source: String,
    pub filesystem: String,
    /// Options as in mount(8)'s `-o`, without those that mount(2) takes as flags.
    pub data: String,
    pub noatime: bool,
}

/// A file of zeroes: holes on the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroFile {
    pub name: String,
    pub bytes: Bytes,
}

//! Settings, mounts and test files that both actions and phases use.

use crate::places::Side;
use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

/// A value to write to a file of sysfs, and the way to check that it took effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Path of the file. A `*` may stand for a folder's name if only one fits (a filesystem's
    /// UUID).
    pub path: String,
    pub value: String,
    /// Whether the file lists all choices with the active one in brackets. Otherwise it holds just
    /// the value.
    pub choice: bool,
}

/// A call of mount(2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub on: Side,
    pub source: String,
    pub filesystem: String,
    /// Options as for `-o` of mount(8), without those that mount(2) takes as flags.
    pub data: String,
    pub noatime: bool,
}

/// A file of zeroes, which is a sparse file on the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroFile {
    pub name: String,
    pub bytes: Bytes,
}

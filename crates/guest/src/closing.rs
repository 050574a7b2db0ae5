//! The closing record: what was counted of a trial's disks, and proof that it is whole.
//! `results::closing` reads it.

use crate::power_cut::Cut;
use disklab_protocol::names;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;

pub const SCHEMA: u32 = 1;

/// What is written when a guest powers off, or when disks of this machine are watched no more. `P`
/// is a phase.
#[derive(Debug, Serialize)]
pub struct Closing<'a, P> {
    pub schema: u32,
    /// False if something went wrong on the host's side: `fault` says what.
    pub complete: bool,
    pub fault: Option<&'a str>,
    pub virtual_ns: u64,
    pub requests: u64,
    /// The lab's names, in the order of the devices of each phase.
    pub devices: Vec<&'a str>,
    pub phases: &'a [P],
    pub trace_sha256: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub power_cuts: &'a [Cut],
}

impl<P: Serialize> Closing<'_, P> {
    /// Writes it, whole or not at all.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        let sum = hex(&Sha256::digest(&text));
        text.extend_from_slice(format!("\nsha256 {sum}\n").as_bytes());
        let path = folder.join(names::CLOSING);
        let part = path.with_extension("part");
        std::fs::write(&part, text)?;
        std::fs::rename(part, path)
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

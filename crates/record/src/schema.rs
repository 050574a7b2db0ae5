//! The version number with which manifests and lines begin.

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Versioned {
    schema: u32,
}

impl Versioned {
    /// Refuses any other version than `known`.
    pub fn check(&self, known: u32) -> Result<(), String> {
        if self.schema == known {
            return Ok(());
        }
        Err(format!("its schema is {}; this disklab reads {known}", self.schema))
    }
}

//! The version number at the beginning of manifests and lines.

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Versioned {
    pub schema: u32,
}

impl Versioned {
    /// Refuses all versions except 1 to `newest`.
    pub fn check(&self, newest: u32) -> Result<(), String> {
        if (1..=newest).contains(&self.schema) {
            return Ok(());
        }
        let known = if newest == 1 { "1".to_owned() } else { format!("1 to {newest}") };
        Err(format!("its schema is {}; this disklab reads {known}", self.schema))
    }
}

//! A record of some of a suite's trials, to be merged with records of the others.

use serde::{Deserialize, Serialize};

/// The trials of a suite that a record is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Number of trials in the suite.
    pub of: u32,
    /// The place of each of the record's trials in the suite, from 0, in rising order.
    pub at: Vec<u32>,
}

impl Part {
    /// Checks that the part has `trials` places, in rising order and all in the suite.
    pub(crate) fn check(&self, trials: usize) -> Result<(), String> {
        if self.at.len() != trials {
            return Err(format!(
                "part.at: {} places are not those of {trials} trials",
                self.at.len()
            ));
        }
        if !self.at.is_sorted_by(|one, next| one < next) {
            return Err("part.at: places do not rise".to_owned());
        }
        match self.at.last() {
            Some(last) if *last >= self.of => {
                Err(format!("part.at: there is no place {last} among {} trials", self.of))
            }
            _ => Ok(()),
        }
    }
}

//! A record of some of a suite's trials, to be merged with those of the others.

use serde::{Deserialize, Serialize};

/// Which of a suite's trials a record is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How many the suite asks for.
    pub of: u32,
    /// The place of each of the record's trials among them, from 0, in rising order.
    pub at: Vec<u32>,
}

impl Part {
    /// Whether it can be the part that so many trials are.
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

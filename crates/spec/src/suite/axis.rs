use crate::policy::Wanted;
use crate::read::{Located, Mistake, choices};
use crate::scheduler::Scheduler;

choices! {
    /// What a suite can vary.
    pub enum Axis: "axis" {
        Array = "array",
        Workload = "workload",
        Policy = "policy",
        Scheduler = "scheduler",
        Kernel = "kernel",
    }
}

/// An axis of a suite and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    pub axis: Axis,
    /// At least one, each once, spelled as in [`Axis::canonical`].
    pub values: Vec<Located<String>>,
    /// Named at the top of the file with one value: the same for all trials, and not part of their cells.
    pub fixed: bool,
}

impl Axis {
    /// The spelling of a value as far as it can be told without a lab. Whether the value exists is not asked.
    pub fn canonical(self, text: &str) -> Result<String, String> {
        match self {
            Self::Policy => Ok(text.parse::<Wanted>()?.to_string()),
            Self::Scheduler => Ok(text.parse::<Scheduler>()?.to_string()),
            Self::Array | Self::Workload | Self::Kernel => Ok(text.to_owned()),
        }
    }

    /// Makes the spelling of `values` canonical, and finds those that are wrong or there twice.
    pub(super) fn values(self, values: Vec<Located<String>>) -> (Vec<Located<String>>, Vec<Mistake>) {
        let mut good: Vec<Located<String>> = Vec::new();
        let mut mistakes = Vec::new();
        for Located { value, place } in values {
            match self.canonical(&value) {
                Err(message) => mistakes.push(place.mistake(message)),
                Ok(value) if good.iter().any(|known| known.value == value) => {
                    mistakes.push(place.mistake(format!("`{value}` is there twice")));
                }
                Ok(value) => good.push(Located { value, place }),
            }
        }
        (good, mistakes)
    }
}

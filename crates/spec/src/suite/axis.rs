use std::ops::RangeInclusive;

use crate::policy::Wanted;
use crate::read::{Located, Mistake, Table, choices};
use crate::scheduler::SchedulerChoice;

choices! {
    /// What a suite can vary.
    pub enum Axis: "axis" {
        Array = "array",
        Workload = "workload",
        Jobs = "jobs",
        Background = "background",
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

/// fio jobs, of a workload or in a suite.
pub const JOBS: RangeInclusive<u32> = 1..=256;

impl Axis {
    /// The values under the axis's name in a table, which are numbers for `jobs`.
    pub(super) fn list(self, table: &Table<'_, '_>) -> Vec<Located<String>> {
        match self {
            Self::Jobs => table.required_list::<u32>(self.as_str()).into_iter().map(spelled).collect(),
            _ => table.required_list(self.as_str()),
        }
    }

    /// The one value under the axis's name in a table.
    pub(super) fn single(self, table: &Table<'_, '_>) -> Option<Located<String>> {
        match self {
            Self::Jobs => table.located::<u32>(self.as_str()).map(spelled),
            _ => table.located(self.as_str()),
        }
    }

    /// The spelling of a value as far as it can be told without a lab. Whether the value exists is not asked.
    pub fn canonical(self, text: &str) -> Result<String, String> {
        match self {
            Self::Policy => Ok(text.parse::<Wanted>()?.to_string()),
            Self::Scheduler => Ok(text.parse::<SchedulerChoice>()?.to_string()),
            Self::Jobs => match text.parse() {
                Ok(jobs) if JOBS.contains(&jobs) => Ok(jobs.to_string()),
                Ok(jobs) => {
                    Err(format!("{jobs} is not sensible: from {} to {} is", JOBS.start(), JOBS.end()))
                }
                Err(_) => Err(format!("expected a whole number, found `{}`", text.escape_debug())),
            },
            Self::Array | Self::Workload | Self::Background | Self::Kernel => Ok(text.to_owned()),
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

fn spelled(number: Located<u32>) -> Located<String> {
    Located { value: number.value.to_string(), place: number.place }
}

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::policy::Wanted;
use crate::read::{Located, Mistake, Table, choices};
use crate::scheduler::SchedulerChoice;
use crate::suite::sweep::{self, Parameter};

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

/// What a suite varies: something that it names, or a number of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    Named(Axis),
    Parameter(Parameter),
}

/// An axis of a suite and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    pub axis: Which,
    /// At least one, each once but for samples of several axes, spelled as in [`Axis::canonical`].
    pub values: Vec<Located<String>>,
    /// Named at the top of the file with one value: the same for all trials, and not part of their
    /// cells.
    pub fixed: bool,
    /// It is not crossed with the axis before it: its first value goes with the first of that, and
    /// so on.
    pub along: bool,
}

impl PartialEq<Axis> for Which {
    fn eq(&self, other: &Axis) -> bool {
        matches!(self, Self::Named(axis) if axis == other)
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(axis) => axis.fmt(f),
            Self::Parameter(parameter) => parameter.fmt(f),
        }
    }
}

/// An axis's own word goes before a parameter's name.
impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<Axis>() {
            Ok(axis) => Ok(Self::Named(axis)),
            Err(_) if text.contains('.') || Parameter::PLAIN.contains(&text) => {
                text.parse().map(Self::Parameter)
            }
            Err(message) if message.contains("did you mean") => Err(message),
            Err(message) => Err(format!(
                "{message}; over numbers: {}, device.KEY, disk.2.KEY, policy.KEY, ...",
                Parameter::PLAIN.join(", ")
            )),
        }
    }
}

impl Which {
    /// Makes the spelling of `values` canonical, and finds those that are wrong or there twice.
    pub(super) fn values(
        &self,
        values: Vec<Located<String>>,
    ) -> (Vec<Located<String>>, Vec<Mistake>) {
        match self {
            Self::Named(axis) => axis.values(values),
            Self::Parameter(_) => sweep::check_values(values),
        }
    }
}

/// fio jobs, of a workload or in a suite.
pub const JOBS: RangeInclusive<u32> = 1..=256;

impl Axis {
    /// The values under the axis's name in a table, which are numbers for `jobs`.
    pub(super) fn list(self, table: &Table<'_, '_>) -> Vec<Located<String>> {
        match self {
            Self::Jobs if table.is_table(self.as_str()) => {
                sweep::read_steps(table, self.as_str(), true)
            }
            Self::Jobs => {
                table.required_list::<u32>(self.as_str()).into_iter().map(spelled).collect()
            }
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

    /// The spelling of a value as far as it can be told without a lab. Whether the value exists is
    /// not asked.
    pub fn canonical(self, text: &str) -> Result<String, String> {
        match self {
            Self::Policy => Ok(text.parse::<Wanted>()?.to_string()),
            Self::Scheduler => Ok(text.parse::<SchedulerChoice>()?.to_string()),
            Self::Jobs => match text.parse() {
                Ok(jobs) if JOBS.contains(&jobs) => Ok(jobs.to_string()),
                Ok(jobs) => Err(format!(
                    "{jobs} is not sensible: from {} to {} is",
                    JOBS.start(),
                    JOBS.end()
                )),
                Err(_) => Err(format!("expected a whole number, found `{}`", text.escape_debug())),
            },
            Self::Array | Self::Workload | Self::Background | Self::Kernel => Ok(text.to_owned()),
        }
    }

    /// Makes the spelling of `values` canonical, and finds those that are wrong or there twice.
    pub(super) fn values(
        self,
        values: Vec<Located<String>>,
    ) -> (Vec<Located<String>>, Vec<Mistake>) {
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

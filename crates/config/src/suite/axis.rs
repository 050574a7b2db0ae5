use std::fmt;
use std::str::FromStr;

use crate::job::JOBS;
use crate::policy::WantedPolicy;
use crate::read::{Diagnostic, Located, TomlTable, choices, in_range};
use crate::scheduler::SchedulerChoice;
use crate::suite::sweep::{self, SweptParameter};

choices! {
    /// An axis whose values are names of the lab, or numbers of jobs.
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

/// An axis of a suite: a named thing, or a number of a named thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuiteAxis {
    Named(Axis),
    Parameter(SweptParameter),
}

/// An axis of a suite and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisValues {
    pub axis: SuiteAxis,
    /// The values, at least one, spelled as in [`Axis::canonical`]. Each is there once, except in
    /// samples of several axes.
    pub values: Vec<Located<String>>,
    /// Whether the axis stands at the top of the file with one value. All trials have this value,
    /// and their cells do not contain it.
    pub fixed: bool,
    /// Whether the axis varies together with the axis before it instead of being crossed with it:
    /// its first value belongs to the first value of that axis, and so on.
    pub along: bool,
}

impl AxisValues {
    /// Returns an axis over a parameter.
    pub(super) fn swept(
        parameter: SweptParameter,
        values: Vec<Located<String>>,
        along: bool,
    ) -> Self {
        Self { axis: SuiteAxis::Parameter(parameter), values, fixed: false, along }
    }
}

impl PartialEq<Axis> for SuiteAxis {
    fn eq(&self, other: &Axis) -> bool {
        matches!(self, Self::Named(axis) if axis == other)
    }
}

impl fmt::Display for SuiteAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(axis) => axis.fmt(f),
            Self::Parameter(parameter) => parameter.fmt(f),
        }
    }
}

/// Parses an axis. A word of [`Axis`] takes precedence over the name of a parameter.
impl FromStr for SuiteAxis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<Axis>() {
            Ok(axis) => Ok(Self::Named(axis)),
            Err(_) if text.contains('.') || SweptParameter::PLAIN.contains(&text) => {
                text.parse().map(Self::Parameter)
            }
            Err(message) if message.contains("did you mean") => Err(message),
            Err(message) => Err(format!(
                "{message}; over numbers: {}, device.KEY, disk.2.KEY, policy.KEY, ...",
                SweptParameter::PLAIN.join(", ")
            )),
        }
    }
}

impl SuiteAxis {
    /// Makes the spelling of `values` canonical, and finds those that are wrong or there twice.
    pub(super) fn values(
        &self,
        values: Vec<Located<String>>,
    ) -> (Vec<Located<String>>, Vec<Diagnostic>) {
        match self {
            Self::Named(axis) => sweep::each_once(values, |value| axis.canonical(value)),
            Self::Parameter(parameter) => {
                sweep::each_once(values, |value| parameter.canonical(value))
            }
        }
    }
}

impl Axis {
    /// Reads the list of values under the axis's name in a table. For `jobs` the values are
    /// numbers.
    pub(super) fn list(self, table: &TomlTable<'_, '_>) -> Vec<Located<String>> {
        let key = self.as_str();
        match self {
            Self::Jobs if table.is_table(key) => sweep::read_steps(table, key, true),
            Self::Jobs => table.required_list::<u32>(key).into_iter().map(spelled).collect(),
            _ => table.required_list(key),
        }
    }

    /// Reads the one value under the axis's name in a table.
    pub(super) fn single(self, table: &TomlTable<'_, '_>) -> Option<Located<String>> {
        match self {
            Self::Jobs => table.located::<u32>(self.as_str()).map(spelled),
            _ => table.located(self.as_str()),
        }
    }

    /// Returns the canonical spelling of a value, as far as it is known without a lab. This does
    /// not check that the value exists.
    pub fn canonical(self, text: &str) -> Result<String, String> {
        match self {
            Self::Policy => Ok(text.parse::<WantedPolicy>()?.to_string()),
            Self::Scheduler => Ok(text.parse::<SchedulerChoice>()?.to_string()),
            Self::Jobs => match text.parse() {
                Ok(jobs) => in_range(&jobs, &JOBS).map(|()| jobs.to_string()),
                Err(_) => Err(format!("expected a whole number, found `{}`", text.escape_debug())),
            },
            Self::Array | Self::Workload | Self::Background | Self::Kernel => Ok(text.to_owned()),
        }
    }
}

fn spelled(number: Located<u32>) -> Located<String> {
    Located { value: number.value.to_string(), place: number.place }
}

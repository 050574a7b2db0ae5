//! A suite, with what the command line changed in it, and the trials that come of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use disklab_spec::suite::{Axis, Metadata, SEEDS_SETTING, Seeds};
use disklab_spec::{Lab, Suite, Trial};
use disklab_store::manifest;

use crate::exit::Failure;
use crate::limits;

/// What the command line may change in a suite.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct Overrides {
    /// Replace the values of an axis (array, workload, background, jobs, policy, scheduler, kernel). Can be repeated.
    #[arg(long, value_name = "AXIS=VALUE,...")]
    set: Vec<Setting>,

    /// Trials of each cell, each with a seed of its own: 5 are the first five seeds, 6-10 others.
    #[arg(long, value_name = "N")]
    seeds: Option<Seeds>,
}

#[derive(Debug, Clone)]
struct Setting {
    axis: String,
    values: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (axis, values) =
            text.split_once('=').ok_or("write it as axis=value,..., such as policy=pid,devid")?;
        let is_axis = |value: &&str| {
            let name = value.split_once('=').map_or("", |(name, _)| name.trim());
            Axis::ALL.iter().any(|axis| axis.as_str() == name)
        };
        if let Some(other) = values.split(',').find(is_axis) {
            return Err(format!("one axis at a time: --set {axis}=... --set {other}"));
        }
        Ok(Self { axis: axis.trim().to_owned(), values: values.to_owned() })
    }
}

impl Overrides {
    /// With so many seeds where the command line does not say how many.
    pub fn with_seeds(&self, seeds: Option<Seeds>) -> Self {
        Self { seeds: self.seeds.or(seeds), ..self.clone() }
    }

    /// As a record keeps them.
    fn listed(&self) -> Vec<String> {
        let set = self.set.iter().map(|Setting { axis, values }| format!("{axis}={values}"));
        set.chain(self.seeds.map(|seeds| format!("{SEEDS_SETTING}={seeds}"))).collect()
    }
}

#[derive(Debug)]
pub struct Question {
    pub suite: Suite,
    /// Of the suite's file.
    pub text: String,
    /// What was changed in it, `policy=pid,devid` each.
    pub set: Vec<String>,
    pub trials: Vec<Trial>,
}

impl Question {
    /// A suite by its name in the lab or by its path.
    pub fn ask(lab: &Lab, name_or_path: &str, overrides: &Overrides) -> Result<Self, Failure> {
        // It is read twice because only the lab knows where suites are and what to say of one that is not there.
        let name = lab.suite(name_or_path)?.name;
        let path = lab.suites.get(name_or_path).cloned().unwrap_or_else(|| PathBuf::from(name_or_path));
        let text = fs::read_to_string(&path)
            .map_err(|error| Failure::mistaken(format!("{}: cannot be read: {error}", path.display())))?;
        Self::of_text(lab, &name, &path.display().to_string(), text, overrides.listed())
    }

    /// The one that a record was begun with.
    pub fn recorded(lab: &Lab, folder: &Path, suite: &manifest::Suite) -> Result<Self, Failure> {
        let file = format!("{} (its copy of the suite)", folder.join("manifest.toml").display());
        Self::of_text(lab, &suite.name, &file, suite.text().to_owned(), suite.set.clone())
    }

    fn of_text(lab: &Lab, name: &str, file: &str, text: String, set: Vec<String>) -> Result<Self, Failure> {
        let suite = Suite::of_text(name, file, &text, &set)?;
        limits::check_memory(file, suite.memory)?;
        let trials = suite.trials(lab)?;
        Ok(Self { suite, text, set, trials })
    }
}

impl Question {
    /// What the suite says and some of its trials cannot do; they run without it.
    pub fn remarks(&self) -> Vec<String> {
        let bare =
            |trial: &&Trial| trial.metadata == Metadata::Warm && trial.array.join.filesystem().is_none();
        let bare: BTreeSet<&str> =
            self.trials.iter().filter(bare).map(|trial| trial.array.name.as_str()).collect();
        let remark = |array| {
            format!(
                "metadata = \"warm\" does nothing on {array}: a bare device has no filesystem and no metadata"
            )
        };
        bare.into_iter().map(remark).collect()
    }
}

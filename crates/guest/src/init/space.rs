//! Reports how full the mounted filesystems are.

use super::perform::{Perform, Session};
use super::program::{Words, prepare};
use super::steps::Failure;
use crate::site::Site;
use disklab_protocol::action::{ReportSpace, SpaceOf};
use disklab_protocol::shell;
use disklab_protocol::step::{SpaceUsed, Step};

/// Name of the step in failures and of the program's output.
const STEP: &str = "space";

impl Perform for ReportSpace {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        let asked = self.replica.iter().chain([&self.pool]);
        let datasets = asked.filter_map(|space| match space {
            SpaceOf::Folder(_) => None,
            SpaceOf::Dataset(dataset) => Some(shell::command(&used_of_dataset(dataset))),
        });
        datasets.collect()
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let replica = self.replica.as_ref().map(used).transpose()?;
        let used = SpaceUsed { when: self.when, pool: used(&self.pool)?, replica };
        session.steps.say(&Step::Space { used });
        Ok(())
    }
}

fn used_of_dataset(dataset: &str) -> [String; 8] {
    ["zfs", "get", "-H", "-p", "-o", "value", "used", dataset].map(str::to_owned)
}

fn used(space: &SpaceOf) -> Result<u64, Failure> {
    let dataset = match space {
        SpaceOf::Dataset(dataset) => dataset,
        SpaceOf::Folder(folder) => {
            let stat = rustix::fs::statvfs(folder)
                .map_err(|e| format!("{STEP}: reading the free space of {folder}: {e}"))?;
            return Ok((stat.f_blocks - stat.f_bfree) * stat.f_frsize);
        }
    };
    let command = used_of_dataset(dataset);
    let (text, words) = (command.join(" "), Words::create(STEP)?);
    let status =
        prepare(&command, STEP, &words)?.status().map_err(|e| format!("{STEP}: `{text}`: {e}"))?;
    let said = words.read()?;
    said.parse()
        .map_err(|_| format!("{STEP}: `{text}` ({status}): expected a number, found {said:?}"))
}

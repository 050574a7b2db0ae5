//! One trial on this machine, from its plan to what became of it.

use super::{Host, account, disturbance, first, noted, plan, prepared};
use crate::error::{Error, Result};
use crate::evidence;
use crate::executor::Events;
use crate::guest::End;
use crate::prepared::write_json;
use crate::run::Event;
use crate::trial::{conclude, limit};
use disklab_block_devices::Journal;
use disklab_block_devices::environment::{self, Environment};
use disklab_config::Trial;
use disklab_guest::real_machine::RealMachine;
use disklab_protocol::names;
use disklab_record::{Outcome, Status};
use disklab_results::Remark;
use disklab_units::Nanos;
use rustix::process::geteuid;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Of a trial.
#[derive(Serialize)]
struct Surroundings {
    before: Environment,
    after: Environment,
}

impl Host {
    /// Carries it out in `folder`, where its raw output stays. An error is this machine's; a
    /// trial's own failure is an outcome.
    pub(super) fn measure(
        &self,
        trial: &Trial,
        at: Option<&Path>,
        folder: &Path,
        record: &Path,
        events: Events,
    ) -> Result<Outcome> {
        let started = Instant::now();
        let disks = self.place.disks();
        // It asks the disks themselves: not between their rest and what is measured.
        let before = Environment::look(disks);
        let rested = environment::rest(disks, Duration::from_nanos(self.rest.0), self.stop);
        let rested = rested.map_err(Error::io("look at the disks of", folder))?;
        let journal = Journal::create(&self.state, record)?;
        let noted = journal.path().to_owned();
        let machine = self.machine(journal.path(), None, at.map(Path::to_owned));
        let plan = plan::measuring(trial, &machine, self.warm_up);
        let warm_up = plan::warm_up(trial, self.warm_up).map_or(0, |warm_up| warm_up.limit_ns);
        let limit = limit(trial, &self.timeouts) + Nanos(warm_up);
        let written = write_json(&folder.join(names::PLAN), &plan)
            .and_then(|()| write_json(&folder.join(names::HOST), &machine));
        let ran = written.and_then(|()| {
            let moved = &mut |now| {
                events(Event::Moved { trial, now, measured: evidence::has_marked(folder) });
            };
            first::run(&self.program, folder, limit, self.stop, moved)
        });
        // With the trial's settings, which the undo takes away.
        let after = Environment::look(disks);
        // Before anything else can go wrong.
        let undone = journal.undo(&mut |news| events(Event::Undoing { news }))?;
        if !undone {
            // The next trial would begin on what this one left.
            return Err(Error::NotUndone { journal: noted });
        }
        let end = ran?;
        write_json(&folder.join(names::SURROUNDINGS), &Surroundings { before, after })?;
        let names: Vec<&str> = trial.devices.iter().map(|device| device.name.as_str()).collect();
        let accounted = match end {
            End::Exited(_) => account::write(
                folder,
                &names,
                prepared::nothing_of_it_writes(trial, &self.place),
                prepared::its_programs_read(trial),
            ),
            _ => Ok(Vec::new()),
        };
        let untraced = (self.trace && !geteuid().is_root())
            .then(|| Remark::NoTrace { why: "only root may trace".to_owned() });
        let noted =
            disturbance::at_rest(&rested).into_iter().chain(untraced).chain(noted::remarks(folder));
        let accounted = accounted.map(|remarks| remarks.into_iter().chain(noted).collect());
        let mut outcome = conclude(trial, folder, &end, evidence::Who::First, accounted, self.stop);
        if let Some((_, reason)) =
            noted::lacking(folder).filter(|_| outcome.status == Status::Failed)
        {
            (outcome.status, outcome.reason) = (Status::Skipped, Some(reason));
        }
        outcome.wall_ms = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        Ok(outcome)
    }

    /// The place of its plans on this machine; with `overwrite` where something is made.
    pub(super) fn machine(
        &self,
        journal: &Path,
        overwrite: Option<Vec<PathBuf>>,
        at: Option<PathBuf>,
    ) -> RealMachine {
        RealMachine {
            disks: self.place.disks().to_vec(),
            name: self.name.clone(),
            // Only root may trace.
            trace: self.trace && geteuid().is_root(),
            journal: journal.to_owned(),
            // What is below a filesystem of the user's is in use.
            overwrite: overwrite.filter(|_| at.is_none()),
            at,
        }
    }
}

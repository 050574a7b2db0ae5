//! One trial on this machine, from its plan to what became of it.

use super::{Host, account, first, plan};
use crate::error::Result;
use crate::executor::Events;
use crate::guest::End;
use crate::prepared::write_json;
use crate::run::Event;
use crate::trial::{conclude, limit};
use crate::evidence;
use disklab_guest::names;
use disklab_guest::plan as guest;
use disklab_host::Journal;
use disklab_spec::Trial;
use disklab_store::Outcome;
use std::path::{Path, PathBuf};
use std::time::Instant;

impl Host {
    /// Carries it out in `folder`, where its raw output stays. An error is this machine's; a trial's own failure is an outcome.
    pub(super) fn measure(
        &self,
        trial: &Trial,
        at: Option<&Path>,
        folder: &Path,
        record: &Path,
        events: Events,
    ) -> Result<Outcome> {
        let started = Instant::now();
        let journal = Journal::create(&self.state, record)?;
        let own = self.of_plan(journal.path(), trial.places.uuid.clone(), at.map(Path::to_owned));
        let ran = write_json(&folder.join(names::PLAN), &plan::measuring(trial, own)).and_then(|()| {
            let moved = &mut |now| events(Event::Moved { trial, now, measured: evidence::has_marked(folder) });
            first::run(&self.program, folder, limit(trial, &self.patience), self.stop, moved)
        });
        // Before anything else can go wrong.
        let undone = journal.undo(&mut |undone| events(Event::Undone { undone }))?;
        let end = ran?;
        let accounted = match end {
            End::Exited(_) => account::write(folder, trial, self.place.disks()),
            _ => Ok(Vec::new()),
        };
        let mut outcome = conclude(trial, folder, &end, evidence::Who::First, accounted, self.stop);
        if !undone {
            outcome.reason.get_or_insert_with(|| "what it changed could not all be undone: see disklab clean".to_owned());
        }
        outcome.wall_ms = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        Ok(outcome)
    }

    /// What its plans have besides.
    pub(super) fn of_plan(&self, journal: &Path, uuid: Option<String>, at: Option<PathBuf>) -> guest::Host {
        guest::Host {
            disks: self.place.disks().to_vec(),
            trace: self.trace,
            journal: journal.to_owned(),
            uuid,
            at,
            contents: plan::contents(),
            rest_ns: self.rest.0,
        }
    }
}

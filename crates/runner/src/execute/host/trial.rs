//! Runs one trial on this machine, from its plan to its outcome.

use super::first;
use super::settings::Host;
use crate::describe::host::place::{its_programs_read, nothing_of_it_writes};
use crate::describe::host::plan;
use crate::error::{Error, Result};
use crate::execute::executor::{Event, Events};
use crate::execute::prepared::write_json;
use crate::execute::trial::limit;
use crate::interpret::end::End;
use crate::interpret::evidence::{self, Who};
use crate::interpret::fault;
use crate::interpret::host::{account, disturbance, noted};
use crate::interpret::outcome::{outcome, results};
use disklab_block_devices::Journal;
use disklab_block_devices::environment::{self, Environment};
use disklab_config::Trial;
use disklab_protocol::names;
use disklab_record::{Outcome, Status};
use disklab_results::Remark;
use disklab_units::Nanos;
use rustix::process::geteuid;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// State of the machine before and after a trial.
#[derive(Serialize)]
struct Surroundings {
    before: Environment,
    after: Environment,
}

/// Runs a trial in `folder`, where its raw output stays. An error concerns this machine; a failure
/// of the trial is an outcome.
pub fn measure(
    host: &Host,
    trial: &Trial,
    at: Option<&Path>,
    folder: &Path,
    record: &Path,
    events: Events,
) -> Result<Outcome> {
    let started = Instant::now();
    let disks = host.place.disks();
    // This queries the disks themselves, and must not come between their rest and the measurement.
    let before = Environment::look(disks);
    let rested = environment::rest(disks, Duration::from_nanos(host.rest.0), host.stop);
    let rested = rested.map_err(Error::io("look at the disks of", folder))?;
    let journal = Journal::create(&host.state, record)?;
    let noted = journal.path().to_owned();
    let machine = host.machine(journal.path(), None, at.map(Path::to_owned));
    let plan = plan::measuring(trial, &machine, host.warm_up);
    let warm_up = plan::warm_up(trial, host.warm_up).map_or(0, |warm_up| warm_up.limit_ns);
    let limit = limit(trial, &host.timeouts) + Nanos(warm_up);
    let written = write_json(&folder.join(names::PLAN), &plan)
        .and_then(|()| write_json(&folder.join(names::HOST), &machine));
    let ran = written.and_then(|()| {
        let moved = &mut |now| {
            events(Event::Moved { trial, now, measured: evidence::has_marked(folder) });
        };
        first::run(&host.program, folder, limit, host.stop, moved)
    });
    // The state still has the trial's settings, which undoing removes.
    let after = Environment::look(disks);
    // The changes are undone before anything else can fail.
    let undone = journal.undo(&mut |news| events(Event::Undoing { news }))?;
    if !undone {
        // The next trial would begin on the remains of this one.
        return Err(Error::NotUndone { journal: noted });
    }
    let end = ran?;
    write_json(&folder.join(names::SURROUNDINGS), &Surroundings { before, after })?;
    let names: Vec<&str> = trial.devices.iter().map(|device| device.name.as_str()).collect();
    let accounted = match end {
        End::Exited(_) => account::write(
            folder,
            &names,
            nothing_of_it_writes(trial, &host.place),
            its_programs_read(trial),
        ),
        _ => Ok(Vec::new()),
    };
    let untraced = (host.trace && !geteuid().is_root())
        .then(|| Remark::NoTrace { why: "only root may trace".to_owned() });
    let noted =
        disturbance::at_rest(&rested).into_iter().chain(untraced).chain(noted::remarks(folder));
    let results = results(trial, folder, &end, Who::First).and_then(|mut results| {
        results.remarks.extend(accounted?.into_iter().chain(noted));
        Ok(results)
    });
    let mut outcome = outcome(trial, folder, &end, results, host.stop);
    if let Some((_, reason)) = noted::lacking(folder).filter(|_| outcome.status == Status::Failed) {
        (outcome.status, outcome.reason) = (Status::Skipped, Some(reason));
    }
    if outcome.status == Status::Failed {
        if fault::has_no_room(folder) {
            let (what, reason) = (trial.id.clone(), outcome.reason.unwrap_or_default());
            return Err(Error::Full { what, reason, path: folder.to_owned() });
        }
        let fault = fault::of_first(&end, outcome.reason.as_deref());
        outcome.fault = outcome.fault.or(Some(fault));
    }
    outcome.wall_ms = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    Ok(outcome)
}

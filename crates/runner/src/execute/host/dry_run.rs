//! The commands and writes of a run on this machine, in order, printed from the plans that the
//! run executes.

use super::duration;
use super::settings::Host;
use crate::describe::facts;
use crate::describe::host::order::{self, DiskContents};
use crate::describe::host::place;
use crate::describe::host::plan;
use disklab_block_devices::change::Change;
use disklab_block_devices::environment::ASKS_HEALTH;
use disklab_config::Trial;
use disklab_guest::init::actions;
use disklab_guest::real_machine::RealMachine;
use disklab_protocol::action::Plan;
use disklab_protocol::shell;
use std::time::Duration;

/// Stands for a UUID that is drawn when it is needed.
const UUID: &str = "00000000-0000-4000-8000-000000000000";

/// Returns the script, line by line. Lines that are not commands begin with `#`.
pub fn script(host: &Host, trials: &[Trial]) -> Vec<String> {
    let mut lines = vec![
        "# each trial runs in its own mount and process namespaces: its mounts and programs end \
         with it, and the machine's files are read-only"
            .to_owned(),
        format!("# {UUID} stands for a UUID that is drawn when it is needed"),
        format!("# programs are those of {}, whatever your PATH is", disklab_block_devices::PATH),
        format!(
            "# each change is noted in {} first, and is undone after each trial",
            host.state.display()
        ),
        format!("# before each trial, disklab is idle for {} and watches the disks", host.rest),
        format!(
            "# before and after each trial, for each disk, if the program is installed: {} DISK",
            ASKS_HEALTH.join(" ")
        ),
    ];
    let (out, possible): (Vec<_>, Vec<_>) =
        trials.iter().partition(|trial| obstacle(trial, host).is_some());
    for trial in out {
        let why = obstacle(trial, host).unwrap_or_default();
        lines.push(format!("# {}: left out: {why}", trial.id));
    }
    lines.push(format!(
        "# the order of trials is random; `--order {}` repeats this order",
        host.order
    ));
    // Commands that undo the changes on the disks.
    let (mut contents, mut undo) = (DiskContents::default(), Vec::new());
    let mut overwrite = place::named_again(&host.place);
    let named: Vec<String> =
        host.place.disks().iter().map(|disk| disk.named.display().to_string()).collect();
    for trial in order::in_blocks(possible, host.order) {
        let uuid = host.place.uuid(UUID);
        let at = place::test_path(&host.place, UUID);
        let placed = place::places(trial, &host.place, uuid);
        let machine =
            |overwrite| host.machine(&host.state.join("PID-0.journal"), overwrite, at.clone());
        if !contents.fit(trial) {
            lines.append(&mut undo);
            lines.push(format!("# {}, on {}", trial.array.name, named.join(" ")));
            let changes = place::changes(&placed, &host.place, at.as_deref());
            lines.extend(changes.iter().filter_map(made_at_once));
            let machine = machine(Some(std::mem::take(&mut overwrite)));
            let preparing = plan::preparing(&placed, &machine);
            lines.extend(preparing.iter().flat_map(|plan| of_plan(plan, &machine)));
            undo = changes.iter().rev().map(|change| change.undo_line(&placed.places.md)).collect();
            contents.made(trial);
        }
        lines.push(format!("# {}", trial.id));
        let machine = machine(None);
        lines.extend(of_plan(&plan::measuring(&placed, &machine, host.warm_up), &machine));
        contents.measured(trial);
    }
    lines.append(&mut undo);
    lines
}

/// Estimates the time of the run.
pub fn time(host: &Host, trials: &[Trial]) -> Duration {
    let possible = trials.iter().filter(|trial| obstacle(trial, host).is_none());
    let (mut all, mut contents) = (Duration::ZERO, DiskContents::default());
    for trial in order::in_blocks(possible.collect(), host.order) {
        if !contents.fit(trial) {
            all += duration::preparing(host, trial);
            contents.made(trial);
        }
        all += duration::wall(host, trial);
        contents.measured(trial);
    }
    all
}

fn obstacle(trial: &Trial, host: &Host) -> Option<String> {
    let known = facts::obstacle(trial).or_else(|| plan::obstacle(trial, &host.place));
    known.or_else(|| plan::policy_not_had(trial, &host.place))
}

/// Returns the line for a folder, which the run makes itself.
fn made_at_once(change: &Change) -> Option<String> {
    let Change::Folder { path, .. } = change else { return None };
    Some(format!("mkdir {}", shell::word(&path.display().to_string())))
}

/// Returns the command lines of a plan on this machine, with those that undo its changes.
fn of_plan(plan: &Plan, machine: &RealMachine) -> Vec<String> {
    let changes = actions::changes(plan, machine);
    let undo = machine.changes().into_iter().chain(changes.iter().flatten().cloned());
    let undo: Vec<String> = undo.map(|change| change.undo_line("")).collect();
    // The files of a filesystem that does not exist yet cannot be read.
    let unread = changes.iter().filter_map(|change| change.as_ref().err());
    let unread = unread.map(|path| format!("# {path} gets its old value back"));
    let lines = machine.lines().into_iter().chain(actions::lines(plan, machine));
    lines.chain(undo.into_iter().rev()).chain(unread).collect()
}

//! Runs the actions of a plan, or prints them: the only place that knows which kind is which.

use super::perform::{Perform, Session};
use super::steps::Failure;
use crate::real_machine::RealMachine;
use disklab_block_devices::change::Change;
use disklab_protocol::action::{Action, Plan};

fn performer(action: &Action) -> &dyn Perform {
    match action {
        Action::Pids(action) => action,
        Action::Set(action) => action,
        Action::Bcache(action) => action,
        Action::Release(action) => action,
        Action::Run(action) => action,
        Action::StartRaid(action) => action,
        Action::StartPool(action) => action,
        Action::Mount(action) => action,
        Action::Unmount(action) => action,
        Action::WriteFiles(action) => action,
        Action::LayOutFsload(action) => action,
        Action::MakeEntries(action) => action,
        Action::FirstSnapshot(action) => action,
        Action::DropCaches(action) => action,
        Action::WarmMetadata(action) => action,
        Action::CheckSurvival(action) => action,
        Action::StartWitness(action) => action,
        Action::SetPriorities(action) => action,
        Action::StartBackground(action) => action,
        Action::WarmUp(action) => action,
        Action::KeepFiles(action) => action,
        Action::ReportSpace(action) => action,
        Action::Measure(action) => action,
        Action::StopBackground(action) => action,
        Action::StopWitness(action) => action,
        Action::CheckSettings(action) => action,
    }
}

/// Runs all actions up to the first that fails; what an earlier one started is ended in any case.
pub fn run(plan: &Plan, session: &mut Session) -> Result<(), Failure> {
    let mut result = Ok(());
    for action in &plan.actions {
        let ends = matches!(action, Action::StopBackground(_) | Action::StopWitness(_));
        if !ends && (result.is_err() || session.background_ended) {
            continue;
        }
        let performer = performer(action);
        let lines = performer.lines(session.environment.real_machine());
        session.log(&lines);
        let done = performer.run(session);
        result = match action {
            // Why the witness failed is nearer to the cause than why what it watched did.
            Action::StopWitness(_) => done.and(result),
            _ => result.and(done),
        };
    }
    result
}

/// Returns the command lines of a plan, in order, as [`run`] logs them.
pub fn lines(plan: &Plan, machine: Option<&RealMachine>) -> Vec<String> {
    let each = plan.actions.iter().map(performer);
    each.flat_map(|action| [action.lines(machine), action.later_lines()].concat()).collect()
}

/// Returns what a plan changes of a machine, in order. An error is the path of a file that is not
/// there yet.
pub fn changes(plan: &Plan, machine: &RealMachine) -> Vec<Result<Change, String>> {
    let each = plan.actions.iter().map(|action| performer(action).changes(machine));
    let flat = |changes: Result<Vec<Change>, String>| match changes {
        Ok(changes) => changes.into_iter().map(Ok).collect(),
        Err(path) => vec![Err(path)],
    };
    each.flat_map(flat).collect()
}

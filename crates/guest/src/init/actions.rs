//! Runs the actions of a plan, or prints them. Only this module maps actions to their kinds.

use super::environment::Environment;
use super::perform::{Perform, Session};
use super::steps::{Failure, Steps};
use crate::real_machine::RealMachine;
use crate::site::Site;
use disklab_block_devices::change::Change;
use disklab_protocol::action::{Action, Plan};
use disklab_protocol::places::TRIAL;
use disklab_protocol::step::Step;
use std::path::Path;
use std::sync::Arc;

fn performer(action: &Action) -> &dyn Perform {
    macro_rules! performer_of {
        ($($kind:ident)*) => { match action { $(Action::$kind(action) => action,)* } };
    }
    performer_of! {
        Pids Set Bcache Release Run StartRaid StartPool Mount Unmount WriteFiles LayOutFsload
        MakeEntries FirstSnapshot DropCaches WarmMetadata CheckSurvival StartWitness SetPriorities
        StartBackground WarmUp KeepFiles ReportSpace Measure StopBackground StopWitness
        CheckSettings
    }
}

/// Runs all actions up to the first that fails. In any case, everything that an earlier action
/// started is ended.
fn run_until_failure(plan: &Plan, session: &mut Session) -> Result<(), Failure> {
    let mut result = Ok(());
    for action in &plan.actions {
        let ends = matches!(action, Action::StopBackground(_) | Action::StopWitness(_));
        if !ends && (result.is_err() || session.background_ended) {
            continue;
        }
        let performer = performer(action);
        let lines = performer.lines(session.environment.site());
        session.log(&lines);
        let done = performer.run(session);
        result = match action {
            // The failure of the witness is nearer to the cause than a failure of the watched
            // program.
            Action::StopWitness(_) => done.and(result),
            _ => result.and(done),
        };
    }
    result
}

/// Runs a plan in [`TRIAL`], and writes a last step with the result. `before` are the command lines
/// of earlier actions.
pub fn run(
    plan: Result<Plan, Failure>,
    environment: &Arc<dyn Environment>,
    before: &[String],
) -> Result<(), Failure> {
    let folder = Path::new(TRIAL);
    let steps = Steps::create(folder)?;
    let mut session = Session::new(Arc::clone(environment), steps);
    let result = plan.and_then(|plan| {
        session.log(before);
        let ran = run_until_failure(&plan, &mut session);
        let logged = session.write_log(folder);
        ran.and(logged).and_then(|()| session.environment.leave())
    });
    session.steps.say(&match &result {
        Ok(()) => Step::Finished,
        Err(error) => Step::Failed { error: error.clone() },
    });
    result
}

/// Returns the command lines of a plan, in order, as [`run`] logs them.
pub fn lines(plan: &Plan, site: &dyn Site) -> Vec<String> {
    let each = plan.actions.iter().map(performer);
    each.flat_map(|action| [action.lines(site), action.later_lines()].concat()).collect()
}

/// Returns the changes of a machine by a plan, in order. An error is the path of a file that does
/// not exist yet.
pub fn changes(plan: &Plan, machine: &RealMachine) -> Vec<Result<Change, String>> {
    let each = plan.actions.iter().map(|action| performer(action).changes(machine));
    let flat = |changes: Result<Vec<Change>, String>| match changes {
        Ok(changes) => changes.into_iter().map(Ok).collect(),
        Err(path) => vec![Err(path)],
    };
    each.flat_map(flat).collect()
}

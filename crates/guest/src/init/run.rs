//! Runs a trial's plan from its first action to its last, and records how it ended.

use super::environment::Environment;
use super::interpret;
use super::perform::Session;
use super::steps::{Failure, Steps};
use disklab_protocol::action::Plan;
use disklab_protocol::places::TRIAL;
use disklab_protocol::step::Step;
use std::path::Path;
use std::sync::Arc;

/// Runs a plan in [`TRIAL`], with a step in the end that tells how that went. `before` are the
/// command lines of what was done before.
pub fn run_plan(
    plan: Result<Plan, Failure>,
    environment: &Arc<dyn Environment>,
    before: &[String],
) -> Result<(), Failure> {
    let folder = Path::new(TRIAL);
    let steps = Steps::create(folder)?;
    let mut session = Session::new(Arc::clone(environment), steps);
    let result = plan.and_then(|plan| {
        session.log(before);
        let ran = interpret::run(&plan, &mut session);
        let logged = session.write_log(folder);
        ran.and(logged).and_then(|()| session.environment.leave())
    });
    session.steps.say(&match &result {
        Ok(()) => Step::Finished,
        Err(error) => Step::Failed { error: error.clone() },
    });
    result
}

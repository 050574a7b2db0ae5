//! Measures: announces the phase, runs the load, and ends the phase.

use super::gate::Closed;
use super::perform::{Perform, Session};
use super::program::{Program, run};
use super::steps::Failure;
use super::threads::Syncing;
use super::{fsload, phases, player, startup};
use crate::site::Site;
use disklab_protocol::Mark;
use disklab_protocol::measure::{Gate, Measure, Measured, StartupWay};
use disklab_protocol::places::{FSLOAD, ROOT};
use disklab_protocol::shell;
use std::time::Duration;

impl Perform for Measure {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        match &self.what {
            Measured::Program { command, .. } => vec![shell::command(command)],
            Measured::Startup { way: StartupWay::Program { command, server, .. }, .. } => {
                let server = (!server.is_empty()).then(|| format!("{} &", shell::command(server)));
                let program = format!("chroot {ROOT} {}", shell::command(command));
                server.into_iter().chain([program]).collect()
            }
            Measured::Startup { .. } => {
                vec![format!("# do what was recorded of a start, with {ROOT} as its root")]
            }
            Measured::Player { file, .. } => vec![format!("# play {file}")],
            Measured::Fsload { .. } => vec![format!("# work on the files below {FSLOAD}")],
            Measured::Phases(_) => Vec::new(),
        }
    }

    fn later_lines(&self) -> Vec<String> {
        match &self.what {
            Measured::Phases(phases) => phases.iter().flat_map(phases::lines).collect(),
            _ => Vec::new(),
        }
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        session.measured.enter().map_err(|e| format!("setting the I/O priority: {e}"))?;
        let Self { what, phase, ramp_ns, sync_every_ns } = self;
        let _syncing = sync_every_ns.map(|every| Syncing::start(Duration::from_nanos(every)));
        // A load that never began, or was served from memory, made no request.
        match what {
            Measured::Program { command, gate } => {
                program(command, gate.as_ref(), (phase, *ramp_ns), session)
            }
            Measured::Startup { way, limit_ns } => {
                session.environment.mark(Mark::begin(phase, 0))?;
                let over = startup::measure(way, Duration::from_nanos(*limit_ns), session)?;
                let _ = session.environment.mark(Mark::End);
                startup::account(way, &over, session.environment.as_ref())
            }
            Measured::Player { player, file, length, seed } => {
                session.environment.mark(Mark::begin(phase, 0))?;
                player::measure(player, file, *length, *seed, &mut session.steps)?;
                let _ = session.environment.mark(Mark::End);
                Ok(())
            }
            Measured::Phases(all) => phases::measure(all, session),
            Measured::Fsload { load, seed, ramp, length, notes } => {
                session.environment.mark(Mark::begin(phase, *ramp_ns))?;
                let times = [*ramp, *length];
                let done = fsload::measure(load, *seed, times, *notes, &session.environment)?;
                let _ = session.environment.mark(Mark::End);
                fsload::account(&done, &mut session.steps)
            }
        }
    }
}

/// Runs a program in a phase with this name and ramp.
fn program(
    command: &[String],
    gate: Option<&Gate>,
    (phase, ramp_ns): (&str, u64),
    session: &mut Session,
) -> Result<(), Failure> {
    let environment = &session.environment;
    let end = || {
        let ended = environment.mark(Mark::End);
        ended.map_err(|e| format!("{e}; no request of the {phase} reached a disk"))
    };
    let Some(gate) = gate else {
        environment.mark(Mark::begin(phase, ramp_ns))?;
        run(command, phase, &mut session.steps)?;
        return end();
    };
    let closed = Closed::new(gate)?;
    let mut program = Program::start(command, phase)?;
    closed.wait(program.child())?;
    environment.mark(Mark::begin(phase, ramp_ns))?;
    drop(closed);
    std::thread::sleep(Duration::from_nanos(gate.length_ns));
    // If there was no such phase, the program's own failure is nearer to the cause.
    let ended = end();
    program.finish(&mut session.steps)?;
    ended
}

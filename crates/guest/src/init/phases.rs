//! Runs phases, one after the other: fio, a program or a mount, with a reader beside it.
//!
//! fio is started first, and its jobs wait on a pipe until the phase begins. fio's start takes a
//! sixth of a virtual second, and reads files that must be cold.

use super::filesystem::{drop_caches, drop_lines, mount_it, mount_line, settle, unmount_from};
use super::perform::{Perform, Session};
use super::program::{self, Words};
use super::setting;
use super::steps::Failure;
use super::threads::spawn;
use disklab_protocol::Mark;
use disklab_protocol::measure::{PhaseFio, PhaseWork, PlannedPhase};
use disklab_protocol::names;
use disklab_protocol::places::{self, GO, POOL, SAY, TRIAL};
use disklab_protocol::setup::ZeroFile;
use disklab_protocol::shell;
use disklab_protocol::step::{PhaseAccount, PhaseEnd, ProgramEnd, Step};
use disklab_units::Bytes;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Name of failures and of programs' output.
const STEP: &str = "phase";
/// Largest number of bytes of a program's output that are kept, from its end.
const MOST_SAID: u64 = 8 << 20;
/// Timeout for a program that is asked to end, which may have much to write.
const END: Duration = Duration::from_secs(60);
/// Timeout for fio's start, which normally takes less than a second.
const START: Duration = Duration::from_secs(600);

/// News from threads during a phase.
enum News {
    /// A line in which a job of fio reports its progress.
    Said(String),
    /// A program has ended.
    Ended(Who, io::Result<ExitStatus>),
    Mounted(Result<(), Failure>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Measured,
    Reader,
}

/// Returns the command lines of a phase.
pub fn lines(phase: &PlannedPhase) -> Vec<String> {
    let unmount = format!("umount {POOL}");
    let cold = drop_lines().into_iter().filter(|_| phase.cold);
    let reader = phase.reader.iter().map(|fio| format!("{} &", shell::command(&fio.command)));
    let before = cold.chain(reader);
    match &phase.what {
        PhaseWork::Fio(PhaseFio { command, .. }) | PhaseWork::Program(command) => {
            before.chain([shell::command(command)]).collect()
        }
        PhaseWork::Remount { mount, settings } => {
            let settings = settings.iter().map(setting::line);
            before.chain([unmount, mount_line(mount)]).chain(settings).collect()
        }
    }
}

/// Runs all phases, until one times out.
pub fn measure(phases: &[PlannedPhase], session: &mut Session) -> Result<(), Failure> {
    let path = Path::new(TRIAL).join(names::PHASES);
    let failed = |e| format!("{}: {e}", path.display());
    let mut accounts = File::create(&path).map_err(failed)?;
    let hub = Hub::new()?;
    for phase in phases {
        session.log(&lines(phase));
        let mut account = PhaseAccount { phase: phase.name.clone(), ..PhaseAccount::default() };
        let went = hub.run(phase, &mut account, session);
        // The output of a failed phase is kept too.
        let line = serde_json::to_string(&account).map_err(|e| failed(e.into()))?;
        writeln!(accounts, "{line}").map_err(failed)?;
        if went?.timed_out {
            break;
        }
    }
    Ok(())
}

/// Channel of all news.
struct Hub {
    tell: Sender<News>,
    told: Receiver<News>,
}

/// A program that was started.
struct Started<'a> {
    command: &'a [String],
    /// Name of its failures.
    step: String,
    words: Words,
    pid: Pid,
}

/// Way in which the measured program ended.
#[derive(Debug, Clone, Copy)]
enum Over {
    Done,
    TimedOut,
    Ended(ExitStatus),
}

impl Hub {
    fn new() -> Result<Self, Failure> {
        for pipe in [SAY, GO] {
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, pipe, FileType::Fifo, mode, 0)
                .map_err(|e| format!("creating {pipe}: {e}"))?;
        }
        let (tell, told) = channel();
        let hub = Self { tell, told };
        // The pipe is also open for writing, since otherwise it would end whenever no process
        // writes.
        let lines = BufReader::new(both_ends(SAY)?).lines();
        hub.beside(move |tell| {
            for line in lines.map_while(Result::ok) {
                // After the end, nothing receives the line.
                let _ = tell.send(News::Said(line));
            }
        })?;
        Ok(hub)
    }

    /// Runs `work` in a thread of its own.
    fn beside(&self, work: impl FnOnce(&Sender<News>) + Send + 'static) -> Result<(), Failure> {
        let tell = self.tell.clone();
        spawn(STEP, move || work(&tell)).map(drop)
    }

    fn start<'a>(
        &self,
        command: &'a [String],
        phase: &str,
        who: Who,
    ) -> Result<Started<'a>, Failure> {
        let step = match who {
            Who::Measured => format!("{STEP} {phase}"),
            Who::Reader => format!("{STEP} {phase}, its reader"),
        };
        let words = Words::create(&format!("{STEP}-{phase}-{who:?}"))?;
        // The program has a group of its own, so that its child processes can be ended with it.
        let child = program::prepare(command, &step, &words)?.process_group(0).spawn();
        let mut child = child.map_err(|e| program::not_started(command, &step, &e))?;
        let pid = Pid::from_child(&child);
        self.beside(move |tell| {
            let _ = tell.send(News::Ended(who, child.wait()));
        })?;
        Ok(Started { command, step, words, pid })
    }

    fn run<'a>(
        &self,
        phase: &'a PlannedPhase,
        account: &mut PhaseAccount,
        session: &mut Session,
    ) -> Result<PhaseEnd, Failure> {
        let PlannedPhase { name, what, .. } = phase;
        if let PhaseWork::Remount { .. } = what {
            unmount_from(POOL).map_err(|e| format!("{STEP} {name}: {e}"))?;
        }
        for file in phase.fios().flat_map(|fio| &fio.files) {
            look_at(file).map_err(|e| format!("{STEP} {name}: {e}"))?;
        }
        let start = |fio: &'a PhaseFio, who| self.start(&fio.command, name, who);
        let reader = phase.reader.as_ref().map(|fio| start(fio, Who::Reader)).transpose()?;
        let fio = phase.measured_fio();
        let mut measured = fio.map(|fio| start(fio, Who::Measured)).transpose()?;
        self.wait_until_ready(phase, measured.as_ref(), reader.as_ref())?;
        if phase.cold {
            rustix::fs::sync();
            drop_caches()?;
        }
        settle();
        session.environment.set_system_call_time(phase.system_call_ns)?;
        session.steps.say(&Step::PhaseBegun { phase: name.clone() });
        session.environment.mark(Mark::begin(name, 0))?;
        let begun = Instant::now();
        // While this end is open, a process that opens the pipe continues.
        let go = both_ends(GO)?;
        match what {
            PhaseWork::Fio(_) => {}
            PhaseWork::Program(command) => {
                measured = Some(self.start(command, name, Who::Measured)?);
            }
            PhaseWork::Remount { mount, .. } => {
                let (mount, name) = (mount.clone(), name.clone());
                self.beside(move |tell| {
                    let mounted = mount_it(&mount).map_err(|e| format!("{STEP} {name}: {e}"));
                    let _ = tell.send(News::Mounted(mounted));
                })?;
            }
        }
        let over = self.until_over(phase, begun, reader.as_ref())?;
        let took_ns = begun.elapsed().as_nanos() as u64;
        // A load that was served from memory made no request.
        let _ = session.environment.mark(Mark::End);
        session.environment.set_system_call_time(0)?;
        drop(go);
        let went =
            PhaseEnd { phase: name.clone(), took_ns, timed_out: matches!(over, Over::TimedOut) };
        if let Some(reader) = &reader {
            // The process may have ended at this moment. fio then writes its report.
            let _ = kill_process(reader.pid, Signal::INT);
            self.wait_for(Who::Reader)?;
            account.reader = phase.reader.as_ref().map(|fio| text(&fio.report)).transpose()?;
        }
        self.account_for(&went, over, measured.as_ref(), account, session)?;
        if went.timed_out {
            return Ok(went);
        }
        match what {
            PhaseWork::Fio(fio) => account.fio = Some(text(&fio.report)?),
            PhaseWork::Program(_) => {}
            PhaseWork::Remount { settings, .. } => {
                settings.iter().try_for_each(|setting| setting.run(session))?;
            }
        }
        Ok(went)
    }

    /// Writes the step of the phase with the end of the measured program. Fails if the program did.
    fn account_for(
        &self,
        went: &PhaseEnd,
        over: Over,
        measured: Option<&Started<'_>>,
        account: &mut PhaseAccount,
        session: &mut Session,
    ) -> Result<(), Failure> {
        let Some(Started { command, step, words, pid }) = measured else {
            session.steps.say(&Step::Phase { went: went.clone(), program: None });
            return Ok(());
        };
        let status = match over {
            Over::Ended(status) => Some(status),
            // fio continues for a little after its jobs are done.
            Over::Done => self.wait_for(Who::Measured)?,
            Over::TimedOut => {
                // The process may wait in the kernel for long, and nothing waits for it here.
                let _ = kill_process_group(*pid, Signal::KILL);
                None
            }
        };
        let ended = status.map_or_else(|| "given up".to_owned(), |status| status.to_string());
        let program = ProgramEnd { command: command.to_vec(), status: ended, said: words.read()? };
        session.steps.say(&Step::Phase { went: went.clone(), program: Some(program) });
        account.said = words.end(MOST_SAID)?;
        match status {
            Some(status) if !status.success() => {
                Err(program::failed(command, step, status, &last_words(&account.said)))
            }
            None if !went.timed_out => {
                Err(format!("{step}: fio's jobs have ended, and fio has not"))
            }
            _ => Ok(()),
        }
    }

    /// Returns when every job of fio waits for the phase to begin.
    fn wait_until_ready(
        &self,
        phase: &PlannedPhase,
        measured: Option<&Started<'_>>,
        reader: Option<&Started<'_>>,
    ) -> Result<(), Failure> {
        let mut missing: u32 = phase.fios().map(|fio| fio.first).sum();
        let ready = places::ready(&phase.name);
        while missing > 0 {
            match self.told.recv_timeout(START) {
                Ok(News::Said(line)) if line == ready => missing -= 1,
                Ok(News::Said(_) | News::Mounted(_)) => {}
                Ok(News::Ended(who, status)) => {
                    let started = if who == Who::Measured { measured } else { reader };
                    return Err(too_early(started, status));
                }
                Err(_) => {
                    let name = &phase.name;
                    return Err(format!("{STEP} {name}: fio did not start within {START:?}"));
                }
            }
        }
        Ok(())
    }

    fn until_over(
        &self,
        phase: &PlannedPhase,
        begun: Instant,
        reader: Option<&Started<'_>>,
    ) -> Result<Over, Failure> {
        let limit = Duration::from_nanos(phase.limit_ns);
        let mut under_way = phase.measured_fio().map_or(1, |fio| fio.jobs);
        let over = places::over(&phase.name);
        loop {
            match self.told.recv_timeout(limit.saturating_sub(begun.elapsed())) {
                Ok(News::Said(line)) if line == over => under_way -= 1,
                Ok(News::Said(_)) => {}
                Ok(News::Mounted(mounted)) => return mounted.map(|()| Over::Done),
                Ok(News::Ended(Who::Measured, status)) => {
                    let status = status.map_err(|e| {
                        format!("{STEP} {}: waiting for its program: {e}", phase.name)
                    })?;
                    return Ok(Over::Ended(status));
                }
                Ok(News::Ended(Who::Reader, status)) => {
                    return Err(too_early(reader, status));
                }
                Err(RecvTimeoutError::Timeout) => return Ok(Over::TimedOut),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("{STEP}: its threads failed"));
                }
            }
            if under_way == 0 {
                return Ok(Over::Done);
            }
        }
    }

    /// Waits for a program. Returns `None` if it did not end within [`END`].
    fn wait_for(&self, wanted: Who) -> Result<Option<ExitStatus>, Failure> {
        let until = Instant::now() + END;
        while let Ok(news) = self.told.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            if let News::Ended(who, status) = news
                && who == wanted
            {
                return status
                    .map(Some)
                    .map_err(|e| format!("{STEP}: waiting for a program's end: {e}"));
            }
        }
        Ok(None)
    }
}

/// Returns the failure of a program that ended before the phase did.
fn too_early(started: Option<&Started<'_>>, status: io::Result<ExitStatus>) -> Failure {
    let Some(Started { command, step, words, .. }) = started else { return String::new() };
    let said = words.end(MOST_SAID).unwrap_or_default();
    match status {
        Ok(status) if status.success() => format!("{step}: the program ended before the phase did"),
        Ok(status) => program::failed(command, step, status, &last_words(&said)),
        Err(error) => format!("{step}: waiting for its end: {error}"),
    }
}

/// Returns a failure if a file differs from its state when the disks were prepared, or when an
/// earlier phase made it.
fn look_at(file: &ZeroFile) -> Result<(), Failure> {
    let ZeroFile { name, bytes } = file;
    match fs::metadata(Path::new(POOL).join(name)) {
        Ok(found) if found.len() >= bytes.0 => Ok(()),
        Ok(found) => Err(format!(
            "`{name}` has only {} of the {bytes} that it needs: an earlier phase has truncated it",
            Bytes(found.len())
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("`{name}` does not exist: an earlier phase has removed it"))
        }
        Err(error) => Err(format!("reading the size of `{name}`: {error}")),
    }
}

/// Returns the last lines as one: some programs print the error first and then their progress.
fn last_words(said: &str) -> String {
    const LINES: usize = 4;
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("; ")
}

/// Opens a pipe for reading and writing, which waits for no other process.
fn both_ends(pipe: &str) -> Result<File, Failure> {
    File::options().read(true).write(true).open(pipe).map_err(|e| format!("opening {pipe}: {e}"))
}

fn text(report: &str) -> Result<String, Failure> {
    let bytes = fs::read(report).map_err(|e| format!("reading fio's report, {report}: {e}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

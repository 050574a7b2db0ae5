//! Snapshots of the whole filesystem, which are taken, replicated and deleted as by users' scripts:
//! with the filesystem's own program, one step after the other. A second such script replicates
//! beside the first.
//!
//! Snapshots of btrfs are in a subvolume of their own below the filesystem's top, so that no
//! snapshot contains the others.

mod summary;

use super::environment::Environment;
use super::io_context::IoContext;
use super::perform::{Perform, Session};
use super::program::{Words, not_started, prepare};
use super::steps::{Failure, Steps};
use super::threads::{locked, spawn};
use crate::site::Site;
use disklab_protocol::Mark;
use disklab_protocol::action::FirstSnapshot;
use disklab_protocol::places::Side;
use disklab_protocol::shell;
use disklab_protocol::snapshots::{SnapshotSchedule, Tool};
use disklab_protocol::step::{Snapshot, Step};
use disklab_units::Nanos;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use summary::{next, summary};

/// Name of its failures, and of its programs' output.
const STEP: &str = "snapshots";

/// Both scripts, and their shared data.
struct Scripts {
    what: SnapshotSchedule,
    place: IoContext,
    environment: Arc<dyn Environment>,
    begun: Instant,
    state: Mutex<ScriptsState>,
    /// Signal that stops the scripts.
    stopping: Condvar,
}

#[derive(Default)]
struct ScriptsState {
    stop: bool,
    /// Snapshots in the order in which they were taken. The first existed already.
    all: Vec<Snapshot>,
    /// Snapshot that is being sent, and cannot be deleted.
    sent: Option<u64>,
    /// Snapshot that is being deleted, and cannot be sent.
    deleted: Option<u64>,
    /// Time at which each complete replication ended.
    replications: Vec<u64>,
    /// Numbers of the snapshots on the replica.
    on_replica: BTreeSet<u64>,
}

/// Both running scripts.
pub struct Running {
    scripts: Arc<Scripts>,
    threads: Vec<JoinHandle<Result<(), Failure>>>,
}

impl Perform for FirstSnapshot {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        let place = self.tool.make_place().map(|command| shell::command(&command));
        let sent = self.replicated.then(|| pipe(&self.tool, None, 0));
        place.into_iter().chain([shell::command(&self.tool.take(0))]).chain(sent).collect()
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let tool = self.tool.clone();
        let what = SnapshotSchedule { tool, every_ns: 0, keep: 0, replicate_every_ns: None };
        let scripts = Scripts::new(what, &IoContext::default(), &session.environment);
        if let Some(command) = self.tool.make_place() {
            scripts.run("folder", &command)?;
        }
        scripts.snapshot(0)?;
        if self.replicated { scripts.send(None, 0) } else { Ok(()) }
    }
}

/// Returns the repeated commands, with the first numbers.
pub fn schedule_lines(what: &SnapshotSchedule) -> Vec<String> {
    let tool = &what.tool;
    let mut lines = vec![
        format!("# every {}, {} of them kept:", Nanos(what.every_ns), what.keep),
        shell::command(&tool.take(1)),
        shell::command(&tool.delete(Side::Pool, 0)),
    ];
    if let Some(every) = what.replicate_every_ns {
        lines.push(format!("# every {}:", Nanos(every)));
        lines.push(pipe(tool, Some(0), 1));
        lines.push(shell::command(&tool.delete(Side::Replica, 0)));
    }
    lines
}

/// Returns the command line that sends a snapshot to the replica.
fn pipe(tool: &Tool, parent: Option<u64>, number: u64) -> String {
    let send = shell::command(&tool.send(parent, number));
    format!("{send} | {}", shell::command(&tool.receive()))
}

/// Starts both scripts. The first snapshot is due after one interval.
pub fn start(
    what: &SnapshotSchedule,
    place: &IoContext,
    environment: &Arc<dyn Environment>,
) -> Result<Running, Failure> {
    let scripts = Arc::new(Scripts::new(what.clone(), place, environment));
    let replicated_ns = what.replicate_every_ns.map(|_| 0);
    scripts.state().all.push(Snapshot { replicated_ns, ..Snapshot::default() });
    scripts.state().on_replica.extend(replicated_ns);
    scripts.note("snapshots begin")?;
    let thread = |script: fn(&Scripts) -> Result<(), Failure>| {
        let scripts = Arc::clone(&scripts);
        spawn(STEP, move || script(&scripts))
    };
    let mut threads = vec![thread(Scripts::take)?];
    if what.replicate_every_ns.is_some() {
        threads.push(thread(Scripts::replicate)?);
    }
    Ok(Running { scripts, threads })
}

impl Running {
    /// Returns true if one of the scripts failed.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Makes both scripts end after their present step, compares their notes with the existing
    /// snapshots, and writes the counts.
    pub fn stop(self, steps: &mut Steps) -> Result<(), Failure> {
        let Self { scripts, threads } = self;
        let ran = scripts.now();
        scripts.state().stop = true;
        scripts.stopping.notify_all();
        let mut result = Ok(());
        for thread in threads {
            let ended = thread.join().map_err(|_| format!("{STEP}: a thread failed"))?;
            result = result.and(ended);
        }
        let state = scripts.state();
        let every = (scripts.what.every_ns, scripts.what.replicate_every_ns);
        for snapshot in &state.all {
            steps.say(&Step::Snapshot { seen: snapshot.clone() });
        }
        let mut seen = summary(&state.all, &state.replications, every, ran);
        if result.is_ok() {
            seen.uncleaned = scripts.uncleaned(Side::Pool)?;
            let kept = state.all.iter().filter(|each| each.deleted_ns.is_none());
            result = scripts.are_there(Side::Pool, &kept.map(|each| each.number).collect());
        }
        if result.is_ok() && every.1.is_some() {
            seen.uncleaned_on_replica = scripts.uncleaned(Side::Replica)?;
            result = scripts.are_there(Side::Replica, &state.on_replica);
        }
        steps.say(&Step::Snapshots { seen });
        result
    }
}

impl Scripts {
    fn new(what: SnapshotSchedule, place: &IoContext, environment: &Arc<dyn Environment>) -> Self {
        Self {
            what,
            place: place.clone(),
            environment: Arc::clone(environment),
            begun: Instant::now(),
            state: Mutex::default(),
            stopping: Condvar::new(),
        }
    }

    /// Writes a mark into the trace, which shows the cause of requests.
    fn note(&self, text: &str) -> Result<(), Failure> {
        self.environment.mark(Mark::Note(text.to_owned()))
    }

    fn state(&self) -> MutexGuard<'_, ScriptsState> {
        locked(&self.state)
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Sleeps until this time. Returns false once the scripts are to stop.
    fn wait(&self, until_ns: u64) -> bool {
        let mut state = self.state();
        loop {
            let left = until_ns.saturating_sub(self.now());
            if state.stop || left == 0 {
                return !state.stop;
            }
            let left = Duration::from_nanos(left);
            state =
                self.stopping.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Runs the first script: takes a snapshot whenever it is due, and deletes old ones.
    fn take(&self) -> Result<(), Failure> {
        let every = self.what.every_ns;
        let mut number = 0;
        loop {
            number = next(number, self.now(), every);
            if !self.wait(number * every) {
                return Ok(());
            }
            let begun_ns = self.now();
            self.note(&format!("snapshot {number}"))?;
            self.snapshot(number)?;
            self.note("done")?;
            let (due_ns, there_ns) = (number * every, self.now());
            let taken = Snapshot { number, due_ns, begun_ns, there_ns, ..Snapshot::default() };
            self.state().all.push(taken);
            while let Some(old) = self.oldest_to_delete() {
                self.note(&format!("delete {old}"))?;
                self.delete(Side::Pool, old)?;
                self.note("done")?;
                let now = self.now();
                let mut state = self.state();
                state.deleted = None;
                if let Some(gone) = state.all.iter_mut().find(|each| each.number == old) {
                    gone.deleted_ns = Some(now);
                }
            }
        }
    }

    /// Returns the oldest snapshot beyond those that are kept. The one that is being sent and the
    /// newest on the replica, from which it differs, are not deleted.
    fn oldest_to_delete(&self) -> Option<u64> {
        let mut state = self.state();
        let there: Vec<&Snapshot> =
            state.all.iter().filter(|each| each.deleted_ns.is_none()).collect();
        let beyond = there.len().saturating_sub(self.what.keep as usize);
        let needed = state.newest_replicated();
        let is_needed = |number: u64| Some(number) == state.sent || Some(number) == needed;
        let oldest =
            there[..beyond].iter().map(|each| each.number).find(|&number| !is_needed(number));
        state.deleted = oldest;
        oldest
    }

    /// Runs the second script: sends the snapshots that the replica lacks, the oldest first.
    fn replicate(&self) -> Result<(), Failure> {
        let every = self.what.replicate_every_ns.unwrap_or(u64::MAX);
        let mut turn = 0;
        loop {
            turn = next(turn, self.now(), every);
            if !self.wait(turn * every) {
                return Ok(());
            }
            self.note(&format!("replication {turn}"))?;
            let newest = self.state().all.last().map_or(0, |last| last.number);
            while let Some((parent, number)) = self.next_to_send(newest) {
                self.note(&format!("send {number}"))?;
                self.send(Some(parent), number)?;
                self.note("sent")?;
                self.has_sent(number)?;
                if self.state().stop {
                    return Ok(());
                }
            }
            let now = self.now();
            self.state().replications.push(now);
        }
    }

    /// Returns the newest snapshot on the replica and the oldest later one, up to `newest`.
    fn next_to_send(&self, newest: u64) -> Option<(u64, u64)> {
        let mut state = self.state();
        let parent = state.newest_replicated()?;
        let goes =
            |each: &Snapshot| each.deleted_ns.is_some() || state.deleted == Some(each.number);
        let is_next =
            |each: &&Snapshot| each.number > parent && each.number <= newest && !goes(each);
        let number = state.all.iter().find(is_next)?.number;
        state.sent = Some(number);
        Some((parent, number))
    }

    /// Notes a sent snapshot, and deletes old ones on the replica.
    fn has_sent(&self, number: u64) -> Result<(), Failure> {
        let now = self.now();
        let old: Vec<u64> = {
            let mut state = self.state();
            state.sent = None;
            if let Some(sent) = state.all.iter_mut().find(|each| each.number == number) {
                sent.replicated_ns = Some(now);
            }
            state.on_replica.insert(number);
            let beyond = state.on_replica.len().saturating_sub(self.what.keep as usize);
            state.on_replica.iter().copied().take(beyond).collect()
        };
        for old in old {
            self.note(&format!("delete {old} of the replica"))?;
            self.delete(Side::Replica, old)?;
            self.state().on_replica.remove(&old);
        }
        Ok(())
    }

    fn snapshot(&self, number: u64) -> Result<(), Failure> {
        self.run("taking", &self.what.tool.take(number)).map(drop)
    }

    fn delete(&self, side: Side, number: u64) -> Result<(), Failure> {
        let step = if side == Side::Pool { "deleting" } else { "deleting-replicated" };
        self.run(step, &self.what.tool.delete(side, number)).map(drop)
    }

    /// Returns the number of deleted snapshots of a filesystem whose space was not freed yet.
    fn uncleaned(&self, side: Side) -> Result<u64, Failure> {
        let tool = &self.what.tool;
        Ok(tool.count(&self.run("uncleaned", &tool.uncleaned(side))?.read_all()?))
    }

    /// Checks that a side has the noted snapshots, and no others.
    fn are_there(&self, side: Side, noted: &BTreeSet<u64>) -> Result<(), Failure> {
        let place = self.what.tool.place(side);
        let there = match self.what.tool.list(side) {
            Some(command) => {
                let said = self.run("listing", &command)?.read_all()?;
                numbers(said.lines().filter_map(|name| Some(name.split_once('@')?.1)))
            }
            None => in_folder(place)?,
        };
        if there == *noted {
            return Ok(());
        }
        let odd: Vec<_> = there.symmetric_difference(noted).collect();
        Err(format!(
            "{STEP}: {place} does not hold the snapshots that were made and not deleted: {odd:?} \
             exist or are noted, but not both"
        ))
    }

    /// Sends a snapshot to the replica: one program sends, another one receives.
    fn send(&self, parent: Option<u64>, number: u64) -> Result<(), Failure> {
        let (outgoing, incoming) = (self.what.tool.send(parent, number), self.what.tool.receive());
        let said = Words::create(&format!("{STEP}-sending"))?;
        let heard = Words::create(&format!("{STEP}-receiving"))?;
        let mut from = self.start(&outgoing, &said, |from| from.stdout(Stdio::piped()))?;
        let pipe = from.stdout.take().ok_or_else(|| format!("{STEP}: the sender has no output"))?;
        let mut to = self.start(&incoming, &heard, |to| to.stdin(pipe))?;
        let received = ended(&incoming, &heard, to.wait());
        let sent = ended(&outgoing, &said, from.wait());
        match (sent, received) {
            // If the receiver fails, so does the sender.
            (Err(sent), Err(received)) => Err(format!("{received}; and {sent}")),
            (sent, received) => sent.and(received),
        }
    }

    /// Runs a program to its end, and returns its output.
    fn run(&self, step: &str, command: &[String]) -> Result<Words, Failure> {
        let words = Words::create(&format!("{STEP}-{step}"))?;
        let status = self.start(command, &words, |program| program)?.wait();
        ended(command, &words, status).map(|()| words)
    }

    /// Starts a program. `pipes` may replace its usual input and output.
    fn start(
        &self,
        command: &[String],
        words: &Words,
        pipes: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Child, Failure> {
        let mut prepared = prepare(command, STEP, words)?;
        pipes(&mut prepared);
        self.place.hold(&mut prepared);
        prepared.spawn().map_err(|e| not_started(command, STEP, &e))
    }
}

impl ScriptsState {
    fn newest_replicated(&self) -> Option<u64> {
        let replicated = self.all.iter().filter(|each| each.replicated_ns.is_some());
        replicated.map(|each| each.number).max()
    }
}

/// A failure names the whole command.
fn ended(
    command: &[String],
    words: &Words,
    status: std::io::Result<ExitStatus>,
) -> Result<(), Failure> {
    let command = command.join(" ");
    let status = status.map_err(|e| format!("{STEP}: waiting for `{command}`: {e}"))?;
    if status.success() {
        return Ok(());
    }
    let said = words.read()?;
    let last = said.lines().last().unwrap_or("it printed nothing");
    Err(format!("{STEP}: `{command}` failed ({status}): {last}"))
}

/// Returns the snapshots of a folder.
fn in_folder(folder: &str) -> Result<BTreeSet<u64>, Failure> {
    let failed = |e| format!("{STEP}: {folder}: {e}");
    let entries =
        fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
    Ok(numbers(names.iter().filter_map(|name| name.to_str())))
}

/// Parses the numbers of snapshots. Other names are ignored.
fn numbers<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<u64> {
    names.filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five snapshots exist, of which the replica has the first.
    fn scripts(keep: u32) -> Scripts {
        let replicate_every_ns = Some(40);
        let what = SnapshotSchedule { tool: Tool::Btrfs, every_ns: 10, keep, replicate_every_ns };
        let environment: Arc<dyn Environment> = Arc::new(super::super::environment::guest::Guest);
        let scripts = Scripts::new(what, &IoContext::default(), &environment);
        let snapshot = |number: u64| Snapshot {
            number,
            due_ns: 10 * number,
            begun_ns: 10 * number,
            there_ns: 10 * number,
            replicated_ns: (number == 0).then_some(0),
            deleted_ns: None,
        };
        scripts.state().all = (0..5).map(snapshot).collect();
        scripts
    }

    #[test]
    fn what_is_being_deleted_is_not_sent_nor_the_other_way_round() {
        let deleting = scripts(2);
        assert_eq!(
            deleting.oldest_to_delete(),
            Some(1),
            "the next is the difference to the one that is there"
        );
        assert_eq!(deleting.next_to_send(4), Some((0, 2)));
        let sending = scripts(2);
        assert_eq!(sending.next_to_send(4), Some((0, 1)));
        assert_eq!(sending.oldest_to_delete(), Some(2));
        assert_eq!(scripts(5).oldest_to_delete(), None);
    }
}

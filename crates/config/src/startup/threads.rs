//! The steps of the threads and processes of a start, and the waits of one for another.
//!
//! The steps of the first thread come first. `thread N` begins the steps of the next thread. A line
//! `after N M` waits until thread N has done M of its own uses. Each further thread begins with
//! such a line, which says when it is started.

use std::collections::BTreeMap;

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use super::entry::{EntryKind, LONGEST, StartupAction, StartupEntry};

/// The steps of each thread, in the order in which the threads were started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartupThreads(pub Vec<Vec<StartupStep>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartupStep {
    /// The thread computes for the time `think`, and then uses the entry of this number.
    Use { think: Nanos, entry: u32, act: StartupAction },
    /// The thread waits until `thread` has done this number of its uses.
    After { thread: u32, uses: u32 },
}

/// Largest number of steps: more than any start-up needs. A guest has to run them all.
const MOST_STEPS: usize = 5_000_000;
pub const MOST_THREADS: usize = 4096;

impl StartupThreads {
    /// Parses one step per line; an error names the line.
    pub(super) fn read(text: &str, entries: &[StartupEntry]) -> Result<Self, String> {
        let mut threads = vec![Vec::new()];
        let mut count = 0;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong =
                |what: String| format!("line {}, `{}`: {what}", number + 1, line.escape_debug());
            count += 1;
            if count > MOST_STEPS {
                return Err(format!("more than {MOST_STEPS} steps are too many"));
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match (words.as_slice(), threads.len()) {
                (["thread", _], MOST_THREADS..) => {
                    return Err(wrong(format!("more than {MOST_THREADS} threads are too many")));
                }
                (["thread", next], len) if next.parse() == Ok(len) => threads.push(Vec::new()),
                (["thread", _], len) => return Err(wrong(format!("expected `thread {len}`"))),
                (words, len) => threads[len - 1].push(step(words, entries).map_err(wrong)?),
            }
        }
        let threads = Self(threads);
        threads.check()?;
        Ok(threads)
    }

    fn check(&self) -> Result<(), String> {
        for (number, thread) in self.0.iter().enumerate() {
            if number > 0 && !matches!(thread.first(), Some(StartupStep::After { .. })) {
                return Err(format!("thread {number} does not begin with `after`"));
            }
            let waits = thread.iter().filter_map(|step| match step {
                StartupStep::After { thread, uses } => Some((*thread as usize, *uses as usize)),
                StartupStep::Use { .. } => None,
            });
            for (other, uses) in waits {
                let found = self.0.get(other).map(|steps| uses_of(steps).count());
                if found.is_none_or(|found| found < uses) || other == number {
                    let use_of = format!("use {uses} of thread {other}, which has fewer");
                    return Err(format!("thread {number} waits for {use_of}"));
                }
            }
        }
        self.ends().map(drop).ok_or_else(|| "threads wait for each other in a circle".to_owned())
    }

    /// Returns the time at which the first thread ends if only computing takes time.
    pub fn computing(&self) -> Nanos {
        self.ends().and_then(|ends| ends.first().copied()).unwrap_or_default()
    }

    /// Returns the times at which the threads end if only computing takes time. Returns None if
    /// some never end.
    fn ends(&self) -> Option<Vec<Nanos>> {
        // Each thread has the times at which its uses were done; then its next step and its clock.
        let mut done: Vec<Vec<Nanos>> = vec![vec![Nanos::ZERO]; self.0.len()];
        let mut now: Vec<(usize, Nanos)> = vec![(0, Nanos::ZERO); self.0.len()];
        // Threads that wait for another use of the thread that is the key.
        let mut waiting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut ready: Vec<usize> = (0..self.0.len()).collect();
        while let Some(number) = ready.pop() {
            let (mut at, mut clock) = now[number];
            while let Some(step) = self.0[number].get(at) {
                match *step {
                    StartupStep::Use { think, .. } => {
                        clock = clock.saturating_add(think);
                        done[number].push(clock);
                    }
                    StartupStep::After { thread, uses } => {
                        let Some(then) = done.get(thread as usize)?.get(uses as usize) else {
                            waiting.entry(thread as usize).or_default().push(number);
                            break;
                        };
                        clock = clock.max(*then);
                    }
                }
                at += 1;
            }
            if at > now[number].0 {
                ready.extend(waiting.remove(&number).unwrap_or_default());
            }
            now[number] = (at, clock);
        }
        let all_end = now.iter().zip(&self.0).all(|((at, _), steps)| *at == steps.len());
        all_end.then(|| now.into_iter().map(|(_, clock)| clock).collect())
    }

    /// Returns the uses of all threads.
    pub fn uses(&self) -> impl Iterator<Item = (u32, StartupAction)> {
        self.0.iter().flat_map(|thread| uses_of(thread))
    }
}

fn uses_of(steps: &[StartupStep]) -> impl Iterator<Item = (u32, StartupAction)> {
    steps.iter().filter_map(|step| match *step {
        StartupStep::Use { entry, act, .. } => Some((entry, act)),
        StartupStep::After { .. } => None,
    })
}

fn step(words: &[&str], entries: &[StartupEntry]) -> Result<StartupStep, String> {
    let number = |word: &str| {
        word.parse::<u64>().map_err(|_| format!("`{}` is not a number", word.escape_debug()))
    };
    let small = |word: &str| {
        u32::try_from(number(word)?)
            .map_err(|_| format!("{word} is out of range (0 to {})", u32::MAX))
    };
    let (think, act, entry, rest) = match words {
        ["after", thread, uses] => {
            return Ok(StartupStep::After { thread: small(thread)?, uses: small(uses)? });
        }
        [think, act, entry, rest @ ..] => (think, *act, entry, rest),
        _ => return Err("expected MICROSECONDS ACTION FILE, such as `3 look 1`".to_owned()),
    };
    let think = Nanos(number(think)?.min(LONGEST.0 / 1000) * 1000);
    let entry = u32::try_from(number(entry)?).map_err(|_| {
        format!("file {entry} is out of range: there are {}, from 0", entries.len())
    })?;
    let found = entries.get(entry as usize).ok_or_else(|| {
        format!("file {entry} is out of range: there are {}, from 0", entries.len())
    })?;
    let range = || match (rest, &found.kind) {
        ([from, bytes], EntryKind::File(size)) => {
            let (from, bytes) = (number(from)?, number(bytes)?);
            let is_within = from.checked_add(bytes).is_some_and(|end| end <= size.0);
            let range = (is_within && bytes > 0).then_some((from, bytes));
            range.ok_or_else(|| format!("the bytes are out of range: the file has {}", size.0))
        }
        (_, EntryKind::File(_)) => {
            Err("expected the first byte and the number of bytes after the file".to_owned())
        }
        _ => Err(format!("{} is not a file", found.path)),
    };
    let act = match act {
        "read" => range().map(|(from, bytes)| StartupAction::Read { from, bytes })?,
        "map" => range().map(|(from, bytes)| StartupAction::Map { from, bytes })?,
        "look" if rest.is_empty() => StartupAction::Look,
        "miss" if rest.is_empty() && found.kind == EntryKind::Folder => StartupAction::Miss,
        "list" if rest.is_empty() && found.kind == EntryKind::Folder => StartupAction::List,
        other => {
            let does = "what a step does: read, map, look, miss or list";
            return Err(format!("`{}` is not {does}", other.escape_debug()));
        }
    };
    Ok(StartupStep::Use { think, entry, act })
}

impl std::fmt::Display for StartupThreads {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, thread) in self.0.iter().enumerate() {
            if number > 0 {
                writeln!(out, "thread {number}")?;
            }
            thread.iter().try_for_each(|step| writeln!(out, "{step}"))?;
        }
        Ok(())
    }
}

impl std::fmt::Display for StartupStep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (think, entry, act) = match *self {
            Self::After { thread, uses } => return write!(out, "after {thread} {uses}"),
            Self::Use { think, entry, act } => (think.0.div_ceil(1000), entry, act),
        };
        let (word, range) = match act {
            StartupAction::Read { from, bytes } => ("read", format!(" {from} {bytes}")),
            StartupAction::Map { from, bytes } => ("map", format!(" {from} {bytes}")),
            StartupAction::Look => ("look", String::new()),
            StartupAction::Miss => ("miss", String::new()),
            StartupAction::List => ("list", String::new()),
        };
        write!(out, "{think} {word} {entry}{range}")
    }
}

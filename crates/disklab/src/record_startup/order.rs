//! Merges the uses of names, from strace, and the reads, from the kernel, into one sequence for
//! each thread.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use disklab_config::startup::{EntryKind, StartupAction, StartupStep, StartupThreads};
use disklab_protocol::pages::PageAccess;
use disklab_results::strace::Lineage;
use disklab_units::Nanos;

use super::needed::{NameUse, Needed};
use super::program::{FileAccess, ThreadAct, ThreadEvent};

const PAGE: u64 = 4096;

/// Builds the steps of all threads. A file is read for the first time after the first use of its
/// name, and pages that are in memory by then are not read again. `scale` converts strace's times
/// to the program's own; `warm` is the program's whole time. Computing time of several threads at
/// once is divided among them.
pub fn threads(
    needed: &Needed,
    events: &[ThreadEvent],
    scale: f64,
    warm: Duration,
) -> StartupThreads {
    let tree = ThreadTree::grow(events);
    let (mut lanes, ends) = lanes(needed, events);
    let mut last_names = vec![0.0; lanes.len()];
    for used in &needed.uses {
        last_names[tree.number(&used.thread).0 as usize] = used.at;
    }
    let mut last = 0.0;
    for used in &needed.uses {
        let think = Nanos::from_secs_f64((used.at - last).max(0.0) * scale);
        last = used.at;
        let (number, is_itself) = tree.number(&used.thread);
        let goes_on =
            |moment| ends.get(&moment).is_none_or(|other| last_names[*other as usize] <= used.at);
        lanes[number as usize].name(needed, used, think, is_itself, goes_on);
    }
    for lane in &mut lanes {
        while lane.step(needed) {}
    }
    let mut threads = steps(lanes);
    // The program's computing time after the last name.
    let rest = (warm.as_nanos() as u64).saturating_sub(threads.computing().0);
    let last = threads.0.first_mut().and_then(|steps| {
        steps.iter_mut().rev().find_map(|step| match step {
            StartupStep::Use { think, .. } => Some(think),
            StartupStep::After { .. } => None,
        })
    });
    if let Some(think) = last {
        think.0 += rest;
    }
    threads
}

/// Returns the accesses as if one thread had done them all, in their order.
pub fn by_one(events: Vec<ThreadEvent>) -> Vec<ThreadEvent> {
    let accesses = events.into_iter().filter(|event| matches!(event.what, ThreadAct::Access(_)));
    accesses.map(|event| ThreadEvent { thread: 0, ..event }).collect()
}

/// Returns the number of threads, with the first.
pub fn count(events: &[ThreadEvent]) -> usize {
    1 + events.iter().filter(|event| matches!(event.what, ThreadAct::Starts(_))).count()
}

/// Returns the number of bytes that an action reads.
pub fn bytes(act: StartupAction) -> u64 {
    match act {
        StartupAction::Read { bytes, .. } | StartupAction::Map { bytes, .. } => bytes,
        StartupAction::Look | StartupAction::Miss | StartupAction::List => 0,
    }
}

/// Numbers of the threads, by their position in the tree of all threads.
struct ThreadTree(BTreeMap<Lineage, u32>);

impl ThreadTree {
    fn grow(events: &[ThreadEvent]) -> Self {
        let mut lineages: BTreeMap<u32, Lineage> = BTreeMap::from([(0, Lineage::new())]);
        let mut started: BTreeMap<u32, u32> = BTreeMap::new();
        for event in events {
            if let (ThreadAct::Starts(child), Some(parent)) =
                (&event.what, lineages.get(&event.thread))
            {
                let count = started.entry(event.thread).or_default();
                let lineage = [parent.as_slice(), &[*count]].concat();
                *count += 1;
                lineages.insert(*child, lineage);
            }
        }
        Self(lineages.into_iter().map(|(number, lineage)| (lineage, number)).collect())
    }

    /// Returns the number of the thread or of its nearest known ancestor, and whether it is the
    /// thread itself. The guest has one processor, for which programs may start fewer threads.
    fn number(&self, lineage: &Lineage) -> (u32, bool) {
        let mut above = (0..=lineage.len()).rev();
        let found = above
            .find_map(|length| Some((*self.0.get(&lineage[..length])?, length == lineage.len())));
        found.unwrap_or((0, false))
    }
}

/// Events of one thread from the kernel, and its steps so far.
#[derive(Default)]
struct Lane<'a> {
    events: VecDeque<LaneEvent<'a>>,
    /// Files that the thread reads at some time, and names that it will look up.
    reads: BTreeSet<u32>,
    looks: BTreeSet<u32>,
    /// Pages that the thread has read.
    touched: BTreeMap<u32, BTreeSet<u64>>,
    /// Number of threads that it has started so far.
    started: u32,
    done: Vec<LaneStep>,
}

enum LaneEvent<'a> {
    Access(u32, &'a FileAccess),
    Look(u32),
    Starts(Moment),
    Ends(Moment),
    Sync(LaneStep),
}

/// A moment of a thread: its index among all events, in the order of time.
type Moment = usize;

enum LaneStep {
    Use(StartupStep),
    Moment(Moment),
    /// The thread continues after this moment of another thread.
    After(Moment),
}

impl<'a> Lane<'a> {
    /// Adds the use of a name. The events before it are those up to the kernel's lookup of the
    /// name, or up to the first access to the file. They also include the start of the last thread
    /// that was started by then. A wait directly before the use is invisible to strace; `goes_on`
    /// says whether the wait may be over by then.
    fn name(
        &mut self,
        needed: &Needed,
        used: &NameUse,
        think: Nanos,
        is_itself: bool,
        goes_on: impl Fn(Moment) -> bool,
    ) {
        while is_itself && self.started < used.started && self.step(needed) {}
        while self.looks.contains(&used.entry) && self.step(needed) {}
        if self.reads.contains(&used.entry) && !self.touched.contains_key(&used.entry) {
            while let Some(next) = self.events.front() {
                if matches!(next, LaneEvent::Access(entry, _) if *entry == used.entry) {
                    break;
                }
                self.step(needed);
            }
        }
        while let Some(LaneEvent::Sync(next)) = self.events.front() {
            let is_before = match next {
                LaneStep::After(moment) => goes_on(*moment),
                LaneStep::Moment(_) | LaneStep::Use(_) => true,
            };
            if !is_before {
                break;
            }
            self.step(needed);
        }
        self.done.push(LaneStep::Use(StartupStep::Use { think, entry: used.entry, act: used.act }));
    }

    /// Handles the next event. Returns false if there is none.
    fn step(&mut self, needed: &Needed) -> bool {
        match self.events.pop_front() {
            None => return false,
            Some(LaneEvent::Starts(moment)) => {
                self.started += 1;
                self.done.push(LaneStep::Moment(moment));
            }
            Some(LaneEvent::Ends(moment)) => self.done.push(LaneStep::Moment(moment)),
            Some(LaneEvent::Look(entry)) => drop(self.looks.remove(&entry)),
            Some(LaneEvent::Sync(done)) => self.done.push(done),
            Some(LaneEvent::Access(entry, access)) => self.access(needed, entry, access),
        }
        true
    }

    fn access(&mut self, needed: &Needed, entry: u32, access: &'a FileAccess) {
        let EntryKind::File(size) = needed.entries[entry as usize].kind else { return };
        let (from, end) = (access.from, access.end.min(size.0));
        if from >= end {
            return;
        }
        let touched = self.touched.entry(entry).or_default();
        let pages = from / PAGE..end.div_ceil(PAGE);
        if access.how == PageAccess::Read && pages.clone().all(|page| touched.contains(&page)) {
            return;
        }
        // A mapped page in memory is a step too: the kernel reads ahead less and less in a file
        // whose pages it keeps missing.
        if access.how != PageAccess::Around {
            touched.extend(pages);
        }
        let before = match self.done.last_mut() {
            Some(LaneStep::Use(StartupStep::Use { entry: before, act, .. }))
                if *before == entry =>
            {
                Some(act)
            }
            _ => None,
        };
        // Adjacent accesses are merged.
        match (before, access.how) {
            (Some(StartupAction::Read { from: begun, bytes }), PageAccess::Read)
            | (Some(StartupAction::Map { from: begun, bytes }), PageAccess::Map)
                if *begun + *bytes == from =>
            {
                *bytes += end - from;
            }
            (_, how) => {
                let bytes = end - from;
                let act = match how {
                    PageAccess::Read => StartupAction::Read { from, bytes },
                    PageAccess::Map | PageAccess::Around => StartupAction::Map { from, bytes },
                };
                self.done.push(LaneStep::Use(StartupStep::Use { think: Nanos::ZERO, entry, act }));
            }
        }
    }
}

/// Returns the lanes of the kernel's events, and the moments at which a thread has ended.
fn lanes<'a>(needed: &Needed, events: &'a [ThreadEvent]) -> (Vec<Lane<'a>>, BTreeMap<Moment, u32>) {
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    lanes.resize_with(count(events), Lane::default);
    let mut moments: Moment = 0;
    // The threads that each thread has started, and ended threads that nobody has waited for yet.
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut ended: BTreeMap<u32, Moment> = BTreeMap::new();
    let mut ends = BTreeMap::new();
    for ThreadEvent { thread, what } in events {
        let lane = *thread as usize;
        moments += 1;
        match what {
            ThreadAct::Access(access) => {
                let Some(entry) = needed.number(&access.path) else { continue };
                lanes[lane].reads.insert(entry);
                lanes[lane].events.push_back(LaneEvent::Access(entry, access));
            }
            ThreadAct::Look(path) => {
                let Some(entry) = needed.number(path) else { continue };
                // Only the first of several lookups misses the cache.
                if lanes[lane].looks.insert(entry) {
                    lanes[lane].events.push_back(LaneEvent::Look(entry));
                }
            }
            ThreadAct::Starts(child) => {
                lanes[lane].events.push_back(LaneEvent::Starts(moments));
                lanes[*child as usize].events.push_back(LaneEvent::Sync(LaneStep::After(moments)));
                children.entry(*thread).or_default().push(*child);
            }
            // The end of a thread wakes the thread that waits for it.
            ThreadAct::Wakes(other) if other != thread => {
                let has_ended = matches!(lanes[lane].events.back(), Some(LaneEvent::Ends(_)));
                let item = if has_ended {
                    LaneEvent::Ends(moments)
                } else {
                    LaneEvent::Sync(LaneStep::Moment(moments))
                };
                ends.extend(has_ended.then_some((moments, *thread)));
                lanes[lane].events.push_back(item);
                lanes[*other as usize].events.push_back(LaneEvent::Sync(LaneStep::After(moments)));
            }
            ThreadAct::Wakes(_) => {}
            // A wait for a running thread ends with an event of its own, its wake-up.
            ThreadAct::Waits(whom) => {
                let all = children.get(thread).into_iter().flatten();
                let waited = all.filter(|child| whom.is_none_or(|whom| whom == **child));
                let over: Vec<Moment> = waited.filter_map(|child| ended.remove(child)).collect();
                lanes[lane].events.extend(
                    over.into_iter().map(|moment| LaneEvent::Sync(LaneStep::After(moment))),
                );
            }
            ThreadAct::Ends => {
                lanes[lane].events.push_back(LaneEvent::Ends(moments));
                ended.insert(*thread, moments);
                ends.insert(moments, *thread);
            }
        }
    }
    (lanes, ends)
}

/// Position in a lane, its uses so far, and the waits since the last use.
#[derive(Clone, Default)]
struct LaneReader {
    at: usize,
    uses: u32,
    since: Past,
}

/// Number of uses that each thread has completed at a moment.
type Past = BTreeMap<u32, u32>;

/// Returns the steps of each lane, once all its events are handled. A wait for a thread that was
/// itself only waiting becomes a wait for that thread's cause.
fn steps(lanes: Vec<Lane<'_>>) -> StartupThreads {
    let mut pasts: BTreeMap<Moment, Past> = BTreeMap::new();
    let mut readers = vec![LaneReader::default(); lanes.len()];
    // Moments are numbered in the order of time, across all lanes.
    let mut places: BTreeMap<Moment, usize> = BTreeMap::new();
    for (number, lane) in lanes.iter().enumerate() {
        places.extend(lane.done.iter().filter_map(|done| match done {
            LaneStep::Moment(moment) => Some((*moment, number)),
            _ => None,
        }));
    }
    for (moment, number) in places {
        let reader = &mut readers[number];
        while let Some(done) = lanes[number].done.get(reader.at) {
            reader.at += 1;
            match done {
                LaneStep::Use(_) => {
                    reader.uses += 1;
                    reader.since.clear();
                }
                LaneStep::After(earlier) => {
                    for (&thread, &uses) in pasts.get(earlier).into_iter().flatten() {
                        let most = reader.since.entry(thread).or_default();
                        *most = (*most).max(uses);
                    }
                }
                LaneStep::Moment(this) => {
                    let mut past = reader.since.clone();
                    past.insert(number as u32, reader.uses);
                    pasts.insert(*this, past);
                    if *this == moment {
                        break;
                    }
                }
            }
        }
    }
    let steps = lanes.into_iter().enumerate().map(|(number, lane)| {
        let (mut steps, mut waited) = (Vec::new(), Past::new());
        for done in lane.done {
            match done {
                LaneStep::Use(step) => steps.push(step),
                LaneStep::Moment(_) => {}
                LaneStep::After(moment) => {
                    for (&thread, &uses) in pasts.get(&moment).into_iter().flatten() {
                        let so_far = waited.entry(thread).or_default();
                        let is_new = uses > *so_far || steps.is_empty();
                        if thread != number as u32 && is_new {
                            *so_far = uses;
                            steps.push(StartupStep::After { thread, uses });
                        }
                    }
                }
            }
        }
        steps
    });
    StartupThreads(steps.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(done: Vec<LaneStep>) -> Lane<'static> {
        Lane { done, ..Lane::default() }
    }

    fn looks(count: usize) -> impl Iterator<Item = LaneStep> {
        (0..count).map(|_| {
            LaneStep::Use(StartupStep::Use {
                think: Nanos::ZERO,
                entry: 0,
                act: StartupAction::Look,
            })
        })
    }

    /// Thread 0 starts 1 after two uses. Thread 1 only starts 2, waits for it, and then wakes 0.
    #[test]
    fn who_waits_for_one_that_waited_waits_for_what_that_one_waited_for() {
        let mut first: Vec<LaneStep> = looks(2).collect();
        first.extend([LaneStep::Moment(1), LaneStep::After(4)]);
        first.extend(looks(1));
        // The thread has waited for this already.
        first.push(LaneStep::After(3));
        let second =
            vec![LaneStep::After(1), LaneStep::Moment(2), LaneStep::After(3), LaneStep::Moment(4)];
        let mut third = vec![LaneStep::After(2)];
        third.extend(looks(3));
        third.push(LaneStep::Moment(3));
        let threads = steps(vec![lane(first), lane(second), lane(third)]);
        let expected = "0 look 0\n0 look 0\nafter 2 3\n0 look 0\n\
                        thread 1\nafter 0 2\nafter 2 3\nthread 2\nafter 0 2\n0 look 0\n0 look \
                        0\n0 look 0\n";
        assert_eq!(threads.to_string(), expected);
    }

    #[test]
    fn another_run_has_the_same_lineages_or_fewer() {
        let starts = |thread, child| ThreadEvent { thread, what: ThreadAct::Starts(child) };
        let tree = ThreadTree::grow(&[starts(0, 1), starts(1, 2), starts(0, 3)]);
        let numbers = [vec![], vec![0], vec![1], vec![0, 0], vec![0, 1], vec![7, 7]]
            .map(|lineage| tree.number(&lineage));
        assert_eq!(numbers, [(0, true), (1, true), (3, true), (2, true), (1, false), (0, false)]);
    }
}

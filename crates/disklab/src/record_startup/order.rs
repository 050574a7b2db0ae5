//! Puts what a program used, by name, and what it read, by the kernel's account, into one order for
//! each of its threads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use disklab_config::startup::{EntryKind, StartupAction, StartupStep, StartupThreads};
use disklab_protocol::pages::PageAccess;
use disklab_results::strace::Lineage;
use disklab_units::Nanos;

use super::needed::{NameUse, Needed};
use super::program::{FileAccess, ThreadAct, ThreadEvent};

const PAGE: u64 = 4096;

/// A file is read for the first time after its name is first used; what of it is in memory by then
/// is not read again. `scale` makes the program's own time of strace's; `warm` is all of it. What
/// several threads computed at the same time is shared out among them.
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
    // What it computed after the last name.
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

/// The number of threads, with the first.
pub fn count(events: &[ThreadEvent]) -> usize {
    1 + events.iter().filter(|event| matches!(event.what, ThreadAct::Starts(_))).count()
}

/// The bytes that an action reads.
pub fn bytes(act: StartupAction) -> u64 {
    match act {
        StartupAction::Read { bytes, .. } | StartupAction::Map { bytes, .. } => bytes,
        StartupAction::Look | StartupAction::Miss | StartupAction::List => 0,
    }
}

/// Which thread is where in the tree of all.
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

    /// The thread, or the nearest above it, and whether it is itself: the guest has one processor,
    /// for which programs may start fewer.
    fn number(&self, lineage: &Lineage) -> (u32, bool) {
        let mut above = (0..=lineage.len()).rev();
        let found = above
            .find_map(|length| Some((*self.0.get(&lineage[..length])?, length == lineage.len())));
        found.unwrap_or((0, false))
    }
}

/// What the kernel said of one thread, and what came of it so far.
#[derive(Default)]
struct Lane<'a> {
    events: VecDeque<LaneEvent<'a>>,
    /// Files that it reads at some time, and names that it will look for.
    reads: BTreeSet<u32>,
    looks: BTreeSet<u32>,
    /// Pages that it has read.
    touched: BTreeMap<u32, BTreeSet<u64>>,
    /// Threads that it has started so far.
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

/// A moment of a thread, by its number among all, in the order of time.
type Moment = usize;

enum LaneStep {
    Use(StartupStep),
    Moment(Moment),
    /// The thread goes on after this moment of another.
    After(Moment),
}

impl<'a> Lane<'a> {
    /// A name is used when what came before the kernel looked for it, or before the first access to
    /// that file, and before the last thread that was started by then, has been done. What it
    /// waited for before this is not seen, if nothing else is between; `goes_on` is whether it may
    /// be over by then.
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

    /// The next event. False: there is none.
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
        // A mapped page that is in memory is worth a step: the kernel reads ahead of a file whose
        // pages it keeps missing less and less.
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
        // One goes on where the other ended.
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

/// The lanes, from what the kernel said, and the moments at which one has ended.
fn lanes<'a>(needed: &Needed, events: &'a [ThreadEvent]) -> (Vec<Lane<'a>>, BTreeMap<Moment, u32>) {
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    lanes.resize_with(count(events), Lane::default);
    let mut moments: Moment = 0;
    // Whom each has started, and who has ended and was not waited for yet.
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
                // Of those that come again, the first is where it is not in memory.
                if lanes[lane].looks.insert(entry) {
                    lanes[lane].events.push_back(LaneEvent::Look(entry));
                }
            }
            ThreadAct::Starts(child) => {
                lanes[lane].events.push_back(LaneEvent::Starts(moments));
                lanes[*child as usize].events.push_back(LaneEvent::Sync(LaneStep::After(moments)));
                children.entry(*thread).or_default().push(*child);
            }
            // Its end wakes who waits for it.
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
            // Of one that has not ended yet it is woken.
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

/// Where one is in a lane, its uses so far, and what it has waited for since the last.
#[derive(Clone, Default)]
struct LaneReader {
    at: usize,
    uses: u32,
    since: Past,
}

/// How many uses of which threads are over at a moment.
type Past = BTreeMap<u32, u32>;

/// The steps of each lane, once all its events are done. One who waits for a thread that only
/// waited itself waits for what that one waited for.
fn steps(lanes: Vec<Lane<'_>>) -> StartupThreads {
    let mut pasts: BTreeMap<Moment, Past> = BTreeMap::new();
    let mut readers = vec![LaneReader::default(); lanes.len()];
    // Moments are known in the order of time, whichever lanes they are of.
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

    /// 0 starts 1 after two uses; 1 does nothing but start 2 and wait for it, then wakes 0.
    #[test]
    fn who_waits_for_one_that_waited_waits_for_what_that_one_waited_for() {
        let mut first: Vec<LaneStep> = looks(2).collect();
        first.extend([LaneStep::Moment(1), LaneStep::After(4)]);
        first.extend(looks(1));
        // What it has waited for already.
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

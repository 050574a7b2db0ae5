//! Puts what a program used, by name, and what it read, by the kernel's account, into one order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use disklab_spec::startup::{Act, Step};
use disklab_units::Nanos;

use super::needed::Needed;
use super::program::{Access, How};

const PAGE: u64 = 4096;

/// A file is read for the first time after its name is first used; what of it is in memory by then is not read again.
/// `scale` makes the program's own time of strace's; `warm` is all of it.
pub fn steps(needed: &Needed, pages: &[Access], scale: f64, warm: Duration) -> Vec<Step> {
    let mut order = Order { needed, touched: BTreeMap::new(), steps: Vec::new() };
    let mut pages = pages.iter().peekable();
    let read: BTreeSet<u32> = pages.clone().filter_map(|access| needed.number(&access.path)).collect();
    let mut last = 0.0;
    for &(entry, at, act) in &needed.uses {
        // What was read before this file was.
        if read.contains(&entry) && !order.touched.contains_key(&entry) {
            while let Some(access) = pages.next_if(|access| needed.number(&access.path) != Some(entry)) {
                order.add(access);
            }
        }
        let think = Nanos::from_secs_f64((at - last) * scale);
        last = at;
        order.steps.push(Step { think, entry, act });
    }
    pages.for_each(|access| order.add(access));
    // What it computed after the last name.
    let told: u64 = order.steps.iter().map(|step| step.think.0).sum();
    if let Some(step) = order.steps.last_mut() {
        step.think = Nanos(step.think.0 + (warm.as_nanos() as u64).saturating_sub(told));
    }
    order.steps
}

/// That a step reads.
pub fn bytes(step: &Step) -> u64 {
    match step.act {
        Act::Read { bytes, .. } | Act::Map { bytes, .. } => bytes,
        Act::Look | Act::Miss | Act::List => 0,
    }
}

struct Order<'a> {
    needed: &'a Needed,
    /// Pages that are in memory.
    touched: BTreeMap<u32, BTreeSet<u64>>,
    steps: Vec<Step>,
}

impl Order<'_> {
    fn add(&mut self, access: &Access) {
        let Some(entry) = self.needed.number(&access.path) else { return };
        let disklab_spec::startup::EntryKind::File(size) = self.needed.entries[entry as usize].kind else {
            return;
        };
        let (from, end) = (access.from, access.end.min(size.0));
        if from >= end {
            return;
        }
        let touched = self.touched.entry(entry).or_default();
        let pages = from / PAGE..end.div_ceil(PAGE);
        if access.how == How::Read && pages.clone().all(|page| touched.contains(&page)) {
            return;
        }
        // A mapped page that is in memory is worth a step: the kernel reads ahead of a file whose pages it keeps missing less
        // and less.
        if access.how != How::Around {
            touched.extend(pages);
        }
        let before = self.steps.last_mut().filter(|step| step.entry == entry).map(|step| &mut step.act);
        // One goes on where the other ended.
        match before {
            Some(Act::Read { from: begun, bytes }) if access.how == How::Read && *begun + *bytes == from => {
                *bytes += end - from;
            }
            Some(Act::Map { from: begun, bytes }) if access.how == How::Map && *begun + *bytes == from => {
                *bytes += end - from;
            }
            _ => {
                let bytes = end - from;
                let act = match access.how {
                    How::Read => Act::Read { from, bytes },
                    How::Map | How::Around => Act::Map { from, bytes },
                };
                self.steps.push(Step { think: Nanos::ZERO, entry, act });
            }
        }
    }
}

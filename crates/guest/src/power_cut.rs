//! Power cuts: the contents of the disks after a power failure at a moment, written to files while
//! the guest continues.
//!
//! Each block that a disk has not promised to keep ([`crate::volatile`]), or that is being written,
//! has one of the contents that the medium may hold ([`crate::cut_states`]). The kernel's driver
//! hands over a write's data when the write ends. So the data of a write in progress is known only
//! then, and a cut is complete when the last of these writes has ended.

use crate::cut_states::{MayHold, choose, kept};
use crate::data::Data;
use crate::volatile::{BLOCK, Volatile};
use disklab_protocol::closing::PowerCut;
use disklab_protocol::machine::{PowerCutPlan, cut_images};
use disklab_units::{Bytes, Nanos, Random, Seed};
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

/// The power cuts of a trial; see the module.
pub struct PowerCuts {
    plan: PowerCutPlan,
    /// Draws the moments, and the first state of each cut.
    random: Random,
    /// Draws the other states.
    others: Random,
    /// Moments in virtual ns, the next one last. They are None before the first phase is announced.
    moments: Option<Vec<u64>>,
    disks: Vec<Volatile>,
    acknowledged: u64,
    promised: u64,
    under_way: Option<UnderWay>,
    taken: Vec<PowerCut>,
}

/// A cut that waits for writes in progress.
struct UnderWay {
    cut: PowerCut,
    /// Disk and tag of requests that have not ended.
    awaited: BTreeSet<(usize, u32)>,
    /// Disk and blocks of those writes.
    ranges: Vec<(usize, Range<u64>)>,
    /// The contents that each disk's medium may hold, for each uncertain or rewritten block. The
    /// last of them was the newest at the cut.
    may_hold: Vec<MayHold>,
}

/// A request that changes data, and has not ended.
pub struct OnTheWay {
    pub disk: usize,
    pub tag: u32,
    pub blocks: Range<u64>,
}

impl PowerCuts {
    /// Makes the cuts. `caches` holds how much written data each disk may lose.
    pub fn new(plan: PowerCutPlan, caches: impl Iterator<Item = Bytes>, seed: Seed) -> Self {
        let disks = caches.map(|cache| Volatile::new(cache, plan.ignore_flushes)).collect();
        Self {
            plan,
            random: Random::new(seed),
            others: Random::new(seed.derive("other states")),
            moments: None,
            disks,
            acknowledged: 0,
            promised: 0,
            under_way: None,
            taken: Vec::new(),
        }
    }

    /// Notes that a phase was announced, which begins `after` ns from now at the earliest.
    pub fn announced(&mut self, now: Nanos, after: u64) {
        if self.moments.is_some() {
            return;
        }
        let begin = now.0.saturating_add(after);
        let mut drawn: Vec<u64> = (0..self.plan.cuts)
            .map(|_| begin + self.random.below(self.plan.length_ns.max(1)))
            .collect();
        drawn.sort_unstable_by(|one, other| other.cmp(one));
        self.moments = Some(drawn);
    }

    pub fn acknowledged(&mut self, record: u64) {
        self.acknowledged = self.acknowledged.max(record);
    }

    pub fn promised(&mut self, note: u64) {
        self.promised = self.promised.max(note);
    }

    /// Returns the time of the next action that no disk announces.
    pub fn next_event(&self) -> Option<Nanos> {
        let moment = self.moments.as_ref().and_then(|moments| moments.last().copied());
        moment.filter(|_| self.under_way.is_none()).map(Nanos)
    }

    /// Cuts the power if it is time to. This comes before the disks advance, since no request that
    /// ends now is known to have ended. `present` are the writes at the disks.
    pub fn advance(
        &mut self,
        now: Nanos,
        present: impl Iterator<Item = OnTheWay>,
        data: &[&Data],
    ) -> io::Result<()> {
        if self.under_way.as_ref().is_some_and(|under_way| under_way.awaited.is_empty()) {
            self.complete(data)?;
        }
        if self.next_event().is_none_or(|moment| moment > now) {
            return Ok(());
        }
        self.moments.as_mut().and_then(Vec::pop);
        let mut may_hold = Vec::new();
        for (disk, data) in self.disks.iter().zip(data) {
            let mut blocks = MayHold::new();
            for (number, older, write) in disk.unsure() {
                let newest = (write, data.content(number * BLOCK, BLOCK)?);
                blocks.insert(number, older.iter().cloned().chain([newest]).collect());
            }
            may_hold.push(blocks);
        }
        let present: Vec<_> = present.collect();
        let range = |write: &OnTheWay| (write.disk, write.blocks.clone());
        let cut = PowerCut {
            at: now,
            acknowledged: self.acknowledged,
            promised: self.promised,
            on_the_way: present.len() as u64,
            ..PowerCut::default()
        };
        self.under_way = Some(UnderWay {
            cut,
            awaited: present.iter().map(|write| (write.disk, write.tag)).collect(),
            ranges: present.iter().map(range).collect(),
            may_hold,
        });
        Ok(())
    }

    /// Handles blocks of a disk that are about to get other data.
    pub fn before_change(&mut self, disk: usize, blocks: &[u64], data: &Data) -> io::Result<()> {
        let content = |&number: &u64| Ok((number, data.content(number * BLOCK, BLOCK)?));
        let before: Vec<_> = blocks.iter().map(content).collect::<io::Result<_>>()?;
        if let Some(under_way) = &mut self.under_way {
            let may_hold = &mut under_way.may_hold[disk];
            for (number, content) in &before {
                may_hold.entry(*number).or_insert_with(|| vec![(0, content.clone())]);
            }
        }
        self.disks[disk].write(before.into_iter());
        Ok(())
    }

    /// Handles blocks of a disk that got other data.
    pub fn after_change(&mut self, disk: usize, blocks: &[u64], data: &Data) -> io::Result<()> {
        let Some(under_way) = &mut self.under_way else { return Ok(()) };
        let on_the_way = |number: &&u64| {
            under_way.ranges.iter().any(|(on, range)| *on == disk && range.contains(number))
        };
        let (may_hold, write) = (&mut under_way.may_hold[disk], self.disks[disk].written());
        for &number in blocks.iter().filter(on_the_way) {
            let content = data.content(number * BLOCK, BLOCK)?;
            may_hold.entry(number).or_default().push((write, content));
        }
        Ok(())
    }

    pub fn flush_came(&mut self, disk: usize, tag: u32) {
        self.disks[disk].flush_came(tag);
    }

    /// Handles a request or a flush that has ended.
    pub fn ended(&mut self, disk: usize, tag: u32, flush: bool) {
        if flush {
            self.disks[disk].flush_ended(tag);
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.awaited.remove(&(disk, tag));
        }
    }

    /// Writes the rest of the last cut, and returns the states of all cuts whose moment came.
    pub fn close(&mut self, data: &[&Data]) -> io::Result<Vec<PowerCut>> {
        self.complete(data)?;
        Ok(std::mem::take(&mut self.taken))
    }

    fn complete(&mut self, data: &[&Data]) -> io::Result<()> {
        let Some(UnderWay { cut, may_hold, .. }) = self.under_way.take() else { return Ok(()) };
        let mut tried = BTreeSet::new();
        for number in 0..self.plan.states {
            let kept = kept(number, may_hold.len());
            let random = if kept.is_none() { &mut self.random } else { &mut self.others };
            let chosen = choose(kept, &may_hold, random);
            if tried.contains(&chosen) {
                continue;
            }
            let folder = cut_images(&self.plan.folder, self.taken.len());
            std::fs::create_dir(&folder)?;
            let mut state = PowerCut { kept, ..cut.clone() };
            for (disk, ((data, blocks), chosen)) in
                data.iter().zip(&may_hold).zip(&chosen).enumerate()
            {
                let mut image = data.copy(&folder.join(format!("{disk}.img")))?;
                for ((number, contents), &index) in blocks.iter().zip(chosen) {
                    state.unsure += u64::from(contents.len() > 1);
                    state.lost += u64::from(index + 1 < contents.len());
                    image.set_content(number * BLOCK, BLOCK, &contents[index].1)?;
                }
            }
            self.taken.push(state);
            tried.insert(chosen);
        }
        Ok(())
    }
}

//! Power cuts: what the disks would hold if the power had gone at a moment, written aside while the
//! guest goes on.
//!
//! Of what a disk had not promised to keep ([`crate::volatile`]), and of the writes that were on
//! their way to it, each block is drawn by the seed from all that the medium may hold. The kernel's
//! driver hands over a write's data when the write ends, so that what was on its way is known only
//! then: a cut is complete when the last of these has ended.

use crate::data::Data;
use crate::volatile::{BLOCK, Content, Volatile};
use disklab_protocol::closing::PowerCut;
use disklab_protocol::machine::{PowerCutPlan, cut_images};
use disklab_units::{Bytes, Nanos, Random};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

/// See the module.
pub struct PowerCuts {
    plan: PowerCutPlan,
    random: Random,
    /// Virtual ns, the next one last. None before the first phase is announced.
    moments: Option<Vec<u64>>,
    disks: Vec<Volatile>,
    acknowledged: u64,
    promised: u64,
    under_way: Option<UnderWay>,
    taken: Vec<PowerCut>,
}

/// A cut that writes on their way keep from being complete.
struct UnderWay {
    cut: PowerCut,
    /// Disk and tag of what has not ended.
    awaited: BTreeSet<(usize, u32)>,
    /// Disk and blocks of those writes.
    ranges: Vec<(usize, Range<u64>)>,
    /// By disk, of each block that is unsure or was written since: what the medium may hold. At the
    /// cut, the last of them was the newest.
    may_hold: Vec<BTreeMap<u64, Vec<Content>>>,
}

/// A request that changes data, and that has not ended.
pub struct OnTheWay {
    pub disk: usize,
    pub tag: u32,
    pub blocks: Range<u64>,
}

impl PowerCuts {
    /// `caches`: by disk, how much of what was written it may lose.
    pub fn new(plan: PowerCutPlan, caches: impl Iterator<Item = Bytes>, random: Random) -> Self {
        let disks = caches.map(|cache| Volatile::new(cache, plan.ignore_flushes)).collect();
        Self {
            plan,
            random,
            moments: None,
            disks,
            acknowledged: 0,
            promised: 0,
            under_way: None,
            taken: Vec::new(),
        }
    }

    /// A phase is announced, which begins `after` ns from now at the earliest.
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

    /// When something is to be done that no disk would say.
    pub fn next_event(&self) -> Option<Nanos> {
        let moment = self.moments.as_ref().and_then(|moments| moments.last().copied());
        moment.filter(|_| self.under_way.is_none()).map(Nanos)
    }

    /// Cuts the power if it is time to; to be asked before the disks are, since nothing that ends
    /// now is known yet to have ended. `present` are the writes at the disks.
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
        let mut may_hold: Vec<BTreeMap<u64, Vec<Content>>> = Vec::new();
        for (disk, data) in self.disks.iter().zip(data) {
            let mut blocks = BTreeMap::new();
            for (number, older) in disk.unsure() {
                let newest = data.content(number * BLOCK, BLOCK)?;
                blocks.insert(number, older.cloned().chain([newest]).collect());
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

    /// These blocks of a disk are about to be given other bytes.
    pub fn before_change(&mut self, disk: usize, blocks: &[u64], data: &Data) -> io::Result<()> {
        let content = |&number: &u64| Ok((number, data.content(number * BLOCK, BLOCK)?));
        let before: Vec<_> = blocks.iter().map(content).collect::<io::Result<_>>()?;
        if let Some(under_way) = &mut self.under_way {
            let may_hold = &mut under_way.may_hold[disk];
            for (number, content) in &before {
                may_hold.entry(*number).or_insert_with(|| vec![content.clone()]);
            }
        }
        self.disks[disk].write(before.into_iter());
        Ok(())
    }

    /// They were given them.
    pub fn after_change(&mut self, disk: usize, blocks: &[u64], data: &Data) -> io::Result<()> {
        let Some(under_way) = &mut self.under_way else { return Ok(()) };
        let on_the_way = |number: &&u64| {
            under_way.ranges.iter().any(|(on, range)| *on == disk && range.contains(number))
        };
        let may_hold = &mut under_way.may_hold[disk];
        for &number in blocks.iter().filter(on_the_way) {
            may_hold.entry(number).or_default().push(data.content(number * BLOCK, BLOCK)?);
        }
        Ok(())
    }

    pub fn flush_came(&mut self, disk: usize, tag: u32) {
        self.disks[disk].flush_came(tag);
    }

    /// A request has ended, or a flush.
    pub fn ended(&mut self, disk: usize, tag: u32, flush: bool) {
        if flush {
            self.disks[disk].flush_ended(tag);
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.awaited.remove(&(disk, tag));
        }
    }

    /// All cuts that were made; writes what is left of the last one. Those whose moment never came
    /// are not among them.
    pub fn close(&mut self, data: &[&Data]) -> io::Result<Vec<PowerCut>> {
        self.complete(data)?;
        Ok(std::mem::take(&mut self.taken))
    }

    fn complete(&mut self, data: &[&Data]) -> io::Result<()> {
        let Some(UnderWay { mut cut, may_hold, .. }) = self.under_way.take() else { return Ok(()) };
        let folder = cut_images(&self.plan.folder, self.taken.len());
        std::fs::create_dir(&folder)?;
        for (disk, (data, blocks)) in data.iter().zip(may_hold).enumerate() {
            let mut image = data.copy(&folder.join(format!("{disk}.img")))?;
            for (number, contents) in blocks {
                let last = contents.len() as u64 - 1;
                let drawn = self.random.below(last + 1);
                cut.unsure += u64::from(last > 0);
                cut.lost += u64::from(drawn < last);
                image.set_content(number * BLOCK, BLOCK, &contents[drawn as usize])?;
            }
        }
        self.taken.push(cut);
        Ok(())
    }
}

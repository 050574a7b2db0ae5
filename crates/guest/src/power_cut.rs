//! Power cuts: the contents of the disks after a power failure at a moment, written to files while
//! the guest continues.
//!
//! Each block that a disk has not promised to keep ([`crate::volatile`]), or that is being written,
//! is drawn by the seed from all contents that the medium may hold. The kernel's driver hands over
//! a write's data when the write ends. So the data of a write in progress is known only then, and a
//! cut is complete when the last of these writes has ended.

use crate::data::Data;
use crate::volatile::{BLOCK, Content, Volatile};
use disklab_protocol::closing::PowerCut;
use disklab_protocol::machine::{PowerCutPlan, cut_images};
use disklab_units::{Bytes, Nanos, Random};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

/// The power cuts of a trial; see the module.
pub struct PowerCuts {
    plan: PowerCutPlan,
    random: Random,
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
    /// The contents that the medium may hold, by disk, for each uncertain or rewritten block. The
    /// last of them was the newest at the cut.
    may_hold: Vec<BTreeMap<u64, Vec<Content>>>,
}

/// A request that changes data, and has not ended.
pub struct OnTheWay {
    pub disk: usize,
    pub tag: u32,
    pub blocks: Range<u64>,
}

impl PowerCuts {
    /// Makes the cuts. `caches` holds how much written data each disk may lose.
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

    /// Handles blocks of a disk that are about to get other data.
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

    /// Handles blocks of a disk that got other data.
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

    /// Handles a request or a flush that has ended.
    pub fn ended(&mut self, disk: usize, tag: u32, flush: bool) {
        if flush {
            self.disks[disk].flush_ended(tag);
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.awaited.remove(&(disk, tag));
        }
    }

    /// Writes the rest of the last cut, and returns all cuts that were made, without those whose
    /// moment never came.
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

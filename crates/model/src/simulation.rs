//! The event loop: jobs submit reads, policies choose mirrors, queues feed disks, disks end reads.

use std::collections::{BTreeMap, VecDeque};

use disklab_config::suite::Metadata;
use disklab_disks::{Bank, Completion, Op};
use disklab_units::Nanos;

use crate::block_layer::{BlockLayer, Nobody, Observer};
use crate::job::ReadingJob;
use crate::mapping::{ChunkStripe, MappedPiece, Mapping, NODE};
use crate::mirror_state::{MirrorStates, SentRead};
use crate::oracle::Oracle;
use crate::queue::QueuedRequest;
use crate::slots::Slots;
use crate::{Chooser, oracle};

/// A read of fio that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedRead {
    pub begun: Nanos,
    pub ended: Nanos,
    pub bytes: u64,
}

/// A read of a job that is under way.
#[derive(Debug, Clone, Copy, Default)]
struct JobRead {
    job: usize,
    begun: Nanos,
    /// The first byte of the read.
    place: u64,
    bytes: u64,
    /// Whether the read goes through the page cache.
    is_buffered: bool,
    /// Number of reads of btrfs that have not ended, plus one while more may come.
    open: u32,
}

/// A read that btrfs sent to one device.
#[derive(Debug, Clone, Copy)]
struct DeviceRead {
    sent: SentRead,
    /// Index of its [`JobRead`].
    of: usize,
    /// Number of requests that have not ended.
    open: u32,
}

/// The part of a job's read that has not gone to the block layer.
#[derive(Debug, Clone, Copy)]
struct Submission {
    read: usize,
    logical: u64,
    left: u64,
    /// The device's read that is being split, and the number of its bytes that are left.
    piece: Option<(usize, u64)>,
}

/// The simulation of everything that a trial's reads pass through.
pub struct Simulation<'a> {
    now: Nanos,
    mapping: &'a Mapping,
    mirrors: MirrorStates,
    oracle: Option<Oracle>,
    layer: BlockLayer,
    jobs: Vec<ReadingJob>,
    submissions: Vec<Option<Submission>>,
    /// Whether the checksums are in memory when the jobs begin.
    metadata: Metadata,
    /// The places that the page cache has (`None`) or waits for. The latter have the reads of other
    /// jobs that wait too. Leaves of checksums are kept here as well.
    cached: BTreeMap<u64, Option<Vec<JobRead>>>,
    /// The ranges that btrfs locks for direct reads until they end (`btrfs_lock_dio_extent()`): for
    /// each first byte, the end of the range and the jobs that wait for it.
    locked: BTreeMap<u64, (u64, Vec<usize>)>,
    /// For each job, the read that waits for a range or for checksums.
    waiting: Vec<Option<JobRead>>,
    /// Jobs that may continue, in the order in which they were woken.
    woken: VecDeque<usize>,
    /// Requests of the present job that have not gone to their queues.
    plug: Vec<(usize, QueuedRequest)>,
    reads: Slots<JobRead>,
    device_reads: Slots<DeviceRead>,
    done: Vec<(usize, Completion)>,
}

impl<'a> Simulation<'a> {
    pub fn new(mapping: &'a Mapping, mirrors: MirrorStates, layer: BlockLayer) -> Self {
        Self {
            now: Nanos::ZERO,
            mapping,
            mirrors,
            oracle: None,
            layer,
            jobs: Vec::new(),
            submissions: Vec::new(),
            metadata: Metadata::Warm,
            cached: BTreeMap::new(),
            locked: BTreeMap::new(),
            waiting: Vec::new(),
            woken: VecDeque::new(),
            plug: Vec::new(),
            reads: Slots::new(),
            device_reads: Slots::new(),
            done: Vec::new(),
        }
    }

    /// Returns the time and the disks.
    pub const fn state(&self) -> (Nanos, &Bank) {
        (self.now, self.layer.bank())
    }

    pub fn set_chooser(&mut self, chooser: Chooser) {
        match chooser {
            Chooser::Policy(choice) => self.mirrors.choice = choice,
            Chooser::Oracle(oracle) => self.oracle = Some(oracle),
        }
    }

    /// Ends the simulation and returns the time and the disks.
    pub fn into_parts(self) -> (Nanos, Bank) {
        (self.now, self.layer.into_bank())
    }

    /// Reads these places (address and length in bytes) one after another, by one thread.
    pub fn read_alone(&mut self, reads: impl Iterator<Item = (u64, u64)>, pid: u32) {
        self.submissions = vec![None];
        for (place, bytes) in reads {
            self.begin(JobRead { begun: self.now, place, bytes, open: 1, ..JobRead::default() });
            self.proceed(0, pid, &mut Nobody);
            while let Some(at) = self.layer.bank().next_event() {
                self.advance(at, &mut Nobody);
            }
        }
    }

    /// Runs jobs until `length` has passed and all reads have ended. Calls `ended` with each.
    pub fn run(
        &mut self,
        jobs: Vec<ReadingJob>,
        metadata: Metadata,
        length: Nanos,
        observer: &mut impl Observer,
        ended: &mut impl FnMut(EndedRead),
    ) {
        let start = self.now;
        self.submissions = vec![None; jobs.len()];
        self.waiting = vec![None; jobs.len()];
        self.jobs = jobs;
        self.metadata = metadata;
        self.woken = (0..self.jobs.len()).collect();
        loop {
            while let Some(job) = self.woken.pop_front() {
                self.go_on(job, start, length, observer, ended);
            }
            // This is the next of the jobs that wait because of their rate.
            let elapsed = self.now.saturating_sub(start);
            let awake = self.jobs.iter().enumerate().filter(|(_, job)| !job.sleeps);
            let due = awake.filter_map(|(n, job)| Some((job.due(elapsed)?, n)));
            let due = due.filter(|(due, _)| *due < length).min();
            let due = due.map(|(due, job)| (start + due, job));
            let next = self.layer.bank().next_event();
            match due {
                Some((due, job)) if next.is_none_or(|next| due < next) => {
                    self.advance(due, observer);
                    self.woken.push_back(job);
                }
                _ => {
                    let Some(next) = next else { return };
                    self.advance(next, observer);
                }
            }
        }
    }

    /// Continues a job as fio does: it begins reads while it may, then sees the end of one, and so
    /// on. It does neither while it sleeps within a submission.
    fn go_on(
        &mut self,
        job: usize,
        start: Nanos,
        length: Nanos,
        observer: &mut impl Observer,
        ended: &mut impl FnMut(EndedRead),
    ) {
        self.jobs[job].sleeps = true;
        if let Some(read) = self.waiting[job].take() {
            self.begin(read);
        }
        loop {
            self.proceed(job, self.jobs[job].pid, observer);
            if self.submissions[job].is_some() || self.waiting[job].is_some() {
                return;
            }
            let elapsed = self.now.saturating_sub(start);
            let one = &mut self.jobs[job];
            if one.due(elapsed).is_some_and(|due| due <= elapsed && due < length) {
                let is_buffered = one.is_buffered();
                let (place, bytes) = one.begin();
                self.begin(JobRead { job, begun: self.now, place, bytes, is_buffered, open: 1 });
            } else if let Some((begun, bytes)) = one.unseen.pop_front() {
                one.in_flight -= 1;
                ended(EndedRead { begun, ended: self.now, bytes });
            } else {
                one.sleeps = false;
                return;
            }
        }
    }

    /// Begins a job's read, or lets it wait for another that reads the same place, or for its
    /// checksums.
    fn begin(&mut self, read: JobRead) {
        let JobRead { job, place, bytes, is_buffered, .. } = read;
        let leaf = self.mapping.checksums(place);
        if self.metadata == Metadata::Cold && place < self.mapping.metadata() {
            match self.cached.get_mut(&leaf) {
                Some(None) => {}
                Some(Some(jobs)) => {
                    jobs.push(read);
                    self.waiting[job] = Some(read);
                    return;
                }
                None => {
                    self.waiting[job] = Some(read);
                    let place = leaf;
                    return self.begin(JobRead { place, bytes: NODE, is_buffered: true, ..read });
                }
            }
        }
        if is_buffered {
            match self.cached.get_mut(&place) {
                Some(None) => return self.jobs[job].unseen.push_back((read.begun, bytes)),
                Some(Some(waiting)) => return waiting.push(read),
                None => {
                    self.cached.insert(place, Some(Vec::new()));
                }
            }
        } else {
            let before = self.locked.range_mut(..place + bytes).next_back();
            if let Some((_, (_, jobs))) = before.filter(|(_, (end, _))| *end > place) {
                jobs.push(job);
                self.waiting[job] = Some(read);
                return;
            }
            self.locked.insert(place, (place + bytes, Vec::new()));
        }
        let read = self.reads.put(read);
        self.submissions[job] = Some(Submission { read, logical: place, left: bytes, piece: None });
    }

    /// Continues a job's submission until it is complete or has to wait for a tag.
    fn proceed(&mut self, job: usize, pid: u32, observer: &mut impl Observer) {
        while let Some(mut submission) = self.submissions[job] {
            let Some((device_read, left)) = submission.piece else {
                if submission.left == 0 {
                    self.submissions[job] = None;
                    self.reads.all[submission.read].open -= 1;
                    break;
                }
                let piece = self.mapping.piece(submission.logical, submission.left);
                let answer = self.choose(job, &piece, submission.logical, pid);
                let sent = self.mirrors.send(&piece, answer, self.now);
                let read = DeviceRead { sent, of: submission.read, open: 0 };
                self.reads.all[submission.read].open += 1;
                submission.logical += sent.length;
                submission.left -= sent.length;
                submission.piece = Some((self.device_reads.put(read), sent.length));
                self.submissions[job] = Some(submission);
                continue;
            };
            let SentRead { disk, physical, length, .. } = self.device_reads.all[device_read].sent;
            let largest = self.layer.queues[disk].largest;
            let bytes = left.min(largest);
            let start = physical + length - left;
            let mut plugged = self.plug.iter_mut().rev().filter(|(of, _)| *of == disk);
            if !plugged.any(|(_, request)| request.merge(start, bytes, largest, device_read)) {
                if !self.layer.queues[disk].allocate(job) {
                    break;
                }
                self.mirrors.count_in_flight(disk, Op::Read, true);
                let reads = vec![device_read];
                let submitted = self.now;
                self.plug.push((disk, QueuedRequest { start, bytes, reads, submitted }));
            }
            self.device_reads.all[device_read].open += 1;
            submission.piece = Some((device_read, left - bytes)).filter(|(_, left)| *left > 0);
            self.submissions[job] = Some(submission);
        }
        self.unplug(observer);
    }

    fn unplug(&mut self, observer: &mut impl Observer) {
        let mut plug = std::mem::take(&mut self.plug);
        for (disk, request) in plug.drain(..) {
            self.layer.queues[disk].insert(request);
        }
        self.plug = plug;
        for disk in 0..self.layer.queues.len() {
            self.layer.feed(self.now, disk, observer);
        }
    }

    /// Returns the index of the mirror to which a job's read goes.
    fn choose(&self, job: usize, piece: &MappedPiece<'_>, logical: u64, pid: u32) -> usize {
        let Some(oracle) = self.oracle else { return self.mirrors.decide(piece, logical, pid) };
        let price = |stripe: &ChunkStripe| {
            let (layer, asked) = self.copied(job, stripe, piece);
            oracle.price(layer, self.now, stripe.disk, asked)
        };
        let prices = piece.mirrors.iter().map(price).enumerate();
        prices.min_by_key(|(_, price)| *price).map_or(0, |(index, _)| index)
    }

    /// Returns a copy of the disks and their queues for the oracle, and the requests of a read at a
    /// mirror. The queues of the copy include the requests in the plug, and those of jobs that
    /// sleep until there is a tag.
    fn copied(
        &self,
        job: usize,
        stripe: &ChunkStripe,
        piece: &MappedPiece<'_>,
    ) -> (BlockLayer, Vec<QueuedRequest>) {
        let mut layer = self.layer.clone();
        for (disk, request) in &self.plug {
            layer.queues[*disk].insert(request.clone());
        }
        let sleeping = self.submissions.iter().enumerate().filter(|(of, _)| *of != job);
        for (device_read, left) in sleeping.filter_map(|(_, submission)| (*submission)?.piece) {
            let SentRead { disk, physical, length, .. } = self.device_reads.all[device_read].sent;
            let start = physical + length - left;
            let queue = &mut layer.queues[disk];
            let requests = queue.split(start, left, device_read, self.now);
            queue.insert_beyond(requests);
        }
        let start = stripe.physical + piece.offset;
        let asked = layer.queues[stripe.disk].split(start, piece.length, oracle::ASKED, self.now);
        (layer, asked)
    }

    /// Advances the time to `at`, and ends the requests that have ended by then.
    fn advance(&mut self, at: Nanos, observer: &mut impl Observer) {
        self.now = at;
        let mut done = std::mem::take(&mut self.done);
        self.layer.advance(at, &mut done);
        for (disk, completion) in done.drain(..) {
            let Some(queued) = self.layer.take(disk, &completion, observer) else { continue };
            self.mirrors.count_in_flight(disk, Op::Read, false);
            for read in queued.reads {
                self.request_ended(read);
            }
            self.layer.queues[disk].ended(&mut self.woken);
            self.layer.feed(at, disk, observer);
        }
        self.done = done;
    }

    fn request_ended(&mut self, device_read: usize) {
        let read = &mut self.device_reads.all[device_read];
        read.open -= 1;
        let is_split = self
            .submissions
            .iter()
            .flatten()
            .any(|one| one.piece.is_some_and(|(of, _)| of == device_read));
        if read.open > 0 || is_split {
            return;
        }
        let DeviceRead { sent, of, .. } = *read;
        self.device_reads.free.push(device_read);
        self.mirrors.completed(&sent, self.now);
        let read = &mut self.reads.all[of];
        read.open -= 1;
        if read.open > 0 {
            return;
        }
        let read = *read;
        self.reads.free.push(of);
        let mut waiting = Vec::new();
        if read.is_buffered {
            waiting = self.cached.insert(read.place, None).flatten().unwrap_or_default();
        } else if let Some((_, jobs)) = self.locked.remove(&read.place) {
            self.woken.extend(jobs);
        }
        let is_metadata = read.place >= self.mapping.metadata();
        for read in std::iter::once(read).chain(waiting) {
            let Some(job) = self.jobs.get_mut(read.job) else { continue };
            if !is_metadata {
                job.unseen.push_back((read.begun, read.bytes));
            }
            // A job that was already woken would otherwise sleep in two lines.
            if (!job.sleeps || is_metadata) && !self.woken.contains(&read.job) {
                self.woken.push_back(read.job);
            }
        }
    }
}

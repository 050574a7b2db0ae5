//! The event loop: jobs submit reads, policies choose mirrors, queues feed disks, disks end reads.

use std::collections::VecDeque;

use disklab_disks::{Bank, Completion, Op, Request};
use disklab_units::Nanos;

use crate::job::ReadingJob;
use crate::mapping::Mapping;
use crate::mirror_state::{MirrorStates, SentRead};
use crate::queue::{DiskQueue, QueuedRequest};

/// Sees the requests of all disks.
pub trait Observer {
    /// A request goes to a disk.
    fn arrived(&mut self, now: Nanos, disk: usize, request: &Request, bank: &Bank);
    /// A request has ended. It was submitted to the disk at `submitted`.
    fn ended(
        &mut self,
        disk: usize,
        request: &Request,
        submitted: Nanos,
        done: &Completion,
        bank: &Bank,
    );
}

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
    bytes: u64,
    /// Reads of btrfs that have not ended, and one while more may come.
    open: u32,
}

/// A read that btrfs sent to one device.
#[derive(Debug, Clone, Copy)]
struct DeviceRead {
    sent: SentRead,
    /// Index of its [`JobRead`].
    of: usize,
    /// Requests that have not ended.
    open: u32,
}

/// The part of a job's read that has not gone to the block layer.
#[derive(Debug, Clone, Copy)]
struct Submission {
    read: usize,
    logical: u64,
    left: u64,
    /// The device's read that is being split, and how many of its bytes are left.
    piece: Option<(usize, u64)>,
}

/// Reusable places for what is under way.
#[derive(Debug)]
struct Slots<T> {
    all: Vec<T>,
    free: Vec<usize>,
}

impl<T> Slots<T> {
    const fn new() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }

    fn put(&mut self, value: T) -> usize {
        if let Some(place) = self.free.pop() {
            self.all[place] = value;
            return place;
        }
        self.all.push(value);
        self.all.len() - 1
    }
}

/// Everything that a trial's readers go through.
pub struct Simulation<'a> {
    now: Nanos,
    mapping: &'a Mapping,
    mirrors: MirrorStates,
    queues: Vec<DiskQueue>,
    bank: Bank,
    /// By disk and id: what is at the disk.
    present: Vec<Slots<Option<(Request, QueuedRequest)>>>,
    jobs: Vec<ReadingJob>,
    submissions: Vec<Option<Submission>>,
    /// By disk: jobs that wait for a tag.
    blocked: Vec<VecDeque<usize>>,
    /// Requests of the job at hand that have not gone to their queues.
    plug: Vec<(usize, QueuedRequest)>,
    reads: Slots<JobRead>,
    device_reads: Slots<DeviceRead>,
    done: Vec<(usize, Completion)>,
}

impl<'a> Simulation<'a> {
    pub fn new(
        mapping: &'a Mapping,
        mirrors: MirrorStates,
        queues: Vec<DiskQueue>,
        bank: Bank,
    ) -> Self {
        let disks = queues.len();
        Self {
            now: Nanos::ZERO,
            mapping,
            mirrors,
            queues,
            bank,
            present: (0..disks).map(|_| Slots::new()).collect(),
            jobs: Vec::new(),
            submissions: Vec::new(),
            blocked: vec![VecDeque::new(); disks],
            plug: Vec::new(),
            reads: Slots::new(),
            device_reads: Slots::new(),
            done: Vec::new(),
        }
    }

    /// The time, and the disks.
    pub const fn state(&self) -> (Nanos, &Bank) {
        (self.now, &self.bank)
    }

    /// Ends the simulation: the time, and the disks.
    pub fn into_parts(self) -> (Nanos, Bank) {
        (self.now, self.bank)
    }

    /// Reads `length` bytes at each of these places, one after the other, by one thread.
    pub fn read_alone(&mut self, places: impl Iterator<Item = u64>, length: u64, pid: u32) {
        struct Nobody;
        impl Observer for Nobody {
            fn arrived(&mut self, _: Nanos, _: usize, _: &Request, _: &Bank) {}
            fn ended(&mut self, _: usize, _: &Request, _: Nanos, _: &Completion, _: &Bank) {}
        }
        self.submissions = vec![None];
        for logical in places {
            self.begin(0, logical, length);
            self.proceed(0, pid, &mut Nobody);
            while let Some(at) = self.bank.next_event() {
                self.advance(at, &mut Nobody, &mut |_| {});
            }
        }
    }

    /// Runs jobs until `length` has passed and all reads have ended. Calls `ended` with each.
    pub fn run(
        &mut self,
        jobs: Vec<ReadingJob>,
        length: Nanos,
        observer: &mut impl Observer,
        ended: &mut impl FnMut(EndedRead),
    ) {
        let start = self.now;
        self.submissions = vec![None; jobs.len()];
        self.jobs = jobs;
        loop {
            let mut next = self.bank.next_event();
            for job in 0..self.jobs.len() {
                while self.submissions[job].is_none()
                    && let Some(due) = self.jobs[job].due(self.now.saturating_sub(start))
                    && due < length
                {
                    let due = start + due;
                    if due > self.now {
                        next = Some(next.map_or(due, |next| next.min(due)));
                        break;
                    }
                    let (logical, bytes) = self.jobs[job].begin();
                    self.begin(job, logical, bytes);
                    self.proceed(job, self.jobs[job].pid, observer);
                    next = self.bank.next_event();
                }
            }
            // A job that waits for its rate may be due before a disk that was fed since.
            let Some(at) = next.into_iter().chain(self.bank.next_event()).min() else { return };
            self.advance(at, observer, ended);
        }
    }

    fn begin(&mut self, job: usize, logical: u64, bytes: u64) {
        let read = self.reads.put(JobRead { job, begun: self.now, bytes, open: 1 });
        self.submissions[job] = Some(Submission { read, logical, left: bytes, piece: None });
    }

    /// Goes on with a job's submission, until it is whole or has to wait for a tag.
    fn proceed(&mut self, job: usize, pid: u32, observer: &mut impl Observer) {
        while let Some(mut submission) = self.submissions[job] {
            let Some((device_read, left)) = submission.piece else {
                if submission.left == 0 {
                    self.submissions[job] = None;
                    self.reads.all[submission.read].open -= 1;
                    break;
                }
                let piece = self.mapping.piece(submission.logical, submission.left);
                let sent = self.mirrors.choose(&piece, submission.logical, pid, self.now);
                let read = DeviceRead { sent, of: submission.read, open: 0 };
                self.reads.all[submission.read].open += 1;
                submission.logical += sent.length;
                submission.left -= sent.length;
                submission.piece = Some((self.device_reads.put(read), sent.length));
                self.submissions[job] = Some(submission);
                continue;
            };
            let SentRead { disk, physical, length, .. } = self.device_reads.all[device_read].sent;
            let largest = self.queues[disk].largest;
            let bytes = left.min(largest);
            let start = physical + length - left;
            let is_behind = |plugged: &&mut (usize, QueuedRequest)| {
                plugged.0 == disk && plugged.1.start + plugged.1.bytes == start
            };
            let before = self.plug.iter_mut().rev().find(is_behind);
            if let Some((_, before)) = before.filter(|(_, one)| one.bytes + bytes <= largest) {
                before.bytes += bytes;
                before.reads.push(device_read);
            } else if self.queues[disk].allocate() {
                self.mirrors.count_in_flight(disk, Op::Read, true);
                let reads = vec![device_read];
                let submitted = self.now;
                self.plug.push((disk, QueuedRequest { start, bytes, reads, submitted }));
            } else {
                self.blocked[disk].push_back(job);
                break;
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
            self.queues[disk].insert(request);
        }
        self.plug = plug;
        for disk in 0..self.queues.len() {
            self.feed(disk, observer);
        }
    }

    /// Gives a disk what its queue has for it.
    fn feed(&mut self, disk: usize, observer: &mut impl Observer) {
        while let Some(queued) = self.queues[disk].dispatch(self.now) {
            let id = self.present[disk].put(None);
            let request = Request {
                id: id as u32,
                op: Op::Read,
                sector: queued.start / 512,
                sectors: (queued.bytes / 512) as u32,
                fua: false,
            };
            self.present[disk].all[id] =
                Some((request, QueuedRequest { submitted: self.now, ..queued }));
            self.bank.submit(self.now, disk, request);
            observer.arrived(self.now, disk, &request, &self.bank);
        }
    }

    /// Lets time pass until `at`, and ends what has ended by then.
    fn advance(
        &mut self,
        at: Nanos,
        observer: &mut impl Observer,
        ended: &mut impl FnMut(EndedRead),
    ) {
        self.now = at;
        let mut done = std::mem::take(&mut self.done);
        self.bank.advance(at, &mut done);
        for (disk, completion) in done.drain(..) {
            let id = completion.id as usize;
            let Some((request, queued)) = self.present[disk].all[id].take() else { continue };
            self.present[disk].free.push(id);
            observer.ended(disk, &request, queued.submitted, &completion, &self.bank);
            self.queues[disk].ended();
            self.mirrors.count_in_flight(disk, Op::Read, false);
            for read in queued.reads {
                self.request_ended(read, ended);
            }
            self.feed(disk, observer);
            if let Some(job) = self.blocked[disk].pop_front() {
                self.proceed(job, self.jobs[job].pid, observer);
            }
        }
        self.done = done;
    }

    fn request_ended(&mut self, device_read: usize, ended: &mut impl FnMut(EndedRead)) {
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
        let JobRead { job, begun, bytes, .. } = *read;
        self.reads.free.push(of);
        if let Some(job) = self.jobs.get_mut(job) {
            job.in_flight -= 1;
        }
        ended(EndedRead { begun, ended: self.now, bytes });
    }
}

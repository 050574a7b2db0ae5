//! The disks of a machine, the controller that some of them share, and the machine's own time.
//!
//! A disk model knows nothing of other disks; this file models what they share. A controller's link
//! carries the data of reads as the disks send it, one transfer after another, and the data of
//! writes before the disks get it. All requests and completions pass through the host
//! ([`HostPath`]) outside the controller.

use std::collections::VecDeque;

use disklab_config::controller::Controller;
use disklab_config::host::HostTime;
use disklab_units::{Bytes, Nanos, Rate, Sectors};

use crate::check::HostLaw;
use crate::host_path::HostPath;
use crate::port::earlier;
use crate::{Completion, Counters, Disk, Op, Request};

/// All disks of a machine. Time runs as in [`Disk`]. A clone is independent of the original (see
/// [`Disk::copy`]).
#[derive(Clone)]
pub struct Bank {
    disks: AttachedDisks,
    host: Option<(HostPath, HostLaw)>,
    /// Scratch space for completions on their way from the disks to the host.
    fresh: Vec<(usize, Completion)>,
}

/// The disks without the host, and their controller.
#[derive(Clone)]
struct AttachedDisks {
    disks: Vec<BankDisk>,
    shared: Option<SharedController>,
    /// Scratch space for the completions of one disk.
    fresh: Vec<Completion>,
}

struct BankDisk {
    disk: Box<dyn Disk>,
    next: Option<Nanos>,
    /// Bytes of each read under way, by the id of the request; ids are small. Only disks behind the
    /// controller use it.
    reads: Vec<Bytes>,
}

impl Clone for BankDisk {
    fn clone(&self) -> Self {
        Self { disk: self.disk.copy(), next: self.next, reads: self.reads.clone() }
    }
}

/// The controller, with the transfers and completions on their way through it.
#[derive(Clone)]
struct SharedController {
    /// Number of disks behind the controller; they are the first ones.
    behind: usize,
    from_disks: LinkDirection,
    to_disks: LinkDirection,
    /// Writes whose data has not passed the link yet, in order of the time (first field) at which
    /// it will have passed.
    waiting: VecDeque<(Nanos, usize, Request)>,
    /// Completions that are certain, in order of time.
    ended: VecDeque<(usize, Completion)>,
}

/// A direction of the link, which carries one transfer at a time.
#[derive(Clone)]
struct LinkDirection {
    rate: Rate,
    free: Nanos,
}

impl LinkDirection {
    /// Passes data on as it comes from a disk: not before `started`, with the last of it at `at`.
    /// Returns the time at which the transfer ends.
    fn along(&mut self, started: Nanos, at: Nanos, bytes: Bytes) -> Nanos {
        self.free = self.free.max(started).saturating_add(self.rate.time_for(bytes)).max(at);
        self.free
    }
}

impl Bank {
    /// Builds a bank of `disks`. `controller` holds a controller and the number of disks behind it,
    /// which are the first ones.
    pub fn new(
        disks: Vec<Box<dyn Disk>>,
        controller: Option<(Controller, usize)>,
        host: Option<HostTime>,
    ) -> Self {
        let disks = AttachedDisks::new(disks, controller);
        let host = host.map(|time| (HostPath::new(time), HostLaw::new(time)));
        Self { disks, host, fresh: Vec::new() }
    }

    /// Submits a request to `disk`, which counts from 0 in the order given to [`Bank::new`]. An
    /// index beyond the last disk is an error of the caller.
    pub fn submit(&mut self, now: Nanos, disk: usize, request: Request) {
        self.pass(now);
        match &mut self.host {
            None => self.disks.submit(now, disk, request),
            Some((path, law)) => {
                law.submitted(now, disk, request.id);
                path.submit(now, disk, request);
                self.pass(now);
            }
        }
    }

    /// Returns the earliest of each disk's [`Disk::next_event`] and the host's next action.
    pub fn next_event(&self) -> Option<Nanos> {
        let host = self.host.as_ref().and_then(|(path, _)| path.next_event());
        earlier(host, self.disks.next_event())
    }

    /// Appends everything that completes at or before `now` to `done`, each with its disk. With a
    /// controller or a host, all are in order of completion. Without either they come disk by disk,
    /// each disk's in order of completion.
    pub fn advance(&mut self, now: Nanos, done: &mut Vec<(usize, Completion)>) {
        self.pass(now);
        match &mut self.host {
            None => self.disks.advance(now, done),
            Some((path, law)) => {
                let first = done.len();
                path.deliver(now, done);
                for (disk, completion) in &done[first..] {
                    law.answered(*disk, completion);
                }
            }
        }
    }

    /// Returns the counters of each disk.
    pub fn counters(&self) -> impl Iterator<Item = Counters> + '_ {
        self.disks.disks.iter().map(|slot| slot.disk.counters())
    }

    /// Returns the index of each disk that has a violation, and its text (see [`Disk::violation`]).
    /// A violation of the host's times is reported with the disk whose request it concerns.
    pub fn violations(&self) -> impl Iterator<Item = (usize, &str)> {
        let disks = self.disks.disks.iter().enumerate();
        let disks = disks.filter_map(|(index, slot)| Some((index, slot.disk.violation()?)));
        disks.chain(self.host.as_ref().and_then(|(_, law)| law.violation()))
    }

    /// Lets everything happen up to `now`, in order of time. Does nothing if the bank has no host.
    fn pass(&mut self, now: Nanos) {
        let Self { disks, host: Some((path, _)), fresh } = self else { return };
        loop {
            let (leaves, event) = (path.next_leaving(), disks.next_event());
            let Some(at) = earlier(leaves, event).filter(|at| *at <= now) else { return };
            if event == Some(at) {
                disks.advance(at, fresh);
                for (disk, completion) in fresh.drain(..) {
                    path.answered(disk, completion);
                }
            } else if let Some((disk, request)) = path.leave() {
                disks.submit(at, disk, request);
            }
        }
    }
}

impl AttachedDisks {
    fn new(disks: Vec<Box<dyn Disk>>, controller: Option<(Controller, usize)>) -> Self {
        let link = |rate| LinkDirection { rate, free: Nanos::ZERO };
        let shared = controller.map(|(Controller { read, write }, behind)| SharedController {
            behind,
            from_disks: link(read),
            to_disks: link(write),
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
        });
        let slot = |disk| BankDisk { disk, next: None, reads: Vec::new() };
        Self { disks: disks.into_iter().map(slot).collect(), shared, fresh: Vec::new() }
    }

    fn submit(&mut self, now: Nanos, disk: usize, request: Request) {
        self.pass(now);
        if let Some(shared) = &mut self.shared
            && disk < shared.behind
        {
            let bytes = Sectors(u64::from(request.sectors)).bytes();
            match request.op {
                Op::Write => {
                    let through = shared.to_disks.along(now, now, bytes);
                    shared.waiting.push_back((through, disk, request));
                    return;
                }
                Op::Read => self.disks[disk].remember(request.id, bytes),
                // These send no data over the link.
                Op::Flush | Op::Discard | Op::WriteZeroes => {}
            }
        }
        self.disks[disk].submit(now, request);
    }

    fn next_event(&self) -> Option<Nanos> {
        let disks = self.disks.iter().filter_map(|slot| slot.next);
        let shared = self.shared.iter().flat_map(|shared| {
            let ended = shared.ended.front().map(|(_, completion)| completion.at);
            [ended, shared.waiting.front().map(|(through, ..)| *through)].into_iter().flatten()
        });
        disks.chain(shared).min()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<(usize, Completion)>) {
        self.pass(now);
        if let Some(shared) = &mut self.shared {
            let due = shared.ended.partition_point(|(_, completion)| completion.at <= now);
            done.extend(shared.ended.drain(..due));
            return;
        }
        for (index, slot) in self.disks.iter_mut().enumerate() {
            if slot.next.is_some_and(|next| next <= now) {
                slot.advance(now, &mut self.fresh);
                done.extend(self.fresh.drain(..).map(|completion| (index, completion)));
            }
        }
    }

    /// Lets everything happen up to `now`, in order of time. Does nothing if there is no
    /// controller.
    fn pass(&mut self, now: Nanos) {
        let Self { disks, shared: Some(shared), fresh } = self else { return };
        loop {
            let through = shared.waiting.front().map(|(through, ..)| *through);
            let event = disks.iter().filter_map(|slot| slot.next).min();
            let Some(at) = through.into_iter().chain(event).min().filter(|at| *at <= now) else {
                return;
            };
            if through == Some(at)
                && let Some((_, disk, request)) = shared.waiting.pop_front()
            {
                disks[disk].submit(at, request);
                continue;
            }
            for (index, slot) in disks.iter_mut().enumerate() {
                if slot.next.is_some_and(|next| next <= at) {
                    slot.advance(at, fresh);
                    for completion in fresh.drain(..) {
                        shared.sent(index, completion, slot.forget(completion.id));
                    }
                }
            }
        }
    }
}

impl SharedController {
    /// Takes over the completion of a disk. `bytes` is the data that the disk sent for a read, and
    /// 0 otherwise.
    fn sent(&mut self, disk: usize, mut completion: Completion, bytes: Bytes) {
        if bytes > Bytes::ZERO {
            completion.at = self.from_disks.along(completion.started, completion.at, bytes);
        }
        let later =
            self.ended.iter().rev().take_while(|(_, other)| other.at > completion.at).count();
        self.ended.insert(self.ended.len() - later, (disk, completion));
    }
}

impl BankDisk {
    fn submit(&mut self, now: Nanos, request: Request) {
        self.disk.submit(now, request);
        self.next = self.disk.next_event();
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.disk.advance(now, done);
        self.next = self.disk.next_event();
    }

    fn remember(&mut self, id: u32, bytes: Bytes) {
        let id = id as usize;
        if self.reads.len() <= id {
            self.reads.resize(id + 1, Bytes::ZERO);
        }
        self.reads[id] = bytes;
    }

    /// Removes a request and returns the bytes of a read behind the controller, or 0 for any other
    /// request.
    fn forget(&mut self, id: u32) -> Bytes {
        self.reads.get_mut(id as usize).map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use disklab_config::device::{Constant, Model};
    use disklab_units::Seed;

    use super::*;
    use crate::build;

    const MIB: u32 = 2048;

    fn constant(micros: u64) -> Box<dyn Disk> {
        let model = Constant {
            latency: Nanos::from_micros(micros),
            servers: 32,
            rotational: false,
            queue_depth: 32,
        };
        build(&Model::Constant(model), Bytes::gib(64), Seed(1))
    }

    fn bank(disks: usize, controller: Option<(u64, u64)>) -> Bank {
        let controller = controller.map(|(read, write)| {
            (Controller { read: Rate(read << 20), write: Rate(write << 20) }, disks)
        });
        Bank::new((0..disks).map(|_| constant(1_000)).collect(), controller, None)
    }

    fn request(id: u32, op: Op, sectors: u32) -> Request {
        Request { id, op, sector: 0, sectors, fua: false }
    }

    /// Runs the bank until nothing is under way; returns disk, id and time in ms of each
    /// completion.
    fn run(bank: &mut Bank) -> Vec<(usize, u32, f64)> {
        let mut done = Vec::new();
        while let Some(now) = bank.next_event() {
            bank.advance(now, &mut done);
        }
        let millis = |at: Nanos| (at.0 as f64 / 1e3).round() / 1e3;
        done.iter().map(|(disk, done)| (*disk, done.id, millis(done.at))).collect()
    }

    #[test]
    fn without_a_controller_disks_are_alone() {
        let mut bank = bank(2, None);
        for disk in [1, 0] {
            bank.submit(Nanos::ZERO, disk, request(7, Op::Read, MIB));
        }
        assert_eq!(run(&mut bank), [(0, 7, 1.0), (1, 7, 1.0)]);
    }

    #[test]
    fn reads_of_several_disks_share_what_it_moves() {
        // The second start shows the same after an idle second.
        for start in [0.0, 1_000.0] {
            let mut bank = bank(4, Some((200, 100)));
            for disk in 0..4 {
                bank.submit(Nanos::from_millis(start as u64), disk, request(3, Op::Read, MIB));
            }
            // Each takes 5 ms, one after another, the first as it comes; together they reach 200
            // MiB/s.
            let wanted = [5.0, 10.0, 15.0, 20.0].map(|at| start + at);
            assert_eq!(run(&mut bank), [0, 1, 2, 3].map(|disk| (disk, 3, wanted[disk])));
        }
    }

    #[test]
    fn what_the_disks_cannot_fill_it_does_not_slow() {
        let mut bank = bank(2, Some((4000, 4000)));
        bank.submit(Nanos::ZERO, 0, request(0, Op::Read, MIB));
        assert_eq!(run(&mut bank), [(0, 0, 1.0)], "sent on as it came");
    }

    #[test]
    fn writes_reach_their_disks_one_after_another_and_flushes_pass() {
        let mut bank = bank(2, Some((100, 200)));
        bank.submit(Nanos::ZERO, 0, request(0, Op::Write, MIB));
        bank.submit(Nanos::ZERO, 1, request(0, Op::Write, MIB));
        bank.submit(Nanos::ZERO, 1, request(1, Op::Flush, 0));
        assert_eq!(run(&mut bank), [(1, 1, 1.0), (0, 0, 6.0), (1, 0, 11.0)]);
    }

    /// Returns a bank of one disk behind this host. The disk takes 50 us and serves 32 requests at
    /// once.
    fn behind(host: HostTime) -> Bank {
        Bank::new(vec![constant(50)], None, Some(host))
    }

    fn host(submit: u64, complete: u64, requests_per_second: Option<u32>) -> HostTime {
        let [submit, complete] = [submit, complete].map(Nanos::from_micros);
        HostTime { submit, complete, requests_per_second, link: None }
    }

    #[test]
    fn a_host_takes_its_time_each_way() {
        let mut bank = behind(host(8, 5, None));
        for id in 0..3 {
            bank.submit(Nanos::ZERO, 0, request(id, Op::Read, 8));
        }
        assert_eq!(run(&mut bank), [0, 1, 2].map(|id| (0, id, 0.063)), "all at once");
        // A core that takes 10 us each way works within these times, and requests that come
        // meanwhile wait.
        let mut bank = behind(host(15, 12, Some(50_000)));
        for id in 0..3 {
            bank.submit(Nanos::ZERO, 0, request(id, Op::Read, 8));
        }
        assert_eq!(run(&mut bank), [(0, 0, 0.077), (0, 1, 0.087), (0, 2, 0.097)]);
    }

    /// The rate is checked at three depths, with reads and writes on two disks.
    #[test]
    fn a_core_does_so_many_requests_a_second() {
        for (depth, wanted) in [(1, 1e6 / 70.0), (4, 4e6 / 70.0), (16, 100_000.0)] {
            let host = host(10, 10, Some(100_000));
            let mut bank = Bank::new(vec![constant(50), constant(50)], None, Some(host));
            let (mut done, mut count, mut now) = (Vec::new(), 0, Nanos::ZERO);
            let op = |id: u32| if id.is_multiple_of(3) { Op::Write } else { Op::Read };
            for id in 0..depth {
                bank.submit(now, id as usize % 2, request(id, op(id), 8));
            }
            while count < 10_000 {
                now = bank.next_event().unwrap();
                bank.advance(now, &mut done);
                for (disk, completion) in done.drain(..) {
                    assert_eq!(completion.at, now);
                    count += 1;
                    bank.submit(now, disk, request(completion.id, op(completion.id), 8));
                }
            }
            let rate = f64::from(count) / now.as_secs_f64();
            assert!((rate / wanted - 1.0).abs() < 0.15, "{rate} at depth {depth}");
            assert!(rate < wanted * 1.01, "{rate} at depth {depth}");
            assert_eq!(bank.violations().next(), None);
        }
    }

    #[test]
    fn a_port_slows_hard_disks_and_ssds() {
        let link = Some(Rate(100_000_000));
        let host = HostTime { link, ..host(0, 0, None) };
        let constant = Model::Constant(Constant {
            latency: Nanos::from_micros(50),
            servers: 32,
            rotational: false,
            queue_depth: 32,
        });
        assert_eq!(constant.connected_to(&host), constant);
        let mut bank = Bank::new(vec![build(&constant, Bytes::gib(1), Seed(1))], None, Some(host));
        bank.submit(Nanos::ZERO, 0, request(1, Op::Read, MIB));
        assert_eq!(run(&mut bank), [(0, 1, 0.05)], "no time of its own");
    }

    #[test]
    fn a_disk_that_is_not_behind_it_is_as_fast_as_alone() {
        let controller = Controller { read: Rate(100 << 20), write: Rate(100 << 20) };
        let disks = (0..2).map(|_| constant(1_000)).collect();
        let mut bank = Bank::new(disks, Some((controller, 1)), None);
        for disk in 0..2 {
            bank.submit(Nanos::ZERO, disk, request(0, Op::Read, MIB));
        }
        assert_eq!(run(&mut bank), [(1, 0, 1.0), (0, 0, 10.0)]);
    }
}

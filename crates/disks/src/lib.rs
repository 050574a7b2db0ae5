//! Disks that exist only in time: given requests and when they were made, they say when each
//! completes.
//!
//! A disk holds no data and reads no clock. Time is whatever the caller says it is, all chance
//! comes from the seed, and the same calls give the same answers. One file or folder holds one
//! family: [`constant`] for theory, [`hdd`], [`ssd`], [`card`].
//!
//! ```
//! use disklab_disks::{Op, Request, build};
//! use disklab_config::device::{Constant, Model};
//! use disklab_units::{Bytes, Nanos, Seed};
//!
//! let model = Model::Constant(Constant {
//!     latency: Nanos::from_micros(50), servers: 1, rotational: false, queue_depth: 32,
//! });
//! let mut disk = build(&model, Bytes::gib(64), Seed(1));
//! disk.submit(Nanos(0), Request { id: 7, op: Op::Read, sector: 0, sectors: 8, fua: false });
//! let mut done = Vec::new();
//! while let Some(now) = disk.next_event() {
//!     disk.advance(now, &mut done);
//! }
//! assert_eq!((done[0].id, done[0].at), (7, Nanos::from_micros(50)));
//! ```

mod bank;
mod card;
mod check;
mod constant;
mod counters;
mod diary;
mod hdd;
#[cfg(test)]
mod plant;
mod port;
mod ssd;

use disklab_config::device::Model;
use disklab_units::{Bytes, Nanos, Seed};

pub use bank::Bank;
pub use counters::Counters;
pub use diary::{DieWork, Happening};
pub use hdd::{
    After, CommandTimes, DetailedCache, DetailedHdd, Layout, LookAhead, LookAheadEnd,
    ScatteredWrite, SurfaceOrder, Travel, ZoneLayout,
};

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    Read,
    Write,
    /// Everything completed before is on the medium when this completes.
    Flush,
    Discard,
    WriteZeroes,
}

/// A request to a disk. Sectors have 512 bytes; what lies beyond the disk's end is left out of the
/// work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// The caller's own: comes back in the [`Completion`], means nothing here.
    pub id: u32,
    pub op: Op,
    pub sector: u64,
    /// 0 for a flush.
    pub sectors: u32,
    /// A write completes on the medium, not in the buffer.
    pub fua: bool,
}

/// A request is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Completion {
    pub id: u32,
    pub at: Nanos,
    /// When service began: the request left the disk's queue.
    pub started: Nanos,
}

/// A disk in virtual time.
///
/// The caller's time never runs backwards from one call to the next. Once as many requests have
/// been under way as ever will be, no call allocates, but for what an SSD's map keeps of a block
/// that is full.
pub trait Disk: Send {
    fn submit(&mut self, now: Nanos, request: Request);

    /// When to call [`Disk::advance`] next: no request completes before. (At that moment one
    /// usually does; where the disk cannot tell yet, it may answer with another, later moment.)
    /// `None`: no request is under way. What a disk does for itself, such as emptying its write
    /// buffer, needs no calls and is caught up with by the next one.
    fn next_event(&self) -> Option<Nanos>;

    /// Appends everything that completes at or before `now` to `done`, in order of completion.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>);

    /// Totals up to the last [`Disk::advance`]. Work that is under way may be counted before it
    /// ends.
    fn counters(&self) -> Counters;

    /// From now on, [`Disk::happenings`] tells what goes on inside.
    fn tell(&mut self) {}

    /// Appends what has happened since the last call, or is certain to. A disk without an inside
    /// has nothing to tell.
    fn happenings(&mut self, _into: &mut Vec<Happening>) {}

    /// Of a disk from [`build_checked`]: the first thing that it did and that no disk of its kind
    /// could, or that breaks a promise.
    fn violation(&self) -> Option<&str> {
        None
    }
}

/// The disk that `model` describes, `bytes` large as a whole: a partition at its edge is used by
/// sending no requests beyond it.
///
/// What differs from one disk of the model to the next (starting angle, exact speed, which pages
/// are slow) is drawn from `seed`.
pub fn build(model: &Model, bytes: Bytes, seed: Seed) -> Box<dyn Disk> {
    match model {
        Model::Hdd(hdd) => Box::new(hdd::HddDisk::new(hdd, bytes, seed)),
        Model::Ssd(ssd) => Box::new(ssd::SsdDisk::new(ssd, bytes, seed)),
        Model::Card(card) => Box::new(card::CardDisk::new(card, bytes)),
        Model::Constant(constant) => Box::new(constant::ConstantDisk::new(constant)),
    }
}

/// As [`build`], watched by checkers of its physics and promises: see [`Disk::violation`].
pub fn build_checked(model: &Model, bytes: Bytes, seed: Seed) -> Box<dyn Disk> {
    Box::new(check::Checked::new(build(model, bytes, seed), model, bytes, seed))
}

/// The one hard disk that `model` describes. At time 0 so much time has passed since angle 0 passed
/// the head: nothing about it is left to chance.
pub fn build_detailed(model: &DetailedHdd, since_angle_0: Nanos) -> Box<dyn Disk> {
    Box::new(hdd::HddDisk::detailed(model, since_angle_0))
}

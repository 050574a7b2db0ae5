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
mod disk;
mod event_log;
mod hdd;
mod host_path;
#[cfg(test)]
mod plant;
mod port;
mod shared;
mod ssd;

use disklab_config::device::Model;
use disklab_units::{Bytes, Nanos, Seed};

pub use bank::Bank;
pub use disk::{Completion, Counters, Disk, Op, Request};
pub use event_log::{DieWork, DiskEvent};
pub use hdd::{
    After, CommandTimes, DetailedCache, DetailedHdd, LookAhead, LookAheadEnd, ScatteredWrite,
    SectorLayout, SurfaceOrder, Travel, ZoneLayout,
};

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

/// Builds the disk that [`build`] does, watched by checkers of its physics and promises: see
/// [`Disk::violation`].
pub fn build_checked(model: &Model, bytes: Bytes, seed: Seed) -> Box<dyn Disk> {
    Box::new(check::CheckedDisk::new(build(model, bytes, seed), model, bytes, seed))
}

/// The one hard disk that `model` describes. At time 0 so much time has passed since angle 0 passed
/// the head: nothing about it is left to chance.
pub fn build_detailed(model: &DetailedHdd, since_angle_0: Nanos) -> Box<dyn Disk> {
    Box::new(hdd::HddDisk::detailed(model, since_angle_0))
}

//! Models of disks in virtual time: given requests and the times of their submission, a model says
//! when each request completes.
//!
//! A disk holds no data and reads no clock. The caller passes the time to each call, all chance
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

/// Builds the disk that `model` describes, of `bytes` in total. A caller that uses only a partition
/// at the disk's beginning sends no requests beyond the partition.
///
/// The seed decides how this disk differs from others of its model: starting angle, exact speed,
/// which pages are slow.
pub fn build(model: &Model, bytes: Bytes, seed: Seed) -> Box<dyn Disk> {
    match model {
        Model::Hdd(hdd) => Box::new(hdd::HddDisk::new(hdd, bytes, seed)),
        Model::Ssd(ssd) => Box::new(ssd::SsdDisk::new(ssd, bytes, seed)),
        Model::Card(card) => Box::new(card::CardDisk::new(card, bytes)),
        Model::Constant(constant) => Box::new(constant::ConstantDisk::new(constant)),
    }
}

/// Builds the same disk as [`build`], with checkers that watch its physics and its promises (see
/// [`Disk::violation`]).
pub fn build_checked(model: &Model, bytes: Bytes, seed: Seed) -> Box<dyn Disk> {
    Box::new(check::CheckedDisk::new(build(model, bytes, seed), model, bytes, seed))
}

/// Builds the hard disk that `model` describes. At time 0, angle 0 passed the head `since_angle_0`
/// ago, so that nothing about the disk is random.
pub fn build_detailed(model: &DetailedHdd, since_angle_0: Nanos) -> Box<dyn Disk> {
    Box::new(hdd::HddDisk::detailed(model, since_angle_0))
}

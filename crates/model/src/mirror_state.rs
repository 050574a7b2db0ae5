//! The numbers of btrfs and the block layer about each device, as policies get them.

use disklab_disks::Op;
use disklab_read_policies::{Choice, Mirror, Request};
use disklab_units::Nanos;

use crate::mapping::MappedPiece;

/// The size of btrfs's blocks as a power of two: 4 KiB.
pub const BLOCK_BITS: u32 = 12;

/// The devices of a filesystem and its read policy.
#[derive(Debug)]
pub struct MirrorStates {
    pub choice: Choice,
    /// Everything that a policy gets about each device, except the place of the present read.
    devices: Vec<Mirror>,
    /// The number of completed reads of each device and their total time, at the last checkpoint.
    checkpoints: Vec<(u64, u64)>,
    blocks_read: u32,
}

/// A read of a mirror, as btrfs counts it.
#[derive(Debug, Clone, Copy)]
pub struct SentRead {
    pub disk: usize,
    pub physical: u64,
    pub length: u64,
    pub sent: Nanos,
}

impl MirrorStates {
    /// Returns the initial state of devices, for each of which `rotational` says whether it
    /// rotates.
    pub fn new(choice: Choice, rotational: &[bool]) -> Self {
        let device = |(index, &rotational): (usize, &bool)| Mirror {
            devid: index as u64 + 1,
            rotational,
            live: true,
            ..Mirror::default()
        };
        Self {
            choice,
            devices: rotational.iter().enumerate().map(device).collect(),
            checkpoints: vec![(0, 0); rotational.len()],
            blocks_read: 0,
        }
    }

    /// Returns the request that the policy gets for a piece of a read by the thread with id `pid`.
    pub fn request(&self, piece: &MappedPiece<'_>, logical: u64, pid: u32) -> Option<Request> {
        let mut mirrors = [Mirror::default(); disklab_read_policies::MIRRORS_MAX];
        let count = piece.mirrors.len().min(mirrors.len());
        for (mirror, stripe) in mirrors.iter_mut().zip(piece.mirrors) {
            let physical = stripe.physical + piece.offset;
            *mirror = Mirror { physical, ..self.devices[stripe.disk] };
        }
        let request = Request::new(&mirrors[..count], BLOCK_BITS)?;
        Some(request.place(logical, piece.length).by(pid).after(self.blocks_read))
    }

    /// Returns the index of the mirror that the policy chooses.
    pub fn decide(&self, piece: &MappedPiece<'_>, logical: u64, pid: u32) -> usize {
        self.request(piece, logical, pid).map_or(0, |request| self.choice.decide(&request))
    }

    /// Counts the decision for a mirror, by its index, and sends the read there.
    pub fn send(&mut self, piece: &MappedPiece<'_>, answer: usize, now: Nanos) -> SentRead {
        for (index, stripe) in piece.mirrors.iter().enumerate() {
            let device = &mut self.devices[stripe.disk];
            let age = self.choice.age(device.age, index == answer);
            if device.age >= 0 && age < 0 {
                self.checkpoints[stripe.disk] = (device.ios, device.wait);
                (device.recent_ios, device.recent_wait) = (0, 0);
            }
            device.age = age;
        }
        let stripe = piece.mirrors[answer];
        let physical = stripe.physical + piece.offset;
        let device = &mut self.devices[stripe.disk];
        if device.next_read != physical {
            device.run_start = physical;
        }
        device.next_read = physical + piece.length;
        device.sent = device.next_read;
        self.blocks_read = self.blocks_read.wrapping_add((piece.length >> BLOCK_BITS) as u32);
        SentRead { disk: stripe.disk, physical, length: piece.length, sent: now }
    }

    /// Counts a read that btrfs sent and that has ended.
    pub fn completed(&mut self, read: &SentRead, now: Nanos) {
        let device = &mut self.devices[read.disk];
        device.head = read.physical + read.length;
        device.ios += 1;
        device.wait += now.0 - read.sent.0;
        let (ios, wait) = self.checkpoints[read.disk];
        (device.recent_ios, device.recent_wait) = (device.ios - ios, device.wait - wait);
    }

    /// Counts one request more, or one less, of a device in the block layer.
    pub fn count_in_flight(&mut self, disk: usize, op: Op, is_more: bool) {
        let device = &mut self.devices[disk];
        let count =
            if op == Op::Read { &mut device.reads_in_flight } else { &mut device.writes_in_flight };
        *count = if is_more { *count + 1 } else { count.saturating_sub(1) };
    }
}

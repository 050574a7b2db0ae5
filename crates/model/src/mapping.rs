//! The places where btrfs puts a file that is written from begin to end on a new filesystem.
//!
//! mkfs makes the first chunks, on the last disks of the list. The kernel makes the others, each on
//! the disks with the largest free area. Among disks with equally large areas the order is the one
//! that the kernel's `sort()` leaves, which is a heapsort and not stable.

use std::cmp::Ordering;

use disklab_config::layout::Profile;
use disklab_units::Bytes;

/// The size of a stripe of RAID10: `BTRFS_STRIPE_LEN`.
pub const STRIPE: u64 = 64 << 10;
/// The size of a node of btrfs's trees. `LEAF_COVERS` is the size of the data whose checksums fill
/// a leaf, at 4 bytes for each 4 KiB.
pub const NODE: u64 = 16 << 10;
const LEAF_COVERS: u64 = 4046 << 12;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// The begin of each device, which btrfs does not use: `BTRFS_DEVICE_RANGE_RESERVED`.
const RESERVED: u64 = MIB;
/// The size of the first chunk, with the system's tree, on each of its disks.
const SYSTEM: u64 = 8 * MIB;
/// The size of the chunks that mkfs temporarily has on the first disk.
const TEMPORARY: u64 = 20 * MIB;

/// The part of a chunk that one device holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkStripe {
    /// Number of the disk, from 0.
    pub disk: usize,
    /// Offset from the start of the device, in bytes.
    pub physical: u64,
}

/// The chunks of data in the order of their logical addresses, followed by one of metadata.
#[derive(Debug)]
pub struct Mapping {
    /// Number of copies of each block. For RAID10 there are two, on neighbouring stripes.
    copies: usize,
    is_striped: bool,
    /// Number of bytes of data in a chunk.
    chunk: u64,
    chunks: Vec<Vec<ChunkStripe>>,
}

/// A contiguous piece of a read that one mirror can serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedPiece<'a> {
    /// The mirrors, in the chunk's order.
    pub mirrors: &'a [ChunkStripe],
    /// Offset from the begin of each of these stripes, in bytes.
    pub offset: u64,
    pub length: u64,
}

/// The free space at the end of a disk.
#[derive(Debug, Clone, Copy)]
struct DiskRoom {
    disk: usize,
    next: u64,
    free: u64,
}

impl Mapping {
    /// Maps `bytes` of data onto disks of these sizes. Returns `None` for profiles without mirrors,
    /// for too few disks, and if the disks are too small.
    pub fn new(profile: Profile, disks: &[Bytes], bytes: Bytes) -> Option<Self> {
        let (copies, is_striped) = match profile {
            Profile::Raid1 => (2, false),
            Profile::Raid1c3 => (3, false),
            Profile::Raid1c4 => (4, false),
            Profile::Raid10 => (2, true),
            Profile::Single | Profile::Raid0 => return None,
        };
        let width = if is_striped { disks.len() / copies * copies } else { copies };
        if width == 0 || disks.len() < width {
            return None;
        }
        let chunk = GIB * (width / copies) as u64;
        let mut rooms: Vec<DiskRoom> = disks
            .iter()
            .enumerate()
            .map(|(disk, bytes)| DiskRoom { disk, next: RESERVED, free: bytes.0 })
            .collect();
        let first = disks.len() - width;
        // A chunk of metadata has 1 GiB on all of its disks together, mirrors counted once.
        let metadata = if is_striped { GIB / width as u64 } else { GIB };
        if first == 0 {
            rooms[0].next += TEMPORARY;
        }
        let mut metadata_chunk = Vec::new();
        for room in &mut rooms[first..] {
            room.next += SYSTEM;
            metadata_chunk.push(room.stripe());
            room.next += metadata;
        }
        let mut chunks = Vec::new();
        while chunks.len() as u64 * chunk < bytes.0 {
            let mut order = rooms.clone();
            if chunks.is_empty() {
                order.rotate_left(first);
            } else {
                kernel_sort(&mut order, |one, other| other.left().cmp(&one.left()));
            }
            order.truncate(width);
            if order.iter().any(|room| room.left() < GIB) {
                return None;
            }
            chunks.push(order.iter().map(DiskRoom::stripe).collect());
            for room in order {
                rooms[room.disk].next += GIB;
            }
        }
        chunks.push(metadata_chunk);
        Some(Self { copies, is_striped, chunk, chunks })
    }

    /// Returns the number of chunks of data.
    pub const fn data_chunks(&self) -> u64 {
        self.chunks.len() as u64 - 1
    }

    /// Returns the logical address at which the model has the metadata.
    pub const fn metadata(&self) -> u64 {
        self.data_chunks() * self.chunk
    }

    /// Returns the logical address of the leaf with the checksums of this place.
    pub const fn checksums(&self, place: u64) -> u64 {
        self.metadata() + (place / LEAF_COVERS + 1) * NODE
    }

    /// Returns the first piece of a read of `length` bytes at `logical`, which must lie in the
    /// mapped data.
    pub fn piece(&self, logical: u64, length: u64) -> MappedPiece<'_> {
        let chunk = &self.chunks[(logical / self.chunk) as usize];
        let within = logical % self.chunk;
        if !self.is_striped {
            let length = length.min(self.chunk - within);
            return MappedPiece { mirrors: chunk, offset: within, length };
        }
        let sets = (chunk.len() / self.copies) as u64;
        let (number, into) = (within / STRIPE, within % STRIPE);
        let first = (number % sets) as usize * self.copies;
        MappedPiece {
            mirrors: &chunk[first..first + self.copies],
            offset: number / sets * STRIPE + into,
            length: length.min(STRIPE - into),
        }
    }
}

impl DiskRoom {
    fn stripe(&self) -> ChunkStripe {
        ChunkStripe { disk: self.disk, physical: self.next }
    }

    fn left(&self) -> u64 {
        self.free.saturating_sub(self.next)
    }
}

/// Sorts as the kernel's `sort()`: a heapsort that takes the two largest elements at a time. Only
/// the order of equal elements differs from that of other sorts.
fn kernel_sort<T>(all: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut end = all.len();
    if end < 2 {
        return;
    }
    for top in (0..end / 2).rev() {
        sift(&mut all[..end], top, &compare);
    }
    while end > 3 {
        end -= 1;
        all.swap(0, end);
        let second = if compare(&all[1], &all[2]).is_le() { 2 } else { 1 };
        end -= 1;
        all.swap(second, end);
        // The hole that the second largest left is filled first.
        sift(&mut all[..end], second, &compare);
        sift(&mut all[..end], 0, &compare);
    }
    end -= 1;
    all.swap(0, end);
    if end == 2 && compare(&all[0], &all[1]).is_gt() {
        all.swap(0, 1);
    }
}

/// Moves the element at `top` down the heap, to a place where no child is larger.
fn sift<T>(heap: &mut [T], top: usize, compare: &impl Fn(&T, &T) -> Ordering) {
    let mut path = vec![top];
    let mut at = top;
    while 2 * at + 1 < heap.len() {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let is_left = right == heap.len() || compare(&heap[left], &heap[right]).is_gt();
        at = if is_left { left } else { right };
        path.push(at);
    }
    while path.len() > 1 && compare(&heap[top], &heap[path[path.len() - 1]]).is_ge() {
        path.pop();
    }
    for pair in path.windows(2) {
        heap.swap(pair[0], pair[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disks(count: usize, gib: u64) -> Vec<Bytes> {
        vec![Bytes::gib(gib); count]
    }

    fn places(piece: MappedPiece<'_>) -> Vec<(usize, u64)> {
        piece.mirrors.iter().map(|mirror| (mirror.disk, mirror.physical + piece.offset)).collect()
    }

    /// Traces of guests show the first chunk at 1053 MiB of `vda` and 1033 MiB of `vdb`, in that
    /// order. The next chunk is first on `vdb`, which has the larger free area.
    #[test]
    fn two_disks_hold_what_a_guest_puts_there() {
        let mapping = Mapping::new(Profile::Raid1, &disks(2, 400), Bytes::gib(50)).unwrap();
        assert_eq!(places(mapping.piece(0, MIB)), [(0, 1053 * MIB), (1, 1033 * MIB)]);
        assert_eq!(places(mapping.piece(GIB + 5, MIB)), [(1, 2057 * MIB + 5), (0, 2077 * MIB + 5)]);
        assert_eq!(mapping.piece(GIB - 4096, MIB).length, 4096, "a piece ends with its chunk");
        assert_eq!(places(mapping.piece(mapping.metadata(), 1)), [(0, 29 * MIB), (1, 9 * MIB)]);
    }

    #[test]
    fn chunks_go_to_the_disks_with_most_room() {
        let mapping = Mapping::new(Profile::Raid1, &disks(8, 900), Bytes::gib(50)).unwrap();
        assert_eq!(places(mapping.piece(0, MIB)), [(6, 1033 * MIB), (7, 1033 * MIB)]);
        // Traces of guests show the second chunk on `vdc` and `vdb`, in that order.
        assert_eq!(places(mapping.piece(GIB, MIB)), [(2, MIB), (1, MIB)]);
        let mut chunks = [0; 8];
        for chunk in &mapping.chunks[..50] {
            for stripe in chunk {
                chunks[stripe.disk] += 1;
            }
        }
        assert_eq!(chunks, [13, 13, 13, 13, 13, 13, 11, 11]);
    }

    #[test]
    fn raid10_changes_its_set_of_mirrors_each_64_kib() {
        let mapping = Mapping::new(Profile::Raid10, &disks(4, 400), Bytes::gib(50)).unwrap();
        let first = mapping.piece(0, MIB);
        assert_eq!((places(first), first.length), (vec![(0, 285 * MIB), (1, 265 * MIB)], STRIPE));
        assert_eq!(places(mapping.piece(STRIPE, 4096)), [(2, 265 * MIB), (3, 265 * MIB)]);
        let third = mapping.piece(2 * STRIPE + 100, MIB);
        assert_eq!(places(third)[1], (1, 265 * MIB + STRIPE + 100));
        assert_eq!(third.length, STRIPE - 100);
    }

    #[test]
    fn three_copies_are_on_three_disks() {
        let mapping = Mapping::new(Profile::Raid1c3, &disks(4, 100), Bytes::gib(8)).unwrap();
        for number in 0..8 {
            let mirrors = mapping.piece(number * GIB, MIB).mirrors;
            let distinct: std::collections::BTreeSet<_> =
                mirrors.iter().map(|mirror| mirror.disk).collect();
            assert_eq!((mirrors.len(), distinct.len()), (3, 3));
        }
    }

    #[test]
    fn what_does_not_fit_is_not_mapped() {
        assert!(Mapping::new(Profile::Raid1, &disks(2, 10), Bytes::gib(50)).is_none());
        assert!(Mapping::new(Profile::Raid1, &disks(1, 100), Bytes::gib(5)).is_none());
        assert!(Mapping::new(Profile::Raid0, &disks(2, 100), Bytes::gib(5)).is_none());
    }

    #[test]
    fn the_kernels_sort_sorts() {
        for length in 0..20_u64 {
            let mut all: Vec<u64> = (0..length).map(|n| n * 7 % 11).collect();
            let mut sorted = all.clone();
            sorted.sort_unstable();
            kernel_sort(&mut all, Ord::cmp);
            assert_eq!(all, sorted);
        }
    }
}

//! The states that disks may be in after a power cut: for each block that they had not promised to
//! keep, the content that the medium then holds.
//!
//! A disk may keep its unflushed writes in any combination. The most telling combinations come
//! first: one drawn block by block, nothing, everything, and disks of an array that disagree.
//! Combinations of single writes follow.

use crate::volatile::Content;
use disklab_protocol::closing::Kept;
use disklab_units::Random;
use std::collections::{BTreeMap, BTreeSet};

/// The contents that the medium may hold, by the number of the block: at least one each, the oldest
/// first, each with the number of its write. The first is on the medium, whichever write made it.
pub type MayHold = BTreeMap<u64, Vec<(u64, Content)>>;

/// Combinations that are drawn, in turn, when those without chance have been tried.
const DRAWN: [Kept; 4] =
    [Kept::OldestWrites, Kept::AllButOneWrite, Kept::OneWrite, Kept::SomeBlocks];

/// Returns what the disks keep in state `number` of a cut, counted from 0. In the first state,
/// None, each block is drawn by itself.
pub fn kept(number: u32, disks: usize) -> Option<Kept> {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    // A single disk cannot disagree with another.
    let apart = if disks > 1 { disks } else { 0 };
    match number {
        0 => None,
        1 => Some(Kept::Nothing),
        2 => Some(Kept::Everything),
        _ if number - 3 < apart => Some(Kept::AllButDisk(number - 3)),
        _ => DRAWN.get((number - 3 - apart) % DRAWN.len()).copied(),
    }
}

/// Returns, for each disk, the index of the content of each block.
pub fn choose(kept: Option<Kept>, disks: &[MayHold], random: &mut Random) -> Vec<Vec<usize>> {
    let one = match kept {
        Some(Kept::AllButOneWrite) => drawn(&writes(disks, true), random),
        Some(Kept::OneWrite) => drawn(&writes(disks, false), random),
        _ => None,
    };
    let on_disk = |(disk, blocks): (usize, &MayHold)| {
        let until = match kept {
            Some(Kept::OldestWrites) => until(blocks, random),
            _ => 0,
        };
        let content = |contents: &Vec<(u64, Content)>| {
            let last = contents.len() - 1;
            let is_one =
                |at: usize| contents.get(at).is_some_and(|(write, _)| one == Some((disk, *write)));
            match kept {
                None | Some(Kept::SomeBlocks) => random.below(contents.len() as u64) as usize,
                Some(Kept::Nothing) => 0,
                Some(Kept::AllButDisk(other)) if other == disk => 0,
                Some(Kept::Everything | Kept::AllButDisk(_)) => last,
                Some(Kept::OldestWrites) => {
                    contents.iter().rposition(|(write, _)| *write <= until).unwrap_or(0)
                }
                Some(Kept::AllButOneWrite) => last - usize::from(last > 0 && is_one(last)),
                Some(Kept::OneWrite) => (1..=last).find(|&at| is_one(at)).unwrap_or(0),
            }
        };
        blocks.values().map(content).collect()
    };
    disks.iter().enumerate().map(on_disk).collect()
}

/// Returns disk and number of each write that may be lost; with `newest`, of each one that no later
/// write has replaced everywhere.
fn writes(disks: &[MayHold], newest: bool) -> Vec<(usize, u64)> {
    let of_block = |(disk, contents): (usize, &Vec<(u64, Content)>)| {
        let from = if newest { contents.len().saturating_sub(1).max(1) } else { 1 };
        let later = contents.get(from..).unwrap_or_default();
        later.iter().map(|(write, _)| (disk, *write)).collect::<Vec<_>>()
    };
    let blocks = disks
        .iter()
        .enumerate()
        .flat_map(|(disk, blocks)| blocks.values().map(move |contents| (disk, contents)));
    blocks.flat_map(of_block).collect::<BTreeSet<_>>().into_iter().collect()
}

fn drawn<T: Copy>(all: &[T], random: &mut Random) -> Option<T> {
    all.get(random.below(all.len().max(1) as u64) as usize).copied()
}

/// Draws the number of the last write that a disk kept, or 0.
fn until(blocks: &MayHold, random: &mut Random) -> u64 {
    let mut all = vec![0];
    all.extend(writes(std::slice::from_ref(blocks), false).into_iter().map(|(_, write)| write));
    drawn(&all, random).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_units::Seed;

    fn block(writes: &[u64]) -> Vec<(u64, Content)> {
        writes.iter().map(|&write| (write, None)).collect()
    }

    /// Two disks. On the first, write 5 changed blocks 1 and 2, write 6 block 2 again, and write 7
    /// block 3. On the second, write 9 changed block 1.
    fn disks() -> Vec<MayHold> {
        let first = [(1, block(&[0, 5])), (2, block(&[0, 5, 6])), (3, block(&[2, 7]))];
        vec![BTreeMap::from(first), BTreeMap::from([(1, block(&[8, 9])), (4, block(&[3]))])]
    }

    #[test]
    fn the_order_of_states() {
        let of = |disks| (0..9).map(|number| kept(number, disks)).collect::<Vec<_>>();
        let single = of(1);
        assert_eq!(single[..3], [None, Some(Kept::Nothing), Some(Kept::Everything)]);
        assert_eq!(single[3..7], DRAWN.map(Some));
        assert_eq!(single[7], Some(Kept::OldestWrites));
        assert_eq!(of(2)[3..6], [Kept::AllButDisk(0), Kept::AllButDisk(1), DRAWN[0]].map(Some));
    }

    #[test]
    fn states_without_chance() {
        let mut random = Random::new(Seed(1));
        let mut chosen = |kept| choose(Some(kept), &disks(), &mut random);
        assert_eq!(chosen(Kept::Nothing), [vec![0, 0, 0], vec![0, 0]]);
        assert_eq!(chosen(Kept::Everything), [vec![1, 2, 1], vec![1, 0]]);
        assert_eq!(chosen(Kept::AllButDisk(0)), [vec![0, 0, 0], vec![1, 0]]);
        assert_eq!(chosen(Kept::AllButDisk(1)), [vec![1, 2, 1], vec![0, 0]]);
    }

    /// Draws often, so that all states of a kind occur.
    #[test]
    fn drawn_states_are_those_of_whole_writes() {
        let mut random = Random::new(Seed(1));
        let mut all = |kept| -> BTreeSet<Vec<Vec<usize>>> {
            (0..200).map(|_| choose(Some(kept), &disks(), &mut random)).collect()
        };
        let expected = |states: &[[&[usize]; 2]]| -> BTreeSet<Vec<Vec<usize>>> {
            states.iter().map(|disks| disks.iter().map(|disk| disk.to_vec()).collect()).collect()
        };
        assert_eq!(
            all(Kept::OneWrite),
            expected(&[
                [&[1, 1, 0], &[0, 0]],
                [&[0, 2, 0], &[0, 0]],
                [&[0, 0, 1], &[0, 0]],
                [&[0, 0, 0], &[1, 0]],
            ])
        );
        // Write 5 is the newest of block 1 only.
        assert_eq!(
            all(Kept::AllButOneWrite),
            expected(&[
                [&[0, 2, 1], &[1, 0]],
                [&[1, 1, 1], &[1, 0]],
                [&[1, 2, 0], &[1, 0]],
                [&[1, 2, 1], &[0, 0]],
            ])
        );
        let prefixes: [&[usize]; 4] = [&[0, 0, 0], &[1, 1, 0], &[1, 2, 0], &[1, 2, 1]];
        let both: Vec<[&[usize]; 2]> =
            prefixes.iter().flat_map(|&one| [[one, &[0, 0]], [one, &[1, 0]]]).collect();
        assert_eq!(all(Kept::OldestWrites), expected(&both));
        assert_eq!(all(Kept::SomeBlocks).len(), 2 * 3 * 2 * 2);
    }
}

//! Extents in the order of their addresses: a sorted sequence cut into pieces, so that an insertion
//! moves few entries.

/// An extent's first sector and its slot.
type ExtentEntry = (u64, u32);

/// The largest number of entries in a piece, and so the most that an insertion moves.
const LONGEST: usize = 128;

#[derive(Clone, Default)]
pub(super) struct ByAddress {
    /// The pieces in order, none of them empty.
    pieces: Vec<Vec<ExtentEntry>>,
    /// The first sector of each piece. A search looks at these before it looks into one piece.
    firsts: Vec<u64>,
    /// Emptied pieces, kept for reuse so that nothing is allocated while a guest runs.
    spare: Vec<Vec<ExtentEntry>>,
}

/// A position in the sequence: that of an entry, or behind the last entry of a piece.
#[derive(Clone, Copy)]
pub(super) struct ExtentCursor {
    piece: usize,
    at: usize,
}

impl ByAddress {
    /// Returns the position of the first entry that begins at or behind `sector`.
    pub fn seek(&self, sector: u64) -> ExtentCursor {
        let piece = self.firsts.partition_point(|&first| first < sector).saturating_sub(1);
        let at = self
            .pieces
            .get(piece)
            .map_or(0, |piece| piece.partition_point(|entry| entry.0 < sector));
        ExtentCursor { piece, at }
    }

    /// Returns the position before `cursor`; `None` at the beginning.
    pub fn before(&self, cursor: ExtentCursor) -> Option<ExtentCursor> {
        match cursor {
            ExtentCursor { piece: 0, at: 0 } => None,
            ExtentCursor { piece, at: 0 } => {
                Some(ExtentCursor { piece: piece - 1, at: self.pieces[piece - 1].len() - 1 })
            }
            ExtentCursor { piece, at } => Some(ExtentCursor { piece, at: at - 1 }),
        }
    }

    pub fn next(&self, ExtentCursor { piece, at }: ExtentCursor) -> ExtentCursor {
        match self.pieces.get(piece) {
            Some(entries) if at >= entries.len() => ExtentCursor { piece: piece + 1, at: 1 },
            _ => ExtentCursor { piece, at: at + 1 },
        }
    }

    pub fn slot(&self, ExtentCursor { piece, at }: ExtentCursor) -> Option<u32> {
        let here = self.pieces.get(piece)?.get(at);
        here.or_else(|| self.pieces.get(piece + 1)?.first()).map(|entry| entry.1)
    }

    /// Inserts an entry before the one at the cursor, where it belongs in the order. No two entries
    /// begin at the same sector.
    pub fn insert(&mut self, cursor: ExtentCursor, sector: u64, slot: u32) {
        let ExtentCursor { mut piece, mut at } = cursor;
        if self.pieces.is_empty() {
            let first = self.new_piece();
            self.pieces.push(first);
            self.firsts.push(sector);
        } else if piece == self.pieces.len() {
            (piece, at) = (piece - 1, self.pieces[piece - 1].len());
        }
        if self.pieces[piece].len() == LONGEST {
            let mut rest = self.new_piece();
            rest.extend(self.pieces[piece].drain(LONGEST / 2..));
            self.firsts.insert(piece + 1, rest[0].0);
            self.pieces.insert(piece + 1, rest);
            if at > LONGEST / 2 {
                (piece, at) = (piece + 1, at - LONGEST / 2);
            }
        }
        self.pieces[piece].insert(at, (sector, slot));
        self.firsts[piece] = self.pieces[piece][0].0;
    }

    fn new_piece(&mut self) -> Vec<ExtentEntry> {
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST))
    }

    /// Removes the entry at the cursor, and moves the cursor to the entry that followed.
    pub fn remove(&mut self, cursor: &mut ExtentCursor) {
        if self.pieces.get(cursor.piece).is_some_and(|piece| cursor.at >= piece.len()) {
            *cursor = ExtentCursor { piece: cursor.piece + 1, at: 0 };
        }
        let ExtentCursor { piece, at } = *cursor;
        let Some(entries) = self.pieces.get_mut(piece).filter(|entries| at < entries.len()) else {
            return;
        };
        entries.remove(at);
        if let Some(first) = entries.first() {
            self.firsts[piece] = first.0;
        } else {
            self.firsts.remove(piece);
            self.spare.push(self.pieces.remove(piece));
        }
    }

    #[cfg(test)]
    pub fn slots(&self) -> impl ExactSizeIterator<Item = u32> {
        self.pieces.iter().flatten().map(|entry| entry.1).collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A `BTreeMap` has the same entries after the same steps.
        #[test]
        fn the_row_is_sorted(steps in prop::collection::vec((0..2_000_u64, 0..3_u8), 1..3_000)) {
            let (mut row, mut tree) = (ByAddress::default(), BTreeMap::new());
            for (slot, (sector, kind)) in (0..).zip(steps) {
                if kind > 0 {
                    if tree.insert(sector, slot).is_some() {
                        row.remove(&mut row.seek(sector));
                    }
                    row.insert(row.seek(sector), sector, slot);
                } else if let Some((&sector, _)) = tree.range(sector..).next() {
                    let mut at = row.seek(sector);
                    row.remove(&mut at);
                    tree.remove(&sector);
                    let next = tree.range(sector..).next().map(|(_, slot)| *slot);
                    prop_assert_eq!(row.slot(at), next);
                }
                let at = row.seek(sector);
                let mut behind = tree.range(sector..).map(|(_, slot)| *slot);
                prop_assert_eq!(row.slot(at), behind.next());
                prop_assert_eq!(row.slot(row.next(at)), behind.next());
                let before = tree.range(..sector).next_back().map(|(_, slot)| *slot);
                prop_assert_eq!(row.before(at).and_then(|at| row.slot(at)), before);
            }
            prop_assert!(row.slots().eq(tree.values().copied()));
            let mut pieces = row.pieces.iter();
            prop_assert!(pieces.all(|piece| !piece.is_empty() && piece.len() <= LONGEST));
        }
    }
}

//! Two bytes for each unit of the disk, in order: a code of [`super::map`], 0 at first.
//!
//! They are asked for at random, and what that costs is to wait: for the memory, for the tables
//! that say where it is, and for the system, which gives a page when it is first touched. Of pages
//! of 2 MiB there are few enough for the processor to know them all.

use std::alloc::{Layout, handle_alloc_error};
use std::ops::Range;

use memmap2::{Advice, MmapMut};
use prefetch_index::prefetch_index;

pub(crate) struct UnitCodes(MmapMut);

const CODE: usize = size_of::<u16>();

impl Clone for UnitCodes {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.codes().len() as u32);
        for (unit, code) in self.codes().iter().enumerate() {
            // A page that is never written takes no memory.
            if *code != [0; CODE] {
                copy.codes_mut()[unit] = *code;
            }
        }
        copy
    }
}

impl UnitCodes {
    pub fn new(units: u32) -> Self {
        let bytes = units as usize * CODE;
        let layout = Layout::from_size_align(bytes, CODE).unwrap_or(Layout::new::<u16>());
        let memory = MmapMut::map_anon(bytes).unwrap_or_else(|_| handle_alloc_error(layout));
        // Where the system has none, it is slower.
        let _ = memory.advise(Advice::HugePage);
        Self(memory)
    }

    pub fn get(&self, unit: u32) -> u16 {
        u16::from_ne_bytes(self.codes()[unit as usize])
    }

    pub fn set(&mut self, unit: u32, code: u16) {
        self.codes_mut()[unit as usize] = code.to_ne_bytes();
    }

    pub fn fill(&mut self, units: Range<u32>, code: u16) {
        self.codes_mut()[units.start as usize..units.end as usize].fill(code.to_ne_bytes());
    }

    /// This unit will be asked for soon: its memory is on its way meanwhile.
    pub fn expect(&self, unit: u32) {
        prefetch_index(self.codes(), unit as usize);
    }

    fn codes(&self) -> &[[u8; CODE]] {
        self.0.as_chunks().0
    }

    fn codes_mut(&mut self) -> &mut [[u8; CODE]] {
        self.0.as_chunks_mut().0
    }
}

//! A code of [`super::map`] for each unit of the disk, in order: two bytes each, 0 at first.
//!
//! Codes are looked up at random, and the cost is waiting: for the memory, for the page tables, and
//! for the operating system, which provides a page when it is first accessed. With pages of 2 MiB
//! there are few enough for the processor to keep all translations.

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
        // A system without huge pages is only slower.
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

    /// Prefetches the memory of a unit that will be looked up soon.
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

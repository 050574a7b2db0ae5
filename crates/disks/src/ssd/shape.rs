//! The division of the flash into dies, blocks, rows and units, and their numbering.

use disklab_config::device::Ssd;
use disklab_units::Bytes;

pub(crate) const UNIT: Bytes = Bytes::kib(4);

/// The number of a block. Blocks are counted over all dies, those of each die together.
pub(crate) type BlockId = u32;

/// A die begins to collect when it has fewer empty blocks than this. The number is as small as
/// possible, because empty blocks reduce over-provisioning.
pub(crate) const FEW: usize = 4;

#[derive(Clone)]
pub(crate) struct FlashShape {
    /// The units of the disk as the host sees it.
    pub units: u32,
    pub dies: u32,
    pub blocks_per_die: u32,
    pub rows_per_block: u32,
    pub units_per_row: u32,
}

impl FlashShape {
    pub fn new(model: &Ssd, bytes: Bytes) -> Self {
        let dies = model.dies();
        Self {
            units: (bytes.0 / UNIT.0) as u32,
            dies,
            blocks_per_die: (model.raw_size.0 / model.block().0 / u64::from(dies)) as u32,
            rows_per_block: model.pages_per_block,
            units_per_row: (model.row().0 / UNIT.0) as u32,
        }
    }
}

/// A unit that collection found valid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptUnit {
    pub unit: u32,
    /// The mark of its block that says that the unit has left the block.
    pub mark: u32,
}

//! A request as the guest kernel hands it over.

use disklab_disks::Op;

/// A request that the kernel hands over.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub disk: usize,
    pub tag: u32,
    pub op: Op,
    pub fua: bool,
    pub sector: u64,
    pub sectors: u32,
}

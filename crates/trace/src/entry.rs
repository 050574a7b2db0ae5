//! What a trace consists of.

use disklab_disks::Op;

/// Most disks a guest can have; the kernel's driver names them by two letters, and nobody has asked
/// for more.
pub const MOST_DISKS: usize = 128;

/// Stands where a request has its disk and operation.
pub(crate) const MARK: u64 = 7;
/// A mark's text is a word or two; more than this is not a trace.
pub(crate) const LONGEST_MARK: u64 = 4096;

/// One request, from its arrival at the disk to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Below [`MOST_DISKS`].
    pub disk: usize,
    pub op: Op,
    pub fua: bool,
    /// In units of 512 bytes.
    pub sector: u64,
    pub sectors: u32,
    /// Virtual ns; `submitted <= started <= ended`.
    pub submitted: u64,
    /// When the drive took it out of its queue.
    pub started: u64,
    pub ended: u64,
}

/// An entry of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEntry {
    /// A request.
    Served(Served),
    /// What the guest's first process said of the trial's phases, and when.
    Mark { at: u64, text: String },
}

impl TraceEntry {
    /// When the entry's request arrived and ended; of a mark, its time twice.
    pub(crate) fn span(&self) -> (u64, u64) {
        match self {
            Self::Served(served) => (served.submitted, served.ended),
            Self::Mark { at, .. } => (*at, *at),
        }
    }
}

/// The operations, each at the place of its code, with its name in CSV and tables.
const OPERATIONS: [(Op, &str); 5] = [
    (Op::Read, "read"),
    (Op::Write, "write"),
    (Op::Flush, "flush"),
    (Op::Discard, "discard"),
    (Op::WriteZeroes, "writezeroes"),
];

pub(crate) fn code(op: Op) -> u64 {
    OPERATIONS.iter().take_while(|(known, _)| *known != op).count() as u64
}

pub(crate) fn op(code: u64) -> Option<Op> {
    OPERATIONS.get(code as usize).map(|(op, _)| *op)
}

/// The name of an operation in CSV and tables.
pub fn word(op: Op) -> &'static str {
    OPERATIONS[code(op) as usize].1
}

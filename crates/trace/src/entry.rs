//! The entries of a trace.

use disklab_disks::Op;

/// Largest number of disks of a guest. The kernel's driver names disks by up to two letters, and
/// nobody has asked for more.
pub const MOST_DISKS: usize = 128;

/// The number that stands for a mark, in place of a request's disk and operation.
pub(crate) const MARK: u64 = 7;
/// Largest number of bytes of a mark's text, which is a word or two. A longer text is not a trace.
pub(crate) const LONGEST_MARK: u64 = 4096;

/// A request, from its arrival at the disk to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Index of the disk, below [`MOST_DISKS`].
    pub disk: usize,
    pub op: Op,
    pub fua: bool,
    /// First sector, in units of 512 bytes.
    pub sector: u64,
    pub sectors: u32,
    /// Times in virtual ns; `submitted <= started <= ended`.
    pub submitted: u64,
    /// Time at which the drive took the request out of its queue.
    pub started: u64,
    pub ended: u64,
}

/// An entry of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEntry {
    /// A request that has ended.
    Served(Served),
    /// A mark of the guest's first process about the trial's phases, and its time.
    Mark { at: u64, text: String },
}

impl TraceEntry {
    /// Returns the times of the request's arrival and end; for a mark, its time twice.
    pub(crate) fn span(&self) -> (u64, u64) {
        match self {
            Self::Served(served) => (served.submitted, served.ended),
            Self::Mark { at, .. } => (*at, *at),
        }
    }
}

/// The operations, each at the index of its code, with its name in CSV and tables.
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

/// Returns the name of an operation in CSV and tables.
pub fn word(op: Op) -> &'static str {
    OPERATIONS[code(op) as usize].1
}

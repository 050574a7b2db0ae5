//! What a machine's own tools say of its disks, from which an array is drafted: bytes in, checked
//! types out. Who calls asks the tools.

pub mod groups;
pub mod lsblk;

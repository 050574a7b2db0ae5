//! Parses the output of a machine's own tools about its disks, from which an array is drafted:
//! bytes in, checked types out. The caller runs the tools.

pub mod groups;
pub mod lsblk;

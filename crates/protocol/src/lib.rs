//! Everything that crosses between the program, the guest and the records.

pub mod names;

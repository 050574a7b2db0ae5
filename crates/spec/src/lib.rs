//! What an experiment is made of: TOML files in, checked types out, and from a suite the trials to run.
//!
//! Every thing is one file, and its name is the file's name without `.toml`. Files are read through [`read`], which
//! collects all mistakes of a file with their line. Nothing here runs anything, and only [`lab`] touches the disk.

pub mod device;
pub mod read;

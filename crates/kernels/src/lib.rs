//! The guest kernel: its source, its build, and its place in the cache.
//!
//! A kernel is made from three things: a source (a Debian package, or a user's tree, git revision
//! or tarball), the insertions of `guest-kernel/` (files, patches, a configuration), and the
//! compiler. The digest of the three is the kernel's key, and the key names its place in the cache.
//! An existing kernel is never built again, and a kernel that differs in any of the three is never
//! confused with it.
//!
//! Start at [`Build`], which makes kernels, and [`find`], which opens existing ones.

mod apt;
mod archive;
mod bisection;
mod build;
mod cache;
mod claim;
mod compile;
mod config;
mod digest;
pub mod doctor;
mod error;
mod file;
mod git;
mod given;
mod kernel;
mod key;
mod overlap;
mod package;
mod patch;
mod process;
mod provenance;
mod recipe;
mod series;
pub mod share;
mod source;
mod step;
mod tarball;
mod tree;
mod version;

pub use bisection::{Answer, Bisection, Next};
pub use build::{Build, Built, KernelLookup};
pub use cache::Cache;
pub use claim::{Claim, Scratch};
pub use error::{Error, Result};
pub use git::Revision;
pub use kernel::{Kernel, Listing, find, list};
pub use overlap::Overlap;
pub use provenance::Provenance;
pub use recipe::Btrfs;
pub use series::PatchSeries;
pub use share::Share;
pub use source::{KernelSource, Series, WITH_POLICIES, split_policies};
pub use step::BuildStep;
pub use version::Version;

//! This machine's own disks: which may be written, what was changed and how it is undone, what they
//! did.
//!
//! Nothing here starts a trial. The host executor (`runner`) and the first process that carries its
//! plans out (`guest`) ask here, and so do the verbs that only look.

pub mod allow;
pub mod cgroups;
pub mod change;
mod claim;
pub mod disk;
pub mod environment;
mod error;
pub mod guard;
pub mod journal;
mod machine;
mod mountinfo;
mod program;
mod refusal;
pub mod sysfs;
mod wait;
pub mod watch;
mod wipe;

pub use allow::Allow;
pub use claim::{DiskClaim, claim_disks};
pub use disk::Disk;
pub use error::Error;
pub use journal::Journal;
pub use program::PATH;
pub use refusal::{Refusal, Why};

#[cfg(test)]
mod tests {
    pub mod fake;
}

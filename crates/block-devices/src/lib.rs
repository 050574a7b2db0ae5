//! This machine's own disks: which may be written, changes and their undoing, and the disks'
//! activity.
//!
//! Nothing here starts a trial. The host executor (`runner`), the first process that runs its plans
//! (`guest`), and the verbs that only look call this crate.

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

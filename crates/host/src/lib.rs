//! This machine's own disks: which may be written, what was changed and how it is undone, what they did.
//!
//! Nothing here starts a trial. The host executor (`exec`) and the first process that carries its plans out (`guest`) ask
//! here, and so do the verbs that only look.

pub mod allow;
pub mod disk;
mod error;
pub mod guard;
mod machine;
pub mod sysfs;

pub use allow::Allow;
pub use disk::Disk;
pub use error::Error;
pub use guard::{Refusal, Why};

//! Trials on this machine's own disks, or in one of its filesystems.
//!
//! Trials run one at a time. Each has a first process of its own that does the work of a guest's
//! ([`disklab_guest::init::host`]). Every change is journalled before it is made, and undone from
//! the journal after a successful trial and after a killed one alike.

mod dry_run;
mod duration;
mod first;
mod prepared;
mod run;
mod settings;
mod trial;

pub use crate::describe::host::place::{HostPlace, Permission};
pub use crate::describe::host::plan::obstacle;
pub use dry_run::{script, time};
pub use prepared::{name, room_at};
pub use settings::Host;

//! Trials on this machine's own disks, or on a filesystem that it has.
//!
//! One at a time, each by a first process of its own that does what a guest's does
//! ([`disklab_guest::init::host`]). All that is changed is in a journal before it is, and is undone
//! from there, in the same way after a trial that ended well as after one that was killed.

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

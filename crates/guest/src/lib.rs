//! Code that runs inside a trial: the library of modelled disks that the guest kernel loads, and
//! the guest's first process.
//!
//! The kernel's side of the library is `guest-kernel/files/arch/um/drivers/disklab_*.c`;
//! [`interface`] is the interface between them. A trial is a folder. The guest's process is started
//! in it and uses fixed names there (see `disklab_protocol::names`), so that the guest cannot see
//! the location of the folder.

pub mod confinement;
mod cut_states;
pub mod data;
pub mod heartbeat;
pub mod init;
pub mod interface;
pub mod library;
mod lifetime;
pub mod meter;
pub mod order;
pub mod power_cut;
pub mod real_machine;
pub mod site;
pub mod trace_file;
pub mod volatile;

/// Fingerprint of the sources. It must be the same in a program and its disk library.
pub const BUILD: &str = env!("DISKLAB_BUILD");

//! What runs inside a trial: the library of modelled disks that the guest kernel loads, and the guest's first process.
//!
//! The kernel's side of the library is `guest-kernel/files/arch/um/drivers/disklab_*.c`; [`interface`] is the seam.
//! A trial is a folder. The guest's process is started in it and uses fixed names there (see [`names`]), so that
//! nothing of where the folder lies can be seen in the guest.

pub mod closing;
pub mod data;
pub mod heartbeat;
pub mod init;
pub mod interface;
pub mod library;
mod lifetime;
pub mod machine;
pub mod meter;
pub mod order;
pub mod phases;
pub mod plan;
pub mod player;
pub mod power_cut;
pub mod snapshots;
pub mod startup;
pub mod trace_file;
pub mod volatile;

/// Which sources this was built from; a program and the disk library it uses must agree.
pub const BUILD: &str = env!("DISKLAB_BUILD");

/// File names inside a trial's folder.
pub mod names {
    /// What the library is to build ([`crate::machine::Machine`]); written before the guest starts.
    pub const MACHINE: &str = "machine.json";
    /// What the first process is to do ([`crate::plan::Plan`]); written before the guest starts.
    pub const PLAN: &str = "plan.json";
    /// Every request of every disk ([`disklab_trace`]).
    pub const REQUESTS: &str = disklab_trace::PLAIN;
    /// The library's closing record; its presence with a right checksum says that the trial is complete.
    pub const CLOSING: &str = "disks.json";
    /// What the first process did and what it read back, one JSON object a line.
    pub const STEPS: &str = "guest.jsonl";
    /// fio's own output.
    pub const FIO: &str = "fio.json";
    /// What the programs of phases said, and fio's reports of them, one JSON object a line ([`crate::phases::Account`]).
    pub const PHASES: &str = "phases.jsonl";
    /// Our own workload engine's results.
    pub const FSLOAD: &str = disklab_fsload::report::FILE;
    /// What a program that started read of its files, in order ([`crate::init`]).
    pub const PAGES: &str = "pages.txt";
    /// The guest's console.
    pub const CONSOLE: &str = "console.log";
    /// Virtual time and requests so far ([`crate::heartbeat`]).
    pub const HEARTBEAT: &str = "heartbeat";
}

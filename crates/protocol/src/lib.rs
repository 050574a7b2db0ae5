//! Formats of everything that the program, the guest and the records exchange.

pub mod action;
pub mod closing;
pub mod digest;
pub mod heartbeat;
pub mod machine;
pub mod mark;
pub mod measure;
pub mod names;
pub mod pages;
pub mod places;
pub mod setup;
pub mod shell;
pub mod snapshots;
pub mod step;

pub use closing::Closing;
pub use mark::Mark;

//! Everything that crosses between the program, the guest and the records.

pub mod closing;
pub mod digest;
pub mod machine;
pub mod mark;
pub mod names;

pub use closing::Closing;
pub use mark::Mark;

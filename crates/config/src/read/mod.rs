//! TOML with positions: all mistakes of a file at once, each with its line and what was probably
//! meant.
//!
//! ```
//! use disklab_config::read::Reader;
//!
//! let source = "rmp = 7200";
//! let mistakes = Reader::new("disk.toml", source)
//!     .read(|table| table.required::<u32>("rpm"))
//!     .unwrap_err();
//! assert_eq!(mistakes.to_string(), "disk.toml:1:1: rmp: unknown key; did you mean `rpm`?");
//! ```

mod choice;
mod mistake;
mod nearest;
mod table;
mod value;

pub(crate) use choice::choices;
pub use mistake::{Located, Mistake, Mistakes, Place};
pub use nearest::{nearest, unknown};
pub use table::{Reader, Table};
pub use value::{FromToml, from_string, unexpected};

#[cfg(test)]
mod tests;

//! TOML with positions: reports all mistakes of a file at once, each with its line and the probable
//! intent.
//!
//! ```
//! use disklab_config::read::TomlReader;
//!
//! let source = "rmp = 7200";
//! let mistakes = TomlReader::new("disk.toml", source)
//!     .read(|table| table.required::<u32>("rpm"))
//!     .unwrap_err();
//! assert_eq!(mistakes.to_string(), "disk.toml:1:1: rmp: unknown key; did you mean `rpm`?");
//! ```

mod choice;
mod diagnostic;
mod fields;
mod table;
mod value;

pub(crate) use choice::choices;
pub(crate) use diagnostic::values;
pub use diagnostic::{Diagnostic, Diagnostics, Located, SourcePlace};
pub use disklab_units::words::{lookup, nearest, unknown};
pub(crate) use fields::from_table;
pub use table::{TomlReader, TomlTable};
pub(crate) use table::{given, read_named};
pub use value::{FromToml, from_string, in_range, unexpected};
pub(crate) use value::{parsed, text_form};

#[cfg(test)]
mod tests;

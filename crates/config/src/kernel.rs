//! `lab/kernels/*.toml`: a kernel series that disklab knows how to turn into a guest.
//!
//! ```toml
//! summary = "Linux 7.3"
//! package = "linux-source-7.3"     # the distribution's package with its source
//! preference = 1                   # `newest` is the available series with the lowest number
//! ```
//!
//! The name of the file is the series: `7.3`.

use serde::{Deserialize, Serialize};

use crate::read::{TomlTable, from_table};

/// The suite's word for the most preferred kernel that this machine can have.
pub const NEWEST: &str = "newest";

/// Longest path that names a kernel, in letters. The values of all axes form the name of a trial's
/// folder, which has 255 letters at most.
const LONGEST_PATH: usize = 120;

from_table! {
    /// A kernel series, and the package with its source.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Kernel(name: &str) {
        /// The name of the file, such as `7.3`.
        pub series: String = with(|table, _| {
            check_series(table, name);
            Some(name.to_owned())
        }),
        /// A summary of one line for people.
        pub summary: String = required(),
        /// The distribution's package with its source.
        pub package: String = with(read_package),
        /// Rank of the series; disklab tries 1 first.
        pub preference: u32 = within(1..=1000),
    }
}

impl Kernel {
    /// Reads the top table of a kernel's file; `name` is the file's name.
    pub fn read(name: &str, table: &TomlTable<'_, '_>) -> Option<Self> {
        Self::from_table(table, name)
    }
}

fn check_series(table: &TomlTable<'_, '_>, name: &str) {
    table.refuse_if(!is_series(name), "", || {
        format!("`{name}` is not a kernel series such as 7.3, which the file must be named after")
    });
}

fn read_package(table: &TomlTable<'_, '_>, key: &str) -> Option<String> {
    let package: String = table.required(key)?;
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    let is_name = !package.is_empty() && !package.starts_with('-') && package.bytes().all(fits);
    table.refuse_if(!is_name, key, || {
        format!("`{}` is not the name of a Debian package", package.escape_debug())
    });
    Some(package)
}

/// Refuses a path that cannot be part of a trial's id and of the name of its folder.
pub(crate) fn check_path(path: &str) -> Result<(), String> {
    if let Some(letter) = path.chars().find(|letter| *letter == '+' || letter.is_control()) {
        return Err(format!(
            "a kernel's path cannot have `{}` in it, which separates values: name it by a link, or \
             by another name of the revision",
            letter.escape_debug()
        ));
    }
    if path.len() > LONGEST_PATH {
        return Err(format!(
            "a kernel's path is {LONGEST_PATH} letters long at most, being part of a folder's \
             name, and this one has {}: name it by a link, or from a folder nearer to it",
            path.len()
        ));
    }
    Ok(())
}

fn is_series(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

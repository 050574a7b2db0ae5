//! `lab/policies/*.toml`: a btrfs read policy that a kernel may have.
//!
//! ```toml
//! summary = "mirrors in turn, so many bytes each"
//! needs = ["BTRFS_EXPERIMENTAL"]     # kernel options, may be left out
//!
//! [[parameter]]                      # in the kernel's order; may be left out
//! key = "bytes"
//! kind = "bytes"                     # or "number", "device", "word"
//! least = "1 B"                      # not of a device or a word
//! most = "1 GiB"
//! default = "256 KiB"                # not of a device
//! summary = "bytes that are read from one mirror before the next one's turn"
//! ```
//!
//! For the kind `word`, `words = ["all", "reads"]` replaces the range.
//!
//! The name of the file is the kernel's word in `/sys/fs/btrfs/<id>/read_policy`. Policies that
//! need `BTRFS_READ_POLICIES` are disklab's own. The kernel's word for them begins with `disklab-`.
//! A suite may name them without this prefix. Then the lab's own kernels run disklab's policy, and
//! a kernel of the user's own runs its own policy of that name.
//!
//! A suite names a policy with or without values, and the first parameter's value with or without
//! its key: `round-robin`, `round-robin:4k`, `latency-rr:margin=120,burst=100`. The files of the
//! policies in `read-policies/` are generated from the C code there.

mod choice;
mod parameter;

use serde::{Deserialize, Serialize};

pub use choice::{PolicyChoice, PolicyValue, WantedPolicy};
pub use parameter::{ParameterKind, ParameterKindName, PolicyParameter};

use crate::read::{TomlTable, read_named, values};

/// The kernel option of disklab's own policies.
pub const OPTION: &str = "BTRFS_READ_POLICIES";

/// The kernel option of btrfs's own policies except `pid`. Linux 6.12 lacks the option.
pub const EXPERIMENTAL: &str = "BTRFS_EXPERIMENTAL";

/// Prefix of the names of disklab's own policies in sysfs. A suite may use these names too.
pub const PREFIX: &str = "disklab-";

/// Name of the policy that only the fast model has: it asks the disk models.
pub const ORACLE: &str = "oracle";

/// A read policy: its parameters and the kernel options that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Name of the policy's file, without `.toml`: the kernel's word for the policy.
    pub name: String,
    /// Summary of one line for people.
    pub summary: String,
    /// The parameters that may follow the policy's name, in the kernel's order.
    pub parameters: Vec<PolicyParameter>,
    /// Kernel options, without `CONFIG_`.
    pub needs: Vec<String>,
}

impl Policy {
    /// Returns the policy under its name in sysfs, if it is one of disklab's.
    pub(crate) fn prefixed(&self) -> Option<Self> {
        let is_ours = self.needs.iter().any(|need| need == OPTION);
        (is_ours && !self.name.starts_with(PREFIX))
            .then(|| Self { name: format!("{PREFIX}{}", self.name), ..self.clone() })
    }

    /// Reads the top table of a policy's file; `name` is the file's name.
    pub fn read(name: &str, table: &TomlTable<'_, '_>) -> Option<Self> {
        let summary = table.required("summary");
        let needs = table.list::<String>("needs");
        for need in &needs {
            let is_option =
                |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
            if need.value.is_empty()
                || need.value.starts_with("CONFIG_")
                || !need.value.bytes().all(is_option)
            {
                let rule = "not a kernel option without its CONFIG_, such as BTRFS_EXPERIMENTAL";
                table.wrong_at(&need.place, format!("`{}` is {rule}", need.value.escape_debug()));
            }
        }
        let twice = |key: &str| format!("`{key}` is given twice");
        let tables = table.tables("parameter");
        let read = PolicyParameter::from_table;
        let parameters = read_named(&tables, "key", read, |parameter| &parameter.key, twice);
        Some(Self {
            name: name.to_owned(),
            summary: summary?,
            parameters: parameters?,
            needs: values(needs),
        })
    }
}

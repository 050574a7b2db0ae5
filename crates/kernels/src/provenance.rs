//! The provenance of a kernel's source.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::git::Revision;

/// Provenance of a built kernel's source, as its record states it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Provenance {
    /// A Debian package.
    Package { package: String, version: String, suite: String, sha256: String },
    /// A tree. `revision` is the commit of a git tree, and `changed` is true if its files differ
    /// from the commit's.
    Tree {
        path: String,
        digest: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        changed: bool,
    },
    /// A tarball of the user's own.
    Tarball { path: String, sha256: String },
}

impl Provenance {
    /// Returns the series of a package, such as `7.3`. For other sources, only the unpacked tree
    /// has it.
    pub(crate) fn series(&self) -> Option<String> {
        let Self::Package { version, .. } = self else { return None };
        let mut numbers = version.split('.');
        Some(format!("{}.{}", numbers.next()?, numbers.next()?))
    }

    /// Returns the full commit if it is known, and whether the tree has changed since.
    pub fn revision(&self) -> Option<String> {
        let Self::Tree { revision: Some(commit), changed, .. } = self else { return None };
        Some(if *changed { format!("{commit} with changes") } else { commit.clone() })
    }

    pub(crate) fn to_toml(&self) -> String {
        // A flat table of strings always serialises.
        toml::to_string(self).unwrap_or_default()
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Package { package, version, suite, .. } => {
                write!(f, "{package} {version} from {suite}")
            }
            Self::Tree { path, revision: Some(commit), changed, .. } => {
                let changed = if *changed { " with changes" } else { "" };
                write!(f, "{path} at {}{changed}", Revision::short(commit))
            }
            Self::Tree { path, .. } | Self::Tarball { path, .. } => f.write_str(path),
        }
    }
}

//! The configuration fragment: the lines that make a kernel the guest, and the check that the
//! kernel accepted all of them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};

/// A `config` file: `CONFIG_NAME=value` lines, comments and blank lines.
#[derive(Debug, Clone)]
pub(crate) struct Fragment {
    text: String,
}

impl Fragment {
    /// Parses a fragment; `path` is for messages only.
    pub fn parse(path: &Path, text: String) -> Result<Self> {
        for (index, line) in text.lines().enumerate() {
            if !line.trim().is_empty() && !line.starts_with('#') && setting(line).is_none() {
                let (path, line, text) = (path.into(), index + 1, line.into());
                return Err(Error::BadFragment { path, line, text });
            }
        }
        Ok(Self { text })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the lines that a finished `.config` lacks; of several lines of one option, only the
    /// last counts. Kconfig silently drops unknown options, and options with missing dependencies;
    /// without them it would be another guest.
    pub fn lost(&self, config: &str) -> Vec<String> {
        let taken: BTreeMap<&str, &str> = config.lines().filter_map(setting).collect();
        let last: BTreeMap<&str, &str> = self.text.lines().filter_map(setting).collect();
        let held = |(name, value): (&str, &str)| {
            last.get(name) != Some(&value) || taken.get(name).copied().unwrap_or("n") == value
        };
        self.text
            .lines()
            .filter(|line| setting(line).is_some_and(|wanted| !held(wanted)))
            .map(str::to_owned)
            .collect()
    }
}

/// Returns true if a finished `.config` has `CONFIG_<name>=y`.
pub(crate) fn has_option(config: &str, name: &str) -> bool {
    config
        .lines()
        .filter_map(setting)
        .any(|(key, value)| value == "y" && key.strip_prefix("CONFIG_") == Some(name))
}

/// Joins fragments, one after the other.
impl FromIterator<Self> for Fragment {
    fn from_iter<T: IntoIterator<Item = Self>>(fragments: T) -> Self {
        Self { text: fragments.into_iter().map(|fragment| fragment.text).collect() }
    }
}

fn setting(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let named = name.strip_prefix("CONFIG_").is_some_and(|rest| !rest.is_empty() && word(rest));
    let valued =
        value.starts_with('"') || (!value.is_empty() && word(value.trim_start_matches('-')));
    (named && valued).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(text: &str) -> Result<Fragment> {
        Fragment::parse(Path::new("guest-kernel/config"), text.to_owned())
    }

    #[test]
    fn lost_lines_are_found_whatever_way_they_were_lost() {
        let wanted = fragment(
            "# disks\nCONFIG_BLOCK=y\nCONFIG_GONE=y\n\n\
             CONFIG_HZ=250\nCONFIG_MODULES=n\nCONFIG_OFF=n\nCONFIG_NAME=\"a b\"\n",
        )
        .unwrap();
        let config = "CONFIG_BLOCK=y\n# CONFIG_GONE is not \
            set\nCONFIG_HZ=100\nCONFIG_OFF=y\nCONFIG_NAME=\"a b\"\n";
        assert_eq!(wanted.lost(config), ["CONFIG_GONE=y", "CONFIG_HZ=250", "CONFIG_OFF=n"]);
    }

    #[test]
    fn a_line_that_is_none_is_refused_with_its_number() {
        for line in
            ["BLOCK=y", "CONFIG_=y", "CONFIG_X", "CONFIG_X=", "CONFIG_X = y", "CONFIG_X=y # why"]
        {
            let error = fragment(&format!("CONFIG_A=y\n{line}\n")).unwrap_err().to_string();
            assert!(
                error.contains("guest-kernel/config, line 2") && error.contains(line),
                "{error}"
            );
        }
    }

    #[test]
    fn options_are_whole_words() {
        let config =
            "CONFIG_BTRFS_FS=y\nCONFIG_NOT_BTRFS=y\n# CONFIG_XFS_FS is not set\nCONFIG_M=m\n";
        assert!(has_option(config, "BTRFS_FS"));
        for absent in ["BTRFS", "FS", "XFS_FS", "M"] {
            assert!(!has_option(config, absent), "{absent}");
        }
    }
}

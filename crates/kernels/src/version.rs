//! Kernel versions as the kernel's own Makefile states them, in the kernel's own order.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A version: `7.3.4`, `7.4.0-rc1`. A release candidate sorts before its release, any other suffix
/// after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    major: u32,
    minor: u32,
    point: u32,
    extra: String,
}

impl Version {
    /// Reads the first lines of a kernel's top Makefile. An error says what is missing there.
    pub(crate) fn of_makefile(makefile: &str) -> Result<Self, String> {
        let value = |name: &str| {
            makefile.lines().take(20).find_map(|line| {
                let (left, right) = line.split_once('=')?;
                (left.trim() == name).then(|| right.trim().to_owned())
            })
        };
        let number = |name: &str| {
            let text = value(name).ok_or_else(|| format!("its Makefile does not set {name}"))?;
            text.parse::<u32>().map_err(|_| format!("its Makefile sets {name} to {text:?}"))
        };
        let extra = value("EXTRAVERSION").unwrap_or_default();
        if !extra.chars().all(|c| c.is_ascii_alphanumeric() || "-+._~".contains(c)) {
            return Err(format!("its Makefile sets EXTRAVERSION to {extra:?}"));
        }
        Ok(Self {
            major: number("VERSION")?,
            minor: number("PATCHLEVEL")?,
            point: number("SUBLEVEL")?,
            extra,
        })
    }

    /// Returns `7.3` for `7.3.4`.
    pub fn series(&self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// Returns the rank of a suffix: a candidate's number, then the release, then later builds of
    /// it.
    fn stage(&self) -> (u8, u32) {
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
        match self.extra.strip_prefix("-rc") {
            Some(rest) => (0, digits(rest).parse().unwrap_or(0)),
            None if self.extra.is_empty() => (1, 0),
            None => (2, 0),
        }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.point, v.stage());
        numbers(self).cmp(&numbers(other)).then_with(|| self.extra.cmp(&other.extra))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}{}", self.major, self.minor, self.point, self.extra)
    }
}

impl FromStr for Version {
    type Err = String;

    /// Parses three numbers and a suffix. `7.3` alone is a series, and no version.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a kernel version such as 7.3.4");
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (numbers, extra) = text.split_at(end);
        let parts: Vec<u32> =
            numbers.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        match parts[..] {
            [major, minor, point] => Ok(Self { major, minor, point, extra: extra.to_owned() }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn a_makefile_states_the_version() {
        let text =
            "# SPDX\nVERSION = 7\nPATCHLEVEL = 4\nSUBLEVEL = 0\nEXTRAVERSION = -rc1\nNAME = x\n";
        let found = Version::of_makefile(text).unwrap();
        assert_eq!(found, version("7.4.0-rc1"));
        assert_eq!(found.series(), "7.4");
        assert_eq!(found.to_string(), "7.4.0-rc1");
    }

    #[test]
    fn what_a_makefile_lacks_is_named() {
        assert!(Version::of_makefile("all:\n\ttrue\n").unwrap_err().contains("VERSION"));
        let odd = "VERSION = 7\nPATCHLEVEL = x\nSUBLEVEL = 0\n";
        assert!(Version::of_makefile(odd).unwrap_err().contains("PATCHLEVEL"));
        let path = "VERSION = 7\nPATCHLEVEL = 1\nSUBLEVEL = 0\nEXTRAVERSION = /../x\n";
        assert!(Version::of_makefile(path).unwrap_err().contains("EXTRAVERSION"));
    }

    #[test]
    fn versions_sort_as_the_kernel_counts() {
        let order = [
            "6.12.94",
            "7.2.9",
            "7.2.13",
            "7.3.0-rc9",
            "7.3.0-rc10",
            "7.3.0",
            "7.3.0-mine",
            "7.3.1",
        ];
        for pair in order.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn a_series_is_not_a_version() {
        for text in ["7.3", "7", "", "7.3.4.5", "newest", "7..3"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}

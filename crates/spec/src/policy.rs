//! `lab/policies/*.toml`: a btrfs read policy that a kernel may have.
//!
//! ```toml
//! summary = "mirrors in turn, so many bytes each"
//! argument = "bytes"                 # or "device"; left out where the policy takes none
//! needs = ["BTRFS_EXPERIMENTAL"]     # kernel options, may be left out
//! ```
//!
//! Its name is the kernel's word in `/sys/fs/btrfs/<id>/read_policy`. A suite names a policy with or without an
//! argument: `round-robin`, `round-robin:4k`, `devid:2`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::read::{Table, choices};

/// A read policy: what may be said to it and what kernel it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Its file's name, and the kernel's word for it.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// What may follow its name. Without it, the kernel's default applies.
    pub argument: Option<Argument>,
    /// Kernel options, without `CONFIG_`.
    pub needs: Vec<String>,
}

choices! {
    /// What a policy's argument is.
    pub enum Argument: "kind of argument" {
        /// An amount of data, in whole btrfs sectors of 4 KiB.
        Bytes = "bytes",
        /// A btrfs device id: the first disk of an array is 1.
        Device = "device",
    }
}

/// A policy as a suite asks for it. Displayed as it is written to sysfs: `round-robin:4096`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PolicyChoice {
    pub policy: String,
    /// Bytes or a device id.
    pub argument: Option<u64>,
}

/// btrfs rounds the argument up to its sector size and keeps it in 32 bits.
const SECTOR: u64 = 4096;
const ARGUMENT_BYTES: RangeInclusive<Bytes> = Bytes(SECTOR)..=Bytes::gib(1);

impl Policy {
    /// Reads a file's top table; `name` is the file's.
    pub fn read(name: &str, table: &Table<'_, '_>) -> Option<Self> {
        let summary = table.required("summary");
        let argument = table.optional("argument");
        let needs = table.list::<String>("needs");
        for need in &needs {
            let is_option = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
            if need.value.is_empty()
                || need.value.starts_with("CONFIG_")
                || !need.value.bytes().all(is_option)
            {
                let message = format!(
                    "`{}` is not a kernel option without its CONFIG_, such as BTRFS_EXPERIMENTAL",
                    need.value.escape_debug()
                );
                table.wrong_at(&need.place, message);
            }
        }
        let needs = needs.into_iter().map(|need| need.value).collect();
        Some(Self { name: name.to_owned(), summary: summary?, argument, needs })
    }

    /// Whether `choice`, which names this policy, has an argument that it can take on an array of so many devices.
    pub fn check(&self, choice: &PolicyChoice, devices: usize) -> Result<(), String> {
        let Some(argument) = choice.argument else { return Ok(()) };
        match self.argument {
            None => Err(format!("policy `{}` takes no argument", self.name)),
            Some(Argument::Bytes) => {
                let bytes = Bytes(argument);
                if !ARGUMENT_BYTES.contains(&bytes) {
                    let (least, most) = (ARGUMENT_BYTES.start(), ARGUMENT_BYTES.end());
                    return Err(format!("{bytes} is not sensible: from {least} to {most} is"));
                }
                if !argument.is_multiple_of(SECTOR) {
                    return Err(format!(
                        "{argument} bytes are not a multiple of {SECTOR}; the kernel would round them up"
                    ));
                }
                Ok(())
            }
            Some(Argument::Device) => {
                if argument == 0 || argument > devices as u64 {
                    return Err(format!("there is no device {argument}: the array's are 1 to {devices}"));
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.argument {
            None => f.pad(&self.policy),
            Some(argument) => f.pad(&format!("{}:{argument}", self.policy)),
        }
    }
}

/// `name` or `name:argument`, the argument as fio spells sizes. Whether there is such a policy is not asked here.
impl FromStr for PolicyChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (policy, argument) = match text.split_once(':') {
            None => (text, None),
            Some((policy, argument)) => {
                let argument: Bytes =
                    argument.parse().map_err(|error| format!("after `{policy}:`, {error}"))?;
                (policy, Some(argument.0))
            }
        };
        Ok(Self { policy: policy.to_owned(), argument })
    }
}

//! A read policy with values: the words of a suite, and the meaning for one policy.

use std::fmt;
use std::str::FromStr;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use super::Policy;
use crate::read::unknown;

/// A policy as a suite writes it. This type does not know whether the policy exists, nor which
/// parameters it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedPolicy {
    pub policy: String,
    /// Keys and values. Only the first may lack a key: it belongs to the policy's first parameter
    /// then.
    values: Vec<(Option<String>, String)>,
}

/// A policy with the values of its parameters. It is displayed without the values that are
/// defaults.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PolicyChoice {
    pub policy: String,
    /// Values of all parameters in the kernel's order. A device that the kernel chooses has none.
    pub values: Vec<PolicyValue>,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PolicyValue {
    pub key: String,
    /// A decimal number or a word.
    pub value: String,
    /// Whether this is the policy's first parameter, which is displayed without its key.
    pub first: bool,
    /// Whether the value is the parameter's default.
    pub default: bool,
}

impl WantedPolicy {
    /// Returns the policy with one more value.
    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.values.push((Some(key.to_owned()), plain(value)));
        self
    }

    /// Returns the choice for `policy`, the policy of this name, on arrays of `devices` devices.
    pub fn settle(&self, policy: &Policy, devices: usize) -> Result<PolicyChoice, String> {
        let parameters = &policy.parameters;
        let mut given: Vec<Option<String>> = vec![None; parameters.len()];
        for (key, text) in &self.values {
            if parameters.is_empty() {
                return Err(format!("policy `{}` takes no parameters", policy.name));
            }
            let keys = || parameters.iter().map(|parameter| parameter.key.as_str());
            let key = key.as_deref().unwrap_or(&parameters[0].key);
            let index = keys().position(|known| known == key).ok_or_else(|| {
                format!("`{}`: {}", policy.name, unknown("parameter", key, keys()))
            })?;
            let wrong = |message| format!("`{key}` of `{}`: {message}", policy.name);
            let value = parameters[index].canonical(text, devices).map_err(wrong)?;
            if given[index].replace(value).is_some() {
                return Err(wrong("is given twice".to_owned()));
            }
        }
        let mut values = Vec::new();
        for (i, (parameter, given)) in parameters.iter().zip(given).enumerate() {
            let default = parameter.default_value();
            let is_default = given.is_none() || given == default;
            if let Some(value) = given.or(default) {
                let key = parameter.key.clone();
                values.push(PolicyValue { key, value, first: i == 0, default: is_default });
            }
        }
        Ok(PolicyChoice { policy: policy.name.clone(), values })
    }
}

impl PolicyChoice {
    /// Returns the text for sysfs, with every value. So the values are the lab's, also on a kernel
    /// with other defaults. A kernel with the same parameters shows the same text.
    pub fn setting(&self) -> String {
        self.text(|_| true)
    }

    fn text(&self, wanted: impl Fn(&PolicyValue) -> bool) -> String {
        let values = self.values.iter().filter(|value| wanted(value));
        let key = |value: &'_ PolicyValue| (!value.first).then(|| value.key.clone());
        spelled(&self.policy, values.map(|value| (key(value), value.value.as_str())))
    }
}

/// Returns `name:value,key=value`, or the name alone.
fn spelled<'a>(policy: &str, values: impl Iterator<Item = (Option<String>, &'a str)>) -> String {
    let assigned = |(key, value): (Option<String>, &str)| {
        key.map_or_else(|| value.to_owned(), |key| format!("{key}={value}"))
    };
    let values: Vec<String> = values.map(assigned).collect();
    let between = if values.is_empty() { "" } else { ":" };
    format!("{policy}{between}{}", values.join(","))
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text(|value| !value.default))
    }
}

impl fmt::Display for WantedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.iter().map(|(key, value)| (key.clone(), value.as_str()));
        f.pad(&spelled(&self.policy, values))
    }
}

/// Parses `name`, `name:value`, `name:key=value`, each followed by more `,key=value`.
impl FromStr for WantedPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((policy, values)) = text.split_once(':') else {
            return Ok(Self { policy: text.to_owned(), values: Vec::new() });
        };
        let mut parsed = Vec::new();
        for (i, value) in values.split(',').enumerate() {
            let (key, value) = match value.split_once('=') {
                Some((key, value)) => (Some(key.to_owned()), value),
                None if i == 0 => (None, value),
                None => {
                    let rule = "only the first value may go without its key";
                    let value = value.escape_debug();
                    return Err(format!("after `{policy}:`, `{value}` is not key=value: {rule}"));
                }
            };
            if value.is_empty() {
                return Err(format!("after `{policy}:`, a value is empty"));
            }
            parsed.push((key, plain(value)));
        }
        Ok(Self { policy: policy.to_owned(), values: parsed })
    }
}

/// Spells a size as its bytes: `4k` and `4096` are one value.
fn plain(value: &str) -> String {
    value.parse::<Bytes>().map_or_else(|_| value.to_owned(), |size| size.0.to_string())
}

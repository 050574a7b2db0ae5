use std::ffi::{CStr, c_char};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use crate::raw;
use crate::registry::OF_MAINLINE;

/// A read policy, with the facts of its C file.
#[derive(Debug)]
pub struct Policy {
    /// The policy's name in sysfs.
    pub name: &'static str,
    /// A summary of one line for people.
    pub summary: &'static str,
    /// Whether the kernel has the policy without these files.
    pub mainline: bool,
    pub parameters: Vec<Parameter>,
    pub(crate) raw: &'static raw::Policy,
}

/// A parameter of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub key: &'static str,
    pub kind: Kind,
    /// A summary of one line for people.
    pub summary: &'static str,
}

/// The kind of a parameter's value, with its range and default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Number { range: RangeInclusive<u64>, default: u64 },
    /// A size in whole blocks of the filesystem.
    Bytes { range: RangeInclusive<u64>, default: u64 },
    /// A device's id. The default is 0, which stands for the device that was mounted last.
    Device,
    /// A word of a list. The default is an index into the list.
    Word { words: Vec<&'static str>, default: usize },
}

/// Returns all policies, in the order of registry.h.
pub fn policies() -> &'static [Policy] {
    static POLICIES: LazyLock<Vec<Policy>> = LazyLock::new(|| {
        // SAFETY: NULL or one of the policies, which are constants.
        let policy = |index| unsafe { raw::disklab_read_policy(index).as_ref() };
        (0..).map_while(policy).map(Policy::from_raw).collect()
    });
    &POLICIES
}

impl Policy {
    fn from_raw(raw: &'static raw::Policy) -> Self {
        Self {
            name: text(raw.name),
            summary: text(raw.summary),
            mainline: raw.mainline,
            parameters: raw.parameters.iter().map_while(Parameter::from_raw).collect(),
            raw,
        }
    }

    /// Returns the path of the policy's C file, in `read-policies/`.
    pub fn file(&self) -> String {
        let folder = if self.mainline { format!("{OF_MAINLINE}/") } else { String::new() };
        format!("{folder}{}.c", self.name.replace('-', "_"))
    }
}

impl Parameter {
    /// Returns a parameter of the C code, or `None` at the end of the list.
    fn from_raw(raw: &'static raw::Parameter) -> Option<Self> {
        let (range, default) = (raw.least..=raw.most, raw.value);
        let kind = match raw.kind {
            raw::NUMBER => Kind::Number { range, default },
            raw::BYTES => Kind::Bytes { range, default },
            raw::DEVICE => Kind::Device,
            raw::WORD => {
                let words = text(raw.words).split(' ').collect();
                Kind::Word { words, default: default as usize }
            }
            _ => return None,
        };
        Some(Self { key: text(raw.key), kind, summary: text(raw.summary) })
    }
}

/// Returns a string constant of a C file, or an empty one for a null pointer.
fn text(start: *const c_char) -> &'static str {
    if start.is_null() {
        return "";
    }
    // SAFETY: the C files have string constants only, which end in 0 and stay where they are.
    unsafe { CStr::from_ptr(start) }.to_str().unwrap_or_default()
}

use std::ffi::{CStr, c_char};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use crate::raw;
use crate::registry::OF_MAINLINE;

/// A read policy: what its C file says about it.
#[derive(Debug)]
pub struct Policy {
    /// The policy's name in sysfs.
    pub name: &'static str,
    /// A line that describes it to people.
    pub summary: &'static str,
    /// The kernel has it without these files.
    pub mainline: bool,
    pub parameters: Vec<Parameter>,
    pub(crate) raw: &'static raw::Policy,
}

/// A value that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub key: &'static str,
    pub kind: Kind,
    /// A line that describes it to people.
    pub summary: &'static str,
}

/// The kind of a parameter's value, with its range and default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number { range: RangeInclusive<u64>, default: u64 },
    /// A size in whole blocks of the filesystem.
    Bytes { range: RangeInclusive<u64>, default: u64 },
    /// A device's id; unless said, 0, which stands for the device that was mounted last.
    Device,
    /// A word of a list; the default is an index into them.
    Word { words: Vec<&'static str>, default: usize },
}

/// All of them, in the order of registry.h.
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

    /// The C file that defines it, in `read-policies/`.
    pub fn file(&self) -> String {
        let folder = if self.mainline { format!("{OF_MAINLINE}/") } else { String::new() };
        format!("{folder}{}.c", self.name.replace('-', "_"))
    }
}

impl Parameter {
    /// `None` at the end of the list.
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

/// A string constant of a C file; empty where there is none.
fn text(start: *const c_char) -> &'static str {
    if start.is_null() {
        return "";
    }
    // SAFETY: the C files have string constants only, which end in 0 and stay where they are.
    unsafe { CStr::from_ptr(start) }.to_str().unwrap_or_default()
}

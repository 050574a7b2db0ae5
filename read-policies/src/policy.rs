use std::ffi::{CStr, c_char};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use crate::raw;

/// A read policy: what its C file says about it.
#[derive(Debug)]
pub struct Policy {
    /// As in sysfs.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// The kernel has it without these files.
    pub mainline: bool,
    /// It looks at how many blocks the filesystem has read.
    pub needs_blocks_read: bool,
    /// It looks at the requests in flight.
    pub needs_in_flight: bool,
    pub parameters: Vec<Parameter>,
    raw: Raw,
}

/// One value that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub key: &'static str,
    pub kind: Kind,
    /// One line for people.
    pub summary: &'static str,
}

/// What a parameter's value is, and what holds where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Number {
        range: RangeInclusive<u64>,
        default: u64,
    },
    /// In whole blocks of the filesystem.
    Bytes {
        range: RangeInclusive<u64>,
        default: u64,
    },
    /// A device's id; unless said, 0, which stands for the device that was mounted last.
    Device,
    /// An index into the words.
    Word {
        words: Vec<&'static str>,
        default: usize,
    },
}

#[derive(Clone, Copy)]
struct Raw(&'static raw::Policy);

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
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

/// The one of this name.
pub fn policy(name: &str) -> Option<&'static Policy> {
    policies().iter().find(|policy| policy.name == name)
}

impl Policy {
    fn from_raw(raw: &'static raw::Policy) -> Self {
        Self {
            name: text(raw.name),
            summary: text(raw.summary),
            mainline: raw.mainline,
            needs_blocks_read: raw.needs & raw::NEEDS_BLOCKS_READ != 0,
            needs_in_flight: raw.needs & raw::NEEDS_IN_FLIGHT != 0,
            parameters: raw.parameters.iter().map_while(Parameter::from_raw).collect(),
            raw: Raw(raw),
        }
    }

    /// The C file that defines it, in `read-policies/`.
    pub fn file(&self) -> String {
        format!("{}.c", self.name.replace('-', "_"))
    }

    pub(crate) fn raw(&self) -> &'static raw::Policy {
        self.raw.0
    }
}

impl Parameter {
    /// `None` at the end of the list.
    fn from_raw(raw: &'static raw::Parameter) -> Option<Self> {
        let kind = match raw.kind {
            raw::BYTES => Kind::Bytes { range: raw.least..=raw.most, default: raw.value },
            raw::DEVICE => Kind::Device,
            raw::WORD => Kind::Word {
                words: text(raw.words).split(' ').collect(),
                default: raw.value as usize,
            },
            raw::NUMBER => Kind::Number { range: raw.least..=raw.most, default: raw.value },
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

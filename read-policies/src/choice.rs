use std::fmt;
use std::ptr;

use crate::policy::{Kind, Policy, policies};
use crate::raw::{self, CHECKPOINT_AGE, Mirror, PARAMETERS_MAX, WINDOW};
use crate::request::{BLOCK_BITS, Request};

/// A policy with values for its parameters. It is displayed as sysfs shows it: with the values of
/// all parameters, except a device that nobody named.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    policy: &'static Policy,
    /// The values, each in its parameter's range: the C code has checked them.
    values: [u64; PARAMETERS_MAX],
}

impl Choice {
    /// Parses a text as the kernel does in `read_policy`. Returns `None` where the kernel returns
    /// EINVAL.
    pub fn parse(text: impl AsRef<[u8]>, block_bits: u32) -> Option<Self> {
        let text = text.as_ref();
        let length = u32::try_from(text.len()).ok()?;
        if !BLOCK_BITS.contains(&block_bits) {
            return None;
        }
        let mut choice = raw::Choice { policy: ptr::null(), values: [0; PARAMETERS_MAX] };
        // SAFETY: `length` bytes can be read, and a choice can be written.
        let refused = unsafe {
            let text = text.as_ptr().cast();
            raw::disklab_read_choice_parse(text, length, block_bits, &raw mut choice)
        };
        let policy = policies().iter().find(|policy| ptr::eq(policy.raw, choice.policy))?;
        (refused == 0).then_some(Self { policy, values: choice.values })
    }

    /// Returns a policy with its default values.
    pub fn default_of(policy: &'static Policy) -> Self {
        let mut choice = raw::Choice { policy: ptr::null(), values: [0; PARAMETERS_MAX] };
        // SAFETY: a choice to be written, and a policy of the C files.
        unsafe { raw::disklab_read_choice_default(&raw mut choice, policy.raw) };
        Self { policy, values: choice.values }
    }

    /// Returns a policy with values that another [`Self::parse`] made, such as those of a kernel's
    /// trace. Returns `None` if their number is not that of the C code's array, or a value is out
    /// of its range.
    pub fn with_values(policy: &'static Policy, values: &[u64]) -> Option<Self> {
        let choice = Self { policy, values: values.try_into().ok()? };
        let sound =
            policy.parameters.iter().zip(values).all(|(parameter, &value)| match &parameter.kind {
                Kind::Word { words, .. } => (value as usize) < words.len(),
                Kind::Number { range, .. } | Kind::Bytes { range, .. } => range.contains(&value),
                Kind::Device => true,
            });
        sound.then_some(choice)
    }

    pub fn policy(&self) -> &'static Policy {
        self.policy
    }

    /// Returns the values, in the order of the policy's parameters.
    pub fn values(&self) -> &[u64] {
        &self.values[..self.policy.parameters.len()]
    }

    /// Returns the index of the mirror to read from, which is a live one if there is any.
    pub fn decide(&self, request: &Request) -> usize {
        // SAFETY: policy and values are the C code's own, and the request has as many mirrors as it
        // says.
        unsafe {
            let values = self.values.as_ptr();
            raw::disklab_read_decide(self.policy.raw, values, &raw const request.0) as usize
        }
    }

    /// Returns a mirror's age after a decision for it or for another. An age that no mirror can
    /// have counts as the nearest one that it can have.
    pub fn age(&self, age: i32, chosen: bool) -> i32 {
        let age = age.clamp(-WINDOW, CHECKPOINT_AGE);
        // SAFETY: policy and values are the C code's own.
        unsafe { raw::disklab_read_age(self.policy.raw, self.values.as_ptr(), age, chosen) }
    }
}

impl Mirror {
    /// Returns the mean time of the mirror's recent reads in ns, as policies see it, or 0 if it is
    /// unknown.
    pub fn latency(&self) -> u64 {
        // SAFETY: a whole mirror to be read.
        unsafe { raw::disklab_read_latency(self) }
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.policy, other.policy) && self.values() == other.values()
    }
}

impl Eq for Choice {}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.policy.name)?;
        let mut separator = ':';
        for (i, (parameter, value)) in self.policy.parameters.iter().zip(self.values()).enumerate()
        {
            if parameter.kind == Kind::Device && *value == 0 {
                continue;
            }
            write!(f, "{separator}")?;
            separator = ',';
            if i > 0 {
                write!(f, "{}=", parameter.key)?;
            }
            match &parameter.kind {
                Kind::Word { words, .. } => {
                    f.write_str(words.get(*value as usize).unwrap_or(&""))?;
                }
                Kind::Number { .. } | Kind::Bytes { .. } | Kind::Device => write!(f, "{value}")?,
            }
        }
        Ok(())
    }
}

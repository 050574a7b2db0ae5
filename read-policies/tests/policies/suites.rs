//! Tests that the kernel takes and shows the policies that a suite asks for.

use disklab_config::Lab;
use disklab_config::policy::WantedPolicy;
use disklab_read_policies::{Choice, policies};
use proptest::prelude::*;
use std::sync::LazyLock;

use crate::{BITS, any, repository};

static LAB: LazyLock<Lab> = LazyLock::new(|| Lab::load(&repository("lab")).unwrap());

/// Returns the text that would be written to sysfs, and the short name.
fn asked(text: &str) -> Result<(String, String), String> {
    let wanted: WantedPolicy = text.parse()?;
    let choice = wanted.settle(&LAB.policies[&wanted.policy], 4)?;
    Ok((choice.setting(), choice.to_string()))
}

#[test]
fn defaults_are_those_of_the_kernel() {
    for policy in policies() {
        let (setting, short) = asked(policy.name).unwrap();
        assert_eq!(setting, Choice::default_of(policy).to_string());
        assert_eq!(short, policy.name);
    }
}

/// Returns whether a number of KiB in it is not a multiple of 4.
fn has_part_of_a_block(text: &str) -> bool {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    numbers.any(|word| {
        let kib = word.strip_suffix(['k', 'K']).and_then(|number| number.parse::<u64>().ok());
        kib.is_some_and(|kib| kib % 4 != 0)
    })
}

proptest! {
    #[test]
    fn a_suite_takes_what_the_kernel_takes(text in any::text()) {
        // The kernel rounds less than a block up to a block, and a suite refuses it: nobody is to
        // believe in turns of 1 KiB.
        let choice = Choice::parse(&text, BITS).unwrap();
        if let Ok((setting, short)) = asked(&text) {
            prop_assert_eq!(&setting, &choice.to_string());
            prop_assert_eq!(Choice::parse(&setting, BITS), Some(choice));
            prop_assert_eq!(asked(&short).unwrap(), (setting.clone(), short.clone()));
            prop_assert_eq!(asked(&setting).unwrap(), (setting, short));
        } else {
            prop_assert!(has_part_of_a_block(&text), "{} is refused", text);
        }
    }
}

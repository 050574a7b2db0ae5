//! Tests that damaged files give mistakes or trials, and never cause a panic.

use std::sync::LazyLock;

use disklab_config::read::TomlReader;
use disklab_config::{Diagnostics, Lab, Suite};
use proptest::prelude::*;

use crate::small_lab::{SUITE, SmallLab};

static LAB: LazyLock<Lab> = LazyLock::new(|| SmallLab::new().load());

fn read(text: &str) -> Result<Suite, Diagnostics> {
    TomlReader::new("suite.toml", text).read(|table| Suite::read("suite", table))
}

proptest! {
    #[test]
    fn a_damaged_suite_never_panics(
        start in 0..SUITE.len(),
        length in 0..40usize,
        patch in "[\\]\\[\"={},a-z0-9:\n ]{0,8}|\"[a-z]{0,4}:[0-9]{0,22}k?\"",
    ) {
        let end = (start + length).min(SUITE.len());
        let text = format!("{}{patch}{}", &SUITE[..start], &SUITE[end..]);
        if let Ok(suite) = read(&text) {
            let _ = suite.trials(&LAB);
        }
    }

    #[test]
    fn no_override_panics(
        axis in "array|policy|kernel|[a-z]{0,6}",
        values in "[a-z0-9:,. -]{0,20}|\\PC{0,10}",
    ) {
        let mut suite = read(SUITE).unwrap();
        if suite.set(&axis, &values).is_ok() {
            let _ = suite.trials(&LAB);
        }
    }
}

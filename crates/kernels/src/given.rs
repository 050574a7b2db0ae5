//! Kernels that the starter of the program assigned to names, if this machine cannot resolve the
//! names: a tree on another machine, or the newest kernel of another machine.

use std::collections::BTreeMap;
use std::env;

use crate::error::{Error, Result};

/// Environment variable with TOML: names, and folders of built kernels.
pub const VARIABLE: &str = "DISKLAB_KERNELS";

/// Returns the folder for a name, if one was assigned.
pub fn given(name: &str) -> Result<Option<String>> {
    match env::var(VARIABLE) {
        Ok(text) => in_text(name, &text),
        Err(_) => Ok(None),
    }
}

fn in_text(name: &str, text: &str) -> Result<Option<String>> {
    let mut kernels: BTreeMap<String, String> = toml::from_str(text)
        .map_err(|wrong| Error::NotGiven { why: wrong.message().to_owned() })?;
    Ok(kernels.remove(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_can_be_given() {
        let text = "newest = '/cache/a'\n\"./linux@v7.4\" = \"/cache/b\"\n";
        assert_eq!(in_text("newest", text).unwrap().as_deref(), Some("/cache/a"));
        assert_eq!(in_text("./linux@v7.4", text).unwrap().as_deref(), Some("/cache/b"));
        assert_eq!(in_text("7.3", text).unwrap(), None);
        let error = in_text("newest", "newest").unwrap_err().to_string();
        assert!(error.contains(VARIABLE), "{error}");
    }
}

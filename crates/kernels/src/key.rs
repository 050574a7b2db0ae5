//! The digest that names a built kernel, over everything that it was made from.

use std::process::Command;

use crate::digest::Fields;
use crate::error::Result;
use crate::process::Runner;

/// Version, raised when a change of the build makes old results invalid.
const FORMAT: &str = "1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuildKey(String);

impl BuildKey {
    /// Makes the key; `source` is the digest of the source's bytes, which include the version, and
    /// `recipe` the digest of what is inserted into it.
    pub fn new(source: &str, recipe: &str, compiler: &str) -> Self {
        let mut fields = Fields::new("guest kernel");
        fields.add(FORMAT).add(source).add(recipe).add(compiler);
        Self(fields.finish())
    }

    pub fn full(&self) -> &str {
        &self.0
    }

    /// Returns twelve digits, for names of folders.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

/// Returns the first lines of the compiler's and linker's version output, which name the
/// distribution's build too.
pub(crate) fn compiler(runner: Runner) -> Result<String> {
    let mut lines = Vec::new();
    for tool in ["gcc", "ld"] {
        let text = runner.output(Command::new(tool).arg("--version").env("LC_ALL", "C"))?;
        lines.push(text.lines().next().unwrap_or_default().to_owned());
    }
    Ok(lines.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn any_input_changes_the_key() {
        let key = BuildKey::new("source", "recipe", "gcc 12");
        assert_eq!(key, BuildKey::new("source", "recipe", "gcc 12"));
        for changed in [
            BuildKey::new("other", "recipe", "gcc 12"),
            BuildKey::new("source", "other", "gcc 12"),
            BuildKey::new("source", "recipe", "gcc 13"),
        ] {
            assert_ne!(key, changed);
        }
        assert!(key.full().starts_with(key.short()) && key.short().len() == 12);
    }

    #[test]
    fn compiler_and_linker_are_named_with_their_versions() {
        let stop = AtomicBool::new(false);
        let found = compiler(Runner { stop: &stop }).unwrap();
        assert!(found.contains("gcc") && found.contains("ld") && found.contains('.'), "{found}");
    }
}

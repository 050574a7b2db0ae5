//! Applying a patch exactly or not at all: moved lines are fine, changed ones are not.

use std::fmt;
use std::path::Path;
use std::process::Command;

use crate::error::Result;
use crate::process::{Runner, Sign};

/// One place where a patch did not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    file: String,
    why: String,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.why)
    }
}

/// Applies `patch` to `tree`; what does not fit is returned, and the tree is spoilt then.
pub(crate) fn apply(tree: &Path, patch: &Path, runner: Runner) -> Result<Vec<Reject>> {
    let mut command = Command::new("patch");
    // --force: ask nothing, for patch asks the terminal itself where there is one.
    command.args(["-p1", "--fuzz=0", "--forward", "--force", "--no-backup-if-mismatch", "-i"]);
    command.arg(patch).current_dir(tree).env("LC_ALL", "C").env_remove("POSIXLY_CORRECT");
    let mut reader = PatchOutput::default();
    let status = runner.watch(&mut command, &mut |sign| {
        if let Sign::Line(line) = sign {
            reader.line(line);
        }
    })?;
    if status.success() { Ok(Vec::new()) } else { Ok(reader.finish()) }
}

/// Reads what patch says.
#[derive(Default)]
struct PatchOutput {
    file: String,
    missing: bool,
    last: String,
    rejects: Vec<Reject>,
}

impl PatchOutput {
    fn line(&mut self, line: &str) {
        if let Some(file) = line.strip_prefix("patching file ") {
            file.clone_into(&mut self.file);
        } else if let Some((hunk, at)) =
            line.strip_prefix("Hunk #").and_then(|rest| rest.split_once(" FAILED at "))
        {
            let file = self.file.clone();
            self.reject(
                file,
                format!("hunk {hunk}, looked for near line {}", at.trim_end_matches('.')),
            );
        } else if line.starts_with("can't find file to patch") {
            self.missing = true;
        } else if let Some(file) = line.strip_prefix("|+++ ").filter(|_| self.missing) {
            let file = file.split('\t').next().unwrap_or(file);
            let file = file.split_once('/').map_or(file, |(_, rest)| rest);
            self.reject(file.to_owned(), "there is no such file".to_owned());
            self.missing = false;
        } else if let Some(file) = line.strip_prefix("The next patch would create the file ") {
            self.reject(
                file.trim_end_matches(',').to_owned(),
                "the file is there already".to_owned(),
            );
        }
        if !line.is_empty() {
            line.clone_into(&mut self.last);
        }
    }

    fn reject(&mut self, file: String, why: String) {
        self.rejects.push(Reject { file, why });
    }

    /// A failure that fits none of the above (a patch cut short, say) is told in patch's own last
    /// words.
    fn finish(mut self) -> Vec<Reject> {
        if self.rejects.is_empty() {
            let file = if self.file.is_empty() {
                "the patch itself".to_owned()
            } else {
                self.file.clone()
            };
            let why = std::mem::take(&mut self.last);
            self.reject(file, why);
        }
        self.rejects
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use super::*;

    const PATCH: &str = "Why.\n\n--- a/d/f\n+++ b/d/f\n@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n@@ -7,3 +7,3 @@\n 7\n-8\n+eight\n 9\n";

    /// Applies `patch` to a folder whose `d/f` holds `contents`.
    fn applied(contents: &str, patch: &str) -> (Vec<String>, String) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("d")).unwrap();
        fs::write(folder.path().join("d/f"), contents).unwrap();
        let file = folder.path().join("0001.patch");
        fs::write(&file, patch).unwrap();
        let stop = AtomicBool::new(false);
        let rejects = apply(folder.path(), &file, Runner { stop: &stop }).unwrap();
        assert!(!folder.path().join("d/f.orig").exists());
        let text = fs::read_to_string(folder.path().join("d/f")).unwrap();
        (rejects.iter().map(ToString::to_string).collect(), text)
    }

    fn lines(numbers: impl Iterator<Item = u32>) -> String {
        numbers.map(|n| n.to_string() + "\n").collect()
    }

    #[test]
    fn moved_lines_are_found() {
        let (rejects, text) = applied(&format!("x\ny\n{}", lines(1..=10)), PATCH);
        assert!(rejects.is_empty(), "{rejects:?}");
        assert!(text.starts_with("x\ny\n1\n2\nthree\n4\n") && text.contains("eight"));
    }

    #[test]
    fn a_changed_neighbour_is_a_reject_with_file_and_hunk() {
        let (rejects, _) = applied(&lines(1..=10).replace("9\n", "nine\n"), PATCH);
        assert_eq!(rejects, ["d/f: hunk 2, looked for near line 7"]);
    }

    #[test]
    fn what_is_in_already_does_not_fit() {
        let (rejects, _) =
            applied(&lines(1..=10).replace("3\n", "three\n").replace("8\n", "eight\n"), PATCH);
        assert_eq!(rejects.len(), 2, "{rejects:?}");
    }

    #[test]
    fn a_missing_file_an_existing_new_one_and_a_cut_patch_are_told() {
        let (rejects, _) = applied("1\n", &PATCH.replace("d/f", "d/gone.c"));
        assert_eq!(rejects, ["d/gone.c: there is no such file"]);
        let (rejects, _) = applied("1\n", "--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+new\n");
        assert_eq!(rejects, ["d/f: the file is there already"]);
        let (rejects, _) = applied(&lines(1..=10), &PATCH[..PATCH.len() - 4]);
        assert!(rejects.len() == 1 && rejects[0].starts_with("d/f: patch: **** "), "{rejects:?}");
    }
}

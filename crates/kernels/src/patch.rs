//! Applies a patch exactly or not at all: moved lines are accepted, changed ones are not.

use std::path::Path;
use std::process::Command;

use crate::error::Result;
use crate::process::{Runner, Sign};

/// Applies `patch` to `tree`. Returns the parts that do not fit; the tree is then unusable.
pub(crate) fn apply(tree: &Path, patch: &Path, runner: Runner) -> Result<Vec<String>> {
    let mut command = Command::new("patch");
    // With --force, patch asks no question. Otherwise it would ask on the terminal, if there is
    // one.
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

/// Parser of patch's output.
#[derive(Default)]
struct PatchOutput {
    file: String,
    missing: bool,
    last: String,
    rejects: Vec<String>,
}

impl PatchOutput {
    fn line(&mut self, line: &str) {
        if let Some(file) = line.strip_prefix("patching file ") {
            file.clone_into(&mut self.file);
        } else if let Some((hunk, at)) =
            line.strip_prefix("Hunk #").and_then(|rest| rest.split_once(" FAILED at "))
        {
            let line = at.trim_end_matches('.');
            let reject = format!("{}: hunk {hunk}, looked for near line {line}", self.file);
            self.rejects.push(reject);
        } else if line.starts_with("can't find file to patch") {
            self.missing = true;
        } else if let Some(file) = line.strip_prefix("|+++ ").filter(|_| self.missing) {
            let file = file.split('\t').next().unwrap_or(file);
            let file = file.split_once('/').map_or(file, |(_, rest)| rest);
            self.rejects.push(format!("{file}: the file does not exist"));
            self.missing = false;
        } else if let Some(file) = line.strip_prefix("The next patch would create the file ") {
            let file = file.trim_end_matches(',');
            self.rejects.push(format!("{file}: the file exists already"));
        }
        if !line.is_empty() {
            line.clone_into(&mut self.last);
        }
    }

    /// Any other failure, such as a truncated patch, is described by the last lines of patch's
    /// output.
    fn finish(mut self) -> Vec<String> {
        if self.rejects.is_empty() {
            let file = if self.file.is_empty() { "the patch itself" } else { &self.file };
            self.rejects.push(format!("{file}: {}", self.last));
        }
        self.rejects
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use super::*;

    const PATCH: &str = "Why.\n\n--- a/d/f\n+++ b/d/f\n@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n@@ \
        -7,3 +7,3 @@\n 7\n-8\n+eight\n 9\n";

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
        (rejects, text)
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
        assert_eq!(rejects, ["d/gone.c: the file does not exist"]);
        let (rejects, _) = applied("1\n", "--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+new\n");
        assert_eq!(rejects, ["d/f: the file exists already"]);
        let (rejects, _) = applied(&lines(1..=10), &PATCH[..PATCH.len() - 4]);
        assert!(rejects.len() == 1 && rejects[0].starts_with("d/f: patch: **** "), "{rejects:?}");
    }
}

//! The read policies as patches for a user's own kernel: `disklab kernel patch`.
//!
//! The insertions of a guest kernel are written as three mails for `git am`: the policies, the hook
//! that calls them, and the documentation. The kernel builds after each. The source serves to check
//! that they fit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::file;
use crate::process::Runner;
use crate::recipe::{Insertion, POLICIES_IN_TREE};
use crate::share::Share;
use crate::source::{KernelSource, Material};
use crate::step::{BuildStep, Report};
use crate::version::Version;

const DOCUMENTATION: &str = "Documentation";

/// A series of patches to be written.
#[derive(Debug, Clone, Copy)]
pub struct PatchSeries<'a> {
    pub cache: &'a Cache,
    pub share: &'a Share,
    /// Author `Name <mail>`, who sends the patches and signs them off.
    pub author: &'a str,
    pub stop: &'a std::sync::atomic::AtomicBool,
}

/// Name of a mail's file, and its text.
type Mail = (String, String);

impl PatchSeries<'_> {
    /// Writes the series for a source into the folder `out`, which must be new or empty. Returns
    /// the version that it fits, and the files.
    pub fn write(
        &self,
        source: &KernelSource,
        out: &Path,
        report: Report,
    ) -> Result<(Version, Vec<PathBuf>)> {
        if out.exists() && !file::names(out)?.is_empty() {
            return Err(Error::NotEmpty { path: out.to_path_buf() });
        }
        let runner = Runner { stop: self.stop };
        let insertion = Insertion::of_read_policies(self.share)?;
        let material = Material::obtain(source, self.cache, runner, report)?;
        let claim = Claim::take(&self.cache.kernels(), "series", self.stop, report)?;
        let scratch = claim.scratch()?;
        report(BuildStep::Preparing {
            what: format!("seeing that it fits {}", material.path().display()),
        });
        let tree =
            material.excerpt(&insertion.folders(), &scratch.path().join("source"), runner)?;
        let version = material.version(&tree)?;
        insertion.insert(&tree, &version, &scratch.path().join("patches"), runner)?;
        file::create_folder(out)?;
        let mut written = Vec::new();
        for (name, text) in mails(&insertion, &version, self.author) {
            let path = out.join(name);
            file::write_synced(&path, text.as_bytes())?;
            written.push(path);
        }
        Ok((version, written))
    }
}

fn mails(insertion: &Insertion, version: &Version, author: &str) -> Vec<Mail> {
    let new = |wanted: &dyn Fn(&Path) -> bool| {
        insertion
            .files()
            .filter(|(path, _)| wanted(path))
            .map(|(path, contents)| new_file(path, &String::from_utf8_lossy(contents)))
            .collect::<String>()
    };
    let is_policy = |path: &Path| path.starts_with(POLICIES_IN_TREE);
    let is_document = |path: &Path| path.starts_with(DOCUMENTATION);
    let mut parts = vec![(POLICIES.to_owned(), new(&is_policy))];
    // The first patch needs the remaining files, which are neither policies nor documents.
    let mut asked = new(&|path| !is_policy(path) && !is_document(path));
    for (_, patch) in insertion.patches_for(version).into_values() {
        let text = String::from_utf8_lossy(patch);
        let start =
            if text.starts_with("--- ") { 0 } else { text.find("\n--- ").map_or(0, |at| at + 1) };
        let (message, diff) = text.split_at(start);
        parts.push((message.to_owned(), diff.to_owned() + &std::mem::take(&mut asked)));
    }
    parts.push((DOCUMENTS.to_owned(), asked + &new(&is_document)));
    let count = parts.len();
    parts
        .iter()
        .enumerate()
        .map(|(index, (message, diff))| mail(index + 1, count, author, message, diff))
        .collect()
}

const POLICIES: &str = "\
btrfs: read policies, each in one file

A read of mirrored data can go to any of its copies. Add policies for
this choice beside those that btrfs has. Each is a function of what btrfs
knows about the mirrors: the lowest latency (alone, or in turn with those
near it), the shortest queue, and the choices of md's RAID1 and of
OpenZFS. No code calls them yet.
";

const DOCUMENTS: &str = "\
Documentation: btrfs read policies

Describe how a policy is chosen, its statistics and its trace event.
";

fn mail(number: usize, count: usize, author: &str, message: &str, diff: &str) -> Mail {
    let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
    let text = format!(
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n\
         From: {author}\n\
         Subject: [PATCH {number}/{count}] {subject}\n\n\
         {}\n\n\
         Signed-off-by: {author}\n\
         ---\n\
         {diff}-- \ndisklab {}\n\n",
        body.trim(),
        env!("CARGO_PKG_VERSION"),
    );
    let words = subject.to_lowercase();
    let words: Vec<&str> = words
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    (format!("{number:04}-{}.patch", words.join("-")), text)
}

/// Returns the diff that makes a file.
fn new_file(path: &Path, contents: &str) -> String {
    let (path, lines) = (path.display(), contents.lines().count());
    let mut diff = format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 \
         +1,{lines} @@\n"
    );
    for line in contents.lines() {
        let _ = writeln!(diff, "+{line}");
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_has_what_git_am_reads() {
        let diff = new_file(Path::new("a/b.c"), "one\ntwo\n");
        let (name, text) = mail(2, 3, "A B <a@b>", "btrfs: a seam\n\nWhy.\n\n", &diff);
        assert_eq!(name, "0002-btrfs-a-seam.patch");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..6],
            ["From: A B <a@b>", "Subject: [PATCH 2/3] btrfs: a seam", "", "Why.", ""]
        );
        assert_eq!(lines[6..9], ["Signed-off-by: A B <a@b>", "---", "diff --git a/a/b.c b/a/b.c"]);
        assert_eq!(
            lines[9..15],
            [
                "new file mode 100644",
                "--- /dev/null",
                "+++ b/a/b.c",
                "@@ -0,0 +1,2 @@",
                "+one",
                "+two"
            ]
        );
    }
}

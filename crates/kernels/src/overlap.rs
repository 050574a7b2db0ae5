//! Files of the kernel that both disklab and the user's source change, as far as that can be known.
//!
//! A git repository shows its changes since the nearest tag of a version. A tree without such a
//! tag, and a tarball, have no unchanged version to compare with.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::error::Result;
use crate::git::{self, Revision};
use crate::recipe::{Btrfs, Recipe};
use crate::share::Share;
use crate::source::KernelSource;

/// Patches by the file that they change.
type Patched = BTreeMap<String, String>;

/// The files that disklab's patches and a source both change, as far as known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlap {
    /// The source changes these files since `base`, and so do the named patches.
    Files { base: String, files: Vec<(String, String)> },
    /// The changes of the source are unknown; `why` says what is missing.
    Unknown { why: String, files: Vec<String> },
}

impl Overlap {
    /// Returns None if the two change no file in common. A package's source is the one that the
    /// patches were made for.
    pub fn find(source: &KernelSource, share: &Share, btrfs: Btrfs) -> Result<Option<Self>> {
        let patched = Recipe::read(share, btrfs)?.patched();
        let unknown = |why: &str| {
            let files = patched.keys().cloned().collect();
            Ok(Some(Self::Unknown { why: why.to_owned(), files }))
        };
        let (repository, commit): (&Path, &str) = match source {
            KernelSource::Package { .. } => return Ok(None),
            KernelSource::Tarball { .. } => return unknown("a tarball has no history"),
            KernelSource::Tree(path) if !path.join(".git").exists() => {
                return unknown("the tree is not a git repository");
            }
            KernelSource::Tree(path) => (path, "HEAD"),
            KernelSource::Revision(revision) => (&revision.repository, &revision.commit),
        };
        let describe = ["describe", "--tags", "--abbrev=0", "--match=v[0-9]*", commit];
        let (_, output) = git::run(repository, &describe)?;
        if !output.status.success() {
            return unknown("its history has no tag of a version, such as v7.3");
        }
        let base = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        // Without a second revision, git compares with the present files.
        let is_tree = matches!(source, KernelSource::Tree(_));
        let revisions = if is_tree { vec![&*base] } else { vec![&*base, commit] };
        Ok(Self::changed(repository, &revisions, &patched)?
            .map(|files| Self::Files { base, files }))
    }

    /// Returns the files that change between two revisions and that disklab changes too.
    pub fn between(
        good: &Revision,
        bad: &Revision,
        share: &Share,
        btrfs: Btrfs,
    ) -> Result<Option<Self>> {
        let patched = Recipe::read(share, btrfs)?.patched();
        let found = Self::changed(&good.repository, &[&good.commit, &bad.commit], &patched)?;
        let base = Revision::short(&good.commit).to_owned();
        Ok(found.map(|files| Self::Files { base, files }))
    }

    fn changed(
        repository: &Path,
        revisions: &[&str],
        patched: &Patched,
    ) -> Result<Option<Vec<(String, String)>>> {
        let mut arguments =
            vec!["--no-optional-locks", "diff", "--name-only", "--no-renames", "-z"];
        arguments.extend(revisions);
        arguments.push("--");
        arguments.extend(patched.keys().map(String::as_str));
        let listed = git::bytes(repository, &arguments)?;
        let names = listed.split(|&byte| byte == 0).map(String::from_utf8_lossy);
        let files: Vec<(String, String)> = names
            .filter_map(|name| Some((name.to_string(), patched.get(&*name)?.clone())))
            .collect();
        Ok((!files.is_empty()).then_some(files))
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { base, files } => {
                write!(
                    f,
                    "these files differ from {base}, and disklab changes them too, so results do \
                     not depend on the source's changes alone:"
                )?;
                files.iter().try_for_each(|(file, patch)| write!(f, "\n  {file} ({patch})"))
            }
            Self::Unknown { why, files } => write!(
                f,
                "it is unknown whether the source changes files that disklab changes too ({why}): \
                 {}",
                files.join(", ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PATCH: &str = "Why.\n\n--- a/time.c\n+++ b/time.c\n@@ -1 +1 @@\n-a\n+b\n";

    /// Makes a share whose only patch changes time.c, and a repository with a commit for each text
    /// of time.c. The first commit is tagged v7.3.
    fn place(texts: &[&str]) -> (tempfile::TempDir, Share) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["lab", "read-policies", "guest-kernel/patches", "linux"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("guest-kernel/config"), "CONFIG_A=y\n").unwrap();
        fs::write(root.join("guest-kernel/patches/0001-clock.patch"), PATCH).unwrap();
        let tree = root.join("linux");
        fs::write(tree.join("Makefile"), "all:\n").unwrap();
        git::say(&tree, &["init", "--quiet"]).unwrap();
        for (number, text) in texts.iter().enumerate() {
            fs::write(tree.join("time.c"), text).unwrap();
            fs::write(tree.join("other.c"), number.to_string()).unwrap();
            git::say(&tree, &["add", "."]).unwrap();
            let who = ["-c", "user.name=n", "-c", "user.email=e"];
            git::say(&tree, &[&who[..], &["commit", "-qm", "m"]].concat()).unwrap();
            if number == 0 {
                git::say(&tree, &["tag", "v7.3"]).unwrap();
            }
        }
        let share = Share::open(root).unwrap();
        (folder, share)
    }

    fn files(base: &str) -> Overlap {
        let file = ("time.c".to_owned(), "0001-clock.patch".to_owned());
        Overlap::Files { base: base.to_owned(), files: vec![file] }
    }

    #[test]
    fn a_file_that_both_change_is_named_with_the_patch() {
        let (folder, share) = place(&["a\n", "a\n", "mine\n"]);
        let tree = folder.path().join("linux");
        let at = |name: &str| Revision::find(&tree, name).unwrap();
        let find = |source| Overlap::find(&source, &share, Btrfs::Untouched).unwrap();
        assert_eq!(find(KernelSource::Revision(at("HEAD"))), Some(files("v7.3")));
        assert_eq!(find(KernelSource::Revision(at("HEAD~1"))), None);
        let between =
            |good, bad| Overlap::between(&at(good), &at(bad), &share, Btrfs::Untouched).unwrap();
        assert_eq!(between("HEAD~1", "HEAD"), Some(files(Revision::short(&at("HEAD~1").commit))));
        assert_eq!(between("HEAD~2", "HEAD~1"), None);
        let told = files("v7.3").to_string();
        assert!(told.contains("v7.3") && told.contains("time.c (0001-clock.patch)"), "{told}");
    }

    #[test]
    fn what_is_not_committed_counts_in_a_tree() {
        let (folder, share) = place(&["a\n"]);
        let tree = folder.path().join("linux");
        let find =
            || Overlap::find(&KernelSource::Tree(tree.clone()), &share, Btrfs::Untouched).unwrap();
        assert_eq!(find(), None);
        fs::write(tree.join("time.c"), "mine\n").unwrap();
        assert_eq!(find(), Some(files("v7.3")));
    }

    #[test]
    fn what_cannot_be_known_is_said_with_the_files() {
        let (folder, share) = place(&["a\n"]);
        let tree = folder.path().join("linux");
        git::say(&tree, &["tag", "-d", "v7.3"]).unwrap();
        let find = || {
            let source = KernelSource::Tree(tree.clone());
            Overlap::find(&source, &share, Btrfs::Untouched).unwrap().unwrap().to_string()
        };
        let told = find();
        assert!(told.contains("no tag of a version") && told.contains("time.c"), "{told}");
        fs::remove_dir_all(tree.join(".git")).unwrap();
        assert!(find().contains("not a git repository"));
        let tarball = KernelSource::Tarball { path: tree.join("a.tar"), sha256: None };
        let told = Overlap::find(&tarball, &share, Btrfs::Untouched).unwrap().unwrap().to_string();
        assert!(told.contains("it is unknown") && told.contains("tarball"), "{told}");
    }
}

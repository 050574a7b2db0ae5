//! A kernel tree of the user: read, and never written to.
//!
//! From a git work tree only the files that git would keep are taken (tracked files in their
//! present state, and new ones that are not ignored). So a tree full of build products gives the
//! same kernel as a clean one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use disklab_units::Bytes;

use crate::digest::Fields;
use crate::error::{Error, Result};
use crate::file;
use crate::git;
use crate::process::Runner;

#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    /// Relative paths of files and symbolic links, sorted.
    paths: Vec<PathBuf>,
    size: Bytes,
    digest: String,
}

impl Tree {
    /// Lists and hashes the tree.
    pub fn read(root: &Path, runner: Runner) -> Result<Self> {
        let tracked = if root.join(".git").exists() { git_files(root)? } else { Vec::new() };
        // If nothing is tracked in a tree yet, git may know none of its files: Debian's sources
        // ignore themselves.
        let is_kernel = tracked.iter().any(|path| path == "Makefile");
        let listed = if is_kernel { tracked } else { walk(root, Path::new(""), runner)? };
        let mut paths = Vec::with_capacity(listed.len());
        let mut size = 0;
        for path in listed {
            // Git also lists files that were deleted in the work tree, and submodules, which are
            // folders.
            let Ok(metadata) = root.join(&path).symlink_metadata() else { continue };
            if !metadata.is_dir() {
                size += metadata.size();
                paths.push(path);
            }
        }
        paths.sort_unstable();
        paths.dedup();
        let digest = hash(root, &paths, runner)?;
        Ok(Self { root: root.to_path_buf(), paths, size: Bytes(size), digest })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn size(&self) -> Bytes {
        self.size
    }

    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Copies into `target`, sharing blocks if the file system can, and checks that the copy has
    /// the hashed contents.
    pub fn copy(&self, target: &Path, runner: Runner) -> Result<()> {
        self.copy_some(&|_| true, target, runner)?;
        if hash(target, &self.paths, runner)? == self.digest {
            Ok(())
        } else {
            Err(Error::SourceChanged { path: self.root.clone() })
        }
    }

    /// Copies the top Makefile and all files below `folders`.
    pub fn excerpt(&self, folders: &[PathBuf], target: &Path, runner: Runner) -> Result<()> {
        let wanted = |path: &Path| {
            path == "Makefile" || folders.iter().any(|folder| path.starts_with(folder))
        };
        self.copy_some(&wanted, target, runner)
    }

    fn copy_some(
        &self,
        wanted: &dyn Fn(&Path) -> bool,
        target: &Path,
        runner: Runner,
    ) -> Result<()> {
        file::create_folder(target)?;
        let mut folder = PathBuf::new();
        for path in self.paths.iter().filter(|path| wanted(path)) {
            runner.check()?;
            let parent = path.parent().unwrap_or(Path::new(""));
            if parent != folder {
                file::create_folder(&target.join(parent))?;
                parent.clone_into(&mut folder);
            }
            let (from, to) = (self.root.join(path), target.join(path));
            if from.is_symlink() {
                fs::read_link(&from)
                    .and_then(|link| symlink(link, &to))
                    .map_err(Error::io("copy", &from))?;
            } else {
                file::copy(&from, &to)?;
            }
        }
        Ok(())
    }
}

/// Lists tracked files, and untracked ones that are not ignored.
fn git_files(root: &Path) -> Result<Vec<PathBuf>> {
    let listed =
        git::bytes(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let names = listed.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

fn walk(root: &Path, below: &Path, runner: Runner) -> Result<Vec<PathBuf>> {
    runner.check()?;
    let folder = root.join(below);
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
        let entry = entry.map_err(Error::io("list", &folder))?;
        let path = below.join(entry.file_name());
        if path.as_os_str() == ".git" {
            continue;
        }
        if entry.file_type().map_err(Error::io("read", &path))?.is_dir() {
            found.extend(walk(root, &path, runner)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// Hashes names, kinds and contents. Times and owners do not matter to a build.
fn hash(root: &Path, paths: &[PathBuf], runner: Runner) -> Result<String> {
    let mut fields = Fields::new("tree");
    for path in paths {
        runner.check()?;
        let full = root.join(path);
        let metadata = full.symlink_metadata().map_err(Error::io("read", &full))?;
        fields.add(path.as_os_str().as_bytes());
        if metadata.is_symlink() {
            let link = fs::read_link(&full).map_err(Error::io("read", &full))?;
            fields.add("link").add(link.as_os_str().as_bytes());
        } else if metadata.is_file() {
            let kind = if metadata.permissions().mode() & 0o100 == 0 { "file" } else { "program" };
            let contents = file::bytes(&full)?;
            fields.add(kind).add(contents);
        } else {
            let why = format!("{} is neither a file nor a link", path.display());
            return Err(Error::not_a_source(root, why));
        }
    }
    Ok(fields.finish())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::AtomicBool;

    use super::*;

    static RUN: AtomicBool = AtomicBool::new(false);
    const RUNNER: Runner = Runner { stop: &RUN };

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("arch/um")).unwrap();
        fs::write(folder.path().join("Makefile"), "all:\n").unwrap();
        fs::write(folder.path().join("arch/um/x.c"), "int x;\n").unwrap();
        fs::write(folder.path().join("run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.path().join("run.sh"), fs::Permissions::from_mode(0o755))
            .unwrap();
        symlink("arch/um/x.c", folder.path().join("link")).unwrap();
        folder
    }

    fn digest(root: &Path) -> String {
        Tree::read(root, RUNNER).unwrap().digest
    }

    fn git(root: &Path, arguments: &[&str]) {
        let status = Command::new("git").args(arguments).current_dir(root).status().unwrap();
        assert!(status.success(), "git {arguments:?}");
    }

    #[test]
    fn a_copy_is_the_same_tree_and_the_tree_stays_untouched() {
        let (from, to) = (tree(), tempfile::tempdir().unwrap());
        let before = digest(from.path());
        let copy = to.path().join("copy");
        Tree::read(from.path(), RUNNER).unwrap().copy(&copy, RUNNER).unwrap();
        fs::write(copy.join("Makefile"), "changed").unwrap();
        fs::write(copy.join("link"), "through the link").unwrap();
        assert_eq!(digest(from.path()), before);
        assert_ne!(digest(&copy), before);
    }

    #[test]
    fn every_change_shows_in_the_digest() {
        let folder = tree();
        let root = folder.path();
        let mut seen = std::collections::BTreeSet::from([digest(root)]);
        let mut differs = |what: &str| assert!(seen.insert(digest(root)), "{what}");
        fs::write(root.join("Makefile"), "none:\n").unwrap();
        differs("contents");
        fs::rename(root.join("run.sh"), root.join("go.sh")).unwrap();
        differs("name");
        fs::set_permissions(root.join("go.sh"), fs::Permissions::from_mode(0o644)).unwrap();
        differs("mode");
        fs::remove_file(root.join("link")).unwrap();
        symlink("Makefile", root.join("link")).unwrap();
        differs("link");
        fs::write(root.join("arch/new.h"), "").unwrap();
        differs("new file");
    }

    #[test]
    fn of_a_git_tree_build_products_and_history_are_left_out() {
        let folder = tree();
        let root = folder.path();
        fs::write(root.join(".gitignore"), "*.o\n").unwrap();
        git(root, &["init", "-q"]);
        git(root, &["add", "Makefile", ".gitignore", "arch", "run.sh", "link"]);
        let clean = digest(root);
        fs::write(root.join("arch/um/x.o"), "object").unwrap();
        git(root, &["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]);
        assert_eq!(digest(root), clean);
        fs::write(root.join("arch/um/x.c"), "int edited;\n").unwrap();
        let edited = digest(root);
        assert_ne!(edited, clean);
        fs::write(root.join("arch/um/new.c"), "int new;\n").unwrap();
        assert_ne!(digest(root), edited);
        fs::remove_file(root.join("run.sh")).unwrap();
        let copy = tempfile::tempdir().unwrap();
        Tree::read(root, RUNNER).unwrap().copy(&copy.path().join("c"), RUNNER).unwrap();
        assert!(copy.path().join("c/arch/um/new.c").exists());
        for absent in [".git", "arch/um/x.o", "run.sh"] {
            assert!(!copy.path().join("c").join(absent).exists(), "{absent}");
        }
    }

    #[test]
    fn a_tree_that_its_repository_ignores_is_taken_whole() {
        let folder = tree();
        let root = folder.path();
        fs::write(root.join(".gitignore"), "*\n").unwrap();
        let bare = digest(root);
        git(root, &["init", "-q"]);
        assert_eq!(digest(root), bare);
    }

    #[test]
    fn a_tree_that_changes_meanwhile_is_noticed() {
        let folder = tree();
        let read = Tree::read(folder.path(), RUNNER).unwrap();
        fs::write(folder.path().join("Makefile"), "later").unwrap();
        let copy = tempfile::tempdir().unwrap();
        let error = read.copy(&copy.path().join("c"), RUNNER).unwrap_err();
        assert!(matches!(error, Error::SourceChanged { .. }), "{error}");
    }
}

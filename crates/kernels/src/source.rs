//! The source of a kernel, and its unpacking into a folder.

use std::path::{Path, PathBuf};

use disklab_units::Bytes;

use crate::cache::Cache;
use crate::digest::{self, Fields};
use crate::error::{Error, Result};
use crate::file;
use crate::git::{self, Revision};
use crate::package::{self, Package};
use crate::process::Runner;
use crate::provenance::Provenance;
use crate::recipe::Btrfs;
use crate::step::{BuildStep, Report};
use crate::tarball;
use crate::tree::Tree;
use crate::version::Version;

/// A supported series of kernels and the Debian package that carries its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// Series, such as `7.3`.
    pub series: String,
    /// Package, such as `linux-source-7.3`.
    pub package: String,
}

/// The source from which a kernel is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelSource {
    /// A Debian package, fetched by apt from a suite that has it.
    Package { series: String, package: String },
    /// A kernel tree or git work tree of the user. It is copied, and never written to.
    Tree(PathBuf),
    /// A commit of a git repository. It is exported, and never checked out there.
    Revision(Revision),
    /// A tarball of a kernel tree; `sha256` in lower-case hexadecimal, if the user knows it.
    Tarball { path: PathBuf, sha256: Option<String> },
}

impl KernelSource {
    /// Finds a source: a folder is a tree, a file is a tarball, and `FOLDER@REV` is a git revision.
    pub fn find(path: &Path) -> Result<Self> {
        if let Some((repository, name)) = revision_of(path) {
            let revision = Revision::find(&repository, &name)?;
            if !revision.has_makefile()? {
                return Err(Error::not_a_source(&repository, format!("{name} has no Makefile")));
            }
            return Ok(Self::Revision(revision));
        }
        let path = path.canonicalize().map_err(Error::io("find the kernel source", path))?;
        if path.is_dir() {
            return Ok(Self::Tree(path));
        }
        if !path.is_file() {
            return Err(Error::not_a_source(&path, "it is neither a folder nor a file"));
        }
        if !tarball::is_one(&path)? {
            return Err(Error::not_a_source(&path, "it is not a tarball"));
        }
        Ok(Self::Tarball { path, sha256: None })
    }

    /// Returns the package of a series, as in `kernel build 7.2`.
    pub fn of_series(asked: &str, known: &[Series]) -> Result<Self> {
        let found = known.iter().find(|series| series.series == asked);
        found.map(Self::from).ok_or_else(|| Error::UnknownSeries {
            asked: asked.to_owned(),
            known: known.iter().map(|series| series.series.clone()).collect(),
        })
    }
}

/// Suffix of a tree, a revision or a tarball whose btrfs gets disklab's read policies beside its
/// own.
pub const WITH_POLICIES: &str = ":disklab";

/// Splits `./linux:disklab` into the source and the btrfs of its kernel. If the whole name exists,
/// it is a source without a suffix.
pub fn split_policies(value: &str) -> (&str, Btrfs) {
    match value.strip_suffix(WITH_POLICIES) {
        Some(source) if !Path::new(value).exists() => (source, Btrfs::Policies),
        _ => (value, Btrfs::Untouched),
    }
}

/// Returns true if `path` exists and could be a source.
pub(crate) fn is_there(path: &Path) -> bool {
    path.exists() || revision_of(path).is_some()
}

/// Splits `FOLDER@REV`. Both parts may contain an `@` (`HEAD@{1}`): an existing path is not a
/// revision, and otherwise the shortest existing folder is meant.
fn revision_of(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str().filter(|_| path.symlink_metadata().is_err())?;
    let parts = text.match_indices('@').map(|(at, _)| (Path::new(&text[..at]), &text[at + 1..]));
    parts
        .into_iter()
        .find(|(folder, _)| folder.is_dir())
        .map(|(folder, name)| (folder.to_owned(), name.to_owned()))
}

impl From<&Series> for KernelSource {
    fn from(series: &Series) -> Self {
        Self::Package { series: series.series.clone(), package: series.package.clone() }
    }
}

/// An available source: hashed, not yet unpacked.
#[derive(Debug)]
pub(crate) struct Material {
    pub provenance: Provenance,
    /// Digest of every byte of it.
    pub digest: String,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Tarball(PathBuf),
    Tree(Tree),
    Revision(Revision),
}

impl Material {
    pub fn obtain(
        source: &KernelSource,
        cache: &Cache,
        runner: Runner,
        report: Report,
    ) -> Result<Self> {
        let (provenance, digest, form) = match source {
            KernelSource::Package { package, .. } => {
                let Package { tarball, sha256, provenance } =
                    package::obtain(&cache.sources(), package, runner, report)?;
                (provenance, sha256, Form::Tarball(tarball))
            }
            KernelSource::Tarball { path, sha256 } => {
                report(BuildStep::Preparing { what: format!("checking {}", path.display()) });
                let found = digest::of_file(path)?;
                if let Some(expected) = sha256.clone().filter(|expected| *expected != found) {
                    return Err(Error::WrongDigest { path: path.clone(), expected, found });
                }
                let provenance =
                    Provenance::Tarball { path: path.display().to_string(), sha256: found.clone() };
                (provenance, found, Form::Tarball(path.clone()))
            }
            KernelSource::Tree(path) => {
                report(BuildStep::Preparing { what: format!("reading {}", path.display()) });
                if !path.join("Makefile").is_file() {
                    return Err(Error::not_a_source(path, "it has no Makefile"));
                }
                let state = if path.join(".git").exists() { git::state(path)? } else { None };
                let tree = Tree::read(path, runner)?;
                let digest = tree.digest().to_owned();
                let changed = state.as_ref().is_some_and(|(_, changed)| *changed);
                let provenance = Provenance::Tree {
                    path: path.display().to_string(),
                    digest: digest.clone(),
                    revision: state.map(|(commit, _)| commit),
                    changed,
                };
                (provenance, digest, Form::Tree(tree))
            }
            KernelSource::Revision(revision) => {
                let mut fields = Fields::new("revision");
                fields.add(&revision.tree);
                let digest = fields.finish();
                let provenance = Provenance::Tree {
                    path: revision.repository.display().to_string(),
                    digest: digest.clone(),
                    revision: Some(revision.commit.clone()),
                    changed: false,
                };
                (provenance, digest, Form::Revision(revision.clone()))
            }
        };
        Ok(Self { provenance, digest, form })
    }

    /// Returns the room for the unpacked source: xz makes a kernel ten times smaller, and small
    /// files take whole blocks.
    pub fn room(&self) -> Result<Bytes> {
        match &self.form {
            Form::Tarball(path) => {
                let packed = path.metadata().map_err(Error::io("read", path))?.len();
                Ok(Bytes(packed.saturating_mul(12)))
            }
            Form::Tree(tree) => Ok(Bytes(tree.size().0.saturating_mul(5) / 4)),
            // The tarball needs room too.
            Form::Revision(revision) => Ok(Bytes(revision.size()?.0.saturating_mul(9) / 4)),
        }
    }

    /// Unpacks or copies into the new folder `target`, and returns the tree's root in it.
    pub fn unpack(&self, target: &Path, runner: Runner, report: Report) -> Result<PathBuf> {
        match &self.form {
            Form::Tarball(path) => {
                report(BuildStep::Preparing { what: format!("unpacking {}", path.display()) });
                tarball::unpack(path, target, runner)
            }
            Form::Tree(tree) => {
                report(BuildStep::Preparing { what: format!("copying {}", tree.root().display()) });
                tree.copy(target, runner)?;
                Ok(target.to_path_buf())
            }
            Form::Revision(revision) => {
                report(BuildStep::Preparing { what: format!("exporting {}", self.provenance) });
                exported(revision, target, runner, &|tarball| {
                    tarball::unpack(tarball, target, runner)
                })
            }
        }
    }

    /// Unpacks or copies the top Makefile and all files below `folders` into the new folder
    /// `target`, and returns the tree's root in it.
    pub fn excerpt(&self, folders: &[PathBuf], target: &Path, runner: Runner) -> Result<PathBuf> {
        match &self.form {
            Form::Tarball(path) => tarball::excerpt(path, folders, target, runner),
            Form::Tree(tree) => {
                tree.excerpt(folders, target, runner)?;
                Ok(target.to_path_buf())
            }
            Form::Revision(revision) => exported(revision, target, runner, &|tarball| {
                tarball::excerpt(tarball, folders, target, runner)
            }),
        }
    }

    /// Returns the path of the source for messages.
    pub fn path(&self) -> &Path {
        match &self.form {
            Form::Tarball(path) => path,
            Form::Tree(tree) => tree.root(),
            Form::Revision(revision) => &revision.repository,
        }
    }

    /// Returns the version that an unpacked tree states.
    pub fn version(&self, tree: &Path) -> Result<Version> {
        let makefile = file::text(&tree.join("Makefile"))?;
        Version::of_makefile(&makefile).map_err(|why| Error::not_a_source(self.path(), why))
    }
}

/// Writes a tarball of the revision beside `target`, unpacks it with `unpack`, and removes it.
fn exported(
    revision: &Revision,
    target: &Path,
    runner: Runner,
    unpack: &dyn Fn(&Path) -> Result<PathBuf>,
) -> Result<PathBuf> {
    let tarball = target.with_extension("tar");
    revision.export(&tarball, runner)?;
    let tree = unpack(&tarball)?;
    std::fs::remove_file(&tarball).map_err(Error::io("remove", &tarball))?;
    Ok(tree)
}

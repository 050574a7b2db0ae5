//! Built kernels: opened only when complete and undamaged, and found by the names in suites.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::config;
use crate::digest;
use crate::error::{Error, Result};
use crate::file;
use crate::provenance::Provenance;
use crate::recipe::{Btrfs, Recipe};
use crate::share::Share;
use crate::version::Version;
use disklab_protocol::digest::sha256_hex;

pub(crate) const RECORD: &str = "kernel.toml";
pub(crate) const PROGRAM: &str = "linux";
pub(crate) const CONFIG: &str = "config";

/// Version of the layout of `kernel.toml`.
const FORMAT: u32 = 1;

/// A built kernel. `kernel.toml` is written last, so that a folder with it was complete. Its files
/// had the digests of `kernel.toml` when it was opened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kernel {
    format: u32,
    #[serde(with = "version_as_text")]
    pub version: Version,
    /// Series, such as `7.3`.
    pub series: String,
    /// SHA-256 of everything that it was made from.
    pub key: String,
    /// Digest of the configuration and the insertions.
    pub(crate) recipe: String,
    /// Compiler and linker, as they name themselves.
    pub compiler: String,
    /// SHA-256 of the program.
    #[serde(rename = "linux_sha256")]
    pub sha256: String,
    /// SHA-256 of its configuration.
    pub config_sha256: String,
    /// Number of compiled objects, for the next build's estimate.
    pub(crate) objects: u32,
    pub build_seconds: f64,
    /// Time of the build in seconds since 1970, which distinguishes several builds of one version.
    built: u64,
    /// Read policies of its btrfs. They are None for a kernel that an older disklab built, in which
    /// disklab's policies, if present, replace the source's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub btrfs: Option<Btrfs>,
    pub source: Provenance,
    /// Folder in the cache, or in an installed release.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Path of the program.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(skip)]
    config: String,
    /// State of the program's file when its digest was last found correct.
    #[serde(skip)]
    checked: Arc<Mutex<Option<FileState>>>,
}

/// State of a file, which differs after every change of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    file: (u64, u64),
    bytes: u64,
    /// Seconds and ns of the last change of its contents or its owner; no program can set this
    /// time.
    changed: (i64, i64),
}

impl FileState {
    fn read(path: &Path) -> Option<Self> {
        let meta = path.metadata().ok()?;
        Some(Self {
            file: (meta.dev(), meta.ino()),
            bytes: meta.len(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

mod version_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::version::Version;

    pub fn serialize<S: Serializer>(version: &Version, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(version)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Version, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// Contents of the cache.
#[derive(Debug, Default)]
pub struct Listing {
    /// Kernels, the newest version first.
    pub kernels: Vec<Kernel>,
    /// An error for each folder that cannot be used.
    pub damaged: Vec<Error>,
}

impl Kernel {
    /// Makes the record of a kernel that was just compiled into `folder`.
    pub(crate) fn compiled(
        folder: &Path,
        version: &Version,
        source: Provenance,
        key: &str,
    ) -> Result<Self> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Ok(Self {
            format: FORMAT,
            version: version.clone(),
            series: version.series(),
            key: key.to_owned(),
            recipe: String::new(),
            compiler: String::new(),
            sha256: digest::of_file(&folder.join(PROGRAM))?,
            config_sha256: digest::of_file(&folder.join(CONFIG))?,
            objects: 0,
            build_seconds: 0.0,
            built: now.map_or(0, |since| since.as_secs()),
            btrfs: None,
            source,
            folder: folder.to_path_buf(),
            path: folder.join(PROGRAM),
            config: String::new(),
            checked: Arc::default(),
        })
    }

    /// Checks that the program, which a guest is about to execute, is the one that was built. The
    /// digest is computed again only if the file was changed since the last check.
    pub fn check_program(&self) -> Result<()> {
        let now = FileState::read(&self.path);
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if now.is_some() && *checked == now {
            return Ok(());
        }
        if digest::of_file(&self.path)? != self.sha256 {
            return Err(Error::Replaced { path: self.path.clone() });
        }
        *checked = now;
        Ok(())
    }

    pub(crate) fn to_toml(&self) -> String {
        // Strings, numbers and one table of strings always serialise.
        toml::to_string(self).unwrap_or_default()
    }

    /// Opens a folder with `linux`, `config` and `kernel.toml` and checks that they belong
    /// together.
    pub fn open(folder: &Path) -> Result<Self> {
        let damaged = |why: String| Error::Damaged { path: folder.to_path_buf(), why };
        let read = |name: &str| {
            disklab_files::read(&folder.join(name), &disklab_files::SOURCE)
                .map_err(|cause| damaged(format!("cannot read {name}: {cause}")))
        };
        let text = |name: &str| {
            String::from_utf8(read(name)?).map_err(|_| damaged(format!("{name} is not text")))
        };
        let kernel: Self = toml::from_str(&text(RECORD)?)
            .map_err(|wrong| damaged(format!("{RECORD}: {}", wrong.message())))?;
        if kernel.format != FORMAT {
            return Err(damaged(format!("{RECORD} has format {}, not {FORMAT}", kernel.format)));
        }
        let config = text(CONFIG)?;
        let path = folder.join(PROGRAM);
        let checked = Arc::new(Mutex::new(FileState::read(&path)));
        for (name, found, expected) in [
            (PROGRAM, sha256_hex(&read(PROGRAM)?), &kernel.sha256),
            (CONFIG, sha256_hex(config.as_bytes()), &kernel.config_sha256),
        ] {
            if found != *expected {
                return Err(damaged(format!(
                    "{name} is not the file that was built (its SHA-256 is {found})"
                )));
            }
        }
        Ok(Self { folder: folder.to_path_buf(), path, config, checked, ..kernel })
    }

    /// Names the source that the caller asked for, since the same bytes may be built from another
    /// place.
    pub(crate) fn known_as(self, source: Provenance) -> Self {
        Self { source, ..self }
    }

    /// Returns true if the kernel was built with an option, in the form of a policy's `needs`:
    /// `BTRFS_EXPERIMENTAL`.
    pub fn has_option(&self, name: &str) -> bool {
        config::has_option(&self.config, name)
    }

    /// Returns true for the lab's kernels with disklab's read policies. On these, a policy's plain
    /// name, such as `queue`, means disklab's policy. On a user's kernel, a plain name means that
    /// kernel's policy.
    pub fn plain_names_are_ours(&self) -> bool {
        self.btrfs == Some(Btrfs::Policies) && matches!(self.source, Provenance::Package { .. })
    }

    /// Returns the kind of its btrfs, if it was built with this installation's present
    /// configuration and insertions.
    pub fn current(&self, share: &Share) -> Result<Option<Btrfs>> {
        for btrfs in [Btrfs::Policies, Btrfs::Untouched] {
            if self.recipe == Recipe::read(share, btrfs)?.digest(&self.source) {
                return Ok(Some(btrfs));
            }
        }
        Ok(None)
    }

    /// Rank for sorting: packaged kernels before the user's own, then newer versions, then later
    /// builds.
    fn rank(&self) -> (bool, &Version, u64) {
        (matches!(self.source, Provenance::Package { .. }), &self.version, self.built)
    }
}

/// Lists every kernel in the cache and in the installed release.
pub fn list(cache: &Cache, share: &Share) -> Result<Listing> {
    let mut listing = Listing::default();
    let folders = [cache.kernels(), share.kernels()];
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        for name in file::names(&folder)? {
            let path = folder.join(&name);
            if name.starts_with('.') || name.ends_with(DAMAGED) || !path.is_dir() {
                continue;
            }
            match Kernel::open(&path) {
                Ok(kernel) => listing.kernels.push(kernel),
                Err(error) => listing.damaged.push(error),
            }
        }
    }
    listing.kernels.sort_by(|a, b| (&b.version, b.built).cmp(&(&a.version, a.built)));
    Ok(listing)
}

/// Ending of the name of a folder that was set aside.
pub(crate) const DAMAGED: &str = ".damaged";

/// Finds the kernel that a suite's kernel axis names: `newest`, a series (`7.3`), a version
/// (`7.3.4`), or a path to a built kernel (its folder or its program). A search without a path
/// finds only kernels with this installation's insertions, and among packaged kernels only those
/// with that btrfs. Packaged kernels come first, then newer versions, then later builds.
pub fn find(cache: &Cache, share: &Share, btrfs: Btrfs, value: &str) -> Result<Kernel> {
    if value.contains('/') {
        let path = Path::new(value);
        let folder = if path.is_file() { path.parent().unwrap_or(path) } else { path };
        if !folder.join(RECORD).is_file() {
            return Err(Error::NotAKernel { path: path.to_path_buf() });
        }
        // The kernel is started from the folder of a trial.
        return Kernel::open(&folder.canonicalize().map_err(Error::io("find the kernel", folder))?);
    }
    let listing = list(cache, share)?;
    let recipe = Recipe::read(share, btrfs)?;
    let untouched = Recipe::read(share, Btrfs::Untouched)?;
    let named = |kernel: &&Kernel| {
        value == "newest" || value == kernel.series || value.parse() == Ok(kernel.version.clone())
    };
    let is_own = |kernel: &Kernel| !matches!(kernel.source, Provenance::Package { .. });
    let current = |kernel: &&Kernel| {
        let is_of = |recipe: &Recipe| kernel.recipe == recipe.digest(&kernel.source);
        is_of(&recipe) || (is_own(kernel) && is_of(&untouched))
    };
    if let Some(kernel) =
        listing.kernels.iter().filter(named).filter(current).max_by_key(|kernel| kernel.rank())
    {
        return Ok(kernel.clone());
    }
    let why = if let Some(old) = listing.kernels.iter().find(named) {
        format!("{} was built with another configuration or other inserted files", old.version)
    } else if let Some(damage) = listing.damaged.first() {
        damage.to_string()
    } else {
        "no kernel of that name is built".to_owned()
    };
    let mut have: Vec<String> =
        listing.kernels.iter().filter(current).map(|kernel| kernel.version.to_string()).collect();
    have.dedup();
    Err(Error::NoKernel { asked: value.to_owned(), why, have })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_that_was_replaced_is_not_the_kernels() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(PROGRAM);
        fs::write(&program, "the kernel").unwrap();
        fs::write(folder.path().join(CONFIG), "").unwrap();
        let source = Provenance::Tarball { path: "/l.tar".to_owned(), sha256: "0".to_owned() };
        let version = "7.3.4".parse().unwrap();
        let kernel = Kernel::compiled(folder.path(), &version, source, "key").unwrap();
        fs::write(folder.path().join(RECORD), kernel.to_toml()).unwrap();
        let kernel = Kernel::open(folder.path()).unwrap();
        kernel.check_program().unwrap();
        // The program is changed in place, and by another file of the same length.
        fs::write(&program, "THE KERNEL").unwrap();
        let refused = kernel.clone().check_program().unwrap_err().to_string();
        assert!(refused.contains("was replaced while it was in use"), "{refused}");
        fs::write(folder.path().join("new"), "another k.").unwrap();
        fs::rename(folder.path().join("new"), &program).unwrap();
        assert!(matches!(kernel.check_program(), Err(Error::Replaced { .. })));
        // Another file with the same bytes is the same kernel.
        fs::write(&program, "the kernel").unwrap();
        kernel.check_program().unwrap();
    }
}

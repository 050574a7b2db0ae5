//! Kernels that are built: opened only when complete and undamaged, found by what a suite calls
//! them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::config;
use crate::digest;
use crate::error::{Error, Result};
use crate::file;
use crate::recipe::{Btrfs, Recipe};
use crate::share::Share;
use crate::source::Provenance;
use crate::version::Version;

pub(crate) const RECORD: &str = "kernel.toml";
pub(crate) const PROGRAM: &str = "linux";
pub(crate) const CONFIG: &str = "config";

/// The layout of `kernel.toml`.
const FORMAT: u32 = 1;

/// `kernel.toml`: written last, so that a folder that has it was complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    format: u32,
    pub version: String,
    pub series: String,
    pub key: String,
    /// Digest of the configuration and the insertions.
    pub recipe: String,
    pub compiler: String,
    pub linux_sha256: String,
    pub config_sha256: String,
    /// How many objects were compiled, for the next build's estimate.
    pub objects: u32,
    pub build_seconds: f64,
    /// Seconds since 1970, to tell the latest of several builds of one version.
    pub built: u64,
    pub source: Provenance,
}

/// A built kernel whose files were what its record says when it was opened.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub version: Version,
    /// `7.3`.
    pub series: String,
    /// Its folder in the cache.
    pub folder: PathBuf,
    /// The program.
    pub path: PathBuf,
    /// SHA-256 of the program.
    pub sha256: String,
    /// SHA-256 of its configuration.
    pub config_sha256: String,
    /// SHA-256 of all that it was made from.
    pub key: String,
    /// Compiler and linker, as they name themselves.
    pub compiler: String,
    pub source: Provenance,
    pub build_seconds: f64,
    pub(crate) recipe: String,
    pub(crate) objects: u32,
    built: u64,
    config: String,
}

/// All that the cache holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// The newest version first.
    pub kernels: Vec<Kernel>,
    /// One error for each folder that cannot be used.
    pub damaged: Vec<Error>,
}

impl Record {
    /// The record of a build that finished just now; the digests are those of the files in
    /// `folder`.
    pub fn of_build(folder: &Path, version: &Version, made: Made) -> Result<Self> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Ok(Self {
            format: FORMAT,
            version: version.to_string(),
            series: version.series(),
            key: made.key,
            recipe: made.recipe,
            compiler: made.compiler,
            linux_sha256: digest::of_file(&folder.join(PROGRAM))?,
            config_sha256: digest::of_file(&folder.join(CONFIG))?,
            objects: made.objects,
            build_seconds: (made.build_seconds * 10.0).round() / 10.0,
            built: now.map_or(0, |since| since.as_secs()),
            source: made.source,
        })
    }

    pub fn to_toml(&self) -> String {
        // Strings, numbers and one table of strings always serialise.
        toml::to_string(self).unwrap_or_default()
    }
}

/// What only the build knows.
pub(crate) struct Made {
    pub key: String,
    pub recipe: String,
    pub compiler: String,
    pub objects: u32,
    pub build_seconds: f64,
    pub source: Provenance,
}

impl Kernel {
    /// Opens a folder with `linux`, `config` and `kernel.toml` and checks that they belong
    /// together.
    pub fn open(folder: &Path) -> Result<Self> {
        let damaged = |why: String| Error::Damaged { path: folder.to_path_buf(), why };
        let read = |name: &str| {
            std::fs::read(folder.join(name))
                .map_err(|cause| damaged(format!("cannot read {name}: {cause}")))
        };
        let text = |name: &str| {
            String::from_utf8(read(name)?).map_err(|_| damaged(format!("{name} is not text")))
        };
        let record: Record = toml::from_str(&text(RECORD)?)
            .map_err(|wrong| damaged(format!("{RECORD}: {}", wrong.message())))?;
        if record.format != FORMAT {
            return Err(damaged(format!("{RECORD} has format {}, not {FORMAT}", record.format)));
        }
        let config = text(CONFIG)?;
        for (name, found, expected) in [
            (PROGRAM, digest::of_bytes(&read(PROGRAM)?), &record.linux_sha256),
            (CONFIG, digest::of_bytes(config.as_bytes()), &record.config_sha256),
        ] {
            if found != *expected {
                return Err(damaged(format!(
                    "{name} is not the file that was built (its sha256 is {found})"
                )));
            }
        }
        Ok(Self {
            version: record.version.parse().map_err(damaged)?,
            series: record.series,
            folder: folder.to_path_buf(),
            path: folder.join(PROGRAM),
            sha256: record.linux_sha256,
            config_sha256: record.config_sha256,
            key: record.key,
            compiler: record.compiler,
            source: record.source,
            build_seconds: record.build_seconds,
            recipe: record.recipe,
            objects: record.objects,
            built: record.built,
            config,
        })
    }

    /// As it is known to whoever asked for it: the same bytes may have been built from elsewhere.
    pub(crate) fn known_as(self, source: Provenance) -> Self {
        Self { source, ..self }
    }

    /// Whether it was built with an option, named as a policy's `needs` names it:
    /// `BTRFS_EXPERIMENTAL`.
    pub fn has_option(&self, name: &str) -> bool {
        config::has_option(&self.config, name)
    }

    /// Whose btrfs it has, if it was built with the configuration and insertions that this
    /// installation has now.
    pub fn btrfs(&self, share: &Share) -> Result<Option<Btrfs>> {
        for btrfs in [Btrfs::Policies, Btrfs::Mainline] {
            if self.recipe == Recipe::read(share, btrfs)?.digest() {
                return Ok(Some(btrfs));
            }
        }
        Ok(None)
    }

    /// A packaged kernel goes before one of the user's own, then the newer version, then the later
    /// build.
    fn rank(&self) -> (bool, &Version, u64) {
        (matches!(self.source, Provenance::Package { .. }), &self.version, self.built)
    }
}

/// Every kernel in the cache.
pub fn list(cache: &Cache) -> Result<Listing> {
    let mut listing = Listing::default();
    let folder = cache.kernels();
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
    listing.kernels.sort_by(|a, b| (&b.version, b.built).cmp(&(&a.version, a.built)));
    Ok(listing)
}

/// What a folder set aside is called.
pub(crate) const DAMAGED: &str = ".damaged";

/// Finds what a suite's kernel axis names: `newest`, a series (`7.3`), a version (`7.3.4`), or a
/// path to a built kernel (its folder or the program in it). Except by path only kernels with this
/// installation's insertions and that btrfs are found. Among several a packaged one is preferred,
/// then the newest version, then the latest build.
pub fn find(cache: &Cache, share: &Share, btrfs: Btrfs, value: &str) -> Result<Kernel> {
    if value.contains('/') {
        let path = Path::new(value);
        let folder = if path.is_file() { path.parent().unwrap_or(path) } else { path };
        if !folder.join(RECORD).is_file() {
            return Err(Error::NotAKernel { path: path.to_path_buf() });
        }
        // It is started from the folder of a trial.
        return Kernel::open(&folder.canonicalize().map_err(Error::io("find the kernel", folder))?);
    }
    let listing = list(cache)?;
    let recipe = Recipe::read(share, btrfs)?.digest();
    let named = |kernel: &&Kernel| {
        value == "newest" || value == kernel.series || value.parse() == Ok(kernel.version.clone())
    };
    let current = |kernel: &&Kernel| kernel.recipe == recipe;
    if let Some(kernel) =
        listing.kernels.iter().filter(named).filter(current).max_by_key(|kernel| kernel.rank())
    {
        return Ok(kernel.clone());
    }
    let why = if let Some(old) = listing.kernels.iter().find(named) {
        format!("{} was built with another configuration or other insertions", old.version)
    } else if let Some(damage) = listing.damaged.first() {
        damage.to_string()
    } else {
        "nothing of that name is in the cache".to_owned()
    };
    let mut have: Vec<String> =
        listing.kernels.iter().filter(current).map(|kernel| kernel.version.to_string()).collect();
    have.dedup();
    Err(Error::NoKernel { asked: value.to_owned(), why, have })
}

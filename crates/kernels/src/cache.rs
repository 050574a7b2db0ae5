//! The cache folder: `kernels`, `sources` and `disks` below `$XDG_CACHE_HOME/disklab` or
//! `~/.cache/disklab`.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};

/// The cache. Its contents can be deleted at any time; rebuilding them costs time and network
/// traffic.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    /// The lock on [`Cache::in_use`].
    held: Option<Arc<File>>,
}

impl Cache {
    /// Opens the user's own cache, and makes missing folders.
    pub fn open() -> Result<Self> {
        Self::in_folder(&place(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))?)
    }

    /// Opens a cache in a folder of the caller's choice.
    pub fn in_folder(root: &Path) -> Result<Self> {
        let cache = Self { root: root.to_path_buf(), held: None };
        for folder in [cache.kernels(), cache.sources(), cache.disks()] {
            std::fs::create_dir_all(&folder)
                .and_then(|()| Ok(rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK)?))
                .map_err(|cause| Error::CacheUnusable { path: folder, cause })?;
        }
        Ok(cache)
    }

    /// Locks the cache as long as this value or a clone of it lives, so that `disklab clean`
    /// removes nothing that a run could have found. Waits for a running `clean`.
    pub fn held(mut self) -> Result<Self> {
        if self.held.is_none() {
            let path = self.in_use();
            let file = File::create(&path).map_err(Error::io("create", &path))?;
            flock(&file, FlockOperation::LockShared)
                .map_err(|error| Error::io("lock", &path)(error.into()))?;
            self.held = Some(Arc::new(file));
        }
        Ok(self)
    }

    /// Returns the file that every run locks together with other runs, and `disklab clean` alone.
    pub fn in_use(&self) -> PathBuf {
        self.root.join("in-use")
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    pub fn sources(&self) -> PathBuf {
        self.root.join("sources")
    }

    pub fn disks(&self) -> PathBuf {
        self.root.join("disks")
    }
}

/// Returns the cache's folder. By the XDG base directory specification, a relative path counts as
/// not set.
fn place(xdg_cache_home: Option<OsString>, home: Option<OsString>) -> Result<PathBuf> {
    let absolute =
        |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(xdg_cache_home)
        .or_else(|| absolute(home).map(|home| home.join(".cache")))
        .map(|cache| cache.join("disklab"))
        .ok_or(Error::NoHome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(xdg: Option<&str>, home: Option<&str>) -> Result<PathBuf> {
        place(xdg.map(OsString::from), home.map(OsString::from))
    }

    #[test]
    fn the_place_follows_xdg_then_home() {
        assert_eq!(placed(Some("/var/c"), Some("/home/u")).unwrap(), Path::new("/var/c/disklab"));
        assert_eq!(placed(None, Some("/home/u")).unwrap(), Path::new("/home/u/.cache/disklab"));
        assert_eq!(
            placed(Some("c"), Some("/home/u")).unwrap(),
            Path::new("/home/u/.cache/disklab")
        );
        for (xdg, home) in [(None, None), (Some(""), Some("")), (Some("c"), None)] {
            let error = placed(xdg, home).unwrap_err().to_string();
            assert!(error.contains("XDG_CACHE_HOME=") && error.contains("HOME"), "{error}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = Cache::in_folder(&file).unwrap_err().to_string();
        assert!(error.contains("file/kernels") && error.contains("XDG_CACHE_HOME"), "{error}");
    }
}
